"""Methods of `Robot` for poses, Jacobians, inverse kinematics and tool velocities."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brazo.arrays import float_array
from brazo.checks import one_of
from brazo.codegen.method import bind, compiled
from brazo.errors import BrazoError
from brazo.kinematics.measures import ROWS, Dexterity, Rows, dexterity
from brazo.model.description import Model

if TYPE_CHECKING:
    from typing import Unpack

    from brazo.kinematics.ellipsoid import Ellipsoid, EllipsoidRows
    from brazo.kinematics.kernels import JacobianFrame
    from brazo.kinematics.nearest_point import NearestPoint, NearestRule
    from brazo.kinematics.options import IKKeywords
    from brazo.kinematics.rates import JointRates
    from brazo.kinematics.result import IKBatch, IKResult

Array = NDArray[np.float64]

if TYPE_CHECKING:
    compiled_call = compiled
else:

    def compiled_call(part: str) -> Callable[[Callable[..., Any]], Any]:
        """Return a decorator like `compiled(part)` that also allows the name of a pose as `q`."""

        def decorate(method: Callable[..., Any]) -> Any:
            @wraps(method)
            def checked(self: KinematicMethods, *args: Any, **options: Any) -> Any:
                if args and isinstance(args[0], str):
                    args = (self._joint_values(args[0]), *args[1:])
                elif isinstance(options.get("q"), str):
                    options["q"] = self._joint_values(options["q"])
                return method(self, *args, **options)

            return compiled(part)(checked)

        return decorate


class KinematicMethods:
    """Methods of a robot that do not require inertia; each calls `brazo.kinematics`."""

    if TYPE_CHECKING:
        _kinematics: Any

        @property
        def model(self) -> Model: ...

    def _joint_values(self, q: Any) -> Any:
        """Return the joint values of a named pose; return other values unchanged."""
        if not isinstance(q, str):
            return q
        if q not in self.model.poses:
            raise BrazoError(
                f"q: no pose named '{q}'; named poses: {', '.join(self.model.poses) or 'none'}"
            )
        return self.model.poses[q]

    @compiled_call("_kinematics")
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

    @compiled_call("_kinematics")
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
        """Pose (..., 4, 4) of a link in the base frame, lengths in m.

        `q` is (..., n), rad and m; `link` is one of `link_names`.
        """
        return self._kinematics.frame(self._joint_values(q), link)

    @compiled_call("_kinematics")
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
        link : a name in `link_names`; None means the tool.
        out, threads : array for the result; max number of threads for a large batch.

        Returns
        -------
        (..., 6, n), three linear rows (m), then three angular rows (rad), per rad or m.
        """
        return self._kinematics.jacobian(q, frame, link, out=out, threads=threads)

    @compiled_call("_kinematics")
    def jacobian_dot(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        frame: JacobianFrame = "base",
        link: str | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Time derivative of `jacobian`: the acceleration of the tool is J qdd + jacobian_dot qd.

        Parameters
        ----------
        q, qd : (..., n) positions (rad, m) and velocities of the joints.
        frame : "base" for base axes, "tool" for the axes of the tool (or link).
        link : a name in `link_names`; None means the tool.
        out, threads : array for the result; max number of threads for a large batch.

        Returns
        -------
        (..., 6, n), three linear rows (m/s), then three angular rows (rad/s), per rad or m.
        """
        return self._kinematics.jacobian_dot(q, qd, frame, link, out=out, threads=threads)

    def dexterity(self, q: ArrayLike, rows: Rows = "all") -> Dexterity:
        """Manipulability, condition number and smallest singular value of the Jacobian at q.

        `q` is (..., n), rad and m; `rows` is "all", "linear" (m) or "angular" (rad).  The values of
        the result are (...,).
        """
        one_of(rows, ROWS, "rows")
        return dexterity(self.jacobian(q), rows, self._kinematics.mobility_of(rows))

    def configuration(self, q: ArrayLike) -> str:
        """Name of the shoulder, elbow and wrist configuration, e.g. `"LEFTY ABOVE NOFLIP"`.

        The name is empty for an arm without closed-form inverse kinematics, and for a general 6R
        arm, whose solutions are only numbered.  `q` is (n,), rad and m.
        """
        return self._kinematics.configuration(self._joint_values(q))

    def ik(
        self,
        T: ArrayLike,
        q0: ArrayLike | None = None,
        branch: str | None = None,
        *,
        near: ArrayLike | None = None,
        **options: Unpack[IKKeywords],
    ) -> IKResult:
        """Inverse kinematics: joint values for which the tool pose is T.

        Parameters
        ----------
        T : (4, 4) pose of the tool in the base frame, or (3,) position only, m; or an `SE3`.
        q0 : (n,) joint positions, rad and m; the solution nearest to q0 is chosen.  Default: the
            first pose of the robot file, or zero without poses.
        near : another name for q0.
        branch : name of a branch or some words of the name, e.g. "LEFTY ABOVE".
        orientation : "full" (default) requires the exact orientation, "nearest" accepts the closest
            feasible orientation at the exact position, and "free" accepts any orientation.
        method : "auto" (default: closed form if available), "closed" or "numeric".
        redundancy : how the closed form sets a redundant joint.  "rule" bends links 2 and 3 of a
            redundant SCARA by the same angle, "nearest" chooses the solution within the limits that
            is nearest to q0.  "auto" (default) is "nearest" if q0 is given or if "rule" has no
            solution within the limits, otherwise "rule".  An arm with seven revolute joints also
            accepts one or more values (rad): the arm angle of an S-R-S arm, or the position of the
            last (or first) joint of another arm.  The result then has all branches for each value.
        weights : (6,) weights of position and rotation errors in the numeric method; 0 leaves a
            direction free.
        tolerance : max position (m) and rotation (rad) error of a solution; default 1e-9.  Closed
            forms apply it only to the rotation; their position error is at most 1e-10 m.
        seed : random seed of the numeric method, an integer; results are reproducible.
        attempts : max number of starting points of the numeric method; default 100.

        Returns
        -------
        `IKResult` with `q`, `success`, `reason`, `residual` and `all` solutions found.  For several
        targets, (..., 4, 4) or (..., 3), the result is an `IKBatch`; see `ik_batch`.
        """
        if near is not None:
            q0 = _start(q0, near)
        if branch is None and not options:
            found = self._kinematics.fast_ik(T, q0)
            if found is not None:
                if "ik" not in self.__dict__:
                    # The closed form is compiled: from now on plain calls run no Python code.
                    bind(self, type(self).ik, self._kinematics.plain_ik)
                return found
        target = getattr(T, "A", T)  # of a spatialmath pose
        return self._kinematics.ik(target, self._joint_values(q0), branch, **options)

    def ik_batch(
        self,
        T: ArrayLike,
        q0: ArrayLike | None = None,
        branch: str | None = None,
        *,
        near: ArrayLike | None = None,
        **options: Unpack[IKKeywords],
    ) -> IKBatch:
        """Inverse kinematics of many targets in one call.

        A closed form returns all branches of each target, the numeric method one solution.

        Parameters
        ----------
        T : (..., 4, 4) poses of the tool in the base frame, or (..., 3) positions only, m.
        q0 : (n,) or (..., n) joint positions; the solution nearest to q0 is chosen.  Default: the
            first pose of the robot file, or zero without poses.
        near : another name for q0.
        branch, orientation, method, weights, tolerance, seed, attempts : as in `ik`.
        redundancy : as in `ik`, but "nearest" is not allowed and "auto" is "rule".

        Returns
        -------
        `IKBatch` with `q` (..., n), which is NaN without success, and `success` (...); and for all
        B branches `all_q` (..., B, n), `valid` and `within_limits` (..., B).
        """
        if near is not None:
            q0 = _start(q0, near)
        targets = float_array(getattr(T, "A", T), "ik_batch: T")
        if targets.shape == (4, 4) or targets.shape == (3,):
            raise BrazoError(
                f"ik_batch: T has shape {targets.shape}; expected many targets, (..., 4, 4) or "
                "(..., 3); use ik for one target"
            )
        return self._kinematics.ik(targets, self._joint_values(q0), branch, **options)

    def nearest_point(
        self, xyz: ArrayLike, pitch: float, roll: float = 0.0, rule: NearestRule = "position"
    ) -> NearestPoint:
        """Configuration of a five-joint arm whose tool is nearest to a target, within the limits.

        The joints must be a yaw joint, three parallel joints and a roll joint.  The tool must be on
        the axis of the roll joint, without lateral offset from the axis of the yaw joint.  Other
        robots raise a `BrazoError`.

        Parameters
        ----------
        xyz : (3,) position of the tool in the base frame, m.
        pitch : rad, elevation of the tool's axis; 0 points away from axis 1, -π/2 straight down.
        roll : rad, position of joint 5.
        rule : "pitch" keeps the pitch and chooses the nearest position.  "position" (default)
            chooses the nearest position with any pitch, then the nearest pitch at this position.

        Returns
        -------
        `NearestPoint` with `q` (5,) in rad, `distance` in m, `pitch` in rad and `reached`.
        """
        from brazo.kinematics.nearest_point import nearest_point

        solver = getattr(self._kinematics, "closed_form", None)
        return nearest_point(solver, self.model.limits, np.asarray(xyz), pitch, roll, rule)

    def velocity_ellipsoid(
        self, q: ArrayLike, rows: EllipsoidRows = "linear", scale: ArrayLike | None = None
    ) -> Ellipsoid:
        """Velocity ellipsoid: tool velocities for joint velocities of norm 1.

        Parameters
        ----------
        q : (..., n) joint positions, rad and m.
        rows : "linear" (m/s) or "angular" (rad/s) velocities.
        scale : (n,) joint velocities that count as 1 in the norm, rad/s and m/s; default 1.

        Returns
        -------
        `Ellipsoid` with `axes` (..., 3, 3), `radii` (..., 3), `centre` (..., 3) and `points()`.
        """
        from brazo.kinematics.ellipsoid import ellipsoid

        return ellipsoid("velocity", self.jacobian(q), self.fk(q)[..., :3, 3], rows, scale)

    def force_ellipsoid(
        self, q: ArrayLike, rows: EllipsoidRows = "linear", scale: ArrayLike | None = None
    ) -> Ellipsoid:
        """Force ellipsoid: forces on the tool that joint torques of norm 1 can balance.

        Parameters
        ----------
        q : (..., n) joint positions, rad and m.
        rows : "linear" (forces, N) or "angular" (moments, N m).
        scale : (n,) joint torques that count as 1 in the norm, N m and N; default 1.

        Returns
        -------
        `Ellipsoid`; a radius is infinite in a direction in which the tool cannot move.
        """
        from brazo.kinematics.ellipsoid import ellipsoid

        return ellipsoid("force", self.jacobian(q), self.fk(q)[..., :3, 3], rows, scale)

    def resolved_rate(
        self,
        q: ArrayLike,
        twist: ArrayLike,
        frame: JacobianFrame = "base",
        *,
        dt: float = 0.01,
        max_speed: ArrayLike | None = None,
        damping: float = 0.1,
        threshold: float = 0.05,
    ) -> JointRates:
        """Joint velocities for a tool velocity, by damped least squares within the joint limits.

        A joint that would pass a position limit within `dt` is slowed so that it only reaches the
        limit, and the other joints compensate.  If a joint would exceed its max speed, all
        joints are scaled down by the same factor, so the tool keeps its direction.

        Parameters
        ----------
        q : (..., n) joint positions, rad and m.
        twist : (..., 6) linear (m/s) and angular (rad/s) velocity, or (..., 3) linear only.
        frame : axes of the twist, "base" or "tool".
        dt : duration of the velocity, s; no joint passes a position limit within it.
        max_speed : (n,) or a number, rad/s and m/s; applies in addition to the robot file's limits.
        damping : max damping, reached at a singularity (m and rad per rad).
        threshold : singular value of the Jacobian below which damping begins (m and rad per rad).

        Returns
        -------
        `JointRates` with `qd` (..., n), the achieved `twist`, the `limited` joints and the `scale`.
        """
        from brazo.kinematics.rates import resolved_rate

        return resolved_rate(
            self,
            self._joint_values(q),
            twist,
            frame,
            dt=dt,
            max_speed=max_speed,
            damping=damping,
            threshold=threshold,
        )

    def differential_ik(
        self,
        q: ArrayLike,
        twist: ArrayLike,
        frame: JacobianFrame = "base",
        *,
        dt: float = 0.01,
        max_speed: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        damping: float = 1e-3,
        posture: ArrayLike | None = None,
    ) -> JointRates:
        """Joint velocities for a tool velocity, by a quadratic program within the joint limits.

        The program minimises the weighted squared error of the tool velocity plus damping² times
        the squared joint velocities.  With `posture`, the second term is damping² times the squared
        difference between the joint velocities and the velocities towards the posture.

        Parameters
        ----------
        q : (n,) joint positions, rad and m.
        twist : (6,) linear (m/s) and angular (rad/s) velocity, or (3,) linear only.
        frame : axes of the twist, "base" or "tool".
        dt : duration of the velocity, s; no joint passes a position limit within it.
        max_speed : (n,) or a number, rad/s and m/s; applies in addition to the robot file's limits.
        weights : weights of the rows of the twist, 6 or 3; 0 leaves a direction free.  Default: 1.
        damping : above 0; its square is the weight of the joint velocities, which limits them at
            singularities and makes the solution of redundant joints unique.
        posture : (n,) positions towards which redundant joints move, with 1 rad/s per rad of error.

        Returns
        -------
        `JointRates`: `qd` (n,), the achieved `twist` (6,), and the `limited` joints.
        """
        from brazo.kinematics.rates import differential_ik

        return differential_ik(
            self,
            self._joint_values(q),
            twist,
            frame,
            dt=dt,
            max_speed=max_speed,
            weights=weights,
            damping=damping,
            posture=posture,
        )


def _start(q0: ArrayLike | None, near: ArrayLike) -> ArrayLike:
    """Return `near`, which is another name for `q0`; raise BrazoError if both are given."""
    if q0 is not None:
        raise BrazoError("give q0 or near, not both: they are two names for the same argument")
    return near
