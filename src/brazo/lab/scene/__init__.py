"""The 3D scene: bodies of the cell, overlays and colours."""
