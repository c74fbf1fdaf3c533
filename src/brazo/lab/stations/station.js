// Teleoperation pages, in addition to the lab's page: a strip above the scene with the state of the link,
// an overlay over the scene when the link is lost, bars, and hold-to-run keys.
import { drives, send, value, watch, watchOnline } from "../server/page/channel.js";
import { element, fixed, overScene } from "../server/page/dom.js";
import { Tied } from "../server/page/elements.js";
import { addKeys } from "../server/page/help.js";
import { typing } from "../server/page/keys.js";
import { look } from "../server/page/shell.js";

const STALE = 3000; // ms without a message of the station, after which its last state counts as outdated
const RENEW = 50; // ms
const ROLES = { master: "Master", follower: "Follower" };
const LINKS = { up: "link up", late: "link late", dead: "LINK LOST", waiting: "no link yet" };
const ENDED = "STOPPED"; // shown if the page's own station has ended
const root = document.documentElement;

// ---- above the scene --------------------------------------------------------------------------

function buildStrip() {
  const strip = element("div", "station-strip", { ariaLabel: "Link state" });
  strip.setAttribute("role", "status");
  const [role, state, cause, link] = ["role", "state", "cause", "link"].map((name) => element("span", name));
  strip.append(role, state, cause, link);
  const veil = element("div", "station-veil");
  const dead = element("div", "station-dead");
  dead.setAttribute("role", "alert");
  dead.append(element("b"), element("span"));
  veil.append(dead);
  overScene(veil);
  document.querySelector(".brazo-main").before(strip);

  let receivedAt = performance.now();
  let now = null;
  const show = () => {
    if (!now) return;
    const frozen = performance.now() - receivedAt > STALE;
    const kind = frozen ? "dead" : now.link;
    const about = frozen ? "no message from the station" : now.about;
    root.dataset.stationLink = kind;
    root.dataset.stationState = kind === "dead" ? "unknown" : now.state || "unknown";
    strip.title = about;
    put(state, now.state && !frozen ? now.state : "UNKNOWN");
    put(cause, frozen ? "" : now.warning || now.cause);
    const headline = frozen ? "NO ANSWER" : now.stopped ? ENDED : LINKS.dead;
    put(link, kind === "up" ? `${LINKS.up} · ${now.trip} ms` : kind === "dead" ? headline : LINKS[kind]);
    put(dead.firstChild, headline);
    put(dead.lastChild, about);
  };
  watch("station/role", (name) => put(role, ROLES[name] ?? name));
  watch("station/now", (given) => {
    receivedAt = performance.now();
    now = given;
    show();
  });
  watchOnline(show);
  setInterval(show, 500);
}

// Replaces texts of the shell about a lab and simulation time: the status line shows the time since the
// station started, as the list of events and the terminal do.
function adaptTexts() {
  const offline = document.querySelector(".brazo-offline");
  put(offline, "The station does not answer: it has ended, or cannot be reached. The page shows the last received state. Reconnecting…");
  const simulated = document.querySelector(".brazo-status .time");
  const own = /** @type {HTMLElement} */ (simulated.cloneNode(true));
  own.title = "Since the station started, as in Events and in its terminal";
  own.querySelector("brazo-text").setAttribute("name", "/station/time");
  simulated.before(own);
  simulated.querySelector("i").textContent = "simulated";
}

function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

watch("station/role", (role) => {
  if (role && !root.dataset.station) {
    root.dataset.station = role;
    document.title = `brazo · ${ROLES[role] ?? role}`;
    buildStrip();
    adaptTexts();
  }
});

// The follower is drawn beside the master when its cell is known: the view then shows both.
let beside = "";
watch("station/beside", (root) => {
  if (!root || root === beside) return;
  beside = root;
  let tries = 100; // its parts arrive by another connection
  const both = () => {
    if (!look("Iso", false) && --tries) setTimeout(both, 100);
  };
  both();
});

// ---- elements ---------------------------------------------------------------------------------

