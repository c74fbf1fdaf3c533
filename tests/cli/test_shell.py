"""The shell commands: real processes, exit codes, tables and JSON."""

import json
import math
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import brazo
from brazo.cli.main import app, main
from tests.cli.command import brazo as run

BAD = """\
name: arm
joints:
  - {a: 0.3, mass: 1, inertia: [1, 1, 1]}
  - {a: 0.2, mass: -1}
"""


def test_help_is_quick_and_lists_the_verbs():
    # CPU time, which is the waiting time on an idle machine.
    best = math.inf
    for _ in range(3):
        before = os.times()
        result = subprocess.run(
            [sys.executable, "-m", "brazo", "--help"], capture_output=True, encoding="utf-8"
        )
        after = os.times()
        spent = sum(after[2:4]) - sum(before[2:4])
        best = min(best, spent)
    assert result.returncode == 0
    for verb in ("robots", "show", "check", "export", "fk", "ik", "id", "fd", "simulate", "lab"):
        assert verb in result.stdout
    assert best < 0.5


def test_robots_are_listed():
    result = run("robots")
    assert result.returncode == 0
    for name in ("puma560", "scara2", "delta", "panda"):
        assert name in result.stdout
    listed = json.loads(run("robots", "--json").stdout)
    assert {k: listed[0][k] for k in ("name", "joints")} == {"name": "delta", "joints": 3}


def test_show_has_the_tables():
    result = run("show", "scara2")
    assert result.returncode == 0
    for text in ("D-H table, standard convention", "quill", "prismatic", "L_base", "home"):
        assert text in result.stdout
    everything = json.loads(run("show", "rv2aj-printed", "--json").stdout)
    assert everything["dh"][0]["d"] == 0.2975
    assert everything["inertia"] == [None] * 5
    delta = json.loads(run("show", "delta", "--json").stdout)
    assert delta["L2"] == 0.5 and delta["platform_mass"] == 0.25
    drives = run("show", "puma560-drives").stdout
    assert (
        "107.815" in drives and "coulomb" in drives and "Tool frame" in run("show", "scara1").stdout
    )
    assert "Gripper: opening 0 to 80 mm, max force 120 N" in result.stdout


def test_show_check_and_lab_report_the_tip_and_accept_another(tmp_path, monkeypatch):
    path = tmp_path / "arm.xml"
    path.write_text(
        """<mujoco><worldbody><body name="a"><joint name="j1"/><geom size="0.1"/>
        <body name="b"><joint name="j2"/><geom size="0.1"/><site name="gripperframe"/>
        <body name="moving_jaw"><joint name="jaw"/><geom size="0.1"/></body>
        </body></body></worldbody></mujoco>"""
    )
    reason = "named like a tool; joint 'jaw' moves fingers"
    for verb in ("show", "check"):
        shown = CliRunner().invoke(app, [verb, str(path)])
        line = f"tip: gripperframe ({reason}); --tip LINK chooses another"
        assert line in shown.stdout.replace("\n", " ")
        given = CliRunner().invoke(app, [verb, str(path), "--tip", "b", "--json"])
        assert json.loads(given.stdout)["tip"] == {"link": "b", "reason": "given"}
    opened = []

    def serve(source, **options):
        opened.append(source)
        return SimpleNamespace(jobs=SimpleNamespace(busy=False))

    monkeypatch.setattr("brazo.lab.serving.serve", serve)
    assert CliRunner().invoke(app, ["lab", str(path), "--tip", "moving_jaw"]).exit_code == 0
    assert opened[0].model.tip_choice.link == "moving_jaw"


