"""Panels of the lab, one folder each; `brazo.lab.app.panel` defines the base class."""
