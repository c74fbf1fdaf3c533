// <brazo-xy name="xy" label="Path" height="260">: curves of one signal over another.
//
// `NAME` is { key, x: { label, unit }, y, equal, seek, lines: [{ label, color, dashed }],
// data: [[t, x, y], …] }, three columns for every line.  With `equal` both axes have the same scale.
// `NAME/now` is { key, points: [[x, y] or null, …] }, marked; a click on a curve sends the event
// `seek` with its time there.
import { send } from "../../server/page/channel.js";
import { element, fixed } from "../../server/page/dom.js";
import { icon } from "../../server/page/icons.js";
import { Figure } from "./figure.js";
import { DECIMALS, line, ticks } from "./plot.js";
import { fileMenu } from "./plot_files.js";

const TOP = 24; // px, for the buttons
const BOTTOM = 34; // px, for numbers and the name of the axis
const NEAR = 24; // px from the pointer to a curve

class XYPlot extends Figure {
  build() {
    super.build();
    this.tabIndex = 0;
    this.setAttribute("role", "figure");
    this.setAttribute("aria-label", this.getAttribute("label") ?? "XY plot");
    this.what = { lines: [], data: [], x: {}, y: {} };
    this.off = new Set();
    this.stage.style.height = `${Number(this.getAttribute("height") ?? 260)}px`;
    this.canvas = element("canvas");
    this.legend = element("div", "legend");
    this.empty = element("p", "brazo-note", { textContent: this.getAttribute("empty") ?? "" });
    const tools = element("div", "tools");
    const saving = element("button", "tool", { type: "button", title: "Save the plot: PNG, SVG or CSV" });
    saving.setAttribute("aria-label", saving.title);
    saving.innerHTML = icon("download");
    const label = () => this.getAttribute("label") ?? "xy";
    tools.append(saving, fileMenu(saving, label, () => this.asFile()));
    this.stage.append(this.canvas, tools, this.empty);
    this.append(this.stage, this.legend);
    this.stage.onpointermove = (move) => {
      this.pointer = move.target.closest("button") ? null : [move.offsetX, move.offsetY];
      this.soon();
    };
    this.stage.onpointerleave = () => {
      this.pointer = null;
      this.soon();
    };
    this.stage.onclick = (event) => {
      if (event.target.closest("button")) return;
      this.pointer = [event.offsetX, event.offsetY];
      const found = this.nearest();
      if (found && this.what.seek) send(this.what.seek, found.t);
    };
  }

  connectedCallback() {
    super.connectedCallback();
    this.follow(`${this.getAttribute("name")}/now`, (now) => {
      this.now = now;
      this.soon();
    });
  }

  told(what) {
    if (!what) {
      if (what === null && this.what.lines.length) this.told({ lines: [], data: [], x: {}, y: {} });
      return;
    }
    this.what = what;
    const legend = JSON.stringify(what.lines);
    if (legend === this.legendOf) return this.soon(); // a live path: its legend does not change
    this.legendOf = legend;
    this.figures = what.lines.map((one) => {
      const chip = element("button", "line", { type: "button", title: `${one.label}: show or hide` });
      const mark = element("span", `mark${one.dashed ? " dashed" : ""}`);
      mark.style.setProperty("--line", `var(--line-${one.color % 8})`);
      const figure = element("b");
      chip.append(mark, element("span", "name", { textContent: one.label }), figure);
      chip.setAttribute("aria-pressed", String(!this.off.has(one.label)));
      chip.onclick = () => {
        if (!this.off.delete(one.label)) this.off.add(one.label);
        chip.setAttribute("aria-pressed", String(!this.off.has(one.label)));
        this.soon();
      };
      return { chip, figure };
    });
    this.legend.replaceChildren(...this.figures.map(({ chip }) => chip));
    this.soon();
  }

  // What is drawn, for tests and inspection.
  get data() {
    return this.what.lines.map((one, k) => ({ ...one, x: this.what.data[k][1], y: this.what.data[k][2] }));
  }

  draw() {
    const { canvas, stage } = this;
    const [width, height] = [stage.clientWidth, stage.clientHeight];
    const scale = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    this.empty.hidden = this.what.lines.length > 0;
    const g = canvas.getContext("2d");
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.clearRect(0, 0, width, height);
    if (!this.what.lines.length) return;
    this.paint(g, width, height);
    this.mark(g);
  }

