"""The program file: everything it can say, what it refuses and where, and the way back to text."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brazo.control import Controller
from brazo.errors import BrazoError
from brazo.program import Program, load_program, parse_program, program_names
from brazo.program import steps as s
from brazo.program.collision import LOOK
from brazo.trajectory.curve_fields import CURVES
from tests.program.scenes import ARM, program_of, run, sim_of

FILE = Path("task.yaml")


def steps(text: str) -> list[s.Step]:
    """The steps of one robot, from the lines of its list."""
    lines = "\n".join(f"    {line}" for line in text.strip("\n").splitlines())
    return parse_program(f"name: t\nrobots:\n  arm:\n{lines}\n", FILE).steps["arm"]


def complaint(text: str) -> str:
    with pytest.raises(BrazoError) as error:
        steps(text)
    return str(error.value)


def test_units_become_si_and_radians():
    (step,) = steps("- move_to: {xyz: [-10cm, 0, 85mm], rpy: [180deg, 0, 0], in: bar, time: 500ms}")
    assert isinstance(step, s.MoveTo)
    assert step.target == s.Target((-0.1, 0.0, 0.085), (math.pi, 0.0, 0.0), "bar")
    assert step.speed == s.Speed(time=0.5)


def test_short_forms():
    found = steps("""
- move_joints: home
- grip: 60N
- grip:
- release:
- wait: 2s
- sync: both
- set_signal: ready
- set_controller: PID
""")
    assert found == [
        s.MoveJoints(to="home"),
        s.Grip(force=60.0),
        s.Grip(),
        s.Release(),
        s.Wait(time=2.0),
        s.Sync(name="both"),
        s.SetSignal(name="ready"),
        s.SetController(controller="PID"),
    ]


def test_steps_know_their_lines():
    first, second = steps(
        "- wait: 1s\n- for_each:\n    as: x\n    of: [a]\n    do:\n    - note: $x"
    )
    assert str(first.place) == "task.yaml:4"
    assert isinstance(second, s.ForEach)
    assert str(second.do[0].place) == "task.yaml:9"


def test_variables_are_replaced_by_whole_names():
    given_names = {"bar": "bar 1", "bar2": "other"}
    assert s.substituted("$bar and $bar2", given_names) == "bar 1 and other"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("move_to: {xyz: [0, 0, 0], either_way: on}", "gripper_symmetric"),
        ("set_controller: {law: PID}", "controller"),
        ("set_controller: {law: PID, gains: {kp: 1}}", "controller"),
    ],
)
def test_an_old_key_is_read_with_a_warning_that_names_line_and_new_key(old, new):
    name = "law" if "law" in old else "either_way"
    with pytest.warns(DeprecationWarning, match=rf"^task\.yaml:4: '{name}' is now '{new}'"):
        program = parse_program(f"name: t\nrobots:\n  arm:\n    - {old}\n", FILE)
    assert program.steps["arm"] == steps(f"- {old.replace(name, new)}")
    (finding,) = program.findings
    assert str(finding).startswith("task.yaml:4: ") and f"is now '{new}'" in str(finding)
    both = old.replace(f"{name}:", f"{new}: PID, {name}:")
    assert f"'{name}' is now '{new}', and both are given" in complaint(f"- {both}")


def test_an_old_key_is_not_offered_among_the_allowed_ones():
    message = complaint("- set_controller: {lew: PID}")
    assert "controller, gains" in message and "law" not in message


def test_old_keyword_arguments_of_the_step_list_are_read_with_a_warning():
    arm = Program("p").robot("arm")
    with pytest.warns(DeprecationWarning, match="gripper_symmetric"):
        arm.move_to((0, 0, 0), either_way=True)
    with pytest.warns(DeprecationWarning, match="controller"):
        arm.set_controller(law="PID")
    move, control = arm._lists[0]
    assert isinstance(move, s.MoveTo) and move.gripper_symmetric
    assert control == s.SetController(controller="PID")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("- jump: 3", "task.yaml:4: robots.arm[0]: no verb 'jump'"),
        ("- move_two: {}", "did you mean 'move_to'"),
        ("- wait: 1s\n- wait: 3kg", "task.yaml:5: robots.arm[1].wait: '3kg' is a mass"),
        ("- line: {by: [0, 0, 1cm], xyz: [0, 0, 0]}", "'xyz' (position) or 'by'"),
        ("- line: {in: bar}", "a target needs 'xyz', 'by', 'rpy' or 'to'"),
        ("- line: {by: [0, 0, 1cm], plan: free}", "the path of a line is fixed"),
        (
            "- move_to: {xyz: [0, 0, 0], speed: 2}",
            "it must be a fraction of the drives' limits, above 0 and at most 1",
        ),
        ("- move_to: {xyz: [0, 0, 0], speed: 1, time: 1s}", "give only one of 'speed', 'time'"),
        ("- move_to: {xyz: [0, 0], speed: 1}", "expected a list of 3 numbers"),
        ("- move_to: {xyz: [0, 0, 0], plan: fast}", "choose direct or free or unchecked"),
        ("- move_joints: [1N, 0]", "a joint value must be an angle or a length, not a force"),
        ("- grip: {force: -3}", "force is -3; it must be finite and greater than 0"),
        ("- wait: -1s", "time is -1 s; expected 0 to"),
        ("- wait_until: {held: a, signal: b}", "give exactly one of 'held'"),
        ("- wait_until: {signal: b, by: c}", "is not allowed with 'signal'"),
        ("- path: {circle: {centre: [0, 0, 0]}}", "curve 'circle' needs 'radius'"),
        ("- path: {circle: {centre: [0, 0, 0], radius: 1, pitch: 2}}", "unknown field 'pitch'"),
        ("- path: {rpy: [0, 0, 0]}", "give exactly one curve: circle"),
        ("- note: at $bar", "no variable '$bar'; variables: none"),
        ("- repeat: {times: 0, do: []}", "times is 0; expected an integer"),
        ("- repeat: {times: 2.5, do: []}", "times is 2.5; expected an integer"),
        ("- for_each: {as: 3x, of: [a], do: []}", "is not a valid variable name"),
        ("- for_each: {as: x, of: [], do: []}", "'of' is empty"),
        ("- set_controller: {}", "give 'controller', 'gains' or both"),
        ("- {wait: 1s, note: x}", "a step must have one verb, not 2"),
        ("- wait", "a step must be 'verb: value'"),
    ],
)
def test_refused_with_place_and_what_is_allowed(text, wanted):
    message = complaint(text)
    assert message.startswith("task.yaml:")
    assert wanted in message


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("robots: {a: []}", "field 'name' is missing"),
        ("name: x", "field 'robots' is missing"),
        ("name: x\nrobots: {}", "task.yaml:2: robots: 0 robots"),
        ("name: x\nspeed: 3\nrobots: {a: []}", "task.yaml:2: speed: speed is 3"),
        ("name: x\nclearance: 1m\nrobots: {a: []}", "task.yaml:2: clearance:"),
        ("name: x\nclearance: 21mm\nrobots: {a: []}", "greater than 0 and at most 0.02 m"),
        ("name: x\nwatch: no\nrobots: {a: []}", "task.yaml:2: watch: 'no' is not allowed"),
        ("name: x\ngoals: [{body: b}]\nrobots: {a: []}", "a goal must be {body: NAME, through"),
        ("- 3", "expected a program file"),
    ],
)
def test_the_head_of_the_file_is_checked(text, wanted):
    with pytest.raises(BrazoError) as error:
        parse_program(text, FILE)
    assert wanted in str(error.value)


def test_shipped_programs_load_and_unknown_names_are_refused():
    assert "cooperative" in program_names()
    for name in program_names():
        assert load_program(name).name == name
    with pytest.raises(BrazoError, match="did you mean 'cooperative'"):
        load_program("cooperativ")
    with pytest.raises(BrazoError, match="no such file"):
        load_program("nowhere.yaml")


def test_the_shipped_program_survives_the_way_to_text():
    program = load_program("cooperative")
    assert parse_program(program.to_yaml()) == program


def test_python_and_file_say_the_same():
    built = Program("pick", cell="cooperative", speed=0.4)
    arm = built.robot("scara2")
    with arm.for_each("bar", ["bar 1", "bar 2"]):
        arm.move_to((-0.1, 0, 0.08), (math.pi, 0, 0), "$bar", plan="free", gripper_symmetric=True)
        arm.line(by=(0, 0, -0.07), tool_speed=0.1, within=0.004, timeout=3.0)
        arm.grip(60, body="$bar").wait(0.5)
        with arm.repeat(2):
            arm.path("circle", centre=(0, 0.3, 0.2), radius=0.05, time=2.0)
        arm.wait_until(s.Held("$bar"), timeout=1.0).sync("there").release(0.05)
    arm.set_controller("PID", kp=[1, 2, 3, 4, 5]).note("done: all").move_joints([0, 0, 0, 0.1, 0])
    read = parse_program("""
