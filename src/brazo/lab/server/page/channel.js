// The page's end of the lab's channel: named values come down, named events go up.

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

// Why the lab closed this page; empty when it did not.
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

// Whether this page may act.
export function drives() {
  return values["me/number"] === values["control/driver"];
}

// A websocket of the lab's own, in the name of this page.
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
    const news = JSON.parse(message.data);
    Object.assign(values, news);
    for (const name in news) {
      listeners.get(name)?.forEach((callback) => {
        try {
          callback(news[name]);
        } catch (error) {
          console.error(name, error); // one element must not keep the news from the others
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
