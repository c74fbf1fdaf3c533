"""Writer of MJCF: `write_mjcf` returns the text, `export_mjcf` writes a file with its meshes.

Bodies and joints are placed as in `brazo.formats.mjcf.layout`.  A body with zero mass and inertia,
no geometry and one child (such as the body between the two axes of a universal joint) is merged
into its child: the MuJoCo body of the child gets the joints of both.  A body that carries the tool
or another named frame is not merged.

MuJoCo requires a valid inertia for every moving body.  If MuJoCo would reject an inertia, mass and
centre of mass are kept and the tensor is changed as little as possible (see
`brazo.formats.mjcf.inertias`).  If an inertia is unknown, the file contains a placeholder, which is
valid for kinematics only.  Both cases are stated in a comment, in the notes of `export_mjcf`, and
in `<custom>` (`brazo.formats.mjcf.extras`), from which the MJCF reader restores the original
values.  For exact dynamics in memory see `brazo.formats.mjcf.compile`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from brazo.etree import Element, etree
from brazo.formats.export import (
    MeshFolder,
    make_folder,
    mesh_folder,
    printable,
    text_of,
    write_file,
)
from brazo.formats.mjcf import extras
from brazo.formats.mjcf.delta import write_delta
from brazo.formats.mjcf.layout import axis_and_place, near_carriers
from brazo.formats.mjcf.xml import Mjcf
from brazo.model.description import IDENTITY, Array, Body, DeltaModel, Joint, Model, TreeModel


def write_mjcf(model: Model) -> str:
    """Return the MJCF text of a robot; parts that need a mesh file are omitted."""
    return _document(model, Mjcf(model, None)).text()


def export_mjcf(model: Model, path: str | Path) -> tuple[str, ...]:
    """Write an MJCF file and its meshes; return notes on omitted or changed data.

    The meshes are in the folder `<stem>_mjcf_meshes` next to the file.
    """
    path = Path(path)
    meshes = MeshFolder()
    folder = mesh_folder(path, "mjcf")
    document = _document(model, Mjcf(model, meshes, folder.name))
    text = document.text()
    make_folder(path.parent)
    meshes.write(folder)
    write_file(path, text.encode())
    return tuple(document.notes)


def tree_document(
    model: TreeModel, document: Mjcf, *, parts: bool = True, fold: bool = True
) -> dict[int, str]:
    """Write a tree into a document; return the names of the MuJoCo bodies by body index.

    `parts=False` omits the geometry.  `fold=False` writes a MuJoCo body for every body; otherwise
    massless bodies without geometry are merged into their only child and are not in the result.
    """
    return _TreeWriter(model, document, parts, fold).write()


def _document(model: Model, document: Mjcf) -> Mjcf:
    if isinstance(model, DeltaModel):
        write_delta(model, document)
    else:
        tree_document(model.require_tree(), document)
    return document


class _TreeWriter:
    def __init__(self, model: TreeModel, document: Mjcf, parts: bool, fold: bool) -> None:
        self.model = model
        self.document = document
        self.parts = parts
        self.children: list[list[int]] = [[] for _ in model.bodies]
        for i, body in enumerate(model.bodies):
            if body.parent >= 0:
                self.children[body.parent].append(i)
        self.folded = {i for i in range(1, len(model.bodies)) if fold and self._is_hollow(i)}
        self.elements: dict[int, Element] = {}
        self.joints: dict[int, str] = {}  # by body

    def write(self) -> dict[int, str]:
        bodies, document = self.model.bodies, self.document
        base = bodies[0]
        if base.name == "world":
            self.elements[0] = document.world
        else:
            name = document.name("body", base.name)
            self.elements[0] = document.body(document.world, name, IDENTITY)
        self._geoms(0, base)
        pending: list[int] = []  # bodies whose joints are written to the next one
        for i in self._depth_first():
            pending.append(i)
            if i not in self.folded:
                self._body(pending)
                pending = []
        self._frames()
        self._couplings()
        self._poses()
        if self.model.gripper is not None:
            document.notes.append("the drive of the gripper is left out")
        return {i: element.get("name", "world") for i, element in self.elements.items()}

    def _is_hollow(self, i: int) -> bool:
        body, model = self.model.bodies[i], self.model
        return (
            body.inertia is not None
            and body.inertia.mass == 0.0
            and not body.inertia.tensor.any()
            and not body.parts
            and len(self.children[i]) == 1
            and i != model.tip
            and all(at != i or name == body.name for name, (at, _) in model.named_frames.items())
        )

    def _depth_first(self) -> list[int]:
        order, waiting = [], self.children[0][::-1]
        while waiting:
            i = waiting.pop()
            order.append(i)
            waiting += self.children[i][::-1]
        return order

    def _body(self, chain: list[int]) -> None:
        """Write one MuJoCo body with the joints of all bodies in `chain`.

        The MuJoCo body represents the last body of the chain.  All earlier bodies of the chain are
        massless and are merged into the last one.
        """
        bodies, document = self.model.bodies, self.document
        last = bodies[chain[-1]]
        parent = self.elements[bodies[chain[0]].parent]
        T = np.eye(4)
        for i in chain:
            joint = _joint_of(bodies[i])
            T = T @ joint.before @ joint.after
        element = document.body(parent, document.name("body", last.name), T)
        self.elements[chain[-1]] = element
        document.inertial(element, last.inertia)
        rest = np.eye(4)  # from a joint's own body to the last one, all at q = 0
        placed: list[tuple[int, Joint, Array]] = []
        for i in reversed(chain):
            joint = _joint_of(bodies[i])
            placed.insert(0, (i, joint, joint.after @ rest))
            rest = joint.before @ joint.after @ rest
        for i, joint, after in placed:
            self.joints[i] = document.name("joint", joint.name)
            document.joint(
                element,
                self.joints[i],
                joint.kind,
                *axis_and_place(joint, after),
                joint.limits,
                joint.friction,
                joint.drive,
            )
        self._geoms(chain[-1], last)
        self._exclude(chain[-1])

    def _geoms(self, i: int, body: Body) -> None:
        if self.parts:
            for part in body.parts:
                self.document.part(self.elements[i], body.name, part)

    def _exclude(self, i: int) -> None:
        """Exclude contacts of body i with its `APART` nearest ancestors.

        These bodies overlap at their joints by design.  Merged bodies are not counted.
        """
        if not (self.parts and self.model.bodies[i].parts):
            return
        for near in near_carriers(self.model, i, self.folded):
            names = [self.elements[k].get("name") for k in (near, i)]
            if names[0] is not None:  # the world has no name
                etree.SubElement(self.document.contact, "exclude", body1=names[0], body2=names[1])

    def _frames(self) -> None:
        """Write sites for named frames that are not body frames, and for the tool."""
        model, document = self.model, self.document
        own = {body.name for body in model.bodies}
        tip = None
        for name, (i, T) in model.named_frames.items():
            if name in own:
                continue
            site = document.site(self.elements[i], name, T)
            if i == model.tip and np.array_equal(T, model.tool):
                tip = tip or site
        if tip is None:
            tip = document.site(self.elements[model.tip], "tool", model.tool)
        document.custom_text(extras.TIP, tip)

    def _couplings(self) -> None:
        """Write an equality for every mimic joint and a motor for every other joint."""
        masters = self.model.masters
        joints = [(_joint_of(self.model.bodies[i]), name) for i, name in self.joints.items()]
        names = {id(joint): name for joint, name in joints}
        for joint, name in joints:
            master = masters[joint.coordinate]
            if master is joint:
                self.document.motor(name, joint.drive)
                continue
            etree.SubElement(
                self.document.equality,
                "joint",
                joint1=name,
                joint2=names[id(master)],
                polycoef=text_of([joint.offset, joint.multiplier, 0.0, 0.0, 0.0]),
            )

    def _poses(self) -> None:
        for name, q in self.model.poses.items():
            values = []
            for i in self.joints:
                joint = _joint_of(self.model.bodies[i])
                values.append(joint.multiplier * q[joint.coordinate] + joint.offset)
            if values:
                key = {"name": printable(name), "qpos": text_of(values)}
                etree.SubElement(self.document.keyframe, "key", key)


def _joint_of(body: Body) -> Joint:
    assert body.joint is not None
    return body.joint
