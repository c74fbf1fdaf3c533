// Camera and arrangement of the panels, kept in the project and restored when it is opened.
import { drives, send, value, watch } from "./channel.js";
import { arrangement, setArrangement } from "./docks.js";

const EVERY = 1000; // ms
let applied = null; // `opened` of the project whose view was applied
let sent = "";

export function keepView() {
  watch("project", (project) => {
    if (project.opened === applied || !project.kept) return;
    sent = JSON.stringify(project.view ?? {});
    if (project.view?.panels) setArrangement(structuredClone(project.view.panels));
  });
  setInterval(sendView, EVERY);
}

// Called when a new cell is framed.
export function restoreCamera() {
  const project = value("project");
  if (!project?.kept || project.opened === applied) return;
  applied = project.opened;
  if (project.view?.camera) window.brazoViewer.setCamera(project.view.camera);
  sent = JSON.stringify({ camera: window.brazoViewer.camera(), panels: arrangement() });
}

function sendView() {
  const project = value("project");
  if (!project?.kept || project.opened !== applied || value("replay") || !drives()) return;
  const view = { camera: window.brazoViewer.camera(), panels: arrangement() };
  const now = JSON.stringify(view);
  if (!view.camera || now === sent || window.brazoViewer.following) return;
  sent = now;
  send("project/view", view);
}