def test_fk_and_ik_report_implausible_values_and_still_compute():
    runner = CliRunner()
    result = runner.invoke(app, ["fk", "scara1", "10", "20", "30", "40", "50", "--json"])
    message = (
        "30 m (30000 mm) is outside the limits 0 .. 200 mm of joint 'quill'; did you mean 30mm?"
    )
    assert result.exit_code == 0
    assert json.loads(result.stdout)["warnings"] == [message]
    assert f"warning: {message}" in result.stderr
    result = runner.invoke(app, ["fk", "scara1", "10", "200", "30mm", "40", "50"])
    assert "200 deg is outside the limits" in result.stderr
    assert runner.invoke(app, ["fk", "scara1", "home"]).stderr == ""
    far = ["ik", "puma560", "--xyz", "400", "100", "500", "--json"]
    result = runner.invoke(app, far)
    assert result.exit_code == 1
    assert "did you mean 400mm 100mm 500mm?" in json.loads(result.stdout)["warnings"][0]
    far[3:6] = ["400mm", "100mm", "500mm"]
    result = runner.invoke(app, far)
    assert (json.loads(result.stdout)["warnings"], result.stderr) == ([], "")


def test_a_pose_of_a_robot_with_one_slide_is_known_by_name(tmp_path):
    path = tmp_path / "rail.yaml"
    path.write_text(
        "name: rail\njoints: [{name: x, type: prismatic, a: 0.1, limits: [0, 1]}]\n"
        "poses: {home: [0.2]}\n",
        encoding="utf-8",
    )
    result = CliRunner().invoke(app, ["fk", str(path), "home", "--json"])
    assert result.exit_code == 0, result.exception
    assert json.loads(result.stdout)["q"] == [0.2]


def test_check_prints_file_line_field_and_exits_2(tmp_path):
    path = tmp_path / "arm.yaml"
    path.write_text(BAD, encoding="utf-8")
    result = run("check", str(path))
    assert result.returncode == 2
    assert result.stderr.strip() == (f"error: {path}:4: joints[1].mass: -1 is below the minimum, 0")
    assert "Traceback" not in result.stderr
    as_json = run("check", str(path), "--json")
    assert as_json.returncode == 2
    assert json.loads(as_json.stdout)["ok"] is False
    path.write_text(BAD.replace("-1", "1"), encoding="utf-8")
    result = run("check", str(path))
    assert result.returncode == 0
    assert "has mass but no inertia" in result.stdout


CELL = """\
name: cell
robots:
  - {name: arm, robot: scara1, start: away, grasp: glue}
bodies:
  - {name: bar, mass: 400, box: [1, 2]}
  - {name: ball, mas: 1kg, sphere: 3cm, colour: [1, 0, 0]}
"""
PROGRAM = """\
name: task
cell: cooperative
robots:
  scara1:
    - move_to: {xyz: [1cm, 2kg, 3cm], plan: fre}
    - for_each: {of: [bar 1], do: [{grip: {body: $bar}}]}
  scara2:
    - lin: {by: [0, 0, 1cm]}
"""
STRANGE = """\
name: task
cell: cooperative
goals: [{body: bar 9, through: chute}]
robots:
  scara1:
    - repeat: {times: 3, do: [{grip: {force: 900N}}]}
    - set_controller: {controller: PIDD}
    - set_controller: {gains: {kp: 3}}
    - line: {xyz: [0, 0, 0], in: moon}
    - sync: both
  scara7: [{sync: both}]
"""


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (CELL, ["3: robots[0].grasp", "3: robots[0].start", "5: bodies[0].box", "6: bodies[1]",
                "6: bodies[1]"]),
        (PROGRAM, ["5: robots.scara1[0].move_to.xyz[1]", "5: robots.scara1[0].move_to.plan",
                   "6: robots.scara1[1].for_each", "8: robots.scara2[0]"]),
        (STRANGE, ["3: goals", "6: grip", "7: set_controller", "9: line", "11: robots"]),
    ],
)  # fmt: skip
def test_check_reports_every_error_of_a_cell_or_program(text, places, tmp_path):
    path = tmp_path / "file.yaml"
    path.write_text(text, encoding="utf-8")
    result = run("check", str(path))
    message = [line.removeprefix(f"error: {path}:") for line in result.stderr.splitlines()]
    assert result.returncode == 2
    assert [": ".join(line.split(": ")[:2]) for line in message] == places
    errors = json.loads(run("check", str(path), "--json").stdout)["errors"]
    assert [error.removeprefix(f"{path}:") for error in errors] == message


