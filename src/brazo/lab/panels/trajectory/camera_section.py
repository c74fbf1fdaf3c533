"""Strokes for the drawing pad from a video in which a coloured marker is moved.

The page uploads a video clip, from a camera or a file, and then sends the colour of the marker.  A
background job tracks the marker.  The clip is kept, so that it can be tracked with another colour.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from brazo.errors import BrazoError
from brazo.lab.panels.trajectory.tool_curve import MAX_STROKES, Strokes
from brazo.trajectory import MarkerTrack, track_video
from brazo.trajectory.marker import read_color
from brazo.trajectory.video_frames import RATE, SUFFIXES

if TYPE_CHECKING:
    from brazo.lab.app.jobs import Job
    from brazo.lab.panels.trajectory.panel import TrajectoryPanel
    from brazo.lab.server.transfers import Upload

MAX_CLIP = 60 << 20  # bytes
_REPORTED = 15  # frames between reports of progress


class CameraSection:
    """Camera controls: hold the uploaded clip, and track the marker in it.

    Use on the lab's thread only.
    """

    def __init__(self, panel: TrajectoryPanel) -> None:
        self._panel = panel
        self._clip: Upload | None = None
        self._tracking: Job | None = None
        panel.on_upload("video", self._take, *SUFFIXES, most=MAX_CLIP)
        panel.on("video-track", self._track, str, bool)

    def html(self) -> str:
        """HTML of the camera controls."""
        accept = ",".join(SUFFIXES)
        return f'<brazo-marker-camera event="video" accept="{accept}"></brazo-marker-camera>'

    def _take(self, clip: Upload) -> None:
        self._clip = clip

    def _track(self, color: str, mirror: bool) -> None:
        clip = self._clip
        if clip is None:
            raise BrazoError("no video yet: record a video or choose a file")
        read_color(color)
        if self._tracking is not None and self._tracking.state == "running":
            self._tracking.cancel()
        panel, draft = self._panel, self._panel.draft

        def done(track: MarkerTrack) -> None:
            strokes = on_pad(track)
            panel.context.post(lambda: panel.context.jobs.cancel(job.number))
            if panel.draft is not draft:
                return  # another robot is selected
            curve = draft.curve
            other = curve.kind != "drawing"
            curve.kind, curve.strokes = "drawing", strokes
            curve.time = max(track.duration, 0.05)
            count = f"{len(strokes)} stroke{'' if len(strokes) == 1 else 's'}"
            panel.say(f"{count}: marker seen in {track.seen} of {len(track.t)} frames")
            panel.edited("track a marker", html=other)

        self._tracking = job = panel.context.jobs.start(
            f"Track the marker in {clip.name}", lambda job: tracked(job, clip, color, mirror), done
        )


def tracked(job: Job, clip: Upload, color: str, mirror: bool) -> MarkerTrack:
    """Track a marker of the colour `color` in a video clip.

    The unit of the returned coordinates is the image width.  `mirror` flips the image horizontally.
    """

    def progress(frame: int) -> None:
        if frame % _REPORTED:
            job.check()
        else:
            job.tell(None, f"tracked {frame / RATE:.1f} s of the video")

    with tempfile.TemporaryDirectory(prefix="brazo-lab-") as folder:
        file = Path(folder) / f"clip{clip.suffix}"  # user input is not part of its name
        file.write_bytes(clip.content)
        try:
            return track_video(file, color, 1.0, mirror, progress=progress)
        except BrazoError as error:
            raise BrazoError(str(error).replace(str(file), clip.name)) from None


def on_pad(track: MarkerTrack) -> Strokes:
    """Strokes of a marker track in pad units, in which the longer side of the image is 1."""
    if len(track.strokes) > MAX_STROKES:
        raise BrazoError(
            f"the marker was lost {len(track.strokes) - 1} times, which gives too many strokes "
            f"(at most {MAX_STROKES}): use more light or another colour"
        )
    scale = 1.0 / max(track.size)
    return tuple(
        tuple((round(float(x) * scale, 5), round(float(y) * scale, 5)) for x, y in one)
        for one in track.strokes
    )
