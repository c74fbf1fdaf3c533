"""Replay panel: description and events of an open recording."""
