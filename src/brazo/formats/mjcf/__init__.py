"""MJCF, the format of MuJoCo: reader, writer, and the compiled model with exact inertias."""
