// Replay of a recording: the timeline below the scene, and the list of events.
//
// `replay/span` is [start, end] in seconds, `replay/now` the current time, `replay/events` a list of
// [t, kind, text, bad].  A selected time is sent as `replay/seek`.
import { send, value, watch } from "../../server/page/channel.js";
import { element, fixed, iconButton } from "../../server/page/dom.js";
import { Tied, full } from "../../server/page/elements.js";
import { addKeys } from "../../server/page/help.js";
import { icon } from "../../server/page/icons.js";
import { onKey, playOrPause } from "../../server/page/keys.js";

const SPEEDS = [10, 25, 50, 100, 200, 400]; // %

let dragging = false; // values of the lab must not move the handle while it is dragged
let wanted = null;

function seek(t) {
  if (wanted === null) {
    requestAnimationFrame(() => {
      send("replay/seek", wanted);
      wanted = null;
    });
  }
  wanted = t;
}

function timeline() {
  const bar = element("section", "brazo-timeline", { ariaLabel: "Timeline" });
  const play = iconButton("play", "Play", playOrPause);
  play.classList.add("play");
  watch("clock/running", (running) => {
    play.innerHTML = icon(running ? "pause" : "play");
    play.title = running ? "Pause (P, space bar)" : "Play (P, space bar)";
    play.setAttribute("aria-label", running ? "Pause" : "Play");
  });
  const back = iconButton("step", "Previous row (,)", () => send("replay/back"));
  back.classList.add("back");
  const on = iconButton("step", "Next row (.)", () => send("step", 1));
  on.classList.add("on");

  const path = element("div", "path");
  const track = element("input", "", { type: "range", min: 0, max: 1, step: "any" });
  track.setAttribute("aria-label", "Recording time");
  const done = element("div", "done");
  const marks = element("div", "marks");
  const tip = element("output", "tip");
  path.append(marks, done, track, tip);

  const now = element("b");
  const all = element("span");
  const figures = element("div", "figures");
  figures.append(now, all);

  const speed = element("select", "", { ariaLabel: "Speed" });
  speed.setAttribute("aria-label", "Replay speed");
  speed.append(...SPEEDS.map((v) => new Option(`${v} %`, String(v))));
  speed.onchange = () => {
    send("speed", Number(speed.value) / 100);
    showSpeed(); // until the lab confirms the change
  };
  const showSpeed = () => {
    const percent = Math.round(100 * (value("replay/rate") ?? 1));
    if (![...speed.options].some((one) => Number(one.value) === percent)) {
      speed.prepend(new Option(`${percent} %`, String(percent)));
    }
    speed.value = percent;
  };
  watch("replay/rate", showSpeed);

  const show = () => {
    const [start, end] = value("replay/span") ?? [0, 1];
    const t = dragging ? Number(track.value) : (value("replay/now") ?? start);
    if (!dragging) track.value = t;
    done.style.width = `${(100 * (t - start)) / (end - start || 1)}%`;
    now.textContent = fixed(t, 2);
    track.setAttribute("aria-valuetext", `${fixed(t, 2)} s`);
  };
  const showMarks = () => {
    const [start, end] = value("replay/span") ?? [0, 1];
    const nodes = (value("replay/events") ?? []).map(([t, kind, , bad]) => {
      const mark = element("i", bad ? "bad" : kind === "through" ? "good" : kind.startsWith("grasp") ? "hold" : "");
      mark.style.left = `${(100 * (t - start)) / (end - start || 1)}%`;
      return mark;
    });
    marks.replaceChildren(...nodes);
  };
  watch("replay/now", show);
  watch("replay/span", ([start, end]) => {
    [track.min, track.max] = [start, end];
    all.textContent = ` / ${fixed(end, 2)} s`;
    showMarks();
    show();
  });
  watch("replay/events", showMarks);

  track.oninput = () => {
    dragging = true;
    seek(Number(track.value));
    show();
  };
  const endDrag = () => {
    dragging = false;
  };
  track.onchange = endDrag;
  track.onpointerup = endDrag;
  track.onpointercancel = endDrag;
  track.onkeydown = (event) => {
    // Steps of 1 s, with Shift 10 s; the browser's step would be 1/100 of the range.
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
    if (!by) return;
    event.preventDefault();
    seek((value("replay/now") ?? 0) + by * (event.shiftKey ? 10 : 1));
  };
  // Time and events at the pointer.
  path.onpointermove = (move) => {
    const box = path.getBoundingClientRect();
    const share = Math.min(Math.max((move.clientX - box.left) / box.width, 0), 1);
    const [start, end] = value("replay/span") ?? [0, 1];
    const t = start + share * (end - start);
    const near = (4 / box.width) * (end - start);
    const event = (value("replay/events") ?? []).find(([when]) => Math.abs(when - t) <= near);
    tip.textContent = `${fixed(event ? event[0] : t, 2)} s${event ? `  ${event[2]}` : ""}`;
    const half = tip.offsetWidth / 2;
    tip.style.left = `${Math.min(Math.max(share * box.width, half - 8), box.width - half + 8)}px`;
  };

  bar.append(play, back, on, path, figures, speed);
  document.querySelector(".brazo-status").before(bar);
}

