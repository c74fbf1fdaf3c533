// The controllers of a headset in the scene: a handle, and a plate with text that shows their state.
import { threeParts } from "./three_parts.js";

const HANDLE = [0.03, 0.03, 0.12]; // m
/** @type {[number, number]} */
const PLATE = [0.16, 0.1]; // m
const PIXELS = [640, 400]; // of a plate
const ABOVE = { position: [0, 0.075, -0.03], tilt: -0.9 }; // of a plate; rad about the controller's x axis
const COLORS = { ready: "#1f2937", running: "#166534", stopped: "#991b1b", blocked: "#7c4a03" };

export function makeHands({ mutable, renderer }) {
  const { xr } = renderer;
  const plates = new Map(); // "left", "right" -> {context, texture}
  const bare = new Map(); // group of a controller that has no meshes yet -> its hand
  let written = "";

  // Draw the controllers of a session until it ends.
  function hold(session) {
    const grips = [0, 1].map((i) => xr.getControllerGrip(i));
    const connected = ({ data, target }) => {
      target.clear();
      bare.set(target, data.handedness);
    };
    const disconnected = ({ target }) => target.clear();
    grips.forEach((grip, i) => {
      grip.addEventListener("connected", connected);
      grip.addEventListener("disconnected", disconnected);
      const source = [...session.inputSources][i];
      if (source) connected({ data: source, target: grip });
      mutable.scene.add(grip);
    });
    session.addEventListener("end", () => {
      for (const grip of grips) {
        grip.removeEventListener("connected", connected);
        grip.removeEventListener("disconnected", disconnected);
        grip.clear();
        mutable.scene.remove(grip);
      }
      for (const { texture } of plates.values()) texture.dispose();
      plates.clear();
      bare.clear();
    });
  }

  function draw() {
    const parts = threeParts(mutable.scene, renderer.getRenderTarget()?.texture);
    if (!parts) return;
    for (const [grip, hand] of bare) grip.add(handle(parts), plate(parts, hand));
    bare.clear();
    written = "";
  }

  function handle({ Mesh, Geometry, Attribute, Material }) {
    const geometry = box(new Geometry(), Attribute, HANDLE);
    const mesh = new Mesh(geometry, new Material({ color: 0x374151, roughness: 0.7 }));
    mesh.raycast = () => {};
    return mesh;
  }

  function plate({ Mesh, Geometry, Attribute, Material, Texture }, hand) {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = PIXELS;
    const texture = Object.assign(new Texture(canvas), { colorSpace: "srgb" });
    const geometry = rectangle(new Geometry(), Attribute, PLATE);
    // Emissive, so that the text is readable in any lighting.
    const material = new Material({ color: 0, emissive: 0xffffff, emissiveMap: texture, roughness: 1 });
    Object.assign(material, { envMapIntensity: 0, toneMapped: false });
    const mesh = new Mesh(geometry, material);
    mesh.position.set(...ABOVE.position);
    mesh.rotation.x = ABOVE.tilt;
    mesh.raycast = () => {};
    plates.set(hand, { context: canvas.getContext("2d"), texture });
    return mesh;
  }

  // Show a state ("ready", "running", "stopped", "blocked"), its title and lines of text per hand; to be
  // called in a frame of the session.
  function write(state, title, lines) {
    if (bare.size) draw();
    const text = JSON.stringify([state, title, lines]);
    if (text === written) return;
    written = text;
    for (const [hand, { context, texture }] of plates) {
      const [w, h] = PIXELS;
      context.fillStyle = COLORS[state];
      context.fillRect(0, 0, w, h);
      context.fillStyle = "#ffffff";
      context.font = "600 54px system-ui, sans-serif";
      context.fillText(title, 32, 80, w - 64);
      context.font = "40px system-ui, sans-serif";
      (lines[hand] ?? []).forEach((line, i) => context.fillText(line, 32, 160 + 62 * i, w - 64));
      texture.needsUpdate = true;
    }
  }

  return { hold, write };
}

function rectangle(geometry, Attribute, [w, h]) {
  const corners = [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]];
  const flat = (list) => new Float32Array(list.flat());
  geometry.setAttribute("position", new Attribute(flat(corners.map(([x, y]) => [(x * w) / 2, (y * h) / 2, 0])), 3));
  geometry.setAttribute("normal", new Attribute(flat(corners.map(() => [0, 0, 1])), 3));
  geometry.setAttribute("uv", new Attribute(flat(corners.map(([x, y]) => [(x + 1) / 2, (y + 1) / 2])), 2));
  return geometry;
}

function box(geometry, Attribute, size) {
  const [positions, normals] = [[], []];
  for (let axis = 0; axis < 3; axis++) {
    for (const side of [-1, 1]) {
      const [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
      for (const [a, b] of [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]]) {
        const at = [0, 0, 0];
        at[axis] = (side * size[axis]) / 2;
        at[u] = (side * a * size[u]) / 2; // seen from outside, counter-clockwise
        at[v] = (b * size[v]) / 2;
        positions.push(...at);
        normals.push(...[0, 1, 2].map((i) => (i === axis ? side : 0)));
      }
    }
  }
  geometry.setAttribute("position", new Attribute(new Float32Array(positions), 3));
  geometry.setAttribute("normal", new Attribute(new Float32Array(normals), 3));
  return geometry;
}
