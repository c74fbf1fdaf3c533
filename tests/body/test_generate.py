"""Bodies made from D-H tables: whole, connected, named, and stretched without swelling."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import mujoco
import numpy as np
import pytest
import trimesh
from hypothesis import example, given, settings
from hypothesis import strategies as st

from brazo.body.delta_body import delta_size, rod_offset
from brazo.body.generate import Style, delta_parts, generate_parts, proportions
from brazo.body.skeleton import skeleton
from brazo.body.solids import triangles
from brazo.errors import BrazoError
from brazo.model.description import Gripper, Part
from brazo.model.dh import DHRow, before_after
from brazo.model.shapes import CircularPattern
from brazo.model.transforms import align_z, invert, rot_x, rot_y, rot_z, translate
from tests.body.volume import volume

FREE = (-math.inf, math.inf)
HALF = math.pi / 2


@dataclass(frozen=True)
class Arm:
    """A D-H table and its options, drawn with or without changes."""

    rows: tuple[DHRow, ...]
    convention: str = "standard"
    limits: tuple[tuple[float, float], ...] | None = None
    base: np.ndarray | None = None
    tool: np.ndarray | None = None
    gripper: Gripper | None = None

    def parts(self, **changes) -> tuple[tuple[Part, ...], ...]:
        given = {"limits": self.limits, "gripper": self.gripper}
        if self.base is not None:
            given["base"] = self.base
        if self.tool is not None:
            given["tool"] = self.tool
        return generate_parts(self.rows, self.convention, **(given | changes))  # type: ignore[arg-type]

    def frames(self, q) -> list[np.ndarray]:
        """Pose of every body in the base, by the product of the rows' matrices."""
        T, frames = np.eye(4) if self.base is None else self.base, [np.eye(4)]
        for row, x in zip(self.rows, q, strict=True):
            before, after = before_after(row, self.convention)  # type: ignore[arg-type]
            motion = rot_z(x) if row.kind == "revolute" else translate(z=x)
            T = T @ before @ motion @ after
            frames.append(T)
        return frames

    def poses(self, count: int, seed: int = 0) -> list[list[float]]:
        """Joint values: every joint at its lowest, at its highest, then anywhere."""
        _, axes = skeleton(self.rows, self.convention, self.limits)  # type: ignore[arg-type]
        spans = [
            (-3.0, 3.0)
            if row.kind == "revolute"
            else (axis.foot[0] - row.offset, axis.foot[1] - row.offset)
            for row, axis in zip(self.rows, axes, strict=True)
        ]
        zero = [0.0 if row.kind == "revolute" else s[0] for row, s in zip(self.rows, spans)]  # noqa: B905
        rng = np.random.default_rng(seed)
        return [zero, [s[1] for s in spans]] + [
            [rng.uniform(*s) for s in spans] for _ in range(count)
        ]


def R(d=0.0, a=0.0, alpha=0.0) -> DHRow:
    return DHRow("revolute", d=d, a=a, alpha=math.radians(alpha))


def P(a=0.0, alpha=0.0) -> DHRow:
    return DHRow("prismatic", a=a, alpha=math.radians(alpha))


def from_golden(table) -> tuple[DHRow, ...]:
    rows = []
    for row in table:
        a, alpha, theta = row["a"], row["alpha"], row["theta_offset"]
        if row.get("joint", "R") == "R":
            rows.append(DHRow("revolute", d=row["d"], a=a, alpha=alpha, offset=theta))
        else:
            rows.append(DHRow("prismatic", theta=theta, a=a, alpha=alpha, offset=row["d"]))
    return tuple(rows)


PANDA = (R(0.333), R(0, 0, -90), R(0.316, 0, 90), R(0, 0.0825, 90), R(0.384, -0.0825, -90),
         R(0, 0, 90), R(0.107, 0.088, 90))  # fmt: skip
NAMES = ("puma560", "srm1", "pegasus", "rv2aj", "scara1", "scara2", "teleop-scara", "panda",
         "ur5", "stanford", "palletiser", "planar", "gantry", "seven", "wall", "one")  # fmt: skip