  // Range of an axis over the visible curves, with a margin.
  range(which) {
    let [low, high] = [Infinity, -Infinity];
    this.what.lines.forEach((one, k) => {
      if (this.off.has(one.label)) return;
      for (const v of this.what.data[k][which]) {
        if (v === null) continue;
        if (v < low) low = v;
        if (v > high) high = v;
      }
    });
    if (low > high) [low, high] = [0, 1];
    const half = Math.max((high - low) / 2, 5e-4, 5e-4 * Math.abs(low + high)) * 1.06;
    const middle = (low + high) / 2;
    return [middle - half, middle + half];
  }

  paint(g, width, height) {
    const style = getComputedStyle(this);
    const ink = (name) => style.getPropertyValue(name).trim();
    const { what } = this;
    g.font = `11px ${style.fontFamily}`;
    let x = this.range(1);
    let y = this.range(2);
    const rows = ticks(y[0], y[1], Math.max(2, Math.round((height - TOP - BOTTOM) / 36)));
    const left = 14 + Math.ceil(Math.max(...rows.values.map((v) => g.measureText(rows.text(v)).width)));
    const box = { left, top: TOP, width: width - left - 14, height: height - TOP - BOTTOM };
    if (what.equal) {
      // The axis with more space shows a larger range.
      const per = Math.max((x[1] - x[0]) / box.width, (y[1] - y[0]) / box.height);
      const grown = (ends, size) => {
        const middle = (ends[0] + ends[1]) / 2;
        return [middle - (per * size) / 2, middle + (per * size) / 2];
      };
      x = grown(x, box.width);
      y = grown(y, box.height);
    }
    const toX = (v) => box.left + ((v - x[0]) / (x[1] - x[0])) * box.width;
    const toY = (v) => box.top + ((y[1] - v) / (y[1] - y[0])) * box.height;
    this.scale = { toX, toY, box };
    const bottom = box.top + box.height;
    g.lineWidth = 1;
    g.textBaseline = "middle";
    g.textAlign = "right";
    for (const value of ticks(y[0], y[1], Math.max(2, Math.round(box.height / 36))).values) {
      const at = Math.round(toY(value)) + 0.5;
      if (at < box.top - 1 || at > bottom + 1) continue;
      g.strokeStyle = ink("--plot-grid");
      line(g, box.left, at, box.left + box.width, at);
      g.fillStyle = ink("--ink-faint");
      g.fillText(rows.text(value), box.left - 6, at);
    }
    g.textBaseline = "top";
    g.textAlign = "center";
    const columns = ticks(x[0], x[1], Math.max(2, Math.floor(box.width / 56)));
    for (const value of columns.values) {
      const at = Math.round(toX(value)) + 0.5;
      if (at < box.left - 1 || at > box.left + box.width + 1) continue;
      g.strokeStyle = ink("--plot-grid");
      line(g, at, box.top, at, bottom);
      g.fillStyle = ink("--ink-faint");
      const half = g.measureText(columns.text(value)).width / 2;
      if (at - half > 2 && at + half < width - 2) g.fillText(columns.text(value), at, bottom + 5);
    }
    g.strokeStyle = ink("--edge-strong");
    line(g, box.left, Math.round(bottom) + 0.5, box.left + box.width, Math.round(bottom) + 0.5);
    g.fillStyle = ink("--ink");
    g.fillText(named(what.x), box.left + box.width / 2, bottom + 19);
    g.textAlign = "left";
    g.fillText(named(what.y), 6, 6);
    g.save();
    g.beginPath();
    g.rect(box.left, box.top - 1, box.width, box.height + 2);
    g.clip();
    what.lines.forEach((one, k) => {
      if (this.off.has(one.label)) return;
      const [, xs, ys] = what.data[k];
      g.strokeStyle = ink(`--line-${one.color % 8}`);
      g.lineWidth = one.dashed ? 1.2 : 1.6;
      g.lineJoin = "round";
      g.setLineDash(one.dashed ? [5, 4] : []);
      g.beginPath();
      let down = false;
      for (let i = 0; i < xs.length; i++) {
        if (xs[i] === null || ys[i] === null) down = false;
        else if (down) g.lineTo(toX(xs[i]), toY(ys[i]));
        else {
          g.moveTo(toX(xs[i]), toY(ys[i]));
          down = true;
        }
      }
      g.stroke();
      g.setLineDash([]);
    });
    g.restore();
  }

