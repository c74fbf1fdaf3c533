"""`Robot`: the face of brazo for one manipulator.  Each method is one line into its layer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.dynamics import dynamics_of
from brazo.errors import BrazoError
from brazo.kinematics import kinematics_of
from brazo.kinematics.measures import ROWS, Dexterity, Rows, dexterity
from brazo.model.description import Finding, Model, Part
from brazo.model.load import Source, load_source

if TYPE_CHECKING:
    from brazo.dynamics.simulate import Run
    from brazo.kinematics.result import IKResult


def load(name_or_path: str | Path, *, tip: str | None = None) -> Robot:
    """Load a robot: a shipped name, or a path to a .yaml, .urdf, .xacro or MJCF .xml file.

    `tip` names the link that carries the tool where a URDF or MJCF has several ends.
    """
    return Robot(load_source(name_or_path, tip))


class Robot:
    """A manipulator; everything is derived from `model`.

    Joint values `q` are (..., n) in rad and m; leading dimensions are batches.  Poses are 4x4
    matrices in the base frame.  Wrong shapes and NaN raise `BrazoError` with the shape wanted.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._kinematics = kinematics_of(source.model)

    def __repr__(self) -> str:
        return f"<brazo.Robot {self.name}: {self.n} joints>"

    @property
    def model(self) -> Model:
        """The typed description everything is derived from."""
        return self._source.model

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.model.name

    @property
    def about(self) -> str:
        """Where the robot's numbers come from."""
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
        """`"revolute"` or `"prismatic"` for each joint."""
        return self._kinematics.joint_kinds

    @property
    def limits(self) -> np.ndarray:
        """Joint limits (n, 2), rad and m; infinite where there are none."""
        return self._kinematics.limits.copy()

    @property
    def poses(self) -> Mapping[str, np.ndarray]:
        """Named joint configurations of the file."""
        return self.model.poses

    @property
    def parameters(self) -> Mapping[str, float]:
        """The file's parameters and their values, SI."""
        return self.model.parameters

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is odd in the file: missing or implausible inertia, poses beyond limits."""
        return self.model.findings

    @property
    def body_names(self) -> tuple[str, ...]:
        """Names of the rigid bodies, base first, in the order of `frames`."""
        return self._kinematics.body_names

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names `frame` and `jacobian(link=…)` accept."""
        return self._kinematics.link_names

    @property
    def parts(self) -> tuple[tuple[Part, ...], ...]:
        """The visible solids of each body."""
        return self._kinematics.parts

    @property
    def has_dynamics(self) -> bool:
        """True when the file gives the inertia of every moving body."""
        return self._kinematics.has_dynamics

    @property
    def mobility(self) -> int:
        """Degrees of freedom of the tool: rank of the Jacobian away from singularities."""
        return self._kinematics.mobility

    @cached_property
    def fk(self) -> Any:
        """`fk(q) -> (..., 4, 4)`: the tool in the base frame.  The compiled entry itself."""
        return getattr(self._kinematics.fk, "entry", self._kinematics.fk)

    @cached_property
    def frames(self) -> Any:
        """`frames(q) -> (..., bodies, 4, 4)`: base, then every link frame; tool not applied."""
        return getattr(self._kinematics.frames, "entry", self._kinematics.frames)

    def frame(self, q, link: str) -> np.ndarray:
        """Pose (..., 4, 4) of a named link in the base frame."""
        return self._kinematics.frame(q, link)

    @cached_property
    def jacobian(self) -> Any:
        """`jacobian(q, frame="base", link=None) -> (..., 6, n)`: geometric, linear rows first.

        Of the tool, or of a named link; `frame="base"` gives it in base axes, `"tool"` in the axes
        of the tool (or link) itself.
        """
        return self._kinematics.jacobian

    def dexterity(self, q, rows: Rows = "all") -> Dexterity:
        """Manipulability, condition and smallest singular value of the Jacobian at q."""
        if rows not in ROWS:
            raise BrazoError(f"rows '{rows}' is not one of {', '.join(ROWS)}")
        return dexterity(self.jacobian(q), rows, self._kinematics.mobility_of(rows))

    def configuration(self, q) -> str:
        """Shoulder, elbow and wrist configuration by name, e.g. `"LEFTY ABOVE NOFLIP"`."""
        return self._kinematics.configuration(q)

    def ik(self, T, q0=None, branch: str | None = None, **options) -> IKResult:
        """Joint values that put the tool at T; see `brazo.kinematics.ik.solve` for the options."""
        return self._kinematics.ik(T, q0, branch, **options)

    @cached_property
    def dynamics(self) -> Any:
        """The dynamics behind the methods below; raises for a robot whose inertia is not given."""
        return dynamics_of(self.model)

    @cached_property
    def inverse_dynamics(self) -> Any:
        """`inverse_dynamics(q, qd, qdd, wrench=None, gravity=None) -> tau`, friction included.

        `wrench` (6) is the force and moment the surroundings put on the tool, in base axes.  For a
        base that moves, `base` (9) is its angular velocity, angular and linear acceleration.
        """
        return self.dynamics.inverse_dynamics

    @cached_property
    def forward_dynamics(self) -> Any:
        """`forward_dynamics(q, qd, tau, wrench=None, gravity=None) -> qdd`."""
        return self.dynamics.forward_dynamics

    @cached_property
    def mass_matrix(self) -> Any:
        """`mass_matrix(q) -> M (..., n, n)`, motor inertia included."""
        return self.dynamics.mass_matrix

    @cached_property
    def coriolis(self) -> Any:
        """`coriolis(q, qd) -> C (..., n, n)`; C @ qd is the effect, and dM/dt − 2C is skew."""
        return self.dynamics.coriolis

    @cached_property
    def gravity(self) -> Any:
        """`gravity(q, gravity=None) -> G`: the torques that hold the robot still."""
        return self.dynamics.gravity

    @cached_property
    def energy(self) -> Any:
        """`energy(q, qd) -> (..., 2)`: kinetic and potential energy in J."""
        return self.dynamics.energy

    def derive(self, parameters: str = "symbolic", **options) -> Any:
        """Equations of motion with letters: `.M .C .G .K`, `.latex() .c() .python() .octave()`.

        See `brazo.dynamics.symbolic.derive` for the options; `parameters="numeric"` puts the
        file's values in.
        """
        from brazo.dynamics.symbolic import derive

        return derive(self, parameters, **options)  # type: ignore[arg-type]

    def simulate(self, torque=None, q0=None, qd0=None, t_end: float = 2.0, **options) -> Run:
        """Let the robot move under torques; see `brazo.dynamics.simulate.simulate`."""
        from brazo.dynamics.simulate import simulate

        return simulate(self, torque, q0, qd0, t_end, **options)

    def follow(self, trajectory, t_end: float | None = None, dt: float = 1e-3) -> Run:
        """Carry the robot along a trajectory; see `brazo.dynamics.simulate.follow`."""
        from brazo.dynamics.simulate import follow

        return follow(self, trajectory, t_end, dt)

    def random_q(self, size: int | tuple[int, ...] = (), seed: int | None = None) -> np.ndarray:
        """Random configurations inside the limits (±180°, ±1 m where there are none)."""
        rng = np.random.default_rng(seed)
        shape = (int(size),) if isinstance(size, (int, np.integer)) else tuple(size)
        low, high = self._kinematics.sampling_box.T
        return rng.uniform(low, high, (*shape, self.n))

    def with_parameters(self, **values: float) -> Robot:
        """The same robot with other parameter values (SI); every derived number is rebuilt."""
        merged = {**self._overrides, **values}
        model = self._source.rebuild(merged)
        robot = Robot(Source(model, self._source.rebuild))
        robot._overrides = merged
        return robot

    def with_payload(self, mass: float, com=(0.0, 0.0, 0.0), inertia=(0.0, 0.0, 0.0)) -> Robot:
        """The same robot holding a load: mass (kg), centre (m) and inertia in the tool frame."""
        from brazo.model.payload import with_payload

        robot = Robot(with_payload(self._source, mass, com, inertia))
        robot._overrides = self._overrides
        return robot

    _overrides: Mapping[str, float] = {}
