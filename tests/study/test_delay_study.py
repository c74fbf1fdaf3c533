"""Delays: stability and passivity as theory has them, lags, and study files."""

import textwrap
from pathlib import Path

import pytest

import brazo
from brazo.study import DelayStudy, values
from brazo.study.tables import result_tables


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    study = DelayStudy(factors={"delay": values(0.0, 0.1)}, duration=4.0)
    return study.run(tmp_path_factory.mktemp("delay"), jobs=1)


def test_waves_stay_passive_and_plain_force_reflection_does_not(results) -> None:
    waves = results.select(controller="wave-variables")
    plain = results.select(controller="position-force")
    assert (results["min_energy"][waves] >= 0.0).all()
    assert results["success"][waves].tolist() == [1.0, 1.0]
    late = plain & (results["delay"] == 0.1)
    assert results["min_energy"][late][0] < -1.0 and results["moving"][late][0] > 0.01
    assert "moving" in results.failures[int(results["run"][late][0])]


def test_a_follower_is_later_by_the_delay(results) -> None:
    lags = results["lag"][results.select(controller="follower")]
    assert lags[0] == pytest.approx(0.0, abs=0.02)
    assert lags[1] - lags[0] == pytest.approx(0.1, abs=0.005)
    assert (results["tracking_rms"][results.select(controller="follower")] < 1e-3).all()


def test_the_report_has_a_figure_for_each_metric(results, tmp_path) -> None:
    page = results.to_html(tmp_path / "report.html").read_text()
    assert page.count("over the delay</h2>") == 4 and "wave-variables" in page


def test_every_column_of_the_table_has_a_title_and_values(results) -> None:
    (table,) = result_tables(results)
    assert table.columns[: table.names + 1] == ("scheme", "runs") and all(table.columns)
    assert len(table.rows) == 3
    assert all(len(row) == len(table.columns) and all(row) for row in table.rows)


def test_without_limits_a_run_is_stable_if_it_does_not_fail(tmp_path) -> None:
    study = DelayStudy(schemes=["follower"], duration=4.0, success={})
    page = study.run(tmp_path, jobs=1).to_html(tmp_path / "report.html").read_text()
    assert "A run is stable if it does not fail. Jitter" in page


def test_jitter_and_loss_of_a_unilateral_link(tmp_path) -> None:
    factors = {"delay": values(0.05), "jitter": values(0.5), "loss": values(0.2)}
    study = DelayStudy(schemes=["follower"], factors=factors, duration=4.0)
    first, again = (study.run(tmp_path / k, jobs=1) for k in "ab")
    assert first["tracking_rms"][0] == again["tracking_rms"][0] < 2e-3


def test_a_single_scheme_is_one_entry() -> None:
    assert DelayStudy(schemes="wave-variables").schemes == ["wave-variables"]


def test_the_shipped_study() -> None:
    study = brazo.load_study("delay")
    assert isinstance(study, DelayStudy) and study.runs == 3 * 9 * 2 * 2


FILE = """
    teleop: teleop-wall
    schemes: [wave-variables]
    factors:
      delay: {grid: [0, 100ms, 3]}
      loss: {values: [0.1]}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("loss", "los", "6: factors.los: unknown factor 'los'; factors: delay, jitter, loss"),
        ("[0.1]", "[1.5]", "6: factors.loss: .*from 0 to 0.99"),
        ("100ms", "10mm", "5: .*is a length, expected a time"),
        ("[wave-variables]", "[wave]", "3: schemes.*choose follower"),
        ("teleop-wall", "cooperative", "2: teleop: cell 'cooperative' has no robot 'master'"),
    ],
)
def test_mistakes_name_line_and_field(old, new, message) -> None:
    text = textwrap.dedent(FILE)
    assert old in text
    brazo.study.parse_study(text)
    with pytest.raises(brazo.BrazoError, match=message):
        brazo.study.parse_study(text.replace(old, new, 1), Path("s.yaml"))
