"""Robots and cells in a browser: open, import, refuse with a reason."""

from __future__ import annotations

import io
import zipfile

import pytest
import trimesh
from playwright.sync_api import Locator, Page, expect

from brazo.body.meshes import stl_bytes
from tests.lab.panels.acting import drawn, show, typed, unfold, until

pytestmark = pytest.mark.browser

GOOD = """\
name: {name}
parameters: {{L: 0.4}}
joints:
  - {{name: swing, a: L, limits: [-90deg, 90deg], mass: 1, com: [-0.2, 0, 0],
     inertia: {{box: [L, 0.05, 0.05]}}}}
"""
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def lab(running):
    with running("robot:scara1") as lab:
        lab.do(lab.sim.player.pause)
        yield lab


@pytest.fixture(scope="module")
def opened(lab, open_page):
    return open_page(lab, "robots")


@pytest.fixture
def page(opened) -> Page:
    return opened.page


@pytest.fixture
def panel(page) -> Locator:
    return show(page, "Robots and cells")


def bring(panel: Locator, name: str, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": data}
    panel.locator("input[type=file]").first.set_input_files([file])  # type: ignore[list-item]


def test_shipped_cells_and_robots_are_opened_by_a_click(lab, page, panel):
    panel.get_by_role("button", name="panda", exact=False).first.click()
    drawn(page, "panda")
    assert lab.robot.n == 7
    lab.do(lab.sim.player.pause)
    expect(panel.get_by_role("button", name="panda").first).to_have_attribute(
        "aria-pressed", "true"
    )


def test_the_tab_of_the_panel_in_front_can_be_read(page, panel):
    for title in ("Equations", "Inspector", "Robots and cells"):
        show(page, title)
        expect(page.get_by_role("tab", name=title, exact=True)).to_be_in_viewport(ratio=0.98)


def test_a_good_robot_file_is_shown_at_once(lab, page, panel):
    bring(panel, "swing.yaml", GOOD.format(name="swing"))
    drawn(page, "swing")
    assert lab.robot.arm.parameters["L"] == 0.4
    expect(panel.locator("brazo-problem")).to_be_hidden()
    lab.do(lab.sim.player.pause)


def test_a_bad_file_says_where_it_is_wrong_and_the_cell_stays(lab, page, panel):
    before = lab.sim
    bring(panel, "bad.yaml", "name: bad\njoints:\n  - {a: 0.3,\n     mass: 2deg}\n")
    problem = panel.locator("brazo-problem")
    expect(problem).to_contain_text(
        "bad.yaml:4: joints[0].mass: '2deg' is an angle, expected a mass (units: kg, g, lb)"
    )
    assert "/" not in problem.locator("span").inner_text().partition(":")[0]  # no folder of ours
    assert lab.sim is before
    bring(panel, "worse.yaml", "name: worse\njoints:\n  - {a: 1kg, mass: 2deg}\n  - {aa: 0.3}\n")
    expect(problem).to_contain_text("worse.yaml:3: joints[0].a: '1kg'")
    reported = problem.locator("span").inner_text().split("\n")
    assert [line.split(" ")[1] for line in reported] == [
        "joints[0].a:",
        "joints[0].mass:",
        "joints[1]:",
    ]
    bring(panel, "bad.urdf", "<robot name='x'>\n<link name='a'>\n</robot>")
    expect(problem).to_contain_text("bad.urdf:3")
    problem.get_by_role("button", name="Dismiss the problem").click()
    expect(problem).to_be_hidden()


def test_a_name_that_is_markup_stays_text(lab, opened, page, panel):
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    bring(panel, "evil.yaml", GOOD.format(name=f'"{EVIL}"').replace("swing", EVIL))
    drawn(page, EVIL)
    lab.do(lab.sim.player.pause)
    assert lab.robot.name == EVIL
    for title in ("Inspector", "Dimensions", "Equations", "Teach pendant", "Scene"):
        shown = show(page, title)
        assert shown.locator("img").count() == 0, title
    assert page.locator("img[src=x]").count() == 0
    expect(page.locator("#panel-scene")).to_contain_text(EVIL)
    expect(page.locator(".brazo-status .selected")).to_have_text(EVIL)
    assert opened.errors == []


def test_what_is_too_large_or_of_another_kind_is_refused(lab, page, panel):
    bring(panel, "notes.txt", "hello")
    expect(page.locator(".brazo-notices")).to_contain_text("notes.txt: expected a file ending in")
    # The page sends what it has; the lab looks at the size that is announced and cuts it off.
    page.evaluate(
        """() => {
            const upload = document.querySelector("#panel-robots brazo-upload");
            upload.bring(new File([new Uint8Array(80 << 20)], "large.stl"));
        }"""
    )
    expect(page.locator(".brazo-notices")).to_contain_text("large.stl: 83.9 MB; at most 67 MB")


def test_a_description_with_its_meshes_comes_as_an_archive(lab, page, panel):
    corners = ["0 0 0", "0.1 0 0", "0 0.1 0", "0 0 0.1"]
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    mesh = "solid t\n" + "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {corners[i]}\n" for i in face)
        + "endloop\nendfacet\n"
        for face in faces
    )
    urdf = (
        '<robot name="packed"><link name="a"/><link name="b"><visual><geometry>'
        '<mesh filename="package://packed_description/meshes/t.stl"/></geometry></visual></link>'
        '<joint name="j" type="revolute"><parent link="a"/><child link="b"/>'
        '<axis xyz="0 0 1"/><limit lower="-1" upper="1"/></joint></robot>'
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("packed_description/urdf/packed.urdf", urdf)
        archive.writestr("packed_description/meshes/t.stl", mesh + "endsolid t\n")
    bring(panel, "packed.zip", packed.getvalue())
    drawn(page, "packed")
    lab.do(lab.sim.player.pause)
    shapes = [part.shape for part in lab.robot.arm.parts[1]]
    assert len(shapes) == 1 and shapes[0].path.name == "t.stl"
    expect(panel.get_by_role("button", name="packed.urdf")).to_have_attribute(
        "aria-pressed", "true"
    )


def test_what_is_odd_in_the_files_is_listed(lab, page, panel):
    panel.locator('brazo-openings[name="robots"]').get_by_role(
        "button", name="puma560 Unimation"
    ).click()
    drawn(page, "puma560")
    unfold(panel, "Warnings")
    expect(panel.locator("brazo-findings[name=findings]")).to_contain_text("triangle inequality")
    lab.do(lab.sim.player.pause)


def bring_cad(panel: Locator, name: str, content: bytes) -> None:
    unfold(panel, "CAD assembly")
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    panel.locator("input[type=file]").nth(1).set_input_files([file])  # type: ignore[list-item]


def test_a_cad_assembly_becomes_a_robot_that_is_opened(lab, page, panel):
    box = trimesh.creation.box((0.2, 0.2, 0.1))
    bring_cad(panel, "base.stl", stl_bytes(box.vertices, box.faces))
    expect(panel.get_by_text("base, named as base; 10.8 kg at 2700 kg/m³")).to_be_visible()
    drawn(page, "rv2aj")
    until(page, lambda: "base_robot" in str(lab.sim.cell.path))
    assert len(lab.robot.arm.parts[0]) == 1
    lab.do(lab.sim.player.pause)


def test_a_cad_file_with_unknown_parts_says_what_to_enter(lab, page, panel):
    box = trimesh.creation.box((0.2, 0.2, 0.1))
    before = lab.sim
    bring_cad(panel, "bracket.stl", stl_bytes(box.vertices, box.faces))
    problem = panel.locator("brazo-problem")
    expect(problem).to_contain_text('Part map: "bracket=LINK"')
    assert lab.sim is before
    typed(panel.get_by_label("Part map"), "bracket=link 2")
    bring_cad(panel, "bracket.stl", stl_bytes(box.vertices, box.faces))
    until(page, lambda: "bracket_robot" in str(lab.sim.cell.path))
    lab.do(lab.sim.player.pause)
