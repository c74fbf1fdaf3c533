"""The simulation panel."""
