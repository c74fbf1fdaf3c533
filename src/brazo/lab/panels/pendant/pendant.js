// The elements of the pendant: a row of an axis, a pending target, the buttons that send targets.
import { send, value } from "../../server/page/channel.js";
import { drafts, element, fixed, paced, showText } from "../../server/page/dom.js";
import { Tied, full } from "../../server/page/elements.js";
import { LONGEST, typed } from "../../server/page/fields.js";
import { addKeys } from "../../server/page/help.js";
import { typing } from "../../server/page/keys.js";

// <brazo-target name="x" target="x" label="X" unit="mm" digits="2">: shows a live value; a
// typed value is pending and marked until Enter or a Move button of the panel sends all targets.
class Target extends Tied {
  build() {
    this.digits = Number(this.getAttribute("digits") ?? 2);
    this.input = element("input", "field", { type: "text", inputMode: "decimal", size: 7 });
    this.input.autocomplete = "off";
    this.input.spellcheck = false;
    this.input.maxLength = LONGEST;
    this.input.setAttribute("aria-label", `${this.getAttribute("label")} value`);
    this.pending = null; // the typed value
    this.input.onfocus = () => this.input.select();
    this.input.oninput = () => this.mark(this.input.value);
    this.input.onblur = () => {
      if (this.pending === null || this.pending.trim() === "") this.mark(null);
    };
    this.input.onkeydown = (event) => {
      if (event.key === "Enter") {
        this.closest("[data-panel]").querySelector("brazo-move")?.go();
        this.input.select();
      } else if (event.key === "Escape") {
        this.mark(null); // the event bubbles on, which clears the message about the target
        this.input.blur();
      }
    };
    if (!this.hasAttribute("bare")) {
      if (this.tagName === "BRAZO-TARGET") {
        this.append(element("span", "name", { textContent: this.getAttribute("label") }));
      }
      this.append(this.input, element("span", "unit", { textContent: this.getAttribute("unit") }));
    }
  }
  connectedCallback() {
    super.connectedCallback();
    this.follow("moved", (n) => {
      if (this.moves !== undefined && n !== this.moves) this.mark(null);
      this.moves = n;
    });
  }
  mark(text) {
    this.pending = text;
    if (text === null) drafts.delete(this.input);
    else drafts.add(this.input);
    this.toggleAttribute("pending", text !== null);
    this.show();
  }
  told(given) {
    this.value = given;
    this.show();
  }
  show() {
    if (this.pending !== null) return;
    showText(this.input, typeof this.value === "number" ? fixed(this.value, this.digits) : "");
  }
}

