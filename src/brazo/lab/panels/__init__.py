"""The panels of the lab, one folder each; see `brazo.lab.app.panel` for how one is written."""
