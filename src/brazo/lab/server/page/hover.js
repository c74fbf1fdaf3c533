// Hover and focus: an event when a node is entered, and one with "-end" when it is left.
import { drives, send } from "./channel.js";

let current = null; // { node, name }
let watching = 0;

function end() {
  if (!current) return;
  send(`${current.name}-end`);
  current = null;
  clearInterval(watching);
}

function begin(node, name, args) {
  if (current?.node === node || !drives()) return;
  end();
  current = { node, name };
  send(name, ...args);
  // A node that is removed while the pointer is over it gets no event.
  watching = setInterval(() => !node.isConnected && end(), 200);
}

// Send `name` with `args` while the pointer or the keyboard's focus is on a node.
export function onHover(node, name, ...args) {
  for (const come of ["pointerenter", "focusin"]) node.addEventListener(come, () => begin(node, name, args));
  for (const leave of ["pointerleave", "focusout"]) {
    node.addEventListener(leave, () => current?.node === node && !node.matches(":hover") && end());
  }
}
addEventListener("blur", end);
