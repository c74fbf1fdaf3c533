"""The Program panel in a real Chromium: the cooperative program to its end, steps, text, files."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import expect

from brazo.program import load_program
from brazo.program.step_paths import outline
from tests.lab.panels.acting import resized

pytestmark = pytest.mark.browser
STEPS = sum(len(list(outline(one))) for one in load_program("cooperative").steps.values())


@pytest.fixture(scope="module")
def lab(running):
    with running("cooperative") as lab:
        yield lab


@pytest.fixture(scope="module")
def opened(lab, open_page):
    lab.do(lab.sim.player.pause)
    lab.sim.player.speed = 4.0
    # A small scene: what is drawn takes time from the run.
    return open_page(lab, "program", {"width": 820, "height": 420})


@pytest.fixture(autouse=True)
def no_errors(opened):
    yield
    assert opened.errors == []


def until(condition, seconds=120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def current(opened, robot: str):
    steps = opened.panel.get_by_role("listbox", name=f"Steps of {robot}")
    return steps.locator("[aria-current=step]")


def write(opened, text: str) -> None:
    """Type a text into the editor and leave it."""
    editor = opened.panel.get_by_label("Program text")
    editor.fill(text)
    editor.press("Control+Enter")
    opened.settle()


def editor_text(opened) -> str:
    return opened.panel.get_by_label("Program text").input_value()


def test_the_cooperative_program_stepped_stopped_and_run_to_the_end(lab, opened):
    panel = opened.panel
    expect(panel.get_by_label("Program", exact=True)).to_have_value("cooperative")
    expect(panel.locator("brazo-steps li")).to_have_count(STEPS)
    expect(panel.get_by_text("51 steps", exact=True)).to_be_visible()  # with the loop expanded
    state = panel.locator("brazo-text[name=state]")
    opened.button("Step").click()
    expect(state).to_have_text(re.compile("^paused"))
    expect(current(opened, "scara2")).to_have_count(1)
    opened.settle()
    program = lab.panels["program"]
    where = {name: state.index for name, state in program.control.execution.states.items()}
    opened.button("Step").click()
    until(
        lambda: (
            program.control.execution.paused
            and {n: s.index for n, s in program.control.execution.states.items()} != where
        )
    )
    expect(opened.button("Resume")).to_be_enabled()
    opened.button("Resume").click()
    until(lambda: program.control.execution.states["scara2"].index >= 5)
    opened.page.get_by_role("button", name="STOP", exact=True).click()
    expect(state).to_have_text(re.compile("^paused"))
    for robot, count in (("scara1", 51), ("scara2", 42)):
        reported = panel.locator(f"brazo-text[name='status/{robot}']")
        expect(reported).to_have_text(re.compile(rf"^paused, \d+ of {count}$"))
    for adds in (opened.button("MoveJ"), panel.get_by_label("More steps")):
        expect(adds).to_be_disabled()
    until(lambda: not lab.sim.moving)
    at = program.control.execution.states["scara2"].index
    path = program.document.paths["scara2"][at]
    expect(current(opened, "scara2").locator("i")).to_have_text(str(2 + path[1]))  # in the loop
    opened.button("Resume").click()
    until(lambda: program.control.execution.done)
    assert program.control.execution.succeeded, program.control.execution.failure
    expect(panel.get_by_text(re.compile(r"^done at .* 3 of 3 goals$"))).to_be_visible()
    expect(panel.locator("brazo-steps li.done")).to_have_count(STEPS)
    expect(panel.get_by_label("More steps")).to_be_enabled()
    for body in ("bar 1", "bar 2", "bar 3"):
        assert lab.sim.world.pose(body)[2, 3] < 0.2  # down the chute
    lab.do(lab.sim.player.pause)


def test_mistakes_in_the_text_are_reported_with_their_line(lab, opened):
    whole = editor_text(opened)
    lines = whole.splitlines()
    at = next(i for i, line in enumerate(lines) if "sync: in the air" in line)
    lines[at] = lines[at].replace("sync: in the air", "synk: in the air")
    write(opened, "\n".join(lines))
    problem = opened.panel.get_by_text(re.compile(rf"^cooperative\.yaml:{at + 1}: "))
    expect(problem).to_be_visible()
    expect(problem).to_contain_text("synk")
    expect(opened.panel.locator(".gutter .bad")).to_have_text(str(at + 1))
    expect(opened.button("Run")).to_be_disabled()
    lines[at] = lines[at].replace("synk: in the air", "grip: {body: bar 9}")
    write(opened, "\n".join(lines))
    expect(opened.panel.get_by_text(re.compile(r"no free body 'bar 9'"))).to_be_visible()
    write(opened, whole)
    expect(opened.panel.locator(".gutter .bad")).to_have_count(0)
    expect(opened.button("Run")).to_be_enabled()


MOVE = "move_joints: {to: [20deg, -50deg, 3cm, 0, 0], plan: unchecked}"
SHORT = f"""name: short
robots:
  scara1:
    - note: <img src=x onerror=alert(1)>
    - {MOVE}