name: pick
cell: cooperative
speed: 0.4
robots:
  scara2:
    - for_each:
        as: bar
        of: [bar 1, bar 2]
        do:
          - move_to:
              {xyz: [-10cm, 0, 8cm], rpy: [pi, 0, 0], in: $bar, plan: free, gripper_symmetric: on}
          - line: {by: [0, 0, -7cm], tool_speed: 0.1m/s, within: 4mm, timeout: 3s}
          - grip: {force: 60N, body: $bar}
          - wait: 500ms
          - repeat:
              times: 2
              do:
                - path: {circle: {centre: [0, 30cm, 20cm], radius: 5cm}, time: 2s}
          - wait_until: {held: $bar, timeout: 1s}
          - sync: there
          - release: 5cm
    - set_controller: {controller: PID, gains: {kp: [1, 2, 3, 4, 5]}}
    - note: "done: all"
    - move_joints: [0, 0, 0, 10cm, 0]
""")
    assert read == built
    assert parse_program(built.to_yaml()) == built


# ---- any program ---------------------------------------------------------------------------

numbers = st.floats(-1e6, 1e6, allow_nan=False)
positive = st.floats(1e-6, 1e3)
seconds = st.floats(0, 1e4)
triples = st.tuples(numbers, numbers, numbers)
names = st.text(
    st.characters(exclude_categories=("C", "Z"), exclude_characters="$/"), min_size=1, max_size=12
) | st.sampled_from(["bar 1", "on", "null", "~", "3", "a: b", "# x", "- y", "1e5", "true", "no"])
words = st.sampled_from(["gravity", "back-calculation", "none", "on", "true", "no", "null", "pi",
                         "_rest", "2nd", "2"])  # fmt: skip
prose = st.characters(codec="utf-8", exclude_characters="$")
speeds = st.one_of(
    st.just(s.Speed()),
    st.builds(s.Speed, fraction=st.floats(0.01, 1.0)),
    st.builds(s.Speed, time=positive),
)
tool_speeds = speeds | st.builds(s.Speed, tool_speed=positive)
targets = st.one_of(
    st.builds(s.Target, triples, st.none() | triples, names, st.none(), st.none() | names),
    st.builds(s.Target, st.none(), st.none() | triples, names, triples, st.none() | names),
    st.builds(s.Target, st.none(), triples, names),
)
conditions = st.one_of(
    st.builds(s.Held, names, st.none() | names, st.booleans()),
    st.builds(s.Touching, names, names),
    st.builds(s.Signal, names),
    st.builds(s.At, seconds),
    st.builds(s.Through, names, names),
)


@st.composite
def curves(draw):
    curve = draw(st.sampled_from(list(CURVES)))
    values = {}
    for name, field in CURVES[curve].items():
        if name == "data":
            values[name] = "M 0 0 L 10 5 Q 3 4 5 6 z"
            continue
        if field.kind == "file" or (not field.needed and draw(st.booleans())):
            continue
        match field.kind:
            case "number" if curve in ("text", "svg"):
                values[name] = draw(positive)
            case "text":
                values[name] = draw(st.text("ab Z:#'{}[]&8", min_size=1, max_size=8)) + "x"
            case "switch":
                values[name] = draw(st.booleans())
            case "strokes":
                count = draw(st.integers(1, 3))
                values[name] = tuple(
                    ((0.0, 0.0), draw(st.tuples(positive, numbers))) for _ in range(count)
                )
            case "word":
                values[name] = draw(st.sampled_from(field.words))
            case "number":
                values[name] = draw(numbers)
            case "points":
                count = field.count[0] if field.count else draw(st.integers(2, 4))
                values[name] = tuple(draw(triples) for _ in range(count))
            case "numbers":
                count = draw(st.sampled_from(field.count))
                values[name] = tuple(draw(numbers) for _ in range(count))
            case _:
                values[name] = draw(triples)
    return s.FollowPath(
        curve=curve,
        values=values,
        rpy=draw(st.none() | triples),
        frame=draw(names),
        speed=draw(tool_speeds),
        plan=draw(st.sampled_from(["direct", "unchecked"])),
        orientation=draw(st.sampled_from(s.ORIENTATIONS)),
    )


simple = st.one_of(
    st.builds(
        s.MoveJoints,
        to=names | st.lists(numbers, min_size=1, max_size=7).map(tuple),
        speed=speeds,
        plan=st.sampled_from(s.PLANS),
    ),
    st.builds(
        s.MoveTo,
        target=targets,
        speed=speeds,
        plan=st.sampled_from(s.PLANS),
        branch=st.none() | names,
        orientation=st.sampled_from(s.ORIENTATIONS),
        gripper_symmetric=st.booleans(),
    ),
    st.builds(
        s.Line,
        target=targets,
        speed=tool_speeds,
        plan=st.sampled_from(["direct", "unchecked"]),
        orientation=st.sampled_from(s.ORIENTATIONS),
    ),
    curves(),
    st.builds(
        s.Grip,
        body=st.none() | names,
        force=st.none() | positive,
        settle=seconds,
        timeout=seconds,
    ),
    st.builds(s.Release, opening=st.none() | positive, timeout=seconds),
    st.builds(s.Wait, time=seconds),
    st.builds(s.WaitUntil, condition=conditions, timeout=seconds),
    st.builds(s.SetSignal, name=names, on=st.booleans()),
    st.builds(s.Sync, name=names, timeout=seconds),
    st.builds(
        s.SetController,
        controller=names,
        gains=st.dictionaries(
            names,
            numbers | st.booleans() | words | st.lists(numbers, min_size=1, max_size=4).map(tuple),
            max_size=3,
        ),
    ),
    st.builds(s.Note, text=st.text(prose, max_size=30)),
)
any_steps = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(s.Repeat, times=st.integers(1, 9), do=st.lists(inner, max_size=3).map(tuple)),
        st.builds(
            s.ForEach,
            variable=st.uuids().map(lambda one: f"v{one.hex}"),
            of=st.lists(names, min_size=1, max_size=3).map(tuple),
            do=st.lists(inner, max_size=3).map(tuple),
        ),
    ),
    max_leaves=6,
)


@given(
    st.builds(
        Program,
        name=names,
        about=st.text(prose, max_size=20).map(str.strip),
        cell=st.none() | names,
        speed=st.floats(0.01, 1.0),
        clearance=st.floats(1e-4, LOOK),
        watch=st.sampled_from(["stop", "warn"]),
        planner=st.sampled_from(["rrt", "ompl"]),
        steps=st.dictionaries(names, st.lists(any_steps, max_size=4), min_size=1, max_size=3),
    )
)
def test_every_program_survives_the_way_to_text(program):
    assert parse_program(program.to_yaml(), FILE) == program


@pytest.mark.parametrize(
    ("step", "wanted"),
    [
        ("move_joints: [90, 0, 0, 5cm, 0]", "90 rad (5156.62 deg) is outside the limits -"),
        ("move_joints: [90, 0, 0, 5cm, 0]", "; did you mean 90deg?"),
        ("move_joints: [0, 0, 0, 50, 0]", "; did you mean 50mm?"),
        (
            "set_controller: {controller: PID, gains: {kpp: 1}}",
            "no gain of PID 'kpp'; did you mean",
        ),
        ("set_controller: {controller: ideal, gains: {kp: 1}}", "controller 'ideal' has no gains"),
        ("set_controller: {gains: {stiffness: 1}}", "'stiffness'; available: "),
        (
            "set_controller: {controller: PID, gains: {kp: soft}}",
            "gains.kp: unknown name 'soft'",
        ),
        (
            "set_controller: {controller: PID, gains: {feedforward: gravty}}",
            "feedforward = 'gravty' is not one of none, gravity, full",
        ),
        (
            "set_controller: {controller: PID, gains: {feedforward: on}}",
            "feedforward = 'on' is not one of none, gravity, full",
        ),
        ("set_controller: {controller: PID, gains: {wn: soft}}", "gains.wn: unknown name 'soft'"),
        ("set_controller: {controller: PID, gains: {wn: on}}", "gains.wn: unknown name 'on'"),
        (
            "set_controller: {controller: CartesianImpedance, gains: {feedforward: no}}",
            "gains.feedforward: 'no' is not allowed; choose on or off or true or false",
        ),
        (
            "set_controller: {gains: {kp: soft}}",
            "gain 'kp' is 'soft'; it must be a number or a list of numbers",
        ),
        ("set_controller: {gains: {feedforward: off}}", "'feedforward'; available: "),
        (
            "grip: 3N",
            "force 3 N is too low: it gives 1.5 N on each pad, and a grasp needs 2 N (hold_force "
            "of the cell's gripper); use at least 4 N",
        ),
    ],
)
def test_slips_are_reported_before_the_first_step(step, wanted):
    with pytest.raises(BrazoError) as error:
        program_of(f"arm:\n  - {step}").start(sim_of(ARM))
    assert str(error.value).startswith("task.yaml:4: ") and wanted in str(error.value)


def test_half_the_force_of_a_grip_is_that_of_a_pad():
    program_of("arm: [{grip: 4N}]").start(sim_of(ARM))
    with pytest.raises(BrazoError, match=r"'arm': grip force 3.9 N is too low"):
        program_of("arm: [{grip: 60N}]").start(sim_of(ARM), grip_force=3.9)


def test_a_body_that_is_held_needs_half_the_force():
    program_of("arm: [{grip: 20N}, {grip: 2N}]").start(sim_of(ARM))
    with pytest.raises(BrazoError) as error:
        program_of("arm: [{grip: 20N}, {grip: 1.5N}]").start(sim_of(ARM))
    assert (
        "force 1.5 N is too low: it gives 0.75 N on each pad, and a body that is held needs 1 N "
        "(50% of hold_force of the cell's gripper); use at least 2 N" in str(error.value)
    )
    with pytest.raises(BrazoError, match="a grasp needs 2 N"):
        program_of("arm: [{grip: 20N}, {release: }, {grip: 3N}]").start(sim_of(ARM))


def test_options_of_an_unknown_controller_are_numbers_words_and_switches():
    text = "{wn: 2*pi, feedforward: gravity, windup: back-calculation, fast: on, kp: [1, 2]}"
    (step,) = program_of(f"arm: [{{set_controller: {{gains: {text}}}}}]").steps["arm"]
    assert step.gains == {
        "wn": 2 * math.pi, "feedforward": "gravity", "windup": "back-calculation", "fast": True,
        "kp": (1.0, 2.0),
    }  # fmt: skip
    assert step.gains["fast"] is True


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"wn": "soft"}, "gain 'wn' is 'soft'; it must be a number or a list of numbers"),
        ({"kp": [1.0, True]}, "gain 'kp' is (1.0, True); it must be a number"),
        ({"windup": 3}, "option 'windup' is 3.0; it must be text"),
    ],
)
def test_options_of_a_program_in_python_are_checked_before_the_first_step(options, wanted):
    program = Program("t")
    program.robot("arm").set_controller("PID", **options)
    with pytest.raises(BrazoError) as error:
        program.start(sim_of(ARM))
    assert wanted in str(error.value)


@pytest.mark.parametrize("pose", ["_rest", "2nd", "2", "on", "home"])
def test_the_name_of_a_pose_survives_the_way_to_text(pose):
    program = Program("t")
    program.robot("arm").set_controller("LQR", pose=pose)
    assert parse_program(program.to_yaml(), FILE) == program


@pytest.mark.parametrize(
    ("option", "wanted"),
    [
        ("{gear: fifth}", "Geared: KeyError: 'fifth'"),
        ("{gear: second, power: 2}", "Geared: TypeError: power is 2.0"),
    ],
)
def test_errors_of_a_controller_of_the_user_are_reported_with_the_line(option, wanted):
    class Geared(Controller):
        """Controller whose constructor does not raise `BrazoError`."""

        def __init__(self, gear: str = "first", power: float = 1.0) -> None:
            super().__init__()
            self.gear = {"first": 1, "second": 2}[gear]
            if power != 1.0:
                raise TypeError(f"power is {power}")

        def command(self, t, q, qd, reference):
            return 0.0 * q

    text = f"arm:\n  - set_controller: {{controller: Geared, gains: {option}}}"
    with pytest.raises(BrazoError) as error:
        program_of(text).start(sim_of(ARM))
    assert str(error.value) == f"task.yaml:4: set_controller: {wanted}"


def test_an_option_of_a_controller_acts_after_its_program_was_saved():
    program = Program("t")
    program.robot("arm").set_controller("PID", feedforward="gravity")
    sim = sim_of(ARM)
    assert run(sim, parse_program(program.to_yaml(), FILE)).succeeded
    assert sim.robots["arm"].controller.feedforward == "gravity"


def test_a_robot_that_is_not_there_is_reported_with_its_line():
    with pytest.raises(BrazoError, match=r"task.yaml:3: robots: no robot 'arn' .* mean 'arm'\?"):
        program_of("arn: [{wait: 1s}]").start(sim_of(ARM))


def test_friction_holds_nothing_without_contact_response():
    program = program_of("arm:\n  - grip: 60N")
    with pytest.raises(BrazoError, match=r"task.yaml:4: grip: contact response of 'arm' is off"):
        program.start(sim_of(ARM.replace("start", "contact_response: off, start")))
    program.start(sim_of(ARM.replace("start", "contact_response: off, grasp: weld, start")))