@pytest.fixture(scope="module")
def arms(golden) -> dict[str, Arm]:
    robots = golden["robots"]
    free, gripper = FREE, Gripper()
    return {
        "puma560": Arm(from_golden(robots["puma560_corke"]["table"])),
        "srm1": Arm(from_golden(robots["srm1_corrected"]["table"])),
        "pegasus": Arm(from_golden(robots["pegasus_proposed"]["table"]), gripper=gripper),
        "rv2aj": Arm(from_golden(robots["rv2aj_paper"]["dh"])),
        "scara1": Arm(
            from_golden(robots["scara1_proposed"]["table"]),
            limits=(free, free, (0.0, 0.2), free, free), tool=translate(z=0.1), gripper=gripper,
        ),
        "scara2": Arm(
            from_golden(robots["scara2_proposed"]["table"]),
            limits=(free, free, free, (0.0, 0.2), free), gripper=gripper,
        ),
        "teleop-scara": Arm(
            (R(), P(), R(0.05), R(0.05, 0.3), R(0.05, 0.3)), "modified",
            limits=(free, (0.0, 0.3), free, free, free),
        ),
        "panda": Arm(PANDA, "modified", tool=translate(z=0.1034), gripper=gripper),
        "ur5": Arm((R(0.089, 0, 90), R(0, -0.425), R(0, -0.392), R(0.109, 0, 90),
                    R(0.095, 0, -90), R(0.082))),
        "stanford": Arm(
            (R(0.412, 0, -90), R(0.154, 0, 90), P(), R(0, 0, -90), R(0, 0, 90), R(0.1)),
            limits=(free, free, (0.2, 0.8), free, free, free),
        ),
        "palletiser": Arm((R(0.4, 0.18, -90), R(0, 0.6), R(0, 0.12, -90), R(0.62, 0, 90),
                           R(0, 0, -90), R(0.115))),
        "planar": Arm((R(0, 0.4), R(0, 0.3)), tool=translate(x=0.2)),
        "gantry": Arm((P(0, -90), P(0, -90), P()), limits=((0.2, 0.6), (0.1, 0.5), (-0.3, 0.4))),
        "seven": Arm((R(0.36, 0, -90), R(0, 0, 90), R(0.42, 0, 90), R(0, 0, -90),
                      R(0.4, 0, -90), R(0, 0, 90), R(0.126))),
        "wall": Arm((R(0.1, 0.3), R(0, 0.2)), base=translate(0.1, 0.0, 0.5) @ rot_x(HALF)),
        "one": Arm((R(),)),
    }  # fmt: skip


class Touch:
    """Distances between parts by an independent engine (GJK on the parts' hulls)."""

    def __init__(self, bodies) -> None:
        spec = mujoco.MjSpec()
        self.names: list[tuple[int, str]] = []
        for b, parts in enumerate(bodies):
            body = spec.worldbody.add_body(name=f"body {b}", mocap=True)
            for part in parts:
                k = len(self.names)
                vertices, faces = triangles(part.shape)
                spec.add_mesh(name=f"{k}", uservert=vertices.ravel(), userface=faces.ravel())
                body.add_geom(
                    type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"{k}",
                    pos=part.pose[:3, 3], quat=_wxyz(part.pose),
                )  # fmt: skip
                self.names.append((b, part.name))
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)

    def move(self, frames) -> None:
        for b, T in enumerate(frames):
            self.data.mocap_pos[b], self.data.mocap_quat[b] = T[:3, 3], _wxyz(T)
        mujoco.mj_kinematics(self.model, self.data)

    def of(self, body: int) -> list[int]:
        return [k for k, (b, _) in enumerate(self.names) if b == body]

    def named(self, body: int, name: str) -> int:
        return self.names.index((body, name))

    def distance(self, i: int, j: int) -> float:
        return mujoco.mj_geomDistance(self.model, self.data, i, j, 10.0, None)

    def between(self, first: int, second: int) -> float:
        pairs = itertools.product(self.of(first), self.of(second))
        return min(self.distance(i, j) for i, j in pairs)

    def loose(self, body: int) -> list[str]:
        """Parts of a body that hang on no chain of touching parts from its first one."""
        parts = self.of(body)
        reached, todo = {parts[0]}, [parts[0]]
        while todo:
            here = todo.pop()
            near = {k for k in parts if k not in reached and self.distance(here, k) <= 1e-6}
            reached |= near
            todo += near
        return [self.names[k][1] for k in parts if k not in reached]


def _wxyz(T: np.ndarray) -> np.ndarray:
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(T[:3, :3]).reshape(-1))
    return quaternion


@pytest.mark.parametrize("name", NAMES)
def test_every_body_touches_its_parent_in_every_pose(arms, name) -> None:
    arm = arms[name]
    parts = arm.parts()
    touch = Touch(parts)
    for q in arm.poses(4):
        touch.move(arm.frames(q))
        for i in range(1, len(parts)):
            assert touch.between(i - 1, i) <= 1e-6, f"body {i} at {q}"


