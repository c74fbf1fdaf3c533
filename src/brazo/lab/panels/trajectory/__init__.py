"""The trajectory panel."""
