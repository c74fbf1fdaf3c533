// Dialog shown before unsaved work is lost: save it, discard it, or cancel.
import { send, watch } from "./channel.js";
import { element } from "./dom.js";
import { stop } from "./keys.js";

let dialog;

export function buildQuestions() {
  watch("question", ask);
  watch("me/number", () => dialog?.open && dialog.close()); // after a new connection the lab asks again
}

function ask({ number, title: heading, text, lost, note, ...labels }) {
  dialog ??= document.body.appendChild(element("dialog", "brazo-question"));
  dialog.setAttribute("role", "alertdialog");
  dialog.setAttribute("aria-labelledby", "brazo-question-title");
  dialog.setAttribute("aria-describedby", "brazo-question-text");
  const title = element("h2", "", { id: "brazo-question-title", textContent: heading });
  const message = element("div", "", { id: "brazo-question-text" });
  const list = element("ul");
  list.append(...lost.map((one) => element("li", "", { textContent: one })));
  const hint = element("p", "hint", { textContent: "Save downloads the files to this computer." });
  message.append(element("p", "", { textContent: text }), list);
  if (note) message.append(element("p", "hint", { textContent: note }));
  if (labels.save) message.append(hint); // otherwise there is nothing to save
  let answer = "cancel";
  const button = (label, event, look) => {
    const node = element("button", look, { type: "button", textContent: label });
    node.onclick = () => {
      answer = event;
      dialog.close();
    };
    return node;
  };
  const choices = element("div", "choices");
  choices.append(button("Cancel", "cancel", ""), button(labels.discard, "discard", "danger"));
  if (labels.save) choices.append(button(labels.save, "save", "primary"));
  dialog.replaceChildren(title, message, choices);
  dialog.onclose = () => send(`unsaved/${answer}`, number); // Escape cancels
  dialog.onpointerdown = (event) => {
    if (event.target !== dialog || inside(dialog, event)) return;
    if (inside(document.querySelector(".brazo-bar .stop"), event)) stop(); // STOP works while the dialog is open
    dialog.close();
  };
  dialog.showModal();
  (labels.save ? choices.lastChild : choices.firstChild).focus();
}

function inside(node, { clientX, clientY }) {
  const box = node?.getBoundingClientRect();
  return box && clientX >= box.left && clientX <= box.right && clientY >= box.top && clientY <= box.bottom;
}
