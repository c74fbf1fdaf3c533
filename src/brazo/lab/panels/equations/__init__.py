"""Equations panel: derives and exports the equations of motion."""
