"""The two-finger clamp: a sliding pair of fingers, kept centred, closed by a force.

    finger left   slides along  +y of the tool     opening o = s_left + s_right
    finger right  slides along  −y                 s_left = s_right  (an equality)

Each slide's value is half the opening.  The drive acts on the opening, half of its force on each
pad; it gives way to speed, F_drive = F − b ȯ with b = F_max / v_close, so a closing clamp does not
hammer.  Over a step of dt the drive's inertia m answers to that like a lag of b dt/m = a, hence

    F_drive = F − (m/dt) (1 − e⁻ᵃ) ȯ

which is stable at any step.  (Damping of the joints would be, too, but the contact solver does not
see what an implicit integrator makes of it: pads would bounce.)

The mass of the fingers is in the link that carries them, as the robot file has it: here they weigh
nothing and only the drive's inertia lies on their slides, which leaves the robot's own dynamics
exactly those of its model at every opening.

A clamp is commanded with a force, or with an opening it is then servoed to with no more than its
greatest force.  The command is kept in the engine's user data, and so belongs to its state.
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
from brazo.world.cell import ClampSettings
from brazo.world.collision import primitives
from brazo.world.plan import PAD_SURFACE, ClampPlan, RobotPlan, add_joint

if TYPE_CHECKING:
    from brazo.world.sensors import HandSensors

SIDES = (("left", 1.0), ("right", -1.0))
GRASP = 0.7  # where a finger without a drawn part lies: the tool frame this far along it
SERVO_RANGE = 0.005  # m off the wanted opening at which the servo gives its greatest force
FORCE, OPENING = 0.0, 1.0  # what the first number of a command in the user data says
_NOTHING = Inertia(0.0, frozen(np.zeros(3)), frozen(np.zeros((3, 3))))


def finger_name(side: str) -> str:
    return f"finger {side}"


def without_fingers(model: TreeModel, i: int) -> tuple[Part, ...]:
    """The parts of a body but for the fingers, which are bodies of their own."""
    parts = tuple(model.bodies[i].parts)
    if model.gripper is None or i != model.tip:
        return parts
    fingers = {finger_name(side) for side, _ in SIDES}
    return tuple(part for part in parts if part.name not in fingers)


def add_clamp(
    assembly: Assembly,
    plan: RobotPlan,
    gripper: Gripper,
    tool: Array,
    parts: tuple[Part, ...],
    settings: ClampSettings,
) -> ClampPlan:
    """Put the fingers, their coupling and their drive into the model.

    `tool` is the tool frame in the body that carries it, `parts` are that body's.
    """
    robot, contact = plan.robot.name, assembly.contact
    y_tool = tool[:3, 1]
    closed, opened = gripper.opening
    surface = Surface(contact.pad_friction, PAD_SURFACE, contact.pad_dimension, contact.warning)
    fingers, slides, pads = [], [], []
    for side, sign in SIDES:
        name = f"{robot}/{finger_name(side)}"
        finger = assembly.body(plan.tip, name, np.eye(4))
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
        assembly.drawn.append(Drawn(name, "robot", (part,), finger, of_clamp=True))
        fingers.append(finger)
        slides.append(slide)
    _couple(assembly, slides)
    return ClampPlan(
        (fingers[0], fingers[1]),
        (slides[0], slides[1]),
        (pads[0], pads[1]),
        _drive(assembly, robot, slides, gripper),
    )


class Clamp:
    """The clamp of one robot in a running world."""

    def __init__(
        self,
        robot: str,
        gripper: Gripper,
        plan: ClampPlan,
        slot: int,
        settings: ClampSettings,
        step: float,
    ) -> None:
        mass, b = settings.finger_inertia, gripper.max_force / settings.closing_speed
        self.drag = mass / step * -math.expm1(-b * step / mass)
        self.robot = robot
        self.gripper = gripper
        self.weld = False
        self.finger_ids = tuple(int(finger.id) for finger in plan.fingers)
        self.pad_ids = tuple(int(pad.id) for pad in plan.pads)
        self.weld_ids = {name: int(equality.id) for equality, name in plan.welds}
        self._slides = [slide.name for slide in plan.slides]
        self._greatest = gripper.max_force
        self.drive_id = int(plan.drive.id)
        self._slot = slot
        self.sensors: HandSensors | None = None

    def bind(self, model: Any, data: Any) -> None:
        """Look at the arrays of a compiled model."""
        first, second = (int(model.joint(name).qposadr[0]) for name in self._slides)
        self.slide_q = np.array([first, second], int)
        dofs = [int(model.joint(name).dofadr[0]) for name in self._slides]
        self._q, self._qd = data.qpos[first : second + 1], data.qvel[dofs[0] : dofs[1] + 1]
        self._push = data.ctrl[self.drive_id : self.drive_id + 1]
        self._command = data.userdata[2 * self._slot : 2 * self._slot + 2]
        # Memory views: reading single numbers from them is several times as fast as from arrays.
        self._memory = self._command.data, self._q.data, self._qd.data, self._push.data

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """The engine's memory of command, slides, their rates and the drive's control."""
        return self._command, self._q, self._qd, self._push

    @property
    def opening(self) -> float:
        """Distance of the pads' inner faces (m)."""
        left, right = self._q.tolist()
        return left + right

    @property
    def speed(self) -> float:
        """Rate of the opening (m/s)."""
        left, right = self._qd.tolist()
        return left + right

    @property
    def command(self) -> tuple[str, float]:
        """`("force", N)`, closing when positive, or `("opening", m)`."""
        mode, value = self._command.tolist()
        return ("opening" if mode == OPENING else "force", value)

    @property
    def closes(self) -> bool:
        """Whether the command presses the pads together."""
        mode, value = self._command.tolist()
        return value > 0.0 if mode == FORCE else value < self.opening - 1e-6

    def grip(self, force: float | None = None) -> None:
        """Close with a force of the drive (N), half of it on each pad; negative opens."""
        greatest = self.gripper.max_force
        value = greatest if force is None else float(force)
        if not abs(value) <= greatest:
            raise BrazoError(
                f"gripper of '{self.robot}': a force of {value:g} N; at most {greatest:g} N"
            )
        self._command[:] = FORCE, value

    def open(self, opening: float | None = None) -> None:
        """Go to an opening (m), all the way when none is given."""
        low, high = self.gripper.opening
        value = high if opening is None else float(opening)
        if not low <= value <= high:
            raise BrazoError(
                f"gripper of '{self.robot}': an opening of {value:g} m; from {low:g} to {high:g} m"
            )
        self._command[:] = OPENING, value

    def place(self, opening: float) -> None:
        """Put the fingers at an opening, at rest."""
        self._q[:] = opening / 2
        self._qd[:] = 0.0

    def fit(self) -> None:
        """Bring fingers and command into the range of an edited clamp."""
        low, high = self.gripper.opening
        self._q[:] = np.clip(self._q, low / 2, high / 2)
        mode, value = self._command.tolist()
        limit = high if mode == OPENING else self.gripper.max_force
        self._command[1] = min(max(value, low if mode == OPENING else -limit), limit)

    def drive(self) -> None:
        """Write the force of this moment into the drive's control."""
        command, q, qd, control = self._memory
        greatest = self._greatest
        if command[0] == OPENING:
            force = (command[1] - (q[0] + q[1])) * (greatest / SERVO_RANGE)
            force = min(max(force, -greatest), greatest)
        else:
            force = -command[1]
        force -= self.drag * (qd[0] + qd[1])
        control[0] = -greatest if force < -greatest else greatest if force > greatest else force


def _finger_part(
    parts: tuple[Part, ...], tool: Array, gripper: Gripper, side: str, sign: float
) -> Part:
    """The drawn finger, or one where the tool frame says it should be."""
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
    # The polynomial is about the slides' reference, where both are fully open.
    equality.data = np.array([0.0, 1.0, *[0.0] * (len(equality.data) - 2)])
    assembly.tie(equality)


def _drive(assembly: Assembly, robot: str, slides: list[Any], gripper: Gripper) -> Any:
    mujoco = engine()
    tendon = assembly.spec.add_tendon(name=f"{robot}/clamp")
    for slide in slides:
        tendon.wrap_joint(slide.name, 0.5)
    motor = assembly.spec.add_actuator(name=f"{robot}/clamp", target=tendon.name)
    motor.trntype = mujoco.mjtTrn.mjTRN_TENDON
    motor.set_to_motor()
    motor.ctrllimited = 1
    motor.ctrlrange = [-gripper.max_force, gripper.max_force]
    return motor
