// The scene in a headset (WebXR): drawn for both eyes at true scale, from where the operator stands.
//
// While `renderer.xr` presents, react-three-fiber uses the animation frames of the headset, so viser's
// client continues to apply messages and to render.  Three things are done here: the head moves the camera
// instead of the mouse; the page itself is not rendered; and the projections of the headset, which are
// those of OpenGL, are converted to the reversed depth of viser's client, which three.js does only for its
// own cameras.

// `stand()` returns the start position of the operator, {position: [x, z], towards: [x, z]} in three.js's
// world, and `background()` a colour for what is behind the scene.
export function makeXrView({ mutable, renderer, stand, background }) {
  const { xr } = renderer;
  const { render } = renderer; // of three.js
  let behind = null; // the background of the page's scene
  let done = null; // the frame of the headset that was rendered last
  const sizes = new Map(); // method -> its last arguments during a session, applied after it
  for (const name of ["setPixelRatio", "setSize"]) {
    const set = renderer[name];
    renderer[name] = (...values) => {
      if (xr.isPresenting) sizes.set(name, values);
      else set.apply(renderer, values);
    };
  }

  // Show the scene in a session until it ends; returns the reference space of three.js's world.
  async function present(session) {
    mutable.cameraControl.update = () => false;
    behind = mutable.scene.background;
    xr.addEventListener("sessionend", restore);
    try {
      xr.setReferenceSpaceType("local-floor");
      await xr.setSession(session);
    } catch (error) {
      restore();
      throw error;
    }
    const space = worldFrom(xr.getReferenceSpace(), stand());
    xr.setReferenceSpace(space);
    mutable.scene.background ??= background();
    return space;
  }

  // Called after three.js has restored size and camera.
  function restore() {
    xr.removeEventListener("sessionend", restore);
    xr.setReferenceSpace(null);
    mutable.scene.background = behind;
    delete mutable.cameraControl.update;
    for (const [name, values] of sizes) renderer[name](...values);
    sizes.clear();
    mutable.requestRender?.();
  }

  // Replaces `render` during a session: the page's view is rendered only in a frame of the headset, other
  // views (a render requested by the server) without the headset.
  function instead(paced, drawn) {
    return (scene, camera) => {
      if (!xr.isPresenting) return paced.call(renderer, scene, camera);
      if (camera === mutable.camera) {
        const frame = xr.getFrame();
        if (!frame || frame === done) return;
        done = frame;
        render.call(renderer, scene, camera);
        return drawn();
      }
      const { enabled } = xr;
      xr.enabled = false;
      try {
        render.call(renderer, scene, camera);
      } finally {
        xr.enabled = enabled;
      }
    };
  }

  // Called before the scene is rendered with a camera; returns whether it is that of the headset.
  function before(camera) {
    if (!xr.isPresenting || camera !== xr.getCamera()) return false;
    if (!renderer.state.buffers.depth.getReversed()) return true;
    for (const eye of camera.cameras) {
      eye._reversedDepth = true;
      reverseDepth(eye.projectionMatrix.elements);
      eye.projectionMatrixInverse.copy(eye.projectionMatrix).invert();
    }
    return true;
  }

  return { present, instead, before };
}

// From the depth of OpenGL, -1 (near) to 1 (far), to a reversed one, 1 (near) to 0 (far): in a 4 by 4
// matrix by columns.
export function reverseDepth(m) {
  for (let column = 0; column < 16; column += 4) m[column + 2] = (m[column + 3] - m[column + 2]) / 2;
}

// The reference space of three.js's world, from that of the headset (origin on the floor, facing -z), so that the
// operator stands at `position` and faces `towards`.
export function worldFrom(space, { position, towards }) {
  const [x, z] = position;
  const yaw = Math.atan2(x - towards[0], z - towards[1]);
  const [c, s] = [Math.cos(yaw), Math.sin(yaw)];
  const at = { x: s * z - c * x, y: 0, z: -s * x - c * z };
  const turned = { x: 0, y: -Math.sin(yaw / 2), z: 0, w: Math.cos(yaw / 2) };
  return space.getOffsetReferenceSpace(new /** @type {any} */ (window).XRRigidTransform(at, turned));
}
