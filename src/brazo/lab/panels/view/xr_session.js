// A session in a headset: it shows the scene and jogs the selected robot while a trigger is held.
//
// Deflections are sent with every frame of the headset, as a gamepad sends them (gamepad.js): the lab
// stops when they are missing.  Releasing the button, taking off the headset, losing its tracking, a system
// menu and the end of the session end the jog; the end of the session is also a STOP, if this page is in
// control.
import { drives, send, value } from "../../server/page/channel.js";
import { stop } from "../../server/page/keys.js";
import { load } from "../common/gamepad_input.js";
import { HELP, deflections, facing, readControllers } from "./xr_controllers.js";

const RENEW = 50; // ms
const AXES = 6;

// Begin a session; `ended` is called when it is over.
export async function enterHeadset(ended) {
  const { xr } = /** @type {any} */ (navigator);
  const session = await xr.requestSession("immersive-vr", { requiredFeatures: ["local-floor"], optionalFeatures: ["layers"] });
  const { settings } = load("tool", AXES, null, []);
  const jogs = () => (value("panels") ?? []).some(({ id }) => id === "pendant"); // not in a replay
  let view = null; // of immersive_view.js
  let running = "";
  let armed = false; // the buttons were released before: only then a press counts
  let stopping = false;
  let seen = false; // the position of the head was known
  /** @type {[number, number]} */
  let forward = [1, 0];
  let [sent, sentAt] = ["", 0];

  session.addEventListener("visibilitychange", () => session.visibilityState !== "visible" && release());
  session.addEventListener("inputsourceschange", () => release()); // a controller may reconnect with its trigger held
  session.addEventListener("end", end);
  addEventListener("pagehide", end);
  try {
    if (!window.brazoViewer.immersive) throw new Error("the scene is not drawn yet");
    view = await window.brazoViewer.immersive.present(session);
  } catch (error) {
    session.end().catch(() => {});
    throw error;
  }
  session.requestAnimationFrame(frame);

  function frame(_time, now) {
    session.requestAnimationFrame(frame);
    const pose = now.getViewerPose(view.space);
    const known = Boolean(pose) && !(seen && pose.emulatedPosition);
    seen ||= Boolean(pose) && !pose.emulatedPosition;
    const tracked = (source) => Boolean(now.getPose(source.gripSpace ?? source.targetRaySpace, view.space));
    const state = readControllers([...session.inputSources], tracked);
    if (state.stop && !stopping) {
      stop();
      release();
    }
    stopping = state.stop;
    const why = blockReason(known);
    if (state.released) armed = !why;
    if (running && (state.enable !== running || why)) release(Boolean(why));
    else if (state.enable && armed && !why && !state.stop) run(state, pose);
    showState(why);
  }

  // Reason why the robot cannot be moved; empty if it can.
  function blockReason(known) {
    if (!jogs()) return "View only";
    if (!drives()) return "View only: request control";
    if (session.visibilityState !== "visible") return "Paused by the headset";
    return known ? "" : "Tracking lost";
  }

  function run(state, pose) {
    const fresh = !running;
    if (fresh) forward = facing(pose.transform.matrix, view.axes);
    const shares = deflections(state, forward, settings);
    const now = performance.now();
    const text = shares.join();
    if (!fresh && text === sent && now - sentAt < RENEW) return;
    [running, sent, sentAt] = [state.enable, text, now];
    send("pendant/stick-world", shares, fresh);
  }

  function release(must = true) {
    if (must) armed = false; // a held button has no effect until it is pressed again
    if (!running) return;
    running = "";
    send("pendant/stick-end");
  }

  function showState(why) {
    if (running) view.write("running", "Running", HELP);
    else if (value("clock/stopped")) view.write("stopped", "Stopped", HELP);
    else if (why) view.write("blocked", why, HELP);
    else view.write("ready", value("selection/robot") ?? "", HELP);
  }

  function end() {
    removeEventListener("pagehide", end);
    release();
    if (drives() && jogs()) stop();
    ended();
  }
  return session;
}
