"""Two-finger gripper: two coupled prismatic fingers with one force-controlled drive.

    finger left   slides along  +y of the tool     opening o = s_left + s_right
    finger right  slides along  −y                 s_left = s_right  (an equality)

The position s of each finger is half the opening.  The drive force acts on the opening; each pad
receives half of it.  F is the commanded force; in these formulas, opening forces are positive.  The
drive force decreases with the rate of the opening: F_drive = F − b ȯ, where b = F_max / v_close is
the max force divided by the closing speed.  This limits the impact when the gripper closes.  With
this term alone, the velocity of the drive's inertia m would decay by the factor e⁻ᵃ in a step dt,
where a = b dt/m.  The force is therefore computed as

    F_drive = F − (m/dt) (1 − e⁻ᵃ) ȯ,

which is stable for any step.  (Joint damping would be stable as well, but the contact solver does
not account for implicit damping, and the pads would bounce.)

The mass of the fingers is part of the link that carries them, as given in the robot file.  The
finger bodies themselves have no mass; their slide joints have the inertia of the drive.  The
dynamics of the robot are therefore those of its model at every opening.

The command of a gripper is a force, or an opening that a servo approaches with at most the max
force.  The command is stored in the engine's user data, so it is part of the engine's state.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.formats.mjcf.engine import engine
from brazo.model.description import Array, Gripper, Inertia, Part, TreeModel, frozen
from brazo.model.shapes import Box
from brazo.model.transforms import translate
from brazo.world.assembly import Assembly, Drawn, Label, Surface
from brazo.world.cell import GripperSettings
from brazo.world.collision import primitives
from brazo.world.robot_elements import PAD_SURFACE, GripperElements, RobotElements, add_joint

if TYPE_CHECKING:
    from brazo.world.sensors import HandSensors

SIDES = (("left", 1.0), ("right", -1.0))
GRASP = 0.7  # position of the tool frame along a finger that has no drawn part, 0..1
PAD_SHARE = 0.5  # part of the drive force that acts on each pad
SERVO_RANGE = 0.005  # m, error of the opening at which the servo reaches max force
FORCE, OPENING = 0.0, 1.0  # modes of a command: its first number in the user data
_NOTHING = Inertia(0.0, frozen(np.zeros(3)), frozen(np.zeros((3, 3))))


def finger_name(side: str) -> str:
    return f"finger {side}"


def without_fingers(model: TreeModel, i: int) -> tuple[Part, ...]:
    """Return the parts of body `i` without the fingers, which are separate bodies."""
    parts = tuple(model.bodies[i].parts)
    if model.gripper is None or i != model.tip:
        return parts
    fingers = {finger_name(side) for side, _ in SIDES}
    return tuple(part for part in parts if part.name not in fingers)


def add_gripper(
    assembly: Assembly,
    elements: RobotElements,
    gripper: Gripper,
    tool: Array,
    parts: tuple[Part, ...],
    settings: GripperSettings,
) -> GripperElements:
    """Add the fingers, their coupling and their drive to a MuJoCo model under construction.

    `tool` (4, 4) is the tool frame relative to the last link, and `parts` are the parts of this
    link.
    """
    robot, contact = elements.robot.name, assembly.contact
    y_tool = tool[:3, 1]
    closed, opened = gripper.opening
    surface = Surface(contact.pad_friction, PAD_SURFACE, contact.pad_dimension, contact.warning)
    fingers, slides, pads = [], [], []
    for side, sign in SIDES:
        name = f"{robot}/{finger_name(side)}"
        finger = assembly.body(elements.tip, name, np.eye(4))
        assembly.inertia(finger, _NOTHING)
        slide = add_joint(
            finger,
            name,
            "prismatic",
            sign * y_tool,
            np.zeros(3),
            contact=contact,
            limits=(closed / 2, opened / 2),
            ref=opened / 2,
        )
        slide.armature = settings.finger_inertia
        part = _finger_part(parts, tool, gripper, side, sign)
        (solid,) = primitives(part)
        pads.append(assembly.solid(finger, solid, Label("robot", robot, part.name), surface))
        assembly.drawn.append(Drawn(name, "robot", (part,), finger, of_gripper=True))
        fingers.append(finger)
        slides.append(slide)
    _couple(assembly, slides)
    return GripperElements(
        (fingers[0], fingers[1]),
        (slides[0], slides[1]),
        (pads[0], pads[1]),
        _drive(assembly, robot, slides, gripper),
    )


class WorldGripper:
    """The gripper of one robot in a running world."""

    def __init__(
        self,
        robot: str,
        gripper: Gripper,
        elements: GripperElements,
        slot: int,
        settings: GripperSettings,
        step: float,
    ) -> None:
        mass, b = settings.finger_inertia, gripper.max_force / settings.closing_speed
        self.drag = mass / step * -math.expm1(-b * step / mass)
        self.robot = robot
        self.description = gripper
        self.weld = False
        self.finger_ids = tuple(int(finger.id) for finger in elements.fingers)
        self.pad_ids = tuple(int(pad.id) for pad in elements.pads)
        self.weld_ids = {name: int(equality.id) for equality, name in elements.welds}
        self._slides = [slide.name for slide in elements.slides]
        self._max_force = gripper.max_force
        self.drive_id = int(elements.drive.id)
        self._slot = slot
        self.sensors: HandSensors | None = None

    def bind(self, model: Any, data: Any) -> None:
        """Attach to a compiled model: create views of its arrays."""
        first, second = (int(model.joint(name).qposadr[0]) for name in self._slides)
        self.slide_q = np.array([first, second], int)
        dofs = [int(model.joint(name).dofadr[0]) for name in self._slides]
        self._q, self._qd = data.qpos[first : second + 1], data.qvel[dofs[0] : dofs[1] + 1]
        self._push = data.ctrl[self.drive_id : self.drive_id + 1]
        self._command = data.userdata[2 * self._slot : 2 * self._slot + 2]
        # Reading single numbers from memory views is several times as fast as from arrays.
        self._memory = self._command.data, self._q.data, self._qd.data, self._push.data

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """Views of the engine's arrays: command, finger positions and velocities, drive control."""
        return self._command, self._q, self._qd, self._push

    @property
    def opening(self) -> float:
        """Distance between the inner faces of the pads (m)."""
        left, right = self._q.tolist()
        return left + right

    @property
    def speed(self) -> float:
        """Rate of the opening (m/s)."""
        left, right = self._qd.tolist()
        return left + right

    @property
    def command(self) -> tuple[str, float]:
        """Current command: `("force", N)`, where a positive force closes, or `("opening", m)`."""
        mode, value = self._command.tolist()
        return ("opening" if mode == OPENING else "force", value)

    @command.setter
    def command(self, command: tuple[str, float]) -> None:
        mode, value = command
        self._command[:] = OPENING if mode == "opening" else FORCE, value

    @property
    def closes(self) -> bool:
        """Whether the current command moves or presses the pads together."""
        mode, value = self._command.tolist()
        return value > 0.0 if mode == FORCE else value < self.opening - 1e-6

    def grip(self, force: float | None = None) -> None:
        """Close with a drive force (N), by default the max force.

        Each pad receives half of the force.  A negative force opens the gripper.
        """
        max_force = self.description.max_force
        value = max_force if force is None else float(force)
        if not abs(value) <= max_force:
            raise BrazoError(
                f"gripper of '{self.robot}': the force is {value:g} N; "
                f"it must be from -{max_force:g} to {max_force:g} N"
            )
        self._command[:] = FORCE, value

    def open(self, opening: float | None = None) -> None:
        """Command an opening (m) within the limits of the gripper; by default, open fully."""
        low, high = self.description.opening
        value = high if opening is None else float(opening)
        if not low <= value <= high:
            raise BrazoError(
                f"gripper of '{self.robot}': the opening is {value:g} m; "
                f"it must be {low:g} to {high:g} m"
            )
        self._command[:] = OPENING, value

    def place(self, opening: float) -> None:
        """Set the finger positions to an opening (m), with zero velocity."""
        self._q[:] = opening / 2
        self._qd[:] = 0.0

    def fit(self) -> None:
        """Clip finger positions and command to the limits, which an edit may have changed."""
        low, high = self.description.opening
        self._q[:] = np.clip(self._q, low / 2, high / 2)
        mode, value = self._command.tolist()
        limit = high if mode == OPENING else self.description.max_force
        self._command[1] = min(max(value, low if mode == OPENING else -limit), limit)

    def drive(self) -> None:
        """Compute the drive force and write it to the control of the drive."""
        command, q, qd, control = self._memory
        max_force = self._max_force
        if command[0] == OPENING:
            force = (command[1] - (q[0] + q[1])) * (max_force / SERVO_RANGE)
            force = min(max(force, -max_force), max_force)
        else:
            force = -command[1]
        force -= self.drag * (qd[0] + qd[1])
        control[0] = -max_force if force < -max_force else max_force if force > max_force else force


