// The frame around viser's client: the bar above (cell, play, STOP, views, control, light or dark),
// the docks at its sides and the status line below.
import { buildAppearance } from "./appearance.js";
import { refusal, send, value, watch, watchOnline } from "./channel.js";
import { buildDocks, showPanel } from "./docks.js";
import { element, iconButton } from "./dom.js";
import "./elements.js";
import "./fields.js";
import { buildDownloads } from "./files.js";
import { toggleHelp } from "./help.js";
import { icon } from "./icons.js";
import { keepView, restoreCamera } from "./kept_view.js";
import { onKey, playOrPause, stop } from "./keys.js";
import { buildNotices } from "./notices.js";
import { buildQuestions } from "./question.js";
import { buildStart, homeButton } from "./start.js";
import { firstVisit } from "./tour.js";

const VIEWS = {
  Iso: [1, -1, 0.62],
  Front: [1, 0, 0.04],
  Side: [0, -1, 0.04],
  Top: [0, -0.0005, 1],
};

const viewer = window.brazoViewer;

function topBar() {
  const bar = element("header", "brazo-bar");
  const cells = document.createElement("brazo-select");
  for (const [key, text] of [["name", "source"], ["event", "open"], ["label", "Cell"]]) {
    cells.setAttribute(key, text);
  }
  const about = element("span", "about");
  watch("about", (text) => {
    about.textContent = text.split(/(?<=[.:])\s/)[0].replace(/:$/, ""); // the first sentence
    about.title = text;
  });
  bar.append(
    homeButton(),
    cells,
    history(),
    about,
    element("div", "space"),
    control(), // left of STOP, which must not move when another page connects
    faults(),
    transport(),
    stopButton(),
    viewButtons(),
    help(),
    theme(),
  );
  document.body.prepend(bar);
  watch("choices", ({ cells: named, robots }) => {
    const group = (kind, names) => names.map((name) => [`${kind}:${name}`, name]);
    cells.setOptions({ Cells: group("cell", named), "Single robots": group("robot", robots) });
  });
  cells.addEventListener("change", () => setLoading(true));
  watch("notice", () => setLoading(false));
  watch("question", () => setLoading(false));
}

// Undo and redo buttons, with the label of the edit.
function history() {
  const group = element("div", "group history", { ariaLabel: "History" });
  group.setAttribute("role", "group");
  for (const [what, keys] of [["undo", "Ctrl+Z"], ["redo", "Ctrl+Shift+Z"]]) {
    const word = what === "undo" ? "Undo" : "Redo";
    const button = iconButton(what, word, () => send(what));
    button.disabled = true;
    watch(`history/${what}`, (label) => {
      button.disabled = !label;
      button.title = label ? `${word}: ${label} (${keys})` : `Nothing to ${what}`;
    });
    group.append(button);
  }
  return group;
}

// Transport controls: the program of the cell, and simulation time.
function transport() {
  const group = element("div", "transport", { ariaLabel: "Transport" });
  group.setAttribute("role", "group");
  const run = element("button", "run", { type: "button" });
  const state = element("span", "running");
  state.setAttribute("role", "status");
  const play = iconButton("pause", "Pause", playOrPause);
  play.classList.add("play");
  const show = () => {
    const [running, program, replay] = ["clock/running", "run", "replay"].map(value);
    play.innerHTML = icon(running ? "pause" : "play");
    play.title = running ? "Pause the simulation (P)" : "Run the simulation (P)";
    play.setAttribute("aria-label", running ? "Pause" : "Play");
    const active = program?.state === "running" || program?.state === "paused";
    run.hidden = Boolean(replay) || !program || !(active || program.may);
    const word = active ? (program.state === "running" ? "Pause program" : "Resume program") : program?.demo ? "Run demo" : "Run program";
    run.innerHTML = icon(program?.state === "running" ? "pause" : "play");
    run.append(element("span", "", { textContent: word }));
    run.setAttribute("aria-label", word);
    run.title = active ? `${word} ${program.name}` : program?.demo ? `Resets the cell and runs ${program.name}` : `Runs ${program?.name ?? ""} from the current state`;
    run.onclick = () => {
      if (!active) send(program.demo ? "program/again" : "program/run");
      else send(program.state === "running" ? "program/pause" : "program/go-on");
    };
    const stopped = value("clock/stopped") && program?.state !== "running";
    document.documentElement.toggleAttribute("data-brazo-stopped", Boolean(stopped));
    group.dataset.state = stopped ? "stopped" : !running ? "paused" : program?.state === "running" ? "program" : "running";
    const held = program?.state === "paused" ? "paused " : "";
    const now = !running ? "paused" : active ? `program ${held}${program.share} %` : "running";
    state.textContent = stopped && !active ? "robots stopped" : now;
    const why = running ? "The simulation is running" : "The simulation is paused";
    state.title = stopped ? `Stopped: robots hold their position until they are moved. ${why}` : why;
  };
  for (const name of ["clock/running", "clock/stopped", "run", "replay"]) watch(name, show);
  run.hidden = true;
  group.append(run, play, state);
  return group;
}