"""


def test_an_own_program_is_typed_run_and_saved(lab, opened, tmp_path):
    lab.do(lab.clock.reset)
    write(opened, SHORT)
    steps = opened.panel.get_by_role("listbox", name="Steps of scara1").get_by_role("option")
    expect(steps).to_have_count(2)
    expect(steps.first).to_contain_text("<img src=x onerror=alert(1)>")
    opened.button("Reset and run").click()
    until(lambda: lab.panels["program"].control.execution is not None)
    until(lambda: lab.panels["program"].control.execution.done)
    expect(opened.panel.get_by_text(re.compile("^done at"))).to_be_visible()
    lab.do(lab.sim.player.pause)
    assert lab.sim.robots["scara1"].q[0] == pytest.approx(0.349, abs=2e-3)
    with opened.page.expect_download() as download:
        opened.button("Save").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.read_text(encoding="utf-8") == SHORT
    path.write_text(SHORT.replace("20deg", "15deg"), encoding="utf-8")
    opened.panel.locator("brazo-upload input").set_input_files(path)
    until(lambda: "15deg" in editor_text(opened))


def test_a_failed_step_says_why_and_a_program_under_way_is_ended(lab, opened):
    far = SHORT.replace(
        "move_joints: {to: [20deg, -50deg, 3cm, 0, 0], plan: unchecked}", "wait: 60s"
    )
    write(opened, far)
    opened.button("Step").click()
    expect(current(opened, "scara1").locator("i")).to_have_text("2")  # the note was one
    opened.button("Resume").click()
    expect(opened.panel.get_by_text("running", exact=True)).to_be_visible()
    expect(opened.panel.locator(".gutter .busy")).to_have_text("5")
    opened.panel.get_by_label("Program", exact=True).select_option("cooperative")
    expect(opened.page.get_by_text("stop it first")).to_be_visible()
    opened.button("Stop").click()
    expect(opened.panel.get_by_text("stopped by user", exact=True)).to_be_visible()
    expect(opened.panel.locator("brazo-text[name=why]")).to_have_text("")
    expect(current(opened, "scara1")).to_have_class("now ended")
    expect(opened.panel.get_by_text("stopped, 2 of 2", exact=True)).to_be_visible()
    write(opened, far.replace("wait: 60s", "line: {by: [3m, 0, 0]}"))
    opened.button("Run").click()
    expect(
        opened.panel.get_by_text(re.compile(r"yaml:5: scara1, step 2 \(line\): "))
    ).to_be_visible()
    expect(current(opened, "scara1")).to_have_class(re.compile("failed"))
    lab.do(lab.sim.player.pause)


def test_typing_is_never_overwritten_and_watchers_change_nothing(lab, opened, line):
    editor = opened.panel.get_by_label("Program text")
    editor.focus()
    editor.press("Control+End")
    editor.press_sequentially("# my own words")
    lab.do(lambda: lab.clock.step(50))
    opened.settle()
    assert editor_text(opened).endswith("# my own words")
    with line(lab) as other:
        other.send(["program/run"], ["program/text", "name: theirs"], ["program/choose", "x"])
        assert other.reported["me/refused"] == 3
    assert lab.panels["program"].control.over
    editor.press("Escape")
    opened.settle()
    assert lab.panels["program"].document.text.endswith("# my own words")


def test_a_program_of_another_cell_offers_to_open_it(lab, opened):
    lab.open("solo-puma560")
    lab.do(lab.sim.player.pause)
    opened.panel.get_by_label("Program", exact=True).select_option("cooperative")
    opened.page.get_by_role("button", name="Discard").click()  # the text of the tests before
    expect(opened.panel.get_by_text("no robot 'scara2' in cell 'solo-puma560'")).to_be_visible()
    opened.button("Open cooperative").click()
    until(lambda: lab.sim.cell.name == "cooperative")
    lab.do(lab.sim.player.pause)
    expect(opened.button("Run")).to_be_enabled()
    expect(opened.panel.locator("brazo-steps li")).to_have_count(STEPS)


BAD = "# a comment of mine\nname: mine\nrobots:\n  scara1:\n    - mvoe_joints: {to: start}\n"


def bad_line(opened) -> None:
    """The editor shows the invalid text, and its error with the line beside it."""
    expect(opened.panel.get_by_label("Program text")).to_have_value(BAD)
    expect(opened.panel.locator(".gutter .bad")).to_have_text("5")
    expect(opened.panel.get_by_text(re.compile(r"\.yaml:5: .*mvoe_joints"))).to_be_visible()


def test_invalid_text_stays_in_the_editor_on_blur_refresh_reload_and_on_a_second_page(
    lab, opened, open_page, tmp_path
):
    editor = opened.panel.get_by_label("Program text")
    editor.fill(BAD)
    opened.panel.locator("summary", has_text="Steps").click()  # elsewhere
    opened.settle()
    bad_line(opened)
    lab.do(lab.panels["program"].refresh)
    lab.do(lab.session.edited)
    opened.settle()
    bad_line(opened)
    with opened.page.expect_download() as download:
        opened.button("Save").click()
    download.value.save_as(tmp_path / "saved.yaml")
    assert (tmp_path / "saved.yaml").read_text(encoding="utf-8") == BAD
    second = open_page(lab, "program")
    bad_line(second)
    expect(second.panel.get_by_label("Program text")).not_to_be_editable()
    write(opened, BAD.replace("mine", "ours"))
    expect(second.panel.get_by_label("Program text")).to_have_value(BAD.replace("mine", "ours"))
    write(opened, BAD)
    second.page.close()
    opened.page.reload()
    opened.ready()
    opened.show()
    bad_line(opened)


def test_text_typed_when_the_page_is_reloaded_is_not_lost(lab, opened):
    editor = opened.panel.get_by_label("Program text")
    editor.fill(SHORT + "# typed last\n")
    opened.page.reload()
    opened.ready()
    opened.show()
    expect(editor).to_have_value(SHORT + "# typed last\n")
    assert lab.panels["program"].document.text == SHORT + "# typed last\n"


def test_a_refresh_leaves_the_text_being_typed_and_its_caret(lab, opened):
    write(opened, SHORT)
    editor = opened.panel.get_by_label("Program text")
    editor.focus()
    editor.press("Control+Home")
    editor.press_sequentially("# one ")
    program = lab.panels["program"]
    # Another content of the panel, as when the cell has no robot the program names.
    lab.do(lambda: lab.channel.put({"panel/program": program.html() + "<p>more</p>"}))
    expect(opened.panel.get_by_text("more", exact=True)).to_be_visible()
    editor.press_sequentially("two\n")
    assert editor_text(opened) == "# one two\n" + SHORT
    assert program.document.text == SHORT  # not sent before the editor is left
    editor.press("Escape")
    opened.settle()
    assert program.document.text == "# one two\n" + SHORT


BUILT = """name: built
robots:
  scara1:
    - wait: 1s
    - wait: 2s
    - repeat:
        times: 2
        do: []
