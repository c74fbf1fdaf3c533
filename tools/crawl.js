// The part of crawl.py that runs in the page: lists controls, scrolls to them, inspects the layout.
// `roots` is a selector of the elements whose controls are used.
globalThis.brazoCrawl = (() => {
  const KINDS = `button, input, select, textarea, summary, a[href], [contenteditable=true], [role=radio],
    [role=option], [role=tab], [role=menuitem], [role=button], [role=slider], [role=switch]`;
  const BOXES = "button, input:not([type=checkbox]):not([type=radio]), select, summary";
  const ALL = { opacityProperty: true, visibilityProperty: true };
  const RETRIES = [50, 100, 200, 400, 800, 1600]; // ms; new content may still be laid out
  const PLACES = ["nearest", "center", "start", "end"];
  let mark = null; // the last one that came back from the lab

  const pause = (ms) => new Promise((next) => setTimeout(next, ms));
  const within = (roots) => [...document.querySelectorAll(roots)];
  const isChoice = (node) => node.type === "checkbox" || node.type === "radio";
  // A switch is a hidden checkbox in a visible label.
  const target = (node) => (isChoice(node) ? node.closest("label") ?? node : node);

  function controls(roots) {
    for (const root of within(roots)) for (const one of root.querySelectorAll("details")) one.open = true;
    const seen = {};
    return within(roots)
      .flatMap((root) => [...root.querySelectorAll(KINDS)])
      .filter((node) => target(node).checkVisibility(ALL) && !node.matches(":disabled, [inert] *"))
      .filter((node) => getComputedStyle(target(node)).pointerEvents !== "none")
      .map((node) => {
        const label = node.getAttribute("aria-label") || node.title
          || node.labels?.[0]?.textContent.trim() || node.textContent.trim() || node.name;
        const key = `${node.tagName.toLowerCase()} ${node.type ?? ""} ${label}`.slice(0, 90);
        seen[key] = (seen[key] ?? 0) + 1;
        node.dataset.crawl = `${key} #${seen[key]}`;
        return [node.dataset.crawl, node];
      });
  }

  // The first control that is not `done`, scrolled into view; null if there is none.
  function next(roots, done, only) {
    const found = controls(roots).find(([key]) => (only ? key === only : !done.includes(key)));
    if (!found) return null;
    const [key, node] = found;
    const answer = {
      key,
      tag: node.tagName.toLowerCase(),
      type: node.type ?? "",
      role: node.getAttribute("role") ?? "",
      popup: node.getAttribute("aria-haspopup") === "menu",
      value: node.value ?? "",
      options: [...(node.options ?? [])].filter((one) => !one.disabled).map((one) => one.value),
    };
    return { ...answer, ...spot(target(node)) };
  }

  // Where to click, and what covers that place.
  function spot(node) {
    let covered = "";
    for (const block of PLACES) {
      node.scrollIntoView({ block, inline: "nearest", behavior: "instant" });
      const box = node.getBoundingClientRect();
      const x = (Math.max(box.left, 0) + Math.min(box.right, innerWidth)) / 2;
      const y = (Math.max(box.top, 0) + Math.min(box.bottom, innerHeight)) / 2;
      const hit = document.elementFromPoint(x, y);
      if (hit && node.contains(hit)) return { x, y, covered: "" };
      covered ||= hit ? describe(hit) : "nothing: it is outside the view";
    }
    return { x: 0, y: 0, covered };
  }

  const describe = (node) => node.dataset.crawl
    || `${node.tagName.toLowerCase()}.${node.getAttribute("class") ?? ""} ${node.textContent.trim().slice(0, 30)}`;

  function inspect(roots) {
    frames = new Map();
    const found = [];
    const scrolled = [document.scrollingElement, document.body].some((box) => box.scrollTop || box.scrollLeft);
    if (scrolled || scrollY || scrollX) found.push("the page scrolled");
    const wide = document.documentElement.scrollWidth - innerWidth;
    if (wide > 0) found.push(`the page is ${wide} px too wide`);
    const stop = document.querySelector(".brazo-bar .stop");
    const box = stop.getBoundingClientRect();
    const inside = box.top >= 0 && box.left >= 0 && box.right <= innerWidth && box.bottom <= innerHeight;
    const at = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
    // A click on STOP behind a question stops, too.  A stereo pair fills the screen; a tap ends it.
    const behind = document.querySelector("dialog[open], :root[data-brazo-stereo]");
    if (!inside) found.push("STOP is outside the view");
    else if (!stop.contains(at) && !behind)
      found.push(`STOP is covered by ${at?.className || at?.tagName}`);
    for (const root of within(roots)) found.push(...inspectBoxes(root), ...inspectTexts(root));
    return [...new Set(found)];
  }

  function inspectBoxes(root) {
    const found = [];
    const shown = [...root.querySelectorAll(BOXES)].filter((node) => node.checkVisibility(ALL));
    for (const node of shown) {
      if (node.matches("input, textarea") || !node.clientWidth) continue; // these scroll
      const cut = node.scrollWidth > node.clientWidth + 1 && getComputedStyle(node).textOverflow !== "ellipsis";
      const low = !node.matches("select") && node.scrollHeight > node.clientHeight + 1;
      if (cut || low) found.push(`cut: ${describe(node)}`);
    }
    const boxes = shown.filter((node) => !floats(node, root)).map((node) => [node, visible(node, root)])
      .filter(([, b]) => b.right > b.left && b.bottom > b.top);
    for (const [a, b] of crossing(boxes)) {
      // A mark on the rail of a slider.
      if ([a, b].some((one) => one.type === "range") && a.parentElement === b.parentElement) continue;
      found.push(`overlap: ${describe(a)} and ${describe(b)}`);
    }
    found.push(...outside(boxes, root));
    return found;
  }

  // Text that is cut without an ellipsis, leaves its panel, or is on top of other text or a control.
  function inspectTexts(root) {
    const found = [];
    const boxes = [];
    for (const node of root.querySelectorAll("*")) {
      const control = node.matches(BOXES) && !node.matches("[type=range]");
      const words = [...node.childNodes].filter((one) => one.nodeType === 3 && one.data.trim());
      if (!(words.length || control) || node.closest("svg, textarea, select:not(:scope), [aria-hidden=true]")) continue;
      if (!node.checkVisibility(ALL) || floats(node, root)) continue;
      const style = getComputedStyle(node);
      if (node.offsetWidth <= 1 || node.offsetHeight <= 1) continue; // for screen readers
      const hides = ["hidden", "clip"].includes(style.overflowX);
      if (hides && node.tagName !== "INPUT" && style.textOverflow !== "ellipsis" && node.scrollWidth > node.clientWidth + 1)
        found.push(`cut: ${describe(node)}`);
      if (control) boxes.push([node, visible(node, root)]);
      else {
        const range = document.createRange();
        for (const word of words) {
          range.selectNodeContents(word);
          for (const line of range.getClientRects()) boxes.push([node, visible(node, root, line)]);
        }
      }
    }
    const seen = boxes.filter(([, b]) => b.right - b.left > 1 && b.bottom - b.top > 1);
    for (const [a, b] of crossing(seen)) {
      if (a.matches(BOXES) && b.matches(BOXES)) continue; // inspectBoxes
      // A unit in its field, the key of a button on it.
      if ([a, b].some((one) => one.matches(".unit, kbd")) && a.closest("div") === b.closest("div")) continue;
      found.push(`text overlap: ${describe(a)} and ${describe(b)}`);
    }
    found.push(...outside(seen, root));
    return found;
  }

  function* crossing(boxes) {
    boxes.sort(([, p], [, q]) => p.top - q.top);
    for (let i = 0; i < boxes.length; i++) {
      const [a, p] = boxes[i];
      for (let j = i + 1; j < boxes.length && boxes[j][1].top < p.bottom - 2; j++) {
        const [b, q] = boxes[j];
        if (a.contains(b) || b.contains(a)) continue;
        const x = Math.min(p.right, q.right) - Math.max(p.left, q.left);
        const y = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
        if (x > 2 && y > 2) yield [a, b];
      }
    }
  }

  function outside(boxes, root) {
    const edge = root.getBoundingClientRect();
    return boxes
      .filter(([node, b]) => !frame(node.parentElement, root).scrolls && (b.right > edge.right + 1 || b.left < edge.left - 1))
      .map(([node]) => `outside its panel: ${describe(node)}`);
  }

  const floats = (node, root) => frame(node, root).floats;

  // The part of a node, or of a line of its text, that is not clipped.
  function visible(node, root, line = null) {
    const clip = frame(line ? node : node.parentElement, root);
    const box = line ?? node.getBoundingClientRect();
    return {
      left: Math.max(box.left, clip.left),
      top: Math.max(box.top, clip.top),
      right: Math.min(box.right, clip.right),
      bottom: Math.min(box.bottom, clip.bottom),
    };
  }

  // What an element means for its content: where it clips, whether it scrolls sideways, whether it is
  // drawn over other content on purpose, as sticky headings, menus and lists of completions.
  let frames = new Map(); // per inspection
  function frame(node, root) {
    if (!node || node === root) {
      return { left: -1e9, top: -1e9, right: 1e9, bottom: 1e9, scrolls: false, floats: false };
    }
    if (frames.has(node)) return frames.get(node);
    const found = { ...frame(node.parentElement, root) };
    const { overflowX, overflowY, position } = getComputedStyle(node);
    const edge = node.getBoundingClientRect();
    if (overflowX !== "visible") {
      found.left = Math.max(found.left, edge.left);
      found.right = Math.min(found.right, edge.right);
    }
    if (overflowY !== "visible") {
      found.top = Math.max(found.top, edge.top);
      found.bottom = Math.min(found.bottom, edge.bottom);
    }
    found.scrolls ||= ["auto", "scroll"].includes(overflowX);
    found.floats ||= ["sticky", "fixed"].includes(position) || node.matches("[popover]")
      || (position === "absolute" && node.matches("[role=menu], [role=listbox]"));
    frames.set(node, found);
    return found;
  }

  // Selector of what was opened over the page, and its heading.
  function opened() {
    for (const selector of ["dialog[open]", ".brazo-start"]) {
      const node = document.querySelector(selector);
      if (node) return [selector, `${node.className} ${node.querySelector("h1, h2")?.textContent ?? ""}`];
    }
    return null;
  }

  // Choose an option, if the control still has it; the list itself is drawn by the system.
  function choose(key, value) {
    const node = [...document.querySelectorAll("select")].find((one) => one.dataset.crawl === key);
    if (!node || ![...node.options].some((one) => one.value === value)) return;
    node.focus();
    node.value = value;
    for (const event of ["input", "change"]) node.dispatchEvent(new Event(event, { bubbles: true }));
  }

  // Leave the scene undrawn: with software rendering it takes most of the time.  three.js does all the
  // rest, and the canvas keeps its size.
  function withoutScene() {
    const gl = WebGL2RenderingContext.prototype;
    for (const name of ["clear", "drawElements", "drawArrays", "drawElementsInstanced", "drawArraysInstanced", "blitFramebuffer"]) {
      gl[name] = () => {};
    }
  }

  // Wait until the lab has done what the page asked for, then inspect and find the next control.
  async function step(roots, done, wanted, only = null) {
    const { send, watch } = await import("/lab/server/page/channel.js");
    if (mark === null) watch("crawl", (it) => (mark = it));
    send("crawl", wanted);
    const began = performance.now();
    while (mark !== wanted && performance.now() - began < 300_000) await pause(5);
    const late = mark === wanted ? [] : ["the lab did not answer within 300 s"];
    const over = opened();
    let found = inspect(over ? over[0] : roots);
    for (const ms of RETRIES) {
      if (!found.length) break;
      await pause(ms);
      found = inspect(over ? over[0] : roots);
    }
    return { found: [...late, ...found], over, next: over && over[0] !== roots ? null : next(roots, done, only) };
  }

  // Problems with the element that the Tab key reached, unless they end by themselves: values that
  // arrive may change the height of a panel.
  async function focused() {
    for (const ms of [...RETRIES, 0]) {
      const node = document.activeElement;
      if (!node || node === document.body) return [];
      const box = target(node).getBoundingClientRect();
      const out = box.right <= 0 || box.bottom <= 0 || box.left >= innerWidth || box.top >= innerHeight;
      if (!out) return [];
      if (!ms) return [`focused outside the view: ${describe(node)}`];
      await pause(ms);
    }
  }

  return { keys: (roots) => controls(roots).map(([key]) => key), step, choose, focused, withoutScene };
})();
