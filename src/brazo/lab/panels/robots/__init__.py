"""The robots panel."""
