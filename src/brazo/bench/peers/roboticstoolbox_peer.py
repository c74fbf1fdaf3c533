"""Robotics Toolbox for Python as a peer: its D-H robots, with inverse dynamics (`rne`) in C."""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.bench.arms import States
from brazo.bench.peers import NotAPeer, Peer, TimedCall, optional
from brazo.robot import Robot


class Toolbox(Peer):
    name = "Robotics Toolbox"

    def __init__(self, arm: Robot) -> None:
        rtb: Any = optional("roboticstoolbox")
        model = arm.model.require_tree()
        if (
            model.convention != "standard"
            or not model.is_serial
            or not np.allclose(model.tool, np.eye(4))
        ):
            raise NotAPeer("it is only measured for standard D-H tables without a tool")
        links = []
        for row, body in zip(model.dh, model.bodies[1:], strict=True):
            assert body.inertia is not None
            links.append(
                rtb.RevoluteDH(
                    d=row.d,
                    a=row.a,
                    alpha=row.alpha,
                    offset=row.offset,
                    m=body.inertia.mass,
                    r=np.array(body.inertia.com),
                    I=np.array(body.inertia.tensor),
                    Jm=0.0,
                    G=1.0,
                )
            )
        self.robot = rtb.DHRobot(links, name=model.name, gravity=np.array(model.gravity))

    def single(self, arm: Robot, at: States) -> dict[str, TimedCall]:
        robot = self.robot
        q, qd, qdd, tau = (x[0].copy() for x in (at.q, at.qd, at.qdd, at.tau))
        return {
            "inverse_dynamics": _returned(lambda: robot.rne(q, qd, qdd)),
            "fk": TimedCall(lambda: robot.fkine(q), lambda: np.array(robot.fkine(q).A)),
            "jacobian": _returned(lambda: robot.jacob0(q)),
            "mass_matrix": _returned(lambda: robot.inertia(q)),
            "forward_dynamics": _returned(lambda: robot.accel(q, qd, tau)),
        }

    def batch(self, arm: Robot, at: States, threads: int) -> dict[str, TimedCall]:
        if threads > 1 or len(at.q) > 10_000:
            return {}
        robot = self.robot
        return {"inverse_dynamics": _returned(lambda: robot.rne(at.q, at.qd, at.qdd))}


def _returned(call: Any) -> TimedCall:
    return TimedCall(call, lambda: np.array(call()))
