// The elements of the Program panel: lists of steps that follow a run, and an editor.
import { drives, send } from "../../server/page/channel.js";
import { drafts, element, refilling } from "../../server/page/dom.js";
import { Tied, full } from "../../server/page/elements.js";
import { say } from "../../server/page/notices.js";

// <brazo-steps name="steps/scara1" at="at/scara1" label="scara1">: what a robot does, the present
// step marked and kept in view.  Steps are [verb, text, line] with `at` { index, status }.
class Steps extends Tied {
  build() {
    this.list = element("ol", "");
    this.list.setAttribute("aria-label", this.getAttribute("label"));
    this.append(this.list);
    this.items = [];
    this.at = { index: -1, status: "" };
  }
  connectedCallback() {
    super.connectedCallback();
    this.follow(this.getAttribute("at"), (at) => this.moved(at));
    this.sizes = new ResizeObserver(() => this.centre()); // it came into view
    this.sizes.observe(this.list);
  }
  disconnectedCallback() {
    super.disconnectedCallback();
    this.sizes.disconnect();
  }
  told(steps) {
    this.items = (steps ?? []).map(([verb, text], i) => {
      const item = element("li", verb === "note" ? "note" : "");
      item.title = `${verb} ${text}`;
      item.append(
        element("i", "", { textContent: i + 1 }),
        element("b", "", { textContent: verb === "note" ? "" : verb }),
        element("span", "", { textContent: text }),
      );
      return item;
    });
    this.list.replaceChildren(...this.items);
    this.moved(this.at);
  }
  moved(at) {
    if (!at) return;
    this.at = at;
    this.items.forEach((item, i) => {
      const now = i === at.index && at.status !== "";
      item.classList.toggle("done", i < at.index);
      item.classList.toggle("now", now);
      item.classList.toggle("failed", now && at.status === "failed");
      item.classList.toggle("ended", now && at.status === "ended");
      if (now) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    });
    this.centre();
  }
  // The present step in the middle of the list, without moving the panel itself.
  centre() {
    const item = this.items[Math.min(this.at.index, this.items.length - 1)];
    if (item) this.list.scrollTop = item.offsetTop - this.list.clientHeight / 2 + item.offsetHeight / 2;
  }
}

// <brazo-editor name="text" event="text" label error="error" lines="lines">: text with numbered
// lines.  The value is { version, text }: what the lab runs and saves, valid or not; another version
// replaces what is there.  What is typed is sent when the editor is left, the page is closed, or with
// Ctrl+Enter; a page that only watches cannot type.  `error` { line, text } marks a line, `lines`
// those at work.
const LONGEST = 60_000; // bytes; an event has room for little more
class Editor extends Tied {
  build() {
    this.area = element("textarea", "", { spellcheck: false, wrap: "off" });
    this.area.setAttribute("aria-label", this.getAttribute("label"));
    this.area.autocomplete = "off";
    this.gutter = element("div", "gutter");
    this.gutter.setAttribute("aria-hidden", "true");
    this.append(this.gutter, this.area);
    this.sent = "";
    this.bad = 0;
    this.busy = [];
    this.area.oninput = () => this.changed();
    this.area.onscroll = () => {
      this.gutter.scrollTop = this.area.scrollTop;
    };
    this.area.onblur = () => !refilling() && this.commit();
    this.leaving = () => this.commit();
    this.area.onkeydown = (event) => {
      event.stopPropagation();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        this.commit();
      } else if (event.key === "Tab" && !event.shiftKey && !event.ctrlKey && !event.altKey) {
        event.preventDefault();
        this.area.setRangeText("  ", this.area.selectionStart, this.area.selectionEnd, "end");
        this.changed();
      } else if (event.key === "Escape") {
        this.area.blur();
      }
    };
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
      this.bad = error?.line ?? 0;
      this.number();
      if (this.bad) this.look(this.bad);
    });
    this.follow(this.getAttribute("lines"), (lines) => {
      this.busy = lines ?? [];
      this.number();
    });
  }
  disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener("pagehide", this.leaving);
  }
  told(news) {
    if (!news || news.version === this.version) return;
    this.version = news.version;
    if (news.text === this.sent) return; // what this page sent itself; more may be typed by now
    this.area.value = this.sent = news.text;
    this.area.scrollTop = 0;
    this.number();
  }
  changed() {
    drafts.add(this.area);
    this.number();
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
  number() {
    const count = this.area.value.split("\n").length;
    const rows = Array.from({ length: count }, (_, i) => {
      const kind = i + 1 === this.bad ? "bad" : this.busy.includes(i + 1) ? "busy" : "";
      return element("div", kind, { textContent: i + 1 });
    });
    this.gutter.replaceChildren(...rows);
    this.gutter.scrollTop = this.area.scrollTop;
  }
  look(line) {
    const height = parseFloat(getComputedStyle(this.area).lineHeight);
    this.area.scrollTop = Math.max(0, (line - 4) * height);
    this.gutter.scrollTop = this.area.scrollTop;
  }
}

customElements.define("brazo-steps", Steps);
customElements.define("brazo-editor", Editor);
