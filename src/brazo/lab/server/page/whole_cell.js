// Scroll a table so that a focused control is completely visible beside the sticky columns.  Browsers do
// not scroll if a part of it is visible, or if a sticky column covers it.
export function showWhole(control) {
  const cell = control.closest("td");
  const scroller = cell?.closest(".brazo-scroll");
  if (!scroller || getComputedStyle(cell).position === "sticky") return;
  const frame = scroller.getBoundingClientRect();
  let [left, right] = [frame.left, frame.right];
  for (const other of cell.parentNode.cells) {
    if (getComputedStyle(other).position !== "sticky") continue;
    const box = other.getBoundingClientRect();
    if (other.cellIndex < cell.cellIndex) left = Math.max(left, box.right);
    else right = Math.min(right, box.left);
  }
  const box = control.getBoundingClientRect();
  const by = box.left < left ? box.left - left : Math.max(0, box.right - right);
  scroller.scrollLeft += (by * scroller.offsetWidth) / frame.width; // bars and panels may be scaled
}
