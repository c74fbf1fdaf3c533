"""The data panel."""
