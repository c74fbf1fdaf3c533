"""Studies: many runs of controllers, robots and conditions, their metrics, and reports."""

from brazo.study.execution import StudyProgress, run_study
from brazo.study.factors import Factor, grid, loguniform, normal, uniform, values
from brazo.study.results import Interval, Rank, StudyResults, read_results
from brazo.study.scenario import Case, ControllerChoice, StudyFault
from brazo.study.study import Study
from brazo.study.study_file import load_study, parse_study
from brazo.study.tuning import GainSet, TuneProgress, Tuning, tune, tuning_cases

__all__ = [
    "Case",
    "ControllerChoice",
    "Factor",
    "GainSet",
    "Interval",
    "Rank",
    "Study",
    "StudyFault",
    "StudyProgress",
    "StudyResults",
    "TuneProgress",
    "Tuning",
    "grid",
    "load_study",
    "loguniform",
    "normal",
    "parse_study",
    "read_results",
    "run_study",
    "tune",
    "tuning_cases",
    "uniform",
    "values",
]
