// Upload and download of files.
import { drives, line, watch } from "./channel.js";
import { element } from "./dom.js";
import { Tied, full } from "./elements.js";
import { icon } from "./icons.js";
import { say } from "./notices.js";

const PIECE = 1 << 20; // bytes

export function buildDownloads() {
  watch("download", ({ address, name }) => {
    const link = element("a", "", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
  });
}

// Send a file to the lab.  Resolves to true if the lab has received it; otherwise shows the error.
export function upload(event, file) {
  if (!drives()) {
    say("View only: request control to import files.", "warn", "watching");
    return Promise.resolve(false);
  }
  const socket = line("/upload");
  socket.binaryType = "arraybuffer";
  let answered = false;
  socket.onopen = async () => {
    socket.send(JSON.stringify([event, file.name, file.size]));
    for (let at = 0; at < file.size && !answered; at += PIECE) {
      const piece = await file.slice(at, at + PIECE).arrayBuffer();
      while (socket.bufferedAmount > 4 * PIECE && !answered) {
        await new Promise((next) => setTimeout(next, 20));
      }
      if (socket.readyState === WebSocket.OPEN) socket.send(piece);
    }
  };
  return new Promise((end) => {
    socket.onmessage = (message) => {
      answered = true;
      const { error } = JSON.parse(message.data);
      if (error) say(error, "error");
      end(!error);
    };
    socket.onclose = () => {
      if (!answered) say(`${file.name}: the upload was interrupted`, "error");
      answered = true;
      end(false);
    };
  });
}

// <brazo-upload event="load" accept=".yaml,.urdf" label="Upload a robot…">: a file dialog and drop target.
class Upload extends Tied {
  build() {
    this.input = element("input", "", { type: "file", accept: this.getAttribute("accept") });
    this.input.hidden = true;
    const button = element("button", `upload ${this.getAttribute("look") ?? ""}`, { type: "button" });
    button.innerHTML = icon("upload");
    button.append(this.getAttribute("label"));
    this.append(button, this.input);
    button.onclick = () => this.input.click();
    this.input.onchange = () => {
      [...this.input.files].forEach((file) => this.bring(file));
      this.input.value = "";
    };
    this.ondragover = (event) => {
      event.preventDefault();
      this.classList.add("over");
    };
    this.ondragleave = () => this.classList.remove("over");
    this.ondrop = (event) => {
      event.preventDefault();
      this.classList.remove("over");
      [...event.dataTransfer.files].forEach((file) => this.bring(file));
    };
  }

  bring(file) {
    upload(full(this, this.getAttribute("event")), file);
  }
}

customElements.define("brazo-upload", Upload);
