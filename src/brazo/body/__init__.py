"""The solids of a robot: drawn from its D-H table or taken from mesh files."""
