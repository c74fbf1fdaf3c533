// <brazo-marker-camera event="video" accept=".webm,…">: strokes from the motion of a coloured marker, in
// front of a camera or in a video file.
//
// The colour is chosen by a click on the marker in the image.  A recorded clip or a file is uploaded
// as EVENT; the lab finds the marker in it after `EVENT-track` with the colour and whether the image
// is mirrored.
import { send } from "../../server/page/channel.js";
import { element } from "../../server/page/dom.js";
import { Tied, full } from "../../server/page/elements.js";
import { upload } from "../../server/page/files.js";

const MOST = 60; // s, max length of a clip
const BITS = 4e6; // per second: keeps a clip below the max size of an upload
const PATCH = 5; // px: the colour is the median of a square
const FORMATS = { "video/webm;codecs=vp8": "webm", "video/webm": "webm", "video/mp4": "mp4" };
const FILE = "or choose a video file";
const TROUBLE = {
  NotAllowedError: `The browser denied access to the camera: allow it for this page, ${FILE}.`,
  NotFoundError: `No camera found: connect one, ${FILE}.`,
  NotReadableError: `The camera is in use by another program: close that one, ${FILE}.`,
};
const INSECURE =
  "The browser gives no camera to this page, because it comes over plain http from another machine: open the lab " +
  `on its own machine, by https or through an SSH tunnel to 127.0.0.1, ${FILE}.`;

class Camera extends Tied {
  build() {
    this.attempt = 0; // number of the attempt to open a camera; incremented by close()
    const button = (text, onclick, look = "plain") =>
      element("button", look, { type: "button", textContent: text, onclick });
    this.input = element("input", "", { type: "file", accept: this.getAttribute("accept"), hidden: true });
    this.input.onchange = () => {
      if (this.input.files[0]) this.show(this.input.files[0]);
      this.input.value = "";
    };
    this.opening = element("div", "brazo-buttons");
    this.opening.append(
      button("Camera…", () => this.start()),
      button("Video file…", () => this.input.click()),
      this.input,
    );
    this.message = element("p", "message");
    this.message.setAttribute("role", "status");
    this.video = element("video", "", { muted: true, playsInline: true });
    this.picture = element("div", "picture", { tabIndex: 0 });
    this.picture.setAttribute("role", "button");
    this.picture.setAttribute("aria-label", "Picture: click the marker, or Enter for the colour at the centre");
    this.picture.append(this.video, element("span", "cross"));
    this.picture.onclick = (click) => {
      const box = this.video.getBoundingClientRect();
      this.pick((click.clientX - box.left) / box.width, (click.clientY - box.top) / box.height);
    };
    this.picture.onkeydown = (key) => {
      if (key.key !== "Enter" && key.key !== " ") return;
      key.preventDefault();
      this.pick(0.5, 0.5);
    };
    this.color = element("input", "color", { type: "color", value: "#e02020", ariaLabel: "Marker colour" });
    this.mirror = element("input", "", { type: "checkbox" });
    this.mirror.onchange = () => this.turn();
    const mirror = element("label", "brazo-toggle", { title: "Exchanges left and right" });
    mirror.append(this.mirror, element("span", "switch"), "Mirror");
    const color = element("label", "choice");
    color.append("Marker colour", this.color);
    const row = element("div", "settings");
    row.append(color, mirror);
    this.record = button("Record", () => this.toggle(), "primary");
    this.again = button("Track marker", () => this.track());
    this.actions = element("div", "brazo-buttons");
    this.actions.append(this.record, this.again, button("Close", () => this.close()));
    this.stage = element("div", "stage");
    this.stage.append(this.picture, row, this.actions);
    this.append(this.opening, this.message, this.stage);
    this.layOut();
  }

  connectedCallback() {
    super.connectedCallback();
    // A hidden panel has no size: its camera is closed.
    this.sizes = new ResizeObserver(() => this.clientWidth || this.close());
    this.sizes.observe(this);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.sizes.disconnect();
    this.close();
  }

  layOut() {
    const open = Boolean(this.stream || this.file);
    this.opening.hidden = open;
    this.stage.hidden = !open;
    this.record.hidden = !this.stream;
    this.again.hidden = !this.file || Boolean(this.recorder);
    this.message.hidden = !this.message.textContent;
  }

  showMessage(text) {
    this.message.textContent = text;
    this.layOut();
  }

