// The page's side of the lab's channel: receives named values, sends named events.

const listeners = new Map(); // name -> set of callbacks
const values = {};
let socket = null;
let online = false;
const onlineListeners = new Set();
const SAME_PAGE_TWICE = 4001; // channel.py
const REFUSALS = [1008, 1013]; // closed for flooding, or too many pages
const AGAIN = { lost: 1000, refused: 5000 }; // ms until the next attempt to connect
let refused = ""; // why the lab closed the connection

export function watch(name, callback) {
  if (!listeners.has(name)) listeners.set(name, new Set());
  listeners.get(name).add(callback);
  if (name in values) callback(values[name]);
  return () => listeners.get(name).delete(callback);
}

export function value(name) {
  return values[name];
}

export function send(event, ...args) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify([event, ...args]));
}

// Reason why the lab closed the connection; empty if it did not.
export function refusal() {
  return refused;
}

export function isOnline() {
  return online;
}

export function watchOnline(callback) {
  onlineListeners.add(callback);
  callback(online);
}

// Whether this page is in control.
export function drives() {
  return values["me/number"] === values["control/driver"];
}

// A websocket to the lab, identified as this page.
export function line(path) {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  return new WebSocket(`${scheme}://${location.host}${path}?page=${window.brazoViewer.page}`);
}

function setOnline(now) {
  online = now;
  onlineListeners.forEach((callback) => callback(now));
}

function connect() {
  socket = line("/channel");
  socket.onopen = () => setOnline(true);
  socket.onmessage = (message) => {
    const changed = JSON.parse(message.data);
    Object.assign(values, changed);
    for (const name in changed) {
      listeners.get(name)?.forEach((callback) => {
        try {
          callback(changed[name]);
        } catch (error) {
          console.error(name, error); // an error in one element must not affect the others
        }
      });
    }
  };
  socket.onclose = (event) => {
    if (event.code === SAME_PAGE_TWICE) {
      window.brazoViewer.renewPage();
      location.reload();
      return;
    }
    refused = REFUSALS.includes(event.code) ? event.reason : "";
    setOnline(false);
    setTimeout(connect, refused ? AGAIN.refused : AGAIN.lost);
  };
}
connect();
