"""Trajectories: joint motions and tool paths over time, planned in advance or online.

Joint motions      cubic_via_points, quintic_via_points, via_poses, cubic, quintic, trapezoid,
                   jerk_limited and concatenate return a `Trajectory`; jtraj returns the
                   samples of a quintic
Tool paths         line, polyline, circle, circle_through, arc, square, spiral, helix,
                   lissajous, function, sequence, text, svg, strokes, draw and recorded_path
                   return a `CartesianPath`; `follow_path` and `plan_path` convert a path to a
                   `Trajectory`; nearest_placement moves or scales a path until it is feasible;
                   track_video returns the strokes of a marker in a video, for `draw`
Online motions     GoTo, Jog, CartesianJog, NullSpaceJog, Tracker
Limits             limits_of, check, assert_within, scaled, fastest_within, time_optimal
Files              to_dict, from_dict, read_via_points, read_via_list, read_trajectory
"""

from brazo.trajectory.base import Sample, Table, Trajectory
from brazo.trajectory.cartesian import CartesianPath, PathSample, sequence
from brazo.trajectory.cartesian_jog import CartesianJog, ToolLimits
from brazo.trajectory.check import Violation, assert_within, check
from brazo.trajectory.drawing import Drawing, drawing_of_points
from brazo.trajectory.drawing_path import DrawingPath, draw, strokes, svg, text
from brazo.trajectory.files import (
    from_dict,
    parse_via_list,
    parse_via_points,
    read_via_list,
    read_via_points,
    to_dict,
)
from brazo.trajectory.follow import PathError, PathInfeasible, follow_path, path_error
from brazo.trajectory.go_to import GoTo
from brazo.trajectory.jerk_limited import jerk_limited
from brazo.trajectory.jog import Jog
from brazo.trajectory.limits import Assumed, Limits, limits_of
from brazo.trajectory.moves import cubic, jtraj, quintic, trapezoid
from brazo.trajectory.null_space_jog import NullSpaceJog
from brazo.trajectory.path_file import PathFile, parse_trajectory, read_trajectory
from brazo.trajectory.paths import (
    arc,
    circle,
    circle_through,
    function,
    helix,
    line,
    lissajous,
    polyline,
    spiral,
    square,
)
from brazo.trajectory.piecewise import Piecewise, concatenate
from brazo.trajectory.placement import Placement, nearest_placement
from brazo.trajectory.plan_path import plan_path
from brazo.trajectory.recorded import RecordedPath, recorded_path
from brazo.trajectory.scaling import fastest_within, scaled
from brazo.trajectory.svg_drawing import parse_svg, read_svg
from brazo.trajectory.text_drawing import text_drawing
from brazo.trajectory.time_optimal import time_optimal
from brazo.trajectory.timing import Timing
from brazo.trajectory.tool_orientation import (
    DOWN,
    AlongPath,
    Between,
    Constant,
    Radial,
    ToolOrientation,
)
from brazo.trajectory.trace import ToolTrace, tool_trace
from brazo.trajectory.tracker import Tracked, Tracker, TrackingStatus
from brazo.trajectory.via_list import ViaList, ViaPoint, knots
from brazo.trajectory.via_points import cubic_via_points, quintic_via_points
from brazo.trajectory.via_poses import via_poses
from brazo.trajectory.video_track import MarkerTrack, track_marker, track_video

__all__ = [
    "DOWN",
    "AlongPath",
    "Assumed",
    "Between",
    "CartesianJog",
    "CartesianPath",
    "Constant",
    "Drawing",
    "DrawingPath",
    "GoTo",
    "Jog",
    "Limits",
    "MarkerTrack",
    "NullSpaceJog",
    "PathError",
    "PathFile",
    "PathInfeasible",
    "PathSample",
    "Piecewise",
    "Placement",
    "Radial",
    "RecordedPath",
    "Sample",
    "Table",
    "Timing",
    "ToolLimits",
    "ToolOrientation",
    "ToolTrace",
    "Tracked",
    "Tracker",
    "TrackingStatus",
    "Trajectory",
    "ViaList",
    "ViaPoint",
    "Violation",
    "arc",
    "assert_within",
    "check",
    "circle",
    "circle_through",
    "concatenate",
    "cubic",
    "cubic_via_points",
    "draw",
    "drawing_of_points",
    "fastest_within",
    "follow_path",
    "from_dict",
    "function",
    "helix",
    "jerk_limited",
    "jtraj",
    "knots",
    "limits_of",
    "line",
    "lissajous",
    "nearest_placement",
    "parse_svg",
    "parse_trajectory",
    "parse_via_list",
    "parse_via_points",
    "path_error",
    "plan_path",
    "polyline",
    "quintic",
    "quintic_via_points",
    "read_svg",
    "read_trajectory",
    "read_via_list",
    "read_via_points",
    "recorded_path",
    "scaled",
    "sequence",
    "spiral",
    "square",
    "strokes",
    "svg",
    "text",
    "text_drawing",
    "time_optimal",
    "to_dict",
    "tool_trace",
    "track_marker",
    "track_video",
    "trapezoid",
    "via_poses",
]
