"""Studies: many runs of controllers, robots and conditions, their metrics, and reports."""

from brazo.study.cell_study import CellStudy
from brazo.study.delay_study import DelayStudy
from brazo.study.design_sensitivity import ParameterSensitivity, Sensitivity, sensitivity
from brazo.study.execution import StudyProgress, run_study
from brazo.study.factors import Factor, grid, loguniform, normal, uniform, values
from brazo.study.results import Interval, Rank, RunCost, StudyResults, read_results
from brazo.study.scenario import Case, ControllerChoice, StudyFault
from brazo.study.study import Study
from brazo.study.study_file import load_study, parse_study, study_names
from brazo.study.tuning import GainSet, TuneProgress, Tuning, tune, tuning_cases
from brazo.study.workspace_map import WorkspaceMap, read_workspace, workspace

__all__ = [
    "Case",
    "CellStudy",
    "ControllerChoice",
    "DelayStudy",
    "Factor",
    "GainSet",
    "Interval",
    "ParameterSensitivity",
    "Rank",
    "RunCost",
    "Sensitivity",
    "Study",
    "StudyFault",
    "StudyProgress",
    "StudyResults",
    "TuneProgress",
    "Tuning",
    "WorkspaceMap",
    "grid",
    "load_study",
    "loguniform",
    "normal",
    "parse_study",
    "read_results",
    "read_workspace",
    "run_study",
    "sensitivity",
    "study_names",
    "tune",
    "tuning_cases",
    "uniform",
    "values",
    "workspace",
]
