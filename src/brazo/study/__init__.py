"""Studies: many runs of controllers, robots and conditions, their metrics, and reports."""

from brazo.study.execution import StudyProgress, run_study
from brazo.study.factors import Factor, grid, loguniform, normal, uniform, values
from brazo.study.results import Interval, Rank, StudyResults, read_results
from brazo.study.scenario import Case, ControllerChoice, StudyFault
from brazo.study.study import Study
from brazo.study.study_file import load_study, parse_study

__all__ = [
    "Case",
    "ControllerChoice",
    "Factor",
    "Interval",
    "Rank",
    "Study",
    "StudyFault",
    "StudyProgress",
    "StudyResults",
    "grid",
    "load_study",
    "loguniform",
    "normal",
    "parse_study",
    "read_results",
    "run_study",
    "uniform",
    "values",
]
