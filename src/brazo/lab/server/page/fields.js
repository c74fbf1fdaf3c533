// Input elements.  A field sends its value on Enter or when it loses focus, not while the user types;
// values of the lab do not overwrite text that is being typed; Escape discards it.
import { copyButton } from "./copy.js";
import { drafts, element, fixed, paced, refilling, showText } from "./dom.js";
import { Tied, args, full } from "./elements.js";
import { send, value as known } from "./channel.js";
import { onHover } from "./hover.js";
import { showWhole } from "./whole_cell.js";

const SYNC_AFTER = 1000; // ms after which a slider shows the lab's value, even if no new one was received

// channel.py drops larger numbers and longer texts.
const LARGEST = 1e300;
export const LONGEST = 200;

// A text input that stores whether the user has typed into it.
export class Field {
  // `commit(text)` is called with the typed text; `shown()` returns the text that is shown otherwise.
  constructor(label, shown, commit) {
    this.input = element("input", "field", { type: "text", inputMode: "decimal", size: 7 });
    this.input.autocomplete = "off";
    this.input.spellcheck = false;
    this.input.maxLength = LONGEST;
    this.input.setAttribute("aria-label", label);
    this.typed = false;
    this.shown = shown;
    this.commit = commit;
    this.input.onfocus = () => this.input.select();
    this.input.oninput = () => {
      this.typed = true;
      drafts.add(this.input);
    };
    this.input.onblur = () => !refilling() && this.end(true);
    this.input.onkeydown = (event) => {
      if (event.key === "Enter") {
        this.input.select();
        this.end(true);
      } else if (event.key === "Escape") {
        if (this.typed) event.stopPropagation();
        this.end(false);
        this.input.blur();
      }
    };
  }
  end(commit) {
    const text = this.input.value.trim();
    const typed = this.typed;
    this.typed = false;
    drafts.delete(this.input);
    if (typed && commit && text !== "") this.commit(text);
    this.show();
  }
  show() {
    if (this.typed) return;
    showText(this.input, this.shown());
  }
}

// Typed text as a number if it is one; otherwise the text, which the lab parses or rejects.
export function typed(text) {
  const plain = text.replace("−", "-").replace(",", ".");
  const number = Number(plain);
  return plain !== "" && Math.abs(number) <= LARGEST ? number : text;
}

// <brazo-number name="speed" label="Speed" digits="2" min max>
class NumberField extends Tied {
  build() {
    this.digits = Number(this.getAttribute("digits") ?? 2);
    this.field = new Field(
      this.getAttribute("label"),
      () => (typeof this.value === "number" ? fixed(this.value, this.digits) : (this.value ?? "")),
      (text) => this.send(this.within(typed(text))),
    );
    this.append(this.field.input);
  }
  within(value) {
    if (typeof value !== "number") return value;
    const limit = (name, otherwise) =>
      this.hasAttribute(name) ? Number(this.getAttribute(name)) : otherwise;
    return Math.min(Math.max(value, limit("min", -Infinity)), limit("max", Infinity));
  }
  told(given) {
    this.value = given;
    this.field.show();
  }
}

// <brazo-slider name="joint/0" event="joint" args="[0]" label="waist" min max unit limited>
// A slider and a text field for one value.
class Slider extends Tied {
  disconnectedCallback() {
    super.disconnectedCallback();
    this.sendWanted.cancel(); // a pending value must not be sent to another robot
    clearTimeout(this.later);
    clearTimeout(this.checking);
    this.later = this.busyUntil = 0;
  }

