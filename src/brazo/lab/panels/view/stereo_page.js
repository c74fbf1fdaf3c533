// The page while the stereo pair fills the screen: no bars, no panels; a tap or Esc ends this.
import { element } from "../../server/page/dom.js";

const TAP = 10; // px that a finger may move
const HINT = 4000; // ms that the hint is shown
const root = document.documentElement;
let leave = null;

// Request access to the angles of the phone; returns a function that returns the newest ones (rad), or
// null without access.
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
  const onOrientation = ({ alpha, beta, gamma }) => {
    if (alpha === null || beta === null) return; // a computer without sensors
    const screen = radians(window.screen.orientation?.angle ?? 0);
    newest = { alpha: radians(alpha), beta: radians(beta), gamma: radians(gamma), screen };
    window.brazoViewer.redraw();
  };
  addEventListener("deviceorientation", onOrientation);
  const turned = () => newest;
  turned.stop = () => removeEventListener("deviceorientation", onOrientation);
  return turned;
}

// Fill the screen with the stereo pair of {ipd (mm), fov (degrees), turned}.
export function showStereo(settings) {
  const { immersive } = window.brazoViewer;
  if (!immersive || leave) return;
  const cover = element("div", "brazo-stereo", { tabIndex: -1 });
  cover.setAttribute("role", "img");
  cover.setAttribute("aria-label", "Stereo view; press Esc or tap to return");
  for (const _ of "lr") cover.append(element("span", "", { textContent: "Tap or Esc to exit" }));
  const hint = setTimeout(() => cover.classList.add("quiet"), HINT);
  let from = null; // position of the pointer at the press or the last move
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
  cover.onclick = () => !moved && leave?.(); // not on pointerup: the page below would receive the click
  const onEscape = (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault(); // Escape closes this view instead of stopping the robots
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
    // full screen and landscape orientation are optional
  }
}

async function keepAwake() {
  return navigator.wakeLock?.request("screen").catch(() => null) ?? null;
}