"""


def test_steps_are_dragged_moved_by_keys_and_undone(lab, opened):
    write(opened, BUILT)
    opened.panel.locator("details").evaluate_all("(all) => all.forEach((one) => (one.open = true))")
    steps = opened.panel.get_by_role("listbox", name="Steps of scara1").get_by_role("option")
    expect(steps).to_have_text(["1wait1 s", "2wait2 s", "3loop2 times"])
    steps.nth(0).drag_to(steps.nth(2), target_position={"x": 60, "y": 20})  # into the loop
    expect(steps).to_have_text(["1wait2 s", "2loop2 times", "3wait1 s"])
    assert "        do:\n          - wait: 1s\n" in editor_text(opened)
    steps.nth(0).click()
    expect(steps.nth(0)).to_have_attribute("aria-selected", "true")
    steps.nth(0).press("Alt+ArrowDown")
    expect(steps).to_have_text(["1loop2 times", "2wait2 s", "3wait1 s"])
    expect(steps.nth(1)).to_be_focused()
    opened.panel.locator("brazo-step-form").get_by_label("Time", exact=True).fill("0.5")
    opened.panel.locator("brazo-step-form").get_by_label("Time", exact=True).press("Enter")
    expect(steps.nth(1)).to_have_text("2wait0.5 s")
    steps.nth(1).locator("i").click()
    expect(steps.nth(1)).to_have_class(re.compile("break"))
    steps.nth(1).focus()
    steps.nth(1).press("F9")
    expect(steps.nth(1)).not_to_have_class(re.compile("break"))
    steps.nth(1).press("Delete")
    expect(steps).to_have_count(2)
    for _ in range(4):
        opened.page.get_by_role("button", name="Undo", exact=True).click()
    expect(steps).to_have_text(["1wait1 s", "2wait2 s", "3loop2 times"])
    assert editor_text(opened) == BUILT


def drag(opened, step, to, share: float) -> None:
    """Drag a step with the mouse to a height (0 to 1) of another step or of an empty list."""
    mouse = opened.page.mouse
    step.scroll_into_view_if_needed()
    to.scroll_into_view_if_needed()
    start, end = step.bounding_box(), to.bounding_box()
    mouse.move(start["x"] + 40, start["y"] + start["height"] / 2)
    mouse.down()
    mouse.move(end["x"] + 60, end["y"] + share * end["height"], steps=6)
    mouse.up()


def test_steps_are_dragged_to_another_robot_with_the_mouse(lab, opened):
    write(opened, BUILT)
    resized(opened.page, 820, 1000)  # both lists are in view
    lists = [opened.panel.locator(f"brazo-steps[robot=scara{k}]") for k in (1, 2)]
    first, second = (one.get_by_role("option") for one in lists)
    expect(second).to_have_count(0)
    drag(opened, first.nth(1), lists[1].locator("p"), 0.5)  # to the robot without steps
    expect(second).to_have_text(["1wait2 s"])
    expect(first).to_have_text(["1wait1 s", "2loop2 times"])
    drag(opened, first.nth(0), second.nth(0), 0.2)  # before its first step
    expect(second).to_have_text(["1wait1 s", "2wait2 s"])
    expect(first).to_have_text(["1loop2 times"])
    drag(opened, second.nth(1), first.nth(0), 0.8)  # back, into a loop
    expect(second).to_have_text(["1wait1 s"])
    expect(first).to_have_text(["1loop2 times", "2wait2 s"])
    assert "do:\n          - wait: 2s\n" in editor_text(opened)
    for _ in range(3):
        opened.page.get_by_role("button", name="Undo", exact=True).click()
    expect(first).to_have_text(["1wait1 s", "2wait2 s", "3loop2 times"])
    expect(second).to_have_count(0)
    resized(opened.page, 820, 420)


def test_the_editor_colours_completes_and_widens(lab, opened):
    write(opened, BUILT)
    editor = opened.panel.get_by_label("Program text")
    paint = opened.panel.locator("brazo-editor .paint")
    expect(paint.locator(".verb")).to_have_text(["wait", "wait", "repeat"])
    expect(paint.locator(".number")).to_have_text(["1s", "2s", "2"])
    opened.button("Wide editor").click()
    until(lambda: opened.panel.locator("brazo-editor").bounding_box()["width"] > 600)
    stop = opened.page.get_by_role("button", name="STOP", exact=True)
    stop.click(trial=True)  # not covered
    editor.press("Control+End")
    editor.press_sequentially("    - mo")
    menu = opened.panel.get_by_role("listbox", name="Completions")
    expect(menu.get_by_role("option")).to_have_text(["move_joints", "move_to"])
    editor.press("ArrowDown")
    editor.press("Enter")
    editor.press_sequentially("{xyz: [1, 0, 0], pl")
    editor.press("Tab")
    editor.press_sequentially("fr")
    editor.press("Enter")
    editor.press_sequentially(", in: bar")
    expect(menu.get_by_role("option")).to_have_text(["bar 1", "bar 2", "bar 3"])
    editor.press("Enter")
    editor.press_sequentially("}")
    typed = "    - move_to: {xyz: [1, 0, 0], plan: free, in: bar 1}"
    until(lambda: editor_text(opened).endswith(typed))
    editor.press("Escape")
    until(lambda: opened.panel.locator("brazo-editor").bounding_box()["width"] < 400)
    expect(opened.panel.locator("brazo-steps li")).to_have_count(4)
