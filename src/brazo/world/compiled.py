"""`CompiledWorld`: a compiled MuJoCo model, its data and all objects that refer to them."""

from __future__ import annotations

from brazo.formats.mjcf.engine import engine
from brazo.world import state as states
from brazo.world.body_poses import BodyPoses
from brazo.world.build import Built, Mode
from brazo.world.cell import Cell
from brazo.world.contacts import ContactReader
from brazo.world.divergence_guard import DivergenceGuard
from brazo.world.friction import JointFriction
from brazo.world.grasps import GraspReader
from brazo.world.gripper import WorldGripper
from brazo.world.sensors import HandSensors
from brazo.world.stiffness import stiffness_of
from brazo.world.wrenches import WrenchReader


class CompiledWorld:
    """A compiled model and all objects that refer to it; a new one is made after each edit."""

    def __init__(self, cell: Cell, mode: Mode, built: Built) -> None:
        model = built.model
        self.mode: Mode = mode
        self.model, self.data = model, engine().MjData(model)
        self.labels = built.labels
        self.layout = states.layout_of(model)
        robots = tuple(elements.robot.name for elements in built.robots)
        self.reader = ContactReader(built.labels, robots, cell.contact.warning)
        self.body_poses = BodyPoses(model, built.drawn)
        members = [member for elements in built.robots for member in elements.members]
        self.friction = JointFriction(members, model, in_engine=mode == "contact")
        stiffness = stiffness_of(model, members, viscous=mode == "exact")
        self.substeps = stiffness.substeps(cell.step) if mode == "exact" else 1
        model.opt.timestep = cell.step / self.substeps
        self.guard = DivergenceGuard(model, self.data, stiffness)
        self.objects = {body.name: (body, int(built.objects[body.name].id)) for body in cell.bodies}
        self.grippers: list[WorldGripper] = []
        self.grasps: dict[str, GraspReader] = {}
        for elements in built.robots:
            if elements.gripper is None:
                continue
            name, robot = elements.robot.name, elements.robot.model
            assert robot.gripper is not None
            gripper = WorldGripper(
                name, robot.gripper, elements.gripper, len(self.grippers), cell.gripper, cell.step
            )
            gripper.sensors = HandSensors(model, name, list(self.objects))
            gripper.bind(model, self.data)
            self.grippers.append(gripper)
            self.grasps[name] = GraspReader(
                gripper, int(elements.tip.id), self.objects, cell.gripper, self.data
            )
        self.wrenches = WrenchReader(model, self.data, self.grippers)

    def gripper_of(self, robot: str) -> WorldGripper | None:
        """Return the gripper of a robot, or None if the robot has no gripper."""
        return self.grasps[robot].gripper if robot in self.grasps else None
