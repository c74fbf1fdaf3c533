// Small help for making elements.
import { icon } from "./icons.js";

export function element(tag, className = "", properties = {}) {
  const { ariaLabel, ...rest } = properties;
  const node = Object.assign(document.createElement(tag), { className, ...rest });
  if (ariaLabel) node.setAttribute("aria-label", ariaLabel);
  return node;
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
