// Keys that work everywhere.  Space and Escape are STOP wherever they have no other meaning.
import { send, value } from "./channel.js";
import { drafts } from "./dom.js";
import { toggleHelp } from "./help.js";

const actions = new Map(); // key -> callback

export function onKey(key, callback) {
  actions.set(key.toLowerCase(), callback);
}

// Whether an input field receives the keys; number fields do not accept spaces.
/** @param {KeyboardEvent} event */
export function typing(event) {
  const node = event.target;
  if (!(node instanceof HTMLElement)) return false;
  if (node.isContentEditable || node.tagName === "TEXTAREA") return true;
  return node instanceof HTMLInputElement && /text|search|number|password|email/.test(node.type);
}

// A replay has nothing to stop: there the key plays and pauses.
export function stop() {
  if (value("replay")) playOrPause();
  else send("stop");
}

export function playOrPause() {
  send(value("clock/running") ? "pause" : "play");
}

// Controls that the space bar operates when focused by the keyboard: it presses a button, toggles a
// switch.  After a click the space bar is STOP again, and it is always STOP on a hold-to-run button,
// which Enter operates.
const OPERATED = "button:not(.hold), summary, select, input[type=checkbox]";
let clicking = false; // from a pointer press until its click event was handled
/** @type {EventTarget | null} */
let clicked = null; // the control focused by a click

addEventListener(
  "pointerdown",
  (event) => {
    clicking = true;
    clicked = event.target instanceof Element ? event.target.closest(OPERATED) : null;
  },
  true,
);
for (const end of ["pointerup", "pointercancel"]) {
  addEventListener(end, () => setTimeout(() => (clicking = false)), true);
}
addEventListener("focusin", (event) => (clicked = clicking ? event.target : null), true);

const operates = (node) => node instanceof Element && node.matches(OPERATED) && node !== clicked;
const plain = (event) => !event.ctrlKey && !event.metaKey && !event.altKey;
let stopped = false; // by the current press of the space bar
let draft = false; // whether Escape discards what is being typed

addEventListener(
  "keydown",
  (event) => {
    const node = /** @type {HTMLElement} */ (event.target);
    draft = drafts.has(node);
    const words = typing(event) && node.inputMode !== "decimal";
    if (event.code === "Space" && !words && plain(event)) {
      if (operates(node)) return;
      event.preventDefault();
      event.stopPropagation();
      stopped = true;
      if (!event.repeat) stop();
      return;
    }
    // A focused input field has the browser's undo.
    if (event.code === "KeyZ" && (event.ctrlKey || event.metaKey) && !event.altKey && !typing(event)) {
      event.preventDefault();
      return send(event.shiftKey ? "redo" : "undo");
    }
    if (typing(event) || !plain(event)) return;
    if (event.key === "?") return toggleHelp();
    if (node.tagName === "SELECT" || event.repeat) return;
    actions.get(event.key.toLowerCase())?.(event);
  },
  true,
);
addEventListener(
  "keyup",
  (event) => {
    // A focused button would be clicked on release of the space bar.
    if (event.code === "Space" && stopped) event.preventDefault();
    stopped &&= event.code !== "Space";
  },
  true,
);
// Escape also stops, unless it closes something or discards typed text.
addEventListener("keydown", (event) => {
  const taken = draft || event.defaultPrevented || document.querySelector("dialog[open]");
  if (event.key === "Escape" && !taken && !event.repeat && plain(event)) send("stop");
});

onKey("p", playOrPause);
onKey(".", () => send("step", 1));
