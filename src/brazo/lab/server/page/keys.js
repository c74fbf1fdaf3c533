// Keys that work everywhere.  Space is STOP wherever a space cannot be meant as text.
import { send, value } from "./channel.js";
import { toggleHelp } from "./help.js";

const actions = new Map(); // key -> callback

export function onKey(key, callback) {
  actions.set(key.toLowerCase(), callback);
}

// Whether keys are being typed somewhere; a field for numbers takes no spaces.
/** @param {KeyboardEvent} event */
export function typing(event) {
  const node = event.target;
  if (!(node instanceof HTMLElement)) return false;
  if (node.isContentEditable || node.tagName === "TEXTAREA") return true;
  return node instanceof HTMLInputElement && /text|search|number|password|email/.test(node.type);
}

// In a recording nothing could be stopped: there the key plays and pauses, as it does anywhere.
export function stop() {
  if (value("replay")) playOrPause();
  else send("stop");
}

export function playOrPause() {
  send(value("clock/running") ? "pause" : "play");
}

addEventListener(
  "keydown",
  (event) => {
    const node = /** @type {HTMLElement} */ (event.target);
    const words = typing(event) && node.inputMode !== "decimal";
    if (event.code === "Space" && !words && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      event.stopPropagation();
      if (!event.repeat) stop();
      return;
    }
    if (typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "?") return toggleHelp();
    if (node.tagName === "SELECT" || event.repeat) return;
    actions.get(event.key.toLowerCase())?.(event);
  },
  true,
);
addEventListener(
  "keyup",
  (event) => {
    // A focused button would be clicked when the space bar comes up.
    if (event.code === "Space" && event.target instanceof HTMLButtonElement) event.preventDefault();
  },
  true,
);

onKey("p", playOrPause);
onKey(".", () => send("step", 1));
