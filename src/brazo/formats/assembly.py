"""Builder of the bodies of a `TreeModel` from the links and connections of URDF and MJCF.

A file describes *links* (frames that can have mass and geometry) and *connections* between them,
some of which are fixed.  The rules are:

* links with a fixed connection are merged into the body of their parent: inertias are combined,
  parts are transformed, and every link keeps its name (`named_frames`);
* a moving connection starts a new body; the frame of the body is the frame of the child link;
* a mimic joint has no coordinate of its own: q_i = multiplier · q_master + offset.  If its master
  is a mimic joint too, the two relations are combined into one;
* the tip, which carries the tool, is the requested link or the most likely link
  (`brazo.formats.tip`).

Bodies are in depth-first order, children in file order (mimic joints last), so a serial robot gives
a serial model.  Anything that is not a tree (two parents, a loop, two roots) is rejected.  A robot
without a moving joint is rejected too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn

import numpy as np

from brazo.formats.tip import choose_tip
from brazo.model.description import (
    IDENTITY,
    Array,
    Body,
    Drive,
    Friction,
    Inertia,
    Joint,
    Part,
    TipChoice,
    frozen,
)
from brazo.model.inertia import merge, transformed


@dataclass(frozen=True, slots=True, eq=False)
class FileLink:
    """Link of the file: a frame that can have inertia and geometry.

    `source` identifies the link in the file, for error messages: an XML element (URDF) or a name
    (MJCF).
    """

    name: str
    inertia: Inertia | None = None
    parts: Sequence[Part] = ()
    is_solid: bool = False  # has any geometry, even one that could not be loaded
    is_marker: bool = False  # only a named frame (an MJCF site)
    source: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Mimic:
    master: str  # name of a connection
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Connection:
    """Joint that connects a link to its parent.

    The pose of the child link in the parent link is `before · motion · after`; see `TreeModel`.
    """

    name: str
    parent: str
    child: str
    kind: Literal["fixed", "revolute", "prismatic"] = "fixed"
    before: Array = None  # type: ignore[assignment]  # (4, 4); None is the identity
    axis: Array = None  # type: ignore[assignment]  # (3,) unit vector
    after: Array = None  # type: ignore[assignment]
    limits: tuple[float, float] = (-np.inf, np.inf)
    friction: Friction = Friction()
    drive: Drive = Drive()
    mimic: Mimic | None = None
    source: Any = None


@dataclass(frozen=True, slots=True)
class Complaints:
    """Functions with which a file reader reports errors and warnings.

    `fail(element, text)` raises an error that names the element of the file; `note(element, text)`
    adds a warning that names the element.  If the element is None, they refer to the whole file.
    """

    fail: Callable[[Any, str], NoReturn]
    note: Callable[[Any, str], None]


@dataclass(frozen=True, slots=True, eq=False)
class TreeFields:
    """Fields of a `TreeModel` that `assemble` computes from links and connections."""

    bodies: tuple[Body, ...]
    tip: int
    tool: Array
    named_frames: Mapping[str, tuple[int, Array]]
    tip_choice: TipChoice


def assemble(
    links: Sequence[FileLink],
    connections: Sequence[Connection],
    complaints: Complaints,
    tip: str | None = None,
) -> TreeFields:
    """Return the bodies of the tree that the connections form, its named frames, tip and tool.

    `tip` is the name of the link that carries the tool; by default `choose_tip` selects it.
    """
    tree = _LinkTree(links, connections, complaints)
    if all(connection.kind == "fixed" for connection in tree.order):
        complaints.fail(None, "has no moving joint; a robot needs at least one")
    coordinates = _coordinates(tree.order, complaints)
    frames: dict[str, tuple[int, Array]] = {tree.root: (0, IDENTITY)}
    members: list[list[tuple[FileLink, Array]]] = [[(tree.links[tree.root], IDENTITY)]]
    joints: list[tuple[int, Joint] | None] = [None]
    for connection in tree.order:
        parent, T_parent = frames[connection.parent]
        before = T_parent @ _or_identity(connection.before)
        after = _or_identity(connection.after)
        link = tree.links[connection.child]
        if connection.kind == "fixed":
            T = frozen(before @ after)
            frames[connection.child] = (parent, T)
            members[parent].append((link, T))
            continue
        frames[connection.child] = (len(joints), IDENTITY)
        members.append([(link, IDENTITY)])
        coordinate, multiplier, offset = coordinates[connection.name]
        joint = Joint(
            name=connection.name,
            kind=connection.kind,
            coordinate=coordinate,
            before=frozen(before),
            axis=frozen(connection.axis),
            after=frozen(after),
            multiplier=multiplier,
            offset=offset,
            limits=connection.limits,
            friction=connection.friction,
            drive=connection.drive,
        )
        joints.append((parent, joint))
    bodies = [_body(i, joints[i], members[i], complaints) for i in range(len(joints))]
    if tip is None:
        choice = choose_tip(tree.root, tree.order, tree.links)
    elif tip not in frames:
        known = ", ".join(frames)
        complaints.fail(None, f"tip: no link is named '{tip}'; links: {known}")
    else:
        choice = TipChoice(tip)
    index, tool = frames[choice.link]
    return TreeFields(tuple(bodies), index, tool, frames, choice)


class _LinkTree:
    """Tree of links and connections; `order` lists the connections depth first."""

    def __init__(
        self, links: Sequence[FileLink], connections: Sequence[Connection], complaints: Complaints
    ) -> None:
        self.links = {link.name: link for link in links}
        self._below: dict[str, list[Connection]] = {name: [] for name in self.links}
        above: dict[str, Connection] = {}
        for connection in connections:
            for end in (connection.parent, connection.child):
                if end not in self.links:
                    known = _few(self.links)
                    complaints.fail(connection.source, f"no link is named '{end}'; links: {known}")
            if connection.child in above:
                complaints.fail(
                    connection.source,
                    f"link '{connection.child}' is already the child of joint "
                    f"'{above[connection.child].name}'; a link must have one parent, closed loops "
                    "are not supported",
                )
            above[connection.child] = connection
            self._below[connection.parent].append(connection)
        roots = [name for name in self.links if name not in above]
        if not roots:
            complaints.fail(None, "the joints form a closed loop: every link has a parent")
        if len(roots) > 1:
            complaints.fail(
                None,
                f"{len(roots)} links have no parent: {_few(roots)}; a robot has one base, "
                "join them with fixed joints",
            )
        self.root = roots[0]
        for below in self._below.values():
            below.sort(key=lambda c: c.mimic is not None)  # a joint before those that mimic it
        self.order: list[Connection] = []
        waiting = self._below[self.root][::-1]
        while waiting:
            connection = waiting.pop()
            self.order.append(connection)
            waiting += self._below[connection.child][::-1]
        if len(self.order) < len(connections):
            reached = {self.root, *(c.child for c in self.order)}
            lost = [name for name in self.links if name not in reached]
            complaints.fail(None, f"the joints of these links form a closed loop: {_few(lost)}")


def _coordinates(
    order: Sequence[Connection], complaints: Complaints
) -> dict[str, tuple[int, float, float]]:
    """Return (index in q, multiplier, offset) of every moving connection, by name.

    The value of the connection is multiplier · q[index] + offset.
    """
    moving = {c.name: c for c in order if c.kind != "fixed"}
    free = [name for name, c in moving.items() if c.mimic is None]
    result = {name: (i, 1.0, 0.0) for i, name in enumerate(free)}
    for name, connection in moving.items():
        chain: list[Mimic] = []
        at, seen = connection, {name}
        while at.mimic is not None:
            chain.append(at.mimic)
            master = at.mimic.master
            if master in seen:
                complaints.fail(connection.source, f"mimics itself (through '{master}')")
            if master not in moving:
                known = _few(free)
                complaints.fail(
                    connection.source,
                    f"mimics '{master}', which is not a moving joint; joints: {known}",
                )
            seen.add(master)
            at = moving[master]
        if chain:
            multiplier, offset = 1.0, 0.0
            for mimic in reversed(chain):
                multiplier, offset = (
                    mimic.multiplier * multiplier,
                    mimic.multiplier * offset + mimic.offset,
                )
            result[name] = (result[at.name][0], multiplier, offset)
    return result


def _body(
    index: int,
    hung: tuple[int, Joint] | None,
    members: list[tuple[FileLink, Array]],
    complaints: Complaints,
) -> Body:
    main = members[0][0]
    inertia: Inertia | None = None
    for link, T in members:
        if link.inertia is not None:
            # The inertia of the first link stays bit for bit as in the file.
            own = link.inertia if T is IDENTITY else transformed(link.inertia, T)
            inertia = own if inertia is None else merge(inertia, own)
    if hung is not None:  # the mass of the base has no effect
        if inertia is None:
            complaints.note(
                main.source,
                "has no inertia, so its mass is unknown: the robot has no dynamics",
            )
        else:
            for link, _ in members:
                if link.inertia is None and link.is_solid:
                    complaints.note(
                        link.source,
                        f"has geometry but no inertia; it adds no mass to body '{main.name}'",
                    )
    parts = tuple(
        part if T is IDENTITY else replace(part, pose=frozen(T @ part.pose))
        for link, T in members
        for part in link.parts
    )
    if hung is None:
        return Body(main.name, inertia=inertia, parts=parts)
    return Body(main.name, hung[0], hung[1], inertia, parts)


def _or_identity(T: Array | None) -> Array:
    return IDENTITY if T is None else T


def _few(names: Iterable[str]) -> str:
    listed = list(names)
    more = f", ... ({len(listed)} in all)" if len(listed) > 20 else ""
    return ", ".join(listed[:20]) + more
