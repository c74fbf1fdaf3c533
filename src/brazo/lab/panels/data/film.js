// Video of the view: <brazo-film> records what this page shows until Stop, or a replay from its
// beginning to its end, and saves the file.
//
// Every frame is captured right after it was drawn and encoded immediately, so a video needs little
// memory, no server, no graphics card and no other program.  Each page records its own view; the
// recording continues when the panel is closed or redrawn.
import { drives, send, value, watch } from "../../server/page/channel.js";
import { element } from "../../server/page/dom.js";
import { icon } from "../../server/page/icons.js";
import { say } from "../../server/page/notices.js";
import { webm } from "./webm.js";

const RATE = 30; // max frames per second
const STILL = 200; // ms after which an idle view is rendered again
const KEY_EVERY = 2000; // ms between key frames
const LONGEST = 20 * 60_000; // ms
const WIDEST = 1920; // px
const BITS = 0.11; // per pixel and frame
const WAITING = 4; // frames in the queue of the encoder before one is dropped
const NO_CHANGE = 250; // ms to wait for a requested time before the current one is used
const SETTLE = 30; // ms from the lab's message with a time until viser has received its poses

const viewer = window.brazoViewer;
const shownElements = new Set();
let film = null;

export class Film {
  constructor(canvas) {
    // Size on the screen: the canvas may be coarser during motion on a slow machine.
    const scale = Math.min(devicePixelRatio, WIDEST / canvas.clientWidth);
    this.width = 2 * Math.round((scale * canvas.clientWidth) / 2); // codecs require even numbers
    this.height = 2 * Math.round((scale * canvas.clientHeight) / 2);
    this.copy = new OffscreenCanvas(this.width, this.height);
    this.brush = this.copy.getContext("2d", { alpha: false });
    this.chunks = [];
    this.bytes = 0;
    this.last = this.key = -Infinity; // ms, of the last frame and the last key frame
    this.encoder = new VideoEncoder({ output: (chunk) => this.keep(chunk), error: (e) => this.fail(e) });
    this.encoder.configure({
      codec: "vp8",
      width: this.width,
      height: this.height,
      bitrate: Math.round(BITS * RATE * this.width * this.height),
      framerate: RATE,
    });
  }

  get behind() {
    return this.encoder.encodeQueueSize > WAITING;
  }

  // Capture the canvas at a time (ms) from the beginning.
  add(canvas, time) {
    const { width, height } = this;
    const scale = Math.min(width / canvas.width, height / canvas.height); // a window may be resized
    const [w, h] = [scale * canvas.width, scale * canvas.height];
    this.brush.fillStyle = viewer.dark ? "#16191f" : "#ffffff";
    this.brush.fillRect(0, 0, width, height);
    this.brush.drawImage(canvas, (width - w) / 2, (height - h) / 2, w, h);
    const frame = new VideoFrame(this.copy, { timestamp: Math.round(1000 * time) });
    const keyFrame = time - this.key >= KEY_EVERY;
    if (keyFrame) this.key = time;
    this.last = time;
    this.encoder.encode(frame, { keyFrame });
    frame.close();
  }

  keep(chunk) {
    const data = new Uint8Array(chunk.byteLength);
    chunk.copyTo(data);
    this.bytes += data.byteLength;
    this.chunks.push({ time: chunk.timestamp / 1000, key: chunk.type === "key", data });
  }

  fail(error) {
    this.error = error;
  }

  // The file; its last frame lasts 1/RATE.
  async finish() {
    if (!this.error) await this.encoder.flush();
    if (this.encoder.state !== "closed") this.encoder.close();
    if (!this.chunks.length) throw this.error ?? new Error("no frame was rendered");
    const duration = this.last + 1000 / RATE;
    return webm("V_VP8", this.width, this.height, duration, this.chunks);
  }
}

// ---- recording --------------------------------------------------------------------------------

function begin() {
  const canvas = viewer.canvas;
  if (film || !canvas) return false;
  if (!window.VideoEncoder) {
    const why = window.isSecureContext
      ? "this browser cannot encode video"
      : "browsers encode video only on pages from 127.0.0.1 or over https";
    say(`Cannot record video: ${why}.`, "error");
    return false;
  }
  film = new Film(canvas);
  film.begin = performance.now();
  viewer.fine = true; // switching antialiasing on and off would flicker
  return true;
}

// Record the page in real time.
function filmView() {
  if (!begin()) return;
  film.off = viewer.onDrawn(take);
  film.timer = setInterval(check, STILL);
  viewer.redraw();
  refresh();
}

