"""Old public names work for one release and warn with the new name."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import pytest

import brazo
from brazo import deprecation
from brazo.deprecation import renamed_option
from brazo.errors import BrazoError
from brazo.recording import Recording
from brazo.world.cell import GripperSettings
from brazo.world.cell_file import load_cell, parse_cell


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("brazo.control", "CompiledLaw", "CompiledControlLaw"),
        ("brazo.control", "law_loop", "controller_loop"),
        ("brazo.control", "laws", "controllers"),
        ("brazo.program", "NoWay", "NoPath"),
        ("brazo.program.steps", "Arrival", "Tolerance"),
        ("brazo.program.steps", "Pace", "Speed"),
        ("brazo.control", "Signals", "ControlSignals"),
        ("brazo.program", "Mover", "MovingRobot"),
        ("brazo.recording", "Event", "RecordedEvent"),
        ("brazo.teleop", "Box", "BoxWall"),
        ("brazo.teleop", "Cylinder", "CylinderWall"),
        ("brazo.teleop", "Report", "LinkReport"),
        ("brazo.teleop", "State", "SafetyState"),
        ("brazo.teleop", "Tracker", "JointTracker"),
        ("brazo.teleop", "View", "LinkView"),
        ("brazo.teleop.mapping", "Target", "JointTarget"),
        ("brazo.teleop.proxy", "Script", "FaultScript"),
        ("brazo.teleop.bilateral", "Command", "ForceCommand"),
        ("brazo.teleop.bilateral", "Moment", "LoopState"),
        ("brazo.teleop.bilateral", "Report", "BilateralReport"),
        ("brazo.teleop.devices", "Hand", "HandState"),
        ("brazo.teleop.devices", "Pointed", "PageHandle"),
        ("brazo.teleop.proxy", "Step", "FaultStep"),
    ],
)
def test_old_names_are_available_with_a_warning(module, old, new):
    home = importlib.import_module(module)
    with pytest.warns(DeprecationWarning, match=f"'{module}.{new}'") as warned:
        assert getattr(home, old) is getattr(home, new)
    assert warned[0].filename == __file__  # the user's line, so that Python shows it


def test_an_unknown_name_is_an_attribute_error():
    home = importlib.import_module("brazo.control")
    with pytest.raises(AttributeError, match=r"brazo\.control.*nothing_like_it"):
        _ = home.nothing_like_it


def test_an_old_keyword_argument_is_moved_to_the_new_one():
    options = {"law": "PID", "kp": 1.0}
    with pytest.warns(DeprecationWarning, match=r"set\(controller=…\)"):
        renamed_option(options, "law", "controller", "set")
    assert options == {"controller": "PID", "kp": 1.0}


def test_attributes_that_moved_to_another_object():
    sim = brazo.Simulation("solo-puma560")
    robot = sim.robots["puma560"]
    for owner, old, new in (
        (sim, "add_task", sim.tasks.add),
        (sim, "remove_task", sim.tasks.remove),
        (sim, "start_recording", sim.recording.start),
        (sim, "stop_recording", sim.recording.stop),
        (sim, "abandon_recording", sim.recording.abandon),
        (sim, "recorder", None),
        (sim, "clear_faults", sim.faults.clear),
        (sim, "scheduled_faults", ()),
        (robot, "law", "ComputedTorque"),
        (robot, "load", None),
        (robot, "remaining", 0.0),
        (robot, "restart", robot.control.restart),
        (robot.world, "clamp", None),
        (robot.world, "gripper_row", -1),
        (robot.world, "shares", robot.world.engine.shares),
        (sim.world, "substeps", sim.world.compiled.substeps),
    ):
        with pytest.warns(DeprecationWarning, match=f"'{old}' is now"):
            assert getattr(owner, old) == new
    with pytest.warns(DeprecationWarning, match="'robot' is now"):
        assert sim.robot("puma560") is robot  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="'Simulation' object has no attribute 'stepp'"):
        _ = sim.stepp  # type: ignore[attr-defined]


def test_properties_of_old_names():
    from brazo.trajectory import Timing

    with pytest.warns(DeprecationWarning, match="'profile'"):
        assert Timing("cubic", 1.0).law == "cubic"


def test_contact_response_is_read_and_set_under_its_old_name():
    robot = brazo.Simulation("solo-puma560").robots["puma560"]
    for owner in (robot, robot.world):
        with pytest.warns(DeprecationWarning, match="'contact_response'"):
            owner.force_feedback = False  # type: ignore[attr-defined]
        assert not owner.contact_response
        with pytest.warns(DeprecationWarning, match="'contact_response'"):
            assert not owner.force_feedback  # type: ignore[attr-defined]
        owner.contact_response = True


def test_fields_of_cells_under_their_old_names():
    cell = load_cell("solo-puma560")
    settings = GripperSettings(hold_force=7.0)
    with pytest.warns(DeprecationWarning, match=r"Cell\(gripper=…\)") as warned:
        changed = replace(cell, clamp=settings)
    assert changed.gripper is settings and warned[0].filename != deprecation.__file__
    with pytest.warns(DeprecationWarning, match="'clamp' is now 'gripper'"):
        assert changed.clamp is settings  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match=r"CellRobot\(contact_response=…\)"):
        robot = replace(cell.robots[0], force_feedback=False)
    assert not robot.contact_response


def test_keys_of_cell_files_under_their_old_names():
    robot = "{name: a, robot: scara1, force_feedback: off}"
    text = f"name: old\nclamp: {{hold_force: 5N}}\nrobots: [{robot}]"
    with pytest.warns(DeprecationWarning) as warned:
        cell = parse_cell(text)
    assert cell.gripper.hold_force == 5.0 and not cell.robots[0].contact_response
    assert [str(one.message).split(";")[0] for one in warned] == [
        "'clamp' is now 'gripper'", "'force_feedback' is now 'contact_response'",
    ]  # fmt: skip
    assert [(one.line, one.field) for one in cell.findings] == [
        (2, "clamp"), (3, "robots[0].force_feedback"),
    ]  # fmt: skip
    with pytest.raises(BrazoError, match="'clamp' is now 'gripper', and both are given"):
        parse_cell("name: both\nclamp: {hold_force: 5N}\ngripper: {hold_force: 5N}")


@pytest.mark.parametrize(("stored", "wanted"), [("clamp", "gripper"), ("gripper", "clamp")])
def test_signals_of_grippers_under_either_name(stored, wanted):
    t = np.arange(3.0)
    recording = Recording({"t": (t, "s"), f"arm.{stored}.force": (2.0 * t, "N")})
    for read in (
        lambda name: recording[name],
        lambda name: recording.select(name).matrix(f"arm.{stored}")[:, 0],
    ):
        with pytest.warns(DeprecationWarning, match="`clamp` in names of signals is now `gripper`"):
            assert np.array_equal(read(f"arm.{wanted}.force"), 2.0 * t)
    with pytest.warns(DeprecationWarning):
        assert recording.unit(f"arm.{wanted}.force") == "N"
