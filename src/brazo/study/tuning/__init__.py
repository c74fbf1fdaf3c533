"""Tuning of controllers: search with Optuna, design rules, stability checks, report."""

from brazo.study.tuning.conditions import tuning_cases
from brazo.study.tuning.search import GainSet
from brazo.study.tuning.tune import TuneProgress, Tuning, tune

__all__ = ["GainSet", "TuneProgress", "Tuning", "tune", "tuning_cases"]
