// The elements of the Program panel: lists of steps that follow a run, and the form of a step.
import { send } from "../../server/page/channel.js";
import { element } from "../../server/page/dom.js";
import { Tied, full } from "../../server/page/elements.js";
import { Field, typed } from "../../server/page/fields.js";
import { onHover } from "../../server/page/hover.js";
import "./editor.js";

// <brazo-steps name="steps/scara1" at="at/scara1" robot="scara1" label="Steps of scara1">: the steps
// of a robot, the current one marked and kept in view.  Rows are { path, verb, text, error, last,
// loop, break, selected } with `at` { flat, path, status }: `last` and `flat` count expanded steps.
// Arrows select, with Alt they move the step; Delete deletes; Ctrl+D duplicates; F9 sets a breakpoint.
let dragged = null; // { robot, path }
class Steps extends Tied {
  build() {
    this.robot = this.getAttribute("robot");
    this.list = element("ol", "");
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", this.getAttribute("label"));
    this.empty = element("p", "brazo-note", { textContent: "No steps: add one at the current pose." });
    this.append(this.list, this.empty);
    this.items = [];
    this.rows = [];
    this.at = { flat: 0, status: "" };
    this.list.onkeydown = (event) => this.key(event);
    this.ondragover = (event) => this.over(event);
    this.ondragleave = (event) => !this.contains(event.relatedTarget) && this.mark(null);
    this.ondrop = (event) => this.drop(event);
  }
  connectedCallback() {
    super.connectedCallback();
    this.follow(this.getAttribute("at"), (at) => this.moved(at));
    this.sizes = new ResizeObserver(() => this.centre()); // it became visible
    this.sizes.observe(this.list);
  }
  disconnectedCallback() {
    super.disconnectedCallback();
    this.sizes.disconnect();
  }
  told(rows) {
    rows ??= [];
    const text = JSON.stringify(rows);
    if (text === this.text) return;
    this.text = text;
    this.rows = rows;
    this.list.hidden = rows.length === 0;
    this.empty.hidden = rows.length > 0;
    const focused = this.items.indexOf(document.activeElement);
    while (this.items.length > rows.length) this.items.pop().remove();
    rows.forEach((row, i) => {
      if (!this.items[i]) this.items.push(this.newItem(i));
      this.fill(this.items[i], row, i);
    });
    const chosen = rows.findIndex((row) => row.selected);
    if (chosen >= 0 && chosen !== this.chosen) {
      this.show(this.items[chosen]);
      if (focused >= 0) this.items[chosen].focus({ preventScroll: true });
    }
    this.chosen = chosen;
    this.moved(this.at);
  }
  newItem(i) {
    const item = element("li", "", { tabIndex: 0, draggable: true });
    item.setAttribute("role", "option");
    item.path = [];
    onHover(item, full(this, "hover"), this.robot, item.path);
    const mark = element("i", "", { title: "Breakpoint (F9)" });
    item.append(mark, element("b"), element("span"));
    item.onclick = (event) => this.send_(event.target === mark ? "break" : "pick", i);
    item.onfocus = () => !this.rows[i].selected && item.matches(":focus-visible") && this.send_("pick", i);
    item.ondragstart = (event) => {
      dragged = { robot: this.robot, path: this.rows[i].path };
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", `${this.rows[i].verb} ${this.rows[i].text}`);
    };
    item.ondragend = () => {
      dragged = null;
      this.mark(null);
    };
    this.list.append(item);
    return item;
  }
  fill(item, row, i) {
    const text = JSON.stringify(row);
    if (item.dataset.row === text) return;
    item.dataset.row = text;
    const note = row.verb === "note";
    const [mark, verb, about] = item.children;
    mark.textContent = i + 1;
    verb.textContent = note ? "" : row.verb;
    about.textContent = row.text;
    item.style.setProperty("--depth", row.path.length - 1);
    item.title = row.error || `${row.verb} ${row.text}`;
    item.classList.toggle("note", note);
    item.classList.toggle("loop", row.loop);
    item.classList.toggle("bad", Boolean(row.error));
    item.classList.toggle("break", row.break);
    item.setAttribute("aria-selected", String(row.selected));
    item.path.splice(0, item.path.length, ...row.path);
  }
  send_(event, i) {
    send(full(this, event), this.robot, this.rows[i].path);
  }
  key(event) {
    const i = this.items.indexOf(event.target);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (i < 0) return;
    if (step && event.altKey) {
      if (this.rows[i].selected) send(full(this, "shift"), step);
    } else if (step) this.items[Math.min(Math.max(i + step, 0), this.items.length - 1)].focus();
    else if (event.key === "Delete" && this.rows[i].selected) send(full(this, "delete"));
    else if (event.key === "d" && event.ctrlKey && this.rows[i].selected) send(full(this, "duplicate"));
    else if (event.key === "F9") this.send_("break", i);
    else if (event.key === "Enter") this.send_("pick", i);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  // Where a dragged step would go: before or after a row, into a loop, or into an empty list.
  place(event) {
    const item = event.target.closest?.("li");
    const i = this.items.indexOf(item);
    if (!dragged) return null;
    if (i < 0) return this.rows.length ? null : { item: this.empty, lower: true, to: [0] };
    const { path, loop } = this.rows[i];
    const box = item.getBoundingClientRect();
    const lower = event.clientY > box.top + box.height / 2;
    const to = !lower ? path : loop ? [...path, 0] : [...path.slice(0, -1), path.at(-1) + 1];
    const own = dragged.path;
    if (dragged.robot === this.robot && to.length > own.length && own.every((index, k) => index === to[k])) return null;
    return { item, lower, to };
  }
  over(event) {
    const place = this.place(event);
    if (place) event.preventDefault();
    this.mark(place);
  }
  drop(event) {
    const place = this.place(event);
    this.mark(null);
    if (!place) return;
    event.preventDefault();
    send(full(this, "move"), dragged.robot, dragged.path, place.to, this.robot);
  }
  mark(place) {
    for (const item of [...this.items, this.empty]) {
      item.classList.toggle("drop-above", item === place?.item && !place.lower);
      item.classList.toggle("drop-below", item === place?.item && place.lower);
    }
  }
  moved(at) {
    if (!at) return;
    this.at = at;
    const path = JSON.stringify(at.path);
    const active = at.status !== "";
    this.rows.forEach((row, i) => {
      const item = this.items[i];
      const done = active && (at.status === "done" || row.last < at.flat);
      const now = active && at.status !== "done" && JSON.stringify(row.path) === path;
      item.classList.toggle("done", done && !now);
      item.classList.toggle("now", now);
      item.classList.toggle("failed", now && at.status === "failed");
      item.classList.toggle("ended", now && at.status === "ended");
      if (now) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    });
    this.centre();
  }
  // Scroll the current step to the middle of the list, without scrolling the panel.
  centre() {
    const item = this.items.find((one) => one.classList.contains("now"));
    if (item && item !== this.centred) {
      this.list.scrollTop = item.offsetTop - this.list.clientHeight / 2 + item.offsetHeight / 2;
    }
    this.centred = item;
  }
  show(item) {
    const { offsetTop: top, offsetHeight: height } = item;
    const { scrollTop, clientHeight } = this.list;
    if (top < scrollTop) this.list.scrollTop = top;
    else if (top + height > scrollTop + clientHeight) this.list.scrollTop = top + height - clientHeight;
  }
}

// <brazo-step-form name="form" event="field">: { title, key, fields: [{ id, label, value, kind, unit,
// digits, options }], error, teach, arc }.  A field sends its id and the typed value.
class StepForm extends Tied {
  build() {
    this.head = element("div", "step-title");
    this.error = element("div", "step-error");
    this.error.setAttribute("role", "alert");
    this.body = element("div", "step-fields");
    this.acts = element("div", "brazo-buttons");
    this.none = element("p", "brazo-note", { textContent: "Select a step in the list to edit it." });
    this.append(this.none, this.head, this.error, this.body, this.acts);
    this.shown = new Map(); // id -> function that shows a value
  }
  told(form) {
    const fields = form?.fields ?? [];
    const title = form?.title ?? "";
    this.none.hidden = Boolean(title);
    this.head.textContent = title;
    this.error.textContent = form?.error ?? "";
    this.error.hidden = !form?.error;
    const shape = JSON.stringify([form?.key, form?.teach, form?.arc, fields.map(({ value, ...rest }) => rest)]);
    if (shape !== this.shape) {
      this.shape = shape;
      this.shown.clear();
      this.body.replaceChildren(...fields.map((field) => this.row(field)));
      this.acts.replaceChildren(...this.buttons(form ?? {}));
    }
    for (const field of fields) this.shown.get(field.id)(field.value);
  }
  buttons({ teach, arc }) {
    if (teach) return [this.act("Touch up to current pose", "touch-up")];
    if (!arc) return [];
    return ["Start", "Via", "End"].map((name, i) => this.act(`${name} here`, "arc-point", i));
  }
  act(label, event, ...args) {
    const button = element("button", "plain", { type: "button", textContent: label });
    button.onclick = () => send(full(this, event), ...args);
    return button;
  }
  row(field) {
    const row = element("div", "brazo-field");
    const label = field.label || field.unit;
    const content = element("span", "content");
    row.append(element("span", "label", { textContent: field.label, title: field.label }), content);
    content.append(this[field.kind](field, label));
    if (field.unit) content.append(element("span", "unit", { textContent: field.unit }));
    if (field.kind === "number") row.classList.add("figure");
    return row;
  }
  number(field, label) {
    let value;
    const input = new Field(
      label,
      () => (typeof value === "number" ? String(Number(value.toFixed(field.digits + 2))).replace("-", "−") : ""),
      (text) => this.send(field.id, typed(text)),
    );
    this.shown.set(field.id, (given) => {
      value = given;
      input.show();
    });
    return input.input;
  }
  text(field, label) {
    let value;
    const input = new Field(label, () => value ?? "", (text) => this.send(field.id, text));
    Object.assign(input.input, { inputMode: "text" });
    input.input.classList.add("wide");
    if (field.options.length) {
      const list = element("datalist", "", { id: `brazo-list-${field.id}` });
      list.append(...field.options.map(([one]) => new Option(one, one)));
      this.body.append(list);
      input.input.setAttribute("list", list.id);
      queueMicrotask(() => this.body.append(list));
    }
    this.shown.set(field.id, (given) => {
      value = given;
      input.show();
    });
    return input.input;
  }
  choice(field, label) {
    const select = document.createElement("select");
    select.setAttribute("aria-label", label);
    select.append(...field.options.map(([value, text]) => new Option(text, value)));
    let value;
    select.onchange = () => {
      const wanted = select.value;
      select.value = value; // until the lab confirms the change
      this.send(field.id, wanted);
    };
    this.shown.set(field.id, (given) => {
      value = given;
      select.value = given;
    });
    return select;
  }
  switch(field, label) {
    const box = element("input", "", { type: "checkbox" });
    const toggle = element("label", "brazo-toggle");
    box.setAttribute("aria-label", label);
    toggle.append(box, element("span", "switch"));
    let on = false;
    box.onchange = () => {
      const wanted = box.checked;
      box.checked = on;
      this.send(field.id, wanted ? "on" : "off");
    };
    this.shown.set(field.id, (given) => {
      on = Boolean(given);
      box.checked = on;
    });
    return toggle;
  }
}

customElements.define("brazo-steps", Steps);
customElements.define("brazo-step-form", StepForm);
