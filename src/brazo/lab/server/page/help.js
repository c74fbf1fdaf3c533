// The keys, in an overlay, and a word to those who are here for the first time.
import { value, watch } from "./channel.js";
import { element, iconButton, remember, remembered } from "./dom.js";

const keys = [
  ["Space", "STOP all robots"],
  ["P", "Play or pause"],
  [".", "Single step"],
  ["1 2 3 4", "View: iso, front, side, top"],
  ["0", "Reset the view"],
  ["F", "Follow tool"],
  ["D", "Light or dark theme"],
  ["?", "This help"],
  ["Esc", "Close; discard typed text"],
];
const mouse = [
  ["Drag", "Rotate the view"],
  ["Right drag, Shift drag", "Pan the view"],
  ["Wheel", "Zoom"],
  ["Click a link", "Select its joint"],
];
const HALTS = { master: "STOP: release the handle; the follower stops", follower: "STOP the robot" };
let dialog;

// What a key does on this page; nothing where it has no use.
function meaning(key, says) {
  const role = value("station/role");
  if (key === "Space") return value("replay") ? "Play or pause" : HALTS[role] ?? says;
  return role && (key === "P" || key === ".") ? "" : says; // a station's time goes on
}

// Panels may add keys of their own to the list.
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
    for (const [key, says] of rows) {
      const what = meaning(key, says);
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
  dialog.onclick = (event) => event.target === dialog && dialog.close();
  dialog.showModal();
}

// What one needs to know first: of the lab, and of a recording on show.
const WELCOME = {
  lab: [
    "Welcome to the lab.",
    " Drag to rotate the view, click a link to select its joint, hold − or + in the pendant to jog. ",
    ["Space"],
    " stops all robots, ",
    ["?"],
    " shows all keys.",
  ],
  replay: [
    "This is a recording.",
    " Drag the timeline to any time, or click an event to go to it. ",
    ["Space"],
    " plays and pauses, ",
    ["?"],
    " shows all keys.",
  ],
};
const WELCOME_PHONE = {
  lab: [
    "Welcome to the lab.",
    " Drag to rotate the view, tap a link to select its joint, hold − or + in the pendant to jog. ",
    "STOP stops all robots.",
  ],
  replay: [
    "This is a recording.",
    " Drag the timeline to any time, or tap an event to go to it.",
  ],
};

export function firstVisit() {
  let card;
  watch("replay", (replay) => {
    card?.remove();
    // Who knows the lab finds the way in a recording, but not the other way round.
    const known = remembered("welcomed", false) || (replay && remembered("welcomed-replay", false));
    card = known ? null : welcome(replay ? "replay" : "lab", replay ? "welcomed-replay" : "welcomed");
  });
}

function welcome(where, key) {
  const card = element("div", "brazo-welcome", { ariaLabel: "Welcome" });
  card.setAttribute("role", "note");
  const phone = matchMedia("(max-width: 760px)").matches; // it has no keys
  const [title, ...words] = (phone ? WELCOME_PHONE : WELCOME)[where];
  const text = element("div");
  text.append(
    element("b", "", { textContent: title }),
    ...words.map((word) => (Array.isArray(word) ? element("kbd", "", { textContent: word[0] }) : word)),
  );
  const done = element("button", "primary", { type: "button", textContent: "Got it" });
  done.onclick = () => {
    remember(key, true);
    card.remove();
  };
  card.append(text, done);
  document.body.append(card);
  return card;
}
