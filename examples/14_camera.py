"""# A camera as input

A person moves a green ball before a camera; the RV-2AJ draws the same curve.  The film is made
here, so that the script needs no camera: a figure eight with noise, in light that changes.
"""

import numpy as np

import brazo
from brazo.trajectory import draw, path_error, plan_path, track_marker

# Frames (height, width, 3) of 8 bit RGB, as cameras and video readers give them.
rng = np.random.default_rng(1)
y, x = np.mgrid[:120, :160] + 0.5


def frame(t):
    u, v = 80 + 45 * np.sin(2 * np.pi * t / 3), 60 - 30 * np.sin(4 * np.pi * t / 3)
    ball = np.clip(7.5 - np.hypot(x - u, y - v), 0, 1)[..., None]
    light = 0.8 + 0.2 * np.cos(t)
    picture = light * 255 * (ball * [0.1, 0.75, 0.2] + (1 - ball) * [0.4, 0.45, 0.5])
    return np.clip(picture + rng.normal(0, 5, picture.shape), 0, 255).astype(np.uint8)


# For a file: track_video("film.mp4", "green", width=0.16)
film = [frame(t) for t in np.arange(90) / 30]
track = track_marker(film, 30.0, "green", width=0.16)
print(f"{len(track.strokes)} stroke, ball seen in {track.seen} of {len(track.t)} frames")

# The picture lies in a horizontal plane; the tool takes as long as the ball did.
arm = brazo.load("rv2aj")
home = arm.poses["home"]
path = draw(track.drawing(), (0.30, 0, 0.24), arm.fk(home)[:3, :3], track.duration)
motion = plan_path(arm, path, home, orientation="nearest")
print(f"drawn in {motion.duration:.2f} s")

# The tool is where the ball was: 1 mm is a pixel.
start, end = path.pen_down[0]
t = np.linspace(start, end, 500)
drawn = path.pose(t)[:, :2, 3] - (0.30, 0)
eight = np.linspace(0, 2 * np.pi, 2000)
wanted = np.stack([0.045 * np.sin(eight), 0.030 * np.sin(2 * eight)], axis=1)
off = np.linalg.norm(drawn[:, None] - wanted, axis=2).min(axis=1)
print(f"off the figure eight: {1e3 * off.max():.2f} mm")
print(f"off the path: {path_error(arm, motion, path).position:.1e} m")
assert off.max() < 0.5e-3