  async start() {
    this.close();
    const { attempt } = this;
    if (!navigator.mediaDevices?.getUserMedia) return this.showMessage(INSECURE);
    try {
      const wanted = { width: { ideal: 640 }, height: { ideal: 480 }, frameRate: { ideal: 30 } };
      const stream = await navigator.mediaDevices.getUserMedia({ video: wanted, audio: false });
      const [track] = stream.getVideoTracks();
      if (attempt !== this.attempt || !this.clientWidth) return track.stop(); // closed meanwhile
      this.stream = stream;
      track.onended = () => {
        if (this.stream === stream) this.close(`The camera was disconnected: connect it, ${FILE}.`);
      };
      this.mirror.checked = track.getSettings().facingMode !== "environment";
      this.video.srcObject = stream;
      await this.video.play();
    } catch (error) {
      if (attempt !== this.attempt) return;
      return this.close(TROUBLE[error.name] ?? `The camera cannot be used (${error.message}), ${FILE}.`);
    }
    this.turn();
    this.showMessage("Click the marker in the picture, then record its motion.");
  }

  show(file) {
    this.close();
    this.file = file;
    this.mirror.checked = false;
    this.video.src = URL.createObjectURL(file);
    this.video.loop = true;
    this.turn();
    this.showMessage("Click the marker in the picture, then track it.");
    this.video.onerror = () => this.showMessage("The browser cannot show this video: choose the colour of the marker below.");
    this.video.play().catch(() => {}); // `onerror` reports it
  }

  close(why = "") {
    this.attempt += 1;
    this.recorder?.cancel();
    clearInterval(this.clock);
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    this.stream = this.file = this.recorder = null;
    this.video.onerror = null;
    this.video.srcObject = null;
    if (this.video.src) URL.revokeObjectURL(this.video.src);
    this.video.removeAttribute("src");
    this.video.load();
    this.uploaded = null;
    this.record.textContent = "Record";
    this.showMessage(why);
  }

  turn() {
    this.picture.classList.toggle("mirrored", this.mirror.checked);
  }

  // Take the colour at a position in the displayed image, 0 to 1.
  pick(x, y) {
    const { videoWidth: width, videoHeight: height } = this.video;
    if (!width) return;
    const at = (share, size) => Math.min(Math.max(Math.round(share * size - PATCH / 2), 0), size - PATCH);
    const canvas = element("canvas", "", { width: PATCH, height: PATCH });
    const context = canvas.getContext("2d");
    const from = [at(this.mirror.checked ? 1 - x : x, width), at(y, height)];
    context.drawImage(this.video, ...from, PATCH, PATCH, 0, 0, PATCH, PATCH);
    const { data } = context.getImageData(0, 0, PATCH, PATCH);
    const median = [0, 1, 2].map((channel) => {
      const values = [...data].filter((_, k) => k % 4 === channel).sort((a, b) => a - b);
      return values[values.length >> 1].toString(16).padStart(2, "0");
    });
    this.color.value = `#${median.join("")}`;
  }

  toggle() {
    if (this.recorder) return this.recorder.stop();
    const format = Object.keys(FORMATS).find((one) => MediaRecorder.isTypeSupported(one));
    if (!format) return this.showMessage(`The browser cannot record video: use another one, ${FILE}.`);
    const recorder = new MediaRecorder(this.stream, { mimeType: format, videoBitsPerSecond: BITS });
    const parts = [];
    let wanted = true;
    recorder.ondataavailable = (part) => parts.push(part.data);
    recorder.onstop = () => {
      clearInterval(this.clock);
      if (!wanted) return;
      this.recorder = null;
      this.record.textContent = "Record";
      this.file = new File(parts, `camera.${FORMATS[format]}`, { type: format });
      this.track();
    };
    const stop = () => recorder.state === "inactive" || recorder.stop();
    const cancel = () => {
      wanted = false;
      stop();
    };
    this.recorder = { stop, cancel };
    recorder.start();
    const begin = performance.now();
    const show = () => {
      const passed = (performance.now() - begin) / 1000;
      this.record.textContent = `Stop (${passed.toFixed(0)} s)`;
      if (passed >= MOST) stop();
    };
    this.clock = setInterval(show, 250);
    show();
    this.layOut();
  }

  async track() {
    const { file } = this;
    this.again.disabled = true;
    this.showMessage("");
    if (this.uploaded !== file) {
      const done = await upload(full(this, this.getAttribute("event")), file);
      if (this.file === file && done) this.uploaded = file;
    }
    this.again.disabled = false;
    if (this.uploaded === file && file) {
      send(full(this, `${this.getAttribute("event")}-track`), this.color.value, this.mirror.checked);
    }
    this.layOut();
  }
}

customElements.define("brazo-marker-camera", Camera);
