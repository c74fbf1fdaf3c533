// Inputs of a gamepad: their names, their values, and the mapping to the axes of a robot, stored
// in this browser.  An input is "a1" (a stick), "b3" (a button, one direction only) or "b6-b7"
// (two buttons, the first in the negative direction).
import { remember, remembered } from "../../server/page/dom.js";

const STICKS = ["L stick ↔", "L stick ↕", "R stick ↔", "R stick ↕"];
const BUTTONS = ["A", "B", "X", "Y", "LB", "RB", "LT", "RT", "Back", "Start", "L3", "R3", "D-pad ↑", "D-pad ↓", "D-pad ←", "D-pad →", "Guide"];
const PAIRS = [
  ["b14-b15", "D-pad ↔"],
  ["b13-b12", "D-pad ↕"],
  ["b6-b7", "LT / RT"],
  ["b4-b5", "LB / RB"],
  ["b2-b1", "X / B"],
  ["b0-b3", "A / Y"],
];
const STANDARD = { axes: 4, buttons: 17 };

// Default input of each axis of a robot.  The sticks' ↕ is positive upwards here.
const FIRST = {
  joint: ["a0", "a1", "a3", "a2", "b13-b12", "b14-b15", "b6-b7"],
  tool: ["a1", "-a0", "a3", "b14-b15", "b13-b12", "-a2", "b6-b7"],
};
const SETTINGS = { on: false, dead: 10, gain: 100, response: "fine" };
const LIMITS = { dead: [0, 90], gain: [1, 100], speed: [0, 100] };

// Inputs are numbered by the manufacturer unless the browser knows the layout.
export function layout(pad) {
  return !pad || pad.mapping === "standard" ? "standard" : pad.id;
}

export function buttonName(pad, i) {
  return layout(pad) === "standard" ? (BUTTONS[i] ?? `Button ${i}`) : `Button ${i}`;
}

// [[input, name], …] that an axis can be mapped to.
export function inputs(pad) {
  const standard = layout(pad) === "standard";
  const axes = Math.max(pad?.axes.length ?? 0, standard ? STANDARD.axes : 0);
  const found = [];
  for (let i = 0; i < axes; i++) found.push([`a${i}`, standard ? (STICKS[i] ?? `Axis ${i}`) : `Axis ${i}`]);
  const count = pad?.buttons.length ?? STANDARD.buttons;
  if (standard) found.push(...PAIRS);
  else for (let i = 0; i + 1 < count; i += 2) found.push([`b${i}-b${i + 1}`, `Buttons ${i} / ${i + 1}`]);
  for (const [i, name] of buttons(pad)) found.push([`b${i}`, name]);
  return found;
}

// [[index, name], …] of the buttons.
export function buttons(pad) {
  const count = Math.max(pad?.buttons.length ?? 0, layout(pad) === "standard" ? STANDARD.buttons : 0);
  return Array.from({ length: count }, (_, i) => [String(i), buttonName(pad, i)]);
}

// The value of an input, -1 to 1.
export function read(pad, input) {
  const button = (name) => pad.buttons[Number(name.slice(1))]?.value ?? 0;
  if (!input) return 0;
  if (input.includes("-")) {
    const [minus, plus] = input.split("-");
    return button(plus) - button(minus);
  }
  if (input.startsWith("b")) return button(input);
  const i = Number(input.slice(1));
  const value = pad.axes[i] ?? 0;
  return layout(pad) === "standard" && i % 2 ? -value : value; // up is positive
}

// Dead zone and response: 0 inside the dead zone, then from 0 to 1.
export function shaped(value, { dead, response }) {
  const zone = dead / 100;
  const size = Math.min((Math.abs(value) - zone) / (1 - zone), 1);
  if (!(size > 0)) return 0;
  return Math.sign(value) * (response === "fine" ? size ** 3 : size);
}

// The input with the largest deflection, for mapping by moving it; none while all are at rest.
export function moved(pad, rest) {
  let [found, most] = ["", 0.6];
  for (let i = 0; i < pad.axes.length; i++) {
    const by = Math.abs(pad.axes[i] - (rest.axes[i] ?? 0));
    if (by > most) [found, most] = [`a${i}`, by];
  }
  if (found) return found;
  const pressed = pad.buttons.findIndex((button, i) => button.value > 0.6 && !(rest.buttons[i] > 0.6));
  if (pressed < 0) return "";
  const pair = layout(pad) === "standard" && PAIRS.find(([name]) => name.split("-").includes(`b${pressed}`));
  return pair ? pair[0] : `b${pressed}`;
}

// ---- stored in this browser --------------------------------------------------------------------

// Settings, and the mapping of one kind ("joint", "tool") to `count` axes, for the pad's layout.
export function load(kind, count, pad, actions) {
  const settings = { ...SETTINGS, ...remembered("gamepad", {}) };
  for (const name of ["dead", "gain"]) settings[name] = bounded(settings[name], name);
  const kept = remembered(`gamepad-${kind}`, {})[layout(pad)] ?? {};
  // The axes of another layout are unknown: one of them may be a trigger that rests at -1.
  const standard = layout(pad) === "standard";
  const first = standard ? (FIRST[kind] ?? FIRST.tool) : [];
  const axes = Array.from({ length: count }, (_, i) => {
    const input = first[i] ?? "";
    const otherwise = { input: input.replace(/^-/, ""), speed: 100, invert: input.startsWith("-") };
    const axis = { ...otherwise, ...kept.axes?.[i] };
    return { input: String(axis.input), speed: bounded(axis.speed, "speed"), invert: Boolean(axis.invert) };
  });
  const bound = Object.fromEntries(actions.map(({ key, button }) => [key, String(kept.actions?.[key] ?? (standard ? button : ""))]));
  return { settings, axes, actions: bound };
}

export function save(kind, pad, { settings, axes, actions }) {
  remember("gamepad", settings);
  remember(`gamepad-${kind}`, { ...remembered(`gamepad-${kind}`, {}), [layout(pad)]: { axes, actions } });
}

export function forget(kind, pad) {
  const { on } = remembered("gamepad", {});
  remember("gamepad", { ...SETTINGS, on: Boolean(on) });
  remember(`gamepad-${kind}`, { ...remembered(`gamepad-${kind}`, {}), [layout(pad)]: undefined });
}

export function bounded(value, name, otherwise = LIMITS[name][1]) {
  const [low, high] = LIMITS[name];
  const number = Number(String(value).replace(",", "."));
  return Number.isFinite(number) ? Math.min(Math.max(number, low), high) : otherwise;
}
