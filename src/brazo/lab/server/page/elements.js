// The elements of panels, except input fields (fields.js).  Each is bound to names on the channel, so
// that a panel's HTML is written once and its values change in place.
import { send, value, watch } from "./channel.js";
import { element } from "./dom.js";
import { icon } from "./icons.js";

// The full name on the channel: relative to the panel, unless it begins with a slash.
export function full(node, name) {
  if (name.startsWith("/")) return name.slice(1);
  const panel = node.closest("[data-panel]")?.dataset.panel;
  return panel ? `${panel}/${name}` : name;
}

export function args(node) {
  return JSON.parse(node.getAttribute("args") ?? "[]");
}

// Base class of elements bound to the value `name` that send the event `event`.
export class Tied extends HTMLElement {
  connectedCallback() {
    if (!this.built) {
      this.built = true;
      this.build();
    }
    this.unwatch = [];
    const name = this.getAttribute("name");
    if (name) this.follow(name, (given) => this.told(given));
  }
  disconnectedCallback() {
    this.unwatch.forEach((unwatch) => unwatch());
  }
  follow(name, callback) {
    this.unwatch.push(watch(full(this, name), callback));
  }
  send(...more) {
    send(full(this, this.getAttribute("event")), ...args(this), ...more);
  }
  build() {}
  told(_given) {}
}

// <brazo-text name="tool/x">: a value, as text.
class Text extends Tied {
  told(given) {
    const text = String(given ?? "");
    if (this.textContent !== text) this.textContent = text;
  }
}

// <brazo-button event="pose" args='["home"]' look="primary" icon="play" enabled="name">Home
class Button extends Tied {
  build() {
    const look = this.getAttribute("look") ?? "plain";
    this.button = element("button", look, { type: "button" });
    const label = this.textContent;
    this.button.title = this.getAttribute("title") ?? "";
    const drawn = this.getAttribute("icon");
    if (drawn) this.button.innerHTML = icon(drawn);
    if (drawn && !label) this.button.setAttribute("aria-label", this.button.title);
    this.button.append(label);
    this.replaceChildren(this.button);
    this.removeAttribute("title");
    this.button.onclick = () => this.send();
  }
  connectedCallback() {
    super.connectedCallback();
    const enabled = this.getAttribute("enabled");
    if (enabled) {
      this.button.disabled = true;
      this.follow(enabled, (on) => {
        this.button.disabled = !on;
      });
    }
  }
}

// <brazo-toggle name="view/axes" event="…" label="Link frames">
class Toggle extends Tied {
  build() {
    this.box = element("input", "", { type: "checkbox" });
    const label = element("label", "brazo-toggle");
    label.title = this.getAttribute("title") ?? "";
    this.removeAttribute("title");
    label.append(this.box, element("span", "switch"), this.getAttribute("label"));
    this.append(label);
    this.box.onchange = () => {
      const wanted = this.box.checked;
      this.box.checked = Boolean(this.shown); // until the lab confirms the change
      this.send(wanted);
    };
  }
  told(on) {
    this.shown = on;
    this.box.checked = Boolean(on);
  }
}

// <brazo-select event="pose" label="Pose" placeholder="Pose…" options="names"><option>…
// With a name it shows that value, or the placeholder if there is none; without one it is a menu
// without a selection.  Options may come from the value that `options` names.
class Select extends Tied {
  connectedCallback() {
    super.connectedCallback();
    const options = this.getAttribute("options");
    if (options) this.follow(options, (names) => this.setOptions(names));
    const enabled = this.getAttribute("enabled");
    if (enabled) {
      this.select.disabled = true;
      this.follow(enabled, (on) => {
        this.select.disabled = !on;
      });
    }
  }
  build() {
    this.select = document.createElement("select");
    this.select.setAttribute("aria-label", this.getAttribute("label"));
    this.select.disabled = this.hasAttribute("disabled");
    const placeholder = this.getAttribute("placeholder");
    if (placeholder) {
      this.first = new Option(placeholder, "", true, true);
      this.first.disabled = true;
      this.first.hidden = true;
      this.select.append(this.first);
    }
    this.select.append(...this.querySelectorAll("option, optgroup"));
    this.replaceChildren(this.select);
    this.select.onchange = () => {
      this.send(this.select.value);
      if (!this.hasAttribute("name")) this.select.selectedIndex = 0;
      else this.told(this.shown); // until the lab confirms the change
    };
  }
  // Texts, pairs of value and text, or an object from group title to such a list.
  setOptions(names) {
    const pair = (one) => (Array.isArray(one) ? one : [one, one]);
    const make = (one) => new Option(pair(one)[1], pair(one)[0]);
    const nodes = Array.isArray(names)
      ? names.map(make)
      : Object.entries(names).map(([label, group]) => {
          const node = element("optgroup", "", { label });
          node.append(...group.map(make));
          return node;
        });
    this.select.replaceChildren(...(this.first ? [this.first] : []), ...nodes);
    this.told(this.shown);
  }
  told(given) {
    this.shown = given;
    const known = [...this.select.options].some((option) => option.value === String(given ?? ""));
    if (!known && given && !this.first) {
      this.select.prepend(new Option(String(given).replace(/^\w+:/, ""), given));
    }
    this.select.value = given ?? "";
  }
}

