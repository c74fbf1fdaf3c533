// Which button is pressed.  One that is replaced between press and release is never clicked, so new
// content of its panel waits for the release.  A hold-to-run button is different: it is released when
// it is replaced.
let pressed = null;
let waiting = [];

addEventListener(
  "pointerdown",
  (event) => {
    const target = /** @type {Element} */ (event.target);
    pressed = target.closest?.("button:not(.hold), label, summary") ?? null;
  },
  true,
);
// After the click, which follows the release.
const end = () => pressed && setTimeout(release, 0);
addEventListener("pointerup", end, true);
addEventListener("pointercancel", end, true);
addEventListener("blur", end); // of the window

function release() {
  pressed = null;
  const calls = waiting;
  waiting = [];
  for (const call of calls) call();
}

// Call at once, or when the button of `body` that is pressed now is released.
export function whenReleased(body, call) {
  if (pressed && body.contains(pressed)) waiting.push(call);
  else call();
}
