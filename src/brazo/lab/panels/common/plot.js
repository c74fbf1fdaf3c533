// <brazo-plot name="plot" label="Position" height="180">: lines over time, live or complete.
//
// `NAME/lines` describes the lines: { key, lines: [{ label, unit, dashed, color }], whole, bands }.
// `NAME` contains rows: { key, epoch, at, t: […], y: [[…], …] }, where `at` is the number of the first.
// Each message repeats some earlier rows, so that a page that missed one loses nothing; a page that
// missed more requests all rows (the event `NAME/history`) and receives them as `NAME/all`.
// With `whole` the rows are complete and the view fits them.  With `track` ([start, end]) they are
// an overview of a recording: `NAME/now` is the current time { key, t, y }, marked, which a click sets
// (the event `seek`); a zoomed part is requested (the event `NAME/part`) and received under that name.
//
// Up to two units share the height, with an axis on either side; with more, each has a separate lane.
//
// The view follows the newest rows (`span` seconds) until it is paused, or a range is selected by
// dragging; a double click, Home or the button resumes it.
import { send } from "../../server/page/channel.js";
import { element, fixed } from "../../server/page/dom.js";
import { full } from "../../server/page/elements.js";
import { icon } from "../../server/page/icons.js";
import { Figure } from "./figure.js";
import { fileMenu } from "./plot_files.js";

const SPANS = [1, 2, 5, 10, 20, 30, 60]; // s
const KEPT = 6600; // rows
const LEAST = 1e-3; // min range of an axis, so that a constant line is not drawn as noise
const TOP = 8;
const BOTTOM = 20;
const GAP = 6;
const UNIT = 14; // px above an axis, for its unit
const LANE = 64; // px of a lane
const APART = 26; // px between two lanes: the end of one axis, and the next one's unit

class Plot extends Figure {
  build() {
    super.build();
    this.tabIndex = 0;
    this.setAttribute("role", "figure");
    this.setAttribute("aria-label", this.getAttribute("label") ?? "Plot");
    this.span = Number(this.getAttribute("span") ?? 10);
    this.coarse = 0.75; // px; rows nearer than this share a pixel
    this.held = null; // { from, to } while it does not follow the newest rows
    this.off = new Set(); // labels of lines that are not drawn
    this.what = { key: null, lines: [] };
    this.figures = []; // of the legend; it may be drawn before the lines are known
    this.clear();
    this.legend = element("div", "legend");
    this.tall = Number(this.getAttribute("height") ?? 180);
    this.stage.style.height = `${this.tall}px`;
    this.canvas = element("canvas");
    this.tools = element("div", "tools");
    this.pauseButton = this.tool("pause", "Pause the plot", () => this.pause());
    this.zoomButtons = [
      this.tool("minus", "More time", () => this.zoom(1), "-"),
      this.tool("plus", "Less time", () => this.zoom(-1), "+"),
    ];
    const saving = this.tool("download", "Save the plot: PNG, SVG or CSV of the shown time range", null);
    this.tools.append(this.pauseButton, ...this.zoomButtons, saving);
    const label = () => this.getAttribute("label") ?? "plot";
    this.tools.append(fileMenu(saving, label, () => this.asFile()));
    this.empty = element("p", "brazo-note", { textContent: this.getAttribute("empty") ?? "" });
    this.stage.append(this.canvas, this.tools, this.empty);
    this.append(this.stage, this.legend);
    this.listen();
  }

  connectedCallback() {
    super.connectedCallback();
    const name = this.getAttribute("name");
    this.follow(`${name}/lines`, (what) => this.setLines(what));
    this.follow(`${name}/all`, (all) => {
      this.told(all);
      this.asked = null;
    });
    this.follow(`${name}/now`, (now) => this.setNow(now));
    this.follow(`${name}/part`, (part) => {
      this.close = part;
      this.soon();
    });
  }

  tool(name, label, onclick, key = "") {
    const title = key ? `${label} (${key})` : label;
    const button = element("button", "tool", { type: "button", title, onclick });
    button.setAttribute("aria-label", label);
    button.innerHTML = name === "minus" ? MINUS : icon(name);
    return button;
  }

