"""Dimensions panel: edits the parameters of a robot file."""
