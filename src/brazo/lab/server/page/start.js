// The start page: the open project with Save as and Export, recent projects, shipped cells and robots.
// It covers the scene and the panels, but not the bar, so that STOP stays visible.
import { drives, send, value, watch } from "./channel.js";
import { element, iconButton } from "./dom.js";
import { icon } from "./icons.js";
import { say } from "./notices.js";

let page = null;

export function buildStart() {
  watch("start", fill);
  watch("project", fill);
  watch("history/undo", fill);
  watch("history/redo", fill);
  watch("view/root", (root) => {
    if (page && page.root !== root) close(); // the selected cell is open
  });
  addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Escape" || !page) return;
      event.preventDefault(); // closes the start page instead of stopping the robots
      close();
    },
    true,
  );
}

const START = "Start page: save, open or export your work; cells and robots";

// The button in the bar: the name of the project.
export function homeButton() {
  const button = element("button", "home", { type: "button" });
  button.innerHTML = `<img src="/lab/server/page/arm.svg" alt=""><span></span>${icon("down")}`;
  button.onclick = () => {
    if (page) close();
    else if (!value("station/role")) open(); // a station cannot open another cell
  };
  const name = button.querySelector("span");
  const show = () => {
    const project = value("project");
    const kept = project?.kept && !project.untitled;
    name.textContent = kept ? project.name : "brazo";
    button.title = project?.problem
      ? `Not saved: ${project.problem}`
      : project?.kept ? `${START}. Saved in ${project.folder}` : START;
    button.setAttribute("aria-label", `Start page, project ${project?.kept ? project.name : "not saved"}`);
    button.classList.toggle("problem", Boolean(project?.problem));
  };
  watch("project", show);
  show();
  return button;
}

function open() {
  page = element("section", "brazo-start", { ariaLabel: "Start page" });
  page.setAttribute("role", "dialog");
  page.root = value("view/root");
  document.body.append(page);
  send("start/list");
  fill();
}

function close() {
  page?.remove();
  page = null;
}

function fill() {
  if (!page) return;
  const typed = [...page.querySelectorAll("input")].map((field) => field.value);
  const focus = [...page.querySelectorAll("input")].indexOf(document.activeElement);
  const [project, start] = [value("project") ?? {}, value("start") ?? {}];
  const head = element("header");
  head.append(
    element("h1", "", { textContent: "Start" }),
    iconButton("close", "Close the start page", close),
  );
  const columns = element("div", "columns");
  columns.append(
    part("Project", present(project)),
    part("Recent projects", list(
      (start.projects ?? []).map((one) => ({
        name: one.name,
        about: `${one.untitled ? "not named, " : ""}${when(one.opened)}`,
        now: one.id === project.folder,
        event: ["project/open", one.id],
      })),
      "None yet.",
    )),
    part("Cells", list((start.cells ?? []).map((one) => ({ ...one, event: ["open", one.id] })))),
    part("Programs", list((start.programs ?? []).map((one) => ({ ...one, event: ["program/open", one.name] })))),
    part("Robots", list((start.robots ?? []).map((one) => ({ ...one, event: ["open", one.id] })))),
  );
  page.replaceChildren(head, columns);
  const fields = [...page.querySelectorAll("input")];
  fields.forEach((field, i) => (field.value = typed[i] ?? ""));
  if (focus >= 0) fields[focus]?.focus();
}

function part(title, ...content) {
  const node = element("section");
  node.append(element("h2", "", { textContent: title }), ...content);
  return node;
}

function present(project) {
  const node = element("div", "present");
  const where = project.problem
    ? `Not saved: ${project.problem}`
    : project.kept
      ? `${project.untitled ? `Work on ${project.name}, not named yet. Saved` : `${project.name}. Saved`} as you work in ${project.folder}`
      : "The work in this lab is not saved. Save it as a project.";
  node.append(element("p", project.problem ? "problem" : "", { textContent: where }));
  node.append(
    named("Save as", "Name of the project", "project/save-as", false),
    named("New empty project", "Name of the new project", "project/new", true),
  );
  const row = element("div", "actions");
  row.append(action("Export zip", "download", "project/export", project.kept));
  for (const what of ["undo", "redo"]) {
    const button = action(what === "undo" ? "Undo" : "Redo", what, what, Boolean(value(`history/${what}`)));
    button.title = value(`history/${what}`) || `Nothing to ${what}`;
    row.append(button);
  }
  if (project.source) {
    const again = action("Start over", "restart", "project/start-over", project.kept);
    again.title = `Discards the saved work and opens ${project.source} again; recordings stay`;
    again.onclick = () => {
      if (again.dataset.sure) act("project/start-over");
      else {
        again.dataset.sure = "yes";
        again.querySelector("span").textContent = "Discard the work?";
      }
    };
    row.append(again);
  }
  node.append(row);
  return node;
}

function named(label, hint, event, closes) {
  const form = element("form", "named");
  const field = element("input", "", { type: "text", maxLength: 60, placeholder: hint, ariaLabel: hint });
  field.onkeydown = (key) => key.key !== "Escape" && key.stopPropagation();
  const button = element("button", "", { type: "submit", textContent: label });
  form.append(field, button);
  form.onsubmit = (submitted) => {
    submitted.preventDefault();
    if (!field.value.trim()) return field.focus();
    act(event, field.value.trim());
    field.value = "";
    if (closes) document.documentElement.toggleAttribute("data-brazo-loading", true);
  };
  return form;
}

function action(label, iconName, event, enabled) {
  const button = element("button", "", { type: "button", disabled: !enabled });
  button.innerHTML = icon(iconName);
  button.append(element("span", "", { textContent: label }));
  button.onclick = () => act(event);
  return button;
}

function act(event, ...args) {
  if (drives()) send(event, ...args);
  else say("View only: request control.", "warn", "watching");
}

function list(items, empty = "") {
  const node = element("ul");
  for (const { name, about, now, event } of items) {
    const button = element("button", now ? "now" : "", { type: "button" });
    button.append(element("b", "", { textContent: name }));
    if (about) button.append(element("span", "", { textContent: about }));
    if (now) button.setAttribute("aria-current", "true");
    button.onclick = () => (now ? close() : act(...event));
    const item = element("li");
    item.append(button);
    node.append(item);
  }
  if (!items.length && empty) node.append(element("li", "empty", { textContent: empty }));
  return node;
}

function when(seconds) {
  const date = new Date(1000 * seconds);
  const today = date.toDateString() === new Date().toDateString();
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return today ? `today ${time}` : date.toLocaleDateString();
}
