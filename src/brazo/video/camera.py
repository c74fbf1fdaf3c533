"""Cameras: a fixed view, one revolution around the scene, and a path of keyframes from a file.

A view looks at a point from a distance.  Its azimuth is the direction from this point to the
camera, measured about z from +x.  Its elevation is the angle above the horizontal.  Between
keyframes all values are interpolated by a monotone cubic (PCHIP), which does not overshoot.  If one
of two keyframes is given by a camera position, the camera takes the shorter arc between them.  If
both are given by azimuths, the camera turns by the difference of the azimuths, which may exceed
360°.
"""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from brazo import units
from brazo.errors import BrazoError, at
from brazo.files import require_file
from brazo.formats.document import Field, read_document
from brazo.video.extent import Extent

VIEWS = {  # azimuth and elevation, deg
    "default": (-55.0, 26.0),
    "front": (0.0, 12.0),
    "back": (180.0, 12.0),
    "left": (90.0, 12.0),
    "right": (-90.0, 12.0),
    "top": (-90.0, 89.0),
}
MARGIN = 1.06  # of the distance at which everything is just visible
FIELDS = ("time", "azimuth", "elevation", "distance", "position", "look_at")
COLUMNS = ("time", "azimuth", "elevation", "distance", "x", "y", "z", "look_x", "look_y", "look_z")
SUFFIXES = (".yaml", ".yml", ".csv")
MAX_LINES = 20_000

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class CameraView:
    """View of a camera: angles in degrees, distance (m) to the target `look_at` (3,) in m."""

    azimuth: float
    elevation: float
    distance: float
    look_at: Array

    @property
    def position(self) -> Array:
        """Position (3,) of the camera in m."""
        return self.look_at + self.distance * _direction(self.azimuth, self.elevation)


@dataclass(frozen=True)
class Key:
    """Keyframe of a camera file: a view at a recorded time (s); omitted values are None.

    An omitted azimuth, elevation or target is that of the previous keyframe.  An omitted distance
    is chosen to show the whole scene.
    """

    time: float
    azimuth: float | None = None  # deg
    elevation: float | None = None
    distance: float | None = None  # m
    look_at: tuple[float, ...] | None = None
    from_position: bool = False  # the azimuth is known up to full turns


CameraPath = Callable[[float, float], CameraView]  # (recorded time, share of the video) -> view


def camera_path(
    camera: Any, extent: Extent, aspect: float, fov_deg: float, turntable: bool
) -> CameraPath:
    """Return a function that computes the camera view at each time of a video.

    The arguments of the returned function are the recorded time (s) and the elapsed fraction (0 to
    1) of the video.  `camera` is the name of a view, an azimuth and elevation in degrees (and a
    distance in m) as a tuple or text with commas, or the path of a .yaml or .csv file with
    keyframes; None is the default view.  `aspect` is width over height of the image, and `fov_deg`
    the vertical field of view.  With `turntable`, the camera makes one revolution; this cannot be
    combined with keyframes.
    """
    if isinstance(camera, str | Path) and str(camera).lower().endswith(SUFFIXES):
        if turntable:
            raise BrazoError("a turntable needs a fixed camera: omit the camera file or turntable")
        return _Keyframes(read_keys(Path(camera)), extent, aspect, fov_deg)
    azimuth, elevation, distance = fixed_view(camera)
    if distance is None:
        turns = np.arange(0.0, 360.0, 15.0) if turntable else [azimuth]
        distance = max(
            _distance(extent, float(turn), elevation, extent.middle, aspect, fov_deg)
            for turn in turns
        )
    view = CameraView(azimuth, elevation, distance, extent.middle)
    if turntable:
        return lambda _time, share: replace(view, azimuth=view.azimuth + 360.0 * share)
    return lambda _time, _share: view