// <brazo-events name="events" at="now" event="seek">: events; a click goes to their time.
class Events extends Tied {
  build() {
    this.list = element("ol", "", { ariaLabel: this.getAttribute("label") });
    this.append(this.list);
    this.rows = [];
    this.sizes = new ResizeObserver(() => this.fit());
  }
  connectedCallback() {
    super.connectedCallback();
    const panel = this.closest(".brazo-panel");
    [panel, panel?.parentElement].forEach((node) => node && this.sizes.observe(node));
    this.follow(this.getAttribute("at"), (t) => this.mark(t));
  }
  disconnectedCallback() {
    super.disconnectedCallback();
    this.sizes.disconnect();
  }
  // The list is the last element of its panel and takes the remaining height.
  fit() {
    const panel = this.closest(".brazo-panel");
    const holder = panel?.parentElement;
    if (!holder || !this.list.offsetHeight) return;
    const below = panel.getBoundingClientRect().bottom - this.list.getBoundingClientRect().bottom;
    const above = this.list.getBoundingClientRect().top - panel.getBoundingClientRect().top;
    const room = Math.max(200, Math.floor(holder.clientHeight - above - below));
    this.list.style.setProperty("--room", `${room}px`);
  }
  told(events) {
    this.events = events ?? [];
    this.rows = this.events.map(([t, kind, text, bad]) => {
      const row = element("li");
      const button = element("button", bad ? "bad" : "", { type: "button", title: kind });
      button.append(element("time", "", { textContent: fixed(t, 2) }), element("span", "", { textContent: text }));
      button.onclick = () => this.send(t);
      row.append(button);
      return row;
    });
    this.list.replaceChildren(...this.rows);
    if (!this.rows.length) this.list.append(element("li", "brazo-note", { textContent: "No events." }));
    this.last = -1;
    this.mark(value(full(this, this.getAttribute("at"))) ?? 0);
  }
  mark(t) {
    let now = -1;
    // The events are sorted: the last one not later than the current time, within half a row.
    while (now + 1 < (this.events?.length ?? 0) && this.events[now + 1][0] <= t + 5e-4) now++;
    if (now === this.last) return;
    this.rows[this.last]?.removeAttribute("aria-current");
    this.last = now;
    const row = this.rows[now];
    if (!row) return;
    row.setAttribute("aria-current", "true");
    const { list } = this;
    const top = row.offsetTop; // within the list, which is positioned
    if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 28) {
      list.scrollTop = top - list.clientHeight / 3;
    }
  }
}
customElements.define("brazo-events", Events);

timeline();
watch("replay", (on) => {
  if (!on) return;
  onKey(",", () => value("replay") && send("replay/back"));
  addKeys([[",", "In a recording: previous row"]]);
});
