// The scene around the operator: in a headset (xr_view.js, xr_hands.js) or as a stereo pair (stereo.js).
import { makeStereo } from "./stereo.js";
import { makeHands } from "./xr_hands.js";
import { makeXrView } from "./xr_view.js";

const AWAY = 1.2; // m from the nearest point of the robots at the start of a session
const BEHIND = { light: 0xe9ecf0, dark: 0x14171c };

// `points()` returns the corners of the framed objects, `rotation()` the function from the cell's frame to
// three.js's world, `dark()` whether the theme is dark.
export function makeImmersive({ mutable, renderer, points, rotation, dark }) {
  const background = () => anyColor(mutable.scene).setHex(BEHIND[dark() ? "dark" : "light"]);
  const xr = makeXrView({ mutable, renderer, stand: () => standing(points() ?? [], eyeAndTarget()), background });
  const hands = makeHands({ mutable, renderer });
  const stereo = makeStereo({ mutable, renderer });

  /** @returns {[number[], number[]]} */
  function eyeAndTarget() {
    const read = (of) => mutable.cameraControl[of](mutable.camera.position.clone()).toArray();
    return [read("getPosition"), read("getTarget")];
  }

  return {
    stereo,
    // Show the scene in a session.  Returns the reference space of three.js's world, the axes x and y of
    // the cell in it, and the function that writes text on the controllers.
    async present(session) {
      const space = await xr.present(session);
      hands.hold(session);
      const rotate = rotation() ?? ((p) => p);
      return { space, axes: [rotate([1, 0, 0]), rotate([0, 1, 0])], write: hands.write };
    },
    twice: stereo.instead,
    headset: xr.instead,
    before: (camera) => xr.before(camera) || stereo.draws(camera),
    // Rotate the camera about its target, by pixels of pointer motion.
    orbit(dx, dy) {
      const by = (2 * Math.PI) / mutable.canvas.clientHeight;
      mutable.cameraControl?.rotate(-dx * by, -dy * by, false);
      mutable.requestRender?.();
    },
  };
}

// Start position of the operator: on the side of the page's camera, at a distance from all robots.
export function standing(points, [eye, target]) {
  const centre = points.length ? middle(points) : [target[0], target[2]];
  const [x, z] = [eye[0] - target[0], eye[2] - target[2]];
  const length = Math.hypot(x, z);
  const towards = length > 1e-3 ? [x / length, z / length] : [0, 1];
  const reach = points.reduce((most, p) => Math.max(most, (p[0] - centre[0]) * towards[0] + (p[2] - centre[1]) * towards[1]), 0);
  return { position: centre.map((v, i) => v + (reach + AWAY) * towards[i]), towards: centre };
}

function middle(points) {
  return [0, 2].map((i) => {
    const values = points.map((p) => p[i]);
    return (Math.min(...values) + Math.max(...values)) / 2;
  });
}

function anyColor(scene) {
  let found = null;
  scene.traverse((object) => {
    found ??= object.material?.color ?? null;
  });
  return found.clone();
}
