"""Software rendering: frames leave time for clicks, and are smooth at rest."""

from __future__ import annotations

import itertools

import pytest
from browsing import drawn

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", autouse=True)
def few_frames():
    """Not here: the frames are tested."""


# A renderer with the interface of three.js and slow frames, called every animation frame.
RENDERER = """
    const COST = 40; // ms
    const canvas = document.createElement("canvas");
    const drawn = []; // [wish, begin, ratio]
    let ratio = 1;
    const renderer = {
        domElement: canvas,
        getContext: () => canvas.getContext("webgl2"),
        getRenderTarget: () => null,
        getPixelRatio: () => ratio,
        setPixelRatio: (wanted) => { ratio = wanted; },
        setSize: () => {},
        render: (scene, camera) => {
            const begin = performance.now();
            drawn.push([scene, begin, ratio, camera]);
            while (performance.now() - begin < COST);
        },
    };
    const { pace } = await import("/lab/server/page/pictures.js");
    let told = 0;
    let fine = false;
    pace(renderer, (camera) => camera === "shown", () => told++, () => fine);
    const frame = () => new Promise(requestAnimationFrame);
    const pause = (ms) => new Promise((next) => setTimeout(next, ms));
"""


@pytest.fixture(scope="module")
def page(lab, browser):
    page = browser.new_page()
    # The modules without a lab that would draw at the same time.
    page.goto(f"{lab.url}/lab/server/page/dom.js")
    yield page
    page.close()


def run(page, script: str):
    return page.evaluate(f"async () => {{ {RENDERER} {script} }}")


def test_drawing_leaves_idle_time_and_draws_the_last_request(page):
    drawn, began, ended = run(
        page,
        """
        const began = performance.now();
        let wish = 0;
        while (performance.now() - began < 1000) {
            renderer.render(++wish, "shown");
            await frame();
        }
        const ended = performance.now();
        renderer.render("last", "shown");
        while (drawn.at(-1)[0] !== "last") await pause(5);
        return [drawn, began, ended];
        """,
    )
    pictures = sum(begin < ended for _, begin, *_ in drawn)
    assert 3 <= pictures <= (ended - began) / (1.5 * 40) + 1
    pauses = [after[1] - before[1] - 40 for before, after in itertools.pairwise(drawn)]
    assert min(pauses) > 15  # ms; half a frame time, minus the inaccuracy of timers


def test_scene_at_rest_is_redrawn_at_screen_resolution(page):
    drawn = run(
        page,
        """
        renderer.setPixelRatio(0.5); // as viser does where pictures take long
        while (drawn.at(-1)?.[2] !== 0.5) { renderer.render("moving", "shown"); await frame(); }
        renderer.render("last", "shown");
        while (drawn.at(-1)[2] !== devicePixelRatio) await pause(20);
        const pictures = drawn.length;
        await pause(400);
        return [drawn.at(-1)[0], drawn.length - pictures];
        """,
    )
    assert drawn == ["last", 0]


def test_single_request_keeps_a_smooth_frame_and_motion_does_not(page):
    drawn = run(
        page,
        """
        renderer.setPixelRatio(0.5);
        await pause(320);
        renderer.render("first", "shown");
        await pause(1000);
        renderer.render("lone", "shown");
        while (drawn.at(-1)[2] !== 0.5) { renderer.render("moving", "shown"); await frame(); }
        return drawn;
        """,
    )
    assert [ratio for *_, ratio, _ in drawn[:2]] == [1, 1]


def test_all_frames_are_smooth_in_fine_mode(page):
    ratios = run(
        page,
        """
        renderer.setPixelRatio(0.5);
        fine = true;
        while (drawn.length < 5) { renderer.render("moving", "shown"); await frame(); }
        return drawn.map(([, , ratio]) => ratio);
        """,
    )
    assert ratios == [1] * 5


