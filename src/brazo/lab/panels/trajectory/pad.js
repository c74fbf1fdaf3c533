// <brazo-pad name="strokes" event="stroke" label>: a square on which curves are drawn with mouse, pen
// or finger.
//
// `NAME` is { lines: [[[x, y], …], …], width }: the strokes in the lab, x to the right and y up from
// −0.5 to 0.5, and the width of the pad in mm.  A finished stroke is sent as such a list of points;
// the buttons send `EVENT-undo` and `EVENT-clear`.
import { send } from "../../server/page/channel.js";
import { element } from "../../server/page/dom.js";
import { full } from "../../server/page/elements.js";
import { Figure } from "../common/figure.js";

const NEAR = 0.004; // fraction of the width, min distance between points of a stroke
const MOST = 400; // max points of a stroke
const GRID = 10; // mm

class Pad extends Figure {
  build() {
    super.build();
    this.lines = [];
    this.width = 0;
    this.stroke = null;
    const label = this.getAttribute("label") ?? "Drawing pad";
    this.canvas = element("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `${label}: draw with mouse, pen or finger`);
    this.hint = element("p", "hint", { textContent: "Draw here" });
    this.size = element("span", "size");
    this.stage.append(this.canvas, this.hint, this.size);
    const event = this.getAttribute("event");
    const button = (text, what) => {
      const node = element("button", "plain", { type: "button", textContent: text });
      node.onclick = () => send(full(this, `${event}-${what}`));
      return node;
    };
    this.buttons = [button("Remove last stroke", "undo"), button("Clear", "clear")];
    const row = element("div", "brazo-buttons");
    row.append(...this.buttons);
    this.append(this.stage, row);
    this.canvas.onpointerdown = (down) => {
      if (down.button !== 0 || this.stroke) return;
      down.preventDefault();
      this.canvas.setPointerCapture(down.pointerId);
      this.stroke = [this.at(down)];
      this.soon();
    };
    this.canvas.onpointermove = (move) => {
      if (!this.stroke || !this.canvas.hasPointerCapture(move.pointerId)) return;
      for (const one of move.getCoalescedEvents?.() ?? [move]) this.add(this.at(one));
      this.soon();
    };
    this.canvas.onpointerup = (up) => {
      if (!this.stroke || !this.canvas.hasPointerCapture(up.pointerId)) return;
      this.add(this.at(up));
      if (this.stroke.length > 1) {
        this.send(this.stroke);
        this.lines = [...this.lines, this.stroke]; // until the lab answers
      }
      this.stroke = null;
      this.soon();
    };
    this.canvas.onpointercancel = () => {
      this.stroke = null;
      this.soon();
    };
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const round = (v) => Math.round(1e4 * Math.min(Math.max(v, -0.5), 0.5)) / 1e4;
    return [round((event.clientX - box.left) / box.width - 0.5), round(0.5 - (event.clientY - box.top) / box.height)];
  }

  add(point) {
    const last = this.stroke[this.stroke.length - 1];
    const far = Math.hypot(point[0] - last[0], point[1] - last[1]);
    if (far > NEAR && this.stroke.length < MOST) this.stroke.push(point);
  }

  told(given) {
    if (!given) return;
    this.lines = given.lines;
    this.width = given.width;
    this.soon();
  }

  draw() {
    const { canvas, stage } = this;
    const side = stage.clientWidth;
    const scale = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(side * scale)) {
      canvas.width = Math.round(side * scale);
      canvas.height = Math.round(side * scale);
    }
    const empty = !this.lines.length && !this.stroke;
    this.hint.hidden = !empty;
    for (const node of this.buttons) node.disabled = !this.lines.length;
    this.size.textContent = this.width ? `${Math.round(this.width)} mm` : "";
    const g = canvas.getContext("2d");
    const style = getComputedStyle(this);
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.clearRect(0, 0, side, side);
    g.strokeStyle = style.getPropertyValue("--edge") || "#8884";
    g.lineWidth = 1;
    const step = this.width > 0 ? (side * GRID) / this.width : side / 8;
    if (step > 6) {
      g.beginPath();
      for (let x = side / 2 % step; x < side; x += step) {
        g.moveTo(x, 0);
        g.lineTo(x, side);
        g.moveTo(0, x);
        g.lineTo(side, x);
      }
      g.stroke();
    }
    g.strokeStyle = style.color;
    g.lineWidth = 2;
    g.lineJoin = g.lineCap = "round";
    for (const line of this.stroke ? [...this.lines, this.stroke] : this.lines) {
      g.beginPath();
      line.forEach(([x, y], k) => {
        const [u, v] = [(x + 0.5) * side, (0.5 - y) * side];
        if (k) g.lineTo(u, v);
        else g.moveTo(u, v);
      });
      g.stroke();
    }
  }
}

customElements.define("brazo-pad", Pad);