  // The point of a curve under the pointer.
  nearest() {
    if (!this.pointer || !this.scale) return null;
    const [px, py] = this.pointer;
    const { toX, toY } = this.scale;
    let [best, found] = [NEAR * NEAR, null];
    this.what.lines.forEach((one, k) => {
      if (this.off.has(one.label)) return;
      const [t, xs, ys] = this.what.data[k];
      for (let i = 0; i < xs.length; i++) {
        if (xs[i] === null || ys[i] === null) continue;
        const far = (toX(xs[i]) - px) ** 2 + (toY(ys[i]) - py) ** 2;
        if (far < best) [best, found] = [far, { k, t: t[i], x: xs[i], y: ys[i] }];
      }
    });
    return found;
  }

  // Dots at the current time, and the values at the pointer.
  mark(g) {
    const style = getComputedStyle(this);
    const ink = (name) => style.getPropertyValue(name).trim();
    const { toX, toY, box } = this.scale;
    const { x, y, lines } = this.what;
    const dot = (k, point, r) => {
      g.fillStyle = ink(`--line-${lines[k].color % 8}`);
      g.beginPath();
      g.arc(toX(point[0]), toY(point[1]), r, 0, 7);
      g.fill();
    };
    const pair = (a, b) => `${fixed(a, DECIMALS[x.unit] ?? 3)}, ${fixed(b, DECIMALS[y.unit] ?? 3)}`;
    const points = this.now?.key === this.what.key ? this.now.points : [];
    lines.forEach((one, k) => {
      const point = points[k] ?? null;
      if (point && !this.off.has(one.label)) dot(k, point, 4);
      const text = point ? pair(...point) : "";
      const { figure } = this.figures[k];
      if (figure.textContent !== text) figure.textContent = text;
    });
    const found = this.nearest();
    if (!found) return;
    dot(found.k, [found.x, found.y], 3);
    const text = `${fixed(found.t, 2)} s: ${pair(found.x, found.y)}`;
    const half = g.measureText(text).width / 2 + 5;
    const at = Math.min(Math.max(toX(found.x), box.left + half), box.left + box.width - half);
    const above = toY(found.y) - 12 > box.top + 16 ? toY(found.y) - 24 : toY(found.y) + 8;
    g.fillStyle = ink("--paper-high");
    g.fillRect(at - half, above, 2 * half, 17);
    g.strokeStyle = ink("--edge");
    g.lineWidth = 1;
    g.beginPath();
    g.rect(at - half, above, 2 * half, 17);
    g.stroke();
    g.fillStyle = ink("--ink");
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.fillText(text, at, above + 9);
  }

  asFile() {
    const style = getComputedStyle(this);
    const ink = (name) => style.getPropertyValue(name).trim();
    const shown = this.what.lines.map((one, k) => ({ ...one, k })).filter(({ label }) => !this.off.has(label));
    const [width, height] = [this.stage.clientWidth, this.stage.clientHeight];
    const titled = (run, axis) => `${run}: ${named(axis)}`;
    return {
      width,
      height,
      font: `11px ${style.fontFamily}`,
      paper: ink("--paper-high"),
      ink: ink("--ink"),
      paint: (g) => this.paint(g, width, height),
      entries: shown.map(({ label, color, dashed }) => ({ label, dashed, color: ink(`--line-${color % 8}`) })),
      columns: shown.flatMap(({ label, k }) => [
        { title: `${label}: t [s]`, values: this.what.data[k][0] },
        { title: titled(label, this.what.x), values: this.what.data[k][1] },
        { title: titled(label, this.what.y), values: this.what.data[k][2] },
      ]),
    };
  }
}

function named({ label, unit }) {
  return unit ? `${label} [${unit}]` : String(label ?? "");
}

customElements.define("brazo-xy", XYPlot);
