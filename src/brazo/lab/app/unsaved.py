"""Unsaved work, and the dialog shown before it is discarded.

Each panel lists its unsaved work (`Panel.unsaved`): taught points, trajectories, dimensions, gains,
a running program.  Before another cell, robot or file is opened, a page asks the user to save the
work (as one file, or several in a .zip), to discard it, or to cancel.  The dialog is shown only if
work would be lost.  `Lab.open` shows it only if `ask` is given.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import PurePosixPath
from typing import Any

from brazo.lab.app.jobs import Job, Jobs
from brazo.lab.app.session import Session
from brazo.lab.server.channel import Page, PageChannel
from brazo.lab.server.transfers import safe_name

Files = Mapping[str, str | bytes]
KEPT = "All other work stays saved in the project."


@dataclass(frozen=True, slots=True)
class Work:
    """One item of unsaved work: its title in the dialog, and the files that save it.

    If creating the files takes time, `files` is a function `files(job)` that runs in a background
    job.  A running program has no files and can only be discarded.
    """

    title: str
    files: Files | Callable[[Job], Files]
    robot: str = ""  # name of its robot; empty if it belongs to the cell
    kept: bool = False  # whether it survives when another cell is opened


@dataclass(frozen=True, slots=True)
class _Question:
    number: int
    work: Sequence[Work]
    name: str  # file name of the archive
    proceed: Callable[[], None]
    cancelled: Callable[[], None]


class Unsaved:
    """The unsaved work of a lab.  Use only on the lab's thread."""

    def __init__(
        self,
        session: Session,
        channel: PageChannel,
        jobs: Jobs,
        download: Callable[[str, bytes | str], None],
        post: Callable[[Callable[[], None]], None],
        work: Callable[[], list[Work]],
        project_keeps: Callable[[], bool],
    ) -> None:
        self._session, self._channel, self._jobs = session, channel, jobs
        self._download, self._post = download, post
        self.work = work  # returns all unsaved work
        self._project_keeps = project_keeps  # whether a project saves all other work
        self._numbers = count(1)
        self._open: _Question | None = None
        channel.on("unsaved/save", self._save, int)
        channel.on("unsaved/discard", self._discard, int)
        channel.on("unsaved/cancel", self._cancel, int, still=True)

    def savable(self) -> list[Work]:
        """Unsaved work that can be saved to files."""
        return [one for one in self.work() if one.files]

    def before_opening(
        self,
        name: str,
        proceed: Callable[[], None],
        cancelled: Callable[[], None] | None = None,
    ) -> None:
        """Call `proceed` to open the source `name`; ask first if unsaved work would be lost.

        `cancelled` is called instead if the user cancels.
        """
        lost = [one for one in self.work() if not one.kept]
        title = "Unsaved work" if any(one.files for one in lost) else f"Open {name}?"
        note = KEPT if self._project_keeps() else ""
        self.ask(f"Opening {name} discards:", lost, proceed, cancelled, title, note=note)

    def ask(
        self,
        sentence: str,
        lost: Sequence[Work],
        proceed: Callable[[], None],
        cancelled: Callable[[], None] | None = None,
        title: str = "Unsaved work",
        save: str = "Save and continue",
        discard: str = "Discard",
        note: str = "",
    ) -> None:
        """Ask the user to save or discard the work `lost`, then call `proceed`.

        If `lost` is empty, `proceed` is called immediately.  `cancelled` is called instead of
        `proceed` if the user cancels, the files cannot be saved, another question replaces this
        one, or there is no page to ask.  `sentence` and `title` are the text and the heading of the
        dialog.  `save` and `discard` are the labels of its buttons.  The save button is omitted if
        no work has files.  `note` is a further text of the dialog, such as what is not discarded.
        """
        self._drop()  # a new question replaces the open one
        if not lost:
            proceed()
            return
        number = next(self._numbers)
        name = f"{self._session.shown.cell.name}-work.zip"
        self._open = _Question(number, lost, name, proceed, cancelled or (lambda: None))
        page = self._asked()
        if page is None:
            return self._drop()
        page.tell(
            "question",
            {
                "number": number,
                "title": title,
                "text": sentence,
                "lost": [one.title for one in lost],
                "save": save if any(one.files for one in lost) else "",
                "discard": discard,
                "note": note,
            },
        )

    def close(self) -> None:
        """Cancel the open question; called when the lab closes."""
        self._drop()

    # ---- answers ---------------------------------------------------------------------------

    def _asked(self) -> Page | None:
        """Page that shows the dialog: the sender of the current event, or else the page in control.

        None if neither exists.
        """
        channel = self._channel
        drivers = (page for page in channel.pages if channel.driving.drives(page.key))
        return channel.page or next(drivers, None)

    def _take(self, number: int) -> _Question | None:
        question = self._open
        if question is None or question.number != number:
            return None
        self._open = None
        return question

    def _discard(self, number: int) -> None:
        question = self._take(number)
        if question is not None:
            question.proceed()

    def _cancel(self, number: int) -> None:
        question = self._take(number)
        if question is not None:
            question.cancelled()

    def _drop(self) -> None:
        if self._open is not None:
            self._cancel(self._open.number)

    def _save(self, number: int) -> None:
        question = self._take(number)
        if question is None:
            return
        if not any(one.files for one in question.work):  # this dialog has no save button
            return question.cancelled()

        def write(job: Job | None) -> dict[str, str | bytes]:
            files: dict[str, str | bytes] = {}
            for one in question.work:
                made = one.files(job) if callable(one.files) else one.files  # type: ignore[arg-type]
                for name, content in made.items():
                    files[_free(name, files)] = content
            return files

        def done(files: dict[str, str | bytes]) -> None:
            try:
                name, content = next(iter(files.items()))
                if len(files) == 1:
                    self._download(name, content)
                else:
                    self._download(question.name, packed(files))
            except BaseException:
                question.cancelled()
                raise
            question.proceed()

        if not any(callable(one.files) for one in question.work):
            return done(write(None))

        def work(job: Job) -> Any:
            try:
                files = write(job)
                job.settle()  # from here on, `done` is called
                return files
            except BaseException:
                self._post(question.cancelled)
                raise

        self._jobs.start("Save unsaved work", work, done)


def _free(name: str, taken: Mapping[str, object]) -> str:
    """Return `name` as a safe relative path; add a number to it if the path is in `taken`."""
    path = PurePosixPath(*map(safe_name, PurePosixPath(name).parts))
    found, k = path, 2
    while str(found) in taken:
        found, k = path.with_name(f"{path.stem}-{k}{path.suffix}"), k + 1
    return str(found)


def packed(files: Files) -> bytes:
    """Return a .zip archive of the files, as bytes."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        for name, content in files.items():
            written.writestr(name, content)
    return archive.getvalue()
