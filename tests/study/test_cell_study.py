"""Studies of a cell: friction against Coulomb's law, errors of frames, failures and files."""

import json
import math
import textwrap
from pathlib import Path

import numpy as np
import pytest

import brazo
from brazo.program import parse_program
from brazo.program.frames import FrameErrors
from brazo.program.variation import nominal_loads
from brazo.study import CellStudy, read_results, values
from brazo.study.cell_factors import vary_cell
from brazo.study.results import proportion
from brazo.world import parse_cell

MASS = 0.4
CELL = """
name: lift
robots:
  - {name: arm, robot: scara2, parameters: {L_base: 0.305}, start: [0, 45deg, 45deg, 0.02, 0]}
bodies:
  - {name: bar, box: [20cm, 30mm, 30mm], mass: 0.4, xyz: [0.2, 0.4, 15mm], friction: 0.3}
"""
PROGRAM = """
name: lift
cell: lift
goals:
  - {body: bar, at: [0.2, 0.4, 65mm], within: 2cm}
robots:
  arm:
    - move_to: {xyz: [0, 0, 60mm], rpy: [180deg, 0, 0], in: bar, gripper_symmetric: on}
    - line: {xyz: [0, 0, 6mm], in: bar}
    - grip: {body: bar, force: 60N}
    - line: {by: [0, 0, 5cm], time: 2s}
    - wait: 0.5s
"""


def lift(**options) -> CellStudy:
    return CellStudy(parse_cell(CELL), parse_program(PROGRAM), until=20.0, **options)


def test_a_grip_holds_what_friction_can_carry(tmp_path) -> None:
    # Half the force of a grip acts on each of two pads, which carry 2 µ F/2.
    mu = 0.5
    least = MASS * 9.81 / mu
    forces = least * np.array([0.7, 0.93, 1.07, 2.0])
    study = lift(cases={"oily": {"pad_friction": mu}}, factors={"grip_force": values(forces)})
    results = study.run(tmp_path, jobs=1)
    assert results["success"].tolist() == [0.0, 0.0, 1.0, 1.0]
    assert list(results.failures) == [0, 1]
    assert all(results.failed_steps[run].startswith("arm, ") for run in results.failures)
    assert (results["steps"] == np.rint(results["time"] / 1e-3)).all()
    expected = proportion(2, 4)
    assert (results.success().low, results.success().high) == (expected.low, expected.high)


def test_a_run_of_a_study_is_that_of_the_program(tmp_path) -> None:
    factors = {"mass_error": values(0.5), "bar.x": values(0.01)}
    results = lift(factors=factors).run(tmp_path, jobs=1)
    cell = vary_cell(parse_cell(CELL), {"mass_error": 0.5, "bar.x": 0.01}, 0).cell
    assert cell.bodies[0].mass == pytest.approx(1.5 * MASS)
    assert cell.bodies[0].pose[0, 3] == pytest.approx(0.21)
    sim = brazo.Simulation(cell)
    execution = parse_program(PROGRAM).start(sim, load=nominal_loads(parse_cell(CELL)))
    sim.run(execution)
    assert execution.succeeded and results["success"][0] == 1.0
    assert results["time"][0] == sim.time


def test_a_measurement_error_moves_the_tool_by_that_much() -> None:
    sim = brazo.Simulation(parse_cell(CELL))
    error = np.eye(4)
    error[:2, 3] = 3e-3, -2e-3
    steps = PROGRAM.split("    - line")[0]
    errors = FrameErrors(bodies={"bar": error})
    execution = parse_program(steps.replace("goals:\n", "#").replace("  - {body", "#  - {body"))
    found = execution.start(sim, frame_errors=errors)
    sim.run(found)
    tool, bar = sim.robots["arm"].tool()[:3, 3], sim.world.pose("bar")[:3, 3]
    assert tool - bar == pytest.approx([3e-3, -2e-3, 60e-3], abs=2e-4)


def test_errors_of_a_base_turn_about_the_base() -> None:
    sim = brazo.Simulation(
        parse_cell(CELL.replace("name: arm,", "name: arm, base: {xyz: [1, 0, 0]},"))
    )
    turn = np.eye(4)
    angle = math.radians(90.0)
    turn[:2, :2] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    errors = FrameErrors(bases={"arm": turn})
    robot, T = sim.robots["arm"], np.eye(4)
    T[:3, 3] = 2.0, 0.0, 0.5
    assert errors.apply(robot, "bar", T)[:3, 3] == pytest.approx([1.0, 1.0, 0.5])
    assert errors.apply(robot, "tool", T) is T  # fixed to the robot


def test_errors_have_their_standard_deviation() -> None:
    cell = parse_cell(CELL)
    offsets = np.array(
        [vary_cell(cell, {"position_error": 2e-3}, seed).cell.bodies[0].pose[:2, 3]
         for seed in range(400)]
    ) - cell.bodies[0].pose[:2, 3]  # fmt: skip
    assert offsets.std(axis=0) == pytest.approx([2e-3, 2e-3], rel=0.12)
    assert np.abs(offsets.mean(axis=0)).max() < 4e-4


