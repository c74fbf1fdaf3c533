// The elements of "Robots and cells": a list of cells and robots, a persistent error, warnings.
import { element, iconButton } from "../../server/page/dom.js";
import { Tied } from "../../server/page/elements.js";
import { icon } from "../../server/page/icons.js";

// <brazo-openings name="cells" event="open">: [{id, name, about, now}], a click opens one.
class Openings extends Tied {
  told(rows) {
    this.replaceChildren(
      ...(rows ?? []).map((row) => {
        const button = element("button", "opening", { type: "button", title: row.about });
        button.append(
          element("b", "", { textContent: row.name }),
          element("span", "", { textContent: row.about }),
        );
        button.setAttribute("aria-pressed", String(Boolean(row.now)));
        button.onclick = () => this.send(row.id);
        return button;
      }),
    );
  }
}

// <brazo-problem name="problem" event="dismiss">: the error of a file, until it is dismissed.
// A new one is scrolled into view: the user may be far down the list of robots.
let last = "";
class Problem extends Tied {
  build() {
    this.setAttribute("role", "alert");
    this.text = element("span");
    const mark = element("i");
    mark.innerHTML = icon("alert");
    this.append(mark, this.text, iconButton("close", "Dismiss the problem", () => this.send()));
  }
  told(text) {
    this.hidden = !text;
    const lines = (text ?? "").split("\n");
    this.text.replaceChildren(...lines.map((line) => element("div", "", { textContent: line })));
    if (text && text !== last) this.scrollIntoView({ block: "nearest" });
    last = text;
  }
}

// <brazo-findings name="findings">: a list of warnings.
class Findings extends Tied {
  told(lines) {
    const shown = lines?.length ? lines : ["No warnings."];
    this.replaceChildren(...shown.map((text) => element("p", "brazo-note", { textContent: text })));
  }
}

customElements.define("brazo-openings", Openings);
customElements.define("brazo-problem", Problem);
customElements.define("brazo-findings", Findings);
