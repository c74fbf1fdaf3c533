"""Reader of MJCF into a `TreeModel`: MuJoCo compiles the file, and the result is converted.

MuJoCo thus handles defaults, includes, angle units and orientations, and the frames equal those of
`mj_kinematics` for q = qpos.  MuJoCo places a body at

    T_parent_body(q) = pose · Π_k  Trans(p_k) motion(axis_k, q_k − ref_k) Trans(−p_k)

with the product over the joints k of the body.  `pose` is the pose of the body in its parent at
q = ref.  p_k, axis_k and ref_k are the attributes `pos`, `axis` and `ref` of joint k.  For each
hinge or slide joint, the `TreeModel` has one body.  If a MuJoCo body has several joints, the bodies
of all joints but the last are massless and are named `<body>/<joint>`.  `ref` is converted to a
constant transform, so that the joint coordinate is q.

Bodies without joints are merged into their parent, sites become named frames, and the base is the
world.  A ball joint becomes three rotations about x, y and z, and a free joint is read as fixed.  A
linear joint equality becomes a mimic joint.  An exported Delta robot is read by
`brazo.formats.mjcf.delta_reader`.  Springs, tendons, other loops and soft bodies are not supported
by a `TreeModel`; they are ignored with a warning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from brazo.errors import BrazoError
from brazo.formats.assembly import Complaints, Connection, FileLink, Mimic, TreeFields, assemble
from brazo.formats.composed import MASSLESS
from brazo.formats.export import unique_name
from brazo.formats.mjcf import extras
from brazo.formats.mjcf.delta_reader import delta_from, is_delta
from brazo.formats.mjcf.engine import caught_warnings, engine
from brazo.formats.mjcf.geoms import parts_of
from brazo.formats.mjcf.missing import Missing, compile_without_missing
from brazo.formats.mjcf.quaternion import pose_of, rotation_of
from brazo.formats.mjcf.size import require_moderate
from brazo.formats.urdf.elements import MAX_NUMBER, bound
from brazo.formats.urdf.normalise import local_name, parse_xml, read_bytes
from brazo.formats.urdf.reader import read_urdf
from brazo.model.description import (
    DeltaModel,
    Drive,
    Finding,
    Friction,
    Inertia,
    TreeModel,
    frozen,
)
from brazo.model.inertia import broken_rules, doubts, rotated
from brazo.model.motion import motion
from brazo.model.transforms import translate

# Fields of MjModel that determine positions and motion.
_PLACES = (
    *("body_pos", "body_quat", "body_ipos", "body_iquat", "body_inertia", "body_mass"),
    *("jnt_pos", "jnt_axis", "qpos0", "dof_damping", "dof_frictionloss", "dof_armature"),
    *("site_pos", "site_quat", "geom_pos", "geom_quat", "geom_size", "eq_data", "key_qpos"),
)


@dataclass(frozen=True, eq=False)
class _Step:
    """Name of one moving connection, and a function that creates the connection.

    The arguments of the function are the name of the parent link, the name of the child link, and
    the pose (4, 4) of the connection in the parent link.
    """

    name: str
    connection: Callable[[str, str, np.ndarray], Connection]


def read_mjcf(
    path: str | Path, *, tip: str | None = None, arguments: Mapping[str, str] | None = None
) -> TreeModel | DeltaModel:
    """Read an MJCF file into a model.

    `tip` is the name of the body or site that carries the tool.  By default, it is the name that
    the file stores as `brazo:tip`.  If there is no such name, `brazo.formats.tip` selects the tip.
    A file with the root element <robot> is read as URDF, with the xacro arguments `arguments`.  For
    MJCF, `arguments` are ignored.
    """
    path = Path(path)
    data = read_bytes(path)
    root, _ = parse_xml(data, path)
    if local_name(root) == "robot":
        return read_urdf(path, tip=tip, arguments=arguments)
    if local_name(root) != "mujoco":
        raise BrazoError(
            f"{path}: the file starts with <{local_name(root)}>; MJCF starts with <mujoco>, "
            "URDF with <robot>"
        )
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BrazoError(f"{path}:{line}: not UTF-8 text; save the file as UTF-8") from error
    require_moderate(root, path)
    mujoco = engine()
    with caught_warnings() as warnings:
        try:
            spec, compiled, missing = compile_without_missing(
                lambda: mujoco.MjSpec.from_file(str(path)), path
            )
        # The bindings raise RuntimeError for unknown errors, including lack of memory.
        except (ValueError, RuntimeError, MemoryError, mujoco.FatalError, OSError) as error:
            reason = " ".join(str(error).split())
            raise BrazoError(f"{path}: MuJoCo cannot compile the file: {reason}") from error
    _require_finite(compiled, path)
    reader = _MjcfReader(spec, compiled, path, missing)
    reader.findings += [Finding(f"MuJoCo warns: {warning}", path) for warning in warnings]
    return reader.read(tip)


def _require_finite(compiled: Any, path: Path) -> None:
    """Raise BrazoError if a number of the compiled model is not finite or too large."""
    for name in _PLACES:
        values = getattr(compiled, name)
        if values.size and not np.abs(values).max() <= MAX_NUMBER:
            raise BrazoError(
                f"{path}: a number in {name} of the compiled model is not finite or too large; the "
                f"maximum is {MAX_NUMBER:g}"
            )


class _MjcfReader:
    def __init__(self, spec: Any, m: Any, path: Path, missing: Missing) -> None:
        self.mj = engine()
        self.spec = spec
        self.m = m
        self.path = path
        self.missing = missing
        self.findings: list[Finding] = []
        self.taken: set[str] = set()
        self.bodies = [self._unique(self._name("BODY", i) or f"body {i}") for i in range(m.nbody)]
        self.joints = [self._name("JOINT", j) or f"joint {j}" for j in range(m.njnt)]
        self.mimics, self.constants = self._equalities()

    def read(self, tip: str | None) -> TreeModel | DeltaModel:
        if is_delta(self.m, self.mj):
            return self._delta(tip)
        links: list[FileLink] = []
        connections: list[Connection] = []
        for i in range(self.m.nbody):
            links.append(self._link(i))
            if i > 0:
                for link, connection in self._connections(i):
                    links += [link] if link is not None else []
                    connections.append(connection)
        for s in range(self.m.nsite):
            name = self._unique(self._name("SITE", s) or f"site {s}")
            links.append(FileLink(name, is_marker=True, source=name))
            parent = self.bodies[self.m.site_bodyid[s]]
            T = pose_of(self.m.site_pos[s], self.m.site_quat[s])
            connections.append(Connection(name, parent, name, before=T))
        if tip is None:
            tip = extras.tip(self.m, self.mj)
        assembly = assemble(links, connections, Complaints(self._fail, self._note), tip)
        self._note_unread()
        return TreeModel(
            name=self.spec.modelname or self.path.stem,
            path=self.path,
            bodies=assembly.bodies,
            tip=assembly.tip,
            tool=assembly.tool,
            named_frames=assembly.named_frames,
            tip_choice=assembly.tip_choice,
            gravity=frozen(self.m.opt.gravity),
            poses=self._poses(assembly),
            findings=tuple(dict.fromkeys(self.findings)),
        )

    def _delta(self, tip: str | None) -> DeltaModel:
        if tip is not None:
            self._fail(
                None,
                "'tip' is not allowed for a Delta, whose tool is on the platform; omit it",
            )
        self.findings.clear()  # its loops are closed
        tool = extras.tip(self.m, self.mj)
        model = delta_from(
            self.m,
            self.mj,
            name=self.spec.modelname or self.path.stem,
            inertia=self._inertia,
            parts=lambda i: parts_of(self.m, self.mj, i, self.bodies[i], self._note),
            limits=self._limits,
            max_torque=self._max_torque,
            tool=tool,
            fail=self._fail,
            path=self.path,
            gravity=frozen(self.m.opt.gravity),
            poses=extras.poses(self.m, self.mj, 3),
        )
        return replace(model, findings=tuple(dict.fromkeys(self.findings)))

    # -- links and joints -----------------------------------------------------------------------

    def _link(self, i: int) -> FileLink:
        name = self.bodies[i]
        parts = parts_of(self.m, self.mj, i, name, self._note)
        return FileLink(
            name,
            inertia=self._inertia(i),
            parts=parts,
            is_solid=bool(self.m.body_geomnum[i]),
            source=name,
        )

    def _inertia(self, i: int) -> Inertia | None:
        m, name = self.m, self.bodies[i]
        inertia = extras.inertia(m, self.mj, name)
        if inertia is extras.NOT_GIVEN:
            if i in self.missing.bodies:
                return None  # MuJoCo computes it from a mesh that is missing
            if m.body_mass[i] == 0.0 and not m.body_inertia[i].any():
                return None  # a static frame: MuJoCo requires a mass for every moving body
            tensor = rotated(np.diag(m.body_inertia[i]), rotation_of(m.body_iquat[i]))
            inertia = Inertia(float(m.body_mass[i]), frozen(m.body_ipos[i]), frozen(tensor))
        if i > 0 and inertia is not None:
            for rule in (*broken_rules(inertia), *doubts(inertia)):
                self._note(name, rule)
        return inertia

    def _connections(self, i: int) -> Iterator[tuple[FileLink | None, Connection]]:
        """Yield (link, connection) for each moving connection of body i; they are in series.

        `link` is the massless link between this connection and the next one; None after the last
        one.  A body without a moving joint has one fixed connection.
        """
        m, name = self.m, self.bodies[i]
        at = self.bodies[m.body_parentid[i]]
        T = pose_of(m.body_pos[i], m.body_quat[i])
        joints = []
        for j in range(m.body_jntadr[i], m.body_jntadr[i] + m.body_jntnum[i]):
            kind = m.jnt_type[j]
            if kind == self.mj.mjtJoint.mjJNT_FREE:
                self._note(name, "has a free joint: read as fixed at its pose in the file")
            elif self.joints[j] in self.constants:
                T = T @ self._fixed_at(j, self.constants[self.joints[j]])
            else:
                joints.append(j)
        if not joints:
            yield None, Connection(name, at, name, before=T, source=name)
            return
        steps = [step for j in joints for step in self._steps(j)]
        for make in steps:
            last = make is steps[-1]
            child = name if last else self._unique(f"{name}/{make.name}")
            link = None if last else FileLink(child, inertia=MASSLESS, source=name)
            yield link, make.connection(at, child, T)
            at, T = child, np.eye(4)

    def _steps(self, j: int) -> Iterator[_Step]:
        """Yield a step for each connection of a joint: three for a ball joint, one for others."""
        if self.m.jnt_type[j] != self.mj.mjtJoint.mjJNT_BALL:
            yield _Step(self.joints[j], lambda at, child, T: self._connection(j, at, child, T))
            return
        name, dof = self.joints[j], self.m.jnt_dofadr[j]
        unread = {
            "range": self.m.jnt_limited[j],
            "spring": self.m.jnt_stiffness[j],
            "armature": self.m.dof_armature[dof],
            "dry friction": self.m.dof_frictionloss[dof],
            "nonlinear damping": self.m.dof_dampingpoly[dof].any(),
            "torque limit": any(self.m.actuator_forcelimited[a] for a in self._actuators(j)),
        }
        left_out = ", ".join(word for word, given in unread.items() if given)
        self._note(
            name,
            "a ball joint: read as rotations about x, y and z, which are singular at y = ±90°"
            + (f"; left out: {left_out}" if left_out else ""),
        )
        for axis, letter in enumerate("xyz"):
            yield _Step(f"{name} {letter}", partial(self._ball, j, axis))

    def _ball(self, j: int, axis: int, parent: str, child: str, T: np.ndarray) -> Connection:
        """Return the connection for the rotation of a ball joint about `axis` (0, 1, 2: x, y, z).

        The three connections of a ball joint give R = Rx(q1) Ry(q2) Rz(q3).  `T` is the pose of the
        connection in the parent link.
        """
        m, p = self.m, self.m.jnt_pos[j]
        dof = m.jnt_dofadr[j]
        return Connection(
            name=f"{self.joints[j]} {'xyz'[axis]}",
            parent=parent,
            child=child,
            kind="revolute",
            before=T @ translate(*p) if axis == 0 else T,
            axis=np.eye(3)[axis],
            after=translate(*-p) if axis == 2 else np.eye(4),
            friction=Friction(float(m.dof_damping[dof])),
            source=self.joints[j],
        )

    def _connection(self, j: int, parent: str, child: str, T: np.ndarray) -> Connection:
        m = self.m
        dof = m.jnt_dofadr[j]
        ref = float(m.qpos0[m.jnt_qposadr[j]])
        kind = self._kind(j)
        axis, p = m.jnt_axis[j], m.jnt_pos[j]
        if m.jnt_stiffness[j]:
            self._note(self.joints[j], f"its spring (stiffness {m.jnt_stiffness[j]:g}) is ignored")
        if m.dof_dampingpoly[dof].any():
            self._note(self.joints[j], "nonlinear damping is ignored")
        loss = float(m.dof_frictionloss[dof])
        return Connection(
            name=self.joints[j],
            parent=parent,
            child=child,
            kind=kind,
            before=T @ translate(*p),
            axis=np.array(axis),
            after=motion(kind, axis, -ref) @ translate(*-p),
            limits=self._limits(j),
            friction=Friction(float(m.dof_damping[dof]), (loss, loss)),
            drive=Drive(max_torque=self._max_torque(j), motor_inertia=float(m.dof_armature[dof])),
            mimic=self.mimics.get(self.joints[j]),
            source=self.joints[j],
        )

    def _limits(self, j: int) -> tuple[float, float]:
        """Return the limits (low, high) of a joint in rad or m.

        MJCF has no infinity, so a number of 1e9 or more in magnitude is read as no limit on that
        side.
        """
        if not self.m.jnt_limited[j]:
            return -math.inf, math.inf
        low, high = (float(x) for x in self.m.jnt_range[j])
        return bound(low), bound(high)

    def _kind(self, j: int) -> Any:
        slides = self.m.jnt_type[j] == self.mj.mjtJoint.mjJNT_SLIDE
        return "prismatic" if slides else "revolute"

    def _fixed_at(self, j: int, value: float) -> np.ndarray:
        p, ref = self.m.jnt_pos[j], float(self.m.qpos0[self.m.jnt_qposadr[j]])
        still = motion(self._kind(j), self.m.jnt_axis[j], value - ref)
        return translate(*p) @ still @ translate(*-p)

    def _max_torque(self, j: int) -> float:
        """Return the smallest torque or force limit (N m or N) of a joint and its actuators.

        The result is infinite if there is no limit, or if the smallest limit is 0.
        """
        m = self.m
        found = math.inf
        if m.jnt_actfrclimited[j]:
            found = float(np.abs(m.jnt_actfrcrange[j]).max())
        for a in self._actuators(j):
            gear = abs(float(m.actuator_gear[a, 0]))
            if m.actuator_forcelimited[a]:
                found = min(found, gear * float(np.abs(m.actuator_forcerange[a]).max()))
            elif m.actuator_ctrllimited[a] and self._is_motor(a):
                gain = abs(float(m.actuator_gainprm[a, 0]))
                found = min(found, gear * gain * float(np.abs(m.actuator_ctrlrange[a]).max()))
        return found if found > 0.0 else math.inf

    def _actuators(self, j: int) -> list[int]:
        """Return the indices of the actuators that act directly on a joint."""
        m, of_joint = self.m, self.mj.mjtTrn.mjTRN_JOINT
        return [
            a
            for a in range(m.nu)
            if m.actuator_trntype[a] == of_joint and m.actuator_trnid[a, 0] == j
        ]

    def _is_motor(self, a: int) -> bool:
        m, mj = self.m, self.mj
        return (
            m.actuator_gaintype[a] == mj.mjtGain.mjGAIN_FIXED
            and m.actuator_biastype[a] == mj.mjtBias.mjBIAS_NONE
        )

    # -- everything else ------------------------------------------------------------------------

    def _equalities(self) -> tuple[dict[str, Mimic], dict[str, float]]:
        """Return the mimic joints, and the joints that an equality fixes at a value (rad or m).

        Both are mappings by joint name.
        """
        m, mj = self.m, self.mj
        mimics: dict[str, Mimic] = {}
        constants: dict[str, float] = {}
        for e in range(m.neq):
            name = self._name("EQUALITY", e) or f"equality {e}"
            if not m.eq_active0[e]:
                continue
            kind = mj.mjtEq(int(m.eq_type[e]))
            if kind in (mj.mjtEq.mjEQ_CONNECT, mj.mjtEq.mjEQ_WELD):
                self._note(
                    name,
                    "closes a loop, which a tree model does not support: the loop stays open",
                )
                continue
            if kind != mj.mjtEq.mjEQ_JOINT:
                what = "tendons" if kind == mj.mjtEq.mjEQ_TENDON else "a soft body"
                self._note(name, f"constrains {what}, which a tree model does not support: ignored")
                continue
            first, second = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
            c = [float(x) for x in m.eq_data[e, :5]]
            ref = float(m.qpos0[m.jnt_qposadr[first]])
            joint = self.joints[first]
            if second < 0:
                constants[joint] = ref + c[0]
                self._note(name, f"holds joint '{joint}' at {ref + c[0]:g}: read as fixed")
            elif any(c[2:]):
                self._note(name, f"couples joint '{joint}' nonlinearly: ignored")
            elif joint in mimics:
                self._note(name, f"couples joint '{joint}' a second time: ignored")
            else:
                # q1 - ref1 = c0 + c1 (q2 - ref2)
                ref2 = float(m.qpos0[m.jnt_qposadr[second]])
                mimics[joint] = Mimic(self.joints[second], c[1], ref + c[0] - c[1] * ref2)
        # A joint coupled to a constant joint is constant as well.
        while held := [j for j, tie in mimics.items() if j in constants or tie.master in constants]:
            for joint in held:
                tie = mimics.pop(joint)
                if joint not in constants:
                    constants[joint] = tie.multiplier * constants[tie.master] + tie.offset
        return mimics, constants

    def _poses(self, assembly: TreeFields) -> dict[str, np.ndarray]:
        """Return the keyframes by name, each as the values (n,) of the independent joints."""
        free = {
            body.joint.coordinate: body.joint.name
            for body in reversed(assembly.bodies)
            if body.joint is not None and body.joint.name not in self.mimics
        }
        return {
            self._name("KEY", k) or f"key {k}": frozen(
                [self._value(free[i], self.m.key_qpos[k]) for i in range(len(free))]
            )
            for k in range(self.m.nkey)
        }

    def _value(self, name: str, qpos: np.ndarray) -> float:
        """Return the value (rad or m) of a joint, or one angle of a ball joint, from `qpos`."""
        if name in self.joints:
            return float(qpos[self.m.jnt_qposadr[self.joints.index(name)]])
        start = int(self.m.jnt_qposadr[self.joints.index(name[:-2])])
        R = rotation_of(qpos[start : start + 4])
        x = math.atan2(-R[1, 2], R[2, 2])
        y = math.atan2(R[0, 2], math.hypot(R[0, 0], R[0, 1]))
        z = math.atan2(-R[0, 1], R[0, 0])
        return {"x": x, "y": y, "z": z}[name[-1]]

    def _note_unread(self) -> None:
        m = self.m
        for file in self.missing.files:
            self._note(file, "no such file: its geometry or texture is ignored")
        if self.missing.bodies:
            self._note(
                ", ".join(self.bodies[i] for i in sorted(self.missing.bodies)),
                "the inertia is unknown, because it depends on a missing mesh",
            )
        floating = [self.bodies[i] for i in range(m.nbody) if m.body_gravcomp[i]]
        if floating:
            self._note(
                ", ".join(floating),
                "gravity compensation (gravcomp) is ignored: the bodies have their full weight",
            )
        guessed = [
            self.bodies[b.id]
            for b in self.spec.bodies
            if b.id > 0 and not b.explicitinertial and m.body_mass[b.id] > 0.0
        ]
        if guessed:
            self._note(
                ", ".join(guessed),
                "no inertial is given; MuJoCo computed it from the geoms and their density",
            )
        for count, what in ((m.ntendon, "tendons"), (m.nflex, "soft bodies"), (m.nskin, "skins")):
            if count:
                self._note("", f"{what} ({count}) are ignored")

    def _name(self, kind: str, index: int) -> str:
        return self.mj.mj_id2name(self.m, getattr(self.mj.mjtObj, f"mjOBJ_{kind}"), index) or ""

    def _unique(self, wanted: str) -> str:
        return unique_name(wanted, self.taken)

    def _note(self, item: Any, message: str) -> None:
        self.findings.append(Finding(message, self.path, None, str(item or "")))

    def _fail(self, item: Any, message: str) -> NoReturn:
        head = f"{self.path}: {item}: " if item else f"{self.path}: "
        raise BrazoError(head + message)