// <brazo-follower-state name="/station/now">: the follower's state, large, with its cause.
class FollowerState extends Tied {
  build() {
    this.className = "station-state";
    this.append(element("span", "lamp"), element("b"), element("p"));
  }
  told({ state, cause, link, about, stopped }) {
    // Without a link a follower knows its own state, but a master does not know the follower's.
    const own = root.dataset.station === "follower";
    const known = Boolean(state) && (own || link !== "dead");
    this.dataset.state = known ? state : "unknown";
    const unknown = link !== "dead" ? "UNKNOWN" : stopped ? ENDED : LINKS.dead;
    put(this.children[1], known ? state : unknown);
    put(this.children[2], known ? cause : about);
  }
}

// <brazo-heartbeat name="/station/now">: blinks with the messages of the station while its link is up.
class Heartbeat extends Tied {
  build() {
    this.className = "station-heart";
  }
  told({ link, beat }) {
    this.dataset.link = link;
    this.toggleAttribute("beat", link === "up" && beat % 10 < 2);
  }
}

// <brazo-bar name="force/0" label="Fx" unit="N" most="40" signed>
class Bar extends Tied {
  build() {
    this.most = Number(this.getAttribute("most"));
    this.signed = this.hasAttribute("signed");
    const track = element("span", "track");
    this.fill = element("i");
    track.append(this.fill);
    this.figure = element("b");
    const unit = element("span", "unit", { textContent: this.getAttribute("unit") });
    this.append(element("span", "name", { textContent: this.getAttribute("label") }), track, this.figure, unit);
    this.setAttribute("role", "meter");
    this.setAttribute("aria-label", this.getAttribute("label"));
  }
  told(given) {
    const known = typeof given === "number";
    const now = known ? given : 0;
    this.toggleAttribute("unknown", !known);
    const share = Math.max(-1, Math.min(1, now / this.most));
    const [from, width] = this.signed ? [50 + 50 * Math.min(share, 0), 50 * Math.abs(share)] : [0, 100 * Math.abs(share)];
    Object.assign(this.fill.style, { left: `${from}%`, width: `${width}%` });
    this.toggleAttribute("over", Math.abs(now) > this.most);
    this.setAttribute("aria-valuenow", String(now));
    put(this.figure, known ? fixed(now, 2) : "–");
  }
}

customElements.define("brazo-follower-state", FollowerState);
customElements.define("brazo-heartbeat", Heartbeat);
customElements.define("brazo-bar", Bar);

// ---- hold-to-run ------------------------------------------------------------------------------

// While the mouse button is down in the scene, an event is sent periodically: a drag of the handle has an
// effect only while the dragging page is connected.
let grasping = 0;
function grasp(event) {
  if (!(event.target instanceof HTMLCanvasElement) || event.button !== 0) return;
  if (root.dataset.station !== "master" || !drives()) return;
  letGo();
  send("master/grasp");
  grasping = setInterval(() => send("master/grasp"), RENEW);
}
function letGo() {
  clearInterval(grasping);
  grasping = 0;
}
addEventListener("pointerdown", grasp, true);
for (const end of ["pointerup", "pointercancel", "blur", "pagehide"]) addEventListener(end, letGo, true);
document.addEventListener("visibilitychange", () => document.hidden && letGo());

// A key holds the button with its name as `key`; these keys have no other function on this page.
/** @returns {any} */
function heldBy(event) {
  if (root.dataset.station !== "master" || typing(event)) return null;
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  if (event.target instanceof HTMLElement && event.target.matches("input, select, [role=tab]")) return null;
  return document.querySelector(`#panel-master brazo-hold[key="${CSS.escape(event.key.length === 1 ? event.key.toLowerCase() : event.key)}"]`);
}
addEventListener(
  "keydown",
  (event) => {
    if (root.dataset.station === "master" && event.key.toLowerCase() === "c" && !typing(event) && !event.ctrlKey && !event.metaKey) {
      if (!event.repeat) send("master/clutch", !value("master/clutch"));
      return;
    }
    const node = heldBy(event);
    if (!node) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (!event.repeat) node.press();
  },
  true,
);
addEventListener(
  "keyup",
  (event) => {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    /** @type {NodeListOf<any>} */
    const held = document.querySelectorAll("#panel-master brazo-hold");
    for (const node of held) {
      if (node.getAttribute("key") === key) node.release();
    }
  },
  true,
);
watch("station/role", (role) => {
  if (role === "master") {
    addKeys([
      ["E", "Enable switch (hold)"],
      ["C", "Clutch on or off"],
      ["Arrows, PgUp, PgDn", "Move the handle along X, Y, Z"],
    ]);
  }
});