def _finger_part(
    parts: tuple[Part, ...], tool: Array, gripper: Gripper, side: str, sign: float
) -> Part:
    """Return the left or right finger as a box, in the frame of the link.

    If `parts` has a box with the name of the finger `side`, this box is returned; otherwise a new
    box.  `sign` is +1 for the left and −1 for the right finger.
    """
    name = finger_name(side)
    for part in parts:
        if part.name == name and isinstance(part.shape, Box):
            return part
    x, y, z = gripper.finger
    centre = translate(y=sign * (gripper.opening[1] + y) / 2, z=(0.5 - GRASP) * z)
    return Part(name, Box((x, y, z)), frozen(tool @ centre))


def _couple(assembly: Assembly, slides: list[Any]) -> None:
    mujoco = engine()
    equality = assembly.spec.add_equality(
        name1=slides[1].name,
        name2=slides[0].name,
        type=mujoco.mjtEq.mjEQ_JOINT,
        objtype=mujoco.mjtObj.mjOBJ_JOINT,
    )
    # The polynomial is relative to the slides' reference position, where both are fully open.
    equality.data = np.array([0.0, 1.0, *[0.0] * (len(equality.data) - 2)])
    assembly.tie(equality)


def _drive(assembly: Assembly, robot: str, slides: list[Any], gripper: Gripper) -> Any:
    mujoco = engine()
    tendon = assembly.spec.add_tendon(name=f"{robot}/gripper drive")
    for slide in slides:
        tendon.wrap_joint(slide.name, PAD_SHARE)
    motor = assembly.spec.add_actuator(name=f"{robot}/gripper drive", target=tendon.name)
    motor.trntype = mujoco.mjtTrn.mjTRN_TENDON
    motor.set_to_motor()
    motor.ctrllimited = 1
    motor.ctrlrange = [-gripper.max_force, gripper.max_force]
    return motor
