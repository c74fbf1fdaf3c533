"""Data panel: plots, current values and recordings of signals."""
