"""Export of a recording as a self-contained HTML file with a 3D replay.

In the exported page, the user can rotate and zoom the view, seek, and jump to events.  The page
works offline.  The scene is drawn as in the lab.  In each frame, the positions of joints, grippers
and free bodies are the recorded values.  The engine computes the poses of the links from them, but
simulates no motion.  viser's serializer stores the frames in viser's single-file client.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.files import replacing
from brazo.recording.frames import elapsed, rows_at
from brazo.recording.source import ColumnSource, Event, Progress, event_time
from brazo.simulation.recorded_cell import recorded_cell
from brazo.world.replay_world import ReplayWorld

if TYPE_CHECKING:
    from brazo.simulation import Simulation
    from brazo.world import Cell

FRAMES_A_SECOND = 30.0
FRAMES = 9000  # max, for five minutes; a longer run has a lower frame rate
EVENTS = 400  # max number listed on the page
VIEW = np.array([0.9, -1.3, 0.8])  # camera position, relative to the size of the cell
_QUIET = ("contact warning", "contact begin", "contact end")  # too frequent to be listed
# The page may run its embedded code, but fetch nothing.
_POLICY = (
    "default-src 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src data: blob:; "
    "form-action 'none'; base-uri 'none'"
)


def write_replay(
    path: Path,
    source: ColumnSource,
    progress: Progress | None = None,
    cell: Cell | str | None = None,
) -> None:
    """Write the replay of the recording `source` to the HTML file `path`.

    `progress(fraction)` is called regularly.  `cell` replaces the recorded cell.
    """
    from brazo.simulation import Simulation

    if source.rows < 2:
        raise BrazoError(
            f"cannot write {path}: a replay needs at least two rows; the recording has "
            f"{source.rows}"
        )
    sim = Simulation(recorded_cell(source, path, cell)[0])
    world = ReplayWorld(sim.world, source.units, path)
    times, rows = frame_rows(source)
    server, scene = _start(sim)
    try:
        serializer = server.viser.get_scene_serializer()
        for k, values in enumerate(rows_at(source, world.names, rows)):
            world.place(values)
            scene.place(sim.world.poses())
            serializer.insert_sleep(float(times[k + 1] - times[k]) if k + 1 < len(times) else 0.0)
            if progress is not None:
                progress(0.95 * (k + 1) / len(rows))
        page = serializer.as_html()
    finally:
        server.stop()
    with replacing(Path(path)) as temporary:
        temporary.write_text(_completed(page, source, float(times[-1])), encoding="utf-8")
    if progress is not None:
        progress(1.0)


def frame_rows(source: ColumnSource) -> tuple[np.ndarray, np.ndarray]:
    """Choose the k frames of a replay.

    Returns the times of the frames (k,), in s from the start of the run, and the index of the row
    that each frame shows (k,).
    """
    t = elapsed(source)
    length = float(t[-1])
    count = int(min(np.ceil(length * FRAMES_A_SECOND), FRAMES)) + 1
    times = np.linspace(0.0, length, max(2, count))
    rows = np.searchsorted(t, times - 1e-9).clip(0, len(t) - 1)
    return times, rows


def _start(sim: Simulation) -> tuple[Any, Any]:
    """Start a local server, draw the cell in its scene, and return the server and the scene.

    viser can create a scene only on a server.
    """
    from brazo.lab.scene.scene import Scene
    from brazo.lab.server.lab_server import LabServer
    from brazo.lab.server.requests import Requests

    server = LabServer("127.0.0.1", 0, Requests())
    try:
        scene = Scene(server.viser, lambda *_: None)
        # The client would reload the environment map in every loop and be dark until it is loaded.
        server.viser.scene.configure_environment_map(None)
        scene.show(sim)
        places = sim.world.poses()[:, :3, 3]
        middle = (places.min(axis=0) + places.max(axis=0)) / 2
        server.viser.initial_camera.look_at = tuple(middle)
        server.viser.initial_camera.position = tuple(middle + scene.size * VIEW)
    except BaseException:
        server.stop()
        raise
    return server, scene


def _completed(page: str, source: ColumnSource, duration: float) -> str:
    """Return viser's page with the title, the events of the run and a content security policy.

    `duration` is the duration of the replay (s).
    """
    about = source.about
    title = about.get("title") or about.get("cell") or about.get("robot") or "Run"
    start = next(float(block[0][0]) for block in source.read([source.time]))
    data = {"title": title, "start": start, "length": duration, "events": _listed(source.events)}
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    overlay = (
        resources.files("brazo.lab.app").joinpath("replay_file.html").read_text(encoding="utf-8")
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    page = page.replace("<title>Viser</title>", f"<title>{html.escape(title)}</title>", 1)
    page = page.replace('<meta charset="utf-8" />', f'<meta charset="utf-8" />{head}', 1)
    at = page.rindex("</body>")
    return page[:at] + overlay.replace("__DATA__", text, 1) + page[at:]


def _listed(events: Sequence[Event]) -> list[tuple[float, str, str]]:
    found = [
        (event_time(e), str(e.get("kind", "")), str(e.get("text", "")))
        for e in events
        if e.get("kind") not in _QUIET
    ]
    return sorted(found)[:EVENTS]
