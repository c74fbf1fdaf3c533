// When frames are rendered, and at which quality.  With a graphics card: at every render request of
// viser, with the antialiasing of the card.
//
// Software rendering blocks the page: every click waits for the current frame.  Therefore rendering
// pauses after a frame for half of the frame's duration, up to a limit.  While the scene moves, frames
// have no antialiasing; when it is idle, one more frame is rendered with it.

const REST = 0.5; // pause after a frame, relative to the frame's duration
const LONGEST_REST = 300; // ms
const IDLE = 300; // ms without a render request, after which the scene is idle
const ISOLATED = 100; // ms without one before an isolated request, such as viser's periodic redraw
const ISOLATED_EVERY = 400; // ms, min time between two isolated requests
const SAMPLES = 4; // per pixel of an antialiased frame
const FINEST = 2; // max device pixels per CSS pixel, along each axis
// With more pixels a frame takes seconds: a larger canvas is rendered at a lower resolution and scaled.
const MOST_SMOOTH = 3_000_000; // pixels of an antialiased frame
const MOST_MOVING = 1_500_000; // pixels of a frame without antialiasing

// Call `drawn` after every frame of a three.js renderer whose camera satisfies `shown(camera)`.
export function tell(renderer, shown, drawn) {
  const { render } = renderer;
  renderer.render = (scene, camera) => {
    render.call(renderer, scene, camera);
    if (shown(camera) && !renderer.getRenderTarget()) drawn();
  };
}

// The same, with a pause after every frame; all frames are antialiased while `fine()` is true.
export function pace(renderer, shown, drawn, fine = () => false) {
  const { render, setPixelRatio, setSize } = renderer;
  const smoothly = smoother(renderer.getContext());
  let ratio = renderer.getPixelRatio(); // requested by viser, which lowers it on slow machines
  let busy = false; // during a frame and the pause after it
  let began = 0;
  let idleFrom = 0; // time of the last render request or completed frame
  let pending = null; // the last render request received while busy
  let smooth = false; // whether the last frame was antialiased
  let lastIsolated = -Infinity; // time of the last request that was treated as isolated
  let refining = 0; // timer
  let cleared = false; // setting the size of a canvas clears it, even if the size is the same

  renderer.setPixelRatio = (wanted) => {
    ratio = wanted;
    setPixelRatio.call(renderer, wanted);
  };
  renderer.setSize = (...size) => {
    cleared = true;
    setSize.apply(renderer, size);
  };
  renderer.render = (scene, camera) => {
    if (!shown(camera) || renderer.getRenderTarget()) return render.call(renderer, scene, camera);
    const now = performance.now();
    const idle = now - idleFrom > (smooth ? ISOLATED : IDLE) && now - lastIsolated > ISOLATED_EVERY;
    idleFrom = now;
    if (busy && !cleared) {
      pending = [scene, camera];
    } else {
      if (idle) lastIsolated = now;
      draw(scene, camera, idle);
    }
  };

  function draw(scene, camera, idle) {
    if (renderer.xr?.isPresenting) return; // xr_view.js renders
    smooth = idle || fine();
    const wanted = fine() ? finest() : smooth ? atMost(MOST_SMOOTH, finest()) : atMost(MOST_MOVING, ratio);
    if (renderer.getPixelRatio() !== wanted) setPixelRatio.call(renderer, wanted);
    cleared = false;
    pending = null;
    busy = true;
    began = performance.now();
    after.port2.postMessage(0);
    if (smooth) smoothly(() => render.call(renderer, scene, camera));
    else render.call(renderer, scene, camera);
    drawn();
    clearTimeout(refining);
    if (!smooth) refining = setTimeout(refine, IDLE, scene, camera);
  }

  const finest = () => Math.min(devicePixelRatio, FINEST);
  function atMost(pixels, wanted) {
    const { clientWidth, clientHeight } = renderer.domElement;
    return Math.min(wanted, Math.sqrt(pixels / Math.max(clientWidth * clientHeight, 1)));
  }

  function refine(scene, camera) {
    const wait = idleFrom + IDLE - performance.now();
    if (wait > 0) refining = setTimeout(refine, wait, scene, camera);
    else requestAnimationFrame(() => refineIfIdle(scene, camera));
  }

  function refineIfIdle(scene, camera) {
    if (busy || performance.now() - idleFrom < IDLE) refining = setTimeout(refine, IDLE, scene, camera);
    else draw(scene, camera, true);
  }

  const after = new MessageChannel(); // its message arrives when the page has processed the frame
  after.port1.onmessage = () => {
    idleFrom = performance.now();
    setTimeout(endPause, Math.min(REST * (idleFrom - began), LONGEST_REST));
  };
  function endPause() {
    busy = false;
    if (pending) requestAnimationFrame(() => pending && draw(...pending, false));
  }
}

// Returns a function that calls `draw` with multisampling, on a canvas with one sample per pixel.
export function smoother(gl) {
  if (gl.getContextAttributes()?.antialias) return (draw) => draw();
  let target = null;
  let size = "";
  gl.canvas.addEventListener("webglcontextlost", () => {
    target = null;
  });
  return (draw) => {
    const [w, h] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
    const bind = gl.bindFramebuffer.bind(gl);
    if (!target || size !== `${w} ${h}`) {
      if (target) target.free();
      target = multisampled(gl, w, h);
      size = `${w} ${h}`;
    }
    bind(gl.FRAMEBUFFER, target.buffer);
    gl.bindFramebuffer = (where, what) => bind(where, what ?? target.buffer); // null is the canvas
    try {
      draw();
    } finally {
      delete gl.bindFramebuffer;
      bind(gl.READ_FRAMEBUFFER, target.buffer);
      bind(gl.DRAW_FRAMEBUFFER, null);
      gl.blitFramebuffer(0, 0, w, h, 0, 0, w, h, gl.COLOR_BUFFER_BIT, gl.NEAREST);
      bind(gl.FRAMEBUFFER, null);
    }
  };
}

function multisampled(gl, w, h) {
  const buffer = gl.createFramebuffer();
  gl.bindFramebuffer(gl.FRAMEBUFFER, buffer);
  const parts = [
    [gl.RGBA8, gl.COLOR_ATTACHMENT0],
    [gl.DEPTH24_STENCIL8, gl.DEPTH_STENCIL_ATTACHMENT],
  ].map(([format, place]) => {
    const part = gl.createRenderbuffer();
    gl.bindRenderbuffer(gl.RENDERBUFFER, part);
    gl.renderbufferStorageMultisample(gl.RENDERBUFFER, SAMPLES, format, w, h);
    gl.framebufferRenderbuffer(gl.FRAMEBUFFER, place, gl.RENDERBUFFER, part);
    return part;
  });
  gl.bindRenderbuffer(gl.RENDERBUFFER, null);
  const free = () => {
    parts.forEach((part) => gl.deleteRenderbuffer(part));
    gl.deleteFramebuffer(buffer);
  };
  return { buffer, free };
}
