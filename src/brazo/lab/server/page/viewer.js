// All undocumented parts of viser's client that the lab depends on (internals/viser.py: those of the server).
//
// viser's client exposes internals for its tests as `window.__viserMutable`: the queue of incoming
// messages, the camera controls, the scene.  This file intercepts the assignment, before the first
// message is applied, to choose per browser what the server cannot know: light or dark theme, and
// whether shadows, an environment map and antialiasing are fast enough.  The rest of the page uses
// only `window.brazoViewer`.
"use strict";

(() => {
  // This file is not a module: it loads these with import().
  const PICTURES = "/lab/server/page/pictures.js";
  const LOOKS = "/lab/server/page/looks.js";
  const IMMERSIVE = "/lab/server/page/immersive_view.js";
  // Names of nodes, created by scene.py below the root of a cell.
  const FLOOR = /^\/cell-[^/]+\/floor$/;
  const PART = /^\/cell-[^/]+\/s?\d+-[^/]*\/\d+-[^/]*$/;
  // Nodes that a view has to contain: not the ground, but also a robot beside the cell (scene/robot_copy.py).
  const FRAMED = /^\/cell-[^/]+\/(?:\d+-[^/]*\/\d+-[^/]*|beside-[^/]*\/\d+\/[^/]*)$/;
  const ON_TOP = /^\/cell-[^/]+\/contacts\/(\d)-/; // overlays/contacts.py: drawn in this order
  const GHOST = /^\/cell-[^/]+\/(?:(?:desired|run)-\d+|target)\/\d+\//; // scene/robot_copy.py, where it is translucent
  const PLAIN_SKY = "/plain-sky";
  const VISER_INTERVAL = 1000; // ms between two frames of an idle page
  const SLOW_INTERVAL = 10_000; // ms; with software rendering
  const MARGIN = 0.86; // fraction of the view that a framed cell fills
  // Corners of the box that is framed if a cell has no elements, as in scene.py (m).
  const EMPTY = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => [i & 1 ? 0.8 : -0.8, i & 2 ? 0.8 : -0.8, i & 4 ? 1 : 0]);
  const FLOOR_COLORS = {
    light: { cell_color: [196, 202, 211], section_color: [160, 168, 180], shadow_opacity: 0.28 },
    dark: { cell_color: [52, 58, 68], section_color: [84, 92, 105], shadow_opacity: 0.5 },
  };

  // Translucent white links would be invisible on a light background: there they are darkened.
  const SEE_THROUGH = { light: { shade: 0.4, opacity: 0.34 }, dark: { shade: 1, opacity: 0.35 } };

  let mutable;
  let theme; // viser's last theme message
  let floor; // the name of the floor's node
  const parts = new Map(); // name -> color and opacity set by the server
  const materials = new Map(); // name -> function that sets material properties that viser does not expose
  const whenReady = [];
  const ghosts = new Set(); // names of the parts of translucent robots
  let looks = null; // of looks.js, after the first frame
  let immersive = null; // of immersive_view.js, after the first frame
  let look = {}; // settings of the page
  let framed = null; // arguments of the last call of `frame`: [root, parts, tools, fov]

  const viewer = {
    software: drawsInSoftware(),
    dark: prefersDark(),
    page: pageKey(),
    following: null, // the node that the camera follows
    fine: false, // whether frames are antialiased during motion, too, with software rendering

    // A duplicated browser tab has the key of an open page: get a new one.
    renewPage() {
      sessionStorage.removeItem("brazo-page");
    },

    // Frames rendered since the last call.
    frames() {
      const counted = drawn;
      drawn = 0;
      return counted;
    },

    // The canvas of the scene; null until it exists.
    get canvas() {
      return mutable?.canvas ?? null;
    },

    // Call back with the canvas after every frame; returns a function that removes the callback.
    onDrawn(callback) {
      drawnListeners.add(callback);
      return () => drawnListeners.delete(callback);
    },

    redraw() {
      mutable?.requestRender?.();
    },

    // Let the camera follow a node; null ends it.
    follow(name) {
      viewer.following = name;
      if (name) requestAnimationFrame(() => moveWithNode(null));
    },

    setDark(dark) {
      viewer.dark = dark;
      localStorage.setItem("brazo-theme", dark ? "dark" : "light");
      markTheme();
      if (!mutable) return;
      if (theme) inject(theme);
      if (floor) {
        inject({ type: "SceneNodeUpdateMessage", name: floor, owner: "", updates: floorColors() });
      }
      for (const name of parts.keys()) {
        inject({ type: "SceneNodeUpdateMessage", name, owner: "", updates: {} });
      }
    },

    // Shading, edges, light and split view: looks.js.
    setLook(settings) {
      look = settings;
      looks?.set(settings);
    },

    // The scene in a headset or a phone viewer: immersive_view.js; null until something is drawn.
    get immersive() {
      return immersive;
    },

    // Look at a cell from a direction, so that it fills the view: `root` is its node, `parts` the number
    // of its parts, `tools` the frames of its tools.  Returns the position of the camera, or null while
    // parts or the camera are missing.  `fov` is the value set by the server: viser resets the camera
    // when it receives it.
    frame(root, parts, tools, direction, fov, animate) {
      const canvas = mutable?.canvas;
      if (!mutable?.cameraControl || !canvas?.clientHeight) return null;
      if (Math.abs(mutable.camera.fov - fov) > 1e-6) return null;
      framed = [root, parts, tools, fov];
      const seen = eyeFrom(direction);
      if (!seen) return null;
      keepShadowsClean(seen.depth);
      fitPlanes(mutable.camera, seen.distance);
      looks?.framed(seen.distance);
      mutable.cameraControl.setLookAt(...seen.eye, ...seen.target, animate);
      return seen.eye;
    },

    // Where the camera is and what it looks at, in three.js's world; null while there is none.
    camera() {
      const control = mutable?.cameraControl;
      if (!control) return null;
      const read = (point) => point.toArray().map((v) => Number(v.toFixed(4)));
      const blank = () => mutable.camera.position.clone();
      return { eye: read(control.getPosition(blank())), target: read(control.getTarget(blank())) };
    },

    setCamera({ eye, target }) {
      mutable?.cameraControl?.setLookAt(...eye, ...target, false);
      mutable?.requestRender?.();
    },

    ready(callback) {
      if (mutable) callback();
      else whenReady.push(callback);
    },
  };
  window.brazoViewer = viewer;
  markTheme();

  // viser's worker opens a connection of its own: the key in its URL identifies the page of a click.
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...rest) {
    if (message?.type === "set_server") {
      const server = new URL(message.server);
      server.searchParams.set("page", viewer.page);
      message = { ...message, server: server.href };
    }
    return post.call(this, message, ...rest);
  };

  // With software rendering antialiasing takes longer than the frame itself; pictures.js applies it to idle
  // scenes only.
  const getContext = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (kind, options) {
    const plain = kind.startsWith("webgl") && viewer.software && !litInFull();
    return getContext.call(this, kind, plain ? { ...options, antialias: false } : options);
  };

  // viser renders once a second, in case something changed without a render request.  With software
  // rendering this would load up to a CPU core, so it is done less often.
  if (viewer.software) {
    const every = window.setInterval;
    window.setInterval = (call, ms, ...rest) => {
      const periodic = ms === VISER_INTERVAL && /^\(\) *=> *\w+\(\)$/.test(String(call));
      if (periodic) window.setInterval = every;
      return every.call(window, call, periodic ? SLOW_INTERVAL : ms, ...rest);
    };
  }

  Object.defineProperty(window, "__viserMutable", {
    configurable: true,
    get: () => mutable,
    set: (value) => {
      mutable = value;
      const queue = value.messageQueue;
      queue.forEach(adapt);
      queue.push = (...messages) => Array.prototype.push.apply(queue, messages.map(adapt));
      whenReady.splice(0).forEach((callback) => callback());
      countFrames();
    },
  });

  let drawn = 0;
  const drawnListeners = new Set();
  function countFrames() {
    const { scene } = mutable;
    if (!scene) return void setTimeout(countFrames, 100);
    scene.onBeforeRender = (_renderer, _scene, camera) => {
      setMaterials();
      if (camera === mutable.camera || immersive?.before(camera)) looks?.before(mutable.camera);
    };
    const before = scene.onAfterRender;
    scene.onAfterRender = (renderer, ...rest) => {
      scene.onAfterRender = before;
      before?.call(scene, renderer, ...rest);
      setUpRenderer(renderer); // known from the first frame on
    };
  }

  async function setUpRenderer(renderer) {
    const { pace, tell } = await import(PICTURES);
    const { makeLooks } = await import(LOOKS);
    const { makeImmersive } = await import(IMMERSIVE);
    const dark = () => viewer.dark;
    looks = makeLooks({ mutable, parts: () => parts.keys(), ghosts: () => ghosts, inject, dark, eye: eyeFrom });
    looks.set(look);
    if (framed) looks.framed(eyeFrom([1, -1, 0.62])?.distance ?? 0);
    const points = () => (framed ? robotPoints(framed[0], framed[1], framed[2]) : null);
    const made = makeImmersive({ mutable, renderer, points, rotation: worldRotation, dark });
    renderer.render = looks.splitter(renderer);
    renderer.render = made.twice(renderer.render);
    const shown = (camera) => camera === mutable.camera;
    const onFrame = () => {
      drawn++;
      drawnListeners.forEach((callback) => callback(mutable.canvas));
    };
    if (viewer.software) pace(renderer, shown, onFrame, () => viewer.fine);
    else tell(renderer, shown, onFrame);
    renderer.render = made.headset(renderer.render, onFrame);
    immersive = made;
  }

  function moveWithNode(last) {
    const node = mutable?.nodeRefFromName[viewer.following];
    if (!viewer.following || !node || !mutable.cameraControl) return;
    node.updateWorldMatrix(true, false);
    const at = node.matrixWorld.elements.slice(12, 15);
    const by = last ? at.map((v, i) => v - last[i]) : null;
    const control = mutable.cameraControl;
    const target = control.getTarget(mutable.camera.position.clone());
    if (!last) {
      control.moveTo(...at, true);
    } else if (Math.hypot(...by) > 1e-6) {
      control.moveTo(target.x + by[0], target.y + by[1], target.z + by[2], false);
      mutable.requestRender?.();
    }
    requestAnimationFrame(() => moveWithNode(at));
  }

  // Key that identifies this page on both its connections; kept when the page is reloaded.
  function pageKey() {
    const kept = sessionStorage.getItem("brazo-page");
    if (kept) return kept;
    const bytes = crypto.getRandomValues(new Uint8Array(18));
    const key = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
    sessionStorage.setItem("brazo-page", key);
    return key;
  }

  // Adapt an incoming message to the settings of this browser.
  function adapt(message) {
    if (message.type === "ThemeConfigurationMessage") {
      theme = message;
      message.dark_mode = viewer.dark;
    } else if (message.type === "DirectionalLightMessage") {
      message.props.cast_shadow &&= litInFull();
    } else if (message.type === "EnvironmentMapMessage") {
      if (!litInFull()) message.hdri_data = null;
    } else if (message.type === "HemisphereLightMessage" && message.name === PLAIN_SKY) {
      if (litInFull()) message.props.intensity = 0;
    } else if (message.type === "GridMessage" && FLOOR.test(message.name)) {
      floor = message.name;
      Object.assign(message.props, floorColors());
    } else if (message.type === "MeshMessage" && PART.test(message.name)) {
      const { color, opacity } = message.props;
      parts.set(message.name, { color, opacity });
      Object.assign(message.props, partLook(message.name));
    } else if (message.type === "SceneNodeUpdateMessage" && parts.has(message.name)) {
      const { color, opacity } = { ...parts.get(message.name), ...message.updates };
      parts.set(message.name, { color, opacity });
      Object.assign(message.updates, partLook(message.name));
    } else if (message.type === "LineSegmentsMessage" && ON_TOP.test(message.name)) {
      materials.set(message.name, onTop(Number(message.name.match(ON_TOP)[1])));
    } else if (message.type === "MeshMessage" && GHOST.test(message.name)) {
      ghosts.add(message.name);
    } else if (message.type === "RemoveSceneNodeMessage") {
      for (const kept of [parts, materials, ghosts]) {
        for (const name of kept.keys()) {
          if (name === message.name || name.startsWith(`${message.name}/`)) kept.delete(name);
        }
      }
    }
    return message;
  }

  // Called before every frame: viser may have created a new material since the last one.
  function setMaterials() {
    for (const [name, set] of materials) {
      mutable.nodeRefFromName[name]?.traverse((object) => {
        if (!object.material || object.brazoSet === object.material) return;
        object.brazoSet = object.material;
        set(object);
      });
    }
  }

  // Draw over everything else; `order` is the order of such objects.
  function onTop(order) {
    return (object) => {
      object.renderOrder = 1000 + order;
      const above = { depthTest: false, depthWrite: false, transparent: true, needsUpdate: true };
      Object.assign(object.material, above);
    };
  }

  function partLook(name) {
    const { color, opacity } = parts.get(name);
    if (opacity === null) return { color, opacity };
    const look = SEE_THROUGH[viewer.dark ? "dark" : "light"];
    return { color: color.map((v) => Math.round(look.shade * v)), opacity: look.opacity };
  }

  function inject(message) {
    mutable.messageQueue.push({ ...message });
    mutable.requestRender();
  }

  function floorColors() {
    return FLOOR_COLORS[viewer.dark ? "dark" : "light"];
  }

  // Shadows, the environment map and antialiasing take most of the time of software rendering, so they are
  // off there; ?light=full or ?light=plain in the URL overrides this.
  function litInFull() {
    const asked = new URLSearchParams(location.search).get("light");
    return asked === null ? !viewer.software : asked === "full";
  }

  function prefersDark() {
    const chosen = localStorage.getItem("brazo-theme");
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function markTheme() {
    document.documentElement.dataset.brazoTheme = viewer.dark ? "dark" : "light";
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
    if (!localStorage.getItem("brazo-theme")) {
      viewer.setDark(event.matches);
      localStorage.removeItem("brazo-theme");
    }
  });

  function drawsInSoftware() {
    const gl = document.createElement("canvas").getContext("webgl2");
    const info = gl?.getExtension("WEBGL_debug_renderer_info");
    const renderer = info ? gl.getParameter(info.UNMASKED_RENDERER_WEBGL) : "";
    gl?.getExtension("WEBGL_lose_context")?.loseContext();
    return /swiftshader|llvmpipe|softpipe|software/i.test(renderer);
  }

  // Rotation from the cell's frame (z up) to three.js's world (y up), as set by viser; null if unknown.
  function worldRotation() {
    const wxyz = window.__viserSceneTree?.getState()[""]?.wxyz;
    if (!wxyz) return null;
    const [w, x, y, z] = wxyz;
    return (p) => {
      const t = cross([x, y, z], p).map((v) => 2 * v);
      const u = cross([x, y, z], t);
      return p.map((v, i) => v + w * t[i] + u[i]);
    };
  }

  // Corners of the bounding boxes of all parts and all axes of tools, in three.js's world; null until all
  // of them are loaded.
  function robotPoints(root, parts, tools) {
    const axes = new Set(tools.flatMap((tool) => ["x", "y", "z"].map((axis) => `${tool}/${axis}`)));
    const framed = (name) => axes.has(name) || (name.startsWith(`${root}/`) && FRAMED.test(name));
    const drawn = Object.entries(mutable.nodeRefFromName)
      .filter(([name, node]) => node && framed(name))
      .map(([, node]) => node);
    if (drawn.length !== parts + axes.size) return null;
    const points = [];
    for (const node of drawn) {
      node.updateWorldMatrix(true, true);
      node.traverse((object) => {
        if (!object.isMesh) return;
        object.geometry.computeBoundingBox();
        const { min, max } = object.geometry.boundingBox;
        for (let corner = 0; corner < 8; corner++) {
          const p = min.clone();
          if (corner & 1) p.x = max.x;
          if (corner & 2) p.y = max.y;
          if (corner & 4) p.z = max.z;
          points.push(p.applyMatrix4(object.matrixWorld).toArray());
        }
      });
    }
    return points.length >= 8 * drawn.length ? points : null;
  }

  // Position and target of a camera that sees the last framed cell from a direction.
  function eyeFrom(direction) {
    const rotate = worldRotation();
    const { canvas } = mutable;
    if (!rotate || !framed) return null;
    const [root, parts, tools, fov] = framed;
    const drawn = robotPoints(root, parts, tools);
    if (!drawn) return null;
    const points = drawn.length ? drawn : EMPTY.map(rotate);
    const towards = rotate(unit(direction));
    const right = unit(cross(rotate([0, 0, 1]), towards));
    const up = cross(towards, right);
    const tanUp = MARGIN * Math.tan((fov * Math.PI) / 360);
    const tanRight = (tanUp * canvas.clientWidth) / canvas.clientHeight;
    // A point at (r, u) and depth n (towards the eye) is inside the view of an eye at
    // (r0, u0) and depth D if |r - r0| <= tan (D - n), likewise for u: four maxima determine the eye.
    const most = (f) => points.reduce((max, p) => Math.max(max, f(p)), -Infinity);
    const n = (p) => dot(p, towards);
    const r1 = most((p) => dot(p, right) + tanRight * n(p));
    const r2 = most((p) => -dot(p, right) + tanRight * n(p));
    const u1 = most((p) => dot(p, up) + tanUp * n(p));
    const u2 = most((p) => -dot(p, up) + tanUp * n(p));
    const depth = Math.max((r1 + r2) / 2 / tanRight, (u1 + u2) / 2 / tanUp);
    const middle = (most(n) - most((p) => -n(p))) / 2;
    const at = (d) => [0, 1, 2].map(
      (i) => ((r1 - r2) / 2) * right[i] + ((u1 - u2) / 2) * up[i] + d * towards[i],
    );
    return { eye: at(depth), target: at(middle), depth, distance: depth - middle };
  }
  eyeFrom.of = () => framed?.[0];

  // Avoid shadow acne: stripes on surfaces that the light hits at a grazing angle.
  function keepShadowsClean(distance) {
    mutable.scene.traverse((object) => {
      if (object.isDirectionalLight) object.shadow.normalBias = 0.002 * distance;
    });
  }

  // The clipping planes depend on the size of the framed cell; for robots of usual size they stay at
  // viser's 0.01 m and 1000 m.  A larger near plane preserves the resolution of the depth buffer.
  function fitPlanes(camera, distance) {
    const near = distance < 0.2 ? distance / 20 : Math.max(0.01, distance / 1000);
    const far = Math.max(1000, 100 * distance);
    if (camera.near === near && camera.far === far) return;
    camera.near = near;
    camera.far = far;
    camera.updateProjectionMatrix();
  }

  // viser compiles code that only Gaussian splats need; the page's content security policy forbids it.
  window.addEventListener("unhandledrejection", (event) => {
    if (event.reason instanceof EvalError) event.preventDefault();
  });

  // viser's notification about software rendering covers the panels; the status line shows it instead.
  new MutationObserver(() => {
    /** @type {NodeListOf<HTMLElement>} */
    const toasts = document.querySelectorAll(".mantine-Notification-root");
    for (const toast of toasts) {
      if (toast.textContent.startsWith("Software WebGL")) toast.style.display = "none";
    }
  }).observe(document, { childList: true, subtree: true });

  function dot(a, b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  }
  function cross(a, b) {
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  }
  function unit(a) {
    const length = Math.hypot(...a);
    return a.map((v) => v / length);
  }
})();
