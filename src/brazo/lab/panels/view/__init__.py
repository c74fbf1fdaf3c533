"""The view panel."""
