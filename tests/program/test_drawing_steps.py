"""Steps that draw text, SVG files and strokes, from a program file."""

import numpy as np
import pytest

import brazo
from brazo.program import load_program

STEP = "orientation: nearest, plan: unchecked"
PLACE = "centre: [0.30, 0, 0.24]"


def test_a_program_draws_text_a_file_and_strokes(tmp_path):
    (tmp_path / "a.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0 L10 5 L3 9 z"/></svg>'
    )
    file = tmp_path / "p.yaml"
    file.write_text(
        f"""name: p
robots:
  rv2aj:
    - path: {{text: {{text: L, height: 20mm, {PLACE}}}, {STEP}, time: 2s}}
    - path: {{svg: {{file: a.svg, width: 20mm, {PLACE}}}, {STEP}, time: 2s}}
    - path: {{strokes: {{points: [[[0, 0], [1cm, 0], [1cm, 1cm]]], {PLACE}, smooth: off}}, {STEP},
             time: 2s}}
"""
    )
    sim = brazo.Simulation(brazo.load("rv2aj"), {"rv2aj": "ideal"})
    execution = load_program(file).start(sim)
    recording = sim.run(execution, 20.0)
    assert execution.succeeded, execution.failure
    tool = np.stack([recording[f"rv2aj.tool.{axis}"] for axis in "xyz"], axis=1)
    for corner in ([0.30, 0.0, 0.24], [0.31, 0.0, 0.24], [0.31, 0.01, 0.24]):
        assert np.linalg.norm(tool - corner, axis=1).min() < 1e-6


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("text: {text: é, height: 1cm, centre: [0, 0, 0]}", r"p\.yaml:4: .*text.text: the font"),
        ("svg: {file: ../a.svg, centre: [0, 0, 0]}", r"p\.yaml:4: .*svg.file: expected the name"),
        ("svg: {file: /a.svg, centre: [0, 0, 0]}", r"p\.yaml:4: .*svg.file: expected the name"),
        (r"svg: {file: '\a.svg', centre: [0, 0, 0]}", r"p\.yaml:4: .*svg.file: expected the name"),
        ("svg: {file: 'C:a.svg', centre: [0, 0, 0]}", r"p\.yaml:4: .*svg.file: expected the name"),
        ("svg: {centre: [0, 0, 0]}", r"p\.yaml:4: .*svg: curve 'svg' needs either 'file'"),
        ("strokes: {points: [[[0, 0]]], centre: [0, 0, 0]}", r"p\.yaml:4: .*points\[0\]: 1 points"),
    ],
)
def test_mistakes_name_file_line_and_field(tmp_path, step, message):
    file = tmp_path / "p.yaml"
    file.write_text(f"name: p\nrobots:\n  rv2aj:\n    - path: {{{step}}}\n")
    with pytest.raises(brazo.BrazoError, match=message):
        load_program(file)


def test_links_do_not_lead_out_of_the_folder(tmp_path):
    folder = tmp_path / "programs"
    folder.mkdir()
    (tmp_path / "a.svg").write_text("<svg/>")
    try:
        (folder / "a.svg").symlink_to(tmp_path / "a.svg")
    except OSError:
        pytest.skip("links are not allowed here")
    file = folder / "p.yaml"
    file.write_text(
        "name: p\nrobots:\n  rv2aj:\n    - path: {svg: {file: a.svg, centre: [0, 0, 0]}}\n"
    )
    with pytest.raises(brazo.BrazoError, match=r"p\.yaml:4: .*svg.file: 'a\.svg' is outside"):
        load_program(file)


def test_a_path_is_read_and_planned_once(tmp_path, monkeypatch):
    from brazo.program import moves
    from brazo.trajectory import PathInfeasible, curve_fields

    (tmp_path / "a.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0 L10 5 L3 9 z"/></svg>'
    )
    file = tmp_path / "p.yaml"
    place = "centre: [0.45, 0.1, 0.1]"
    file.write_text(
        "name: p\nrobots:\n  scara1:\n    - path: {svg: {file: a.svg, width: 2cm, "
        f"{place}}}, rpy: [180deg, 0, 0], orientation: nearest, plan: unchecked, time: 2s}}\n"
    )
    program = load_program(file)
    starts, reads, along, read = [], [], moves.along, curve_fields.read_svg
    refused = 1  # the nearest start is not feasible

    def counted(arm, make, q0, *more):
        starts.append(q0)
        motion = along(arm, make, q0, *more)
        if len(starts) <= refused:
            raise PathInfeasible("refused by the test", 0.5, np.zeros(3), "reach")
        return motion

    monkeypatch.setattr(moves, "along", counted)
    monkeypatch.setattr(curve_fields, "read_svg", lambda path: reads.append(path) or read(path))
    sim = brazo.Simulation(brazo.load("scara1"), {"scara1": "ideal"})
    execution = program.start(sim)
    sim.run(execution, 20.0)
    assert execution.succeeded, execution.failure
    assert len(starts) == 2 and len(reads) == 1
    motion, _ = execution.motions["scara1"]
    np.testing.assert_allclose(motion.sample(motion.start).q, starts[1], atol=1e-9)
    refused, starts[:] = 99, []
    execution = program.start(brazo.Simulation(brazo.load("scara1"), {"scara1": "ideal"}))
    execution.sim.run(execution, 20.0)
    assert not execution.succeeded and "refused by the test" in str(execution.failure)
