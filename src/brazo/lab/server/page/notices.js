// Notices of the lab: temporary messages, and jobs with their progress.
import { send, watch, watchOnline } from "./channel.js";
import { element, iconButton, scale } from "./dom.js";

const STAYS = { info: 5000, warn: 9000, error: 14000 }; // ms
const ENDED = 5000; // ms that a completed job stays visible; a failed one stays until dismissed
const removal = new Map(); // number of a completed job -> time at which it is removed
let initialized = false; // whether this page has received the initial state
let tray;

export function buildNotices() {
  tray = element("div", "brazo-notices", { ariaLabel: "Messages" });
  tray.setAttribute("role", "log");
  tray.setAttribute("aria-live", "polite");
  const jobs = element("div", "brazo-jobs", { ariaLabel: "Running jobs" });
  document.body.append(tray, jobs);
  keepOverScene();
  let last = 0;
  watch("notice", (notice) => {
    if (notice.number > last) say(notice.text, notice.kind, notice.topic, notice.number);
    last = notice.number;
  });
  // Numbers of the open files that probably lack a unit: shown until dismissed or another cell opens.
  let slips = "";
  watch("robots/slips", (text) => {
    if (text === slips) return; // repeated after a reconnection
    slips = text;
    tray.querySelector('[data-topic="slips"]')?.remove();
    if (text) say(text, "warn", "slips", 0, Infinity);
  });
  // The next action succeeded: remove the message about the earlier failure.
  watch("notice-over", (number) => tray.querySelector(`[data-number="${number}"]`)?.remove());
  addEventListener("keydown", (event) => {
    const taken = event.defaultPrevented || document.querySelector("dialog[open]");
    if (event.key === "Escape" && !taken) tray.replaceChildren();
  });
  watch("me/refused", () => say("View only: request control.", "warn", "watching"));
  watch("jobs", (list) => showJobs(jobs, list));
  watch("me/number", () => (initialized = true)); // the last value of the initial state
  watchOnline((on) => {
    if (on) return;
    initialized = false;
    removal.clear(); // a restarted lab counts from zero
  });
}

// Notices and jobs are placed over the scene, not over a panel; style sheets read its position.
function keepOverScene() {
  const scene = document.getElementById("root");
  const { style } = document.documentElement;
  const measure = () => {
    const box = scene.getBoundingClientRect();
    const places = { left: box.left, right: innerWidth - box.right, width: box.width, top: box.top, below: innerHeight - box.bottom };
    for (const [name, at] of Object.entries(places)) style.setProperty(`--scene-${name}`, `${at / scale}px`);
  };
  new ResizeObserver(measure).observe(scene);
  addEventListener("resize", measure);
  addEventListener("brazo-scale", measure);
}

// Show a message; it replaces the previous one of the same `topic`.
export function say(text, kind = "info", topic = text, number = 0, stays = STAYS[kind]) {
  for (const old of [...tray.children]) if (old.dataset.topic === topic) old.remove();
  const note = element("div", `notice ${kind}`);
  note.dataset.topic = topic;
  note.dataset.number = number;
  const close = iconButton("close", "Dismiss", () => note.remove());
  const words = text.replace(/(?<=^|[\s(])-(?=\d)/g, "−"); // minus sign as in all numbers of the page; messages for shells have "-"
  note.append(element("span", "", { textContent: words }), close);
  tray.append(note);
  while (tray.children.length > 4) tray.firstChild.remove();
  if (stays !== Infinity) setTimeout(() => note.remove(), stays ?? STAYS.info);
}

let jobsTimer = 0;
function showJobs(tray, jobs) {
  const now = performance.now();
  const ended = jobs.filter((job) => job.state === "done" || job.state === "cancelled");
  // Jobs that ended before this page connected are not shown.
  const stays = initialized ? ENDED : 0;
  for (const { number } of ended) if (!removal.has(number)) removal.set(number, now + stays);
  const next = Math.min(...ended.map(({ number }) => removal.get(number)).filter((t) => t > now));
  clearTimeout(jobsTimer);
  if (next < Infinity) jobsTimer = setTimeout(() => showJobs(tray, jobs), next - now + 20);
  const shown = jobs.filter(({ number }) => !(removal.get(number) <= now));
  // Updated in place: a button that is replaced while pressed gets no click event.
  const nodes = new Map([...tray.children].map((node) => [Number(node.dataset.job), node]));
  for (const job of shown) {
    const node = nodes.get(job.number) ?? tray.appendChild(newJob(job));
    nodes.delete(job.number);
    showJob(node, job);
  }
  nodes.forEach((node) => node.remove());
}

function newJob(job) {
  const node = element("div");
  node.dataset.job = job.number;
  const bar = element("progress", "", { max: 1 });
  bar.setAttribute("aria-label", job.title);
  const end = iconButton("close", "Dismiss", () => send("cancel-job", job.number));
  const head = element("div", "head");
  head.append(element("b", "", { textContent: job.title }), element("span", "percent"), end);
  node.append(head, bar, element("div", "text"));
  return node;
}

function showJob(node, job) {
  const running = job.state === "running";
  const known = running && job.fraction !== null;
  node.className = `job ${job.state}`;
  const bar = node.querySelector("progress");
  if (known) bar.value = job.fraction;
  else if (running) bar.removeAttribute("value");
  else bar.value = job.state === "done" ? 1 : 0;
  const end = node.querySelector("button");
  end.hidden = running && !job.cancellable;
  end.title = running ? `Cancel ${job.title}` : "Dismiss";
  end.setAttribute("aria-label", end.title);
  node.querySelector(".percent").textContent = known ? `${Math.round(100 * job.fraction)} %` : "";
  const words = running ? job.text : [job.state, job.text].filter(Boolean).join(": ");
  node.querySelector(".text").textContent = words;
}
