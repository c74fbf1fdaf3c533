// The text editor of the Program panel.
import { drives, send } from "../../server/page/channel.js";
import { drafts, element, iconButton, refilling } from "../../server/page/dom.js";
import { Tied, full } from "../../server/page/elements.js";
import { say } from "../../server/page/notices.js";
import { suggestions, tokens } from "./highlight.js";

const LONGEST = 60_000; // bytes; close to the max size of an event
const MOST = 40; // suggestions
let wide = false; // whether the editor covers the scene; kept when the panel is filled again

// <brazo-editor name="text" event="text" label error="error" lines="lines" completion="completion">:
// text with numbered lines and colours.  The value is { version, text }: the text that the lab runs and
// saves, valid or not; another version replaces the content.  Typed text is sent when the editor loses
// focus, the page is closed, or with Ctrl+Enter; a view-only page cannot type.  `error`
// { line, lines: { number: message } } marks lines, `lines` are those being executed, `completion` the
// words that are offered (highlight.js).
class Editor extends Tied {
  build() {
    this.area = element("textarea", "", { spellcheck: false, wrap: "off" });
    this.area.setAttribute("aria-label", this.getAttribute("label"));
    this.area.autocomplete = "off";
    this.gutter = element("div", "gutter");
    this.paint = element("pre", "paint");
    this.menu = element("ul", "menu", { hidden: true });
    this.menu.setAttribute("role", "listbox");
    this.menu.setAttribute("aria-label", "Completions");
    for (const node of [this.gutter, this.paint]) node.setAttribute("aria-hidden", "true");
    this.button = iconButton("popout", "Wide editor", () => this.widen(!wide));
    const stage = element("div", "stage");
    stage.append(this.paint, this.area, this.menu);
    this.append(this.gutter, stage, this.button);
    this.sent = "";
    this.bad = {};
    this.busy = [];
    this.painted = [];
    this.area.oninput = () => {
      this.changed();
      this.suggest(false);
    };
    this.area.onscroll = () => this.scrolled();
    this.area.onclick = () => this.close();
    this.area.onblur = () => {
      this.close();
      if (!refilling()) this.commit();
    };
    this.leaving = () => this.commit();
    this.area.onkeydown = (event) => this.key(event);
  }
  connectedCallback() {
    super.connectedCallback();
    addEventListener("pagehide", this.leaving);
    for (const name of ["/me/number", "/control/driver"]) {
      this.follow(name, () => {
        this.area.readOnly = !drives();
      });
    }
    this.follow(this.getAttribute("error"), (error) => {
      const first = error?.line ?? 0;
      const isNew = first && !this.bad[first];
      this.bad = error?.lines ?? {};
      if (first && !this.bad[first]) this.bad = { ...this.bad, [first]: "" };
      this.show();
      if (isNew && document.activeElement !== this.area) this.look(first);
    });
    this.follow(this.getAttribute("lines"), (lines) => {
      this.busy = lines ?? [];
      this.show();
    });
    this.follow(this.getAttribute("completion") ?? "completion", (words) => {
      this.words = words;
      this.painted = [];
      this.show();
    });
    if (wide) this.widen(true);
  }
  disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener("pagehide", this.leaving);
  }
  told(given) {
    if (!given || given.version === this.version) return;
    this.version = given.version;
    if (given.text === this.sent) return; // sent by this page; more may have been typed since
    const { scrollTop } = this.area;
    this.area.value = this.sent = given.text;
    this.area.scrollTop = scrollTop;
    this.show();
  }
  changed() {
    drafts.add(this.area);
    this.show();
  }
  commit() {
    const text = this.area.value;
    if (text === this.sent) return;
    const bytes = new TextEncoder().encode(JSON.stringify(text)).length;
    if (bytes > LONGEST) {
      say(`Not applied: the text has ${bytes} bytes, the editor sends at most ${LONGEST}. Run and Save use the previous text. Load it as a file.`, "error");
      return;
    }
    this.sent = text;
    drafts.delete(this.area);
    send(full(this, this.getAttribute("event")), text);
  }
  // Over the scene and the panels, below the bar, so that STOP stays visible.
  widen(on) {
    wide = on;
    this.toggleAttribute("wide", on);
    if (on) {
      this.setAttribute("popover", "manual");
      this.showPopover();
    } else {
      this.removeAttribute("popover");
    }
    this.button.title = on ? "Narrow editor (Esc)" : "Wide editor";
    this.button.setAttribute("aria-label", on ? "Narrow editor" : "Wide editor");
    this.button.setAttribute("aria-pressed", String(on));
    this.scrolled();
    if (on) this.area.focus();
  }
  key(event) {
    event.stopPropagation();
    const plain = !event.ctrlKey && !event.altKey && !event.metaKey;
    if (!this.menu.hidden && plain && this.inMenu(event.key)) {
      event.preventDefault();
    } else if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.suggest(true);
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.close();
      this.commit();
    } else if (event.key === "Enter" && plain) {
      const line = this.before().split("\n").at(-1);
      const indent = line.match(/^\s*/)[0] + (/:\s*$/.test(line) ? "  " : "");
      if (!indent || this.area.readOnly) return;
      event.preventDefault();
      this.insert(`\n${indent}`);
    } else if (event.key === "Tab" && !event.shiftKey && plain) {
      event.preventDefault();
      this.insert("  ");
    } else if (event.key === "Escape") {
      if (wide) this.widen(false);
      this.area.blur();
    }
  }
  before() {
    return this.area.value.slice(0, this.area.selectionStart);
  }
  // Insert at the caret as if typed, so that the browser can undo it.
  insert(text) {
    if (this.area.readOnly) return;
    if (!document.execCommand("insertText", false, text)) {
      this.area.setRangeText(text, this.area.selectionStart, this.area.selectionEnd, "end");
      this.changed();
    }
  }

  // ---- completion ----

  suggest(asked) {
    const { partial, options } = suggestions(this.before(), this.words);
    const start = partial.toLowerCase();
    const fitting = options
      .filter(({ word }) => word.toLowerCase().startsWith(start) && word !== partial)
      .slice(0, MOST);
    if (!fitting.length || (!asked && !partial) || this.area.readOnly) {
      this.close();
      return;
    }
    this.partial = partial;
    this.options = fitting;
    this.menu.replaceChildren(
      ...fitting.map(({ word }, i) => {
        const item = element("li", "", { textContent: word });
        item.setAttribute("role", "option");
        item.onpointerdown = (event) => {
          event.preventDefault(); // keeps the focus
          this.take(i);
        };
        return item;
      }),
    );
    this.menu.hidden = false;
    this.mark(0);
    const lines = this.before().split("\n");
    const style = getComputedStyle(this.area);
    const row = parseFloat(style.lineHeight);
    const column = (lines.at(-1).length - partial.length) * this.charWidth(style);
    const { clientWidth, clientHeight, scrollLeft, scrollTop } = this.area;
    const left = parseFloat(style.paddingLeft) + column - scrollLeft;
    const top = parseFloat(style.paddingTop) + lines.length * row - scrollTop;
    const { offsetWidth: w, offsetHeight: h } = this.menu;
    this.menu.style.left = `${Math.max(0, Math.min(left, clientWidth - w))}px`;
    this.menu.style.top = `${top + h <= clientHeight || top - row - h < 0 ? top : top - row - h}px`;
  }
  charWidth(style) {
    const canvas = document.createElement("canvas").getContext("2d");
    canvas.font = style.font;
    return canvas.measureText("0".repeat(50)).width / 50;
  }
  inMenu(key) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (step) this.mark((this.marked + step + this.options.length) % this.options.length);
    else if (key === "Enter" || key === "Tab") this.take(this.marked);
    else if (key === "Escape") this.close();
    else return false;
    return true;
  }
  mark(i) {
    this.marked = i;
    [...this.menu.children].forEach((item, k) => item.setAttribute("aria-selected", String(k === i)));
    const item = /** @type {HTMLElement} */ (this.menu.children[i]);
    if (item.offsetTop < this.menu.scrollTop) this.menu.scrollTop = item.offsetTop;
    const end = item.offsetTop + item.offsetHeight - this.menu.clientHeight;
    if (end > this.menu.scrollTop) this.menu.scrollTop = end;
  }
  take(i) {
    const { insert } = this.options[i];
    this.area.selectionStart -= this.partial.length;
    this.close();
    this.insert(insert);
    this.close();
  }
  close() {
    this.menu.hidden = true;
  }

  // ---- colours and numbers ----

  show() {
    const lines = this.area.value.split("\n");
    const verbs = this.words?.verbs ?? {};
    lines.forEach((line, i) => {
      if (this.painted[i] !== line) {
        const row = this.paint.children[i] ?? this.paint.appendChild(element("div"));
        row.replaceChildren(...tokens(line, verbs).map(([kind, text]) => element("span", kind, { textContent: text })));
        if (!line) row.append("\n");
      }
      const number = this.gutter.children[i] ?? this.gutter.appendChild(element("div", "", { textContent: i + 1 }));
      const bad = i + 1 in this.bad;
      number.className = bad ? "bad" : this.busy.includes(i + 1) ? "busy" : "";
      number.title = bad ? this.bad[i + 1] : "";
      this.paint.children[i].className = bad ? "bad" : "";
    });
    for (const list of [this.paint, this.gutter]) {
      while (list.children.length > lines.length) list.lastChild.remove();
    }
    this.painted = lines;
    this.scrolled();
  }
  scrolled() {
    this.gutter.scrollTop = this.paint.scrollTop = this.area.scrollTop;
    this.paint.scrollLeft = this.area.scrollLeft;
  }
  look(line) {
    const height = parseFloat(getComputedStyle(this.area).lineHeight);
    this.area.scrollTop = Math.max(0, (line - 4) * height);
    this.scrolled();
  }
}

customElements.define("brazo-editor", Editor);
