"""The equations panel."""
