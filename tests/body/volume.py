"""Volume of a shape from its triangles."""

import numpy as np

from brazo.body.solids import triangles
from brazo.model.shapes import Shape


def volume(shape: Shape) -> float:
    """Return the volume (m³) enclosed by the triangles."""
    vertices, faces = triangles(shape)
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)