  // ---- rows --------------------------------------------------------------------------------

  clear() {
    this.at = 0;
    this.t = [];
    this.y = (this.what?.lines ?? []).map(() => []);
  }

  setLines(what) {
    this.what = what;
    this.clear();
    this.epoch = undefined;
    this.asked = null;
    this.showLegend();
    if (what.whole) this.held = null;
    if (this.latest) this.told(this.latest);
    for (const button of this.zoomButtons) button.hidden = Boolean(what.whole && !what.track);
    this.pauseButton.hidden = Boolean(what.whole);
    this.close = null;
    this.soon();
  }

  // ---- a recording -------------------------------------------------------------------------

  // The view moves when the current time leaves it.
  setNow(now) {
    const before = this.now?.t;
    this.now = now;
    if (this.held && this.what.track && before !== undefined && now.key === this.what.key) {
      const { from, to } = this.held;
      const inside = (t) => t >= from && t <= to;
      if (inside(before) && !inside(now.t)) {
        const start = now.t > to ? now.t - 0.1 * (to - from) : now.t - 0.9 * (to - from);
        this.hold(start, start + to - from);
      }
    }
    this.soon();
  }

  // Draw the requested part if it covers the view, else the overview.
  choose(view) {
    const { close } = this;
    const covers = (one) => one && one.key === this.what.key && one.from <= view.from && one.to >= view.to;
    const near = (one) => covers(one) && one.to - one.from < 4 * (view.to - view.from);
    const rows = covers(close) ? close : this.latest;
    if (rows?.key === this.what.key) [this.t, this.y] = [rows.t, rows.y];
    const [start, end] = this.what.track;
    if (near(close) || view.to - view.from > 0.99 * (end - start)) return;
    clearTimeout(this.asking);
    this.asking = setTimeout(() => {
      const { from, to } = this.view;
      const more = 0.5 * (to - from);
      send(full(this, `${this.getAttribute("name")}/part`), from - more, to + more);
    }, 80);
  }

  seek(t) {
    const [start, end] = this.what.track;
    send(this.what.seek ?? "replay/seek", Math.min(Math.max(t, start), end));
  }

  told(rows) {
    this.latest = rows;
    if (!rows || rows.key !== this.what.key) return;
    if (this.what.whole) {
      [this.t, this.y] = [rows.t, rows.y];
    } else {
      if (rows.epoch !== this.epoch) {
        this.clear();
        if (this.epoch !== undefined) this.held = null; // not if only the lines changed
        this.epoch = rows.epoch;
      }
      this.merge(rows);
    }
    this.soon();
  }

  merge(rows) {
    if (!rows.t.length) return; // the lab has no samples, so there is no history to request either
    const end = this.at + this.t.length;
    if (this.t.length && rows.at < this.at) {
      // A complete set: samples that arrived since it was taken are appended.
      const skip = Math.max(0, rows.at + rows.t.length - this.at);
      const rest = { t: this.t.slice(skip), y: this.y.map((row) => row.slice(skip)) };
      [this.at, this.t, this.y] = [rows.at, [...rows.t], rows.y.map((row) => [...row])];
      this.add(rest, 0);
      return;
    }
    if (!this.t.length || rows.at > end) {
      this.ask();
      this.clear();
      this.at = rows.at;
      this.add(rows, 0);
    } else {
      this.add(rows, end - rows.at);
    }
  }

  add(rows, skip) {
    for (let i = skip; i < rows.t.length; i++) this.t.push(rows.t[i]);
    rows.y.forEach((row, k) => {
      const mine = this.y[k];
      for (let i = skip; i < row.length; i++) mine.push(row[i]);
    });
    const over = this.t.length - KEPT;
    if (over > 600) {
      this.t.splice(0, over);
      this.y.forEach((row) => row.splice(0, over));
      this.at += over;
    }
  }

  ask() {
    const request = `${this.what.key}/${this.epoch}/${this.at + this.t.length}`;
    if (this.asked === request) return;
    this.asked = request;
    send(full(this, `${this.getAttribute("name")}/history`));
  }

