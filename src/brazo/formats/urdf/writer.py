"""Writer of URDF: `write_urdf` returns the text, `export_urdf` writes a file with its meshes.

The frame of a URDF link is on its joint axis: T_parent_link(q) = origin · motion(axis, q).  The
frame of a `TreeModel` body can be elsewhere (`after`), such as at the far end of a standard D-H
link.  If `after` translates only along the joint axis a, or the joint is prismatic, motion and
`after` can be exchanged,

    before · motion(a) · after = (before · after) · motion(Rᵀ a),      R: rotation of `after`,

and the link is written with the body frame.  Otherwise the joint moves an additional link
`<name>_axis` without inertia, and a fixed joint connects the link of the body to this additional
link.  Every frame keeps its pose.  It also keeps its name, with underscores instead of spaces.

Numbers are written with all their digits.  Data that URDF does not support is omitted, listed in a
comment and returned as a note.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from brazo.etree import Element, etree
from brazo.formats.export import (
    MeshFolder,
    make_folder,
    mesh_folder,
    printable,
    text_of,
    unique_name,
    write_file,
)
from brazo.formats.urdf.elements import NO_LIMIT
from brazo.model.description import IDENTITY, Array, Body, Inertia, Joint, Model, Part, TreeModel
from brazo.model.shapes import Box, Cylinder, Mesh, Shape, Sphere
from brazo.model.transforms import rpy_of

_ON_AXIS = 1e-15  # m, max distance of a frame that counts as on its axis


def write_urdf(model: Model) -> str:
    """Return the URDF text of a robot; parts that would need a new mesh file are omitted."""
    return _UrdfWriter(_tree(model), _existing_file).text()


def export_urdf(model: Model, path: str | Path) -> tuple[str, ...]:
    """Write a URDF file and its meshes; return notes on omitted data.

    The meshes are in the folder `<stem>_meshes` next to the file.
    """
    path = Path(path)
    meshes = MeshFolder()
    folder = mesh_folder(path, "urdf")

    def mesh_uri(shape: Shape, wanted: str) -> str | None:
        return f"{folder.name}/{meshes.add(shape, wanted)}"

    writer = _UrdfWriter(_tree(model), mesh_uri)
    text = writer.text()
    make_folder(path.parent)
    meshes.write(folder)
    write_file(path, text.encode())
    return tuple(writer.notes)


def _tree(model: Model) -> TreeModel:
    return model.require_tree("URDF does not support them; write MJCF instead (--mjcf)")


def _existing_file(shape: Shape, wanted: str) -> str | None:
    """Return the URI of the mesh file of a shape; None if the shape has no file.

    Used when no mesh files are written, so the name `wanted` for a new file is ignored.
    """
    if isinstance(shape, Mesh) and shape.path is not None:
        return shape.path.resolve().as_uri()
    return None


class _UrdfWriter:
    def __init__(self, model: TreeModel, mesh_uri: Callable[[Shape, str], str | None]) -> None:
        self.model = model
        self.mesh_uri = mesh_uri
        self.notes: list[str] = []
        self.taken: set[str] = set()
        self.joint_names: set[str] = set()
        self.links = [self._name(body.name) for body in model.bodies]
        self.joints = {
            id(joint): unique_name(_plain(joint.name), self.joint_names) for joint in model.joints
        }
        self.root = etree.Element("robot", name=_plain(model.name))

    def text(self) -> str:
        masters = self.model.masters
        for i, body in enumerate(self.model.bodies):
            self._link(self.links[i], body.inertia, body.parts)
            if body.joint is not None:
                self._body_joint(body, self.links[i], masters)
        self._frames()
        self._note_rest()
        for k, note in enumerate(self.notes):
            comment = etree.Comment(f" not in this file: {note} ".replace("--", "- -"))
            self.root.insert(k, comment)
        etree.indent(self.root, "  ")
        return '<?xml version="1.0"?>\n' + etree.tostring(self.root, encoding="unicode") + "\n"

    def _name(self, wanted: str) -> str:
        return unique_name(_plain(wanted), self.taken)

    def _link(self, name: str, inertia: Inertia | None = None, parts: Sequence[Part] = ()) -> None:
        link = etree.SubElement(self.root, "link", name=name)
        if inertia is not None:
            element = etree.SubElement(link, "inertial")
            etree.SubElement(element, "origin", xyz=text_of(inertia.com), rpy="0 0 0")
            etree.SubElement(element, "mass", value=text_of(inertia.mass))
            I = inertia.tensor
            entries = {"ixx": I[0, 0], "ixy": I[0, 1], "ixz": I[0, 2]}
            entries |= {"iyy": I[1, 1], "iyz": I[1, 2], "izz": I[2, 2]}
            etree.SubElement(element, "inertia", {k: text_of(v) for k, v in entries.items()})
        for part in parts:
            self._part(link, name, part)

    def _part(self, link: Element, owner: str, part: Part) -> None:
        written = [("visual", part)]
        if part.collides:
            written += [("collision", one) for one in _colliding(part)]
        for tag, part in written:
            element = etree.Element(tag, name=_plain(part.name))
            element.append(_origin(part.pose))
            geometry = etree.SubElement(element, "geometry")
            if not self._geometry(geometry, part, owner):
                note = f"part '{part.name}' of '{owner}', which needs a mesh file"
                if note not in self.notes:
                    self.notes.append(note)
                return
            if tag == "visual":
                rgba = (*part.color, 1.0)
                name = "color_" + "_".join(f"{round(255 * x):02x}" for x in part.color)
                material = etree.SubElement(element, "material", name=name)
                etree.SubElement(material, "color", rgba=text_of(rgba))
            link.append(element)

    def _geometry(self, geometry: Element, part: Part, owner: str) -> bool:
        match part.shape:
            case Box(size=size, bevel=0.0):
                etree.SubElement(geometry, "box", size=text_of(size))
            case Cylinder(radius=radius, length=length, bevel=0.0):
                etree.SubElement(
                    geometry, "cylinder", radius=text_of(radius), length=text_of(length)
                )
            case Sphere(radius=radius):
                etree.SubElement(geometry, "sphere", radius=text_of(radius))
            case shape:
                uri = self.mesh_uri(shape, f"{owner}_{part.name}")
                if uri is None:
                    return False
                mesh = etree.SubElement(geometry, "mesh", filename=uri)
                if uri.startswith("file:") and isinstance(shape, Mesh):
                    mesh.set("scale", text_of(shape.scale))
        return True

    def _body_joint(self, body: Body, name: str, masters: Sequence[Joint]) -> None:
        joint = body.joint
        assert joint is not None
        R, t = joint.after[:3, :3], joint.after[:3, 3]
        off_axis = float(np.linalg.norm(np.cross(joint.axis, t)))
        if joint.kind == "prismatic" or off_axis <= _ON_AXIS:
            element = self._joint(joint, self.links[body.parent], name)
            element.insert(0, _origin(joint.before @ joint.after))
            etree.SubElement(element, "axis", xyz=text_of(R.T @ joint.axis))
        else:
            carrier = self._name(f"{name}_axis")
            self._link(carrier)
            element = self._joint(joint, self.links[body.parent], carrier)
            element.insert(0, _origin(joint.before))
            etree.SubElement(element, "axis", xyz=text_of(joint.axis))
            self._fixed(carrier, name, joint.after)
        self._limits(element, joint)
        master = masters[joint.coordinate]
        if joint is not master:
            etree.SubElement(
                element,
                "mimic",
                joint=self.joints[id(master)],
                multiplier=text_of(joint.multiplier),
                offset=text_of(joint.offset),
            )

    def _joint(self, joint: Joint, parent: str, child: str) -> Element:
        kind: str = joint.kind
        if kind == "revolute" and not any(math.isfinite(x) for x in joint.limits):
            kind = "continuous"
        element = etree.SubElement(self.root, "joint", name=self.joints[id(joint)], type=kind)
        etree.SubElement(element, "parent", link=parent)
        etree.SubElement(element, "child", link=child)
        return element

    def _limits(self, element: Element, joint: Joint) -> None:
        effort, speed = joint.drive.max_torque, joint.drive.max_speed
        attributes = {"effort": text_of(_bounded(effort)), "velocity": text_of(_bounded(speed))}
        if element.get("type") != "continuous":
            lower, upper = (text_of(_bounded(x)) for x in joint.limits)
            attributes = {"lower": lower, "upper": upper} | attributes
        elif math.isinf(effort) and math.isinf(speed):
            attributes = {}
        if attributes:
            etree.SubElement(element, "limit", attributes)
        forward, backward = joint.friction.coulomb
        if joint.friction.viscous or forward or backward:
            etree.SubElement(
                element,
                "dynamics",
                damping=text_of(joint.friction.viscous),
                friction=text_of(max(forward, backward)),
            )
        if forward != backward:
            self.notes.append(
                f"the smaller of the two Coulomb friction values of joint '{joint.name}' "
                f"({forward:g} for qd > 0, {backward:g} for qd < 0)"
            )
        if joint.drive.armature:
            self.notes.append(
                f"the motor inertia of joint '{joint.name}' ({joint.drive.armature:g} kg m²)"
            )

    def _fixed(self, parent: str, child: str, T: Array) -> None:
        name = unique_name(f"{child}_fixed", self.joint_names)
        element = etree.SubElement(self.root, "joint", name=name, type="fixed")
        element.append(_origin(T))
        etree.SubElement(element, "parent", link=parent)
        etree.SubElement(element, "child", link=child)

    def _frames(self) -> None:
        """Write the tool and the named frames that are not body frames as links without inertia."""
        model = self.model
        own = {body.name for body in model.bodies}
        tool_is_named = np.array_equal(model.tool, IDENTITY)
        for name, (i, T) in model.named_frames.items():
            tool_is_named |= i == model.tip and np.array_equal(T, model.tool)
            if name not in own:
                link = self._name(name)
                self._link(link)
                self._fixed(self.links[i], link, T)
        if not tool_is_named:
            link = self._name("tool")
            self._link(link)
            self._fixed(self.links[model.tip], link, model.tool)

    def _note_rest(self) -> None:
        if self.model.gripper is not None:
            self.notes.append("the gripper")
        if self.model.poses:
            self.notes.append(f"the poses {', '.join(self.model.poses)}")
        if self.model.missing_inertia:
            names = ", ".join(self.model.missing_inertia)
            self.notes.append(f"the inertia of {names}, which is not known")


def _colliding(part: Part) -> list[Part]:
    """Return the parts to write as collision shapes: the convex pieces, or the part itself."""
    if not (isinstance(part.shape, Mesh) and part.shape.pieces):
        return [part]
    return [
        replace(part, name=f"{part.name} hull {k + 1}", shape=piece)
        for k, piece in enumerate(part.shape.colliding)
    ]


def _plain(name: str) -> str:
    """Return a name with underscores instead of spaces, because URDF names have no spaces."""
    return printable(name).replace(" ", "_")


def _origin(T: Array) -> Element:
    return etree.Element("origin", xyz=text_of(T[:3, 3]), rpy=text_of(rpy_of(T[:3, :3])))


def _bounded(value: float) -> float:
    """Limit a value to ±1e9, because URDF has no infinity; 1e9 means no limit."""
    return max(-NO_LIMIT, min(NO_LIMIT, value))
