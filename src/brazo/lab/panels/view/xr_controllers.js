// The controllers of a headset as hold-to-run jog keys: pressed buttons and deflections.
//
// A trigger enables motion of the tool along the axes of the world, a squeeze button rotation about
// them.  Directions are those of the operator, who may stand anywhere: forward is away from the face
// at the time of the press.
//
//     left stick    ↕ forward, back      ↔ right, left      squeezed: tilt forward, sideways
//     right stick   ↕ up, down           ↔ turn about the vertical axis
//     A, B, X, Y    STOP
import { read, shaped } from "../common/gamepad_input.js";

// Buttons of the layout "xr-standard"; sticks are its axes 2 and 3, up is negative.
const TRIGGER = 0;
const SQUEEZE = 1;
const STOPS = [4, 5]; // A or X, B or Y
const STICK = ["a2", "a3"];
const PRESSED = 0.5; // fraction of the travel of a trigger

export const HELP = {
  left: ["Hold trigger: move", "Stick: forward, sideways", "Hold grip: tilt", "X, Y: STOP"],
  right: ["Hold trigger: move", "Stick: up, down, turn", "Hold grip: tilt", "A, B: STOP"],
};

// {enable: "move", "rotate" or "", stop, released, left: [right, up], right: [right, up]} of input
// sources.  A controller without a pose enables nothing; `released` is true if the poses of all
// controllers are known and none of them enables motion.
export function readControllers(sources, tracked = (_source) => true) {
  const found = { enable: "", stop: false, released: false, left: [0, 0], right: [0, 0] };
  let [known, lost] = [0, 0];
  for (const source of sources) {
    const { handedness, gamepad } = source;
    if (!gamepad || !(handedness in HELP)) continue;
    const down = (i) => (gamepad.buttons[i]?.value ?? 0) > PRESSED || Boolean(gamepad.buttons[i]?.pressed);
    found.stop ||= STOPS.some(down);
    if (!tracked(source)) {
      lost++;
      continue;
    }
    known++;
    found[handedness] = [read(gamepad, STICK[0]), -read(gamepad, STICK[1])];
    if (down(TRIGGER)) found.enable = "move";
    else if (down(SQUEEZE)) found.enable ||= "rotate";
  }
  found.released = !found.enable && known > 0 && !lost;
  return found;
}

// Deflections along and about the axes x, y, z of the world (-1 to 1) for sticks; [fx, fy] is the forward
// direction of the operator, a horizontal unit vector in the world; settings as those of a gamepad.
export function deflections({ enable, left, right }, [fx, fy], settings) {
  const gain = settings.gain / 100;
  const [lx, ly, rx, ry] = [...left, ...right].map((v) => gain * shaped(v, settings));
  // Right of the operator is (fy, -fx).  Tilting forward is a positive rotation about the axis to the left.
  const along = enable === "move" ? [ly * fx + lx * fy, ly * fy - lx * fx, ry] : [0, 0, 0];
  const about = enable === "rotate" ? [lx * fx - ly * fy, lx * fy + ly * fx] : [0, 0];
  return [...along, ...about, -rx].map((v) => Math.round(1000 * Math.min(Math.max(v, -1), 1)) / 1000);
}

// Horizontal direction [x, y] of a pose (4 by 4, by columns, facing -z) along the axes of the cell; if it
// looks straight up or down, the direction is that of the top of the head.
/** @returns {[number, number]} */
export function facing(matrix, [x, y]) {
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const ahead = [-matrix[8], -matrix[9], -matrix[10]];
  const top = [matrix[4], matrix[5], matrix[6]];
  const [u, v] = [dot(ahead, x), dot(ahead, y)];
  const size = Math.hypot(u, v);
  if (size > 0.2) return [u / size, v / size];
  const sign = ahead[1] > 0 ? -1 : 1; // looking up, the top of the head points back
  const [p, q] = [sign * dot(top, x), sign * dot(top, y)];
  const length = Math.hypot(p, q) || 1;
  return [p / length, q / length];
}
