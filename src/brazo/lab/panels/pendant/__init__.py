"""Teach pendant panel: jogs a robot and teaches points."""
