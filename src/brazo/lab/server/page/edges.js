// Whether a scrolling box has content hidden above or below: style sheets draw an edge there.

// Keep `data-above` and `data-below` of a box up to date when its content changes.
export function markEdges(box) {
  const mark = () => {
    box.toggleAttribute("data-above", box.scrollTop > 1);
    box.toggleAttribute("data-below", box.scrollTop + box.clientHeight < box.scrollHeight - 1);
  };
  const sizes = new ResizeObserver(mark);
  const watchContent = () => {
    sizes.disconnect();
    [box, ...box.children].forEach((node) => sizes.observe(node));
  };
  new MutationObserver(watchContent).observe(box, { childList: true });
  watchContent();
  box.addEventListener("scroll", mark, { passive: true });
}
