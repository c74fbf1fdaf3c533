// When pictures are drawn, and how finely.  With a graphics card: whenever viser wants one, and the
// card smooths their edges.
//
// Without one the page waits for each of them, and with it every click, so after a picture it rests
// half as long as that one took, up to a limit.  What moves is drawn quickly, with rough edges;
// what has come to rest is drawn once more, smoothly.

const REST = 0.5; // of the time the last picture took
const LONGEST_REST = 300; // ms
const STILL = 300; // ms without a wish for a picture, after which nothing moves
const LONE = 100; // ms without one before a lone wish, by which viser only makes sure
const BEAT = 400; // ms at least between two of those
const SAMPLES = 4; // of every pixel of a smooth picture
const FINEST = 2; // pixels drawn for one of the page's, along either side
// More of them take seconds a picture: a larger canvas is drawn coarsely and scaled.
const MOST_SMOOTH = 3_000_000; // pixels of a smooth picture
const MOST_MOVING = 1_500_000; // and of another

// Call back after every picture of a renderer of three.js with a camera for which `shown(camera)`.
export function tell(renderer, shown, drawn) {
  const { render } = renderer;
  renderer.render = (scene, camera) => {
    render.call(renderer, scene, camera);
    if (shown(camera) && !renderer.getRenderTarget()) drawn();
  };
}

// The same, and let it rest between them; all are smooth while `fine()`.
export function pace(renderer, shown, drawn, fine = () => false) {
  const { render, setPixelRatio, setSize } = renderer;
  const smoothly = smoother(renderer.getContext());
  let ratio = renderer.getPixelRatio(); // what viser wants, which draws coarsely on slow machines
  let busy = false; // with a picture, or resting after it
  let began = 0;
  let idleFrom = 0; // when a picture was last wished for, or done
  let waiting = null; // the last wish that came too soon
  let smooth = false; // whether the last one is
  let lone = -Infinity; // when a wish was last taken for a lone one
  let still = 0;
  let cleared = false; // whatever size a canvas is given, even its own, empties it

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
    const atRest = now - idleFrom > (smooth ? LONE : STILL) && now - lone > BEAT;
    idleFrom = now;
    if (busy && !cleared) {
      waiting = [scene, camera];
    } else {
      if (atRest) lone = now;
      draw(scene, camera, atRest);
    }
  };

  function draw(scene, camera, atRest) {
    if (renderer.xr?.isPresenting) return; // xr_view.js draws
    smooth = atRest || fine();
    const wanted = fine() ? finest() : smooth ? atMost(MOST_SMOOTH, finest()) : atMost(MOST_MOVING, ratio);
    if (renderer.getPixelRatio() !== wanted) setPixelRatio.call(renderer, wanted);
    cleared = false;
    waiting = null;
    busy = true;
    began = performance.now();
    after.port2.postMessage(0);
    if (smooth) smoothly(() => render.call(renderer, scene, camera));
    else render.call(renderer, scene, camera);
    drawn();
    clearTimeout(still);
    if (!smooth) still = setTimeout(refine, STILL, scene, camera);
  }

  const finest = () => Math.min(devicePixelRatio, FINEST);
  function atMost(pixels, wanted) {
    const { clientWidth, clientHeight } = renderer.domElement;
    return Math.min(wanted, Math.sqrt(pixels / Math.max(clientWidth * clientHeight, 1)));
  }

  function refine(scene, camera) {
    const wait = idleFrom + STILL - performance.now();
    if (wait > 0) still = setTimeout(refine, wait, scene, camera);
    else requestAnimationFrame(() => restsStill(scene, camera));
  }

  function restsStill(scene, camera) {
    if (busy || performance.now() - idleFrom < STILL) still = setTimeout(refine, STILL, scene, camera);
    else draw(scene, camera, true);
  }

  const after = new MessageChannel(); // its message comes when the page is done with the picture
  after.port1.onmessage = () => {
    idleFrom = performance.now();
    setTimeout(rested, Math.min(REST * (idleFrom - began), LONGEST_REST));
  };
  function rested() {
    busy = false;
    if (waiting) requestAnimationFrame(() => waiting && draw(...waiting, false));
  }
}

// How to draw with several samples a pixel on a canvas that has one.
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
    gl.bindFramebuffer = (where, what) => bind(where, what ?? target.buffer); // for "the canvas"
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
