"""Code shared by several panels: HTML elements, plots, gizmos and the robot selector."""
