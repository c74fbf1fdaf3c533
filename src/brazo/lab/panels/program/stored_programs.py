"""`StoredPrograms`: the programs of the project and those that are shipped, by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from brazo.lab.app.keeper import Keeper
from brazo.program import program_names
from brazo.program.element_names import with_element_renamed
from brazo.program.program_file import find_program
from brazo.project.folder import PROGRAMS
from brazo.world.cell_writer import file_name


class StoredPrograms:
    """Names and texts of the stored programs.  Use on the lab's thread."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._changed: dict[str, str] = {}  # texts to be written, by name

    @property
    def folder(self) -> Path | None:
        """Folder of the programs of the project; None if none is open."""
        project = self._keeper.project
        return None if project is None else project.folder / PROGRAMS

    def names(self) -> list[str]:
        """Names of the programs of the project and of those that are shipped."""
        return list(dict.fromkeys([*self._own(), *program_names()]))

    def text(self, name: str) -> str:
        """Text of a program."""
        if name in self._own():
            assert self._keeper.project is not None
            self._keeper.flush()
            path = self._keeper.project.program_path(name)
            return self._changed.get(name) or path.read_text(encoding="utf-8")
        return find_program(name).read_text(encoding="utf-8")

    def free_name(self, name: str, content: str) -> str:
        """A name like this one under which no other program of the project is lost."""
        self.save()
        if self._keeper.project is None:
            return name
        taken = {one.casefold(): one for one in self._own()}
        free, number = file_name(name), 2
        while (one := taken.get(free.casefold())) is not None and self.text(one) != content:
            free, number = f"{file_name(name)}-{number}", number + 1
        return free

    def new_name(self, current: str) -> str:
        """An unused name for an empty program."""
        self.save()
        name, number = "program", 2
        while name in self.names() or name == (current or "program"):
            name, number = f"program-{number}", number + 1
        return name

    def save(self) -> None:
        """Write what was edited, so that the files of the project are current."""
        self._keeper.save()
        self._keeper.flush()

    def files(self, shown: str, content: str) -> Mapping[str, str]:
        """Files of the project: the shown program, and others that changed with the cell.

        A shipped program that was not edited is not stored.
        """
        name = file_name(shown or "program")
        shipped = name in program_names() and content == find_program(name).read_text("utf-8")
        self._changed[name] = "" if shipped else content
        found = {f"{PROGRAMS}/{one}.yaml": text for one, text in self._changed.items()}
        del self._changed[name]
        return found

    def rename_element(self, old: str, new: str, shown: str) -> None:
        """Use the new name of a robot or another element in the programs that are not shown."""
        for name in self._own():
            if name != file_name(shown or "program"):
                text = self.text(name)
                if (content := with_element_renamed(text, old, new)) != text:
                    self._changed[name] = content

    def opened(self) -> None:
        """Forget texts of the project that was open before."""
        self._changed = {}

    def _own(self) -> list[str]:
        project = self._keeper.project
        return [] if project is None else project.programs()
