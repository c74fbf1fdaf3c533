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
from brazo.study.workspace_map import WorkspaceMap, read_workspace, workspace

__all__ = [
    "Case",
    "CellStudy",
    "ControllerChoice",
    "DelayStudy",
    "Factor",
    "Interval",
    "ParameterSensitivity",
    "Rank",
    "RunCost",
    "Sensitivity",
    "Study",
    "StudyFault",
    "StudyProgress",
    "StudyResults",
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
    "uniform",
    "values",
    "workspace",
]
