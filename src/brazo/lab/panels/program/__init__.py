"""The program panel."""
