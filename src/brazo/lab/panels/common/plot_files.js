// Saves a plot as a file: PNG, SVG or CSV.
//
// SvgContext implements the part of a canvas context that plots use, and writes SVG instead of pixels,
// so that a figure is drawn by the same code in all formats.
import { element } from "../../server/page/dom.js";
import { value } from "../../server/page/channel.js";

const LEGEND = 18; // px of a row of the legend
const SHARPER = 3; // pixels of a PNG per pixel of the page

export class SvgContext {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.parts = [];
    this.path = "";
    this.saved = [];
    this.clips = 0;
    this.dash = [];
    this.lineWidth = 1;
    this.strokeStyle = this.fillStyle = "#000";
    this.lineJoin = "miter";
    this.font = "11px sans-serif";
    this.textAlign = "left";
    this.textBaseline = "alphabetic";
    this.pen = document.createElement("canvas").getContext("2d"); // measures text
    this.group = "";
  }
  text() {
    const size = `width="${n(this.width)}" height="${n(this.height)}"`;
    const box = `viewBox="0 0 ${n(this.width)} ${n(this.height)}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${box}>\n${this.parts.join("\n")}\n</svg>\n`;
  }
  setTransform() {}
  clearRect() {}
  save() {
    this.saved.push(this.group);
  }
  restore() {
    const before = this.saved.pop() ?? "";
    if (this.group !== before) this.parts.push("</g>");
    this.group = before;
  }
  clip() {
    const id = `clip-${this.clips++}`;
    this.group = id;
    this.parts.push(`<clipPath id="${id}"><path d="${this.path}"/></clipPath><g clip-path="url(#${id})">`);
  }
  measureText(text) {
    this.pen.font = this.font;
    return this.pen.measureText(text);
  }
  beginPath() {
    this.path = "";
  }
  moveTo(x, y) {
    this.path += `M${n(x)} ${n(y)}`;
  }
  lineTo(x, y) {
    this.path += `L${n(x)} ${n(y)}`;
  }
  rect(x, y, width, height) {
    this.path += `M${n(x)} ${n(y)}h${n(width)}v${n(height)}h${n(-width)}z`;
  }
  arc(x, y, r) {
    this.path += `M${n(x - r)} ${n(y)}a${n(r)} ${n(r)} 0 1 0 ${n(2 * r)} 0a${n(r)} ${n(r)} 0 1 0 ${n(-2 * r)} 0z`;
  }
  setLineDash(dash) {
    this.dash = dash;
  }
  stroke() {
    if (!this.path) return;
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    const look = `fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" stroke-linejoin="${this.lineJoin}"`;
    this.parts.push(`<path d="${this.path}" ${look}${dash}/>`);
  }
  fill() {
    if (this.path) this.parts.push(`<path d="${this.path}" fill="${this.fillStyle}"/>`);
  }
  fillRect(x, y, width, height) {
    const place = `x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}"`;
    this.parts.push(`<rect ${place} fill="${this.fillStyle}"/>`);
  }
  fillText(text, x, y) {
    const [, size, family] = /([\d.]+)px (.*)/.exec(this.font) ?? ["", "11", "sans-serif"];
    const anchor = { right: "end", center: "middle" }[this.textAlign] ?? "start";
    const down = { top: 0.8, middle: 0.35 }[this.textBaseline] ?? 0; // fraction of the font size
    const place = `x="${n(x)}" y="${n(y + down * Number(size))}" text-anchor="${anchor}"`;
    const look = `font-size="${size}" font-family="${escaped(family)}" fill="${this.fillStyle}"`;
    this.parts.push(`<text ${place} ${look}>${escaped(text)}</text>`);
  }
}

const n = (x) => String(Math.round(100 * x) / 100);

