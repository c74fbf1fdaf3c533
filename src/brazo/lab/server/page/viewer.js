// Every undocumented part of viser's client the lab leans on (the page-side twin of hooks.py).
//
// viser hands what its tests need to `window.__viserMutable`: the queue of incoming messages, the
// camera controls, the scene.  Taken when it is set, before the first message is applied, it lets
// the lab choose per browser what the server cannot know: light or dark, and whether shadows, a
// fine light and smooth edges are worth their price.  The rest of the page uses
// `window.brazoViewer` only.
"use strict";

(() => {
  // This file is no module and cannot import these by their names.
  const PICTURES = "/lab/server/page/pictures.js";
  const LOOKS = "/lab/server/page/looks.js";
  const IMMERSIVE = "/lab/server/page/immersive_view.js";
  // As scene.py names them, below a root of the cell's own.
  const FLOOR = /^\/cell-[^/]+\/floor$/;
  const PART = /^\/cell-[^/]+\/s?\d+-[^/]*\/\d+-[^/]*$/;
  // Not the ground; a robot beside the cell is drawn by scene/robot_copy.py.
  const FRAMED = /^\/cell-[^/]+\/(?:\d+-[^/]*\/\d+-[^/]*|beside-[^/]*\/\d+\/[^/]*)$/;
  const ON_TOP = /^\/cell-[^/]+\/contacts\/(\d)-/; // overlays/contacts.py: drawn in this order
  const GHOST = /^\/cell-[^/]+\/(?:(?:desired|run)-\d+|target)\/\d+\//; // scene/robot_copy.py, where it is translucent
  const PLAIN_SKY = "/plain-sky";
  const VISER_BEAT = 1000; // ms between two frames of a page at rest
  const SLOW_BEAT = 10_000; // ms; with software rendering
  const MARGIN = 0.86; // how much of the view a framed cell fills
  // Corners of what is framed of a cell without elements, as in scene.py (m).
  const EMPTY = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => [i & 1 ? 0.8 : -0.8, i & 2 ? 0.8 : -0.8, i & 4 ? 1 : 0]);
  const FLOOR_COLORS = {
    light: { cell_color: [196, 202, 211], section_color: [160, 168, 180], shadow_opacity: 0.28 },
    dark: { cell_color: [52, 58, 68], section_color: [84, 92, 105], shadow_opacity: 0.5 },
  };

  // White links, seen through, would be gone before a light sky: there they are ink.
  const SEE_THROUGH = { light: { shade: 0.4, opacity: 0.34 }, dark: { shade: 1, opacity: 0.35 } };

  let mutable;
  let theme; // viser's last theme message
  let floor; // the name of the floor's node
  const parts = new Map(); // name -> the color and opacity the server gave it
  const materials = new Map(); // name -> function that sets what viser has no property for
  const whenReady = [];
  const ghosts = new Set(); // names of the parts of translucent robots
  let looks = null; // looks.js, once something is drawn
  let immersive = null; // immersive_view.js, likewise
  let look = {}; // settings of the page
  let framed = null; // what `frame` was last asked for

  const viewer = {
    software: drawsInSoftware(),
    dark: prefersDark(),
    page: pageKey(),
    following: null, // the node the camera goes along with
    fine: false, // whether what moves is to be drawn smoothly, too, whatever it costs

    // Another key: this page is a copy of one that is open.
    renewPage() {
      sessionStorage.removeItem("brazo-page");
    },

    // Pictures drawn since the last call.
    frames() {
      const counted = drawn;
      drawn = 0;
      return counted;
    },

    // What the scene is drawn on; null while there is nothing yet.
    get canvas() {
      return mutable?.canvas ?? null;
    },

    // Call back with the canvas whenever a picture has just been drawn on it; returns how to stop.
    onDrawn(callback) {
      drawnListeners.add(callback);
      return () => drawnListeners.delete(callback);
    },

    redraw() {
      mutable?.requestRender?.();
    },

    // Let the camera go along with a node; null lets it stay.
    follow(name) {
      viewer.following = name;
      if (name) requestAnimationFrame(() => goAlong(null));
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

    // Look at the cell (of so many parts below its root, and the frames of its tools) from a
    // direction, filling the view with it.  Returns where the eye went, or null while the parts or
    // the camera are not there yet.  `fov` is the one the server asked for: viser resets the camera
    // when it learns of it.
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

  // viser's worker connects in the name of this page, so that the lab knows whose clicks come there.
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...rest) {
    if (message?.type === "set_server") {
      const server = new URL(message.server);
      server.searchParams.set("page", viewer.page);
      message = { ...message, server: server.href };
    }
    return post.call(this, message, ...rest);
  };

  // Smoothed edges cost the processor more than the picture itself; pictures.js has another way.
  const getContext = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (kind, options) {
    const plain = kind.startsWith("webgl") && viewer.software && !litInFull();
    return getContext.call(this, kind, plain ? { ...options, antialias: false } : options);
  };

  // viser draws once a second, in case something changed without a request for a frame.  Without a
  // graphics card that is up to a processor core, for nothing: it does so less often there.
  if (viewer.software) {
    const every = window.setInterval;
    window.setInterval = (call, ms, ...rest) => {
      const beat = ms === VISER_BEAT && /^\(\) *=> *\w+\(\)$/.test(String(call));
      if (beat) window.setInterval = every;
      return every.call(window, call, beat ? SLOW_BEAT : ms, ...rest);
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
      watchPictures(renderer); // the first one says who draws them
    };
  }

  async function watchPictures(renderer) {
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
    const told = () => {
      drawn++;
      drawnListeners.forEach((callback) => callback(mutable.canvas));
    };
    if (viewer.software) pace(renderer, shown, told, () => viewer.fine);
    else tell(renderer, shown, told);
    renderer.render = made.headset(renderer.render, told);
    immersive = made;
  }

  function goAlong(last) {
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
    requestAnimationFrame(() => goAlong(at));
  }

  // What this page is known by on both its connections; a reload keeps it.
  function pageKey() {
    const kept = sessionStorage.getItem("brazo-page");
    if (kept) return kept;
    const bytes = crypto.getRandomValues(new Uint8Array(18));
    const key = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
    sessionStorage.setItem("brazo-page", key);
    return key;
  }

  // Change a message on its way in to what this browser wants.
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

  // Called before every frame: viser may have made a new material since the last one.
  function setMaterials() {
    for (const [name, set] of materials) {
      mutable.nodeRefFromName[name]?.traverse((object) => {
        if (!object.material || object.brazoSet === object.material) return;
        object.brazoSet = object.material;
        set(object);
      });
    }
  }

  // Draw over everything else, in this order.
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

  // Shadows, a picture of a sky as light and smooth edges cost more than all else when the
  // processor draws: ?light=full or plain decides otherwise.
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

  // From the cell's frame (z up) to three.js's world (y up), as viser turns it.
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

  // The corners of the box of every part and every axis of a tool, in three.js's world; null until
  // all of them are drawn.
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

  // Where the eye has to be, and what it looks at, to see the cell last framed from a direction.
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
    // (r0, u0) and depth D if |r - r0| <= tan (D - n), and so for u: four maxima give the eye.
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

  // Surfaces that a light grazes shadow themselves in stripes unless looked up a little outside.
  function keepShadowsClean(distance) {
    mutable.scene.traverse((object) => {
      if (object.isDirectionalLight) object.shadow.normalBias = 0.002 * distance;
    });
  }

  // The clipping planes go with the size of what is framed; of ordinary robots they stay at viser's
  // 0.01 m and 1000 m.  A larger near plane keeps the depth buffer fine enough.
  function fitPlanes(camera, distance) {
    const near = distance < 0.2 ? distance / 20 : Math.max(0.01, distance / 1000);
    const far = Math.max(1000, 100 * distance);
    if (camera.near === near && camera.far === far) return;
    camera.near = near;
    camera.far = far;
    camera.updateProjectionMatrix();
  }

  // viser compiles a sorter it needs for splats only, by a way our policy forbids: no loss.
  window.addEventListener("unhandledrejection", (event) => {
    if (event.reason instanceof EvalError) event.preventDefault();
  });

  // viser's toast about software drawing covers the panels; the status bar says it instead.
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
