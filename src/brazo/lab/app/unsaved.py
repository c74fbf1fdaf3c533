"""Work that only the lab has, and the question asked before it is lost.

Every panel lists its own (`Panel.unsaved`): taught points, trajectories, dimensions, gains, a
program that runs.  The page is asked before it opens something else: save (one file, or all in a
.zip), discard or cancel.
There is no question when nothing would be lost, and none to programs that call `Lab.open`.
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
from brazo.lab.server.channel import Channel, Page
from brazo.lab.server.transfers import safe_name

Files = Mapping[str, str | bytes]


@dataclass(frozen=True, slots=True)
class Work:
    """Something the user made: what a question calls it, and the files that saving it gives.

    Files that take time to make are made by `files(job)`, in a thread of its own.  A program that
    runs has no files: it can be discarded only.
    """

    title: str
    files: Files | Callable[[Job], Files]
    robot: str = ""  # whose it is; empty when it belongs to the cell
    kept: bool = False  # whether it is still there after another cell is opened


@dataclass(frozen=True, slots=True)
class _Question:
    number: int
    work: Sequence[Work]
    name: str  # of the archive
    proceed: Callable[[], None]
    cancelled: Callable[[], None]


class Unsaved:
    """The unsaved work of a lab; on its thread."""

    def __init__(
        self,
        session: Session,
        channel: Channel,
        jobs: Jobs,
        download: Callable[[str, bytes | str], None],
        post: Callable[[Callable[[], None]], None],
        work: Callable[[], list[Work]],
    ) -> None:
        self._session, self._channel, self._jobs = session, channel, jobs
        self._download, self._post = download, post
        self.work = work  # lists all of it
        self._numbers = count(1)
        self._open: _Question | None = None
        channel.on("unsaved/save", self._save, int)
        channel.on("unsaved/discard", self._discard, int)
        channel.on("unsaved/cancel", self._cancel, int, still=True)

    def savable(self) -> list[Work]:
        """The work that files can keep."""
        return [one for one in self.work() if one.files]

    def before_opening(
        self,
        name: str,
        proceed: Callable[[], None],
        cancelled: Callable[[], None] | None = None,
    ) -> None:
        """Call `proceed` to open something, once nothing is lost by it or the user agrees."""
        lost = [one for one in self.work() if not one.kept]
        title = "Unsaved work" if any(one.files for one in lost) else f"Open {name}?"
        self.ask(f"Opening {name} discards:", lost, proceed, cancelled, title)

    def ask(
        self,
        sentence: str,
        lost: Sequence[Work],
        proceed: Callable[[], None],
        cancelled: Callable[[], None] | None = None,
        title: str = "Unsaved work",
        save: str = "Save and continue",
        discard: str = "Discard",
    ) -> None:
        """Call `proceed` once the user agrees to lose this work, or at once when there is none.

        `title` is the heading of the question, `save` and `discard` are the labels of its buttons.
        There is no button to save when none of the work has files.
        """
        self._drop()  # a newer question takes the place of one that is open
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
            },
        )

    def close(self) -> None:
        """The lab ends: what waits for an answer is cancelled."""
        self._drop()

    # ---- answers ---------------------------------------------------------------------------

    def _asked(self) -> Page | None:
        """The page whose event this is, else the one that drives."""
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
        if not any(one.files for one in question.work):  # such a question has no button to save
            return question.cancelled()

        def write(job: Job | None) -> dict[str, str | bytes]:
            files: dict[str, str | bytes] = {}
            for one in question.work:
                made = one.files(job) if callable(one.files) else one.files  # type: ignore[arg-type]
                for name, content in made.items():
                    files[_free(name, files)] = content
            return files

        def done(files: dict[str, str | bytes]) -> None:
            name, content = next(iter(files.items()))
            if len(files) == 1:
                self._download(name, content)
            else:
                self._download(question.name, packed(files))
            question.proceed()

        if not any(callable(one.files) for one in question.work):
            return done(write(None))

        def work(job: Job) -> Any:
            try:
                return write(job)
            except BaseException:
                self._post(question.cancelled)
                raise

        self._jobs.start("Save unsaved work", work, done)


def _free(name: str, taken: Mapping[str, object]) -> str:
    """A file name that is safe, and not taken yet."""
    path = PurePosixPath(*map(safe_name, PurePosixPath(name).parts))
    found, k = path, 2
    while str(found) in taken:
        found, k = path.with_name(f"{path.stem}-{k}{path.suffix}"), k + 1
    return str(found)


def packed(files: Files) -> bytes:
    """A .zip of files by name."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        for name, content in files.items():
            written.writestr(name, content)
    return archive.getvalue()