function take(canvas) {
  const time = performance.now() - film.begin;
  if (film.error || film.behind || time - film.last < 1000 / RATE - 2) return;
  try {
    film.add(canvas, time);
  } catch (error) {
    film.fail(error);
  }
}

// Render an idle view periodically, otherwise the video would end with the last motion.
function check() {
  const time = performance.now() - film.begin;
  if (time - film.last >= STILL - 20) viewer.redraw();
  if (film.error || time > LONGEST) stop();
  refresh();
}

// Record a replay frame by frame: complete at any rendering speed.
async function filmRecording() {
  const [start, end] = value("replay/span");
  const length = Math.min(end - start, LONGEST / 1000);
  if (!begin()) return;
  send("pause");
  const frames = Math.ceil(length * RATE - 1e-6);
  for (let k = 0; k <= frames && !film.ending; k++) {
    const t = Math.min(k / RATE, length);
    await shown(start + t);
    if (film.ending) break;
    await drawnWith((canvas) => film.add(canvas, 1000 * t));
    while (film.behind) await pause(5);
    film.share = k / frames;
    refresh();
  }
  stop();
}

// Show the row nearest to t; it may be the current one if rows are far apart.
async function shown(t) {
  /** @type {Promise<void>} */
  const changed = new Promise((done) => {
    const before = value("replay/now");
    const end = () => {
      off();
      done();
    };
    const off = watch("replay/now", (now) => now !== before && end());
    setTimeout(end, NO_CHANGE);
  });
  send("replay/seek", t);
  await changed;
  await pause(SETTLE);
}

/** @returns {Promise<void>} */
function drawnWith(action) {
  return new Promise((done) => {
    const off = viewer.onDrawn((canvas) => {
      off();
      try {
        action(canvas);
      } catch (error) {
        film.fail(error);
        film.ending = true;
      }
      done();
    });
    viewer.redraw();
  });
}

function pause(ms) {
  return new Promise((done) => setTimeout(done, ms));
}

async function stop() {
  if (!film || film.ended) return;
  const ended = film;
  ended.ending = ended.ended = true;
  refresh();
  if (ended.timer) {
    clearInterval(ended.timer);
    // The last frame; a page in the background renders none.
    await Promise.race([drawnWith(() => {}), pause(1000)]);
    ended.off();
  }
  try {
    save(await ended.finish());
  } catch (error) {
    say(`The video was lost: ${error.message}.`, "error");
  }
  film = null;
  viewer.fine = false;
  refresh();
}

function save(file) {
  const address = URL.createObjectURL(file);
  const link = element("a", "", { href: address, download: `${value("cell")}-film.webm` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

function refresh() {
  shownElements.forEach((one) => one.show());
}

watch("replay", refresh);
watch("control/driver", refresh);
addEventListener("beforeunload", (event) => film && event.preventDefault()); // the video would be lost

class FilmButtons extends HTMLElement {
  connectedCallback() {
    if (!this.buttons) {
      this.buttons = element("div", "brazo-buttons");
      this.view = this.add("film", "Record video", filmView);
      this.recording = this.add("film", "Record replay", filmRecording);
      this.stop = this.add("stop", "Stop and save", () => {
        if (film.timer) stop();
        else film.ending = true;
      });
      this.stop.classList.add("danger");
      this.text = element("output", "filmed");
      this.append(this.buttons, this.text);
    }
    shownElements.add(this);
    this.show();
  }

  add(drawing, label, onclick) {
    const button = element("button", "film", { type: "button", onclick });
    button.innerHTML = icon(drawing);
    button.append(label);
    this.buttons.append(button);
    return button;
  }

  disconnectedCallback() {
    shownElements.delete(this);
  }

  show() {
    this.view.hidden = Boolean(film);
    this.recording.hidden = Boolean(film) || !value("replay");
    this.recording.disabled = !drives(); // other pages would see the replay move
    this.stop.hidden = !film;
    this.stop.disabled = Boolean(film?.ending);
    this.text.hidden = !film;
    if (!film) return;
    const seconds = Math.floor((performance.now() - film.begin) / 1000);
    const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    const far = film.share === undefined ? clock : `${Math.round(100 * film.share)} %`;
    this.text.textContent = `${far}, ${(film.bytes / 1e6).toFixed(1)} MB`;
  }
}
customElements.define("brazo-film", FilmButtons);