  // What is drawn, for tests and inspection: [{ label, unit, t, y }].
  get data() {
    return this.what.lines.map((line, k) => ({ ...line, t: this.t, y: this.y[k] }));
  }

  // ---- the view ----------------------------------------------------------------------------

  get view() {
    if (this.held) return this.held;
    if (this.what.track) return { from: this.what.track[0], to: this.what.track[1] };
    const end = this.t.at(-1) ?? 0;
    if (this.what.whole) {
      const from = this.t[0] ?? 0;
      return { from, to: this.t.length > 1 ? Math.max(end, from + 1e-6) : from + 1 }; // empty: 1 s
    }
    return { from: end - this.span, to: end };
  }

  pause() {
    this.held = this.held ? null : this.view;
    this.soon();
  }

  zoom(by, about = null) {
    if (this.what.track) {
      const { from, to } = this.view;
      const [start, end] = this.what.track;
      const now = this.now?.t ?? (from + to) / 2;
      const centre = about ?? (now >= from && now <= to ? now : (from + to) / 2);
      const factor = by > 0 ? 2 : 1 / 2;
      if ((to - from) * factor >= end - start) this.held = null;
      else this.hold(centre - (centre - from) * factor, centre + (to - centre) * factor);
    } else if (!this.held) {
      const i = SPANS.findIndex((span) => span >= this.span - 1e-9);
      this.span = SPANS[Math.min(Math.max(i + by, 0), SPANS.length - 1)];
    } else {
      const { from, to } = this.held;
      const centre = about ?? (from + to) / 2;
      const factor = by > 0 ? 1.5 : 1 / 1.5;
      this.hold(centre - (centre - from) * factor, centre + (to - centre) * factor);
    }
    this.soon();
  }

  hold(from, to) {
    const [first, last] = this.what.track ?? [this.t[0] ?? 0, this.t.at(-1) ?? 1];
    const width = Math.min(Math.max(to - from, 0.02), Math.max(last - first, 0.02));
    const start = Math.min(Math.max(from, first), Math.max(last - width, first));
    this.held = { from: start, to: start + width };
    this.soon();
  }