@pytest.mark.parametrize(
    "arguments", [("fk", "puma650", "0"), ("show", "no.yaml"), ("ik", "scara1")]
)
def test_bad_input_exits_2_without_a_traceback(arguments):
    result = run(*arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr + result.stdout
    assert result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fk", "scara1", "0", "0", "abc", "0", "0"), "joint 'quill': unknown name 'abc' in 'abc'"),
        (
            ("fk", "scara1", "0", "0", "abc", "0", "0"),
            "expected a number, such as 0.4, 30deg or 5cm",
        ),
        (("fk", "scara1", "5cm", "0", "0", "0", "0"), "joint 'shoulder': '5cm' is a length"),
        (("ik", "scara1", "--xyz", "0.3", "0", "up"), "--xyz: unknown name 'up'"),
        (("id", "scara1", "--q", "home", "--qd", "0 0 0 0 x"), "--qd: unknown name 'x'"),
        (("id", "scara1", "--q", "home", "--qd", "0"), "--qd: expected 5 values in quotes, got 1"),
        (("id", "scara1", "--q", "0", "90", "0", "0", "0"), "in quotes: --q '0 90 0 0 0'"),
        (("fd", "scara1", "--q=0", "-30", "0", "0", "0"), "in quotes: --q '0 -30 0 0 0'"),
        (("simulate", "scara1", "--q0", "10deg", "5"), "in quotes: --q0 '10deg 5'"),
        (("ik", "scara1", "--xyz", "0", "0", "0", "--q0", "0", "1"), "in quotes: --q0 '0 1'"),
    ],
)
def test_invalid_number_is_reported_with_its_option(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["brazo", *arguments])
    with pytest.raises(SystemExit) as exit_:
        main()
    assert exit_.value.code == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("robots",), 0),
        (("fk", "scara1", "home", "--json"), 0),
        (("simulate", "scara1", "--t-end", "0.1", "-o", "run.csv"), 0),
        (("ik", "puma560", "--xyz", "3", "0", "0.5"), 1),
        (("--help",), 0),
    ],
)
def test_closed_output_pipe_does_not_change_exit_code_or_files(arguments, code, tmp_path):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "brazo", *arguments],
            stdout=closed,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            timeout=60,
        )
    assert (done.returncode, done.stderr) == (code, b"")
    assert (tmp_path / "run.csv").is_file() == ("run.csv" in arguments)


def test_closed_error_pipe_does_not_change_exit_code(tmp_path):
    (tmp_path / "bad.yaml").write_text("name: arm\njoints: none\n", encoding="utf-8")
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        command = [sys.executable, "-m", "brazo", "check", "bad.yaml"]
        done = subprocess.run(command, stdout=closed, stderr=closed, cwd=tmp_path, timeout=60)
    assert done.returncode == 2


def test_check_accepts_the_name_of_a_cell(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["brazo", "check", "teleop-wall"])
    with pytest.raises(SystemExit) as exit_:
        main()
    assert exit_.value.code == 0
    assert capsys.readouterr().out.startswith("ok: cell teleop-wall, master, follower")


def test_fk_and_ik_are_inverse():
    values = [10.0, 60.0, -80.0, 20.0, 30.0, -40.0]
    pose = json.loads(run("fk", "puma560", *map(str, values), "--json").stdout)
    assert np.abs(np.array(pose["T"]) - brazo.load("puma560").fk(np.radians(values))).max() == 0.0
    w, x, y, z = pose["wxyz"]
    result = run(
        "ik", "puma560", "--xyz", *map(repr, pose["xyz"]),
        "--quat", *map(repr, (w, x, y, z)), "--json",
    )  # fmt: skip
    assert result.returncode == 0
    solutions = json.loads(result.stdout)
    assert len(solutions["all"]) == 8
    best = min(np.abs(np.degrees(s["q"]) - values).max() for s in solutions["all"])
    assert best < 1e-7
    table = run("ik", "puma560", "--xyz", "0.4", "0.1", "0.5", "--rpy", "0", "180", "0")
    assert table.returncode == 0 and "LEFTY" in table.stdout and "FLIP" in table.stdout