  build() {
    const label = this.getAttribute("label");
    this.min = Number(this.getAttribute("min"));
    this.max = Number(this.getAttribute("max"));
    this.digits = Number(this.getAttribute("digits") ?? 2);
    this.limited = (this.getAttribute("limited") ?? "").split(" ");
    this.value = NaN;
    this.sendWanted = paced(() => this.send(this.wanted));
    this.field = new Field(
      `${label} value`,
      () => (Number.isNaN(this.value) ? "" : fixed(this.value, this.digits)),
      (text) => {
        const value = typed(text);
        if (typeof value === "number") this.want(this.within(value));
        else send(full(this, this.getAttribute("event")), ...args(this), value);
      },
    );
    this.range = element("input", "range", { type: "range" });
    Object.assign(this.range, { min: this.min, max: this.max, step: "any" });
    this.range.setAttribute("aria-label", label);
    const name = element("span", "name", { textContent: label, title: this.getAttribute("title") || label });
    const unit = element("span", "unit", { textContent: this.getAttribute("unit") ?? "" });
    const low = element("span", "end low", { textContent: this.end(this.min, "low") });
    const high = element("span", "end high", { textContent: this.end(this.max, "high") });
    const head = element("div", "head");
    head.append(name, this.field.input, unit);
    const body = element("div", "body");
    const marks = JSON.parse(this.getAttribute("marks") ?? "[]");
    body.append(...(marks.length ? [this.range] : [low, this.range, high])); // marks label the ends
    this.append(head, body);
    if (marks.length) this.append(this.marks(marks));
    this.range.oninput = () => this.want(Number(this.range.value));
    this.range.onkeydown = (event) => this.step(event);
  }

  marks(marks) {
    const line = element("div", "marks");
    for (const mark of marks) {
      const button = element("button", "mark", { type: "button", textContent: String(mark) });
      button.style.setProperty("--at", this.share(mark));
      button.onclick = () => this.want(mark);
      line.append(button);
    }
    return line;
  }

  end(value, which) {
    const text = String(Number(value.toFixed(1))).replace("-", "−");
    // In parentheses: the end of the track, if the joint has no limit there.
    return !this.hasAttribute("limited") || this.limited.includes(which) ? text : `(${text})`;
  }

  within(value) {
    return Math.min(Math.max(value, this.min), this.max);
  }

  // Arrows change the value by 1, with Shift by 0.1, the page keys by 10.
  step(event) {
    const sizes = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 };
    const size = sizes[event.key];
    if (size === undefined) return;
    event.preventDefault();
    this.want(this.within(this.value + (event.shiftKey ? size / 10 : size)));
  }

  // Request a value: it is shown immediately and sent at a limited rate.
  want(value) {
    this.wanted = value;
    this.busyUntil = performance.now() + 250;
    this.show(value);
    this.sendWanted();
    // If the lab rejects the value, or changes it back at once, it sends no new value.
    clearTimeout(this.checking);
    this.checking = setTimeout(() => {
      const now = known(full(this, this.getAttribute("name")));
      if (typeof now === "number") this.told(now);
    }, SYNC_AFTER);
  }

  // Values of the lab lag behind the input: they are shown when the user has stopped.
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
    this.field.show();
    const [a, b] = [this.share(0), this.share(value)];
    this.style.setProperty("--from", String(Math.min(a, b)));
    this.style.setProperty("--to", String(Math.max(a, b)));
    const slack = 1e-9 * (this.max - this.min);
    this.toggleAttribute(
      "at-limit",
      (value <= this.min + slack && this.limited.includes("low")) ||
        (value >= this.max - slack && this.limited.includes("high")),
    );
  }

  // Position of a value on the track, 0 to 1.
  share(value) {
    return (this.within(value) - this.min) / (this.max - this.min);
  }
}

