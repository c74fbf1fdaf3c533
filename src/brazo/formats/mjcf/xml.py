"""Elements of an MJCF document shared by trees and Delta robots: bodies, inertials, geoms.

`Mjcf` holds the sections of a document.  It collects notes on data that the format does not support
or MuJoCo rejects.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from brazo.errors import BrazoError
from brazo.etree import Element, etree
from brazo.formats.export import MeshFolder, printable, text_of, unique_name
from brazo.formats.mjcf import extras
from brazo.formats.mjcf.inertias import PLACEHOLDER, acceptable, change, mujoco_accepts
from brazo.formats.mjcf.quaternion import quat_of
from brazo.model.description import IDENTITY, Array, Drive, Friction, Inertia, Model, Part
from brazo.model.inertia import principal
from brazo.model.shapes import Box, Capsule, Cylinder, Mesh, Sphere

_MAX_STL_TRIANGLES = 200_000  # limit of MuJoCo's reader


class Mjcf:
    """MJCF document under construction."""

    def __init__(self, model: Model, meshes: MeshFolder | None, mesh_folder: str = "") -> None:
        self.notes: list[str] = []
        self.meshes = meshes
        self.without_inertia: list[str] = []
        self._names: dict[str, set[str]] = {}
        self._assets: dict[str, str] = {}
        self.root = etree.Element("mujoco", model=printable(model.name))
        attributes = {"angle": "radian", "autolimits": "true", "inertiafromgeom": "false"}
        if mesh_folder:
            attributes["meshdir"] = mesh_folder
        etree.SubElement(self.root, "compiler", attributes)
        self.option = etree.SubElement(self.root, "option", gravity=text_of(model.gravity))
        self.asset = etree.SubElement(self.root, "asset")
        self.world = etree.SubElement(self.root, "worldbody")
        self.contact = etree.SubElement(self.root, "contact")
        self.equality = etree.SubElement(self.root, "equality")
        self.actuator = etree.SubElement(self.root, "actuator")
        self.keyframe = etree.SubElement(self.root, "keyframe")
        self.custom = etree.SubElement(self.root, "custom")

    def text(self) -> str:
        """Return the document as text; the notes come first, as comments."""
        if self.without_inertia:
            self.custom_text(extras.NO_INERTIA, extras.SEPARATOR.join(self.without_inertia))
        for section in list(self.root):
            if not len(section) and not section.attrib:
                self.root.remove(section)
        for k, note in enumerate(self.notes):
            self.root.insert(k, etree.Comment(f" {note} ".replace("--", "- -")))
        etree.indent(self.root, "  ")
        return etree.tostring(self.root, encoding="unicode") + "\n"

    def name(self, kind: str, wanted: str) -> str:
        """Return `wanted`, with a number appended if another element of this kind has this name.

        Characters that are not printable are replaced by `_`.
        """
        return unique_name(printable(wanted), self._names.setdefault(kind, set()))

    def body(self, parent: Element, name: str, T: Array) -> Element:
        return etree.SubElement(parent, "body", {"name": name, **_place(T)})

    def inertial(self, body: Element, inertia: Inertia | None) -> None:
        """Write the inertia of a body, or a placeholder if it is unknown (None).

        An inertia that MuJoCo rejects is changed as little as possible.  A placeholder and a change
        are reported in `notes`.
        """
        name = body.get("name")
        if inertia is None:
            _inertial(body, PLACEHOLDER)
            self.without_inertia.append(name)
            self.notes.append(
                f"the inertia of body '{name}' is not known: a placeholder of {PLACEHOLDER.mass:g} "
                "kg is written, for kinematics only"
            )
            return
        written = acceptable(inertia)
        _inertial(body, written)
        if mujoco_accepts(inertia):
            return
        numbers = text_of(extras.inertia_numbers(inertia))
        etree.SubElement(self.custom, "numeric", name=extras.INERTIA + name, data=numbers)
        self.notes.append(
            f"MuJoCo rejects the inertia of body '{name}'; changed: {change(inertia, written)}. "
            "The original is stored in <custom>"
        )

    def joint(
        self,
        body: Element,
        name: str,
        kind: str,
        axis: Array,
        position: Array,
        limits: tuple[float, float] = (-np.inf, np.inf),
        friction: Friction | None = None,
        drive: Drive | None = None,
        ref: float = 0.0,
    ) -> None:
        """Write a hinge or slide joint; axis and position are in the body frame.

        `ref` (rad or m) is the joint value at the pose that the body has in the file.
        """
        attributes = {
            "name": name,
            "type": "hinge" if kind == "revolute" else "slide",
            "axis": text_of(axis),
            "pos": text_of(position),
        }
        if ref:
            attributes["ref"] = text_of(ref)
        if np.isfinite(limits).any():
            attributes["range"] = text_of(np.clip(limits, -1e9, 1e9))
        if friction is not None:
            forward, backward = friction.coulomb
            if friction.viscous:
                attributes["damping"] = text_of(friction.viscous)
            if forward or backward:
                attributes["frictionloss"] = text_of(max(forward, backward))
            if forward != backward:
                self.notes.append(
                    f"joint '{name}': Coulomb friction differs by direction ({forward:g}, "
                    f"{backward:g}); the larger is written"
                )
        if drive is not None and drive.armature:
            attributes["armature"] = text_of(drive.armature)
        if drive is not None and np.isfinite(drive.max_torque):
            attributes["actuatorfrcrange"] = text_of([-drive.max_torque, drive.max_torque])
        etree.SubElement(body, "joint", attributes)

    def motor(self, joint: str, drive: Drive) -> None:
        attributes = {"name": joint, "joint": joint}
        if np.isfinite(drive.max_torque):
            attributes["ctrlrange"] = text_of([-drive.max_torque, drive.max_torque])
        etree.SubElement(self.actuator, "motor", attributes)

    def site(self, body: Element, wanted: str, T: Array) -> str:
        name = self.name("site", wanted)
        attributes = {"name": name, "size": "0.005", "group": "4", **_place(T)}
        etree.SubElement(body, "site", attributes)
        return name

    def custom_text(self, name: str, data: str) -> None:
        etree.SubElement(self.custom, "text", name=name, data=data)

    def part(self, body: Element, owner: str, part: Part) -> None:
        """Write the geom of a part; a part that needs a mesh is omitted if there is no mesh folder.

        `owner` is the name of the body.  The convex pieces of a mesh become hidden geoms, which
        collide instead of the mesh.
        """
        attributes = {"name": self.name("geom", f"{owner} {part.name}")}
        match part.shape:
            case Box(size=size, bevel=0.0):
                attributes |= {"type": "box", "size": text_of(np.array(size) / 2)}
            case Cylinder(radius=radius, length=length, bevel=0.0):
                attributes |= {"type": "cylinder", "size": text_of([radius, length / 2])}
            case Capsule(radius=radius, length=length):
                attributes |= {"type": "capsule", "size": text_of([radius, length / 2])}
            case Sphere(radius=radius):
                attributes |= {"type": "sphere", "size": text_of(radius)}
            case _:
                asset = self._mesh(owner, part)
                if asset is None:
                    return
                attributes |= {"type": "mesh", "mesh": asset}
        pieces = isinstance(part.shape, Mesh) and part.shape.pieces
        if pieces or not part.collides:
            attributes |= {"contype": "0", "conaffinity": "0"}
        attributes |= {"rgba": text_of((*part.color, 1.0)), "mass": "0", **_place(part.pose)}
        etree.SubElement(body, "geom", attributes)
        if pieces and part.collides:
            self._pieces(body, owner, part, attributes["name"])

    def _pieces(self, body: Element, owner: str, part: Part, drawn: str) -> None:
        assert isinstance(part.shape, Mesh)
        for k, piece in enumerate(part.shape.colliding):
            name = f"{part.name} hull {k + 1}"
            asset = self._mesh(owner, replace(part, name=name, shape=piece))
            if asset is not None:
                attributes = {"name": self.name("geom", extras.piece_name(drawn, k + 1))}
                attributes |= {"type": "mesh", "mesh": asset, "group": "3", "mass": "0"}
                etree.SubElement(body, "geom", attributes | _place(part.pose))

    def _mesh(self, owner: str, part: Part) -> str | None:
        if self.meshes is None:
            self.notes.append(f"part '{part.name}' of '{owner}' needs a mesh file and is left out")
            return None
        try:
            file = self.meshes.add(part.shape, f"{owner}_{part.name}", _MAX_STL_TRIANGLES)
        except BrazoError as error:
            self.notes.append(f"part '{part.name}' of '{owner}' is left out: {error}")
            return None
        if file not in self._assets:
            self._assets[file] = self.name("mesh", file.removesuffix(".stl"))
            # As a shell, a mesh has an inertia even if the surface is not closed.
            etree.SubElement(
                self.asset, "mesh", name=self._assets[file], file=file, inertia="shell"
            )
        return self._assets[file]


def _inertial(body: Element, inertia: Inertia) -> None:
    moments, axes = principal(inertia.tensor)
    # A flat plate has A + B = C; rounding must not make C larger than the sum.
    moments[2] = min(moments[2], moments[0] + moments[1])
    etree.SubElement(
        body,
        "inertial",
        pos=text_of(inertia.com),
        quat=text_of(quat_of(axes)),
        mass=text_of(inertia.mass),
        diaginertia=text_of(moments),
    )


def _place(T: Array) -> dict[str, str]:
    attributes = {}
    if T[:3, 3].any():
        attributes["pos"] = text_of(T[:3, 3])
    if not np.array_equal(T[:3, :3], IDENTITY[:3, :3]):
        attributes["quat"] = text_of(quat_of(T[:3, :3]))
    return attributes