// <brazo-segments name="mode" options='[["joint", "Joint"], …]' label="Mode">
class Segments extends Tied {
  build() {
    this.className = "brazo-segments";
    this.setAttribute("role", "radiogroup");
    this.setAttribute("aria-label", this.getAttribute("label"));
    this.buttons = JSON.parse(this.getAttribute("options")).map(([choice, text]) => {
      const button = element("button", "", { type: "button", textContent: text });
      button.setAttribute("role", "radio");
      button.dataset.value = choice;
      button.onclick = () => this.send(choice);
      return button;
    });
    this.append(...this.buttons);
    this.onkeydown = (event) => this.go(event);
    this.told(null);
  }
  // Keys of a group of radio buttons: Tab focuses the selected one, arrows select another.
  go(event) {
    const now = this.buttons.indexOf(event.target);
    const last = this.buttons.length - 1;
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const next = by ? (now + by + last + 1) % (last + 1) : { Home: 0, End: last }[event.key];
    if (now < 0 || next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.buttons[next].focus();
    this.buttons[next].click();
  }
  told(given) {
    const chosen = this.buttons.find((button) => button.dataset.value === String(given));
    for (const button of this.buttons) {
      button.setAttribute("aria-checked", String(button === chosen));
      button.tabIndex = button === (chosen ?? this.buttons[0]) ? 0 : -1;
    }
  }
}

// <brazo-hold event="jog" args="[0, 1]" key="q">+: sends the event while it is held, every 50 ms,
// then the event with "-end".  Releasing, leaving the window or losing focus ends it; if the page
// disconnects, the lab detects the missing events.
const RENEW = 50; // ms
const held = new Set();
class Hold extends Tied {
  build() {
    this.button = element("button", "hold", { type: "button", textContent: this.textContent });
    this.button.title = this.getAttribute("title") ?? "";
    this.removeAttribute("title");
    if (this.button.title) this.button.setAttribute("aria-label", this.button.title);
    this.replaceChildren(this.button);
    this.button.onpointerdown = (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      this.button.focus();
      this.button.setPointerCapture(event.pointerId);
      this.press();
    };
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
      this.button.addEventListener(end, () => this.release());
    }
    this.button.onkeydown = (event) => {
      if (event.key === "Enter" && !event.repeat) this.press();
    };
    this.button.onkeyup = (event) => {
      if (event.key === "Enter") this.release();
    };
    this.button.onblur = () => this.release();
    this.button.oncontextmenu = (event) => event.preventDefault();
  }
  disconnectedCallback() {
    super.disconnectedCallback();
    this.release();
  }
  press() {
    if (this.renewing) return;
    held.add(this);
    this.button.classList.add("down");
    this.send(true); // the first one: a new press
    this.renewing = setInterval(() => this.send(false), RENEW);
  }
  release() {
    if (!this.renewing) return;
    clearInterval(this.renewing);
    this.renewing = 0;
    held.delete(this);
    this.button.classList.remove("down");
    send(full(this, `${this.getAttribute("event")}-end`));
  }
}
export function releaseAll() {
  [...held].forEach((hold) => hold.release());
}
addEventListener("blur", releaseAll);
addEventListener("pagehide", releaseAll);
document.addEventListener("visibilitychange", () => document.hidden && releaseAll());

customElements.define("brazo-text", Text);
customElements.define("brazo-button", Button);
customElements.define("brazo-toggle", Toggle);
customElements.define("brazo-select", Select);
customElements.define("brazo-segments", Segments);
customElements.define("brazo-hold", Hold);

export { value };
