"""The compare panel."""