@pytest.mark.parametrize("robot", ["scara1", "puma560", "delta"])
@pytest.mark.parametrize("z", ["-0.3", "3"], ids=["near", "far"])
def test_ik_of_a_position_reports_no_orientation_error(robot, z):
    point = ("ik", robot, "--xyz", "0.1", "0.2", z)
    shown = run(*point).stdout
    assert "error" not in shown or re.search(r"error [\d.]+ mm:", shown)
    assert json.loads(run(*point, "--json").stdout)["orientation_error"] is None


def test_units_and_poses_on_the_shell():
    by_unit = run("fk", "scara1", "30deg", "-0.5rad", "5cm", "0", "-10", "--json")
    assert by_unit.returncode == 0
    q = json.loads(by_unit.stdout)["q"]
    assert q == pytest.approx([math.radians(30), -0.5, 0.05, 0, math.radians(-10)])
    by_name = run("fk", "scara1", "home", "--frames")
    assert by_name.returncode == 0 and "link 5" in by_name.stdout


def test_out_of_reach_exits_1_with_the_reason():
    result = run("ik", "puma560", "--xyz", "3", "0", "0.5", "--rpy", "0", "0", "0")
    assert result.returncode == 1
    assert "not reached" in result.stdout and "m" in result.stdout


def test_exported_files_load_as_the_same_robot(tmp_path):
    for option, name in (("--urdf", "puma560.urdf"), ("--mjcf", "puma560.xml")):
        result = run("export", "puma560", option, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        arm, again = brazo.load("puma560"), brazo.load(tmp_path / name)
        q = arm.random_q(20, seed=1)
        assert np.abs(again.fk(q) - arm.fk(q)).max() < 1e-9
    assert run("export", "puma560", cwd=tmp_path).returncode == 2
    refused = run("export", "delta", "--urdf", cwd=tmp_path)
    assert refused.returncode == 2 and "--mjcf" in refused.stderr


def test_export_keeps_the_source_file_and_requires_the_suffix(tmp_path):
    assert run("export", "scara1", "--urdf", "-o", "own.urdf", cwd=tmp_path).returncode == 0
    before = (tmp_path / "own.urdf").read_bytes()
    refused = run("export", "own.urdf", "--urdf", "-o", "own.urdf", "-f", cwd=tmp_path)
    assert refused.returncode == 2 and "is the robot's source file" in refused.stderr
    assert (tmp_path / "own.urdf").read_bytes() == before
    for option, ending in (("--urdf", ".urdf"), ("--mjcf", ".xml")):
        refused = run("export", "scara1", option, "-o", "arm.yaml", "-f", cwd=tmp_path)
        assert refused.returncode == 2 and f"file name must end in {ending}" in refused.stderr
    assert not (tmp_path / "arm.yaml").exists()


def test_inverse_and_forward_dynamics_are_inverse():
    torque = json.loads(
        run("id", "puma560", "--q", "nominal", "--qdd", "9 8 7 6 5 4", "--json").stdout
    )
    parts = np.array(torque["inertia"]) + torque["coriolis"] + torque["gravity"]
    assert np.abs(parts - torque["tau"]).max() < 1e-12
    words = " ".join(map(repr, torque["tau"]))
    back = json.loads(run("fd", "puma560", "--q", "nominal", "--tau", words, "--json").stdout)
    assert np.degrees(back["qdd"]) == pytest.approx([9, 8, 7, 6, 5, 4], abs=1e-9)
    table = run("id", "scara1", "--q", "home")
    assert "gravity" in table.stdout and "[N m, N]" in table.stdout
    refused = run("id", "rv2aj-maker", "--q", "home")
    assert refused.returncode == 2 and "kinematic only" in refused.stderr


@pytest.mark.parametrize("verb", ["fk", "ik", "fd", "simulate"])
def test_help_of_rad_includes_the_output(verb):
    """These commands print angles, which --rad switches to radians."""
    shown = CliRunner().invoke(app, [verb, "--help"]).stdout
    assert "Angles without a unit are radians, in input and output." in " ".join(shown.split())


def test_limit_violations_of_a_fall_are_reported(tmp_path):
    fall = run("simulate", "scara1", "--q0", "home", "--t-end", "0.5")
    # The quill falls freely: 0.05 m + g t² / 2 = 0.2 m.
    reached = math.ceil(1000 * math.sqrt(2 * 0.15 / 9.81)) / 1000
    message = f"joint limits exceeded: quill 0.2 m at {reached:g} s; --stops stops joints there"
    assert message in fall.stdout
    plain = json.loads(run("simulate", "scara1", "--t-end", "0.5", "--json").stdout)
    (violation,) = plain["limit_violations"]
    assert violation == {"joint": "quill", "limit": 0.2, "t": pytest.approx(reached)}
    assert plain["limits_passed"] == plain["limit_violations"]  # deprecated name
    assert "limits" not in run("simulate", "scara1", "--t-end", "0.5", "--stops").stdout
    turned = run("simulate", "puma560", "--t-end", "0.5").stdout
    assert "shoulder -45 deg at 0.414 s" in turned
    path = tmp_path / "turn.py"
    path.write_text("def trajectory(t): return [4 * t] + 4 * [0], [4] + 4 * [0], 5 * [0]\n")
    given = run("simulate", "rv2aj-maker", "--trajectory", str(path), "--t-end", "1").stdout
    assert "joint limits exceeded: " in given and "--stops" not in given


def test_simulate_writes_a_table_with_units(tmp_path):
    from brazo.recording.recording import Recording

    forces = tmp_path / "forces.py"
    forces.write_text("def torque(t, q, qd):\n    return -1e-3 * qd\n", encoding="utf-8")
    for name in ("run.parquet", "run.csv", "run.xlsx"):
        result = run(
            "simulate", "srm1", "--torque", str(forces), "--q0", "zero", "--t-end", "0.5",
            "-o", str(tmp_path / name),
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        if name.endswith(".xlsx"):
            assert (tmp_path / name).read_bytes()[:2] == b"PK"
            continue
        recording = Recording.open(tmp_path / name)
        # The names a recording of a simulation has.
        assert recording.unit("srm1.torque.elbow") == "N m" and len(recording) == 501
        assert recording.unit("srm1.q.elbow") == "rad" and "srm1.tool.x" in recording
        assert recording["energy.kinetic"][0] == 0.0
    refused = run("simulate", "srm1", "-o", "run.doc")
    assert refused.returncode == 2 and ".xlsx" in refused.stderr
    path = tmp_path / "path.py"
    path.write_text("def trajectory(t):\n    return [t] * 5, [1] * 5, [0] * 5\n", encoding="utf-8")
    follow = run("simulate", "rv2aj-maker", "--trajectory", str(path), "--t-end", "0.1", "--json")
    assert json.loads(follow.stdout)["q"] == pytest.approx([0.1] * 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def torque(t, q, qd)\n    pass\n", "forces.py:1: not valid Python"),
        ("x = 1\n", "has no function torque(t, q, qd)"),
        ("import nowhere\n", "forces.py:1: raised ModuleNotFoundError"),
        ("def torque(t, q, qd):\n    return q[:2]\n", "has shape (2,); expected (6,)"),
        ("def torque(t, q, qd):\n    return 1 / 0\n", "raised ZeroDivisionError at t = 0 s"),
    ],
)
def test_user_files_get_clear_errors(tmp_path, text, message):
    forces = tmp_path / "forces.py"
    forces.write_text(text, encoding="utf-8")
    result = run("simulate", "puma560", "--torque", str(forces))
    assert result.returncode == 2
    assert message in result.stderr and "Traceback" not in result.stderr


def test_misspelt_pose_gets_a_suggestion():
    result = run("id", "puma560", "--q", "nominall")
    assert result.returncode == 2
    assert "no pose named 'nominall'; did you mean 'nominal'?" in result.stderr


def test_t_end_cuts_a_trajectory_file(tmp_path):
    path = tmp_path / "motion.npy"
    t = 0.01 * np.arange(501)
    np.save(path, np.stack([np.stack([0.1 * t, 0.1 + 0 * t, 0 * t], axis=-1)] * 5))
    options = ("simulate", "rv2aj-maker", "--trajectory", str(path), "--dt", "0.01", "--json")
    whole, cut = (json.loads(run(*options, *more).stdout) for more in ((), ("--t-end", "3")))
    assert whole["t_end"] == pytest.approx(5.0)
    assert cut["t_end"] == pytest.approx(3.0) and cut["samples"] == 301
    late = run(*options, "--t-end", "6")
    assert late.returncode == 2 and "ends at 5 s, before 6 s" in late.stderr


def test_diverged_run_exits_with_1_not_2(tmp_path):
    forces = tmp_path / "push.py"
    forces.write_text("def torque(t, q, qd):\n    return [0, 1e9, 0, 0, 0, 0]\n")
    diverged = run("simulate", "puma560", "--torque", str(forces), "--dt", "0.5", "--t-end", "10")
    assert diverged.returncode == 1
    assert (
        diverged.stderr.startswith("error: the state of joint ")
        and "is not finite" in diverged.stderr
    )
    assert "Traceback" not in diverged.stderr
    refused = run("simulate", "puma560", "--method", "euler")
    assert refused.returncode == 2


def test_check_warns_about_a_singular_mass_matrix_and_fd_rejects_it(tmp_path):
    path = tmp_path / "balanced.yaml"
    path.write_text(
        "name: balanced\njoints:\n"
        "  - {name: shoulder, a: 0.5, mass: 1, com: [0, 0, 0]}\n"
        "  - {name: elbow, a: 0.5, mass: 1, com: [-0.5, 0, 0]}\n"
    )
    checked = run("check", str(path))
    assert checked.returncode == 0
    words = " ".join(checked.stdout.split())
    assert "mass matrix is not positive definite" in words and "joint 'elbow'" in words
    for command in (("fd", str(path), "--q", "10 20"), ("simulate", str(path))):
        refused = run(*command)
        assert refused.returncode == 2
        assert "joint 'elbow' moves no inertia" in refused.stderr
        assert "Traceback" not in refused.stderr


XACRO = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="length" default="0.3"/><xacro:arg name="side" default="left"/>
<link name="base"/><link name="$(arg side)_link"/>
<joint name="j" type="revolute"><parent link="base"/><child link="$(arg side)_link"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<link name="tip"/><joint name="f" type="fixed"><parent link="$(arg side)_link"/>
<child link="tip"/><origin xyz="$(arg length) 0 0"/></joint></robot>"""


def test_arguments_of_a_xacro_file(tmp_path):
    path = tmp_path / "arm.xacro"
    path.write_text(XACRO, encoding="utf-8")

    def run(*words: str):
        return CliRunner().invoke(app, [words[0], str(path), *words[1:]])

    given = run("fk", "0", "--arg", "length=0.5", "--arg", "side:=right", "--json")
    assert json.loads(given.stdout)["xyz"] == [0.5, 0.0, 0.0]
    shown = run("show", "--arg", "side=right", "--tip", "right_link", "--json")
    assert json.loads(shown.stdout)["tip"]["link"] == "right_link"
    assert "argument 'sde' is not declared" in run("check", "--arg", "sde=right").stdout
    for wrong, said in {"side": "expected NAME=VALUE", "=3": "expected NAME=VALUE"}.items():
        refused = run("check", "--arg", wrong)
        assert said in str(refused.exception)
    refused = CliRunner().invoke(app, ["fk", "puma560", "ready", "--arg", "a=b"])
    assert "arguments are only allowed for xacro files" in str(refused.exception)