function escaped(text) {
  const names = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return String(text).replace(/[&<>"]/g, (c) => names[c]);
}

function save(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = element("a", "", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

// Draw a plot and its legend into a context.  `plot` has width, height, paint(g), entries
// [{ label, color, dashed }], and paper and ink, the colours of the page.
function draw(g, plot) {
  g.fillStyle = plot.paper;
  g.fillRect(0, 0, plot.width, plot.height + legendOf(g, plot).height);
  plot.paint(g);
  g.font = plot.font;
  g.textAlign = "left";
  g.textBaseline = "middle";
  for (const { x, y, label, color, dashed } of legendOf(g, plot).places) {
    g.strokeStyle = color;
    g.lineWidth = 2;
    g.setLineDash(dashed ? [4, 3] : []);
    g.beginPath();
    g.moveTo(x, plot.height + y);
    g.lineTo(x + 14, plot.height + y);
    g.stroke();
    g.setLineDash([]);
    g.fillStyle = plot.ink;
    g.fillText(label, x + 19, plot.height + y);
  }
}

// Positions of the entries of a legend, in rows as wide as the plot.
function legendOf(g, { entries, width, font }) {
  g.font = font;
  let [x, row] = [8, 0];
  const places = entries.map((entry) => {
    const wide = 19 + g.measureText(entry.label).width + 16;
    if (x > 8 && x + wide > width) [x, row] = [8, row + 1];
    const place = { ...entry, x, y: row * LEGEND + LEGEND / 2 };
    x += wide;
    return place;
  });
  return { places, height: entries.length ? (row + 1) * LEGEND + 4 : 0 };
}

const KINDS = {
  png(name, plot) {
    const canvas = document.createElement("canvas");
    const g = canvas.getContext("2d");
    canvas.width = Math.round(SHARPER * plot.width);
    canvas.height = Math.round(SHARPER * (plot.height + legendOf(g, plot).height));
    g.setTransform(SHARPER, 0, 0, SHARPER, 0, 0);
    draw(g, plot);
    canvas.toBlob((blob) => save(`${name}.png`, blob), "image/png");
  },
  svg(name, plot) {
    const g = new SvgContext(plot.width, plot.height);
    g.height += legendOf(g, plot).height;
    draw(g, plot);
    save(`${name}.svg`, new Blob([g.text()], { type: "image/svg+xml" }));
  },
  // One column per signal: the first row has names with units; missing values are empty.
  csv(name, { columns }) {
    const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const rows = [columns.map(({ title }) => cell(title)).join(",")];
    const count = Math.max(0, ...columns.map(({ values }) => values.length));
    for (let i = 0; i < count; i++) {
      rows.push(columns.map(({ values }) => String(values[i] ?? "")).join(","));
    }
    save(`${name}.csv`, new Blob([`${rows.join("\n")}\n`], { type: "text/csv" }));
  },
};

// Buttons PNG, SVG and CSV that open under `button`; `plot()` returns the argument of draw(), and columns.
export function fileMenu(button, title, plot) {
  const menu = element("div", "files");
  menu.hidden = true;
  menu.setAttribute("role", "menu");
  const close = () => {
    menu.hidden = true;
    button.setAttribute("aria-expanded", "false");
  };
  for (const [kind, write] of Object.entries(KINDS)) {
    const item = element("button", "", { type: "button", textContent: kind.toUpperCase() });
    item.setAttribute("role", "menuitem");
    item.title = `Save the plot as ${kind.toUpperCase()}`;
    item.onclick = () => {
      close();
      const name = `${value("cell") ?? "lab"}-${title()}`.replace(/[^\w.-]+/g, "-");
      write(name, plot());
    };
    menu.append(item);
  }
  button.setAttribute("aria-haspopup", "menu");
  close();
  button.onclick = () => {
    menu.hidden = !menu.hidden;
    button.setAttribute("aria-expanded", String(!menu.hidden));
  };
  menu.onkeydown = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
    button.focus();
  };
  menu.onfocusout = (event) => !menu.contains(event.relatedTarget) && event.relatedTarget !== button && close();
  return menu;
}
