"""The dynamic model in joint frames, for Newton–Euler and related algorithms.

Frame i is the *moved joint frame*: its z axis is the axis of joint i and it moves with the joint.
The transform from the parent frame to frame i is a constant transform K and one motion about or
along z.  Algorithms therefore need one sine and cosine per joint and sparse constants, for any D-H
convention.

A body is described by its mass, first moment and second moment about the frame's origin:

    m = ∫ dm        h = ∫ r dm        S = ∫ r rᵀ dm        (I = tr(S) 1 − S)

Forces are linear in these ten numbers.  Parameters without a separate effect can therefore be moved
to the parent without changing the motion (*regrouping*, Gautier and Khalil).  For a revolute joint
these are m, h_z and S_zz, because rotation does not move mass on the joint axis.  For a prismatic
joint it is S.  Regrouping reduces the number of parameters and operations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from brazo.errors import BrazoError
from brazo.model.description import Friction, Inertia, JointKind, TreeModel
from brazo.model.inertia import transformed
from brazo.model.transforms import align_z, invert


@dataclass(frozen=True, slots=True)
class LinkInertia:
    """Mass m, first moment h and second moment S of a body about the origin of a frame."""

    mass: float
    first: tuple[float, float, float]
    second: tuple[float, float, float, float, float, float]  # xx, xy, xz, yy, yz, zz

    @classmethod
    def of(cls, inertia: Inertia) -> LinkInertia:
        m, c, I = inertia.mass, inertia.com, inertia.tensor
        return cls.pack(m, m * c, 0.5 * np.trace(I) * np.eye(3) - I + m * np.outer(c, c))

    @classmethod
    def pack(cls, m: float, h: np.ndarray, S: np.ndarray) -> LinkInertia:
        hx, hy, hz = h.tolist()
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = S.tolist()
        return cls(float(m), (hx, hy, hz), (xx, xy, xz, yy, yz, zz))

    def unpack(self) -> tuple[float, np.ndarray, np.ndarray]:
        xx, xy, xz, yy, yz, zz = self.second
        S = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return self.mass, np.array(self.first), S

    @property
    def tensor(self) -> tuple[float, float, float, float, float, float]:
        """Inertia tensor about the frame's origin, as xx, xy, xz, yy, yz, zz."""
        xx, xy, xz, yy, yz, zz = self.second
        return yy + zz, -xy, -xz, xx + zz, -yz, xx + yy

    def plus(self, other: LinkInertia) -> LinkInertia:
        (m, h, S), (m2, h2, S2) = self.unpack(), other.unpack()
        return LinkInertia.pack(m + m2, h + h2, S + S2)

    def seen_from(self, T: np.ndarray) -> LinkInertia:
        """Mass and moments in a new frame; T (4, 4) is the pose of the old frame in the new one."""
        m, h, S = self.unpack()
        R, p = T[:3, :3], T[:3, 3]
        h = R @ h
        shift = np.outer(h, p) + np.outer(p, h) + m * np.outer(p, p)
        return LinkInertia.pack(m, h + m * p, R @ S @ R.T + shift)


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A moving body with its joint, described in the joint frame."""

    name: str
    parent: int  # index of an earlier link; -1 for the base
    kind: JointKind
    coordinate: int
    multiplier: float
    offset: float
    K: np.ndarray  # (4, 4) this joint's frame at joint value 0 in the parent's joint frame
    inertia: LinkInertia
    armature: float
    friction: Friction

    @property
    def turning(self) -> float:
        """1 for a revolute joint, 0 for a prismatic joint."""
        return 1.0 if self.kind == "revolute" else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """All links, from base to tips, and the pose of the tool in the link that carries it."""

    links: tuple[Link, ...]
    n: int
    tip: int
    tool: np.ndarray  # (4, 4) in the tip's joint frame


def links_of(model: TreeModel, regroup: bool = True) -> Links:
    """Dynamic model of a robot; raises an error if a moving body has no inertia.

    `regroup` moves parameters without a separate effect to the parent; see the module docstring.
    """
    if missing := model.missing_inertia:
        raise BrazoError(
            f"robot '{model.name}' is kinematic only: no inertia is given for "
            f"{', '.join(missing)}; add mass, com and inertia to the file"
        )
    afters: list[np.ndarray] = [np.eye(4)]  # body frame in its own joint frame
    links: list[Link] = []
    for body in model.bodies[1:]:
        joint = body.joint
        assert joint is not None and body.inertia is not None
        turn = align_z(joint.axis)
        after = invert(turn) @ joint.after
        afters.append(after)
        links.append(
            Link(
                name=body.name,
                parent=body.parent - 1,
                kind=joint.kind,
                coordinate=joint.coordinate,
                multiplier=joint.multiplier,
                offset=joint.offset,
                K=afters[body.parent] @ joint.before @ turn,
                inertia=LinkInertia.of(transformed(body.inertia, after)),
                armature=joint.drive.armature,
                friction=joint.friction,
            )
        )
    if regroup:
        links = _regrouped(links)
    return Links(tuple(links), model.n, model.tip - 1, afters[model.tip] @ model.tool)


def _regrouped(links: list[Link]) -> list[Link]:
    """Return the links after moving parameters without a separate effect to the parent."""
    links = list(links)
    for i in reversed(range(len(links))):
        link = links[i]
        m, h, S = link.inertia.unpack()
        if link.kind == "revolute":
            along = np.diag([0.0, 0.0, 1.0])
            movable = LinkInertia.pack(m, along @ h, along * S)
            rest = LinkInertia.pack(0.0, h - along @ h, S - along * S)
        else:
            # A translation changes the effect of mass and first moment, but not of the second
            # moment.
            movable = LinkInertia.pack(0.0, np.zeros(3), S)
            rest = LinkInertia.pack(m, h, np.zeros((3, 3)))
        links[i] = replace(link, inertia=rest)
        if link.parent >= 0:
            parent = links[link.parent]
            links[link.parent] = replace(
                parent, inertia=parent.inertia.plus(movable.seen_from(link.K))
            )
    return links
