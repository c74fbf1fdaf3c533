"""Studies panel: runs studies and shows their results."""
