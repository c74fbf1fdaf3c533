"""`Robot`: the public interface to a manipulator.  Each method calls one layer of the package.

kinematics.py   poses, Jacobians, inverse kinematics
dynamics.py     forces, equations of motion, simulation
this file       loading, description, modified copies, files
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from brazo.dynamics.definite import mass_findings
from brazo.errors import BrazoError
from brazo.formats.load import Fixed, Source, load_source, parse_source, source_of
from brazo.formats.robot_yaml.edit import edited
from brazo.formats.robot_yaml.from_dh import robot_from_dh
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.formats.text import edits_for, limits_array, payload_of, robot_text
from brazo.kinematics import kinematics_of
from brazo.model.actuators import DriveKind, with_drives
from brazo.model.changes import changed
from brazo.model.description import Finding, Model, Part
from brazo.model.read_only import refuse_assignment
from brazo.model.transforms import as_pose
from brazo.robot.dynamics import DynamicMethods
from brazo.robot.kinematics import Array

if TYPE_CHECKING:
    from typing import Unpack

    from brazo.formats.robot_yaml.from_dh import DHOptions
    from brazo.model.dh import Convention

# Advice for the error raised when an attribute is assigned.
_ADVICE = {
    "": "A robot is read-only: with_parameters, with_tool, with_base, with_limits and with_payload "
    "return a modified copy; everything else is set in the robot file.",
    "gravity": "Pass another gravity to the method, gravity(q, gravity=[0, 0, -1.62]), or set "
    "`gravity:` in the robot file.",
    "parameters": "with_parameters(name=value) returns a robot with other values.",
    "poses": "Set `poses:` in the robot file; dict(arm.poses) is a copy that can be changed.",
    "limits": "with_limits(limits) returns a robot with other limits.",
}


def load(
    name_or_path: str | Path,
    *,
    tip: str | None = None,
    arguments: Mapping[str, str] | None = None,
) -> Robot:
    """Load a robot by name, or from a .yaml, .urdf, .xacro or MJCF .xml file.

    Parameters
    ----------
    name_or_path : a name listed by `brazo robots`, or a path.
    tip : name of the link that carries the tool of a URDF or MJCF robot.  By default, the link is
        chosen from the structure of the file and the names of the links.
    arguments : arguments of a xacro file, e.g. ``{"ur_type": "ur5e", "name": "ur"}``.
    """
    return Robot(load_source(name_or_path, tip, arguments))


def loads(text: str, format: str | None = None, *, tip: str | None = None) -> Robot:
    """Read a robot from text: a robot file (YAML), URDF, xacro or MJCF.

    Parameters
    ----------
    text : the content of the file.  Meshes are found only by absolute path or package.
    format : "yaml", "urdf", "xacro" or "mjcf"; by default recognised from the text.
    tip : as for `load`.
    """
    return Robot(parse_source(text, format, tip))


class Robot(DynamicMethods):
    """A manipulator; all results are derived from `model`.

    Joint values `q` are (..., n) in rad and m; leading dimensions are batches.  Instead of joint
    values, the name of a pose in `poses` may be given: `arm.fk("home")`.  Poses of frames are 4x4
    matrices in the base frame.  Wrong shapes and NaN raise a `BrazoError`.
    """

    def __init__(self, source: Source, overrides: Mapping[str, float] | None = None) -> None:
        own = vars(self)  # __setattr__ rejects assignment
        own["_source"] = source
        own["_overrides"] = dict(overrides or {})  # parameter values that differ from the file
        own["_kinematics"] = kinematics_of(source.model)

    if TYPE_CHECKING:
        _source: Source
        _overrides: dict[str, float]
        _kinematics: Any
    else:

        def __setattr__(self, name: str, value: Any) -> None:
            refuse_assignment(self, f"robot '{self.name}'", name, _ADVICE)

        def __delattr__(self, name: str) -> None:
            refuse_assignment(self, f"robot '{self.name}'", name, _ADVICE)

    def __repr__(self) -> str:
        return f"<brazo.Robot {self.name}: {self.n} joints>"

    def _repr_html_(self) -> str:
        from brazo.formats.notebook import robot_html

        return robot_html(self.model)

    def _repr_latex_(self) -> str | None:
        from brazo.formats.notebook import dh_latex

        return dh_latex(self.model)

    def __reduce__(self) -> tuple:
        """Pickle only the description of the robot; the copy compiles its own machine code."""
        return Robot, (self._source, self._overrides)

    def __copy__(self) -> Robot:
        return self  # immutable

    def __deepcopy__(self, memo: dict[int, Any]) -> Robot:
        return self

    @property
    def model(self) -> Model:
        """The description of the robot, from which all results are derived."""
        return self._source.model

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.model.name

    @property
    def about(self) -> str:
        """Description of the robot with the sources of its data."""
        return self.model.about

    @property
    def n(self) -> int:
        """Number of joint coordinates."""
        return self._kinematics.n

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of q."""
        return self._kinematics.joint_names

    @property
    def joint_kinds(self) -> tuple[str, ...]:
        """Type of each joint: `"revolute"` or `"prismatic"`."""
        return self._kinematics.joint_kinds

    @property
    def limits(self) -> Array:
        """Position limits of the joints (n, 2), rad and m; infinite if not given.  Read-only."""
        return self._kinematics.limits

    @property
    def poses(self) -> Mapping[str, Array]:
        """Named joint configurations, (n,) each, rad and m.  Read-only."""
        return self.model.poses

    @property
    def parameters(self) -> Mapping[str, float]:
        """Parameters of the robot file with their values, SI; see `with_parameters`."""
        return self.model.parameters

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Warnings about the robot, such as implausible inertia or poses out of limits."""
        return (*self.model.findings, *mass_findings(self.model))

    @property
    def body_names(self) -> tuple[str, ...]:
        """Names of the rigid bodies, base first, in the order of `frames`."""
        return self._kinematics.body_names

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the frames that `frame` and `jacobian(link=…)` accept."""
        return self._kinematics.link_names

    @property
    def parts(self) -> tuple[Sequence[Part], ...]:
        """Visible solids of each body, in the order of `body_names`."""
        return self._kinematics.parts

    @property
    def has_dynamics(self) -> bool:
        """Whether the robot file gives the inertia of every moving body."""
        return self._kinematics.has_dynamics

    @property
    def mobility(self) -> int:
        """Degrees of freedom of the tool: the rank of the Jacobian away from singularities."""
        return self._kinematics.mobility

    def random_q(self, size: int | tuple[int, ...] = (), seed: int | None = None) -> Array:
        """Random configurations (..., n) within the limits, rad and m.

        A joint without limits is sampled within ±180° or ±1 m, a joint with one limit within 360°
        or 2 m of the limit.  `size` is the number of configurations, or the leading dimensions of
        the result.  The same `seed` gives the same values; None gives new values in each call.
        """
        rng = np.random.default_rng(seed)
        shape = (int(size),) if isinstance(size, (int, np.integer)) else tuple(size)
        low, high = self._kinematics.sampling_box.T
        return rng.uniform(low, high, (*shape, self.n))

    def with_parameters(self, **values: float) -> Robot:
        """Return a copy of the robot with other parameter values (SI)."""
        merged = {**self._overrides, **values}
        model = self._source.rebuild(merged)
        return Robot(Source(model, self._source.rebuild, origin=self._source.described_by), merged)

    def with_payload(
        self,
        mass: float,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Robot:
        """Return a copy of the robot that holds a payload, in addition to any earlier payload.

        `mass` is in kg, `com` (3,) is the centre of mass in m, and `inertia` is the inertia about
        the centre of mass in kg m²: the tensor (3, 3) or its diagonal (3,).  `com` and `inertia`
        are in the tool frame.  A Delta uses only the mass.  A `BrazoError` is raised if the inertia
        of the link that carries the tool is unknown.
        """
        from brazo.model.payload import Carrying, read_load

        carry = Carrying(self._source.rebuild, read_load(mass, com, inertia))
        model = self._source.model.loaded(carry.load)
        source = Source(model, carry, origin=self._source.described_by)
        return Robot(source, self._overrides)

    def with_tool(self, T: ArrayLike) -> Robot:
        """Return a copy of the robot with another tool frame.

        `T` is the pose of the tool frame in the last link: (4, 4), a position (3,) in m, or a
        spatialmath SE3.  For a URDF or MJCF robot, the last link is the link, body or site that
        carries the tool (see `tip` in `load`).  A payload and a tool mass of the robot file keep
        their position in the tool frame.
        """
        return self._changed("tool", as_pose(T, "tool"))

    def with_base(self, T: ArrayLike) -> Robot:
        """Return a copy of the robot mounted at the pose T in the base frame.

        `T` is the pose of the first link frame: (4, 4), a position (3,) in m, or a spatialmath SE3.
        Gravity keeps its direction in the base frame.  A Delta has no such pose and raises a
        `BrazoError`.
        """
        return self._changed("base", as_pose(T, "base"))

    def with_limits(self, limits: ArrayLike | Mapping[str, tuple[float, float]]) -> Robot:
        """Return a copy of the robot with other position limits of the joints, rad and m.

        `limits` is an array (n, 2), or maps joint names to (low, high).  Joints that are not in the
        mapping keep their limits.  ±inf means no limit.  A robot made from a robot file requires
        that both limits of a joint are finite or both infinite.  A Delta requires the same finite
        limits for all arms.
        """
        return self._changed("limits", limits_array(limits, self.joint_names, self.limits))

    def with_drives(self, kind: DriveKind) -> Robot:
        """Return a copy of the robot with ideal drives or with the actuators of its robot file.

        If `kind` is "real", each joint with an `actuator` in the robot file uses it: DC motor, PWM,
        gear, servo.  Simulations then compute currents and voltages.  A `BrazoError` is raised if
        no joint has an actuator or if the inertia of a link is unknown.  If `kind` is "ideal", the
        drives deliver the commanded torque.
        """
        model = with_drives(self.model, kind)  # raises if the robot has no actuators
        file = self._source.described_by
        if file is None:
            return Robot(Source(model, Fixed(model)), self._overrides)
        return self._like(source_of(RobotFile(edited(file.root, {"drives": kind}))))

    def _changed(self, what: Literal["tool", "base", "limits"], value: Array) -> Robot:
        """Return a copy with another tool, base or limits.

        A robot with a robot file gets a changed copy of the file, any other robot a changed model.
        """
        file = self._source.described_by
        if file is None:
            change = changed(self._source.rebuild, **{what: value})
            return Robot(Source(change(self._overrides), change), self._overrides)
        whole = RobotFile(edited(file.root, edits_for(what, value, self.model)))
        return self._like(source_of(whole))

    def _like(self, source: Source) -> Robot:
        """Return a robot built from `source`, with the parameters and the payload of this robot."""
        robot = Robot(source)
        if self._overrides:
            robot = robot.with_parameters(**self._overrides)
        load = payload_of(self._source.rebuild)
        return robot if load is None else robot.with_payload(load.mass, load.com, load.tensor)

    @classmethod
    def from_dh(
        cls, rows: Any, convention: Convention = "standard", **options: Unpack[DHOptions]
    ) -> Robot:
        """Make a robot from a Denavit–Hartenberg table.

        A row is (theta, d, a, alpha); the joint variable is added to theta, or to d for a prismatic
        joint.  A row may also be a mapping with the fields of a joint in a robot file (type, d, a,
        alpha, theta, offset, limits, mass, com, inertia, friction, drive, name, parts).  Numbers
        are in SI units and radians.  A string is read as in a robot file, e.g. "90deg" or "-L1/2".

        Parameters
        ----------
        rows : one row per joint, an array (n, 4) or a list.
        convention : "standard" (distal) or "modified" (Craig).
        types : joint types, as a string "RRP…" or a list of "revolute" and "prismatic"; revolute by
            default.
        name, about, joint_names : name and description of the robot, names of the joints.
        limits : (n, 2), rad and m; infinite or None for a joint without limits.
        masses : (n,) masses of the links, kg.
        com : (n, 3) m, centres of mass in the link frames.
        inertia : (n, 3) or (n, 3, 3) kg m², about the centres of mass.
        base, tool : pose (4, 4), position (3,) or spatialmath SE3; or fields as in a robot file.
        poses : named configurations, (n,) each.
        gravity : (3,) m/s² in base axes.
        parameters : values of the names in expressions, see `with_parameters`.
        """
        return cls(source_of(robot_from_dh(rows, convention, **options)))

    def to_yaml(self) -> str:
        """Return the robot file (YAML) as text.

        Robots loaded from URDF or MJCF have no robot file and raise a `BrazoError`.
        """
        return robot_text(self._source, self._overrides)

    def to_urdf(self) -> str:
        """Return the robot as URDF text; use `brazo export` to write its meshes as well."""
        from brazo.formats.urdf.writer import write_urdf

        return write_urdf(self.model)

    def to_mjcf(self) -> str:
        """Return the robot as MJCF text; use `brazo export` to write its meshes as well."""
        from brazo.formats.mjcf.writer import write_mjcf

        return write_mjcf(self.model)

    def animate(self, qs: ArrayLike, dt: float, **options: Any) -> Any:
        """Render a motion of the robot as a short video that a notebook shows.

        Parameters
        ----------
        qs : joint positions, rad and m; at least two rows (n,).
        dt : time between two rows of `qs`, s.
        options : options of `brazo.video`: size, fps, camera, turntable, speed, trail; `format` is
            mp4 (default), webm or gif.

        Returns
        -------
        `Animation`, which has a method `save(path)`.
        """
        return import_module("brazo.video.animation").animate_robot(self, qs, dt, **options)

    def plot(
        self, q: ArrayLike | None = None, path: str | Path | None = None, *, solids: bool = True
    ) -> Any:
        """Draw the robot at q and return the matplotlib figure; no browser is needed.

        Parameters
        ----------
        q : (n,) joint positions, rad and m, or the name of a pose.  Default: the first pose of the
            robot, or zero.
        path : optional file to write: .png, .svg or .pdf.
        solids : draw the solids of the links; False draws only lines between the frames.
        """
        from brazo.body.picture import draw_robot
        from brazo.recording.canvas import save

        values = self._kinematics.reference if q is None else self._joint_values(q)
        frames, tool = self.frames(values), self.fk(values)
        if frames.ndim != 3:
            raise BrazoError(
                f"plot: q is a batch of shape {frames.shape[:-3]}; expected one configuration (n,)"
            )
        parts = self.parts if solids else ()
        tip = getattr(self.model, "tip", -1)  # the platform of a Delta is its last body
        drawn = draw_robot(frames, tool, parts, self._kinematics.body_parents, tip, self.name)
        if path is not None:
            save(drawn, path)
        return drawn
