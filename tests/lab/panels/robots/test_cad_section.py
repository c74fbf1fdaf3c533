"""Imports of CAD assemblies keep the files of earlier ones.  No browser, no job thread."""

from __future__ import annotations

from types import SimpleNamespace

import trimesh

from brazo.body.meshes import stl_bytes
from brazo.lab.app.imported_files import ImportedFiles
from brazo.lab.panels.robots.cad_section import CadSection
from brazo.lab.server.transfers import Upload


class Jobs:
    """Does the work at once."""

    def start(self, title, work, finished):
        job = SimpleNamespace(state="done", tell=lambda fraction, text: None)
        finished(work(job))
        return job


def test_an_import_of_the_same_name_replaces_no_file():
    imported, opened, failed = ImportedFiles(), [], []
    context = SimpleNamespace(imported=imported, jobs=Jobs())
    section = CadSection(context, opened.append, failed.append)  # type: ignore[arg-type]
    kept: dict[str, bytes] = {}
    try:
        for side in (0.1, 0.2, 0.2):  # the third has the file of the second, and a robot of its own
            box = trimesh.creation.box((side, side, side))
            section.start(Upload("base.stl", stl_bytes(box.vertices, box.faces)))
            now = imported.contents()
            assert kept.items() <= now.items() and len(now) > len(kept)
            kept = now
    finally:
        imported.close()
    assert failed == [] and len(set(opened)) == 3
    assert {"base.stl", "base-2.stl"} <= set(kept) and opened[0] == "base_robot.yaml"
