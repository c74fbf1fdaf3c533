"""What a robot is: one typed description, its frames, inertias, limits, actuators and shapes."""
