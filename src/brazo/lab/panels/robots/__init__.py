"""Robots panel: opens and imports robots and cells."""
