"""`brazo robots | show | check | export`: list, print, check and export robots."""

from __future__ import annotations

import math
from pathlib import Path
from textwrap import shorten

import typer

from brazo.cli.file_kind import cell_of, kind_of
from brazo.cli.output import number, print_json, print_line, table
from brazo.cli.overwriting import FORCE, require_replaceable
from brazo.cli.robot_options import ARG, ROBOT, TIP, arguments_of
from brazo.cli.unit_warnings import load_robot
from brazo.errors import BrazoError


def register(app: typer.Typer) -> None:
    app.command("robots")(list_robots)
    app.command("show")(show)
    app.command("check")(check)
    app.command("export")(export)


def list_robots(json: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
    """List the robots that ship with brazo."""
    import brazo
    from brazo.formats.library import robot_names

    robots = [brazo.load(name) for name in robot_names()]
    if json:
        print_json([_summary(robot) for robot in robots])
        return
    rows = [
        (
            robot.name,
            str(robot.n),
            robot.model.structure,
            "yes" if robot.has_dynamics else "kinematic only",
            shorten(robot.about.split(". ")[0].rstrip("."), 60, placeholder=" …"),
        )
        for robot in robots
    ]
    table("", ("name", "joints", "structure", "dynamics", "about"), rows, left=5, wrap=4)


def show(
    robot: str = ROBOT,
    tip: str = TIP,
    arg: list[str] = ARG,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show a robot: joints, D-H table, limits, inertia, poses, warnings."""
    import brazo

    arm = brazo.load(robot, tip=tip, arguments=arguments_of(arg))
    if json:
        print_json(_everything(arm))
        return
    print_line(f"{arm.name}", style="bold")
    if arm.about:
        print_line(" ".join(arm.about.split()))
    _show_joints(arm)
    model = arm.model
    if model.lengths:
        rows = [(one.name, number(one.value), one.about) for one in model.lengths]
        azimuths = ", ".join(f"{math.degrees(a):g}°" for a in model.details()["azimuths"])
        rows.append(("azimuths", azimuths, "arms about the vertical axis"))
        table("Lengths [m]", ("", "value", "part"), rows)
    _show_dh(arm)
    _show_inertia(arm)
    _show_drives(arm)
    _show_tool(arm)
    if arm.parameters:
        rows = [(name, f"{value:g}") for name, value in arm.parameters.items()]
        table("Parameters (SI)", ("name", "value"), rows)
    if arm.poses:
        rows = [(name, *_position_texts(arm, q)) for name, q in arm.poses.items()]
        table("Poses [deg, m]", ("name", *arm.joint_names), rows)
    for finding in arm.findings:
        print_line(f"warning: {finding}", style="yellow")


def check(
    file: str = typer.Argument(
        help="A robot (.yaml, .urdf, .xacro, .xml), cell or program file, project folder, or name."
    ),
    tip: str = TIP,
    arg: list[str] = ARG,
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Check a robot, cell or program file, or a project.

    Errors and warnings are printed with file and line.  The exit code is 2 if there is an error.
    """
    import brazo
    from brazo.body.drawable import undrawable
    from brazo.formats.library import robot_names
    from brazo.project.folder import is_project
    from brazo.world.cell_file import cell_names

    try:
        if is_project(file):
            _check_project(file, json)
            return
        shipped = file in cell_names() and file not in robot_names()
        if shipped or kind_of(file) in ("cell", "program"):
            _check_cell_or_program(file, json)
            return
        arm = brazo.load(file, tip=tip, arguments=arguments_of(arg))
        if found := undrawable(arm.model):
            raise BrazoError("\n".join(f"{file}: {one}" for one in found))
    except BrazoError as error:
        errors = _mistakes(file) or str(error).split("\n")
        if json:
            print_json({"ok": False, "error": errors[0], "errors": errors, "findings": []})
            raise typer.Exit(2) from error
        raise BrazoError("\n".join(errors)) from error
    if json:
        findings = [str(finding) for finding in arm.findings]
        print_json({"ok": True, "findings": findings, **_summary(arm), "tip": _tip(arm)})
        return
    for finding in arm.findings:
        print_line(f"warning: {finding}", style="yellow")
    _show_tip(arm)
    dynamics = "with dynamics" if arm.has_dynamics else "kinematic only (inertia missing)"
    joints = f"{arm.n} joint{'' if arm.n == 1 else 's'}"
    warnings = f"{len(arm.findings)} warning{'' if len(arm.findings) == 1 else 's'}"
    print_line(f"ok: {arm.name}, {joints}, {dynamics}, {warnings}")


def _mistakes(file: str) -> list[str]:
    """Return the messages of all mistakes in a robot, cell or program file (YAML).

    The result is empty for other files.
    """
    from brazo.formats.document import read_document
    from brazo.formats.mistakes import mistakes
    from brazo.formats.robot_yaml.robot_file import RobotFile
    from brazo.program.program_file import read_program
    from brazo.world.cell_file import read_cell

    try:
        kind = kind_of(file)
        if kind is None:
            return []
        root = read_document(Path(file).expanduser())
    except BrazoError:
        return []
    if kind == "robot":
        return mistakes(root, lambda root: RobotFile(root).build())
    return mistakes(root, read_cell if kind == "cell" else read_program)


def _check_cell_or_program(file: str, json: bool) -> None:
    """Check a cell file, or a program file together with the cell that it refers to."""
    from brazo.body.drawable import require_drawable
    from brazo.program import load_program
    from brazo.simulation import Simulation

    program = load_program(file) if kind_of(file) == "program" else None
    cell = file if program is None else cell_of(program.path, program.cell)
    sim = Simulation(cell)
    for robot in sim.cell.robots:
        require_drawable(robot.model)
    if program is not None:
        program.start(sim)
    own = () if program is None else program.findings
    findings = [str(finding) for finding in (*own, *sim.findings)]
    if json:
        kind = "cell" if program is None else "program"
        name = sim.cell.name if program is None else program.name
        print_json({"ok": True, "findings": findings, "kind": kind, "name": name})
        return
    for finding in findings:
        print_line(f"warning: {finding}", style="yellow")
    warnings = f"{len(findings)} warning{'' if len(findings) == 1 else 's'}"
    robots = ", ".join(sim.robots) or "no robots"
    what = f"cell {sim.cell.name}" if program is None else f"program {program.name} in {cell}"
    print_line(f"ok: {what}, {robots}, {warnings}")


def _check_project(folder: str, json: bool) -> None:
    """Check the cell, points, controllers and programs of a project."""
    from brazo.body.drawable import require_drawable
    from brazo.program.controller_file import controllers_in
    from brazo.program.validate import validate
    from brazo.project.folder import Project
    from brazo.simulation import Simulation

    project = Project(folder)
    cell = project.cell()
    sim = Simulation(cell, controllers_in(cell, project.controllers()))
    for robot in sim.cell.robots:
        require_drawable(robot.model)
    findings, names = [str(one) for one in sim.findings], project.programs()
    for name in names:
        program = project.program(name)
        validate(program, sim)
        findings += [str(one) for one in program.findings]
    points = sum(len(some) for some in project.points().values())
    if json:
        print_json(
            {
                "ok": True,
                "findings": findings,
                "kind": "project",
                "name": project.name,
                "cell": sim.cell.name,
                "programs": names,
                "points": points,
            }
        )
        return
    for finding in findings:
        print_line(f"warning: {finding}", style="yellow")
    counts = (
        f"{len(names)} program{'' if len(names) == 1 else 's'}, "
        f"{points} point{'' if points == 1 else 's'}, "
        f"{len(findings)} warning{'' if len(findings) == 1 else 's'}"
    )
    print_line(f"ok: project {project.name}, cell {sim.cell.name}, {counts}")


def export(
    robot: str = ROBOT,
    urdf: bool = typer.Option(False, "--urdf", help="Write a URDF."),
    mjcf: bool = typer.Option(False, "--mjcf", help="Write an MJCF."),
    output: Path = typer.Option(None, "-o", "--output", help="File to write."),
    force: bool = FORCE,
    tip: str = TIP,
    arg: list[str] = ARG,
) -> None:
    """Write a robot as URDF or MJCF, with its meshes in a folder next to the file."""
    if urdf == mjcf:
        raise BrazoError("give either --urdf or --mjcf")
    arm = load_robot(robot, tip, arg)
    from brazo.formats.export import mesh_folder, safe_stem

    if urdf:
        from brazo.formats.urdf.writer import export_urdf as write

        path = output or Path(f"{safe_stem(arm.name)}.urdf")
    else:
        from brazo.formats.mjcf.writer import export_mjcf as write

        path = output or Path(f"{safe_stem(arm.name)}.xml")
    ending = ".urdf" if urdf else ".xml"
    if path.suffix.lower() != ending:
        raise BrazoError(
            f"{path}: {'a URDF' if urdf else 'an MJCF'} file name must end in {ending}"
        )
    if arm.model.path is not None and path.resolve() == arm.model.path.resolve():
        raise BrazoError(f"{path}: this is the robot's source file; choose another output file")
    require_replaceable(
        path, *mesh_folder(path, "urdf" if urdf else "mjcf").glob("*.stl"), force=force
    )
    for note in write(arm.model, path):
        print_line(f"{'left out' if urdf else 'note'}: {note}", style="yellow")
    print_line(f"wrote {path}")


def _summary(arm) -> dict:
    return {
        "name": arm.name,
        "joints": arm.n,
        "kinds": arm.joint_kinds,
        "dynamics": arm.has_dynamics,
        "about": arm.about,
    }


def _everything(arm) -> dict:
    result = _summary(arm) | {
        "joint_names": arm.joint_names,
        "limits": arm.limits,
        "parameters": dict(arm.parameters),
        "poses": dict(arm.poses),
        "links": arm.link_names,
        "findings": [str(finding) for finding in arm.findings],
    }
    result |= {
        "tip": _tip(arm),
        "tool": arm.model.tool,
        "drives": [
            {
                "max_torque": drive.max_torque,
                "max_speed": drive.max_speed,
                "gear": drive.gear,
                "motor_inertia": drive.motor_inertia,
                "viscous": friction.viscous,
                "coulomb": friction.coulomb,
            }
            for drive, friction in _drives(arm)
        ],
    }
    gripper = arm.model.gripper
    if gripper is not None:
        keys = ("opening", "max_force", "finger")
        result["gripper"] = {key: getattr(gripper, key) for key in keys}
    return result | arm.model.details()


def _position_texts(arm, q) -> list[str]:
    return [
        number(math.degrees(value), 2) if kind == "revolute" else number(value, 4)
        for value, kind in zip(q, arm.joint_kinds, strict=True)
    ]


def _show_joints(arm) -> None:
    rows = []
    low, high = _position_texts(arm, arm.limits[:, 0]), _position_texts(arm, arm.limits[:, 1])
    for i, (name, kind) in enumerate(zip(arm.joint_names, arm.joint_kinds, strict=True)):
        rows.append((str(i + 1), name, kind, low[i], high[i]))
    table("Joints [deg, m]", ("", "name", "type", "from", "to"), rows, left=3)


def _show_dh(arm) -> None:
    if not arm.model.dh:
        return
    rows = []
    for i, row in enumerate(arm.model.dh):
        theta, d = f"{math.degrees(row.constant_theta):.6g}", f"{row.constant_d:.6g}"
        if row.kind == "revolute":
            shift = f" {math.degrees(row.offset):+g}"
            theta = f"q{i + 1}" + ("" if row.offset == 0.0 else shift)
        else:
            d = f"q{i + 1}" + ("" if row.offset == 0.0 else f" {row.offset:+g}")
        rows.append((str(i + 1), theta, d, f"{row.a:.6g}", f"{math.degrees(row.alpha):.6g}"))
    title = f"D-H table, {arm.model.convention} convention [m, deg]"
    table(title, ("", "theta", "d", "a", "alpha"), rows)


def _show_inertia(arm) -> None:
    inertias = arm.model.inertias
    if all(I is None for _, I in inertias):
        print_line("No inertia is given: the robot is kinematic only.")
        print_line()
        return
    rows = []
    for name, I in inertias:
        if I is None:
            rows.append((name, "not given", *[""] * 6))
            continue
        diagonal = [f"{I.tensor[k, k]:.6g}" for k in range(3)]
        rows.append((name, f"{I.mass:g}", *(number(x) for x in I.com), *diagonal))
    table(
        "Inertia [kg, m, kg m²]",
        ("body", "mass", "com x", "y", "z", "Ixx", "Iyy", "Izz"),
        rows,
    )


def _drives(arm) -> list:
    """Return (drive, friction) of each joint."""
    return list(zip(arm.model.drives, arm.model.frictions, strict=True))


def _show_drives(arm) -> None:
    """Print the drive and friction parameters; columns with only default values are omitted."""
    drives = _drives(arm)
    columns: list[tuple[str, list[str]]] = []

    def column(title: str, values: list[float], unless: float) -> None:
        if any(value != unless for value in values):
            columns.append((title, ["" if value == unless else f"{value:.6g}" for value in values]))

    turns = [kind == "revolute" for kind in arm.joint_kinds]
    degrees = [math.degrees(1.0) if turn else 1.0 for turn in turns]
    column("max torque", [drive.max_torque for drive, _ in drives], math.inf)
    speeds = [drive.max_speed * k for (drive, _), k in zip(drives, degrees, strict=True)]
    column("max speed", speeds, math.inf)
    column("gear", [drive.gear for drive, _ in drives], 1.0)
    column("motor inertia", [drive.motor_inertia for drive, _ in drives], 0.0)
    column("viscous", [friction.viscous for _, friction in drives], 0.0)
    column("coulomb +", [friction.coulomb[0] for _, friction in drives], 0.0)
    column("coulomb -", [friction.coulomb[1] for _, friction in drives], 0.0)
    if not columns:
        return
    rows = [
        (str(i + 1), name, *(values[i] for _, values in columns))
        for i, name in enumerate(arm.joint_names)
    ]
    title = "Drives and friction [N m or N, deg/s or m/s, kg m², N m s/rad or N s/m]"
    table(title, ("", "name", *(title for title, _ in columns)), rows, left=2)


def _tip(arm) -> dict | None:
    """Return the link that carries the tool of an imported robot, and why it was chosen.

    Returns None for a robot that was not imported from URDF or MJCF.
    """
    choice = arm.model.tip_choice
    return None if choice is None else {"link": choice.link, "reason": choice.reason or "given"}


def _show_tip(arm) -> None:
    tip = _tip(arm)
    if tip is not None:
        hint = "" if tip["reason"] == "given" else "; --tip LINK chooses another"
        print_line(f"tip: {tip['link']} ({tip['reason']}){hint}")


def _show_tool(arm) -> None:
    _show_tip(arm)
    T = arm.model.tool
    if any(T[i, j] != float(i == j) for i in range(3) for j in range(4)):
        rows = [[f"{x:.6g}" for x in row] for row in T[:3].tolist()]
        table("Tool frame in the last link", ("x", "y", "z", "at [m]"), rows)
    gripper = arm.model.gripper
    if gripper is not None:
        low, high = (f"{1000 * x:g}" for x in gripper.opening)
        finger = " x ".join(f"{1000 * x:g}" for x in gripper.finger)
        print_line(
            f"Gripper: opening {low} to {high} mm, max force {gripper.max_force:g} N, "
            f"fingers {finger} mm\n"
        )
