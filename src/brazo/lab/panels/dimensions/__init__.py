"""The dimensions panel."""
