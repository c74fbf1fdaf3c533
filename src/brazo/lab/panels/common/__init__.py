"""Shared parts of the panels: HTML elements, plots, the gizmo and the robot selector."""
