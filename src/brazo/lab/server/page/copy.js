// Copies a table as tab-separated text, for spreadsheets.
import { iconButton } from "./dom.js";
import { say } from "./notices.js";

export function copyButton(table) {
  const label = table.getAttribute("aria-label");
  const button = iconButton("copy", `Copy ${label} as text with tabs`, async () => {
    const text = asText(table);
    if (await copied(text)) say(`Copied: ${label}, ${text.split("\n").length} lines`, "info", "copied");
    else say("The browser does not allow copying.", "warn", "copied");
  });
  button.classList.add("copy", "quiet");
  return button;
}

// Lines of the table, without the columns of buttons; numbers with a plain minus.
export function asText(table) {
  const line = (row) =>
    [...row.cells]
      .filter((cell) => !cell.classList.contains("act"))
      .map((cell) => {
        const unit = cell.querySelector(".unit")?.textContent;
        const shown = cell.querySelector("input")?.value ?? cell.textContent;
        const words = unit ? `${shown.slice(0, -unit.length)} [${unit}]` : shown;
        return words.trim().replace(/\s+/g, " ").replace(/^−(?=[\d.])/, "-");
      })
      .join("\t");
  return [...table.rows].map(line).join("\n");
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages served over http by another computer have no clipboard API; use the older command.
    const area = document.body.appendChild(document.createElement("textarea"));
    area.value = text;
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
