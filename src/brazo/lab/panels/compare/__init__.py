"""Compare panel: compares runs and recordings."""
