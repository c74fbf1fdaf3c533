"""`Robot`: the public interface to a manipulator.  Each method calls one layer of the package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brazo.codegen.method import compiled
from brazo.dynamics import dynamics_of
from brazo.dynamics.definite import mass_findings
from brazo.errors import BrazoError
from brazo.formats.load import Source, load_source
from brazo.kinematics import kinematics_of
from brazo.kinematics.measures import ROWS, Dexterity, Rows, dexterity
from brazo.model.description import Finding, Model, Part
from brazo.model.read_only import refuse_assignment

if TYPE_CHECKING:
    from typing import Unpack

    from brazo.dynamics.simulate import Run
    from brazo.dynamics.symbolic.equations import Equations
    from brazo.dynamics.symbolic.mechanism import Parameters
    from brazo.kinematics.kernels import JacobianFrame
    from brazo.kinematics.options import IKKeywords
    from brazo.kinematics.result import IKResult

Array = NDArray[np.float64]

# Advice for the error raised when an attribute is assigned.
_ADVICE = {
    "": "A robot is read-only: with_parameters and with_payload make a changed copy, and the robot "
    "file sets everything else.",
    "gravity": "Give another gravity to the call, gravity(q, gravity=[0, 0, -1.62]), or set "
    "`gravity:` in the robot file.",
    "parameters": "with_parameters(name=value) makes a robot with other values.",
    "poses": "Set `poses:` in the robot file; dict(arm.poses) is a copy to change.",
    "limits": "Set `limits:` of the joints in the robot file; arm.limits.copy() can be changed.",
}


if TYPE_CHECKING:
    _compiled = compiled
else:

    def _compiled(part: str) -> Callable[[Callable[..., Any]], Any]:
        """As `compiled`, with a message for the name of a pose given as joint values."""

        def decorate(method: Callable[..., Any]) -> Any:
            @wraps(method)
            def checked(self: Robot, *args: Any, **options: Any) -> Any:
                q = args[0] if args else options.get("q")
                if isinstance(q, str):
                    raise BrazoError(f"{method.__name__}: {_not_joint_values(self, q)}")
                return method(self, *args, **options)

            return compiled(part)(checked)

        return decorate


def _not_joint_values(robot: Robot, text: str) -> str:
    poses = ", ".join(f"poses['{name}']" for name in robot.poses) or "none"
    return f"q: expected {robot.n} numbers, got the text '{text}'; named poses: {poses}"


def load(name_or_path: str | Path, *, tip: str | None = None) -> Robot:
    """Load a robot by name, or from a .yaml, .urdf, .xacro or MJCF .xml file.

    `tip` names the link that carries the tool if a URDF or MJCF has several leaf links.
    """
    return Robot(load_source(name_or_path, tip))


class Robot:
    """A manipulator; all results are derived from `model`.

    Joint values `q` are (..., n) in rad and m; leading dimensions are batches.  Poses are 4x4
    matrices in the base frame.  Wrong shapes and NaN raise `BrazoError` with the expected shape.
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

    def __reduce__(self) -> tuple:
        """Pickle the description; the copy compiles its own machine code."""
        return Robot, (self._source, self._overrides)

    def __copy__(self) -> Robot:
        return self  # immutable

    def __deepcopy__(self, memo: dict[int, Any]) -> Robot:
        return self

    @property
    def model(self) -> Model:
        """The typed description from which all results are derived."""
        return self._source.model

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.model.name

    @property
    def about(self) -> str:
        """The sources of the robot's data."""
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
    def limits(self) -> Array:
        """Joint limits (n, 2), rad and m; infinite if not given.  Read-only."""
        return self._kinematics.limits

    @property
    def poses(self) -> Mapping[str, Array]:
        """Named joint configurations, (n,) each, rad and m.  Read-only."""
        return self.model.poses

    @property
    def parameters(self) -> Mapping[str, float]:
        """Parameters of the robot file and their values, SI; see `with_parameters`."""
        return self.model.parameters

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Warnings: missing or implausible inertia, poses out of limits, joints without inertia."""
        return (*self.model.findings, *mass_findings(self.model))

    @property
    def body_names(self) -> tuple[str, ...]:
        """Names of the rigid bodies, base first, in the order of `frames`."""
        return self._kinematics.body_names

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names accepted by `frame` and `jacobian(link=…)`."""
        return self._kinematics.link_names

    @property
    def parts(self) -> tuple[Sequence[Part], ...]:
        """The visible solids of each body."""
        return self._kinematics.parts

    @property
    def has_dynamics(self) -> bool:
        """Whether the inertia of every moving body is given."""
        return self._kinematics.has_dynamics

    @property
    def mobility(self) -> int:
        """Degrees of freedom of the tool: rank of the Jacobian away from singularities."""
        return self._kinematics.mobility

    @_compiled("_kinematics")
    def fk(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Pose of the tool in the base frame.

        Parameters
        ----------
        q : (..., n) joint positions, rad and m.
        out, threads : array for the result; max number of threads for a large batch.

        Returns
        -------
        (..., 4, 4) homogeneous transforms, lengths in m.
        """
        return self._kinematics.fk(q, out=out, threads=threads)

    @_compiled("_kinematics")
    def frames(
        self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Poses of all bodies in the base frame: base first, in the order of `body_names`.

        The tool transform is not applied.

        Parameters
        ----------
        q : (..., n) joint positions, rad and m.
        out, threads : array for the result; max number of threads for a large batch.

        Returns
        -------
        (..., bodies, 4, 4) homogeneous transforms, lengths in m.
        """
        return self._kinematics.frames(q, out=out, threads=threads)

    def frame(self, q: ArrayLike, link: str) -> Array:
        """Pose (..., 4, 4) in the base frame of a link named in `link_names`, for q (..., n)."""
        return self._kinematics.frame(q, link)

    @_compiled("_kinematics")
    def jacobian(
        self,
        q: ArrayLike,
        frame: JacobianFrame = "base",
        link: str | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Geometric Jacobian of the tool, or of a link: twist = J(q) qd.

        Parameters
        ----------
        q : (..., n) joint positions, rad and m.
        frame : "base" for base axes, "tool" for the axes of the tool (or link).
        link : a name of `link_names`; None is the tool.
        out, threads : array for the result; max number of threads for a large batch.

        Returns
        -------
        (..., 6, n), linear rows (m) first, then angular rows (rad), each per rad or m of its joint.
        """
        return self._kinematics.jacobian(q, frame, link, out=out, threads=threads)

    def dexterity(self, q: ArrayLike, rows: Rows = "all") -> Dexterity:
        """Manipulability, condition and smallest singular value of the Jacobian at q."""
        if rows not in ROWS:
            raise BrazoError(f"rows '{rows}' is not one of {', '.join(ROWS)}")
        return dexterity(self.jacobian(q), rows, self._kinematics.mobility_of(rows))

    def configuration(self, q: ArrayLike) -> str:
        """Shoulder, elbow and wrist configuration by name, e.g. `"LEFTY ABOVE NOFLIP"`.

        Empty for an arm without a closed-form inverse.  q is (n,), rad and m.
        """
        return self._kinematics.configuration(q)

    def ik(
        self,
        T: ArrayLike,
        q0: ArrayLike | None = None,
        branch: str | None = None,
        **options: Unpack[IKKeywords],
    ) -> IKResult:
        """Inverse kinematics: joint values for which the tool pose is T.

        Parameters
        ----------
        T : (4, 4) pose of the tool in the base frame, or (3,) position only, m.
        q0 : (n,) the nearest solution is chosen, rad and m; default: the file's first pose.
        branch : name of a branch or part of it, e.g. "LEFTY ABOVE".
        orientation : "full" (default), "nearest" or "free".
        method : "auto" (default: closed form if available), "closed" or "numeric".
        redundancy : "auto" (default), "rule" or "nearest": use of a redundant joint.
        weights : (6,) weights of position and rotation errors in the numeric method; 0 is free.
        tolerance : m and rad; default 1e-9.
        seed : random seed of the numeric method's restarts; results are reproducible.
        attempts : max number of restarts.

        Returns
        -------
        `IKResult` with `q`, `success`, `reason`, `residual` and `all` solutions found.
        """
        return self._kinematics.ik(T, q0, branch, **options)

    @cached_property
    def dynamics(self) -> Any:
        """Dynamics used by the methods below; raises if the robot's inertia is not given."""
        return dynamics_of(self.model)

    @_compiled("dynamics")
    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        wrench: ArrayLike | None = None,
        gravity: ArrayLike | None = None,
        base: ArrayLike | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Joint torques for a given motion, including friction and motor inertia.

        tau = M(q) qdd + C(q, qd) qd + G(q) + friction(qd) − Jᵀ wrench

        Parameters
        ----------
        q, qd, qdd : (..., n) positions (rad, m), velocities and accelerations of the joints.
        wrench : (..., 6) force (N) and moment (N m) of the environment on the tool, base axes.
        gravity : (..., 3) m/s² in base axes; default: the file's.
        base : (..., 9) angular velocity, angular and linear acceleration of a moving base.
        out, threads : array for the result; max number of threads for a large batch.

        Returns
        -------
        (..., n) torques (N m) and forces (N).
        """
        return self.dynamics.inverse_dynamics(
            q, qd, qdd, wrench, gravity, base, out=out, threads=threads
        )

    @_compiled("dynamics")
    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        wrench: ArrayLike | None = None,
        gravity: ArrayLike | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Joint accelerations for given torques.

        Parameters
        ----------
        q, qd : (..., n) positions (rad, m) and velocities of the joints.
        tau : (..., n) torques (N m) and forces (N).
        wrench : (..., 6) force (N) and moment (N m) of the environment on the tool, base axes.
        gravity : (..., 3) m/s² in base axes; default: the file's.
        out, threads : array for the result; max number of threads for a large batch.

        Returns
        -------
        (..., n) accelerations, rad/s² and m/s².
        """
        return self.dynamics.forward_dynamics(q, qd, tau, wrench, gravity, out=out, threads=threads)

    @_compiled("dynamics")
    def mass_matrix(
        self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Joint-space inertia matrix M(q), including motor inertia.

        Parameters
        ----------
        q : (..., n) joint positions, rad and m.
        out, threads : array for the result; max number of threads for a large batch.

        Returns
        -------
        (..., n, n) symmetric positive definite, SI.
        """
        return self.dynamics.mass_matrix(q, out=out, threads=threads)

    @_compiled("dynamics")
    def coriolis(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Coriolis and centrifugal matrix C(q, qd) of Christoffel symbols.

        C @ qd is the torque, and dM/dt − 2C is skew-symmetric.

        Parameters
        ----------
        q, qd : (..., n) positions (rad, m) and velocities of the joints.
        out, threads : array for the result; max number of threads for a large batch.

        Returns
        -------
        (..., n, n), SI.
        """
        return self.dynamics.coriolis(q, qd, out=out, threads=threads)

    @_compiled("dynamics")
    def gravity(
        self,
        q: ArrayLike,
        gravity: ArrayLike | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Gravity torques G(q), which hold the robot at rest.

        Parameters
        ----------
        q : (..., n) joint positions, rad and m.
        gravity : (..., 3) m/s² in base axes; default: the file's.
        out, threads : array for the result; max number of threads for a large batch.

        Returns
        -------
        (..., n) torques (N m) and forces (N).
        """
        return self.dynamics.gravity(q, gravity, out=out, threads=threads)

    @_compiled("dynamics")
    def energy(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Kinetic and potential energy.

        Parameters
        ----------
        q, qd : (..., n) positions (rad, m) and velocities of the joints.
        out, threads : array for the result; max number of threads for a large batch.

        Returns
        -------
        (..., 2) kinetic and potential energy, J.
        """
        return self.dynamics.energy(q, qd, out=out, threads=threads)

    def derive(self, parameters: Parameters = "symbolic", **options: Any) -> Equations:
        """Symbolic equations of motion: `.M .C .G .K`, `.latex() .c() .python() .octave()`.

        See `brazo.dynamics.symbolic.derive` for the options; `parameters="numeric"` substitutes
        the file's values.
        """
        from brazo.dynamics.symbolic import derive

        return derive(self, parameters, **options)

    def simulate(
        self,
        torque: Any = None,
        q0: ArrayLike | None = None,
        qd0: ArrayLike | None = None,
        t_end: float = 2.0,
        **options: Any,
    ) -> Run:
        """Simulate the robot under torques: none, a constant (n,), or a function `(t, q, qd)`.

        Starts at q0 and qd0 (n,), by default the file's first pose at rest, and ends at t_end
        (s).  See `brazo.dynamics.simulate.simulate` for the options method, dt, rtol, atol, stops
        and restitution.
        """
        from brazo.dynamics.simulate import simulate

        return simulate(self, torque, q0, qd0, t_end, **options)

    def follow(self, trajectory: Any, t_end: float | None = None, dt: float = 1e-3) -> Run:
        """Move the robot along a trajectory and compute the required torques.

        `trajectory` is a function t -> (q, qd, qdd), or an array (n, samples, 3) sampled every dt
        (s), of which the samples up to `t_end` (s) are used; None uses all.
        """
        from brazo.dynamics.simulate import follow

        return follow(self, trajectory, t_end, dt)

    def random_q(self, size: int | tuple[int, ...] = (), seed: int | None = None) -> Array:
        """Random configurations (..., n) within the limits (±180°, ±1 m if not given)."""
        rng = np.random.default_rng(seed)
        shape = (int(size),) if isinstance(size, (int, np.integer)) else tuple(size)
        low, high = self._kinematics.sampling_box.T
        return rng.uniform(low, high, (*shape, self.n))

    def with_parameters(self, **values: float) -> Robot:
        """Return a copy of the robot with other parameter values (SI)."""
        merged = {**self._overrides, **values}
        model = self._source.rebuild(merged)
        return Robot(Source(model, self._source.rebuild), merged)

    def with_payload(
        self,
        mass: float,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Robot:
        """Return a copy of the robot that holds a payload, given in the tool frame.

        `mass` in kg, `com` (3,) centre of mass in m, `inertia` (3,) or (3, 3) about it in kg m².
        """
        from brazo.model.payload import carrying

        carry = carrying(self._source.rebuild, mass, com, inertia)
        return Robot(Source(carry.loaded(self._source.model), carry), self._overrides)
