// Tour of three steps at the first visit: the demo, a jog, saving the work.  A recording has one
// step.  The browser stores that the tour was shown.
import { value, watch } from "./channel.js";
import { showPanel } from "./docks.js";
import { element, remember, remembered } from "./dom.js";

const PHONE = matchMedia("(max-width: 760px)"); // no keyboard
const LAB = [
  {
    title: "1. Make it move",
    words: () => [
      value("run")?.demo ? "Run demo, in the bar above, starts the program of this cell. " : "Play, in the bar above, starts the simulation. ",
      ...(PHONE.matches ? ["STOP stops all robots."] : [["Space"], " stops all robots."]),
    ],
    at: ".brazo-bar .transport",
  },
  {
    title: "2. Move a robot yourself",
    words: () => ["In the pendant, hold − or + to jog a joint, and Teach stores the position as a point. Drag in the scene to rotate the view."],
    panel: "pendant",
    at: "#panel-pendant",
  },
  {
    title: "3. Save your work",
    words: () => [
      value("project")?.kept
        ? "Points, programs, gains and the cell are saved as you work. Save as, export and other cells are under the name of the project."
        : "Save as, under the name in the bar, keeps points, programs, gains and the cell.",
      ...(PHONE.matches ? [] : [" ", ["Ctrl+Z"], " undoes, ", ["?"], " shows all keys."]),
    ],
    at: ".brazo-bar .home",
  },
];
const REPLAY = [
  {
    title: "This is a recording.",
    words: () => [
      ` Drag the timeline to any time, or ${PHONE.matches ? "tap" : "click"} an event to go to it. `,
      ...(PHONE.matches ? [] : [["Space"], " plays and pauses, ", ["?"], " shows all keys."]),
    ],
  },
];

export function firstVisit() {
  let card;
  watch("replay", (replay) => {
    card?.remove();
    mark(null);
    // The tour of the lab also covers recordings, but not vice versa.
    const known = remembered("welcomed", false) || (replay && remembered("welcomed-replay", false));
    const station = value("station/role");
    card = known || station ? null : tour(replay ? REPLAY : LAB, replay ? "welcomed-replay" : "welcomed");
  });
}

// Repeat the tour, from the help.
export function startTour() {
  document.querySelector(".brazo-welcome")?.remove();
  tour(value("replay") ? REPLAY : LAB, value("replay") ? "welcomed-replay" : "welcomed");
}

function tour(steps, key) {
  const card = element("div", "brazo-welcome", { ariaLabel: "Welcome" });
  card.setAttribute("role", "note");
  document.body.append(card);
  const end = () => {
    remember(key, true);
    mark(null);
    card.remove();
  };
  const show = (k) => {
    const step = steps[k];
    if (step.panel && k > 0) showPanel(step.panel);
    const text = element("div");
    text.append(
      element("b", "", { textContent: steps.length > 1 ? `${step.title}. ` : step.title }),
      ...step.words().map((word) => (Array.isArray(word) ? element("kbd", "", { textContent: word[0] }) : word)),
    );
    const last = k === steps.length - 1;
    const next = element("button", "primary", { type: "button", textContent: last ? "Got it" : "Next" });
    next.onclick = () => (last ? end() : show(k + 1));
    const buttons = element("div", "steps");
    if (!last) {
      const skip = element("button", "", { type: "button", textContent: "Skip" });
      skip.onclick = end;
      buttons.append(skip);
    }
    buttons.append(next);
    card.replaceChildren(text, buttons);
    mark(step.at);
  };
  show(0);
  return card;
}

// Draw a frame around the element that a step explains.
function mark(selector) {
  document.querySelectorAll(".brazo-pointed").forEach((node) => node.classList.remove("brazo-pointed"));
  if (selector) document.querySelector(selector)?.classList.add("brazo-pointed");
}