def fixed_view(camera: Any) -> tuple[float, float, float | None]:
    """Return azimuth, elevation (deg) and distance (m) of a camera given by a user.

    `camera` is the name of a view, two or three numbers, a text with two or three numbers separated
    by commas, or None for the default view.  The distance is None if it is not given; the caller
    then chooses it.
    """
    if camera is None:
        camera = "default"
    if isinstance(camera, str) and camera in VIEWS:
        return (*VIEWS[camera], None)
    numbers = camera.split(",") if isinstance(camera, str) else camera
    try:
        values = [float(one) for one in numbers]
        if not (len(values) in (2, 3) and np.isfinite(values).all()):
            raise ValueError
    except (TypeError, ValueError):
        raise BrazoError(
            f"camera '{camera}': expected {', '.join(VIEWS)}, AZIMUTH,ELEVATION[,DISTANCE] in "
            "degrees and m, or the path of a .yaml or .csv file with keyframes"
        ) from None
    if abs(values[1]) > 90.0:
        raise BrazoError(f"camera: elevation {values[1]:g}°; it must be from -90° to 90°")
    if len(values) == 3 and not values[2] > 0.0:
        raise BrazoError(f"camera: distance {values[2]:g} m; it must be greater than 0")
    return values[0], values[1], values[2] if len(values) == 3 else None


class _Keyframes:
    """Function that interpolates camera views between keyframes; constant outside their times."""

    def __init__(self, keys: Sequence[Key], extent: Extent, aspect: float, fov_deg: float) -> None:
        rows = []
        azimuth, elevation = VIEWS["default"]
        target: Array = extent.middle
        turns = 0.0  # deg, full turns added to azimuths for the shorter arc
        free = False  # the last azimuth is known up to full turns
        for k, key in enumerate(keys):
            if key.azimuth is not None:
                if k > 0 and (free or key.from_position):
                    turns = 360.0 * round((azimuth - key.azimuth) / 360.0)
                azimuth, free = key.azimuth + turns, key.from_position
            elevation = elevation if key.elevation is None else key.elevation
            target = target if key.look_at is None else np.array(key.look_at)
            distance = key.distance
            if distance is None:
                distance = _distance(extent, azimuth, elevation, target, aspect, fov_deg)
            rows.append([azimuth, elevation, distance, *target])
        self._t = np.array([key.time for key in keys])
        self._rows = np.array(rows)
        self._curve: Any = None
        if len(keys) > 1:
            from scipy.interpolate import PchipInterpolator

            self._curve = PchipInterpolator(self._t, self._rows)

    def __call__(self, time: float, share: float) -> CameraView:
        if self._curve is None:
            row = self._rows[0]
        else:
            row = self._curve(np.clip(time, self._t[0], self._t[-1]))
        return CameraView(float(row[0]), float(row[1]), float(row[2]), row[3:])


def read_keys(path: Path) -> list[Key]:
    """Read the keyframes of a .yaml or .csv file; their times must increase."""
    keys = _csv_keys(path) if path.suffix.lower() == ".csv" else _yaml_keys(path)
    if not keys:
        raise BrazoError(f"{path}: no keyframes; give at least one")
    for before, after in itertools.pairwise(keys):
        if after.time <= before.time:
            raise BrazoError(
                f"{path}: the times of the keyframes must increase; {after.time:g} s follows "
                f"{before.time:g} s"
            )
    return keys


def _yaml_keys(path: Path) -> list[Key]:
    require_file(path)
    root = read_document(path)
    if root.is_mapping:
        fields = root.mapping(["camera"])
        if "camera" not in fields:
            root.missing("camera", "a list of keyframes")
        root = fields["camera"]
    return [_yaml_key(item) for item in root.items()]


def _yaml_key(item: Field) -> Key:
    fields = item.mapping(FIELDS)
    if "time" not in fields:
        item.missing("time", "time in the recording, s")
    values: dict[str, float] = {"time": fields["time"].number(units.TIME)}
    for name in ("azimuth", "elevation"):
        if name in fields:  # degrees unless the file gives a unit
            quantity = fields[name].quantity()
            plain = quantity.dimension is None
            angle = fields[name].number(units.ANGLE, units.NUMBER)
            values[name] = angle if plain else math.degrees(angle)
    if "distance" in fields:
        values["distance"] = fields["distance"].number(units.LENGTH, above=0.0)
    target = fields["look_at"].numbers(3, units.LENGTH) if "look_at" in fields else None
    position = fields["position"].numbers(3, units.LENGTH) if "position" in fields else None
    with item.errors_here():
        return _key(values, position, target)