// <brazo-table name="rows" columns='[{key, title, unit, digits, event, kind}]' label empty>
// Rows are objects with an `id`; cells are updated in place, to keep the scroll position and typed text.
class Table extends Tied {
  build() {
    this.columns = JSON.parse(this.getAttribute("columns"));
    this.table = element("table", "brazo-table");
    this.table.setAttribute("aria-label", this.getAttribute("label"));
    const head = this.table.createTHead().insertRow();
    for (const column of this.columns) {
      const cell = element("th", this.kind(column), { scope: "col" });
      cell.textContent = column.kind === "button" ? "" : column.title;
      if (column.unit) cell.append(element("span", "unit", { textContent: column.unit }));
      head.append(cell);
    }
    this.body = this.table.createTBody();
    this.empty = element("p", "brazo-note", { textContent: this.getAttribute("empty") ?? "" });
    this.copy = copyButton(this.table);
    this.append(this.table, this.empty, this.copy);
    // Cells that the sticky first column covers count as out of view.
    const scroller = this.closest(".brazo-scroll");
    const first = head.cells[0];
    if (scroller instanceof HTMLElement) {
      new ResizeObserver(() => (scroller.style.scrollPaddingLeft = `${first.offsetWidth}px`)).observe(first);
    }
    // Only for keyboard focus: a button that is being clicked must not move away from the pointer.
    this.addEventListener("focusin", ({ target }) => {
      if (/** @type {Element} */ (target).matches(":focus-visible")) showWhole(target);
    });
    this.rows = new Map(); // id -> { node, cells }
  }
  kind(column) {
    if (column.kind === "button") return "act";
    return column.digits === null ? "words" : "figure";
  }
  told(rows) {
    rows ??= [];
    this.table.hidden = rows.length === 0;
    this.empty.hidden = rows.length !== 0;
    this.copy.hidden = rows.length === 0 || this.columns.filter(({ kind }) => kind !== "button").length < 2;
    const seen = new Set(rows.map((row) => row.id));
    for (const [id, { node }] of this.rows) {
      if (!seen.has(id)) {
        node.remove();
        this.rows.delete(id);
      }
    }
    rows.forEach((row, i) => {
      if (!this.rows.has(row.id)) this.rows.set(row.id, this.newRow(row.id));
      const { node, cells } = this.rows.get(row.id);
      if (this.body.rows[i] !== node) this.body.insertBefore(node, this.body.rows[i] ?? null);
      node.classList.toggle("marked", Boolean(row.mark));
      this.columns.forEach((column, c) => cells[c](row[column.key], row));
    });
  }
  newRow(id) {
    const node = element("tr");
    const hover = this.getAttribute("hover");
    if (hover) onHover(node, full(this, hover), id);
    const cells = this.columns.map((column) => {
      const cell = element("td", this.kind(column));
      node.append(cell);
      if (column.kind === "button") return this.buttonCell(cell, column, id);
      if (column.kind === "choice") return this.choiceCell(cell, column, id);
      if (column.event) return this.fieldCell(cell, column, id);
      return (shown) => {
        const text = this.format(shown, column);
        if (cell.textContent === text) return;
        cell.textContent = text;
        if (column.digits === null) cell.title = text; // a long name may be truncated
      };
    });
    return { node, cells };
  }
  format(shown, column) {
    return typeof shown === "number" && column.digits !== null
      ? fixed(shown, column.digits)
      : String(shown ?? "");
  }
  buttonCell(cell, column, id) {
    const button = element("button", "quiet", { type: "button", textContent: column.title });
    button.onclick = () => send(full(this, column.event), id);
    cell.append(button);
    return () => {};
  }
  // The value as a button that selects the row; a click anywhere in the row does the same.
  choiceCell(cell, column, id) {
    const button = element("button", "choice", { type: "button" });
    const row = cell.parentNode;
    row.classList.add("choosable");
    row.onclick = () => send(full(this, column.event), id);
    cell.append(button);
    return (shown, { mark, title }) => {
      row.title = title ?? "";
      button.textContent = this.format(shown, column);
      button.setAttribute("aria-pressed", String(Boolean(mark)));
    };
  }
  fieldCell(cell, column, id) {
    let latest;
    const field = new Field(
      `${column.title} ${id}`,
      () => this.format(latest, column),
      (text) => send(full(this, column.event), id, column.digits === null ? text : typed(text)),
    );
    if (column.digits === null) field.input.inputMode = "text";
    cell.append(field.input);
    return (shown) => {
      latest = shown;
      field.show();
    };
  }
}

// <brazo-entry name="name" event="rename" label="Name">: a line of text.
class Entry extends Tied {
  build() {
    this.field = new Field(
      this.getAttribute("label"),
      () => this.value ?? "",
      (text) => this.send(text),
    );
    const most = Number(this.getAttribute("maxlength") ?? 80);
    Object.assign(this.field.input, { inputMode: "text", maxLength: most });
    this.append(this.field.input);
  }
  told(given) {
    this.value = given;
    this.field.show();
  }
}

customElements.define("brazo-entry", Entry);
customElements.define("brazo-number", NumberField);
customElements.define("brazo-slider", Slider);
customElements.define("brazo-table", Table);