// <brazo-axis name="q/0" axis="0" target="q0" label="waist" unit="°" digits min max plus-key minus-key>
// A row: name, −, target, +, and with limits a slider.  `bare` has no target.
class Axis extends Target {
  build() {
    super.build();
    const axis = Number(this.getAttribute("axis"));
    const label = this.getAttribute("label");
    const name = element("button", "name", { type: "button", textContent: label, title: label });
    if (this.hasAttribute("min")) {
      name.title = `Select ${label}`;
      name.onclick = () => send("pendant/joint", axis);
    } else {
      name.tabIndex = -1;
    }
    const hold = (sign, text, key) => {
      const node = document.createElement("brazo-hold");
      node.setAttribute("event", "jog");
      node.setAttribute("args", JSON.stringify([axis, sign]));
      node.setAttribute("title", `${label} ${sign > 0 ? "plus" : "minus"}`);
      const bound = this.getAttribute(key);
      if (bound) node.dataset.key = bound;
      node.textContent = text;
      return node;
    };
    const line = element("div", "line");
    const unit = this.querySelector(".unit");
    line.append(name, hold(-1, "−", "minus-key"));
    if (!this.hasAttribute("bare")) line.append(this.input, unit);
    line.append(hold(1, "+", "plus-key"));
    this.append(line);
    if (this.hasAttribute("min")) this.append(this.track(label));
  }
  track(label) {
    this.min = Number(this.getAttribute("min"));
    this.max = Number(this.getAttribute("max"));
    this.range = element("input", "range", { type: "range" });
    Object.assign(this.range, { min: this.min, max: this.max, step: "any" });
    this.range.setAttribute("aria-label", label);
    this.slide = paced(() => send("pendant/slide", Number(this.getAttribute("axis")), this.wanted));
    this.range.title = `${fixed(this.min, 1)} to ${fixed(this.max, 1)} ${this.getAttribute("unit")}`;
    this.range.oninput = () => this.pull(Number(this.range.value));
    this.range.onkeydown = (event) => {
      const sizes = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 };
      const size = sizes[event.key];
      if (size === undefined) return;
      event.preventDefault();
      const from = performance.now() < this.busyUntil ? this.wanted : this.value;
      this.pull(Math.min(Math.max(from + (event.shiftKey ? size / 10 : size), this.min), this.max));
    };
    return this.range;
  }
  // Shown and sent immediately, rate-limited; the robot follows within its limits.
  pull(wanted) {
    this.wanted = wanted;
    this.busyUntil = performance.now() + 600;
    this.range.value = wanted;
    this.paint(wanted);
    this.slide();
  }
  disconnectedCallback() {
    super.disconnectedCallback();
    this.slide?.cancel(); // a pending value must not be sent to another robot
  }
  connectedCallback() {
    super.connectedCallback();
    if (this.range) {
      this.follow("selected", (i) => {
        this.toggleAttribute("selected", i === Number(this.getAttribute("axis")));
      });
    }
  }
  show() {
    super.show();
    if (!this.range || typeof this.value !== "number") return;
    const slack = 2e-3 * (this.max - this.min);
    this.toggleAttribute("at-limit", this.value <= this.min + slack || this.value >= this.max - slack);
    if (performance.now() < (this.busyUntil ?? 0)) return;
    this.range.value = this.value;
    this.paint(this.value);
  }
  paint(at) {
    const share = (v) => (Math.min(Math.max(v, this.min), this.max) - this.min) / (this.max - this.min);
    const [a, b] = [share(0), share(at)];
    this.style.setProperty("--from", String(Math.min(a, b)));
    this.style.setProperty("--to", String(Math.max(a, b)));
  }
}

// <brazo-move event="move" how="joint" label="Move">: sends all pending targets of its panel.
class Move extends HTMLElement {
  connectedCallback() {
    if (this.button) return;
    this.button = element("button", this.getAttribute("look") ?? "", { type: "button" });
    this.button.textContent = this.getAttribute("label");
    this.button.onclick = () => this.go();
    this.append(this.button);
  }
  go() {
    /** @type {NodeListOf<Target>} */
    const found = this.closest("[data-panel]").querySelectorAll("[target][pending]");
    const waiting = [...found];
    const targets = waiting.map((node) => [node.getAttribute("target"), typed(node.pending.trim())]);
    send(full(this, this.getAttribute("event")), targets, this.getAttribute("how"));
  }
}

// <brazo-keys>: switch of keyboard jogging; Q W E R T Y U positive, A S D F G H J negative.
let keysOn = false;
class Keys extends HTMLElement {
  connectedCallback() {
    if (this.box) return;
    this.box = element("input", "", { type: "checkbox", checked: keysOn });
    const label = element("label", "brazo-toggle");
    label.title = "Hold Q W E R T Y U to jog the axes in the positive direction, A S D F G H J in the negative.";
    label.append(this.box, element("span", "switch"), "Jog with keys Q–U and A–J");
    this.append(label);
    this.box.onchange = () => {
      keysOn = this.box.checked;
    };
  }
}

function heldBy(event) {
  if (!keysOn || typing(event) || event.ctrlKey || event.metaKey || event.altKey) return null;
  /** @type {any} */
  const node = document.querySelector(`#panel-pendant brazo-hold[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  return node?.offsetParent ? node : null;
}
addEventListener(
  "keydown",
  (event) => {
    const node = heldBy(event);
    if (!node) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // the key has no other function now
    if (!event.repeat) node.press();
  },
  true,
);
addEventListener(
  "keyup",
  (event) => {
    const key = event.key.toLowerCase();
    /** @type {NodeListOf<any>} */
    const held = document.querySelectorAll("#panel-pendant brazo-hold");
    for (const node of held) {
      if (node.dataset.key === key) node.release();
    }
  },
  true,
);
addKeys([["Q–U, A–J", "Jog, when enabled in the pendant"]]);

customElements.define("brazo-target", Target);
customElements.define("brazo-axis", Axis);
customElements.define("brazo-move", Move);
customElements.define("brazo-keys", Keys);
export { value };
