"""Every text of the page has a contrast of at least 4.5:1 with its background, light and dark."""

from __future__ import annotations

import pytest

from tests.lab.panels.acting import panels_in_turn

pytestmark = pytest.mark.browser
MINIMUM = 4.5  # WCAG 2.2, success criterion 1.4.3, text of ordinary size

# Contrast ratio by the definition of WCAG, of the computed colours of each visible text with the
# backgrounds of its ancestors, the nearest on top.  Disabled controls are exempt there, and the
# letters on the canvas have no computed style.
CONTRASTS = """(minimum) => {
    const canvas = new OffscreenCanvas(1, 1);
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    const known = new Map();
    const rgba = (color) => {
        if (!known.has(color)) {
            pen.clearRect(0, 0, 1, 1);
            pen.fillStyle = color;
            pen.fillRect(0, 0, 1, 1);
            const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
            known.set(color, [r, g, b, a / 255]);
        }
        return known.get(color);
    };
    const over = ([r, g, b, a], below) => [r, g, b].map((v, i) => a * v + (1 - a) * below[i]);
    const luminance = (color) => {
        const [r, g, b] = color.map((v) => {
            const c = v / 255;
            return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const backdrop = (node) => {
        const layers = [];
        for (let n = node; n; n = n.parentElement) {
            layers.unshift(getComputedStyle(n).backgroundColor);
        }
        return layers.reduce((below, layer) => over(rgba(layer), below), [255, 255, 255]);
    };
    const check = (node, text, style) => {
        const box = node.getBoundingClientRect();
        if (!text.trim() || !box.width || style.visibility !== "visible") return null;
        if (rgba(style.color)[3] === 0) return null; // the editor shows its text in colours below
        if (node.closest(":disabled, [aria-disabled=true], canvas")) return null;
        let opacity = 1;
        for (let n = node; n; n = n.parentElement) opacity *= Number(getComputedStyle(n).opacity);
        if (opacity === 0) return null;
        const below = backdrop(node);
        const [r, g, b, a] = rgba(style.color);
        const shown = over([r, g, b, a * opacity], below);
        const [dark, light] = [luminance(shown), luminance(below)].sort((x, y) => x - y);
        const ratio = (light + 0.05) / (dark + 0.05);
        const label = node.closest("[id^=panel-]")?.id ?? "";
        const where = `${label} ${node.tagName}.${node.className}`;
        return ratio < minimum
            ? `${ratio.toFixed(2)} ${where} "${text.trim().slice(0, 30)}" ${style.color}`
            : true;
    };
    const found = [];
    for (const node of document.body.querySelectorAll("*")) {
        if (node.closest("#root, option, optgroup, script, style, [type=checkbox], [type=range]")) {
            continue;
        }
        const style = getComputedStyle(node);
        if (node instanceof SVGElement) {
            const { fill, visibility } = style;
            const text = node.tagName === "text" ? node.textContent : "";
            found.push(check(node, text, { color: fill, visibility }));
        } else if (/^(INPUT|TEXTAREA)$/.test(node.tagName)) {
            const empty = getComputedStyle(node, "::placeholder");
            const text = node.value || node.placeholder;
            found.push(check(node, text, node.value ? style : empty));
        } else if (node.tagName === "SELECT") {
            found.push(check(node, node.selectedOptions[0]?.textContent ?? "", style));
        } else {
            const own = [...node.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE);
            found.push(check(node, own.map((n) => n.data).join(""), style));
        }
    }
    const low = found.filter((one) => typeof one === "string");
    return { checked: found.filter(Boolean).length, low: [...new Set(low)] };
}"""


@pytest.fixture(scope="module")
def lab(running):
    with running("cooperative") as lab:
        yield lab


def low_contrasts(page) -> tuple[int, list[str]]:
    """Number of texts checked in both themes, and those with too little contrast."""
    checked, low = 0, []
    for theme in ("light", "dark"):
        page.evaluate("(theme) => (document.documentElement.dataset.brazoTheme = theme)", theme)
        seen = page.evaluate(CONTRASTS, MINIMUM)
        checked += seen["checked"]
        low += [f"{theme}: {one}" for one in seen["low"]]
    return checked, low


@pytest.fixture(scope="module")
def opened(lab, open_page):
    opened = open_page(lab, "view", {"width": 1440, "height": 600})
    still = "*, ::before { transition: none !important; animation: none !important; }"
    opened.page.add_style_tag(content=still)
    lab.do(lab.sim.player.pause)
    return opened


def test_every_text_has_contrast_with_its_background(lab, opened):
    page = opened.page
    for kind in ("info", "warn", "error"):
        lab.do(lambda kind=kind: lab.say(f"a message of kind {kind}", kind))
    page.keyboard.press("?")
    checked, low = low_contrasts(page)
    page.keyboard.press("Escape")
    for _panel in panels_in_turn(page):
        opened.settle()
        more, found = low_contrasts(page)
        checked, low = checked + more, low + found
    assert sorted(set(low)) == []
    assert checked > 1000


# Every ink on every paper, for the states that a panel has not now.
PAPERS = """() => {
    const swatches = document.createElement("div");
    swatches.className = "swatches";
    const inks = ["ink", "ink-soft", "ink-faint", "accent", "warn", "caution", "ok"];
    const tints = { ink: ["accent", "warn"], warn: ["warn", "accent"] };
    for (const paper of ["paper", "paper-low", "paper-high"]) for (const ink of inks) {
        for (const tint of [null, ...(tints[ink] ?? ["accent"])]) {
            const below = tint ? `var(--${tint}-soft)` : "transparent";
            const swatch = document.createElement("div");
            swatch.style.background = `var(--${paper})`;
            swatch.innerHTML = `<b style="color: var(--${ink}); background: ${below}">${ink}</b>`;
            swatches.append(swatch);
        }
    }
    for (const [below, ink] of [["accent", "var(--accent-ink)"], ["stop", "#fff"]]) {
        swatches.innerHTML += `<b style="color: ${ink}; background: var(--${below})">${below}</b>`;
    }
    document.body.append(swatches);
}"""


def test_text_colours_have_contrast_with_all_backgrounds(opened):
    opened.page.evaluate(PAPERS)
    low = low_contrasts(opened.page)[1]
    opened.page.evaluate("() => document.querySelector('.swatches').remove()")
    assert low == []
    assert opened.errors == []
