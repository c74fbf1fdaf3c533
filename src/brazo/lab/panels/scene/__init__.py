"""The scene panel."""