// The active faults; a click shows the panel where they are cleared.
function faults() {
  const chip = element("button", "faults", { type: "button", hidden: true });
  const count = element("span");
  chip.innerHTML = icon("faults");
  chip.append(count);
  chip.onclick = () => {
    showPanel("simulation");
    /** @type {HTMLDetailsElement | null} */
    const section = document.querySelector('#panel-simulation [data-fold="Faults"]');
    if (!section) return;
    section.open = true;
    section.scrollIntoView({ block: "nearest" });
  };
  watch("clock/faults", (list) => {
    chip.hidden = !list.length;
    count.textContent = list.length === 1 ? "1 fault" : `${list.length} faults`;
    chip.title = `Active faults:\n${list.join("\n")}`;
  });
  return chip;
}

function stopButton() {
  const halt = element("button", "stop", { type: "button", textContent: "STOP" });
  halt.title = "Stops all robots within their limits and pauses programs (space bar)";
  watch("station/role", (role) => {
    halt.title = role === "master"
      ? "Releases the handle; the follower stops (space bar)"
      : "Stops the robot; it holds until the master releases and presses its enable switch again (space bar)";
  });
  halt.onpointerdown = stop; // on press, not on release
  halt.onclick = (event) => event.detail === 0 && stop(); // by keyboard
  watch("stops", (n) => {
    if (n && n !== halt.shown) {
      halt.classList.remove("flash");
      void halt.offsetWidth; // restart the animation
      halt.classList.add("flash");
    }
    halt.shown = n;
  });
  return halt;
}

// The page in control, if several pages are connected.
function control() {
  const chip = element("div", "control");
  const text = element("span");
  const first = element("button", "", { type: "button" });
  const second = element("button", "", { type: "button", textContent: "Keep" });
  second.onclick = () => send("control/keep");
  chip.append(text, first, second);
  const show = () => {
    const [me, driver, asking, pages] = ["me/number", "control/driver", "control/asking", "control/pages"].map(value);
    const driving = me === driver;
    document.documentElement.dataset.brazoDrives = driving ? "yes" : "no";
    chip.hidden = pages <= 1 && driving;
    chip.classList.toggle("asked", driving && asking > 0);
    second.hidden = !(driving && asking > 0);
    first.disabled = !driving && asking > 0;
    if (driving) {
      const others = pages - 1;
      text.textContent = asking ? `Page ${asking} requests control` : `In control · ${others} view only`;
      first.textContent = "Hand over";
      first.onclick = () => send("control/hand-over");
    } else {
      text.textContent = driver ? `View only · page ${driver} in control` : "View only";
      first.textContent = asking === me ? "Requested…" : "Request control";
      first.onclick = () => send("control/ask");
    }
  };
  for (const name of ["me/number", "control/driver", "control/asking", "control/pages"]) watch(name, show);
  return chip;
}

function viewButtons() {
  const views = element("div", "group views", { ariaLabel: "View" });
  views.setAttribute("role", "group");
  Object.keys(VIEWS).forEach((name, i) => {
    const button = element("button", "", { type: "button", textContent: name });
    button.title = `${name} view (${i + 1})`;
    button.onclick = () => look(name, true);
    onKey(String(i + 1), button.onclick);
    views.append(button);
  });
  const reset = iconButton("reset", "Reset view", () => look("Iso", true));
  onKey("0", reset.onclick);
  views.append(reset);
  return views;
}

function help() {
  const button = iconButton("help", "Help", toggleHelp);
  button.classList.add("keys");
  return button;
}

function theme() {
  const button = iconButton("moon", "Dark", () => {
    viewer.setDark(!viewer.dark);
    show();
  });
  const show = () => {
    button.innerHTML = icon(viewer.dark ? "sun" : "moon");
    button.title = viewer.dark ? "Light" : "Dark";
    button.setAttribute("aria-label", button.title);
  };
  show();
  onKey("d", button.onclick);
  return button;
}