  listen() {
    const { stage } = this;
    stage.onpointerdown = (down) => {
      if (down.button !== 0 || down.target.closest("button") || !this.box) return;
      this.focus({ preventScroll: true });
      const began = this.timeAt(down);
      const shift = down.shiftKey && this.held ? { ...this.held } : null;
      stage.setPointerCapture(down.pointerId);
      stage.onpointermove = (move) => {
        this.pointer = move.offsetX;
        if (shift) this.hold(shift.from - this.timeBy(move, down), shift.to - this.timeBy(move, down));
        else this.chosen = [began, this.timeAt(move)];
        this.soon();
      };
      const end = () => {
        stage.onpointermove = hover;
        const [a, b] = this.chosen ?? [0, 0];
        const width = (Math.abs(b - a) / (this.view.to - this.view.from)) * this.box.width;
        this.chosen = null;
        if (width > 6) this.hold(Math.min(a, b), Math.max(a, b));
        else if (this.what.track && !shift) this.seek(began);
        this.soon();
      };
      stage.onpointerup = end;
      stage.onpointercancel = end;
    };
    const hover = (move) => {
      this.pointer = move.target.closest("button") ? null : move.offsetX;
      this.soon();
    };
    stage.onpointermove = hover;
    stage.onpointerleave = () => {
      this.pointer = null;
      this.soon();
    };
    stage.ondblclick = (event) => {
      if (event.target.closest("button")) return;
      this.held = null;
      this.soon();
    };
    stage.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && document.activeElement !== this) return; // the wheel scrolls the panel
        event.preventDefault();
        this.zoom(Math.sign(event.deltaY), this.held ? this.timeAt(event) : null);
      },
      { passive: false },
    );
    this.onkeydown = (event) => {
      if (event.target !== this) return;
      const { from, to } = this.view;
      const by = { ArrowLeft: -0.2, ArrowRight: 0.2 }[event.key];
      if (by) this.hold(from + by * (to - from), to + by * (to - from));
      else if (event.key === "+") this.zoom(-1);
      else if (event.key === "-") this.zoom(1);
      else if (event.key === "Home" || (event.key === "Escape" && this.held)) this.held = null;
      else return;
      event.preventDefault();
      event.stopPropagation();
      this.soon();
    };
  }

  timeAt(event) {
    const { from, to } = this.view;
    const box = this.canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - this.box.left) / this.box.width;
    return from + Math.min(Math.max(share, 0), 1) * (to - from);
  }

  timeBy(move, down) {
    return ((move.clientX - down.clientX) / this.box.width) * (this.view.to - this.view.from);
  }

  // ---- the legend --------------------------------------------------------------------------

  showLegend() {
    this.figures = this.what.lines.map((line, k) => {
      const chip = element("button", "line", { type: "button", title: `${line.label}: show or hide` });
      const mark = element("span", `mark${line.dashed ? " dashed" : ""}`);
      mark.style.setProperty("--line", this.color(line, k));
      const figure = element("b");
      const name = element("span", "name", { textContent: line.label });
      chip.append(mark, name, figure, element("i", "", { textContent: sign(line.unit) }));
      chip.setAttribute("aria-pressed", String(!this.off.has(line.label)));
      chip.onclick = () => {
        if (!this.off.delete(line.label)) this.off.add(line.label);
        chip.setAttribute("aria-pressed", String(!this.off.has(line.label)));
        this.soon();
      };
      this.legend.append(chip);
      return { chip, figure };
    });
    this.legend.replaceChildren(...this.figures.map(({ chip }) => chip));
  }

  color(line, k) {
    return `var(--line-${(line.color ?? k) % 8})`;
  }

  // ---- drawing -----------------------------------------------------------------------------

  showHeld() {
    this.pauseButton.innerHTML = icon(this.held ? "play" : "pause");
    this.pauseButton.title = this.held ? "Follow current time" : "Pause the plot";
    this.pauseButton.setAttribute("aria-label", this.pauseButton.title);
    this.toggleAttribute("held", Boolean(this.held));
  }

  draw() {
    const { canvas, stage, view } = this;
    if (this.what.track) this.choose(view);
    const [first, last] = this.rowsIn(view);
    const axes = this.axes(first, last);
    this.scales = axes;
    const lanes = axes.length > 2 ? axes.length : 1;
    const top = TOP + UNIT;
    const least = top + lanes * (LANE + APART) - APART + BOTTOM;
    const wanted = `${Math.max(this.tall, least)}px`;
    if (stage.style.height !== wanted) stage.style.height = wanted; // otherwise every frame would cause a layout
    const [width, height] = [stage.clientWidth, stage.clientHeight];
    const scale = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    this.empty.hidden = this.t.length > 1 || !this.empty.textContent;
    if (this.hasAttribute("held") !== Boolean(this.held)) this.showHeld();
    const g = canvas.getContext("2d");
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.clearRect(0, 0, width, height);
    this.paint(g, { view, axes, first, last, width, height });
  }

  paint(g, { view, axes, first, last, width, height }) {
    const lanes = axes.length > 2 ? axes.length : 1;
    const top = TOP + UNIT;
    const style = getComputedStyle(this);
    const ink = (name) => style.getPropertyValue(name).trim();
    g.font = `11px ${style.fontFamily}`;
    const tall = (height - top - BOTTOM - (lanes - 1) * APART) / lanes;
    for (const axis of axes) {
      axis.ticks = ticks(axis.low, axis.high, Math.max(2, Math.round(tall / 32)));
      axis.low = Math.min(axis.low, axis.ticks.values[0]);
      axis.high = Math.max(axis.high, axis.ticks.values.at(-1));
      axis.width = Math.max(
        ...axis.ticks.values.map((v) => g.measureText(axis.ticks.text(v)).width),
        g.measureText(sign(axis.unit)).width,
      );
    }
    const space = (side) => Math.max(0, ...axes.filter((one) => one.side === side).map((one) => one.width));
    const left = 2 * GAP + Math.ceil(space(0) || 20);
    const right = space(1) ? 2 * GAP + Math.ceil(space(1)) : GAP + 4;
    const box = { left, top, width: width - left - right, height: height - top - BOTTOM };
    this.box = box;
    axes.forEach((axis, i) => {
      axis.box = { ...box, top: lanes > 1 ? top + i * (tall + APART) : top, height: tall };
    });
    const x = (t) => box.left + ((t - view.from) / (view.to - view.from)) * box.width;
    this.drawAxes(g, axes, box, view, x, ink);
    g.save();
    g.beginPath();
    g.rect(box.left, box.top - 1, box.width, box.height + 2);
    g.clip();
    axes.forEach((axis) => this.drawBands(g, axis, ink));
    axes.forEach((axis) => {
      const y = yOf(axis);
      axis.lines.forEach((k) => this.drawLine(g, k, first, last, x, y, ink));
    });
    if (this.chosen) {
      const [a, b] = this.chosen.map(x);
      g.fillStyle = ink("--accent-soft");
      g.fillRect(Math.min(a, b), box.top, Math.abs(b - a), box.height);
    }
    g.restore();
    if (this.what.track) this.drawNow(g, box, view, x, ink);
    this.drawPointer(g, axes, box, view, x, ink);
  }

  // Input of plot_files.js: the current plot, without the values at the pointer.
  asFile() {
    const style = getComputedStyle(this);
    const ink = (name) => style.getPropertyValue(name).trim();
    const { pointer, view } = this;
    const [first, last] = this.rowsIn(view);
    const [width, height] = [this.stage.clientWidth, this.stage.clientHeight];
    const shown = this.what.lines.map((line, k) => ({ ...line, k })).filter(({ label }) => !this.off.has(label));
    return {
      width,
      height,
      font: `11px ${style.fontFamily}`,
      paper: ink("--paper-high"),
      ink: ink("--ink"),
      paint: (g) => {
        [this.pointer, this.coarse] = [null, 0.2];
        this.paint(g, { view, axes: this.axes(first, last), first, last, width, height });
        [this.pointer, this.coarse] = [pointer, 0.75];
      },
      entries: shown.map(({ label, color, dashed, k }) => ({
        label,
        dashed,
        color: ink(`--line-${(color ?? k) % 8}`),
      })),
      columns: [
        { title: "t [s]", values: this.t.slice(first, last) },
        ...shown.map(({ label, unit, k }) => ({
          title: unit ? `${label} [${unit}]` : label,
          values: this.y[k].slice(first, last),
        })),
      ],
    };
  }

  // Range of the indices of the rows in view (end exclusive), with one more row on either side.
  rowsIn({ from, to }) {
    const { t } = this;
    const find = (value) => {
      let [low, high] = [0, t.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (t[middle] < value) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    return [Math.max(find(from) - 1, 0), Math.min(find(to) + 1, t.length)];
  }

  // One axis per unit.
  axes(first, last) {
    const found = [];
    this.what.lines.forEach((line, k) => {
      if (this.off.has(line.label)) return;
      let axis = found.find((one) => one.unit === line.unit);
      if (!axis) {
        axis = { unit: line.unit, low: Infinity, high: -Infinity, lines: [], side: 0 };
        found.push(axis);
      }
      axis.lines.push(k);
      const row = this.y[k];
      for (let i = first; i < last; i++) {
        const v = row[i];
        if (v === null || v === undefined) continue;
        if (v < axis.low) axis.low = v;
        if (v > axis.high) axis.high = v;
      }
    });
    for (const axis of found) {
      if (axis.low > axis.high) [axis.low, axis.high] = [0, 1];
      const middle = (axis.low + axis.high) / 2;
      const least = Math.max(LEAST, 1e-3 * Math.abs(middle));
      const half = Math.max((axis.high - axis.low) / 2, least / 2) * 1.04;
      [axis.low, axis.high] = [middle - half, middle + half];
    }
    if (found.length === 2) found[1].side = 1;
    return found;
  }

  drawAxes(g, axes, box, view, x, ink) {
    const bottom = box.top + box.height;
    g.lineWidth = 1;
    g.strokeStyle = ink("--plot-grid");
    g.fillStyle = ink("--ink-faint");
    g.textBaseline = "middle";
    axes.forEach((axis) => {
      const { side } = axis;
      const y = yOf(axis);
      const end = axis.box.top + axis.box.height;
      g.textAlign = side ? "left" : "right";
      const at = side ? box.left + box.width + GAP : box.left - GAP;
      for (const value of axis.ticks.values) {
        const level = Math.round(y(value)) + 0.5;
        if (level < axis.box.top - 1 || level > end + 1) continue;
        if (!side) line(g, box.left, level, box.left + box.width, level);
        g.fillText(axis.ticks.text(value), at, level);
      }
      g.fillText(sign(axis.unit), at, axis.box.top - UNIT);
    });
    g.textBaseline = "top";
    g.textAlign = "center";
    const time = ticks(view.from, view.to, Math.max(2, Math.floor(box.width / 40)));
    let written = -Infinity; // where the last number ends
    for (const value of time.values) {
      const at = Math.round(x(value)) + 0.5;
      if (at < box.left - 1 || at > box.left + box.width + 1 || value < -1e-9) continue;
      line(g, at, box.top, at, bottom);
      const text = time.text(value);
      const half = g.measureText(text).width / 2;
      if (at - half < Math.max(2, written + 6) || at + half > box.left + box.width - 12) continue;
      g.fillText(text, at, bottom + 5);
      written = at + half;
    }
    g.textAlign = "right";
    g.fillText("s", box.left + box.width, bottom + 5);
    g.strokeStyle = ink("--edge-strong");
    for (const end of new Set([bottom, ...axes.map((axis) => axis.box.top + axis.box.height)])) {
      line(g, box.left, Math.round(end) + 0.5, box.left + box.width, Math.round(end) + 0.5);
    }
  }

  // Target ranges { unit, low, high }, shaded.
  drawBands(g, axis, ink) {
    const { box } = axis;
    const y = yOf(axis);
    for (const band of this.what.bands ?? []) {
      if (band.unit !== axis.unit) continue;
      g.fillStyle = ink("--plot-band");
      const [high, low] = [y(band.high), y(band.low)];
      g.fillRect(box.left, high, box.width, Math.max(low - high, 1));
    }
  }

  // Where many rows share a pixel, only their min and max are drawn.
  drawLine(g, k, first, last, x, y, ink) {
    const { dashed, color } = this.what.lines[k];
    const { t } = this;
    const row = this.y[k];
    g.strokeStyle = ink(`--line-${(color ?? k) % 8}`);
    g.lineWidth = 1.5;
    g.lineJoin = "round";
    g.setLineDash(dashed ? [5, 4] : []);
    g.beginPath();
    let down = false;
    let pixel = NaN;
    let [low, high, end] = [0, 0, 0];
    const flush = (at) => {
      if (low !== high) {
        g.lineTo(at, low);
        g.lineTo(at, high);
      }
      g.lineTo(at, end);
    };
    for (let i = first; i < last; i++) {
      if (row[i] === null || row[i] === undefined) {
        if (down) flush(pixel);
        [down, pixel] = [false, NaN];
        continue;
      }
      const at = x(t[i]);
      const level = y(row[i]);
      if (!down) {
        g.moveTo(at, level);
        [down, pixel, low, high, end] = [true, at, level, level, level];
      } else if (at - pixel < this.coarse) {
        [low, high, end] = [Math.min(low, level), Math.max(high, level), level];
      } else {
        flush(pixel);
        [pixel, low, high, end] = [at, level, level, level];
      }
    }
    if (down) flush(pixel);
    g.stroke();
    g.setLineDash([]);
  }

  // The current time of a recording, a line with a handle.
  drawNow(g, box, view, x, ink) {
    const t = this.now?.t;
    if (t === undefined || t < view.from - 1e-9 || t > view.to + 1e-9) return;
    const at = Math.round(x(t)) + 0.5;
    g.strokeStyle = ink("--accent");
    g.fillStyle = ink("--accent");
    g.lineWidth = 1.5;
    line(g, at, box.top, at, box.top + box.height);
    g.lineWidth = 1;
    g.beginPath();
    g.moveTo(at - 4.5, box.top - 1);
    g.lineTo(at + 4.5, box.top - 1);
    g.lineTo(at, box.top + 6);
    g.fill();
  }

  // The values under the pointer, or the last ones.
  drawPointer(g, axes, box, view, x, ink) {
    let row = this.rowsIn(view)[1] - 1;
    let values = this.what.track && this.now?.key === this.what.key ? this.now.y : null;
    const over = this.pointer !== null && this.pointer !== undefined && !this.chosen;
    if (over && this.pointer >= box.left && this.pointer <= box.left + box.width && this.t.length) {
      const wanted = view.from + ((this.pointer - box.left) / box.width) * (view.to - view.from);
      row = this.rowsIn({ from: wanted, to: wanted })[0];
      if (Math.abs((this.t[row + 1] ?? Infinity) - wanted) < Math.abs(this.t[row] - wanted)) row++;
      values = null;
      const at = x(this.t[row]);
      if (at >= box.left && at <= box.left + box.width) {
        g.strokeStyle = ink("--ink-faint");
        line(g, at, box.top, at, box.top + box.height);
        for (const axis of axes) {
          const y = yOf(axis);
          for (const k of axis.lines) {
            if (this.y[k][row] === null) continue;
            g.fillStyle = ink(`--line-${(this.what.lines[k].color ?? k) % 8}`);
            g.beginPath();
            g.arc(at, y(this.y[k][row]), 2.6, 0, 7);
            g.fill();
          }
        }
        const text = `${fixed(this.t[row], 2)} s`;
        const half = g.measureText(text).width / 2 + 4;
        const centre = Math.min(Math.max(at, box.left + half), box.left + box.width - half);
        g.fillStyle = ink("--paper-high");
        g.fillRect(centre - half, box.top + box.height + 2, 2 * half, 16);
        g.fillStyle = ink("--ink");
        g.textAlign = "center";
        g.textBaseline = "top";
        g.fillText(text, centre, box.top + box.height + 5);
      }
    }
    this.figures.forEach(({ figure }, k) => {
      const value = values ? values[k] : this.y[k]?.[row];
      const decimals = DECIMALS[this.what.lines[k].unit] ?? 3;
      const text = value === null || value === undefined ? "" : fixed(value, decimals);
      if (figure.textContent !== text) figure.textContent = text;
    });
  }
}

const MINUS = '<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.7" stroke-linecap="round" aria-hidden="true"><path d="M5 12h14"/></svg>';

export function yOf(axis) {
  const { box } = axis;
  const scale = box.height / (axis.high - axis.low || 1);
  return (value) => box.top + (axis.high - value) * scale;
}

export function line(g, x1, y1, x2, y2) {
  g.beginPath();
  g.moveTo(x1, y1);
  g.lineTo(x2, y2);
  g.stroke();
}

// About `count` round numbers from low to high, and their text.
export function ticks(low, high, count) {
  const rough = (high - low || 1) / count;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((m) => m * size >= rough - 1e-12) * size;
  const decimals = Math.min(Math.max(-Math.floor(Math.log10(step) + 1e-9), 0), 9);
  const values = [];
  const start = Math.ceil(low / step - 1e-9);
  for (let i = start; i * step <= high + 1e-9 * step && values.length < 60; i++) values.push(i * step);
  if (values.length < 2) values.push((start + 1) * step);
  return { values, text: (value) => fixed(value, decimals) };
}

// A unit as shown in panels; files have the ASCII form.
const sign = (unit) => unit?.replace(/^deg/, "°") ?? "";

// As in signal_groups.py for the table: numbers of one unit are aligned in a column.
export const DECIMALS = { deg: 2, "deg/s": 2, "deg/s²": 1, mm: 2, "mm/s": 1, "mm/s²": 0, N: 2 };

customElements.define("brazo-plot", Plot);
