// The elements of the scene panel: the tree, a colour.
import { element, refilling } from "../../server/page/dom.js";
import { Tied } from "../../server/page/elements.js";
import { icon } from "../../server/page/icons.js";
import { send } from "../../server/page/channel.js";

// <brazo-scene-tree name="tree" event="select" label>: [{id, group, icon, about, chosen, parts}].
// A list box with groups: arrows move the selection, Delete deletes the selected element.  A new
// selection gives the panel new content; the focus returns to the selected row.
let focused = false;
class SceneTree extends Tied {
  build() {
    this.list = element("div", "scene-tree");
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", this.getAttribute("label"));
    this.empty = element("p", "brazo-note", { textContent: "The cell is empty. Add a robot or a body below." });
    this.append(this.list, this.empty);
    this.list.onkeydown = (event) => this.key(event);
    this.list.addEventListener("focusin", () => {
      focused = true;
    });
    this.list.addEventListener("focusout", () => {
      if (!refilling()) focused = false;
    });
    this.rows = new Map(); // id -> node
    this.heads = new Map(); // group -> node
  }
  key(event) {
    const names = [...this.rows.keys()];
    const at = names.indexOf(this.wanted);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && names.length) {
      const next = names[Math.min(Math.max(at + step, 0), names.length - 1)];
      this.choose(next);
    } else if (event.key === "Delete" && at >= 0) send("scene/delete");
    else return;
    event.preventDefault();
  }
  // Stored immediately: the next key may be pressed before the lab answers.
  choose(id) {
    this.wanted = id;
    this.send(id);
  }
  told(rows) {
    rows ??= [];
    this.empty.hidden = rows.length > 0;
    this.list.hidden = rows.length === 0;
    const kept = new Set(rows.map((row) => row.id));
    for (const [id, node] of this.rows) {
      if (!kept.has(id)) {
        node.remove();
        this.rows.delete(id);
      }
    }
    const before = this.chosen;
    this.chosen = undefined;
    const nodes = [];
    const groups = new Set();
    for (const row of rows) {
      if (!groups.has(row.group)) {
        groups.add(row.group);
        nodes.push(this.head(row.group));
      }
      nodes.push(this.row(row));
      if (row.chosen) this.chosen = row.id;
    }
    for (const [group, node] of this.heads) if (!groups.has(group)) node.remove();
    nodes.forEach((node, i) => {
      if (this.list.children[i] !== node) this.list.insertBefore(node, this.list.children[i] ?? null);
    });
    this.wanted = this.chosen;
    if (!this.chosen || this.chosen === before) return;
    const node = this.rows.get(this.chosen);
    node.scrollIntoView({ block: "nearest" });
    if (focused) node.focus({ preventScroll: true });
  }
  head(group) {
    if (!this.heads.has(group)) {
      const node = element("div", "group", { textContent: group });
      node.setAttribute("role", "presentation");
      this.heads.set(group, node);
    }
    return this.heads.get(group);
  }
  row(row) {
    if (!this.rows.has(row.id)) {
      const node = element("button", "entry", { type: "button" });
      node.setAttribute("role", "option");
      node.onclick = () => this.choose(row.id);
      this.rows.set(row.id, node);
    }
    const node = this.rows.get(row.id);
    const text = JSON.stringify([row.icon, row.about, row.parts]);
    if (node.dataset.text !== text) {
      node.dataset.text = text;
      node.innerHTML = icon(row.icon);
      node.append(element("b", "", { textContent: row.id }));
      node.append(element("span", "about", { textContent: [row.about, ...row.parts].join(" · ") }));
      node.title = `${row.id}: ${row.about}`;
    }
    node.setAttribute("aria-selected", String(row.chosen));
    return node;
  }
}

// <brazo-color name="color" event="color" label="Colour">: "#rrggbb".
class Color extends Tied {
  build() {
    this.input = element("input", "color", { type: "color" });
    this.input.setAttribute("aria-label", this.getAttribute("label"));
    this.append(this.input);
    this.input.onchange = () => this.send(this.input.value);
  }
  told(given) {
    if (given) this.input.value = given;
  }
}

customElements.define("brazo-scene-tree", SceneTree);
customElements.define("brazo-color", Color);
