// Slider of a dimension: a typed value may be beyond the ends; a mark shows the value of the file, and
// a click on it restores that value.
import { value, watch } from "../../server/page/channel.js";
import { element, fixed } from "../../server/page/dom.js";
import { full } from "../../server/page/elements.js";
import "../../server/page/fields.js";

// <brazo-dimension name event args label min max first unit digits>
class Dimension extends HTMLElement {
  connectedCallback() {
    this.build();
    this.unwatch = watch(full(this, "refused"), () => {
      const shown = value(full(this, this.getAttribute("name")));
      if (typeof shown === "number") this.slider.show(shown);
    });
  }
  disconnectedCallback() {
    this.unwatch();
  }
  build() {
    if (this.slider) return;
    const slider = document.createElement("brazo-slider");
    for (const { name, value } of this.attributes) slider.setAttribute(name, value);
    const [label, unit] = [this.getAttribute("label"), this.getAttribute("unit")];
    const first = Number(this.getAttribute("first"));
    slider.within = (value) => value;
    slider.share = (value) => Math.min(Math.max((value - slider.min) / (slider.max - slider.min), 0), 1);
    const show = slider.show;
    slider.show = (value) => {
      show.call(slider, value);
      this.toggleAttribute("changed", Math.abs(value - first) > 1e-9 * Math.abs(first));
    };
    this.slider = slider;
    this.replaceChildren(slider);
    const back = element("button", "back", { type: "button", tabIndex: -1 });
    back.title = `Reset to ${fixed(first, slider.digits)} ${unit}`;
    back.setAttribute("aria-label", `${label} as in the file`);
    back.style.setProperty("--at", slider.share(first));
    back.onclick = () => slider.want(first);
    const middle = element("span", "middle");
    slider.range.replaceWith(middle);
    middle.append(slider.range, back);
  }
}

customElements.define("brazo-dimension", Dimension);
