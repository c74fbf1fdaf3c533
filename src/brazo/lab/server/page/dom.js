// Helper functions for elements, text fields and stored settings.
import { icon } from "./icons.js";

export function element(tag, className = "", properties = {}) {
  const { ariaLabel, ...rest } = properties;
  const node = Object.assign(document.createElement(tag), { className, ...rest });
  if (ariaLabel) node.setAttribute("aria-label", ariaLabel);
  return node;
}

// Put an element over the scene.  viser's client clears #root when it renders for the first time; on a
// slow machine this happens later, and the element is appended again.
export function overScene(node) {
  const root = document.getElementById("root");
  root.append(node);
  new MutationObserver(() => node.isConnected || root.append(node)).observe(root, { childList: true });
}

export function iconButton(name, label, onclick) {
  const button = element("button", "icon", { type: "button", title: label, onclick });
  button.setAttribute("aria-label", label);
  button.innerHTML = icon(name);
  return button;
}

// A number with a minus sign instead of a hyphen, and without a sign if it is rounded to zero.
export function fixed(value, digits) {
  const text = value.toFixed(digits).replace("-", "−");
  return /[1-9]/.test(text) ? text : text.replace("−", "");
}

// Limits the rate of `work`: the first call runs it at once, calls within `wait` ms after it run it once
// more at the end.  A timer, not animation frames: with software rendering typed numbers would wait for
// frames.
export function paced(work, wait = 16) {
  let timer = 0;
  let again = false;
  const run = () => {
    again = false;
    timer = setTimeout(() => {
      timer = 0;
      if (again) run();
    }, wait);
    work();
  };
  const call = () => {
    if (timer) again = true;
    else run();
  };
  call.cancel = () => {
    clearTimeout(timer);
    timer = 0;
    again = false;
  };
  return call;
}

// Replace the text of a field.  If all of it was selected, so is the new text, so that typing replaces
// it; a focused field with a caret is being edited and does not change.
export function showText(input, text) {
  if (input.value === text) return;
  const focused = document.activeElement === input && document.hasFocus();
  const whole = input.selectionStart === 0 && input.selectionEnd === input.value.length;
  if (focused && !whole) return;
  input.value = text;
  if (focused) input.select();
}

// Text fields with typed text that is not sent yet.  The text of the focused field is kept when its panel
// gets new content.  Browsers blur a field that is removed; `refilling()` is true meanwhile, because the
// user did not leave the field.
export const drafts = new WeakSet();
let filling = false;
export const refilling = () => filling;

export function refill(body, html) {
  const field = /** @type {HTMLInputElement} */ (document.activeElement);
  const typed = drafts.has(field) && body.contains(field);
  const { value, selectionStart, selectionEnd, scrollTop } = field ?? {};
  // A control focused by the keyboard keeps the focus.
  const controls = () => [...body.querySelectorAll("button, select, summary, input[type=checkbox]")];
  const kept = body.contains(field) && field.matches(":focus-visible") ? controls().indexOf(field) : -1;
  const named = (node) => node && `${node.tagName} ${node.getAttribute("aria-label")} ${node.textContent}`;
  const name = named(field);
  filling = true;
  try {
    body.innerHTML = html;
  } finally {
    filling = false;
  }
  if (!typed) {
    const same = controls()[kept];
    if (named(same) === name) same.focus();
    return;
  }
  const label = field.getAttribute("aria-label");
  const again = [...body.querySelectorAll(field.tagName)].find((one) => one.getAttribute("aria-label") === label);
  if (!again) return;
  again.focus();
  again.value = value;
  again.dispatchEvent(new Event("input", { bubbles: true }));
  again.setSelectionRange(selectionStart, selectionEnd);
  again.scrollTop = scrollTop;
}

// Scale of bars and panels.  Distances on the screen are divided by it to get lengths in their CSS.
export let scale = 1;
export function setScale(to) {
  scale = to;
  document.documentElement.style.setProperty("--scale", String(to));
  dispatchEvent(new Event("brazo-scale"));
}

// Settings in the local storage of this browser; `otherwise` if there is none.
export function remembered(key, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(`brazo-${key}`)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function remember(key, value) {
  try {
    localStorage.setItem(`brazo-${key}`, JSON.stringify(value));
  } catch {
    // the storage is full or not allowed
  }
}
