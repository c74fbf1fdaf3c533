// Layout of the panels: a dock with tabs on either side, or floating windows over the scene.  On a narrow
// screen all panels are tabs of one sheet below the scene.  The layout is stored per browser.
import { send, watch, watchOnline } from "./channel.js";
import { element, iconButton, refill, remember, remembered, scale } from "./dom.js";
import { markEdges } from "./edges.js";
import { icon } from "./icons.js";
import { whenReleased } from "./pressing.js";

const NARROW = matchMedia("(max-width: 760px)");
const WIDTH = { least: 240, most: 560, first: { left: 326, right: 300 } };

const layout = remembered("layout", {});
layout.place ??= {}; // panel -> "left", "right" or { x, y, w, h } of a window
layout.active ??= {};
layout.width ??= {};
layout.folded ??= {};
const panels = new Map(); // id -> { id, title, icon, side, body, tab }
const docks = {};
let front = 10;

export function buildDocks() {
  const main = element("main", "brazo-main");
  const root = document.getElementById("root");
  docks.left = makeDock("left");
  docks.right = makeDock("right");
  root.before(main);
  main.append(docks.left.node, root, docks.right.node);
  watch("panels", (list) => {
    const names = list.map((panel) => panel.id).join();
    if (names === [...panels.keys()].join()) return;
    panels.forEach((panel) => panel.body.remove());
    panels.clear();
    list.forEach(addPanel);
    arrange();
  });
  watchOnline((online) => online && sendShown(true));
  NARROW.addEventListener("change", arrange);
  addEventListener("resize", keepInside);
}

// Bring a panel into view.
export function showPanel(id) {
  const panel = panels.get(id);
  if (!panel) return;
  const side = sideOf(panel);
  if (side === "float") panel.window.style.zIndex = ++front;
  else {
    layout.active[side] = id;
    layout.folded[side] = false;
  }
  arrange();
}

// The layout of the panels, which a project stores and restores.
export function arrangement() {
  return layout;
}

export function setArrangement(kept) {
  for (const part of ["place", "active", "width", "folded"]) {
    if (kept[part] && typeof kept[part] === "object") layout[part] = kept[part];
  }
  for (const dock of Object.values(docks)) {
    dock.node.style.setProperty("--width", `${layout.width[dock.side] ?? WIDTH.first[dock.side]}px`);
  }
  for (const panel of panels.values()) closeWindow(panel);
  arrange();
}

export function panelNames() {
  return [...panels.values()].map(({ id, title }) => ({ id, title }));
}

function makeDock(side) {
  const node = element("aside", `brazo-dock ${side}`, { ariaLabel: `Panels, ${side}` });
  const tabs = element("div", "tabs");
  tabs.setAttribute("role", "tablist");
  const content = element("div", "content");
  markEdges(content);
  const edge = element("div", "edge", { title: "Drag to resize" });
  const fold = iconButton("dock", "Collapse this side", () => {
    layout.folded[sheetSide(side)] = !layout.folded[sheetSide(side)];
    arrange();
  });
  fold.classList.add("fold");
  const strip = element("div", "strip");
  const dock = { node, tabs, content, fold, side };
  const float = iconButton("popout", "Open as a window", () => popOut(dock));
  float.classList.add("float");
  strip.append(tabs, float, fold);
  dock.name = element("h2", "name-line");
  node.append(strip, dock.name, content, edge);
  node.style.setProperty("--width", `${layout.width[side] ?? WIDTH.first[side]}px`);
  edge.onpointerdown = (down) => {
    edge.setPointerCapture(down.pointerId);
    const start = node.offsetWidth;
    edge.onpointermove = (move) => {
      const by = ((move.clientX - down.clientX) / scale) * (side === "left" ? 1 : -1);
      const width = Math.min(Math.max(start + by, WIDTH.least), WIDTH.most);
      node.style.setProperty("--width", `${width}px`);
      layout.width[side] = width;
    };
    edge.onpointerup = () => {
      edge.onpointermove = null;
      save();
    };
  };
  return dock;
}

function sheetSide(side) {
  return NARROW.matches ? "left" : side;
}

