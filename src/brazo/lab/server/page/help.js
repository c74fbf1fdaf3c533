// Overlay with the list of keys.
import { value } from "./channel.js";
import { element, iconButton } from "./dom.js";
import { startTour } from "./tour.js";

const keys = [
  ["Space", "STOP all robots; on a control reached by Tab: operate it"],
  ["P", "Play or pause"],
  [".", "Single step"],
  ["Ctrl+Z", "Undo"],
  ["Ctrl+Shift+Z", "Redo"],
  ["1 2 3 4", "View: iso, front, side, top"],
  ["0", "Reset the view"],
  ["F", "Follow tool"],
  ["D", "Light or dark theme"],
  ["?", "This help"],
  ["Esc", "Close; discard typed text; otherwise STOP"],
];
const mouse = [
  ["Drag", "Rotate the view"],
  ["Right drag, Shift drag", "Pan the view"],
  ["Wheel", "Zoom"],
  ["Click a link", "Select its joint"],
];
const HALTS = { master: "STOP: release the handle; the follower stops", follower: "STOP the robot" };
let dialog;

// Description of a key on this page; empty if it has no function.
function meaning(key, description) {
  const role = value("station/role");
  if (key === "Space") return value("replay") ? "Play or pause" : HALTS[role] ?? description;
  return role && (key === "P" || key === ".") ? "" : description; // a station's time cannot be paused
}

// Panels can add their keys to the list.
export function addKeys(rows) {
  keys.splice(-2, 0, ...rows.filter(([key]) => !keys.some(([known]) => known === key)));
}

export function toggleHelp() {
  if (dialog?.open) return dialog.close();
  dialog ??= document.body.appendChild(element("dialog", "brazo-help", { ariaLabel: "Help" }));
  const close = iconButton("close", "Close help", () => dialog.close());
  const head = element("header");
  head.append(element("h2", "", { textContent: "Keys and mouse" }), close);
  const lists = element("div", "lists");
  for (const [title, rows] of [["Keys", keys], ["In the scene", mouse]]) {
    const list = element("dl");
    for (const [key, description] of rows) {
      const what = meaning(key, description);
      if (!what) continue;
      const names = element("dt");
      for (const one of /^[0-9 ]+$/.test(key) ? key.split(" ") : key.split(", ")) {
        names.append(element("kbd", "", { textContent: one }));
      }
      list.append(names, element("dd", "", { textContent: what }));
    }
    const part = element("section");
    part.append(element("h3", "", { textContent: title }), list);
    lists.append(part);
  }
  const fields = element("p", "", {
    textContent:
      "Fields apply on Enter or when they lose focus. They accept units and expressions: 5cm, 30deg, pi/4.",
  });
  dialog.replaceChildren(head, lists, fields);
  if (!value("station/role")) {
    const tour = element("button", "tour", { type: "button", textContent: "Repeat the tour" });
    tour.onclick = () => {
      dialog.close();
      startTour();
    };
    dialog.append(tour);
  }
  dialog.onclick = (event) => event.target === dialog && dialog.close();
  dialog.showModal();
}
