// How the scene is drawn: shading, edges, light, four cameras at once, ghosts and contact marks.
//
// three.js is bundled in viser's client and cannot be imported, so objects are created with the
// constructors of existing ones.  `before` is called before every frame, because viser may have created
// new objects.

const BACK = 1; // three.js: BackSide
const CREASE = Math.cos((30 * Math.PI) / 180); // edges with a larger angle between their faces are drawn
const MOST_FACES = 200_000; // max of a body; edges of larger ones are not computed
const OUTLINE = 1.5; // px, if the shading requires edges and their width is 0
const INK = { light: 0x2b3038, dark: 0xd5dae2 };
const PAPER = { light: 0xf3f4f6, dark: 0x1d2128 };
export const USUAL = { shading: "shaded", edges: 0, light: 100, ambient: 100, split: false };

// `parts` returns the names of the bodies' parts, `ghosts` those of translucent robots, `inject` passes a
// message to viser's client, `dark` returns whether the theme is dark, `eye(direction)` the camera position
// from which the whole cell is visible.
export function makeLooks({ mutable, parts, ghosts, inject, dark, eye }) {
  let wanted = { ...USUAL };
  let version = 0;
  let done = "";
  let drawn = -1; // the version last drawn
  const edged = new Set(); // names of the parts with lines along their edges
  const plain = new WeakMap(); // material -> its original properties
  const lights = new WeakMap(); // light -> its intensity
  const lines = new WeakMap(); // geometry of contact marks -> points as the lab sent them

  const theme = () => (dark() ? "dark" : "light");
  const width = () => wanted.edges || (wanted.shading === "outline" ? OUTLINE : 0);

  function before(camera) {
    for (const name of ghosts()) eachMesh(name, oneSurface);
    scaleMarks(camera);
    light();
    const names = [...parts()];
    const now = `${version} ${theme()} ${width()} ${names.length}`;
    const usual = wanted.shading === "shaded" && !width();
    if (usual && done === now) return;
    done = now;
    for (const name of names) eachMesh(name, applyShading);
    drawEdges(names);
    // viser creates injected nodes later: request frames that show them.
    if (version !== drawn) for (const ms of [60, 300, 1000]) setTimeout(() => mutable.requestRender?.(), ms);
    drawn = version;
  }

  function eachMesh(name, call) {
    mutable.nodeRefFromName[name]?.traverse((object) => {
      if (object.isMesh && object.material?.color && !object.brazoTwin && !object.isLineSegments2) call(object);
    });
  }

  // A second mesh of an object that moves with it.
  function twin(object, key, change) {
    const other = new object.constructor(object.geometry, object.material.clone());
    Object.assign(other, { brazoTwin: key, castShadow: false, receiveShadow: false, raycast: () => {} });
    change(other, other.material);
    object.add(other);
    other.updateMatrixWorld(true); // three.js has already updated the scene's for this frame
    return other;
  }

  // Only the nearest surface of a translucent robot is drawn: first its depth, then its colour.
  // Otherwise the hidden ends of overlapping parts would be visible as stripes.
  function oneSurface(object) {
    const { material } = object;
    if (object.brazoSurface === material) return;
    object.brazoSurface = material;
    object.renderOrder = 11;
    // Offset slightly away, so that an identical surface of the robot itself covers it.
    Object.assign(material, { depthWrite: false, polygonOffset: true, polygonOffsetFactor: 2, polygonOffsetUnits: 8 });
    if (object.children.some((child) => child.brazoTwin === "depth")) return;
    twin(object, "depth", (other, depth) => {
      other.renderOrder = 10;
      Object.assign(depth, { colorWrite: false, depthWrite: true, transparent: true, polygonOffset: true });
      Object.assign(depth, { polygonOffsetFactor: 4, polygonOffsetUnits: 8 });
    });
  }

  // ---- bodies ----

  function applyShading(object) {
    const { material } = object;
    if (!plain.has(material)) {
      const { flatShading, roughness, metalness, envMapIntensity } = material;
      const was = { flatShading, roughness, metalness, envMapIntensity };
      plain.set(material, { was, color: material.color.clone(), emissive: material.emissive?.clone() });
    }
    const { was, color, emissive } = plain.get(material);
    const outline = wanted.shading === "outline";
    const flat = wanted.shading === "flat" || was.flatShading;
    if (material.flatShading !== flat) material.needsUpdate = true;
    // Lines along the edges are in front of the faces they belong to.
    const back = { polygonOffset: width() > 0, polygonOffsetFactor: 1, polygonOffsetUnits: 1 };
    Object.assign(material, was, { flatShading: flat }, back);
    if (emissive) material.emissive.copy(emissive);
    if (outline && emissive) {
      material.color.setHex(0);
      material.emissive.setHex(PAPER[theme()]);
      Object.assign(material, { roughness: 1, metalness: 0, envMapIntensity: 0 });
    } else if (material.color.getHex() === 0) {
      material.color.copy(color);
    }
    silhouette(object);
  }

  // The outline of a body: its back faces, expanded by the line width on the screen.
  function silhouette(object) {
    let hull = object.children.find((child) => child.brazoTwin === "hull");
    if (!width() || object.material.transparent) {
      if (hull) hull.visible = false;
      return;
    }
    hull ??= twin(object, "hull", (_other, material) => {
      material.onBeforeCompile = (shader) => {
        shader.uniforms.grow = material.grow;
        shader.vertexShader = `uniform vec2 grow;\n${shader.vertexShader}`.replace(
          "#include <project_vertex>",
          `#include <project_vertex>
          vec2 away = (projectionMatrix * vec4(-normalize(transformedNormal), 0.0)).xy; // normals of back faces point inwards
          gl_Position.xy += normalize(away + 1e-9) * grow * gl_Position.w;`,
        );
      };
      material.grow = { value: material.normalScale?.clone() ?? { x: 0, y: 0 } };
      Object.assign(material, { side: BACK, roughness: 1, metalness: 0, envMapIntensity: 0 });
      material.color.setHex(0);
    });
    hull.visible = true;
    hull.material.emissive?.setHex(INK[theme()]);
    const { clientWidth, clientHeight } = mutable.canvas;
    const { value } = hull.material.grow;
    const pixels = 2 * width() * (wanted.split ? 2 : 1);
    value.x = pixels / Math.max(clientWidth, 1);
    value.y = pixels / Math.max(clientHeight, 1);
  }

  // Lines along the sharp edges of bodies, as nodes of viser below the parts.
  function drawEdges(names) {
    for (const name of edged) {
      if (width() && names.includes(name)) continue;
      if (names.includes(name)) inject({ type: "RemoveSceneNodeMessage", name: `${name}/edges` });
      edged.delete(name);
    }
    if (!width()) return;
    const ink = INK[theme()];
    const rgb = [ink >> 16, (ink >> 8) & 255, ink & 255];
    for (const name of names) {
      let mesh = null;
      eachMesh(name, (object) => (mesh ??= object));
      if (!mesh) continue;
      mesh.geometry.brazoEdges ??= sharpEdges(mesh.geometry);
      const points = mesh.geometry.brazoEdges;
      if (!points.length) continue;
      const key = `${width()} ${theme()}`;
      if (edged.has(name) && mesh.brazoEdgesAs === key) continue;
      mesh.brazoEdgesAs = key;
      edged.add(name);
      const props = { points, colors: new Uint8Array(rgb), thickness: width(), thickness_units: "screen", scale: 1 };
      inject({ type: "LineSegmentsMessage", name: `${name}/edges`, owner: "", virtual: false, props });
    }
  }

  // ---- light ----

  function light() {
    const by = { "/light": wanted.light / 100, "/plain-sky": wanted.ambient / 100 };
    for (const name in by) {
      mutable.nodeRefFromName[name]?.traverse((object) => object.isLight && dim(object, "intensity", by[name]));
    }
    dim(mutable.scene, "environmentIntensity", wanted.ambient / 100);
  }

  // Multiply an intensity that viser may reset at any time.
  function dim(object, key, by) {
    const kept = lights.get(object) ?? { usual: object[key], set: object[key] };
    if (object[key] !== kept.set) kept.usual = object[key];
    kept.set = object[key] = by * kept.usual;
    lights.set(object, kept);
  }

  // ---- contacts ----

  let framed = 0; // m, distance of the camera when the cell was framed
  // Force arrows have a constant length on the screen, as the dots do: the lab sends the length for the
  // framed cell.  For k contacts there are k shafts, then 2 k lines of arrowheads (overlays/contacts.py).
  function scaleMarks(camera) {
    if (!framed) return;
    const eye = camera.matrixWorld.elements.slice(12, 15);
    for (const name in mutable.nodeRefFromName) {
      if (!/^\/cell-[^/]+\/contacts\/[12]-/.test(name)) continue;
      mutable.nodeRefFromName[name]?.traverse((object) => {
        const data = object.isLineSegments2 ? object.geometry.attributes.instanceStart?.data : null;
        if (!data || data.array.length % 18) return;
        if (!lines.has(object.geometry)) lines.set(object.geometry, { sent: data.array.slice(), eye: [] });
        const kept = lines.get(object.geometry);
        if (eye.every((v, i) => Math.abs(v - kept.eye[i]) < 1e-4 * framed)) return;
        kept.eye = eye;
        const k = data.array.length / 18;
        const world = object.matrixWorld.elements;
        for (let i = 0; i < k; i++) {
          const at = kept.sent.slice(6 * i, 6 * i + 3);
          const there = [0, 1, 2].map((r) => world[r] * at[0] + world[4 + r] * at[1] + world[8 + r] * at[2] + world[12 + r]);
          const by = Math.hypot(...there.map((v, r) => v - eye[r])) / framed;
          for (const first of [i, k + i, 2 * k + i]) {
            for (let j = 6 * first; j < 6 * first + 6; j++) data.array[j] = at[j % 3] + by * (kept.sent[j] - at[j % 3]);
          }
        }
        data.needsUpdate = true;
        object.frustumCulled = false;
      });
    }
  }

  // ---- four cameras ----

  const VIEWS = [["Front", [1, 0, 0.04]], ["Side", [0, -1, 0.04]], ["Top", [0, -0.0005, 1]]];
  const cameras = new Map(); // name of a view -> camera
  let fitted = "";

  // Draw the scene once, or in each quarter of the canvas with a separate camera.
  function splitter(renderer) {
    const { render } = renderer;
    const size = mutable.camera.position.clone(); // any vector: three.js fills x and y
    return (scene, camera) => {
      if (!wanted.split || camera !== mutable.camera || renderer.getRenderTarget()) return render.call(renderer, scene, camera);
      renderer.getSize(size);
      const [w, h] = [size.x / 2, size.y / 2];
      const { autoUpdate } = renderer.shadowMap;
      renderer.setScissorTest(true);
      try {
        [["", null], ...VIEWS].forEach(([name, direction], i) => {
          const place = [(i % 2) * w, i < 2 ? h : 0, w, h]; // three.js counts from the bottom
          renderer.setViewport(...place);
          renderer.setScissor(...place);
          render.call(renderer, scene, direction ? cameraOf(name, direction, camera) : camera);
          renderer.shadowMap.autoUpdate = false; // the same for all four
        });
      } finally {
        renderer.shadowMap.autoUpdate = autoUpdate;
        renderer.setScissorTest(false);
        renderer.setViewport(0, 0, size.x, size.y);
      }
    };
  }

  function cameraOf(name, direction, camera) {
    const now = `${camera.aspect.toFixed(3)} ${camera.near} ${camera.far} ${eye.of()}`;
    if (now !== fitted) cameras.clear();
    fitted = now;
    if (!cameras.has(name)) {
      const seen = eye(direction);
      if (!seen) return camera;
      const other = camera.clone();
      other.position.set(...seen.eye);
      other.lookAt(...seen.target);
      other.updateMatrixWorld();
      cameras.set(name, other);
    }
    return cameras.get(name);
  }

  return {
    before,
    splitter,
    set(settings) {
      wanted = { ...USUAL, ...settings };
      version++;
      mutable.requestRender?.();
    },
    framed(distance) {
      framed = distance;
    },
  };
}

