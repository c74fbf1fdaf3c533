// <brazo-rows name="rows" event="rows-page">: { columns: [[title, unit]], rows: [[text]], first, count, page }.
// A page of stored rows that scrolls inside, with buttons that turn the pages and one that copies it.
import { send } from "../../server/page/channel.js";
import { element } from "../../server/page/dom.js";
import { Tied, full } from "../../server/page/elements.js";
import { icon } from "../../server/page/icons.js";
import { say } from "../../server/page/notices.js";

class Rows extends Tied {
  build() {
    this.table = element("table", "brazo-table");
    this.table.setAttribute("aria-label", "Stored rows");
    this.frame = element("div", "rows-frame", { tabIndex: 0 });
    this.frame.append(this.table);
    this.where = element("span", "rows-where");
    const last = () => this.shown.count;
    this.turns = [
      this.turn("First", "First rows", () => 0),
      this.turn("Previous", "Previous rows", () => this.shown.first - this.shown.page),
      this.turn("Next", "Next rows", () => this.shown.first + this.shown.page),
      this.turn("Last", "Last rows", last),
    ];
    this.copy = element("button", "plain", { type: "button", title: "Copy these rows for a spreadsheet" });
    this.copy.innerHTML = `${icon("copy")}Copy`;
    this.copy.onclick = () => this.toClipboard();
    const bar = element("div", "rows-bar");
    bar.append(...this.turns, this.copy);
    this.empty = element("p", "brazo-note", { textContent: "No rows yet: run the simulation." });
    this.append(this.frame, this.where, bar, this.empty);
  }
  turn(label, title, to) {
    const button = element("button", "plain", { type: "button", textContent: label, title });
    button.onclick = () => send(full(this, this.getAttribute("event")), to());
    return button;
  }
  told(shown) {
    shown ??= { columns: [], rows: [], first: 0, count: 0, page: 1 };
    const text = JSON.stringify(shown);
    if (text === this.text) return;
    this.text = text;
    const moved = shown.first !== this.shown?.first;
    this.shown = shown;
    const { columns, rows, first, count, page } = shown;
    for (const part of [this.frame, this.where, this.copy.parentNode]) part.hidden = count === 0;
    this.empty.hidden = count > 0;
    const head = element("tr");
    for (const [title, unit] of columns) {
      const cell = element("th", "figure", { scope: "col", textContent: title });
      if (unit) cell.append(element("span", "unit", { textContent: unit }));
      head.append(cell);
    }
    const top = document.createElement("thead");
    top.append(head);
    const body = document.createElement("tbody");
    for (const row of rows) {
      const line = element("tr");
      line.append(...row.map((value) => element("td", "figure", { textContent: value })));
      body.append(line);
    }
    this.table.replaceChildren(top, body);
    if (moved) this.frame.scrollTop = 0;
    this.where.textContent = `Rows ${first + 1} to ${first + rows.length} of ${count}`;
    const [toFirst, previous, next, toLast] = this.turns;
    toFirst.disabled = previous.disabled = first === 0;
    next.disabled = toLast.disabled = first + page >= count;
  }
  async toClipboard() {
    const { columns, rows } = this.shown;
    const head = columns.map(([title, unit]) => (unit ? `${title} (${unit})` : title));
    const text = [head, ...rows].map((row) => row.join("\t").replaceAll("−", "-")).join("\n");
    try {
      await navigator.clipboard.writeText(text);
      say(`${rows.length} rows copied`);
    } catch {
      say("The browser does not allow copying: download the rows as CSV", "warn");
    }
  }
}

customElements.define("brazo-rows", Rows);
