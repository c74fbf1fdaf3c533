"""Old public names work for one release and warn with the new name."""

from __future__ import annotations

import importlib

import pytest

from brazo.deprecation import renamed_option


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("brazo.control", "CompiledLaw", "CompiledControlLaw"),
        ("brazo.control", "law_loop", "controller_loop"),
        ("brazo.control", "laws", "controllers"),
        ("brazo.dynamics.closed_loop", "ComputedTorque", "ComputedTorqueGains"),
        ("brazo.dynamics.closed_loop", "PID", "PIDGains"),
        ("brazo.program", "NoWay", "NoPath"),
        ("brazo.program.steps", "Arrival", "Tolerance"),
        ("brazo.program.steps", "Pace", "Speed"),
        ("brazo.teleop.proxy", "Step", "FaultStep"),
    ],
)
def test_old_names_are_available_with_a_warning(module, old, new):
    home = importlib.import_module(module)
    with pytest.warns(DeprecationWarning, match=f"'{module}.{new}'"):
        assert getattr(home, old) is getattr(home, new)


def test_an_unknown_name_is_an_attribute_error():
    home = importlib.import_module("brazo.control")
    with pytest.raises(AttributeError, match=r"brazo\.control.*nothing_like_it"):
        _ = home.nothing_like_it


def test_an_old_keyword_argument_is_moved_to_the_new_one():
    options = {"law": "PID", "kp": 1.0}
    with pytest.warns(DeprecationWarning, match=r"set\(controller=…\)"):
        renamed_option(options, "law", "controller", "set")
    assert options == {"controller": "PID", "kp": 1.0}


def test_properties_of_old_names():
    from brazo.trajectory import Timing

    with pytest.warns(DeprecationWarning, match="'profile'"):
        assert Timing("cubic", 1.0).law == "cubic"
