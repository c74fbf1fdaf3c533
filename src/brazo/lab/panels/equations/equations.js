// A sheet of equations.  Its HTML is written by the lab, names in it are escaped there.
import { Tied } from "../../server/page/elements.js";

class Sheet extends Tied {
  told(html) {
    if (this.shown === html) return;
    this.shown = html;
    this.innerHTML = html ?? "";
  }
}

customElements.define("brazo-sheet", Sheet);
