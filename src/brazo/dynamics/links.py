"""The dynamic model in joint frames: what Newton–Euler and its relatives run on.

Frame i here is the *moved joint frame*: its z axis is the axis of joint i and it turns (slides)
with it.  Between frame i and its parent's lies one constant transform K and one motion along z, so
an algorithm meets a single sine and cosine a joint and sparse constants, whichever convention the
file used.

Inertia is kept linear in its ten parameters: mass m, first moment h = m c and the tensor about
the frame's *origin*.  In that form parameters that never show up by themselves can be moved to
the parent exactly (Gautier and Khalil's regrouping): the part of a body that looks the same after
any turn about z, mass m, moment h_z and tensor diag(I_yy, I_yy, 0), may as well be bolted to
the parent.  For a sliding joint that is the whole tensor.  Fewer parameters, fewer operations,
the same motion.
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
    """Ten inertial parameters in a frame: mass, first moment, tensor about the origin."""

    mass: float
    moment: tuple[float, float, float]
    tensor: tuple[float, float, float, float, float, float]  # xx, xy, xz, yy, yz, zz

    @classmethod
    def of(cls, inertia: Inertia) -> LinkInertia:
        m, c = inertia.mass, inertia.com
        I = inertia.tensor + m * (c @ c * np.eye(3) - np.outer(c, c))
        return cls.pack(m, m * c, I)

    @classmethod
    def pack(cls, m: float, h: np.ndarray, I: np.ndarray) -> LinkInertia:
        hx, hy, hz = (float(x) for x in h)
        xx, xy, xz = (float(x) for x in I[0])
        return cls(float(m), (hx, hy, hz), (xx, xy, xz, float(I[1, 1]), float(I[1, 2]),
                                            float(I[2, 2])))  # fmt: skip

    def unpack(self) -> tuple[float, np.ndarray, np.ndarray]:
        xx, xy, xz, yy, yz, zz = self.tensor
        return (
            self.mass,
            np.array(self.moment),
            np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]),
        )

    def plus(self, other: LinkInertia) -> LinkInertia:
        return LinkInertia(
            self.mass + other.mass,
            tuple(a + b for a, b in zip(self.moment, other.moment, strict=True)),  # type: ignore[arg-type]
            tuple(a + b for a, b in zip(self.tensor, other.tensor, strict=True)),  # type: ignore[arg-type]
        )

    def seen_from(self, T: np.ndarray) -> LinkInertia:
        """The same body in another frame, T being the pose of its own frame there."""
        m, h, I = self.unpack()
        R, p = T[:3, :3], T[:3, 3]
        h = R @ h
        moved = h + m * p
        # Steiner from origin to origin, linear in (m, h, I): valid for any parameters.
        shift = (
            2.0 * (h @ p) * np.eye(3)
            - np.outer(h, p)
            - np.outer(p, h)
            + m * (p @ p * np.eye(3) - np.outer(p, p))
        )
        return LinkInertia.pack(m, moved, R @ I @ R.T + shift)


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """One moving body in its joint frame."""

    name: str
    parent: int  # index of an earlier link; -1 for the base
    kind: JointKind
    coordinate: int
    multiplier: float
    offset: float
    K: np.ndarray  # (4, 4) this joint's frame at q = 0 in the parent's joint frame
    inertia: LinkInertia
    armature: float
    friction: Friction


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """All links, base to tips, and the tool's pose in its link."""

    links: tuple[Link, ...]
    n: int
    tip: int
    tool: np.ndarray  # (4, 4) in the tip's joint frame


def links_of(model: TreeModel, regroup: bool = True) -> Links:
    """The dynamic model of a robot; refuses a robot whose file gives no inertia."""
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
    """Move to the parent, tip to base, what never acts by itself; the base keeps nothing."""
    links = list(links)
    for i in reversed(range(len(links))):
        link = links[i]
        m, h, I = link.inertia.unpack()
        if link.kind == "revolute":
            turned = np.diag([I[1, 1], I[1, 1], 0.0])
            movable = LinkInertia.pack(m, np.array([0.0, 0.0, h[2]]), turned)
            rest = LinkInertia.pack(0.0, np.array([h[0], h[1], 0.0]), I - turned)
        else:
            movable = LinkInertia.pack(0.0, np.zeros(3), I)
            rest = LinkInertia.pack(m, h, np.zeros((3, 3)))
        links[i] = replace(link, inertia=rest)
        if link.parent >= 0:
            # A turn about (shift along) z changes nothing in the movable part... but a shift would:
            # only tensors travel over a sliding joint, and those do not feel it.
            parent = links[link.parent]
            links[link.parent] = replace(
                parent, inertia=parent.inertia.plus(movable.seen_from(link.K))
            )
    return links
