// The page while two pictures fill the screen: no bars, no panels; a tap or Esc returns to them.
import { element } from "../../server/page/dom.js";

const TAP = 10; // px that a finger may move
const HINT = 4000; // ms that the hint is shown
const root = document.documentElement;
let leave = null;

// Ask for the angles of the phone; returns a function that gives the newest ones (rad), or null.
export async function askForTurns() {
  /** @type {any} */
  const Turns = window.DeviceOrientationEvent;
  if (!Turns || !isSecureContext) return null;
  const answer = await Turns.requestPermission?.().catch(() => "denied"); // only some browsers ask
  return answer === "denied" ? null : watchTurns();
}

function watchTurns() {
  let newest = null;
  const radians = (degrees) => (degrees * Math.PI) / 180;
  const told = ({ alpha, beta, gamma }) => {
    if (alpha === null || beta === null) return; // a machine without sensors
    const screen = radians(window.screen.orientation?.angle ?? 0);
    newest = { alpha: radians(alpha), beta: radians(beta), gamma: radians(gamma), screen };
    window.brazoViewer.redraw();
  };
  addEventListener("deviceorientation", told);
  const turned = () => newest;
  turned.stop = () => removeEventListener("deviceorientation", told);
  return turned;
}

// Fill the screen with {ipd (mm), fov (degrees), turned}.
export function showStereo(settings) {
  const { immersive } = window.brazoViewer;
  if (!immersive || leave) return;
  const cover = element("div", "brazo-stereo", { tabIndex: -1 });
  cover.setAttribute("role", "img");
  cover.setAttribute("aria-label", "Stereo view; press Esc or tap to return");
  for (const _ of "lr") cover.append(element("span", "", { textContent: "Tap or Esc to exit" }));
  const hint = setTimeout(() => cover.classList.add("quiet"), HINT);
  let from = null; // where a pointer went down, or was last
  let moved = false;
  cover.onpointerdown = (event) => {
    from = { x: event.clientX, y: event.clientY };
    moved = false;
    cover.setPointerCapture(event.pointerId);
  };
  cover.onpointermove = (event) => {
    if (!from) return;
    const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
    if (!moved && Math.hypot(dx, dy) < TAP) return;
    immersive.orbit(dx, dy);
    from = { x: event.clientX, y: event.clientY };
    moved = true;
  };
  cover.onpointerup = cover.onpointercancel = () => (from = null);
  cover.onclick = () => !moved && leave?.(); // not when it comes up: the page below would be clicked
  const onEscape = (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault(); // it closes something: no STOP
    event.stopPropagation();
    leave?.();
  };
  const shrunk = () => !document.fullscreenElement && leave?.();
  const awake = keepAwake();
  leave = () => {
    leave = null;
    clearTimeout(hint);
    settings.turned?.stop();
    removeEventListener("keydown", onEscape, true);
    document.removeEventListener("fullscreenchange", shrunk);
    if (document.fullscreenElement) document.exitFullscreen().catch(() => {});
    awake.then((lock) => lock?.release());
    immersive.stereo.set(null);
    cover.remove();
    root.removeAttribute("data-brazo-stereo");
    dispatchEvent(new Event("resize"));
  };
  document.body.append(cover);
  root.setAttribute("data-brazo-stereo", "");
  addEventListener("keydown", onEscape, true);
  immersive.stereo.set(settings);
  cover.focus();
  fillScreen(shrunk);
}

async function fillScreen(shrunk) {
  try {
    await root.requestFullscreen({ navigationUI: "hide" });
    document.addEventListener("fullscreenchange", shrunk);
    await /** @type {any} */ (screen.orientation).lock("landscape");
  } catch {
    // the page alone is enough
  }
}

async function keepAwake() {
  return navigator.wakeLock?.request("screen").catch(() => null) ?? null;
}
