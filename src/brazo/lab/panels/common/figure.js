// An element that draws on its `stage`, at most once per frame: on request (`soon`), and when its size
// or the theme changes.
import { element } from "../../server/page/dom.js";
import { Tied } from "../../server/page/elements.js";

export class Figure extends Tied {
  build() {
    this.stage = element("div", "stage");
  }

  connectedCallback() {
    super.connectedCallback();
    this.sizes = new ResizeObserver(() => this.soon());
    this.sizes.observe(this.stage);
    this.themes = new MutationObserver(() => this.soon());
    this.themes.observe(document.documentElement, { attributeFilter: ["data-brazo-theme"] });
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.sizes.disconnect();
    this.themes.disconnect();
    cancelAnimationFrame(this.drawing);
    this.drawing = 0;
  }

  soon() {
    this.drawing ||= requestAnimationFrame(() => {
      this.drawing = 0;
      if (this.isConnected && this.stage.clientWidth) this.draw();
    });
  }

  draw() {}
}
