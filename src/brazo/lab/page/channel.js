// The page's end of the lab's channel: named values come down, named events go up.

const listeners = new Map(); // name -> set of callbacks
const values = {};
let socket = null;
let online = false;
const onlineListeners = new Set();

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

export function watchOnline(callback) {
  onlineListeners.add(callback);
  callback(online);
}

function setOnline(now) {
  online = now;
  onlineListeners.forEach((callback) => callback(now));
}

function connect() {
  socket = new WebSocket(`ws${location.protocol === "https:" ? "s" : ""}://${location.host}/channel`);
  socket.onopen = () => setOnline(true);
  socket.onmessage = (message) => {
    const news = JSON.parse(message.data);
    Object.assign(values, news);
    for (const name in news) listeners.get(name)?.forEach((callback) => callback(news[name]));
  };
  socket.onclose = () => {
    setOnline(false);
    setTimeout(connect, 1000);
  };
}
connect();
