"""Methods of `Robot` for forces, equations of motion, identification and simulation."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from brazo.dynamics import dynamics_of
from brazo.robot.kinematics import Array, KinematicMethods, compiled_call

if TYPE_CHECKING:
    from brazo.dynamics.base_parameters import BaseParameters
    from brazo.dynamics.linear_model import (
        ForwardDynamicsDerivatives,
        InverseDynamicsDerivatives,
        LinearModel,
    )
    from brazo.dynamics.regressor import DynamicParameters
    from brazo.dynamics.simulate import Run
    from brazo.dynamics.symbolic.equations import Equations
    from brazo.dynamics.symbolic.mechanism import Parameters
    from brazo.kinematics.kernels import JacobianFrame
    from brazo.kinematics.measures import Rows


class DynamicMethods(KinematicMethods):
    """Methods of a robot that require its inertia; each calls `brazo.dynamics`."""

    @cached_property
    def dynamics(self) -> Any:
        """Object with the compiled dynamics, which the other methods call.

        Access raises a `BrazoError` if the inertia of a moving body is unknown.
        """
        return dynamics_of(self.model)

    @compiled_call("dynamics")
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
        wrench : (..., 6) external force (N) and moment (N m) on the tool, in base axes.
        gravity : (..., 3) m/s² in base axes; default: the gravity of the robot file.
        base : (..., 9) motion of a moving base, in base axes: angular velocity (rad/s), angular
            acceleration (rad/s²), linear acceleration (m/s²).  A Delta does not support it.
        out, threads : array for the result; max number of threads for a large batch.

        Returns
        -------
        (..., n) torques (N m) and forces (N).
        """
        return self.dynamics.inverse_dynamics(
            q, qd, qdd, wrench, gravity, base, out=out, threads=threads
        )

    @compiled_call("dynamics")
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
        wrench : (..., 6) external force (N) and moment (N m) on the tool, in base axes.
        gravity : (..., 3) m/s² in base axes; default: the gravity of the robot file.
        out, threads : array for the result; max number of threads for a large batch.

        Returns
        -------
        (..., n) accelerations, rad/s² and m/s².
        """
        return self.dynamics.forward_dynamics(q, qd, tau, wrench, gravity, out=out, threads=threads)

    @compiled_call("dynamics")
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
        (..., n, n) symmetric positive definite matrix, SI.
        """
        return self.dynamics.mass_matrix(q, out=out, threads=threads)

    @compiled_call("dynamics")
    def coriolis(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Coriolis and centrifugal matrix C(q, qd), from Christoffel symbols.

        C @ qd are the Coriolis and centrifugal torques, and dM/dt − 2C is skew-symmetric.

        Parameters
        ----------
        q, qd : (..., n) positions (rad, m) and velocities of the joints.
        out, threads : array for the result; max number of threads for a large batch.

        Returns
        -------
        (..., n, n), SI.
        """
        return self.dynamics.coriolis(q, qd, out=out, threads=threads)

    @compiled_call("dynamics")
    def gravity(
        self,
        q: ArrayLike,
        gravity: ArrayLike | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Gravity torques G(q): the joint torques that hold the robot at rest.

        Parameters
        ----------
        q : (..., n) joint positions, rad and m.
        gravity : (..., 3) m/s² in base axes; default: the gravity of the robot file.
        out, threads : array for the result; max number of threads for a large batch.

        Returns
        -------
        (..., n) torques (N m) and forces (N).
        """
        return self.dynamics.gravity(q, gravity, out=out, threads=threads)

    @compiled_call("dynamics")
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

    @compiled_call("dynamics")
    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> InverseDynamicsDerivatives:
        """Derivatives of `inverse_dynamics` with respect to q, qd and qdd.

        Viscous and smooth Coulomb friction are included; sharp Coulomb friction has slope zero.

        Parameters
        ----------
        q, qd, qdd : (..., n) positions (rad, m), velocities and accelerations of the joints.
        out, threads : array (3, ..., n, n) for the result; max number of threads for a large batch.

        Returns
        -------
        Named-tuple-like result `(dq, dqd, dqdd)`, each (..., n, n), SI.  Row i has the derivatives
        of torque i; dqdd is the mass matrix.
        """
        return self.dynamics.inverse_dynamics_derivatives(q, qd, qdd, out=out, threads=threads)

    @compiled_call("dynamics")
    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> ForwardDynamicsDerivatives:
        """Derivatives of `forward_dynamics` with respect to q, qd and tau.

        Viscous and smooth Coulomb friction are included; sharp Coulomb friction has slope zero.

        Parameters
        ----------
        q, qd : (..., n) positions (rad, m) and velocities of the joints.
        tau : (..., n) torques (N m) and forces (N).
        out, threads : array (3, ..., n, n) for the result; max number of threads for a large batch.

        Returns
        -------
        Named-tuple-like result `(dq, dqd, dtau)`, each (..., n, n), SI.  Row i has the derivatives
        of acceleration i; dtau is the inverse of the mass matrix.
        """
        return self.dynamics.forward_dynamics_derivatives(q, qd, tau, out=out, threads=threads)

    def linearize(
        self, q: ArrayLike, qd: ArrayLike = 0.0, tau: ArrayLike | None = None
    ) -> LinearModel:
        """Linear model of the motion about an operating point: ẋ = A x + B u.

        x is the deviation of (q, qd) and u the deviation of tau from the operating point.

        Parameters
        ----------
        q, qd : (..., n) positions (rad, m) and velocities of the joints; default qd: 0.
        tau : (..., n) torques (N m) and forces (N); by default the torques that keep qd constant.

        Returns
        -------
        `LinearModel`, which unpacks to A (..., 2n, 2n) and B (..., 2n, n), SI;
        `.to_control()` returns a python-control `StateSpace`.
        """
        from brazo.dynamics.linear_model import linear_model

        return linear_model(self, self._joint_values(q), qd, tau)

    def regressor(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        drives: bool = False,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Regressor Y of inverse dynamics, which is linear in the dynamic parameters: tau = Y π.

        Parameters
        ----------
        q, qd, qdd : (..., n) positions (rad, m), velocities and accelerations of the joints.
        drives : add the columns of motor inertia and friction.
        out, threads : array for the result; max number of threads for a large batch.

        Returns
        -------
        Y (..., n, p), SI.  π is `dynamic_parameters(drives).values`: ten values per moving body
        (mass, first moment, and inertia tensor about the origin of the body's frame), and with
        `drives` four more per joint.
        """
        q = self._joint_values(q)
        return self.dynamics.regressor(q, qd, qdd, drives, out=out, threads=threads)

    def dynamic_parameters(self, drives: bool = False) -> DynamicParameters:
        """Names, values and units of the parameters π in tau = Y π, where Y is `regressor`.

        `drives` includes friction and motor inertia.
        """
        return self.dynamics.parameters(drives)

    def base_parameters(self, drives: bool = False) -> BaseParameters:
        """Base parameters: combinations of `dynamic_parameters` that a motion can identify.

        The fields `columns` and `values` of the result satisfy
        tau = regressor(q, qd, qdd, drives)[..., columns] @ values.
        """
        from brazo.dynamics.base_parameters import base_parameters

        box = self._kinematics.sampling_box
        return base_parameters(self.dynamics, self.dynamic_parameters(drives), box, drives)

    def operational_inertia(
        self,
        q: ArrayLike,
        rows: Rows = "all",
        frame: JacobianFrame = "base",
        tolerance: float = 1e-3,
    ) -> Array:
        """Operational-space inertia Λ(q) = (J M⁻¹ Jᵀ)⁻¹ of the tool.

        Λ is set to zero in directions in which the tool cannot move, where it would be infinite.

        Parameters
        ----------
        q : (..., n) joint positions, rad and m.
        rows : "all" (6), "linear" (3, kg) or "angular" (3, kg m²).
        frame : "base" or "tool" axes.
        tolerance : between 0 and 1.  The tool counts as unable to move in a direction if the
            singular value of J for it is at most `tolerance` times the largest singular value.

        Returns
        -------
        (..., m, m) symmetric, m = 6 or 3, SI.
        """
        from brazo.dynamics.operational import operational_inertia

        return operational_inertia(self, self._joint_values(q), rows, frame, tolerance)

    def derive(self, parameters: Parameters = "symbolic", **options: Any) -> Equations:
        """Derive symbolic equations of motion.

        The result has the matrices `M`, `C`, `G` and `K` (viscous friction) and the exports
        `latex()`, `c()`, `python()` and `octave()`.  `parameters="numeric"` substitutes
        the values of the robot file.  See `brazo.dynamics.symbolic.derive` for the options.
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
        """Simulate the robot under joint torques (N m) and forces (N).

        `torque` is None (no torque), a constant (n,) or a function `(t, q, qd)` that returns (n,).
        The run starts at positions `q0` and velocities `qd0` (n,) and ends at `t_end` (s).  By
        default it starts at rest in the first pose of the robot file, or at zero without poses.
        See `brazo.dynamics.simulate.simulate` for the options `method`, `dt`, `rtol`, `atol`,
        `stops`, `restitution` and `progress`.
        """
        from brazo.dynamics.simulate import simulate

        return simulate(self, torque, self._joint_values(q0), qd0, t_end, **options)

    def closed_loop(self, controller: Any, trajectory: Any, t_end: float, **options: Any) -> Any:
        """Simulate many closed loops in one call and compute metrics of each.

        Gains, initial states and conditions may have leading batch dimensions, with one element per
        run.  Each run is bit-identical to the same run alone.

        Parameters
        ----------
        controller : a compiled controller of `brazo.control`, such as `PID()`.  A controller that
            is already bound to this robot with the same `dt` keeps its gains.
        trajectory : function t -> (q, qd, qdd), each (n,); or an array (3, m, n) of q, qd, qdd at
            every control period up to t_end.
        t_end : end of the runs, s.
        dt, substeps : control period (s, default 1e-3), Runge–Kutta steps per period (default 1).
        q0, qd0 : (..., n) initial state; by default on the trajectory.
        gains : values by name, (..., n) or a number for all joints; by default those of
            `controller`.
        conditions : `brazo.control.LoopConditions`: payload, faults, noise, delay, disturbance.
        every : record every k-th sample of positions, velocities and torques (default 0: none).
        threads : max number of threads.

        Returns
        -------
        `brazo.control.ClosedLoopRuns`: metrics by name, (..., n) for the joints and (...) for the
        tool (`rms_error.tool`); the time at which a run diverged; the recorded samples.
        """
        return controller.closed_loop(self, trajectory, t_end, **options)

    def follow(self, trajectory: Any, t_end: float | None = None, dt: float = 1e-3) -> Run:
        """Compute the torques that a motion along a trajectory requires.

        `trajectory` is a function t -> (q, qd, qdd), each (n,), or an array (n, samples, 3) with a
        sample every `dt` seconds.  A function is sampled every `dt` seconds and requires `t_end`
        (s).  Samples of an array after `t_end` are ignored; None uses all samples.  For a robot
        without inertia, the torques of the result are None.
        """
        from brazo.dynamics.simulate import follow

        return follow(self, trajectory, t_end, dt)
