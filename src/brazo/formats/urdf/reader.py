"""Reader of URDF and xacro files into a `TreeModel`; the public function is `read_urdf`.

A URDF joint places its child link at `origin · motion(axis, q)`.  The body frame is therefore the
moved joint frame, and the transform `after` of the `Joint` is the identity.  Links with fixed
joints are merged (`brazo.formats.assembly`).  A floating joint on the root link only places the
robot and is read as fixed.  Planar joints and other floating joints become several joints
(`brazo.formats.composed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from brazo.etree import Element
from brazo.formats.assembly import Complaints, Connection, FileLink, Mimic, assemble
from brazo.formats.composed import COMPOSED, composed
from brazo.formats.urdf import elements
from brazo.formats.urdf.normalise import Document, children, local_name, read_document
from brazo.formats.urdf.packages import PackagePlaces
from brazo.model.description import Finding, TreeModel
from brazo.model.motion import motion

_MOVING = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic"}
_OF_ONE = ("limit", "dynamics", "mimic")  # elements of joints with one coordinate
_TYPES = "revolute, continuous, prismatic, fixed, planar, floating"


def read_urdf(
    path: str | Path,
    *,
    tip: str | None = None,
    packages: PackagePlaces | None = None,
    arguments: Mapping[str, str] | None = None,
) -> TreeModel:
    """Read a .urdf or .xacro file into a model.

    `tip` is the name of the link that carries the tool; by default `brazo.formats.tip` selects it.
    `packages` is a mapping from package names to folders, or a list of folders to search.
    `arguments` are the arguments of the xacro file.
    """
    document = read_document(path, packages, arguments)
    return model_from(document, tip)


def model_from(document: Document, tip: str | None = None) -> TreeModel:
    """Return the model of a parsed URDF tree."""
    root = document.root
    if local_name(root) != "robot":
        document.fail(
            root, f"the file starts with <{local_name(root)}>; a URDF starts with <robot>"
        )
    name = (root.get("name") or document.path.stem).strip() or "robot"
    base = _root_name(document)
    connections = [_connection(document, joint, base) for joint in _unique(document, "joint")]
    links = _links(document, connections)
    connections = _expanded(document, connections, links)
    if not links:
        document.fail(root, "has no link; a file with only macros must be included in a robot file")
    complaints = Complaints(
        lambda item, text: document.fail(root if item is None else item, text),
        lambda item, text: document.note(root if item is None else item, text),
    )
    _note_copies(document, links, connections)
    assembly = assemble(links, _without_idle_mimics(document, connections), complaints, tip)
    findings = document.findings + [
        Finding(f"package '{name}' is not found; {folder} is used instead", document.path)
        for name, folder in document.packages.aliases.items()
    ]
    return TreeModel(
        name=name,
        path=document.path,
        bodies=assembly.bodies,
        tip=assembly.tip,
        tool=assembly.tool,
        named_frames=assembly.named_frames,
        tip_choice=assembly.tip_choice,
        findings=tuple(dict.fromkeys(findings)),
    )


def _unique(document: Document, kind: str) -> list[Element]:
    """Return all elements of a kind ("link" or "joint"); two with the same name are an error."""
    seen: set[str] = set()
    found = children(document.root, kind)
    for element in found:
        name = elements.required(document, element, "name")
        if name in seen:
            document.fail(element, f"a second {kind} with this name; names must be unique")
        seen.add(name)
    return found


def _root_name(document: Document) -> str | None:
    """Return the name of the first link that no joint has as its child; None if there is none."""
    joints = children(document.root, "joint")
    below = {_end(document, joint, "child") for joint in joints}
    names = [(link.get("name") or "").strip() for link in children(document.root, "link")]
    return next((name for name in names if name not in below), None)


def _links(document: Document, connections: list[Connection]) -> list[FileLink]:
    colors = elements.named_colors(document)
    # The distance of the next joint bounds the plausible distance of a link's centre of mass.
    reach: dict[str, float] = {}
    for c in connections:
        span = 2.0 * float(np.linalg.norm(c.before[:3, 3]))
        reach[c.parent] = max(reach.get(c.parent, 2.0), span)
    return [
        FileLink(
            name=(name := element.get("name").strip()),
            inertia=elements.inertial(document, element, reach.get(name, 2.0)),
            parts=elements.parts(document, element, colors),
            is_solid=bool(children(element, "visual") or children(element, "collision")),
            source=element,
        )
        for element in _unique(document, "link")
    ]


def _note_copies(document: Document, links: list[FileLink], connections: list[Connection]) -> None:
    """Add a warning if most moving links, and at least three, have exactly the same inertia.

    Such inertias are probably placeholders.
    """
    moving = {c.child for c in connections if c.kind != "fixed"}
    alike: dict[bytes, list[str]] = {}
    for link in links:
        if link.name in moving and (i := link.inertia) is not None and i.mass != 0.0:
            key = np.hstack([i.mass, i.com, i.tensor.ravel()]).tobytes()
            alike.setdefault(key, []).append(link.name)
    names = max(alike.values(), key=len, default=[])
    if len(names) >= 3 and 2 * len(names) > len(moving):
        document.note(
            document.root,
            f"links {', '.join(names)} have exactly the same inertial, probably a placeholder",
        )


def _end(document: Document, joint: Element, which: str) -> str:
    found = elements.only(document, joint, which)
    if found is None:
        document.fail(joint, f'has no {which} link; add <{which} link="..."/>')
    return elements.required(document, found, "link")


def _connection(document: Document, joint: Element, base: str | None) -> Connection:
    parent, child = (_end(document, joint, which) for which in ("parent", "child"))
    connection = Connection(
        name=joint.get("name").strip(),
        parent=parent,
        child=child,
        before=elements.origin(document, joint),
        source=joint,
    )
    kind = elements.required(document, joint, "type")
    if kind == "fixed":
        return connection
    if kind == "floating" and parent == base:
        document.note(joint, "a floating joint on the base: read as fixed at its origin")
        return connection
    if kind in COMPOSED:
        return connection  # see `_expanded`
    if kind not in _MOVING:
        document.fail(joint, f"type '{kind}' is not supported; supported: {_TYPES}")
    limits, drive = elements.limits(document, joint, kind)
    return replace(
        connection,
        kind=_MOVING[kind],
        axis=elements.axis(document, joint),
        limits=limits,
        drive=drive,
        friction=elements.friction(document, joint),
        mimic=_mimic(document, joint),
    )


def _expanded(
    document: Document, connections: list[Connection], links: list[FileLink]
) -> list[Connection]:
    """Return the connections with each planar or floating joint replaced by simple joints.

    A simple joint has one coordinate.  The massless links between the simple joints are appended to
    `links`.
    """
    result: list[Connection] = []
    for whole in connections:
        kind = elements.required(document, whole.source, "type")
        if kind not in COMPOSED or (whole.parent == _root_name(document) and kind == "floating"):
            result.append(whole)
            continue
        axis = elements.axis(document, whole.source)
        steps, between = composed(whole, kind, axis)
        names = ", ".join(step.name.rpartition("/")[2] for step in steps)
        unread = [f"<{tag}>" for tag in _OF_ONE if children(whole.source, tag)]
        left_out = f"; left out: {', '.join(unread)}" if unread else ""
        document.note(
            whole.source, f"a {kind} joint: read as the joints {names}, without limits{left_out}"
        )
        result += steps
        links += between
    return result


def _mimic(document: Document, joint: Element) -> Mimic | None:
    element = elements.only(document, joint, "mimic")
    if element is None:
        return None
    return Mimic(
        elements.required(document, element, "joint"),
        elements.number(document, element, "multiplier", 1.0),
        elements.number(document, element, "offset", 0.0),
    )


def _without_idle_mimics(document: Document, connections: list[Connection]) -> list[Connection]:
    """Return the connections, with each joint that mimics a fixed joint changed to a fixed joint.

    Joints that mimic a changed joint are changed too.  A joint that is fixed in the file has the
    value 0.  A changed joint has the value multiplier · (value of the joint that it mimics) +
    offset.
    """
    values = {c.name: 0.0 for c in connections if c.kind == "fixed"}
    moving = [c for c in connections if c.kind != "fixed"]
    result = {c.name: c for c in connections}
    while idle := [c for c in moving if c.mimic is not None and c.mimic.master in values]:
        for c in idle:
            assert c.kind != "fixed" and c.mimic is not None
            document.note(c.source, f"mimics the fixed joint '{c.mimic.master}': read as fixed")
            value = c.mimic.multiplier * values[c.mimic.master] + c.mimic.offset
            still = c.before @ motion(c.kind, c.axis, value)
            result[c.name] = replace(c, kind="fixed", before=still, mimic=None)
            values[c.name] = value
        moving = [c for c in moving if c.name not in values]
    return list(result.values())
