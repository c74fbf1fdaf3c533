"""MJCF, MuJoCo's own format: reader, writer and the compiled model with exact inertias."""
