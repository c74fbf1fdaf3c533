"""Driving a robot from afar."""