// Ends of the edges (6 numbers each) where two faces meet at an angle, or a face ends.
export function sharpEdges(geometry) {
  const position = geometry.attributes.position;
  const index = geometry.index;
  const count = index ? index.count : position.count;
  if (count > 3 * MOST_FACES) return new Float32Array(0);
  const at = (i) => [position.getX(i), position.getY(i), position.getZ(i)];
  const named = new Map(); // position -> number of the vertex: meshes have several vertices at one position
  const corner = (p) => {
    const key = p.map((v) => Math.round(1e5 * v)).join();
    if (!named.has(key)) named.set(key, named.size);
    return named.get(key);
  };
  const found = new Map(); // two vertices -> ends of the edge and normals of its faces
  for (let f = 0; f < count; f += 3) {
    const p = [0, 1, 2].map((k) => at(index ? index.getX(f + k) : f + k));
    const [u, v] = [1, 2].map((k) => p[k].map((x, i) => x - p[0][i]));
    const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    const length = Math.hypot(...n);
    if (!length) continue;
    const ids = p.map(corner);
    for (let k = 0; k < 3; k++) {
      const [a, b] = [ids[k], ids[(k + 1) % 3]];
      if (a === b) continue;
      const key = a < b ? `${a} ${b}` : `${b} ${a}`;
      if (!found.has(key)) found.set(key, { ends: [...p[k], ...p[(k + 1) % 3]], normals: [] });
      found.get(key).normals.push(n.map((x) => x / length));
    }
  }
  const sharp = [...found.values()].filter(({ normals: [a, b] }) => !b || a[0] * b[0] + a[1] * b[1] + a[2] * b[2] < CREASE);
  return new Float32Array(sharp.flatMap(({ ends }) => ends));
}
