// Small help for making elements.
import { icon } from "./icons.js";

export function element(tag, className = "", properties = {}) {
  const { ariaLabel, ...rest } = properties;
  const node = Object.assign(document.createElement(tag), { className, ...rest });
  if (ariaLabel) node.setAttribute("aria-label", ariaLabel);
  return node;
}

// Put an element over the scene.  viser's client empties #root when it draws there for the first time,
// on a busy machine after this page was built.
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

// A number as people read it: a true minus, and none before zeros.
export function fixed(value, digits) {
  const text = value.toFixed(digits).replace("-", "−");
  return /[1-9]/.test(text) ? text : text.replace("−", "");
}

// A call that does its work at once, and when called again soon, once more for all of them.  By the
// clock, not by drawn frames: where the processor draws, a typed number would wait for a picture.
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

// Show another text in a field.  One that is selected as a whole stays so, for what is typed next is
// to take its place; one with a caret in it is about to be edited and is left alone.
export function showText(input, text) {
  if (input.value === text) return;
  const focused = document.activeElement === input && document.hasFocus();
  const whole = input.selectionStart === 0 && input.selectionEnd === input.value.length;
  if (focused && !whole) return;
  input.value = text;
  if (focused) input.select();
}

// Text fields with typed text that is not sent yet.  In the focused one it survives new content of its
// panel.  Browsers blur a field that is removed: `refilling()` tells it that the user did not leave it.
export const drafts = new WeakSet();
let filling = false;
export const refilling = () => filling;

export function refill(body, html) {
  const field = /** @type {HTMLInputElement} */ (document.activeElement);
  const typed = drafts.has(field) && body.contains(field);
  const { value, selectionStart, selectionEnd, scrollTop } = field ?? {};
  // A button that the keyboard has gone to keeps the focus.
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

// How much larger than usual bars and panels are drawn.  A distance on the screen, divided by it, is
// one in their style.
export let scale = 1;
export function setScale(to) {
  scale = to;
  document.documentElement.style.setProperty("--scale", String(to));
  dispatchEvent(new Event("brazo-scale"));
}

// What is kept in this browser; a browser that keeps nothing is no reason to fail.
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
    // full or forbidden
  }
}
