// The frame round viser's client: the bar above (robot, views, frames, light or dark) and the
// status line below.
import { send, value, watch, watchOnline } from "./channel.js";
import { element } from "./elements.js";

const VIEWS = {
  Iso: [1, -1, 0.62],
  Front: [1, 0, 0.04],
  Side: [0, -1, 0.04],
  Top: [0, -0.0005, 1],
};
const ICONS = {
  frames: '<path d="M5 19V6M5 19h13M5 19l8-8M3 8l2-3 2 3M16 17l3 2-3 2M9.500 11.500l3.500-.5-.5 3.500"/>',
  sun: '<circle cx="12" cy="12" r="4"/><path d="M12 3v1M12 20v1M3 12h1M20 12h1M5.600 5.600l.7.7M17.700 17.700l.7.7M5.600 18.400l.7-.7M17.700 6.300l.7-.7"/>',
  moon: '<path d="M12 3a6 6 0 0 0 9 9 9 9 0 1 1-9-9z"/>',
  reset: '<path d="M4 8V4h4M20 8V4h-4M4 16v4h4M20 16v4h-4"/><circle cx="12" cy="12" r="3"/>',
};

const viewer = window.brazoViewer;

function topBar() {
  const bar = element("header", "brazo-bar");
  const brand = element("div", "brand");
  brand.innerHTML = '<img src="/lab/arm.svg" alt=""><span>brazo</span>';

  const robots = document.createElement("brazo-select");
  robots.setAttribute("event", "robot");
  robots.setAttribute("name", "robot");
  robots.setAttribute("label", "Robot");
  robots.addEventListener("change", () => setLoading(true));
  watch("notice", (problem) => problem && setLoading(false));
  const about = element("span", "about");
  watch("about", (text) => {
    about.textContent = text.split(/(?<=\.)\s/)[0]; // the first sentence
    about.title = text;
  });

  const views = element("div", "group", { role: "group", ariaLabel: "View" });
  for (const name of Object.keys(VIEWS)) {
    const button = element("button", "", { type: "button", textContent: name });
    button.title = `Look at the robot: ${name.toLowerCase()}`;
    button.onclick = () => look(name, true);
    views.append(button);
  }
  const reset = iconButton("reset", "Reset view", () => look("Iso", true));
  const frames = iconButton("frames", "Link frames", () => send("axes", !value("view/axes")));
  watch("view/axes", (on) => frames.setAttribute("aria-pressed", String(on)));
  const theme = iconButton("moon", "Dark", () => {
    viewer.setDark(!viewer.dark);
    showTheme();
  });
  const showTheme = () => {
    theme.innerHTML = icon(viewer.dark ? "sun" : "moon");
    theme.title = viewer.dark ? "Light" : "Dark";
    theme.setAttribute("aria-label", theme.title);
  };
  showTheme();
  bar.append(brand, robots, about, element("div", "space"), views, reset, frames, theme);
  document.body.prepend(bar);
  watch("robots", (names) => robots.setOptions(names));
}

function statusLine() {
  const line = element("footer", "brazo-status", { role: "status" });
  const state = element("span", "state");
  watchOnline((online) => {
    state.textContent = online ? "connected" : "offline, trying again…";
    line.toggleAttribute("offline", !online);
  });
  const robot = text("robot", "robot");
  const tool = element("span", "tool");
  tool.innerHTML =
    'tool <b>x</b> <brazo-text name="tool/x"></brazo-text> <b>y</b> <brazo-text name="tool/y">' +
    '</brazo-text> <b>z</b> <brazo-text name="tool/z"></brazo-text> mm';
  const loading = element("span", "loading", { textContent: "drawing the robot…" });
  const notice = text("notice", "notice");
  line.append(state, robot, loading, tool, element("span", "space"), notice);
  if (viewer.software) {
    const hint = element("span", "hint", { textContent: "drawn without a graphics card" });
    hint.title = "WebGL runs on the processor here, so shadows are off. Turn on hardware acceleration in the browser's settings to have them.";
    line.append(hint);
  }
  document.body.append(line);
}

function look(name, animate) {
  const [root, parts, fov] = ["view/robot", "view/parts", "view/fov"].map(value);
  return viewer.frame(root, parts, VIEWS[name], fov, animate);
}

// A robot that comes into view is framed, once its parts are all there and have come to rest.
function frameNewRobots() {
  let framed = null;
  let last = "";
  const tryToFrame = () => {
    const shown = value("view/robot");
    if (shown === framed) return;
    const eye = String(look("Iso", false)?.map((v) => v.toFixed(6)));
    if (eye !== last || eye === "undefined") {
      last = eye;
      requestAnimationFrame(tryToFrame);
    } else {
      framed = shown;
      setLoading(false);
      document.documentElement.dataset.brazoReady = value("robot");
    }
  };
  watch("view/robot", () => {
    setLoading(true);
    requestAnimationFrame(tryToFrame);
  });
}

function setLoading(on) {
  document.documentElement.toggleAttribute("data-brazo-loading", on);
}

function iconButton(name, label, onclick) {
  const button = element("button", "icon", { type: "button", title: label, onclick });
  button.setAttribute("aria-label", label);
  button.innerHTML = icon(name);
  return button;
}

function icon(name) {
  return `<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.700" stroke-linecap="round" stroke-linejoin="round">${ICONS[name]}</svg>`;
}

function text(name, className) {
  const node = document.createElement("brazo-text");
  node.setAttribute("name", name);
  node.className = className;
  return node;
}

topBar();
statusLine();
frameNewRobots();
