"""The interface of `Robot`: signatures, docstrings, types, keywords, read-only attributes."""

import inspect
import pickle
import pydoc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import brazo

COMPILED = {
    "fk": 1, "frames": 1, "jacobian": 1, "inverse_dynamics": 3, "forward_dynamics": 3,
    "mass_matrix": 1, "coriolis": 2, "gravity": 1, "energy": 2,
}  # fmt: skip
PUBLIC = [name for name in dir(brazo.Robot) if not name.startswith("_")]


@pytest.fixture(scope="module", params=["puma560", "delta"])
def arm(request) -> brazo.Robot:
    return brazo.load(request.param)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented(name):
    member = inspect.getattr_static(brazo.Robot, name)
    assert member.__doc__ and len(member.__doc__) > 15
    method = getattr(brazo.Robot, name)
    if inspect.isfunction(method):
        inspect.signature(method)


@pytest.mark.parametrize("name", COMPILED)
def test_a_compiled_method_shows_its_signature_and_takes_keywords(arm, name):
    method, plain = getattr(arm, name), getattr(brazo.Robot, name)
    names = list(inspect.signature(plain).parameters)[1:]
    assert list(inspect.signature(method).parameters) == names
    assert inspect.cleandoc(method.__doc__) == inspect.getdoc(plain)
    shown = pydoc.render_doc(method, renderer=pydoc.plaintext)
    assert f"{name}(q" in shown and "method of brazo.robot.Robot instance" in shown
    inputs = [0.1 * (arm.random_q(seed=i)) for i in range(COMPILED[name])]
    expected = method(*inputs)
    assert np.array_equal(method(**dict(zip(names, inputs, strict=False))), expected)
    assert np.array_equal(method(*inputs, threads=1), expected)
    out = np.empty_like(expected)
    assert method(*inputs, out=out) is out and np.array_equal(out, expected)
    assert np.array_equal(plain(arm, *inputs), expected)
    assert np.array_equal(pickle.loads(pickle.dumps(method))(*inputs), expected)
    with pytest.raises(TypeError, match="nothing"):
        method(*inputs, nothing=1)


def test_a_type_checker_sees_real_types(tmp_path):
    script = tmp_path / "user.py"
    script.write_text(
        "import brazo\n"
        "arm = brazo.load('puma560')\n"
        "q = arm.poses['ready']\n"
        "reveal_type(arm.fk(q))\n"
        "reveal_type(arm.inverse_dynamics(q=q, qd=q, qdd=q))\n"
        "reveal_type(arm.ik(arm.fk(q), method='numeric').q)\n"
        "reveal_type(brazo.Robot.jacobian)\n"
        "arm.fk()\n"
        "arm.ik(arm.fk(q), method='magic')\n"
        "arm.jacobian(q, frame='world')\n",
        encoding="utf-8",
    )
    checked = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, str(script)],
        capture_output=True,
        text=True,
        cwd=Path(brazo.__file__).parents[1],
    )
    output = checked.stdout
    for line in (4, 5):
        assert f'user.py:{line}:13 - information: Type of "arm.' in output, output
    assert output.count("NDArray[float64]") + output.count("dtype[float64]") >= 3, output
    for line in (8, 9, 10):
        assert f"user.py:{line}:" in output, output
    assert "3 errors" in output, output


def test_names_of_poses_are_accepted_as_joint_values(arm):
    name, pose = next(iter(arm.poses.items()))
    q = arm.random_q(seed=0)
    assert np.array_equal(arm.fk(name), arm.fk(pose))
    assert np.array_equal(arm.jacobian(q=name), arm.jacobian(pose))
    assert np.array_equal(brazo.Robot.gravity(arm, name), arm.gravity(pose))
    assert np.array_equal(arm.inverse_dynamics(name, q, q), arm.inverse_dynamics(pose, q, q))
    assert np.array_equal(arm.ik(arm.fk(pose), q0=name).q, arm.ik(arm.fk(pose), q0=pose).q)
    assert np.array_equal(arm.frame(name, arm.link_names[-1]), arm.frame(pose, arm.link_names[-1]))
    assert np.array_equal(arm.simulate(q0=name, t_end=0.01).q[0], pose)
    assert arm.dexterity(name) == arm.dexterity(pose)
    with pytest.raises(brazo.BrazoError, match=f"no pose named 'hme'; named poses: {name}"):
        arm.fk("hme")


def test_robot_attributes_cannot_be_assigned(arm):
    for name, message in {
        "gravity": "gravity is a method and cannot be assigned. Pass another gravity to the method",
        "fk": "fk is a method and cannot be assigned. A robot is read-only: with_parameters",
        "limits": "limits is read-only. with_limits(limits)",
        "parameters": "with_parameters",
        "name": "name is read-only",
        "dynamics": "dynamics is read-only",
        "grvity": "has no attribute 'grvity'; did you mean 'gravity'?",
        "_source": "has no attribute '_source'",
    }.items():
        with pytest.raises(brazo.BrazoError) as refused:
            setattr(arm, name, 3)
        assert message in str(refused.value) and arm.name in str(refused.value)
        with pytest.raises(brazo.BrazoError):
            delattr(arm, name)
    assert arm.gravity(arm.random_q(seed=0) * 0.1).shape == (arm.n,)


def test_robot_properties_are_read_only(arm):
    for mapping in (arm.poses, arm.parameters, arm.model.poses):
        with pytest.raises(brazo.BrazoError, match="read-only"):
            mapping["new"] = 1.0
        with pytest.raises(brazo.BrazoError, match="read-only"):
            mapping.update(new=1.0)
        with pytest.raises(brazo.BrazoError, match="read-only"):
            mapping |= {"new": 1.0}
        assert "new" not in mapping and type(dict(mapping)) is dict
    for array in (arm.limits, next(iter(arm.poses.values())), arm.model.gravity):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
