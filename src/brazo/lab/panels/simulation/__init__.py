"""Simulation panel: speed, physics settings and faults."""
