"""`brazo id | fd | simulate`: inverse dynamics, forward dynamics and simulation."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from brazo import units
from brazo.cli.given_motion import given_motion
from brazo.cli.interruption import samples_kept
from brazo.cli.kinematics import joint_values, number_of
from brazo.cli.output import number, print_json, print_line, progress_bar, table
from brazo.cli.overwriting import FORCE, require_replaceable
from brazo.cli.quoted_values import QuotedValuesCommand
from brazo.cli.robot_options import ARG, JSON, RAD, RAD_IN_AND_OUT, ROBOT, TIP
from brazo.cli.unit_warnings import load_robot
from brazo.cli.user_code import load_function
from brazo.errors import BrazoError

FORMATS = (".parquet", ".csv", ".xlsx", ".mcap")
T_END = 2.0  # s

_Q = typer.Option(..., "--q", help="Joint values 'v1 v2 …' (deg, m), or a pose's name.")
_QD = typer.Option(None, "--qd", help="Joint speeds (deg/s, m/s); default at rest.")
_WRENCH = typer.Option(
    None, help="Force (N) and moment (N m) on the tool, in base axes: 'fx fy fz mx my mz'."
)


def register(app: typer.Typer) -> None:
    app.command("id", cls=QuotedValuesCommand)(inverse_dynamics)
    app.command("fd", cls=QuotedValuesCommand)(forward_dynamics)
    app.command("simulate", cls=QuotedValuesCommand)(simulate)


def inverse_dynamics(
    robot: str = ROBOT,
    q: str = _Q,
    qd: str = _QD,
    qdd: str = typer.Option(None, "--qdd", help="Joint accelerations (deg/s², m/s²); default 0."),
    wrench: str = _WRENCH,
    rad: bool = RAD,
    tip: str = TIP,
    arg: list[str] = ARG,
    json: bool = JSON,
) -> None:
    """Inverse dynamics: joint torques for given positions, velocities and accelerations.

    The inertia, Coriolis, gravity, friction and --wrench terms of the torques are shown too.
    """
    arm = load_robot(robot, tip, arg)
    position = joint_values(arm, _words(q), rad)
    speed, gain = _rates(arm, qd, rad, "qd"), _rates(arm, qdd, rad, "qdd")
    force = _wrench(wrench)
    tau = arm.inverse_dynamics(position, speed, gain, wrench=force)
    parts = {
        "tau": tau,
        "inertia": arm.mass_matrix(position) @ gain,
        "coriolis": arm.coriolis(position, speed) @ speed,
        "gravity": arm.gravity(position),
    }
    parts["friction"] = arm.inverse_dynamics(position, speed, gain) - sum(list(parts.values())[1:])
    if force is not None:
        parts["wrench"] = -arm.jacobian(position).T @ force
    if json:
        print_json({"q": position, "qd": speed, "qdd": gain, **parts})
        return
    _print(arm, "Joint torques [N m, N]", parts)


def forward_dynamics(
    robot: str = ROBOT,
    q: str = _Q,
    qd: str = _QD,
    tau: str = typer.Option(None, help="Joint torques (N m, N); default none."),
    wrench: str = _WRENCH,
    rad: bool = RAD_IN_AND_OUT,
    tip: str = TIP,
    arg: list[str] = ARG,
    json: bool = JSON,
) -> None:
    """Forward dynamics: joint accelerations for given torques."""
    arm = load_robot(robot, tip, arg)
    position = joint_values(arm, _words(q), rad)
    speed, torque = _rates(arm, qd, rad, "qd"), _plain(arm.n, tau, "tau")
    gain = arm.forward_dynamics(position, speed, torque, wrench=_wrench(wrench))
    if json:
        print_json({"q": position, "qd": speed, "tau": torque, "qdd": gain})
        return
    scale = np.array(
        [1.0 if rad or kind == "prismatic" else 180.0 / math.pi for kind in arm.joint_kinds]
    )
    unit = "rad/s², m/s²" if rad else "deg/s², m/s²"
    _print(arm, f"Joint accelerations [{unit}]", {"qdd": scale * gain})


def simulate(
    robot: str = ROBOT,
    torque: Path = typer.Option(
        None,
        help="A Python file with a function torque(t, q, qd) that returns one number per joint "
        "(N m, N); t in s, q and qd in rad, m and rad/s, m/s. Default: no torque.",
    ),
    trajectory: Path = typer.Option(
        None,
        help="Motion to follow. A Python file with a function trajectory(t) that returns q, qd, "
        "qdd (rad, m, s), or with a variable duration (s) and a function tool(t) that returns a "
        "point or a pose; an .npy array of shape (joints, samples, 3); a trajectory file (.yaml); "
        "or a recording, whose tool path is followed.",
    ),
    trace: Path = typer.Option(
        None, help="Write the tool path with the state of the pen: .csv, in m and s."
    ),
    q0: str = typer.Option(None, help="Initial joint values (deg, m), or a pose's name."),
    qd0: str = typer.Option(None, help="Initial joint speeds (deg/s, m/s)."),
    t_end: float = typer.Option(
        None, help="End of the run (s); default: the end of --trajectory, or 2 if it has none."
    ),
    dt: float = typer.Option(1e-3, help="Time step of rk4 or output interval of dopri5 (s)."),
    method: str = typer.Option("rk4", help="Integration method: rk4 or dopri5."),
    rtol: float = typer.Option(1e-9, help="Relative tolerance of dopri5."),
    stops: bool = typer.Option(False, "--stops", help="Hard stops: joints halt at their limits."),
    output: Path = typer.Option(
        None, "-o", "--output", help="Write the run: .parquet, .csv, .xlsx or .mcap."
    ),
    force: bool = FORCE,
    rad: bool = RAD_IN_AND_OUT,
    tip: str = TIP,
    arg: list[str] = ARG,
    json: bool = JSON,
) -> None:
    """Simulate a robot with given torques, or compute the torques of a given motion.

    Without --torque and --trajectory, the joint torques are 0.
    """
    if trajectory is not None and (torque, q0, qd0) != (None, None, None):
        raise BrazoError("--trajectory prescribes the motion: omit --torque, --q0 and --qd0")
    if trajectory is not None and (stops or method != "rk4"):
        raise BrazoError("--trajectory prescribes the motion: omit --method and --stops")
    if output is not None and output.suffix.lower() not in FORMATS:
        raise BrazoError(f"{output}: unknown file type; the name must end in {', '.join(FORMATS)}")
    require_replaceable(output, force=force)
    if trace is not None and trace.suffix.lower() != ".csv":
        raise BrazoError(f"{trace}: the name of a trace must end in .csv")
    require_replaceable(trace, force=force)
    arm = load_robot(robot, tip, arg)
    pen: Any = None

    def write(run: Any) -> None:
        assert output is not None
        about = {"robot": run.robot, "method": run.method} | _source(arm, output)
        replace(run.recording, about=about).to(output)

    with samples_kept(output, write):
        if trajectory is not None:
            motion, pen = given_motion(trajectory, arm)
            end = getattr(motion, "end", T_END if callable(motion) else None)
            run = arm.follow(motion, end if t_end is None else t_end, dt)
        else:
            start = None if q0 is None else joint_values(arm, _words(q0), rad)
            with progress_bar(f"simulating {arm.name}") as progress:
                run = arm.simulate(
                    None if torque is None else load_function(torque, "torque", "torque(t, q, qd)"),
                    start,
                    _rates(arm, qd0, rad, "qd0"),
                    T_END if t_end is None else t_end,
                    method=method,
                    dt=dt,
                    rtol=rtol,
                    stops=stops,
                    progress=progress,
                )
        if output is not None:
            write(run)
    if trace is not None:
        from brazo.trajectory import tool_trace

        tool_trace(run.t, run.tool[:, :3, 3], pen).to_csv(trace)
    violations = _limit_violations(arm, run)
    report = {
        "robot": run.robot,
        "method": run.method,
        "samples": len(run.t),
        "t_end": run.t[-1],
        "q": run.q[-1],
        "qd": run.qd[-1],
        "tool": run.tool[-1, :3, 3],
        "energy": None if run.energy is None else run.energy[-1],
        "energy_change": None if run.energy is None else np.ptp(run.energy.sum(axis=1)),
        "limit_violations": violations,
        "limits_passed": violations,  # deprecated name
        "output": None if output is None else str(output),
        "trace": None if trace is None else str(trace),
    }
    if json:
        print_json(report)
        return
    _print_run(arm, run, report, rad, given=trajectory is not None)


def _source(arm, output: Path) -> dict[str, str]:
    """Return the entries of a recording that describe the robot; a replay needs them.

    The result is empty if `output` is not a .parquet file.  If the robot cannot be stored, a note
    is printed.
    """
    if output.suffix.lower() != ".parquet":
        return {}
    from brazo.lab.app.opening import as_cell
    from brazo.recording.origin import LEFT_OUT
    from brazo.world.recorded_cell import recorded_source

    found = recorded_source(as_cell(arm))
    if reason := found.get(LEFT_OUT):
        print_line(f"note: the recording does not contain the robot: {reason}", style="yellow")
    path = arm.model.path
    return found if path is None else {**found, "cell_file": str(path.absolute())}


def _print_run(arm, run, report: dict, rad: bool, given: bool) -> None:
    """Print the summary of a run; `given` is True if the motion was prescribed."""

    def position(i: int, value: float) -> str:
        if arm.joint_kinds[i] == "prismatic":
            return number(value, 5)
        return number(value if rad else math.degrees(value), 4 if rad else 3)

    unit = "rad" if rad else "deg"
    rows = []
    for i, name in enumerate(arm.joint_names):
        tau = "" if run.tau is None else number(float(np.abs(run.tau[:, i]).max()), 4)
        rows.append((name, *(position(i, run.q[k, i]) for k in (0, -1)), tau))
    print_line(f"{run.robot}: {run.method}, {len(run.t)} samples to {run.t[-1]:g} s")
    columns = ("joint", "start", "end", "max |torque|")
    table(f"Joint positions [{unit}, m], torques [N m, N]", columns, rows)
    passed = []
    for found in report["limit_violations"]:
        turns = arm.joint_kinds[arm.joint_names.index(found["joint"])] == "revolute"
        limit = math.degrees(found["limit"]) if turns and not rad else found["limit"]
        where = f"{limit:.6g} {unit if turns else 'm'}"
        passed.append(f"{found['joint']} {where} at {found['t']:g} s")
    if passed:
        advice = "" if given else "; --stops stops joints there"
        print_line(f"joint limits exceeded: {', '.join(passed)}{advice}", style="yellow")
    if run.energy is not None:
        kinetic, potential = run.energy[-1]
        print_line(
            f"energy at the end: kinetic {kinetic:.6g} J, potential {potential:.6g} J; "
            f"total changed by {report['energy_change']:.3g} J over the run"
        )
    for name in ("output", "trace"):
        if report[name]:
            print_line(f"wrote {report[name]}")


def _limit_violations(arm, run) -> list[dict]:
    """Return the joints that exceeded a limit, each with the limit (rad, m) and the time (s).

    The time is that of the first violation, and the list is sorted by time.
    """
    found = []
    for name, q, (low, high) in zip(arm.joint_names, run.q.T, arm.limits, strict=True):
        beyond = (q < low - 1e-9) | (q > high + 1e-9)
        if beyond.any():
            k = int(beyond.argmax())
            limit = float(low if q[k] < low else high)
            found.append({"joint": name, "limit": limit, "t": float(run.t[k])})
    return sorted(found, key=lambda passed: passed["t"])


def _print(arm, title: str, rows: dict) -> None:
    table(
        title,
        ("", *arm.joint_names),
        [(name, *(number(float(x), 5) for x in values)) for name, values in rows.items()],
    )


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _rates(arm, text: str | None, rad: bool, what: str) -> np.ndarray:
    values = _plain(arm.n, text, what)
    if rad:
        return values
    revolute = np.array([kind == "revolute" for kind in arm.joint_kinds])
    return np.where(revolute, np.radians(values), values)


def _plain(count: int, text: str | None, what: str) -> np.ndarray:
    if text is None:
        return np.zeros(count)
    words = _words(text)
    if len(words) != count:
        raise BrazoError(f"--{what}: expected {count} values in quotes, got {len(words)}")
    return np.array([number_of(word, units.NUMBER, f"--{what}") for word in words])


def _wrench(text: str | None) -> np.ndarray | None:
    return None if text is None else _plain(6, text, "wrench")
