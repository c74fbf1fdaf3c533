// An element that draws on its `stage`, at most once a frame: when asked to (`soon`), when its size
// changes and when the theme does.
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