@pytest.mark.parametrize("name", NAMES)
def test_no_part_floats(arms, name) -> None:
    parts = arms[name].parts()
    touch = Touch(parts)
    touch.move([np.eye(4)] * len(parts))
    assert [touch.loose(i) for i in range(len(parts))] == [[] for _ in parts]


@pytest.mark.parametrize(
    "name", ["puma560", "srm1", "pegasus", "rv2aj", "scara1", "scara2", "teleop-scara"]
)
def test_bodies_that_are_no_neighbours_keep_clear_at_rest(arms, name) -> None:
    """What collides in a simulation must not do so before anything has moved."""
    solid = [[part for part in body if part.collides] for body in arms[name].parts()]
    touch = Touch(solid)
    touch.move(arms[name].frames([0.0] * len(arms[name].rows)))
    for i, j in itertools.combinations(range(len(solid)), 2):
        assert j - i < 2 or touch.between(i, j) > 0.0, (i, j)


def test_tool_without_offset_looks_out_of_the_wrist(arms) -> None:
    parts = {part.name: part for part in arms["puma560"].parts()[6]}
    assert parts["tool flange"].pose[2, 3] > 0.0


def test_tool_of_a_flat_arm_hangs_down(arms) -> None:
    arm = arms["teleop-scara"]
    parts = {part.name: part for part in arm.parts()[5]}
    assert parts["tool flange"].pose[2, 3] < parts["fifth segment"].pose[2, 3]


