"""How robots and results show themselves: texts, tables, figures, files."""

import numpy as np
import pytest

import brazo
from brazo.control import ComputedTorque, track
from brazo.trajectory import jtraj


@pytest.fixture(scope="module")
def arm():
    return brazo.load("planar-2r")


@pytest.fixture(scope="module")
def run(arm):
    return arm.simulate(q0="ready", t_end=0.2)


def test_robot_display_has_its_table(arm):
    html = arm._repr_html_()
    assert html.startswith("<table>") and "planar-2r: 2 joints, standard D-H" in html
    assert ">shoulder<" in html and ">1000<" in html and ">50<" in html
    assert arm._repr_latex_().count(r"\\") == 3 and "q_{2} & 0 & 1 & 0" in arm._repr_latex_()
    assert "kinematic only" in brazo.load("stanford")._repr_html_()
    assert "arm 1" in brazo.load("delta")._repr_html_()
    assert "kinematic only" not in brazo.load("delta")._repr_html_()
    assert brazo.load("delta")._repr_latex_() is None
    shown = brazo.loads("name: <b>\njoints: [{name: <script>, a: 1}]")._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown


def test_run_has_a_notebook_display_and_a_file(run, tmp_path):
    assert repr(run) == "<brazo.Run of planar-2r: 201 samples to 0.2 s, rk4>"
    assert "max |torque|" in run._repr_html_() and "45.00" in run._repr_html_()
    read = brazo.Recording.open(run.to_csv(tmp_path / "run.csv"))
    assert np.array_equal(read["planar-2r.q.elbow"], run.q[:, 1])
    assert np.array_equal(run.recording.t, run.t)
    assert "planar-2r.q.elbow" in run.recording._repr_html_()
    assert len(run.plot().axes) == 2 and len(run.plot("tool").axes) == 1
    assert len(run.plot(["qd.shoulder"], tmp_path / "qd.svg").axes) == 1
    assert (tmp_path / "qd.svg").stat().st_size > 1000
    with pytest.raises(brazo.BrazoError, match="signal"):
        run.plot("speed")


def test_closed_loop_display_has_its_errors(arm):
    motion = jtraj(arm.poses["ready"], [1.0, 0.5], np.linspace(0.0, 0.2, 201))
    done = track(arm, ComputedTorque(), lambda t: [x[round(1000 * t)] for x in motion], t_end=0.2)
    assert "max error" in repr(done) and "RMS error" in done._repr_html_()
    assert np.array_equal(done.recording["planar-2r.q_ref.elbow"], done.reference[0, :, 1])
    assert len(done.plot().axes) == 2


def test_ik_results_have_a_notebook_display():
    arm = brazo.load("puma560")
    found = arm.ik(arm.fk("nominal"), q0="nominal")
    assert repr(found).startswith("<brazo.IKResult [")
    assert f"{len(found.all)} solutions" in repr(found)
    assert found._repr_html_().count("<tr>") == 1 + len(found.all)
    far = arm.ik([9.0, 0.0, 0.0], orientation="free")
    assert far.reason in repr(far)


def test_equations_have_a_notebook_display(arm):
    equations = arm.derive()
    assert equations._repr_html_() == equations.html()
    latex = equations._repr_latex_()
    assert latex.startswith("$$") and latex.count("matrix") == 6


def test_a_picture_needs_no_browser(arm, tmp_path):
    figure = arm.plot("ready", tmp_path / "arm.png")
    assert (tmp_path / "arm.png").stat().st_size > 5000
    (axes,) = figure.axes
    assert axes.get_title() == "planar-2r" and len(axes.collections) == 1
    skeleton = arm.plot([0.3, 0.4], solids=False).axes[0]
    tip = arm.fk([0.3, 0.4])[:3, 3]
    ends = [np.array(line.get_data_3d())[:, -1] for line in skeleton.lines]
    assert min(np.abs(end - tip).max() for end in ends) < 1e-15
    assert len(brazo.load("delta").plot(solids=False).axes[0].lines) > 10
    with pytest.raises(brazo.BrazoError, match="batch"):
        arm.plot(np.zeros((3, 2)))


def test_the_skeleton_of_a_tree_joins_the_tool_to_the_tip(tmp_path):
    joint = """<joint name="{0}" type="continuous"><parent link="base"/><child link="{0}"/>
      <origin xyz="{1} 0 0.5"/><axis xyz="0 1 0"/></joint><link name="{0}"/>"""
    path = tmp_path / "tree.urdf"
    path.write_text(
        f"""<robot name="t"><link name="base"/>{joint.format("left", -1)}{joint.format("right", 1)}
        <link name="hand"/><joint name="fix" type="fixed"><parent link="left"/>
        <child link="hand"/><origin xyz="0 0 0.2"/></joint></robot>"""
    )
    arm = brazo.load(path, tip="hand")
    lines = [np.array(line.get_data_3d()) for line in arm.plot(solids=False).axes[0].lines]
    ends = np.array([[-1.0, 0.0, 0.5], [-1.0, 0.0, 0.7]]).T  # left, hand
    assert any(line.shape == (3, 2) and np.abs(line - ends).max() <= 1e-15 for line in lines)
