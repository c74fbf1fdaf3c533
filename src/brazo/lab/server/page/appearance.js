// <brazo-appearance part="look" or "page">: how the scene is drawn, and the size of bars and panels.
// The settings are stored per browser.
import { element, fixed, overScene, remember, remembered, setScale } from "./dom.js";
import { USUAL } from "./looks.js";

const SHADINGS = { shaded: "Shaded", flat: "Flat", outline: "Outline" };
const SCALES = { auto: "Automatic", 0.8: "80 %", 1: "100 %", 1.25: "125 %", 1.5: "150 %", 1.75: "175 %", 2: "200 %", 2.5: "250 %", 3: "300 %" };
const LARGE = 2880; // px, width of a page from which bars and panels are enlarged automatically
const LEAST = 1180; // px, min width of the page in scaled pixels: limits the scale

let look = { ...USUAL, ...remembered("look", {}) };
const shown = new Set(); // callbacks that show the settings

function change(settings) {
  look = { ...look, ...settings };
  remember("look", look);
  apply();
}

function apply() {
  window.brazoViewer.setLook(look);
  document.documentElement.toggleAttribute("data-brazo-split", look.split);
  for (const show of shown) show();
}

function scaled() {
  const chosen = remembered("scale", "auto");
  const fits = Math.floor(4 * Math.min(innerWidth / 1920, innerHeight / 1080)) / 4;
  const asked = chosen === "auto" ? (innerWidth >= LARGE ? fits : 1) : Number(chosen);
  setScale(asked <= 1 ? asked : Math.max(1, Math.min(asked, innerWidth / LEAST)));
}

export function buildAppearance() {
  const names = element("div", "brazo-quarters");
  names.append(...["", "Front", "Side", "Top"].map((name) => element("span", "", { textContent: name })));
  overScene(names);
  mapPointerEvents(document.getElementById("root"));
  addEventListener("resize", scaled);
  scaled();
  apply();
}

// viser's client does not know that the view is split: the first quarter has its camera.  Pointer events
// there get the coordinates of the unsplit view; in the other quarters they select nothing.
function mapPointerEvents(scene) {
  for (const kind of ["pointerdown", "pointermove", "pointerup", "click"]) {
    scene.addEventListener(
      kind,
      (event) => {
        if (!look.split || event.target.tagName !== "CANVAS") return;
        const box = scene.getBoundingClientRect();
        const [x, y] = [event.clientX - box.left, event.clientY - box.top];
        const first = x < box.width / 2 && y < box.height / 2;
        if (!first && (kind === "pointerdown" || kind === "click")) return event.stopPropagation();
        const places = { clientX: box.left + 2 * x, clientY: box.top + 2 * y, offsetX: 2 * x, offsetY: 2 * y };
        for (const name in places) Object.defineProperty(event, name, { value: places[name] });
      },
      true,
    );
  }
}

class Appearance extends HTMLElement {
  connectedCallback() {
    if (!this.childElementCount) {
      this.shows = [];
      if (this.getAttribute("part") === "look") this.buildLook();
      else this.buildPage();
    }
    for (const show of this.shows) shown.add(show);
    for (const show of this.shows) show();
  }
  disconnectedCallback() {
    for (const show of this.shows) shown.delete(show);
  }
  buildLook() {
    const shading = element("div", "brazo-segments", { ariaLabel: "Shading" });
    shading.setAttribute("role", "radiogroup");
    const buttons = Object.entries(SHADINGS).map(([value, text]) => {
      const button = element("button", "", { type: "button", textContent: text });
      button.setAttribute("role", "radio");
      button.onclick = () => change({ shading: value });
      this.shows.push(() => {
        button.setAttribute("aria-checked", String(look.shading === value));
        button.tabIndex = look.shading === value ? 0 : -1;
      });
      return button;
    });
    shading.onkeydown = (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const next = buttons[(buttons.indexOf(event.target) + by + buttons.length) % buttons.length];
      next.click();
      next.focus();
    };
    shading.append(...buttons);
    this.append(
      row("Shading", shading),
      this.range("edges", "Edge width", "px", 4, 0.5),
      this.range("light", "Key light", "%", 200, 5),
      this.range("ambient", "Ambient light", "%", 200, 5),
      this.toggle("split", "Split view", "Four cameras: the free one, front, side and top"),
    );
    const reset = element("button", "", { type: "button", textContent: "Default look" });
    reset.onclick = () => change(USUAL);
    const line = element("div", "brazo-buttons");
    line.append(reset);
    this.append(line);
  }
  buildPage() {
    const select = element("select", "", { ariaLabel: "Size of bars and panels" });
    select.append(...["auto", ...Object.keys(SCALES).filter((key) => key !== "auto")].map((key) => new Option(SCALES[key], key)));
    select.value = String(remembered("scale", "auto"));
    select.onchange = () => {
      remember("scale", select.value);
      scaled();
    };
    this.append(row("Size of bars and panels", select));
  }
  range(key, label, unit, most, step) {
    const input = element("input", "range", { type: "range", min: "0", max: String(most), step: String(step) });
    input.setAttribute("aria-label", label);
    const number = element("output", "figure");
    input.oninput = () => change({ [key]: Number(input.value) });
    this.shows.push(() => {
      input.value = String(look[key]);
      number.textContent = `${fixed(look[key], step < 1 ? 1 : 0)} ${unit}`;
      input.style.setProperty("--to", String(look[key] / most));
    });
    return row(label, input, number);
  }
  toggle(key, text, title) {
    const box = element("input", "", { type: "checkbox" });
    const label = element("label", "brazo-toggle", { title });
    label.append(box, element("span", "switch"), text);
    box.onchange = () => change({ [key]: box.checked });
    this.shows.push(() => (box.checked = look[key]));
    return label;
  }
}

function row(label, ...content) {
  const line = element("div", "brazo-field");
  const place = element("span", "content");
  place.append(...content);
  line.append(element("span", "label", { textContent: label }), place);
  return line;
}

customElements.define("brazo-appearance", Appearance);
