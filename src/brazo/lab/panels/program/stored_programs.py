"""Access by name to the programs of the project and to the shipped programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from brazo.lab.app.project_saving import ProjectSaving
from brazo.program import program_names
from brazo.program.element_names import with_element_renamed
from brazo.program.program_file import find_program
from brazo.project.folder import PROGRAMS
from brazo.world.cell_writer import file_name


class StoredPrograms:
    """Names and texts of the project's programs and of the shipped ones.

    Use on the lab's thread only.
    """

    def __init__(self, saving: ProjectSaving) -> None:
        self._saving = saving
        self._changed: dict[str, str] = {}  # texts to be written, by name

    @property
    def folder(self) -> Path | None:
        """Folder of the project's programs; None if no project is open."""
        project = self._saving.project
        return None if project is None else project.folder / PROGRAMS

    def names(self) -> list[str]:
        """Names of the project's programs, then of the shipped programs."""
        return list(dict.fromkeys([*self._own(), *program_names()]))

    def text(self, name: str) -> str:
        """Text of the program with this name; a program of the project takes precedence."""
        if name in self._own():
            assert self._saving.project is not None
            self._saving.flush()
            path = self._saving.project.program_path(name)
            return self._changed.get(name) or path.read_text(encoding="utf-8")
        return find_program(name).read_text(encoding="utf-8")

    def free_name(self, name: str, content: str) -> str:
        """Name under which `content` can be saved without overwriting another program.

        It is `name` as a valid file name, with a number appended if the project has a program of
        this name with another text.  If no project is open, `name` is returned unchanged.
        """
        self.save()
        if self._saving.project is None:
            return name
        taken = {one.casefold(): one for one in self._own()}
        free, number = file_name(name), 2
        while (one := taken.get(free.casefold())) is not None and self.text(one) != content:
            free, number = f"{file_name(name)}-{number}", number + 1
        return free

    def new_name(self, current: str) -> str:
        """Unused name for a new program, different from the name `current`."""
        self.save()
        name, number = "program", 2
        while name in self.names() or name == (current or "program"):
            name, number = f"program-{number}", number + 1
        return name

    def save(self) -> None:
        """Write all unsaved edits to the files of the project."""
        self._saving.save()
        self._saving.flush()

    def files(self, shown: str, content: str) -> Mapping[str, str]:
        """Program files to be written to the project, as a dict from path to text.

        They are the program in the editor (name `shown`, text `content`), and programs that were
        updated after a rename in the cell.  If the editor shows a shipped program without edits,
        its text in the dict is empty, so that the project does not store the program.
        """
        name = file_name(shown or "program")
        shipped = name in program_names() and content == find_program(name).read_text("utf-8")
        self._changed[name] = "" if shipped else content
        found = {f"{PROGRAMS}/{one}.yaml": text for one, text in self._changed.items()}
        del self._changed[name]
        return found

    def rename_element(self, old: str, new: str, shown: str) -> None:
        """Rename a robot or other element of the cell in all programs of the project.

        The program `shown`, which is in the editor, is not changed.
        """
        for name in self._own():
            if name != file_name(shown or "program"):
                text = self.text(name)
                if (content := with_element_renamed(text, old, new)) != text:
                    self._changed[name] = content

    def opened(self) -> None:
        """Discard unsaved texts of the previous project; called when another one is opened."""
        self._changed = {}

    def _own(self) -> list[str]:
        project = self._saving.project
        return [] if project is None else project.programs()