def _csv_keys(path: Path) -> list[Key]:
    require_file(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(itertools.islice(csv.reader(file), MAX_LINES + 1))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BrazoError(f"{path}: cannot be read: {error}") from None
    if len(rows) > MAX_LINES:
        raise BrazoError(f"{path}: more than {MAX_LINES} lines; give fewer keyframes")
    head = [name.strip() for name in rows[0]] if rows else []
    unknown = [name for name in head if name not in COLUMNS]
    if "time" not in head or unknown or len(set(head)) < len(head):
        what = (
            f"column '{unknown[0]}'"
            if unknown
            else "a header with the column 'time' and without duplicate columns"
        )
        raise BrazoError(
            f"{at(path, 1)}{'unknown ' if unknown else 'expected '}{what}; columns: "
            f"{', '.join(COLUMNS)}"
        )
    keys = []
    for line, row in enumerate(rows[1:], 2):
        if not any(cell.strip() for cell in row):
            continue
        try:
            cells = dict(zip(head, row, strict=True))
            values = {name: float(cell) for name, cell in cells.items() if cell.strip()}
            if not np.isfinite(list(values.values())).all() or "time" not in values:
                raise ValueError
        except ValueError:
            raise BrazoError(
                f"{at(path, line)}expected {len(head)} finite numbers or empty cells; 'time' must "
                "not be empty"
            ) from None
        try:
            keys.append(_key(values, _triple(values, "x", "y", "z"), _triple(values, *COLUMNS[7:])))
        except BrazoError as error:
            raise BrazoError(f"{at(path, line)}{error}") from None
    return keys


def _triple(values: Mapping[str, float], *names: str) -> list[float] | None:
    given = [values[name] for name in names if name in values]
    if given and len(given) < 3:
        raise BrazoError(f"{', '.join(names)}: give all three or none")
    return given or None


def _key(
    values: Mapping[str, float], position: list[float] | None, target: list[float] | None
) -> Key:
    azimuth, elevation = values.get("azimuth"), values.get("elevation")
    distance = values.get("distance")
    if elevation is not None and abs(elevation) > 90.0:
        raise BrazoError(f"elevation {elevation:g}°; it must be from -90° to 90°")
    if distance is not None and not distance > 0.0:
        raise BrazoError(f"distance {distance:g} m; it must be greater than 0")
    if position is not None:
        if target is None:
            raise BrazoError(
                "'position' (x, y, z) needs 'look_at' (look_x, look_y, look_z), the point that the "
                "camera looks at"
            )
        if any(one is not None for one in (azimuth, elevation, distance)):
            raise BrazoError(
                "give either 'position' (x, y, z), or 'azimuth', 'elevation' and 'distance'"
            )
        away = np.subtract(position, target)
        distance = float(np.linalg.norm(away))
        if not distance > 0.0:
            raise BrazoError("'position' and 'look_at' are the same point; move one of them")
        azimuth = math.degrees(math.atan2(away[1], away[0]))
        elevation = math.degrees(math.asin(away[2] / distance))
    return Key(
        values["time"],
        azimuth,
        elevation,
        distance,
        None if target is None else tuple(target),
        position is not None,
    )


def _direction(azimuth: float, elevation: float) -> Array:
    """Return the unit vector (3,) from the target to the camera; the angles are in degrees."""
    a, e = math.radians(azimuth), math.radians(elevation)
    return np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])


def _distance(
    extent: Extent, azimuth: float, elevation: float, target: Array, aspect: float, fov_deg: float
) -> float:
    """Return a distance (m) from the target at which the camera sees all points of the extent.

    It is `MARGIN` times the smallest such distance.
    """
    a = math.radians(azimuth)
    back = _direction(azimuth, elevation)
    right = np.array([-math.sin(a), math.cos(a), 0.0])
    up = np.cross(back, right)
    high = math.tan(math.radians(fov_deg) / 2)
    p = extent.points - target
    needed = p @ back + np.maximum(np.abs(p @ right) / (aspect * high), np.abs(p @ up) / high)
    return MARGIN * float(needed.max()) or 1.0
