"""Panels of the lab, one folder per panel.  Their base class is in `brazo.lab.app.panel`."""
