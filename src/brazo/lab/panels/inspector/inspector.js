// The inspector's own elements: a joint's bar, a matrix, a warning, the IK solutions.
import { copyButton } from "../../server/page/copy.js";
import { element, fixed } from "../../server/page/dom.js";
import { Tied, full } from "../../server/page/elements.js";
import { onHover } from "../../server/page/hover.js";

// <brazo-joint name="q/0" label="waist" unit="°" min="-160" max="160">: [number, as text].
class Bar extends Tied {
  build() {
    const label = this.getAttribute("label");
    const limited = this.hasAttribute("min");
    this.min = Number(this.getAttribute("min"));
    this.max = Number(this.getAttribute("max"));
    this.number = element("b");
    const head = element("div", "head");
    head.append(
      element("span", "name", { textContent: label, title: label }),
      this.number,
      element("span", "unit", { textContent: this.getAttribute("unit") }),
    );
    const end = (value) => element("span", "end", { textContent: limited ? fixed(value, value % 1 ? 1 : 0) : "−∞" });
    const [low, high] = [end(this.min), end(this.max)];
    if (!limited) high.textContent = "∞";
    this.track = element("span", "track");
    if (limited) this.track.append(element("i", "zero"), element("i", "mark"));
    const body = element("div", "body");
    body.append(low, this.track, high);
    this.append(head, body);
    this.setAttribute("role", "meter");
    this.setAttribute("aria-label", label);
    if (!limited) return;
    this.setAttribute("aria-valuemin", this.min);
    this.setAttribute("aria-valuemax", this.max);
    this.style.setProperty("--zero", String(this.share(0)));
    this.toggleAttribute("zero-outside", this.min > 0 || this.max < 0);
  }
  share(value) {
    return Math.min(Math.max((value - this.min) / (this.max - this.min), 0), 1);
  }
  told([value, text]) {
    if (this.number.textContent !== text) this.number.textContent = text;
    this.setAttribute("aria-valuenow", value);
    if (!this.hasAttribute("min")) return;
    this.style.setProperty("--at", String(this.share(value)));
    const slack = 0.005 * (this.max - this.min);
    this.toggleAttribute("near", value < this.min + slack || value > this.max - slack);
  }
}

// <brazo-matrix name="M" title="M(q)" rows='["vx"]' columns='["q1"]'>: rows of texts.
class Matrix extends Tied {
  build() {
    const title = this.getAttribute("title");
    this.removeAttribute("title");
    this.table = element("table");
    this.table.setAttribute("aria-label", title || this.getAttribute("name"));
    const head = element("h4", "", { textContent: title ?? "" });
    head.append(copyButton(this.table));
    this.append(head);
    const scroll = element("div", "brazo-scroll");
    scroll.append(this.table);
    this.append(scroll);
    this.rowNames = JSON.parse(this.getAttribute("rows") ?? "[]");
    this.columnNames = JSON.parse(this.getAttribute("columns") ?? "[]");
  }
  told(rows) {
    if (!rows) return;
    if (this.cells?.length !== rows.length || this.cells[0].length !== rows[0].length) this.lay(rows);
    rows.forEach((row, i) =>
      row.forEach((text, j) => {
        const cell = this.cells[i][j];
        if (cell.textContent !== text) {
          cell.textContent = text;
          cell.classList.toggle("nil", !/[1-9]/.test(text));
        }
      }),
    );
  }
  lay(rows) {
    this.table.replaceChildren();
    const head = (text) => element("th", "", { textContent: text });
    if (this.columnNames.length) {
      const line = this.table.createTHead().insertRow();
      line.append(...(this.rowNames.length ? [head("")] : []), ...this.columnNames.map(head));
    }
    const body = this.table.createTBody();
    this.cells = rows.map((row, i) => {
      const line = body.insertRow();
      if (this.rowNames.length) line.append(head(this.rowNames[i]));
      const cells = row.map(() => element("td"));
      line.append(...cells);
      return cells;
    });
  }
}

// <brazo-warning name="text">: a warning; hidden while the text is empty.
class Warning extends Tied {
  build() {
    this.setAttribute("role", "status");
  }
  told(text) {
    this.hidden = !text;
    this.textContent = text ?? "";
  }
}

// <brazo-branches name="branches" event="branch" empty="…">: one button per IK solution; a click moves there.
class Branches extends Tied {
  build() {
    this.buttons = new Map();
  }
  told(rows) {
    rows ??= [];
    const names = rows.map((row) => row.name).join();
    if (names !== this.names) {
      this.names = names;
      this.buttons = new Map(rows.map((row) => [row.name, this.button(row)]));
      this.replaceChildren(...this.buttons.values());
      if (!rows.length) this.append(element("p", "brazo-note", { textContent: this.getAttribute("empty") }));
    }
    for (const row of rows) {
      const button = this.buttons.get(row.name);
      const [words, values, beyond] = button.children;
      button.setAttribute("aria-pressed", String(row.now));
      button.classList.toggle("beyond", Boolean(row.beyond));
      words.textContent = row.words;
      row.q.forEach((text, i) => {
        values.children[i].textContent = text;
      });
      beyond.textContent = row.beyond ? `out of limits: ${row.beyond}` : row.now ? "current" : "";
    }
  }
  button(row) {
    const button = element("button", "branch", { type: "button" });
    const values = element("span", "q");
    values.append(...row.q.map(() => element("span")));
    button.append(element("b"), values, element("span", "note"));
    button.onclick = () => this.send(row.name);
    onHover(button, full(this, "branch-hover"), row.name);
    return button;
  }
}

customElements.define("brazo-joint", Bar);
customElements.define("brazo-matrix", Matrix);
customElements.define("brazo-warning", Warning);
customElements.define("brazo-branches", Branches);
