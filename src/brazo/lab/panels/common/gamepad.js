// <brazo-gamepad event="stick" kind="joint" axes='["waist", …]' actions='[…]'>: a gamepad that moves
// the axes of a robot while its hold-to-run button is held, and the editor of its mapping.
//
// While the button is held the event is sent with the deflections of the axes, -1 to 1, and whether
// the button was just pressed: at once when something changes, else every 50 ms.  Then the event with
// "-end".  Releasing, unplugging the gamepad, leaving the window or hiding the panel ends it; if the
// page disconnects, the lab detects the missing events.
//
// An action is {key, label, button, event, args, hold}: its event is sent when the button is pressed;
// with `hold`, with true on press and with false on release.
import { drives, send } from "../../server/page/channel.js";
import { element } from "../../server/page/dom.js";
import { Tied, full } from "../../server/page/elements.js";
import { bounded, buttonName, buttons, forget, inputs, layout, load, moved, read, save, shaped } from "./gamepad_input.js";

const RENEW = 50; // ms
const POLL = 16; // ms; a timer, because frames are slow with software rendering
const DETECT = "detect";
const RUN = { key: "run", label: "Hold to run", button: 5 };
const MISSING = "No gamepad. Connect one and press a button on it.";

const pads = () => [...navigator.getGamepads()].filter((pad) => pad?.connected);

