"""View panel: overlays, camera and appearance of the scene."""