def test_a_failing_run_does_not_sink_the_others_and_processes_change_nothing(tmp_path) -> None:
    # The second value is beyond the gripper: an error when the program starts.
    factors = {"grip_force": values(60.0, 1e5), "mass_error": values(0.0, 0.3)}
    one = lift(factors=factors).run(tmp_path / "one", jobs=1)
    two = lift(factors=factors).run(tmp_path / "two", jobs=2)
    assert one["success"].tolist() == [1.0, 1.0, 0.0, 0.0]
    assert list(one.failures) == [2, 3] and "100000" in one.failures[2]
    files = [(tmp_path / name / "results.parquet").read_bytes() for name in ("one", "two")]
    assert files[0] == files[1]
    assert two.cost is not None and two.cost.runs == 4 and two.cost.core_seconds > 0.0
    page = one.to_html(tmp_path / "report.html").read_text()
    assert "50.0 % of the runs succeed" in page and "Success against grip_force" in page


def test_a_limit_ends_the_run(tmp_path) -> None:
    results = lift(success={"time": 0.5}).run(tmp_path, jobs=1)
    assert results["success"][0] == 0.0 and results["time"][0] < 0.75
    assert results.failures[0].startswith("time = 0.")


def test_a_single_controller_name_is_one_entry() -> None:
    assert list(lift(controllers="PID").controllers) == ["PID"]


def test_the_shipped_study_has_200_runs() -> None:
    study = brazo.load_study("cooperative")
    assert isinstance(study, CellStudy) and study.runs == 200
    assert study.program.name == study.cell.name == "cooperative"
    assert sum(len(chunk.rows) for chunk in study.chunks) == 200


FILE = """
    cell: lift.yaml
    program: lift-program.yaml
    factors:
      pad_friction: {uniform: [0.2, 1]}
      bar.yaw: {values: [0, 5deg]}
    cases:
      nominal: {}
      heavy: {bar.mass: 2kg}
    samples: 2
    until: 10s
    success: {collisions: 0}
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "lift.yaml").write_text(CELL)
    (tmp_path / "lift-program.yaml").write_text(PROGRAM)
    return tmp_path


def test_a_study_file_of_a_cell(folder) -> None:
    study = brazo.study.parse_study(textwrap.dedent(FILE), folder / "s.yaml")
    assert isinstance(study, CellStudy) and study.runs == 2 * 4
    assert study.cases["heavy"] == {"bar.mass": 2.0} and study.until == 10.0
    assert study.factors["bar.yaw"].values == pytest.approx((0.0, math.radians(5.0)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("pad_friction: {un", "pat_friction: {un", "5: factors.pat_friction: unknown factor"),
        ("bar.yaw", "bar.pitch", "6: .*no quantity 'pitch'; quantities: x, y, z, yaw"),
        ("[0, 5deg]", "[]", "6: factors.bar.yaw.values: no values"),
        ("[0, 5deg]", "[0, 5mm]", "6: .*is a length, expected an angle"),
        ("[0.2, 1]", "[-0.2, 1]", "5: .*pad_friction.*greater than 0"),
        ("[0.2, 1]", "[1, 0.2]", "5: .*the first number must be the smaller"),
        ("bar.mass: 2kg", "pad_friction: 1", "9: .*is both a factor and a value of case 'heavy'"),
        ("bar.mass: 2kg", "bar.mass: 0kg", "9: .*must be greater than 0"),
        ("collisions", "colisions", "12: success.colisions: no metric"),
        ("lift.yaml", "left.yaml", "2: cell: .*no such file"),
        ("until: 10s", "untl: 10s", "11: .*untl"),
        ("samples: 2", "samples: 0", "10: samples"),
    ],
)  # fmt: skip
def test_mistakes_name_line_and_field(folder, old, new, message) -> None:
    text = textwrap.dedent(FILE)
    assert old in text
    with pytest.raises(brazo.BrazoError, match=message):
        brazo.study.parse_study(text.replace(old, new, 1), folder / "s.yaml")


def test_the_command_prints_success_and_cost(folder) -> None:
    from typer.testing import CliRunner

    from brazo.cli.main import app

    file = folder / "s.yaml"
    file.write_text("cell: lift.yaml\nprogram: lift-program.yaml\n")
    command = ["study", "run", str(file), "-o", str(folder / "out"), "-j", "1"]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.output
    assert "100 %" in first.output and "cell steps/s" in first.output
    assert "bytes per run" in first.output
    again = CliRunner().invoke(app, [*command, "--json"])
    assert json.loads(again.output)["success"][0] == 1.0
    assert read_results(folder / "out").complete


def test_the_contents_of_svg_files_count_for_the_fingerprint(tmp_path):
    text = """
        name: draw
        robots:
          arm:
            - repeat:
                times: 2
                do: [path: {svg: {file: a.svg, width: 2cm, centre: [0.2, 0.4, 0.1]}, time: 2s}]
    """

    def fingerprint(folder: str, y: int) -> str:
        path = tmp_path / folder / "p.yaml"
        path.parent.mkdir(exist_ok=True)
        (path.parent / "a.svg").write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0 L9 {y}"/></svg>'
        )
        program = parse_program(textwrap.dedent(text), path)
        return CellStudy(parse_cell(CELL), program, until=20.0).fingerprint

    first = fingerprint("a", 1)
    assert fingerprint("b", 1) == first
    assert fingerprint("a", 2) != first
