"""Readers and writers of robots: robot files (YAML), URDF and xacro, MJCF."""
