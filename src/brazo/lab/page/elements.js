// The elements panels are made of.  Each is tied to names on the channel, so that a panel's HTML
// is written once and what it shows changes in place.
import { send, watch } from "./channel.js";

// <brazo-text name="tool/x">: a value, as text.
class Text extends HTMLElement {
  connectedCallback() {
    this.unwatch = watch(this.getAttribute("name"), (value) => {
      this.textContent = value ?? "";
    });
  }
  disconnectedCallback() {
    this.unwatch();
  }
}

// <brazo-button event="pose" argument="home">Home</brazo-button>
class Button extends HTMLElement {
  connectedCallback() {
    if (this.button) return;
    this.button = document.createElement("button");
    this.button.type = "button";
    this.button.disabled = this.hasAttribute("disabled");
    this.button.append(...this.childNodes);
    this.append(this.button);
    this.button.onclick = () => send(this.getAttribute("event"), ...args(this));
  }
}

// <brazo-select event="pose" label="Pose" placeholder="Pose…"><option>…</brazo-select>
// With a name it shows that value, or the placeholder when there is none; without one it is a menu
// that forgets its choice.
class Select extends HTMLElement {
  connectedCallback() {
    if (!this.select) this.build();
    const name = this.getAttribute("name");
    if (name) this.unwatch = watch(name, (value) => this.show(value));
  }
  disconnectedCallback() {
    this.unwatch?.();
  }
  build() {
    this.select = document.createElement("select");
    this.select.setAttribute("aria-label", this.getAttribute("label"));
    this.select.disabled = this.hasAttribute("disabled");
    const placeholder = this.getAttribute("placeholder");
    if (placeholder) {
      const first = new Option(placeholder, "", true, true);
      first.disabled = true;
      first.hidden = true;
      this.select.append(first);
    }
    this.select.append(...this.querySelectorAll("option"));
    this.replaceChildren(this.select);
    this.select.onchange = () => {
      send(this.getAttribute("event"), this.select.value);
      if (!this.hasAttribute("name")) this.select.selectedIndex = 0;
    };
  }
  setOptions(names) {
    this.select.replaceChildren(...names.map((name) => new Option(name, name)));
    this.show(this.shown);
  }
  show(value) {
    this.shown = value;
    this.select.value = value ?? "";
  }
}

// <brazo-slider name="joint/0" event="joint" argument="0" label="waist" min max unit limited>
// A track to pull, and a field to type into, which acts on Enter or when left, never on a key.
class Slider extends HTMLElement {
  connectedCallback() {
    if (!this.range) this.build();
    this.unwatch = watch(this.getAttribute("name"), (value) => this.told(value));
  }
  disconnectedCallback() {
    this.unwatch();
    cancelAnimationFrame(this.sending);
    clearTimeout(this.later);
    this.sending = this.later = this.busyUntil = 0;
  }

  build() {
    const label = this.getAttribute("label");
    this.min = Number(this.getAttribute("min"));
    this.max = Number(this.getAttribute("max"));
    this.digits = this.getAttribute("unit") === "mm" ? 1 : 2;
    this.limited = (this.getAttribute("limited") ?? "").split(" ");
    this.value = NaN;

    this.field = element("input", "field", { type: "text", inputMode: "decimal", size: 7 });
    this.field.setAttribute("aria-label", `${label} value`);
    this.field.autocomplete = "off";
    this.range = element("input", "range", { type: "range" });
    Object.assign(this.range, { min: this.min, max: this.max, step: "any" });
    this.range.setAttribute("aria-label", label);
    const name = element("span", "name", { textContent: label, title: label });
    const unit = element("span", "unit", { textContent: this.getAttribute("unit") });
    const low = element("span", "end low", { textContent: this.end(this.min, "low") });
    const high = element("span", "end high", { textContent: this.end(this.max, "high") });
    const head = element("div", "head");
    head.append(name, this.field, unit);
    const body = element("div", "body");
    body.append(low, this.range, high);
    this.append(head, body);

    this.range.oninput = () => this.want(Number(this.range.value));
    this.range.onkeydown = (event) => this.step(event);
    this.field.onfocus = () => this.field.select();
    this.field.onblur = () => this.commit();
    this.field.onkeydown = (event) => {
      if (event.key === "Enter") {
        this.commit();
        this.field.select();
      } else if (event.key === "Escape") {
        this.typed = false;
        this.field.blur();
      }
    };
    this.field.oninput = () => {
      this.typed = true;
    };
  }

  end(value, which) {
    const text = String(Number(value.toFixed(1))).replace("-", "−");
    return this.limited.includes(which) ? text : `(${text})`;
  }

  // Arrows go by 1, with Shift by 0.1, the page keys by 10 (degrees or millimetres).
  step(event) {
    const sizes = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 };
    const size = sizes[event.key];
    if (size === undefined) return;
    event.preventDefault();
    const value = this.value + (event.shiftKey ? size / 10 : size);
    this.want(Math.min(Math.max(value, this.min), this.max));
  }

  commit() {
    if (this.typed) {
      const text = this.field.value.trim().replace("−", "-").replace(",", ".");
      const value = Number(text);
      if (text !== "" && Number.isFinite(value)) {
        this.want(Math.min(Math.max(value, this.min), this.max));
      } else if (text !== "") {
        // With a unit, or an expression: the lab reads it, or says what is wrong with it.
        send(`${this.getAttribute("event")}-typed`, ...args(this), text);
      }
    }
    this.typed = false;
    this.field.value = this.format(this.value);
  }

  // Ask for a value: shown at once, sent once a frame.
  want(value) {
    this.wanted = value;
    this.busyUntil = performance.now() + 250;
    this.show(value);
    this.sending ||= requestAnimationFrame(() => {
      this.sending = 0;
      send(this.getAttribute("event"), ...args(this), this.wanted);
    });
  }

  // What the lab says is behind what the user is doing, so it waits until the user has stopped.
  told(value) {
    this.latest = value;
    const wait = (this.busyUntil ?? 0) - performance.now();
    if (wait <= 0) this.show(value);
    else {
      this.later ||= setTimeout(() => {
        this.later = 0;
        this.told(this.latest);
      }, wait);
    }
  }

  show(value) {
    this.value = value;
    if (Number(this.range.value) !== value) this.range.value = value;
    if (!this.typed) this.field.value = this.format(value);
    const [a, b] = [this.share(0), this.share(value)];
    this.style.setProperty("--from", Math.min(a, b));
    this.style.setProperty("--to", Math.max(a, b));
    const slack = 1e-9 * (this.max - this.min);
    this.toggleAttribute(
      "at-limit",
      (value <= this.min + slack && this.limited.includes("low")) ||
        (value >= this.max - slack && this.limited.includes("high")),
    );
  }

  // Where on the track a value is, 0 to 1.
  share(value) {
    return (Math.min(Math.max(value, this.min), this.max) - this.min) / (this.max - this.min);
  }

  format(value) {
    const text = value.toFixed(this.digits).replace("-", "−");
    return /[1-9]/.test(text) ? text : text.replace("−", "");
  }
}

function args(node) {
  const argument = node.getAttribute("argument");
  if (argument === null) return [];
  return [/^\d+$/.test(argument) ? Number(argument) : argument];
}

export function element(tag, className, properties = {}) {
  return Object.assign(document.createElement(tag), { className, ...properties });
}

customElements.define("brazo-text", Text);
customElements.define("brazo-button", Button);
customElements.define("brazo-select", Select);
customElements.define("brazo-slider", Slider);