@pytest.mark.parametrize("name", NAMES)
def test_every_part_is_a_closed_solid_of_modest_size(arms, name) -> None:
    for part in itertools.chain(*arms[name].parts()):
        vertices, faces = triangles(part.shape)
        assert trimesh.Trimesh(vertices, faces, process=False).is_watertight, part.name
        assert volume(part.shape) > 0.0
        assert len(faces) < 1500, part.name
        assert part.pose[:3, :3] @ part.pose[:3, :3].T == pytest.approx(np.eye(3), abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_parts_carry_their_names_once(arms, name) -> None:
    parts = arms[name].parts()
    base = {part.name for part in parts[0]}
    assert {"base plate", "base", "base bolts", "first joint"} <= base
    assert ("base top" in base) or ("base bridge" in base)
    ordinals = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")
    for i, ordinal in enumerate(ordinals[: len(parts) - 1]):
        assert f"{ordinal} segment" in {part.name for part in parts[i + 1]}
        assert f"{ordinal} joint" in {part.name for part in parts[i]}
    last = {part.name for part in parts[-1]}
    assert "tool flange" in last
    assert {"gripper", "finger left", "finger right"} <= last or arms[name].gripper is None
    for body in parts:
        assert len({part.name for part in body}) == len(body)


FIXED = ("base plate", "base bolts", "base top", "joint", "ring", "cap", "fork", "bridge", "flange",
         "gripper", "finger")  # fmt: skip


@pytest.mark.parametrize("name", ["puma560", "srm1", "rv2aj", "scara1", "panda", "palletiser"])
def test_longer_segments_leave_flanges_and_bolts_as_they_were(arms, name) -> None:
    arm = arms[name]
    sizes = proportions(arm.rows, arm.limits)
    rows = tuple(replace(row, d=3.0 * row.d, a=3.0 * row.a) for row in arm.rows)
    was = {part.name: part.shape for part in itertools.chain(*arm.parts(sizes=sizes))}
    tripled = replace(arm, rows=rows).parts(sizes=sizes)
    now = {part.name: part.shape for part in itertools.chain(*tripled)}
    shared = [key for key in was.keys() & now.keys() if any(word in key for word in FIXED)]
    assert len(shared) > 12
    for key in shared:
        assert volume(now[key]) == pytest.approx(volume(was[key]), rel=1e-9), key
    grown = [key for key in was.keys() & now.keys() if volume(now[key]) > 1.5 * volume(was[key])]
    assert "base" in grown and any("segment" in key for key in grown)


def test_a_base_five_times_as_high_differs_only_in_its_column(arms) -> None:
    arm = arms["puma560"]
    sizes = proportions(arm.rows)
    rows = (replace(arm.rows[0], d=5.0 * arm.rows[0].d), *arm.rows[1:])
    for old, new in zip(
        itertools.chain(*arm.parts(sizes=sizes)),
        itertools.chain(*replace(arm, rows=rows).parts(sizes=sizes)),
        strict=True,
    ):
        assert old.name == new.name
        same = volume(new.shape) == pytest.approx(volume(old.shape), rel=1e-9)
        assert same == (old.name != "base")


def test_look_does_not_depend_on_the_unit_of_length(arms) -> None:
    arm = arms["puma560"]
    rows = tuple(replace(row, d=1e3 * row.d, a=1e3 * row.a) for row in arm.rows)
    for small, large in zip(
        itertools.chain(*arm.parts()),
        itertools.chain(*replace(arm, rows=rows).parts()),
        strict=True,
    ):
        assert volume(large.shape) == pytest.approx(1e9 * volume(small.shape), rel=1e-9)
        assert large.pose[:3, 3] == pytest.approx(1e3 * small.pose[:3, 3], abs=1e-6)


def test_width_makes_an_arm_stouter_not_longer(arms) -> None:
    arm = arms["puma560"]
    slim = {part.name: part.shape for part in arm.parts()[2]}
    stout = {part.name: part.shape for part in arm.parts(style=Style(width=1.25))[2]}
    assert stout["second segment"].length == slim["second segment"].length
    assert stout["second segment"].radii[0] == pytest.approx(1.25 * slim["second segment"].radii[0])


def test_style_paints_every_part(arms) -> None:
    style = Style((0.1, 0, 0), (0.2, 0, 0), (0.3, 0, 0), (0.4, 0, 0), (0.5, 0, 0))
    used = {part.color for part in itertools.chain(*arms["scara1"].parts(style=style))}
    assert used == {style.base, style.link, style.joint, style.accent, style.steel}


@pytest.mark.parametrize(
    "name", ["puma560", "srm1", "pegasus", "rv2aj", "scara1", "panda", "scara2"]
)
def test_base_stands_on_the_floor(arms, name) -> None:
    lowest = min(_lowest(part) for part in arms[name].parts()[0])
    assert lowest == pytest.approx(0.0, abs=1e-9)


def test_base_without_room_goes_below_its_frame_and_keeps_its_least_height() -> None:
    arm = Arm((R(0, 0, -90), R(0.149, 0.43), R(0, -0.02, 90), R(0.43)))
    assert min(_lowest(part) for part in arm.parts()[0]) < -0.05
    parts = arm.parts(style=Style(base_height=0.5))
    assert min(_lowest(part) for part in parts[0]) < -0.5


def _lowest(part: Part) -> float:
    vertices, _ = triangles(part.shape)
    return float((vertices @ part.pose[:3, :3].T + part.pose[:3, 3])[:, 2].min())


@pytest.mark.parametrize("name", ["puma560", "srm1"])
def test_upper_arm_swings_beside_the_column_and_the_forearm_beside_it(arms, name) -> None:
    arm = arms[name]
    touch = Touch(arm.parts())
    column, head = touch.named(0, "base"), touch.named(1, "first segment")
    upper, forearm = touch.named(2, "second segment"), touch.named(3, "third segment")
    for turn in np.linspace(-math.pi, math.pi, 25):
        touch.move(arm.frames([0.3, turn, 2.0 * turn, 0.0, 0.0, 0.0]))
        for pair in ((column, upper), (head, upper), (upper, forearm)):
            assert touch.distance(*pair) > 1e-3


@pytest.mark.parametrize("name", ["scara1", "scara2"])
def test_scara_arms_pass_over_each_other_and_over_the_column(arms, name) -> None:
    arm = arms[name]
    touch = Touch(arm.parts())
    ordinals = ("first", "second", "third")[: 2 if name == "scara1" else 3]
    plates = [touch.named(i, f"{word} segment") for i, word in enumerate(ordinals, 1)]
    solids = [touch.named(0, "base"), *plates]
    for turn in np.linspace(-math.pi, math.pi, 13):
        touch.move(arm.frames([turn] * len(plates) + [0.0] * (len(arm.rows) - len(plates))))
        for one, other in itertools.combinations(solids, 2):
            assert touch.distance(one, other) > 1e-3


def test_polished_rod_fills_its_sleeve_over_the_whole_stroke(arms) -> None:
    arm = arms["scara1"]
    touch = Touch(arm.parts())
    sleeve, rod = touch.named(2, "third joint"), touch.named(3, "third rod")
    for d in np.linspace(0.0, 0.2, 9):
        touch.move(arm.frames([0.0, 0.0, d, 0.0, 0.0]))
        assert touch.distance(sleeve, rod) < -0.01


@pytest.mark.parametrize("name", ["scara1", "scara2", "pegasus", "panda"])
def test_tool_frame_lies_between_the_fingers(arms, name) -> None:
    arm = arms[name]
    parts = {part.name: part for part in arm.parts()[-1]}
    tool = np.eye(4) if arm.tool is None else arm.tool
    _, y, z = arm.gripper.finger
    for side, sign in (("left", 1.0), ("right", -1.0)):
        centre = (invert(tool) @ parts[f"finger {side}"].pose)[:3, 3]
        across = sign * (arm.gripper.opening[1] + y) / 2
        assert centre == pytest.approx([0.0, across, z / 2 - 0.7 * z], abs=1e-12)


def test_both_conventions_draw_the_same_arm() -> None:
    standard = Arm((R(0.67, 0, 90), R(0, 0.43), R(0.15, 0.02, -90), R(0.43, 0, 90), R(0, 0, -90),
                    R(0.05)))  # fmt: skip
    before = (0.0, 0.0), *((row.a, row.alpha) for row in standard.rows[:-1])
    shifted = tuple(
        replace(row, a=a, alpha=alpha)
        for row, (a, alpha) in zip(standard.rows, before, strict=True)
    )
    modified = Arm(shifted, "modified")
    sizes = proportions(standard.rows)
    q = [0.3, 0.5, -0.4, 0.2, 0.7, 0.1]
    for T, U, ours, theirs in zip(
        standard.frames(q), modified.frames(q),
        standard.parts(sizes=sizes), modified.parts(sizes=sizes), strict=True,
    ):  # fmt: skip
        for a, b in zip(ours, theirs, strict=True):
            assert a.name == b.name
            # A shape may be built from its other end: compare centres and volumes.
            assert (T @ a.pose)[:3, 3] == pytest.approx((U @ b.pose)[:3, 3], abs=1e-12)
            assert volume(a.shape) == pytest.approx(volume(b.shape), rel=1e-9)


lengths = st.sampled_from([0.0, 0.0, 0.02, 0.1, 0.4, -0.3, 1.0])
angles = st.sampled_from([0.0, 0.0, HALF, -HALF, math.pi, 0.5, -2.7])
rows_of_any_arm = st.lists(
    st.builds(
        lambda kind, d, a, alpha: DHRow(kind, a=a, alpha=alpha, **{_variable(kind): d}),
        st.sampled_from(["revolute", "revolute", "prismatic"]), lengths, lengths, angles,
    ),
    min_size=1, max_size=12,
)  # fmt: skip


def _variable(kind: str) -> str:
    return "d" if kind == "revolute" else "offset"


@example(
    rows=[
        DHRow("revolute", 0.0, 0.02, 0.02, HALF, 0.0),
        DHRow("prismatic", 0.0, 0.0, 0.0, 0.0, 0.1),
    ],
    convention="standard", scale=1.0, tool=(0.0, 0.0, 0.0), lie=0.0, gripped=False,
)  # fmt: skip
@settings(max_examples=60)
@given(
    rows=rows_of_any_arm,
    convention=st.sampled_from(["standard", "modified"]),
    scale=st.sampled_from([1e-3, 1.0, 40.0]),
    tool=st.tuples(lengths, st.just(0.0), lengths),
    lie=st.sampled_from([0.0, HALF, math.pi, 0.4]),
    gripped=st.booleans(),
)
def test_any_table_gives_solid_connected_bodies(
    rows, convention, scale, tool, lie, gripped
) -> None:
    scaled = tuple(replace(r, d=scale * r.d, a=scale * r.a, offset=scale * r.offset) for r in rows)
    limits = tuple((-0.1 * scale, 0.3 * scale) if r.kind == "prismatic" else FREE for r in rows)
    arm = Arm(
        scaled, convention, limits, base=rot_x(lie), tool=translate(*(scale * x for x in tool)),
        gripper=Gripper((0.0, 0.08 * scale), 1.0, (0.02 * scale, 0.01 * scale, 0.06 * scale))
        if gripped else None,
    )  # fmt: skip
    parts = arm.parts()
    assert len(parts) == len(rows) + 1
    assert all(volume(part.shape) > 0.0 for part in itertools.chain(*parts))
    # The engine resolves distances at the size of a robot only: use units of the scale.
    unit = Arm(tuple(rows), convention, tuple((-0.1, 0.3) if r.kind == "prismatic" else FREE
                                              for r in rows), base=rot_x(lie),
               tool=translate(*tool), gripper=Gripper((0.0, 0.08), 1.0, (0.02, 0.01, 0.06))
               if gripped else None)  # fmt: skip
    bodies = unit.parts()
    touch = Touch(bodies)
    for q in unit.poses(1):
        touch.move(unit.frames(q))
        assert [i for i in range(1, len(bodies)) if touch.between(i - 1, i) > 1e-6] == []
    assert [touch.loose(i) for i in range(len(bodies))] == [[] for _ in bodies]


def test_arm_without_joints_and_foreign_sizes_are_refused(arms) -> None:
    with pytest.raises(BrazoError, match="at least one joint"):
        generate_parts([], "standard")
    with pytest.raises(BrazoError, match="for 6 joints, but the D-H table has 1"):
        generate_parts([R()], "standard", sizes=proportions(arms["puma560"].rows))


# ---- the Delta -------------------------------------------------------------------------------

DELTA = {"R": 0.2, "r": 0.04, "L1": 0.2, "L2": 0.5}
AZIMUTHS = tuple(math.radians(a) for a in (210.0, 330.0, 90.0))


def delta_frames(P, R, r, L1, L2, size) -> dict[str, np.ndarray]:
    """Where the bodies of a Delta are with its platform at P; elbows outward."""
    b = rod_offset(r, size)
    frames = {"base": np.eye(4), "platform": translate(*P)}
    for i, azimuth in enumerate(AZIMUTHS, 1):
        foot = rot_z(-azimuth)[:3, :3] @ P + [r - R, 0.0, 0.0]
        reach = math.hypot(foot[0], foot[2])
        bend = math.acos((foot @ foot + L1**2 - L2**2) / (2.0 * L1 * reach))
        theta = math.atan2(foot[2], foot[0]) + bend
        frames[f"arm {i}"] = arm = rot_z(azimuth) @ translate(x=R) @ rot_y(-theta)
        for rod, y in (("a", b), ("b", -b)):
            elbow = (arm @ translate(x=L1, y=y))[:3, 3]
            ball = (translate(*P) @ rot_z(azimuth) @ translate(x=r, y=y))[:3, 3]
            assert np.linalg.norm(ball - elbow) == pytest.approx(L2)
            frames[f"rod {i}{rod}"] = translate(*elbow) @ align_z(ball - elbow)
    return frames


@pytest.mark.parametrize("P", [(0.0, 0.0, -0.4), (0.1, -0.05, -0.45)])
def test_delta_hangs_together(P) -> None:
    parts = delta_parts(**DELTA, azimuths=AZIMUTHS, stand=0.8)
    frames = delta_frames(np.array(P), **DELTA, size=delta_size(0.2, 0.2, 0.5))
    assert parts.keys() == frames.keys()
    order = list(parts)
    touch = Touch(parts.values())
    touch.move([frames[name] for name in order])
    assert {name: touch.loose(i) for i, name in enumerate(order)} == {name: [] for name in order}
    for i in (1, 2, 3):
        assert touch.between(order.index("base"), order.index(f"arm {i}")) <= 1e-6
        for rod in "ab":
            rod_index = order.index(f"rod {i}{rod}")
            assert touch.between(order.index(f"arm {i}"), rod_index) <= 1e-6
            assert touch.between(order.index("platform"), rod_index) <= 1e-6


def test_delta_members_stretch_and_fittings_do_not() -> None:
    size = delta_size(DELTA["R"], DELTA["L1"], DELTA["L2"])
    small = delta_parts(**DELTA, azimuths=AZIMUTHS, size=size)
    large = delta_parts(**DELTA | {"L1": 0.6, "L2": 1.5}, azimuths=AZIMUTHS, size=size)
    for body in small:
        for a, b in zip(small[body], large[body], strict=True):
            same = volume(a.shape) == pytest.approx(volume(b.shape), rel=1e-12)
            assert same == (a.name not in ("arm", "rod")), (body, a.name)


@pytest.mark.parametrize("r", [0.0, 0.04, 0.3])
def test_delta_solids_are_closed(r) -> None:
    for part in itertools.chain(*delta_parts(0.2, r, 0.2, 0.5, AZIMUTHS, stand=0.5).values()):
        vertices, faces = triangles(part.shape)
        assert trimesh.Trimesh(vertices, faces, process=False).is_watertight
        assert isinstance(part.shape, CircularPattern) <= (not part.collides)
        assert len(faces) < 1500