function addPanel(given) {
  const body = element("section", "brazo-panel", { id: `panel-${given.id}` });
  body.dataset.panel = given.id;
  body.setAttribute("role", "tabpanel");
  const tab = element("button", "tab", { type: "button", ariaLabel: given.title });
  tab.setAttribute("role", "tab");
  tab.setAttribute("aria-controls", body.id);
  tab.innerHTML = icon(given.icon);
  tab.append(element("span", "", { textContent: given.tab || given.title }));
  const panel = { ...given, body, tab, window: null };
  tab.onpointerenter = (event) => event.pointerType !== "touch" && showTooltip(tab);
  tab.onfocus = () => tab.matches(":focus-visible") && showTooltip(tab);
  tab.onpointerleave = tab.onblur = tab.onpointerdown = () => name.remove();
  tab.onclick = () => {
    const side = sideOf(panel);
    const open = layout.active[side] === panel.id && !layout.folded[side];
    layout.active[side] = panel.id;
    layout.folded[side] = open && NARROW.matches; // on a phone a second tap collapses the sheet
    arrange();
  };
  tab.onkeydown = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const tabs = [...tab.parentNode.children];
    const next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length];
    next.focus();
    next.click();
  };
  panels.set(panel.id, panel);
  let shown;
  watch(`panel/${panel.id}`, async (html) => {
    shown = html;
    // The scripts define the custom elements in the HTML.
    await Promise.all((given.scripts ?? []).map((script) => import(`/lab/${script}`)));
    whenReleased(body, () => shown === html && fill(body, html));
  });
}

// Tooltip of a tab that shows only its icon; that of the browser appears with a delay.
const name = element("div", "brazo-name");
name.setAttribute("aria-hidden", "true"); // the tab's aria-label is the same
function showTooltip(tab) {
  // The name of the active panel is shown below the tabs, or in its tab.
  if (tab.querySelector("span").offsetWidth || tab.getAttribute("aria-selected") === "true") return;
  name.textContent = tab.getAttribute("aria-label");
  document.body.append(name);
  const box = tab.getBoundingClientRect();
  const right = innerWidth / scale - name.offsetWidth - 6;
  const x = Math.min(Math.max((box.left + box.width / 2) / scale - name.offsetWidth / 2, 6), right);
  Object.assign(name.style, { left: `${x}px`, top: `${box.bottom / scale + 4}px` });
}

function fill(body, html) {
  const holder = body.closest(".content") ?? body;
  const scrolled = holder.scrollTop;
  refill(body, html);
  const folds = remembered("folds", {});
  for (const part of body.querySelectorAll("details[data-fold]")) {
    const key = `${body.dataset.panel}/${part.dataset.fold}`;
    if (key in folds) part.open = folds[key];
    part.ontoggle = () => remember("folds", { ...remembered("folds", {}), [key]: part.open });
  }
  holder.scrollTop = scrolled;
}

function sideOf(panel) {
  if (NARROW.matches) return "left";
  const place = layout.place[panel.id] ?? panel.side;
  return typeof place === "object" || place === "float" ? "float" : place;
}

