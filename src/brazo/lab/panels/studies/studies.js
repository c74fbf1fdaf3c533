// The elements of "Studies": the bar of a running study.
import { element } from "../../server/page/dom.js";
import { Tied } from "../../server/page/elements.js";

// <brazo-study-bar name="progress">: a fraction; empty while nothing runs.
class StudyBar extends Tied {
  build() {
    this.bar = element("progress", "", { max: 1 });
    this.bar.setAttribute("aria-label", "Progress of the study");
    this.append(this.bar);
  }
  told(fraction) {
    this.bar.value = fraction ?? 0;
  }
}

customElements.define("brazo-study-bar", StudyBar);
