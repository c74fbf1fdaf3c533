"""Typed description of a robot: frames, inertias, limits, actuators and shapes."""