class Gamepad extends Tied {
  build() {
    this.kind = this.getAttribute("kind");
    this.labels = JSON.parse(this.getAttribute("axes"));
    this.actions = [RUN, ...JSON.parse(this.getAttribute("actions") ?? "[]")];
    this.className = "brazo-gamepad";
    this.status = element("p", "gamepad-status");
    this.status.setAttribute("role", "status");
    this.editor = element("div", "gamepad-editor");
    this.append(this.makeToggle(), this.status, this.editor);
    this.pad = pads()[0] ?? null;
    this.draw();
  }
  connectedCallback() {
    super.connectedCallback();
    this.down = new Set(); // actions whose button is down
    this.armed = false; // the hold-to-run button was released before: only then a press counts
    this.running = false;
    this.ready = null; // index of the pad whose buttons are followed
    this.stopReason = "";
    this.polling = setInterval(() => this.poll(), POLL);
    this.unplugged = (event) => {
      if (event.gamepad.index === this.pad?.index) this.lose();
    };
    this.leave = () => this.end();
    this.hide = () => document.hidden && this.end();
    addEventListener("gamepaddisconnected", this.unplugged);
    addEventListener("blur", this.leave);
    addEventListener("pagehide", this.leave);
    document.addEventListener("visibilitychange", this.hide);
  }
  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.polling);
    removeEventListener("gamepaddisconnected", this.unplugged);
    removeEventListener("blur", this.leave);
    removeEventListener("pagehide", this.leave);
    document.removeEventListener("visibilitychange", this.hide);
    this.end();
  }

  // ---- motion ----------------------------------------------------------------------------------

  poll() {
    const found = pads();
    const used = found.find((pad) => pad.index !== this.pad?.index && pad.buttons.some((b) => b.pressed));
    const same = found.find((pad) => pad.index === this.pad?.index);
    const pad = (!this.running && used) || same || (this.running ? null : found[0]);
    if (this.running && !pad) return this.lose();
    if (layout(pad) !== layout(this.pad) || Boolean(pad) !== Boolean(this.pad)) {
      this.pad = pad ?? null;
      this.draw();
    }
    this.pad = pad ?? null; // the newest state: browsers return a copy
    if (!pad) return this.say(this.stopReason || MISSING);
    if (this.detecting) this.detect(pad);
    const shares = this.shares(pad);
    this.paint(shares);
    const held = this.pressed(pad, "run");
    const usable = this.usable();
    if (!held) this.armed = usable;
    if (this.running && !(held && usable)) this.end();
    else if (held && usable && this.armed && !this.detecting) this.run(shares);
    if (!usable) {
      this.releaseActions();
      this.ready = null;
    } else if (this.ready !== pad.index) {
      this.ready = pad.index;
      // Buttons that are already pressed, such as the one that wakes a gamepad, only trigger STOP.
      const down = this.actions.filter((a) => !a.hold && a.key !== "stop" && this.pressed(pad, a.key));
      this.down = new Set(down.map((a) => a.key));
    } else this.act(pad);
    this.showState(pad);
  }
  usable() {
    const panel = /** @type {HTMLElement} */ (this.closest("[data-panel]"));
    return this.map.settings.on && drives() && document.hasFocus() && !document.hidden && panel?.offsetParent !== null;
  }
  pressed(pad, key) {
    const name = this.map.actions[key];
    return name !== "" && Boolean(pad.buttons[Number(name)]?.pressed);
  }
  shares(pad) {
    const { settings, axes } = this.map;
    return axes.map(({ input, speed, invert }) => {
      const value = shaped(read(pad, input), settings) * (speed / 100) * (settings.gain / 100);
      return Math.round(1000 * (invert ? -value : value)) / 1000;
    });
  }
  run(shares) {
    const now = performance.now();
    const fresh = !this.running;
    const text = shares.join();
    if (!fresh && text === this.sent && now - this.sentAt < RENEW) return;
    this.running = true;
    this.stopReason = "";
    this.sent = text;
    this.sentAt = now;
    this.send(shares, fresh);
  }
  end() {
    this.armed = false; // a held button has no effect until it is pressed again
    if (!this.running) return;
    this.running = false;
    send(full(this, `${this.getAttribute("event")}-end`));
  }
  lose() {
    if (this.running) this.stopReason = "Gamepad disconnected: motion stopped.";
    this.end();
    this.releaseActions();
    this.ready = null;
    this.pad = null;
    this.say(this.stopReason || MISSING);
  }
  act(pad) {
    for (const action of this.actions.slice(1)) {
      const on = this.pressed(pad, action.key);
      if (on === this.down.has(action.key)) continue;
      if (on) this.down.add(action.key);
      else this.down.delete(action.key);
      if (on || action.hold) this.fire(action, on);
    }
  }
  fire({ event, args = [], hold }, on) {
    send(full(this, event), ...args, ...(hold ? [on] : []));
  }
  releaseActions() {
    for (const action of this.actions) if (action.hold && this.down.has(action.key)) this.fire(action, false);
    this.down.clear();
  }

  // ---- editor ----------------------------------------------------------------------------------

  makeToggle() {
    this.box = element("input", "", { type: "checkbox" });
    const label = element("label", "brazo-toggle");
    label.title = "Moves the robot while the hold-to-run button of the gamepad is held.";
    label.append(this.box, element("span", "switch"), "Use gamepad");
    this.box.onchange = () => {
      this.end();
      this.map.settings.on = this.box.checked;
      this.keep();
    };
    return label;
  }
  draw() {
    this.map = load(this.kind, this.labels.length, this.pad, this.actions);
    this.box.checked = this.map.settings.on;
    this.bars = [];
    const { settings } = this.map;
    const rows = element("div", "gamepad-axes");
    for (const title of ["Axis", "Input", "Speed, %", "Inv."]) rows.append(element("span", "head", { textContent: title }));
    this.labels.forEach((label, i) => rows.append(...this.axisRow(label, i)));
    const reset = element("button", "plain", { type: "button", textContent: "Reset mapping" });
    reset.onclick = () => {
      this.end();
      forget(this.kind, this.pad);
      this.draw();
    };
    const response = this.select("Response", [["linear", "Linear"], ["fine", "Fine (cubic)"]], settings.response, (value) => {
      settings.response = value;
    });
    this.editor.replaceChildren(
      ...this.actions.map((action) => row(action.label, this.buttonSelect(action))),
      row("Dead zone", this.number("Dead zone", "dead", settings, "dead"), unit("%")),
      row("Speed", this.number("Gamepad speed", "gain", settings, "gain"), unit("%")),
      row("Response", response),
      rows,
      reset,
    );
  }
  axisRow(label, i) {
    const axis = this.map.axes[i];
    const name = element("span", "name", { textContent: label, title: label });
    const bar = element("i");
    name.append(bar);
    this.bars.push(bar);
    const choices = [["", "–"], [DETECT, "Detect…"], ...inputs(this.pad)];
    const input = this.select(`${label} input`, choices, axis.input, (value) => {
      if (value === DETECT) this.listen(i);
      else axis.input = value;
    });
    const invert = element("input", "", { type: "checkbox", checked: axis.invert, title: "Invert" });
    invert.setAttribute("aria-label", `${label} inverted`);
    invert.onchange = () => {
      axis.invert = invert.checked;
      this.keep();
    };
    return [name, input, this.number(`${label} speed`, "speed", axis, "speed"), invert];
  }
  buttonSelect({ key, label }) {
    return this.select(label, [["", "–"], ...buttons(this.pad)], this.map.actions[key], (value) => {
      this.end();
      this.map.actions[key] = value;
    });
  }
  select(label, choices, value, changed) {
    const node = element("select");
    node.setAttribute("aria-label", label);
    node.append(...choices.map(([choice, text]) => new Option(text, choice)));
    node.value = value;
    node.onchange = () => {
      changed(node.value);
      this.keep();
    };
    return node;
  }
  number(label, limit, target, key) {
    const node = element("input", "field", { type: "text", inputMode: "decimal", value: String(target[key]), size: 4 });
    node.setAttribute("aria-label", label);
    node.onchange = () => {
      target[key] = bounded(node.value.replace("%", "") || target[key], limit, target[key]);
      node.value = String(target[key]);
      this.keep();
    };
    return node;
  }
  keep() {
    save(this.kind, this.pad, this.map);
  }
  // The next input that is moved becomes the input of an axis.
  listen(i) {
    this.end();
    const pad = this.pad;
    this.detecting = {
      axis: i,
      rest: { axes: [...(pad?.axes ?? [])], buttons: (pad?.buttons ?? []).map((button) => button.value) },
    };
  }
  detect(pad) {
    const input = moved(pad, this.detecting.rest);
    if (!input) return;
    this.map.axes[this.detecting.axis].input = input;
    this.detecting = null;
    this.armed = false;
    this.keep();
    this.draw();
  }
  paint(shares) {
    shares.forEach((share, i) => {
      const [from, width] = [50 + 50 * Math.min(share, 0), 50 * Math.abs(share)];
      Object.assign(this.bars[i].style, { left: `${from}%`, width: `${width}%` });
    });
  }
  showState(pad) {
    const name = pad.id.replace(/\s*\((?:STANDARD GAMEPAD )?(?:Vendor|Vendor:).*\)$/i, "") || "Gamepad";
    const run = this.map.actions.run;
    const button = run === "" ? "" : buttonName(pad, Number(run));
    if (this.detecting) this.say("Move a stick or press a button…");
    else if (this.running) this.say(`${name}: running`);
    else if (!this.map.settings.on) this.say(`${name} connected`);
    else if (!button) this.say(`${name}: choose a hold-to-run button`);
    else if (!drives()) this.say(`${name}: view only, request control`);
    else this.say(this.stopReason ? `${this.stopReason} Hold ${button} to run.` : `${name}: hold ${button} to run`);
  }
  say(text) {
    if (this.status.textContent !== text) this.status.textContent = text;
    this.toggleAttribute("running", this.running);
  }
}

function row(label, ...content) {
  const field = element("div", "brazo-field");
  const right = element("span", "content");
  right.append(...content);
  field.append(element("span", "label", { textContent: label }), right);
  return field;
}

function unit(text) {
  return element("span", "unit", { textContent: text });
}

customElements.define("brazo-gamepad", Gamepad);
