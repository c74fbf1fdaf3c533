"""Studies: many runs with different controllers, robots and conditions; metrics and reports."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

# Imported on first use: the lab shows results without loading what computes them.
_MODULES = {
    "Case": "scenario",
    "CellStudy": "cell_study",
    "ControllerChoice": "scenario",
    "DelayStudy": "delay_study",
    "Factor": "factors",
    "GainSet": "tuning",
    "Interval": "results",
    "ParameterSensitivity": "design_sensitivity",
    "Rank": "results",
    "RunCost": "results",
    "Sensitivity": "design_sensitivity",
    "Study": "study",
    "StudyFault": "scenario",
    "StudyProgress": "execution",
    "StudyResults": "results",
    "TuneProgress": "tuning",
    "Tuning": "tuning",
    "WorkspaceMap": "workspace_map",
    "grid": "factors",
    "load_study": "study_file",
    "loguniform": "factors",
    "normal": "factors",
    "parse_study": "study_file",
    "read_results": "results",
    "read_workspace": "workspace_map",
    "run_study": "execution",
    "sensitivity": "design_sensitivity",
    "study_names": "study_file",
    "tune": "tuning",
    "tuning_cases": "tuning",
    "uniform": "factors",
    "values": "factors",
    "workspace": "workspace_map",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"brazo.study.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
