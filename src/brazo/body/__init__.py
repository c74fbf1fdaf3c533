"""Solid shapes of a robot: generated from its D-H table or read from mesh files."""
