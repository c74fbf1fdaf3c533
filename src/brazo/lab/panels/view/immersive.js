// <brazo-immersive>: the scene in a headset (WebXR), or as a stereo pair for a phone in a viewer.
import { element, fixed, remember, remembered } from "../../server/page/dom.js";
import { STEREO_LIMITS, USUAL_STEREO } from "../../server/page/stereo.js";
import { askForTurns, showStereo } from "./stereo_page.js";
import { enterHeadset } from "./xr_session.js";

const LABELS = { ipd: ["Eye distance", "mm"], fov: ["Field of view", "°"] };

class Immersive extends HTMLElement {
  connectedCallback() {
    if (this.childElementCount) return;
    this.settings = { ...USUAL_STEREO, turns: true, ...remembered("stereo", {}) };
    this.note = element("p", "brazo-note", { hidden: true });
    this.note.setAttribute("role", "status");
    this.headset = element("button", "", { type: "button", textContent: "Enter VR", hidden: true });
    this.headset.title = "Show the robots at true scale in the headset; the controllers jog with hold-to-run";
    this.headset.onclick = () => this.enter();
    const stereo = element("button", "", { type: "button", textContent: "Stereo view" });
    stereo.title = "Two pictures side by side, for a phone in a viewer; a tap or Esc ends it";
    stereo.onclick = () => this.show();
    const line = element("div", "brazo-buttons");
    line.append(this.headset, stereo);
    this.append(line, this.note, this.range("ipd", 1), this.range("fov", 5), this.toggle());
    this.look();
    /** @type {any} */ (navigator).xr?.addEventListener?.("devicechange", () => this.look());
  }
  // Show the button if this browser has a headset, else the reason.
  async look() {
    const { xr } = /** @type {any} */ (navigator);
    const found = await xr?.isSessionSupported("immersive-vr").catch(() => false);
    this.headset.hidden = !found;
    if (found) this.say("");
    else if (!isSecureContext) this.say("VR needs an address on this machine (127.0.0.1) or https.");
    else this.say(xr ? "VR: no headset found." : "VR: this browser has no WebXR.");
  }
  async enter() {
    this.headset.disabled = true;
    try {
      await enterHeadset(() => (this.headset.disabled = false));
      this.say("");
    } catch (error) {
      this.headset.disabled = false;
      this.say(`VR did not start: ${error.message}`);
    }
  }
  async show() {
    const turned = this.settings.turns ? await askForTurns() : null;
    showStereo({ ...this.settings, turned });
  }
  say(text) {
    this.note.textContent = text;
    this.note.hidden = !text;
  }
  range(key, step) {
    const [label, unit] = LABELS[key];
    const [low, high] = STEREO_LIMITS[key];
    const input = element("input", "range", { type: "range", min: String(low), max: String(high), step: String(step) });
    input.setAttribute("aria-label", label);
    const number = element("output", "figure");
    const show = () => {
      number.textContent = `${fixed(this.settings[key], 0)} ${unit}`;
      input.style.setProperty("--to", String((this.settings[key] - low) / (high - low)));
    };
    input.value = String(this.settings[key]);
    input.oninput = () => {
      this.change({ [key]: Number(input.value) });
      show();
    };
    show();
    const line = element("div", "brazo-field");
    const place = element("span", "content");
    place.append(input, number);
    line.append(element("span", "label", { textContent: label }), place);
    return line;
  }
  toggle() {
    const box = element("input", "", { type: "checkbox", checked: this.settings.turns });
    const label = element("label", "brazo-toggle", { title: "Turning the phone turns the view" });
    label.append(box, element("span", "switch"), "Stereo view follows the phone");
    box.onchange = () => this.change({ turns: box.checked });
    return label;
  }
  change(settings) {
    Object.assign(this.settings, settings);
    remember("stereo", this.settings);
  }
}

customElements.define("brazo-immersive", Immersive);
