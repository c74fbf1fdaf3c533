// Stereo pair: two images side by side, one per eye, for a phone in a viewer with lenses.
//
// The eyes are half of the interpupillary distance to the left and right of the camera and look in
// parallel, so a point at depth z is seen shifted by f d / z pixels, where d is the distance of the
// eyes and f the focal length in pixels, (height / 2) / tan(fov / 2).  Distant points are at the same place
// in both images.  With `turned` the orientation of the phone rotates the view instead of the mouse.
//
// The images have another field of view and aspect ratio than the page: the distance of the eyes to the
// target of the camera is changed so that they see as much of it as the page did.

export const USUAL_STEREO = { ipd: 64, fov: 60 }; // mm; degrees, vertical
export const STEREO_LIMITS = { ipd: [50, 80], fov: [30, 100] };

export function makeStereo({ mutable, renderer }) {
  let wanted = null;
  let page = null; // {aspect, fov} of the page's camera
  const eyes = [];

  // Draw the scene once, or in each half of the canvas for one eye.
  function instead(render) {
    const size = mutable.camera.position.clone(); // any vector: three.js fills x and y
    return (scene, camera) => {
      if (!wanted || camera !== mutable.camera || renderer.getRenderTarget()) return render.call(renderer, scene, camera);
      renderer.getSize(size);
      const width = size.x / 2;
      const { autoUpdate } = renderer.shadowMap;
      renderer.setScissorTest(true);
      try {
        [-1, 1].forEach((side, i) => {
          const place = [i * width, 0, width, size.y];
          renderer.setViewport(...place);
          renderer.setScissor(...place);
          render.call(renderer, scene, eye(i, side, camera, width / size.y));
          renderer.shadowMap.autoUpdate = false; // the same for both
        });
      } finally {
        renderer.shadowMap.autoUpdate = autoUpdate;
        renderer.setScissorTest(false);
        renderer.setViewport(0, 0, size.x, size.y);
      }
    };
  }

  function eye(i, side, camera, aspect) {
    eyes[i] ??= camera.clone();
    const one = eyes[i];
    camera.matrixWorld.decompose(one.position, one.quaternion, one.scale);
    const target = mutable.cameraControl.getTarget(one.up.clone());
    one.position.lerpVectors(target, one.position, nearness(page, { aspect, fov: wanted.fov }));
    if (wanted.turned?.()) one.quaternion.copy(facing(wanted.turned(), one.quaternion));
    one.translateX((side * wanted.ipd) / 2000);
    const { near, far } = camera;
    Object.assign(one, { aspect, near, far, fov: wanted.fov, zoom: 1 });
    one.updateProjectionMatrix();
    one.updateMatrixWorld();
    return one;
  }

  // Orientation of the head as a quaternion of three.js's world: from the angles of the phone (rad), with
  // the initial heading of the camera.
  let start = null; // rotation about the vertical axis
  function facing({ alpha, beta, gamma, screen }, camera) {
    const { rotation } = eyes[0];
    const euler = rotation.clone().set(beta, alpha, -gamma, "YXZ");
    const head = camera.clone().setFromEuler(euler); // all angles 0: flat on a table, the screen faces up
    head.multiply(camera.clone().set(-Math.SQRT1_2, 0, 0, Math.SQRT1_2)); // the view is through the back of the phone
    head.multiply(camera.clone().set(0, 0, Math.sin(-screen / 2), Math.cos(screen / 2)));
    if (!start) {
      const turn = heading(camera) - heading(head);
      start = camera.clone().set(0, Math.sin(turn / 2), 0, Math.cos(turn / 2));
    }
    return head.premultiply(start);
  }

  return {
    instead,
    // Show the stereo pair with {ipd (mm), fov (degrees), turned() -> angles of the phone or null}; null ends it.
    set(settings) {
      wanted = settings;
      page = { aspect: mutable.camera.aspect, fov: mutable.camera.fov };
      start = null;
      mutable.requestRender?.();
    },
    get shown() {
      return wanted !== null;
    },
    draws: (camera) => eyes.includes(camera),
  };
}

// Ratio of the distances to the target, `other` to `one`, at which `other` sees as much of it as `one`.
export function nearness(one, other) {
  const tan = ({ fov }) => Math.tan((fov * Math.PI) / 360);
  return (tan(one) / tan(other)) * Math.max(1, one.aspect / other.aspect);
}

// Heading of a camera: its angle about the vertical axis.
function heading({ x, y, z, w }) {
  return Math.atan2(2 * (x * z + w * y), 1 - 2 * (x * x + y * y));
}