// Put every panel into its dock or window.
function arrange() {
  document.documentElement.toggleAttribute("data-brazo-narrow", NARROW.matches);
  for (const dock of Object.values(docks)) {
    const before = panels.get(dock.shown);
    if (before) before.scrolled = dock.content.scrollTop; // each panel has a separate scroll position
    const mine = [...panels.values()].filter((panel) => sideOf(panel) === dock.side);
    // On a narrow screen the panels of the left side come first.
    if (NARROW.matches) mine.sort((a, b) => Number(a.side !== "left") - Number(b.side !== "left"));
    const known = (id) => mine.some((panel) => panel.id === id);
    if (!known(layout.active[dock.side])) {
      layout.active[dock.side] = mine[0]?.id;
    }
    dock.node.hidden = mine.length === 0;
    dock.tabs.replaceChildren(...mine.map((panel) => panel.tab));
    dock.node.classList.toggle("many", mine.length > 4);
    dock.name.textContent = panels.get(layout.active[dock.side])?.title ?? "";
    const folded = Boolean(layout.folded[dock.side]);
    dock.node.toggleAttribute("folded", folded);
    dock.fold.title = folded ? "Expand" : "Collapse this side";
    dock.fold.setAttribute("aria-label", dock.fold.title);
    for (const panel of mine) {
      closeWindow(panel);
      const active = panel.id === layout.active[dock.side];
      panel.tab.setAttribute("aria-selected", String(active && !folded));
      panel.tab.tabIndex = active ? 0 : -1;
      if (panel.body.parentNode !== dock.content) dock.content.append(panel.body);
      panel.body.hidden = !active;
      if (active) panel.tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    dock.shown = folded ? null : layout.active[dock.side];
    dock.content.scrollTop = panels.get(dock.shown)?.scrolled ?? 0;
  }
  for (const panel of panels.values()) if (sideOf(panel) === "float") openWindow(panel);
  save();
  sendShown();
}

function popOut(dock) {
  const panel = panels.get(layout.active[dock.side]);
  const seen = dock.node.getBoundingClientRect();
  const box = new DOMRect(...[seen.x, seen.y, seen.width, seen.height].map((v) => v / scale));
  const x = dock.side === "left" ? box.right + 12 : box.left - 12 - box.width;
  layout.place[panel.id] = { x, y: box.top + 12, w: box.width, h: Math.min(560, box.height - 24) };
  arrange();
}

function openWindow(panel) {
  if (!panel.window) {
    const frame = element("div", "brazo-window", { ariaLabel: panel.title });
    const bar = element("div", "title");
    bar.innerHTML = icon(panel.icon);
    const back = iconButton("dock", "Back to the dock", () => {
      layout.place[panel.id] = panel.side === "float" ? "right" : panel.side;
      layout.active[layout.place[panel.id]] = panel.id;
      arrange();
    });
    bar.append(element("h2", "", { textContent: panel.title }), back);
    const content = element("div", "content");
    markEdges(content);
    frame.append(bar, content);
    document.body.append(frame);
    panel.window = frame;
    frame.addEventListener("pointerdown", () => {
      frame.style.zIndex = ++front;
    });
    bar.onpointerdown = (down) => drag(panel, bar, down);
    new ResizeObserver(() => {
      const place = layout.place[panel.id];
      if (typeof place !== "object" || !frame.offsetWidth) return;
      [place.w, place.h] = [frame.offsetWidth, frame.offsetHeight];
      save();
    }).observe(frame);
    content.append(panel.body);
    panel.body.hidden = false;
  }
  const place = layout.place[panel.id];
  if (typeof place !== "object") {
    layout.place[panel.id] = { x: innerWidth / scale - 700, y: innerHeight / scale - 430, w: 620, h: 380 };
  }
  const { w, h } = layout.place[panel.id];
  Object.assign(panel.window.style, { width: `${w}px`, height: `${h}px` });
  keepInside();
}

function closeWindow(panel) {
  panel.window?.remove();
  panel.window = null;
}

function drag(panel, bar, down) {
  if (down.target.closest("button")) return;
  bar.setPointerCapture(down.pointerId);
  const place = layout.place[panel.id];
  const [x, y] = [place.x - down.clientX / scale, place.y - down.clientY / scale];
  bar.onpointermove = (move) => {
    [place.x, place.y] = [x + move.clientX / scale, y + move.clientY / scale];
    keepInside();
  };
  bar.onpointerup = () => {
    bar.onpointermove = null;
    save();
  };
}

// Keep at least a part of each window inside the page.
function keepInside() {
  for (const panel of panels.values()) {
    const place = layout.place[panel.id];
    if (!panel.window || typeof place !== "object") continue;
    const [width, height] = [innerWidth / scale, innerHeight / scale];
    const x = Math.min(Math.max(place.x, 8), width - Math.min(place.w, width) - 8);
    const y = Math.min(Math.max(place.y, 52), Math.max(52, height - 80));
    Object.assign(panel.window.style, { left: `${Math.max(x, 8)}px`, top: `${y}px` });
  }
}

// Send the visible panels: the lab computes only values that some page shows.
let sent = "";
function sendShown(again = false) {
  const shown = [...panels.values()].filter((panel) => {
    const side = sideOf(panel);
    return side === "float" || (layout.active[side] === panel.id && !layout.folded[side]);
  });
  const names = shown.map((panel) => panel.id);
  if (again || names.join() !== sent) send("panels-shown", names);
  sent = names.join();
}

function save() {
  remember("layout", layout);
}
