"""The replay panel."""