def test_large_canvas_is_drawn_with_a_limited_number_of_pixels(page):
    moving, resting, fine = run(
        page,
        """
        Object.assign(canvas.style, { width: "3000px", height: "2000px" });
        document.documentElement.append(canvas);
        const until = async (other) => {
            while (drawn.at(-1)?.[2] === other) {
                renderer.render("moving", "shown");
                await frame();
            }
            return drawn.at(-1)[2];
        };
        await until(undefined);
        const moving = await until(drawn[0][2]); // the first one is smooth
        while (drawn.at(-1)[2] === moving) await pause(20);
        const resting = drawn.at(-1)[2];
        fine = true;
        const all = await until(resting);
        canvas.remove();
        return [moving, resting, all];
        """,
    )
    assert 6e6 * moving**2 == pytest.approx(1.5e6)
    assert 6e6 * resting**2 == pytest.approx(3e6)
    assert fine == 1


def test_page_at_rest_draws_no_frames(lab, browser):
    page = browser.new_page(viewport={"width": 790, "height": 560})
    page.goto(lab.url)
    lab.do(lab.sim.player.pause)
    drawn(page, lab.sim.cell.name)
    frames = page.evaluate(
        """async () => {
            let last = performance.now();
            let count = 0;
            brazoViewer.onDrawn(() => { last = performance.now(); count++; });
            const pause = (ms) => new Promise((next) => setTimeout(next, ms));
            while (performance.now() - last < 700) await pause(20);
            count = 0;
            await pause(2500);
            return count;
        }"""
    )
    page.close()
    assert frames <= 1  # viser's own client: one per second


def test_frames_of_other_cameras_and_sizes_are_drawn_immediately(page):
    drawn = run(
        page,
        """
        renderer.render("one", "shown");
        renderer.render("film", "another camera");
        renderer.setSize(300, 200);
        renderer.render("wider", "shown");
        renderer.render("waits", "shown");
        return [drawn.map(([wish]) => wish), told];
        """,
    )
    assert drawn == [["one", "film", "wider"], 2]


def test_smooth_frames_are_antialiased(page):
    shades = page.evaluate(
        """async () => {
            const { smoother } = await import("/lab/server/page/pictures.js");
            const canvas = new OffscreenCanvas(64, 64);
            const options = { antialias: false, preserveDrawingBuffer: true };
            const gl = canvas.getContext("webgl2", options);
            const program = gl.createProgram();
            const corner = "vec2(gl_VertexID & 1, gl_VertexID >> 1) * vec2(2.9, 3.7) - 1.0";
            for (const [kind, source] of [
                [gl.VERTEX_SHADER, `void main() { gl_Position = vec4(${corner}, 0, 1); }`],
                [gl.FRAGMENT_SHADER, "out lowp vec4 c; void main() { c = vec4(1); }"],
            ]) {
                const shader = gl.createShader(kind);
                gl.shaderSource(shader, `#version 300 es\\n${source}`);
                gl.compileShader(shader);
                gl.attachShader(program, shader);
            }
            gl.linkProgram(program);
            gl.useProgram(program);
            const draw = () => {
                gl.bindFramebuffer(gl.FRAMEBUFFER, null); // as three.js asks for the canvas
                gl.clearColor(0, 0, 0, 1);
                gl.clear(gl.COLOR_BUFFER_BIT);
                gl.drawArrays(gl.TRIANGLES, 0, 3);
            };
            const shades = () => {
                const pixels = new Uint8Array(4 * 64 * 64);
                gl.readPixels(0, 0, 64, 64, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
                return [...new Set(pixels.filter((_, i) => i % 4 === 0))];
            };
            const smoothly = smoother(gl);
            draw();
            const rough = shades();
            smoothly(draw);
            const smooth = shades();
            draw();
            return [rough, smooth, shades()];
        }"""
    )
    rough, smooth, again = shades
    assert sorted(rough) == sorted(again) == [0, 255]
    assert {0, 255} < set(smooth)
