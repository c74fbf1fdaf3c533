"""Trajectory panel: edits, previews and plays trajectories."""