function statusLine() {
  const line = element("footer", "brazo-status");
  const state = element("span", "state");
  state.setAttribute("role", "status");
  const offline = element("div", "brazo-offline");
  watchOnline((online) => {
    state.textContent = online ? "connected" : "offline, reconnecting…";
    offline.textContent = refusal()
      ? `The lab closed the connection: ${refusal()}. Reconnecting…`
      : "No connection to the lab. The page shows the last received state. Reconnecting…";
    document.documentElement.toggleAttribute("data-brazo-offline", !online);
    if (online) send("software-rendering", viewer.software);
  });
  offline.setAttribute("role", "alert");
  document.body.append(offline);
  const frames = element("b", "", { textContent: "–" });
  setInterval(() => {
    frames.textContent = String(viewer.frames());
  }, 1000);
  line.append(
    state,
    figure("time", text("clock/time"), "s", "Simulation time"),
    figure("×", text("clock/factor"), "", "Real-time factor"),
    figure("step", text("clock/step"), "ms", "Time step of the simulation"),
    figure("frames", frames, "/s", "Rendered frames per second; 0 when nothing moves"),
    collisions(),
    element("span", "loading", { textContent: "loading the cell…" }),
    element("span", "space"),
    selected(),
  );
  if (viewer.software) {
    const hint = element("span", "hint", { textContent: "software rendering" });
    hint.title = "WebGL runs on the CPU: slower, without shadows, moving edges not smoothed. Enable hardware acceleration in the browser's settings if there is a graphics card.";
    line.append(hint);
  }
  document.body.append(line);
}

function collisions() {
  const node = figure("collisions", text("clock/collisions"), "", "Unintended contacts");
  node.classList.add("collisions");
  watch("clock/collisions", (n) => node.classList.toggle("some", n > 0));
  return node;
}

function selected() {
  const node = element("span", "selected");
  const show = () => {
    const [robot, joint] = [value("selection/robot"), value("selection/joint")];
    node.textContent = joint >= 0 ? `${robot}, joint ${joint + 1}` : (robot ?? "");
  };
  watch("selection/robot", show);
  watch("selection/joint", show);
  return node;
}

function figure(label, shown, unit, title) {
  const node = element("span", `figure ${label === "×" ? "factor" : label}`, { title });
  if (label !== "×") node.append(element("i", "", { textContent: label }));
  node.append(shown, label === "×" ? "×" : unit);
  return node;
}

function text(name) {
  const node = document.createElement("brazo-text");
  node.setAttribute("name", `/${name}`);
  return node;
}

// ---- the view -------------------------------------------------------------------------------

export function look(name, animate) {
  const [root, parts, tools, fov] = ["root", "parts", "tools", "fov"].map((of) => value(`view/${of}`));
  viewer.follow(null);
  return viewer.frame(root, parts, Object.values(tools ?? {}), VIEWS[name], fov, animate);
}

// A new cell is framed in the view once all its parts are loaded and at rest.
function frameNewCells() {
  let framed = null;
  let last = "";
  const tryToFrame = () => {
    const shown = value("view/root");
    if (shown === framed) return;
    if (framed && value("view/kept") === shown) return settle(shown); // the same cell, edited
    const eye = String(look("Iso", false)?.map((v) => v.toFixed(3)));
    if (eye !== last || eye === "undefined") {
      last = eye;
      requestAnimationFrame(tryToFrame);
    } else {
      settle(shown);
    }
  };
  const settle = (shown) => {
    framed = shown;
    setLoading(false);
    restoreCamera();
    document.documentElement.dataset.brazoReady = value("cell");
  };
  watch("view/root", (root) => {
    if (root === framed) return; // repeated after a reconnection
    setLoading(true);
    requestAnimationFrame(tryToFrame);
  });
}

function followTool() {
  const robot = value("selection/robot");
  const node = value("view/tools")?.[robot];
  viewer.follow(viewer.following ? null : node);
}

// <brazo-camera>: buttons of the standard views, for the View panel; the view is per page.
class Camera extends HTMLElement {
  connectedCallback() {
    if (this.childElementCount) return;
    const grid = element("div", "brazo-camera");
    for (const name of Object.keys(VIEWS)) {
      const button = element("button", "", { type: "button", textContent: name });
      button.onclick = () => look(name, true);
      grid.append(button);
    }
    const follow = element("button", "", { type: "button", textContent: "Follow tool" });
    follow.onclick = () => {
      followTool();
      follow.setAttribute("aria-pressed", String(Boolean(viewer.following)));
    };
    const reset = element("button", "", { type: "button", textContent: "Reset" });
    reset.onclick = () => look("Iso", true);
    grid.append(follow, reset);
    this.append(grid);
  }
}
customElements.define("brazo-camera", Camera);

function setLoading(on) {
  document.documentElement.toggleAttribute("data-brazo-loading", on);
}

watch("replay", (on) => document.documentElement.toggleAttribute("data-brazo-replay", Boolean(on)));
topBar();
buildDocks();
statusLine();
buildAppearance();
buildNotices();
buildQuestions();
buildDownloads();
buildStart();
keepView();
frameNewCells();
firstVisit();
onKey("f", followTool);
window.brazoShell = { look, followTool };
