"""YAML as a tree of fields with file, line and name, so that every error has a location.

The reader processes YAML events instead of building Python objects.  Scalars stay text; the code
that reads a field decides whether it is a number, a name or a description.  Aliases of an anchor
share one node.  Tags are rejected.  The file size, the nesting depth and the number of events are
limited.  A `Field` is a node with its location.  Its methods check and convert the value, and raise
a `Mistake` with `file:line: field:` and the allowed values.
"""

from __future__ import annotations

import difflib
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

import yaml

from brazo import units
from brazo.deprecation import warn_renamed
from brazo.errors import BrazoError, at
from brazo.files import require_regular
from brazo.model.description import Finding
from brazo.model.plausible import doubt

MAX_BYTES = 1 << 20
MAX_NODES = 20_000  # YAML events: values and field names; a list or mapping counts twice
MAX_DEPTH = 24
SWITCH = {"on": True, "off": False, "true": True, "false": False}  # texts of booleans

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULLS = {"", "~", "null", "Null", "NULL"}
_STAND_IN = "1"  # accepted by most fields as a number, and as a name


@dataclass(slots=True)
class Node:
    """One YAML value: text, None, a list of nodes, or a mapping from key to (line of key, node)."""

    line: int
    value: str | list[Node] | dict[str, tuple[int, Node]] | None
    quoted: bool = False


GONE = Node(0, None)  # placeholder of a removed list entry, so that the others keep their indices


class Mistake(BrazoError):
    """Error in a field of a document.

    `value` is a replacement that is probably valid for the field, or None.  If the name of the
    field is unknown, `key` is a similar valid name, otherwise None.  With such a replacement the
    document can be read again to find further mistakes (`brazo.formats.mistakes`).
    `rests` are the names of the fields on which the validity of this field depends.  If one of them
    is wrong, this mistake is only a consequence.
    """

    def __init__(
        self,
        message: str,
        field: Field,
        value: str | None = None,
        key: str | None = None,
        rests: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.field, self.value, self.key, self.rests = field, value, key, rests

    def __reduce__(self) -> tuple:
        return BrazoError, self.args  # another process receives only the message


def read_document(path: Path) -> Field:
    """Read a YAML file and return its root field."""
    try:
        require_regular(path)
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise BrazoError(f"{path}: cannot be read: {error.strerror or error}") from error
    return parse_document(data, path)


def parse_document(data: bytes | str, path: Path | None = None) -> Field:
    """Parse YAML text and return its root field.

    `path` is the file that contains the text.  It is used in messages, and its folder is the folder
    for relative paths.
    """
    if len(data) > MAX_BYTES:
        raise BrazoError(
            f"{at(path, None)}larger than {MAX_BYTES >> 20} MiB, the maximum for a YAML file"
        )
    if isinstance(data, bytes):
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise BrazoError(f"{at(path, line)}not UTF-8 text; save the file as UTF-8") from error
    else:
        text = data
    try:
        node = _compose(text, path)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        hint = ""
        if line and "\t" in "".join(text.splitlines()[max(line - 2, 0) : line]):
            hint = "; indent with spaces, not tabs"
        raise BrazoError(f"{at(path, line)}not valid YAML: {error.problem}{hint}") from error
    except yaml.reader.ReaderError as error:
        position = error.position if isinstance(error.position, int) else 0
        line = text.count("\n", 0, position) + 1
        raise BrazoError(f"{at(path, line)}not valid YAML: {error.reason}") from error
    return Field(node, "", path)


def _compose(text: str, path: Path | None) -> Node:
    """Return the root node of a YAML text; nested values do not cause recursion."""
    root: Node | None = None
    stack: list[tuple[Node, list[tuple[str, int]]]] = []  # open node, its pending key
    anchors: dict[str, Node] = {}

    def fail(line: int, message: str) -> NoReturn:
        raise BrazoError(f"{at(path, line)}{message}")

    def attach(node: Node) -> None:
        nonlocal root
        if not stack:
            root = node
            return
        parent, pending = stack[-1]
        if isinstance(parent.value, list):
            parent.value.append(node)
        elif not pending:
            if not isinstance(node.value, str):
                fail(node.line, "a field name must be plain text")
            pending.append((node.value, node.line))
        else:
            key, line = pending.pop()
            assert isinstance(parent.value, dict)
            if key in parent.value:
                first = parent.value[key][0]
                fail(line, f"field '{_short(key)}' is given twice (first on line {first})")
            parent.value[key] = (line, node)

    documents = 0
    for count, event in enumerate(yaml.parse(text, Loader=_Loader)):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if count > MAX_NODES:
            fail(line, f"more than {MAX_NODES} values and field names, the maximum for a YAML file")
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                fail(line, "a second YAML document starts here; a file must contain only one")
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                fail(
                    line,
                    f"'*{_short(event.anchor)}' refers to an anchor '&{_short(event.anchor)}' "
                    "that is not defined before this line",
                )
            target = anchors[event.anchor]
            if any(target is open_node for open_node, _ in stack):
                fail(line, f"'*{_short(event.anchor)}' contains itself")
            attach(target)
        elif isinstance(event, yaml.ScalarEvent):
            if event.tag is not None and event.tag != "!":
                fail(line, f"tag '{_short(event.tag)}' is not allowed; write plain values")
            plain = event.implicit[0]
            value = None if plain and event.value in _NULLS else event.value
            node = Node(line, value, quoted=not plain)
            if event.anchor:
                anchors[event.anchor] = node
            attach(node)
        elif isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
            if event.tag is not None:
                fail(line, f"tag '{_short(event.tag)}' is not allowed; write plain values")
            if len(stack) >= MAX_DEPTH:
                fail(line, f"nested more than {MAX_DEPTH} levels deep")
            node = Node(line, [] if isinstance(event, yaml.SequenceStartEvent) else {})
            if event.anchor:
                anchors[event.anchor] = node
            attach(node)
            stack.append((node, []))
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            stack.pop()
    return root if root is not None else Node(1, None)


class Field:
    """One value of a document, with its name, file and line.

    The methods return the value as a certain type, or raise an error with the location.  `folder`
    is the folder for relative paths in the document.  By default it is the folder of `path`; None
    means that the document is a text without a folder.
    """

    __slots__ = (
        *("doubts", "expressions", "folder", "line", "name", "node", "origins", "parent", "path"),
    )

    def __init__(
        self,
        node: Node,
        name: str,
        path: Path | None,
        line: int | None = None,
        parent: Field | None = None,
    ) -> None:
        self.node = node
        self.name = name
        self.path = path
        self.line = line or node.line
        self.parent = parent
        self.folder: Path | None = None if path is None else Path(path).parent
        if parent is not None:
            self.folder = parent.folder
        # Shared tables of the document: numbers with a doubtful unit, by the field read and the
        # field that contains the number; fields that define names; the expressions read so far, by
        # field.
        self.doubts: dict[tuple[str, str], Finding] = {} if parent is None else parent.doubts
        self.origins: dict[str, Field] = {} if parent is None else parent.origins
        self.expressions: dict[str, units.Expression] = {} if parent is None else parent.expressions

    def fail(
        self,
        message: str,
        line: int | None = None,
        value: str | None = None,
        rests: tuple[str, ...] = (),
    ) -> NoReturn:
        """Raise a `Mistake` with the location of this field, and with `value` and `rests`.

        `line` replaces the line of the field in the message.
        """
        head = at(self.path, line or self.line, self.name)
        raise Mistake(head + message, self, value, rests=rests)

    @contextmanager
    def errors_here(self, value: str | None = None) -> Iterator[None]:
        """Convert a BrazoError in the `with` block to a `Mistake` of this field (context manager).

        The message gets the location of the field.  A `Mistake` already has a location and is not
        changed.  `value` is a replacement for the value of the field, see `Mistake`.
        """
        try:
            yield
        except Mistake:
            raise
        except BrazoError as error:
            self.fail(str(error), value=value)

    def missing(self, key: str, what: str = "") -> NoReturn:
        """Raise a Mistake because this mapping does not have the required field `key`.

        `what` is an explanation that is added to the message.
        """
        absent = self._child(key, self.line, Node(self.line, None))
        words = f"field '{key}' is missing" + (f": {what}" if what else "")
        raise Mistake(at(self.path, self.line, self.name) + words, absent, _STAND_IN)

    def around(self) -> Iterator[Field]:
        """Yield the fields that contain this one, innermost first."""
        field = self.parent
        while field is not None:
            yield field
            field = field.parent

    @property
    def is_null(self) -> bool:
        return self.node.value is None

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.node.value, dict)

    @property
    def is_list(self) -> bool:
        return isinstance(self.node.value, list)

    def _child(self, key: str, line: int, node: Node) -> Field:
        return Field(node, f"{self.name}.{key}" if self.name else key, self.path, line, self)

    def mapping(
        self,
        allowed: Iterable[str] | None = None,
        renamed: Mapping[str, str] = MappingProxyType({}),
        required: Iterable[str] = (),
    ) -> dict[str, Field]:
        """Return the fields of a mapping by name.

        A name that is not in `allowed` raises a Mistake that lists the allowed names and suggests a
        similar one.  Old names (keys of `renamed`) are read as the new names (values of `renamed`)
        with a warning.  If `allowed` is None, all names are accepted and `renamed` is ignored.
        Each field in `required` must be present.
        """
        if not isinstance(self.node.value, dict):
            self.fail(f"expected fields (name: value), got {self._what()}")
        children = {
            key: self._child(key, line, node) for key, (line, node) in self.node.value.items()
        }
        if allowed is not None:
            names = list(allowed)
            for old, new in renamed.items():
                if old in children and new in names:
                    self._rename(children, old, new)
            for key, child in children.items():
                if key not in names:
                    close = difflib.get_close_matches(key[:80], names, n=1)
                    hint = f"did you mean '{close[0]}'? " if close else ""
                    words = f"unknown field '{_short(key)}'; {hint}allowed: {', '.join(names)}"
                    better = close[0] if close and close[0] not in children else None
                    raise Mistake(at(self.path, child.line, self.name) + words, child, key=better)
        for key in required:
            if key not in children:
                self.missing(key)
        return children

    def _rename(self, children: dict[str, Field], old: str, new: str) -> None:
        child = children.pop(old)
        if new in children:
            child.fail(f"'{old}' is now '{new}', and both are given; delete '{old}'")
        warn_renamed(old, new, at(child.path, child.line))
        finding = Finding(f"is now '{new}'", child.path, child.line, child.name)
        self.doubts[child.name, new] = finding
        children[new] = child

    def items(self, at_most: int = 1000) -> Iterator[Field]:
        """Yield the entries of a list, which may have up to `at_most` entries."""
        if not isinstance(self.node.value, list):
            self.fail(f"expected a list, got {self._what()}")
        if len(self.node.value) > at_most:
            self.fail(f"{len(self.node.value)} entries; at most {at_most} are allowed")
        for i, node in enumerate(self.node.value):
            if node is not GONE:
                yield Field(node, f"{self.name}[{i}]", self.path, parent=self)

    def text(self, at_most: int = 4000) -> str:
        """Return the text of this field; more than `at_most` characters are an error."""
        if not isinstance(self.node.value, str):
            self.fail(f"expected text, got {self._what()}")
        if len(self.node.value) > at_most:
            self.fail(
                f"the text has {len(self.node.value)} characters; at most {at_most} are allowed"
            )
        return self.node.value

    def identifier(self) -> str:
        """Return the name of a robot, joint or part: one line of 1 to 80 printable characters."""
        text = self.text(at_most=80).strip()
        if not text or not text.isprintable():
            self.fail("expected a name: one line of printable characters", value=_STAND_IN)
        return text

    def choice(self, *allowed: str) -> str:
        text = self.text()
        if text not in allowed:
            (nearest,) = difflib.get_close_matches(text[:80], allowed, n=1, cutoff=0.0)
            self.fail(
                f"'{_short(text)}' is not allowed; choose {' or '.join(allowed)}", value=nearest
            )
        return text

    def switch(self) -> bool:
        """Return the boolean of this field: `on`, `off`, `true` or `false`."""
        return SWITCH[self.choice(*SWITCH)]

    def number(
        self,
        *dimensions: units.Dimension,
        names: Mapping[str, units.Quantity] | None = None,
        at_least: float | None = None,
        above: float | None = None,
    ) -> float:
        """Return the value of a number or expression in SI units.

        `dimensions` are the allowed dimensions; by default the value must be dimensionless.  A
        value without a unit is accepted for any dimension and read in SI units; if it is
        implausible, a warning is added to `doubts`.  `names` are the parameters that an expression
        may use.  The value must be at least `at_least` and greater than `above`.
        """
        quantity = self.quantity(names)
        allowed = dimensions or (units.NUMBER,)
        if quantity.dimension is not None and quantity.dimension not in allowed:
            self.fail(
                f"'{_short(self.text())}' is {units.dimension_name(quantity.dimension)}, expected "
                f"{units.expected(allowed[0])}",
                value=_STAND_IN,
            )
        value = quantity.value
        if at_least is not None and value < at_least:
            self.fail(f"{value:g} is below the minimum, {at_least:g}", value=_STAND_IN)
        if above is not None and value <= above:
            self.fail(f"{value:g} must be greater than {above:g}", value=_STAND_IN)
        if quantity.dimension is None:
            for field, message in self._doubtful(value, allowed[0], names or {}).items():
                finding = Finding(message, field.path, field.line, field.name, slip=True)
                self.doubts[self.name, field.name] = finding
        return value

    def _doubtful(
        self, value: float, dimension: units.Dimension, names: Mapping[str, units.Quantity]
    ) -> dict[Field, str]:
        """Return a warning for an implausible number without a unit; empty if it is plausible.

        The key is this field.  If the number is computed from implausible parameters, there is one
        warning per parameter instead, and the keys are the fields of the parameters.
        """
        message = doubt(value, dimension)
        if not message:
            return {}
        causes: dict[Field, str] = {}
        used = self.expressions[self.name].names
        for name in sorted(used & self.origins.keys() & names.keys()):
            if names[name].dimension is None:
                causes |= self.origins[name]._doubtful(names[name].value, dimension, names)
        return causes or {self: message}

    def quantity(self, names: Mapping[str, units.Quantity] | None = None) -> units.Quantity:
        """Return the value (SI) of a number or expression, with its dimension.

        The dimension is None if there is no unit.  `names` are the parameters that an expression
        may use.
        """
        with self.errors_here(_STAND_IN):
            quantity = self.expression(names or ()).evaluate(names)
        if abs(quantity.value) > 1e12:
            words = f"{quantity.value:g} is too large; the maximum is 1e12"
            self.fail(words, value=_STAND_IN)
        return quantity

    def expression(self, names: Container[str] = ()) -> units.Expression:
        """Return the parsed expression of this field, which may use the parameters `names`.

        The expression is also stored in `self.expressions` under the name of the field.
        """
        if not isinstance(self.node.value, str):
            self.fail(f"expected a number, got {self._what()}", value=_STAND_IN)
        if self.node.quoted and _is_number(self.node.value):
            words = (
                f"expected a number, got the text '{_short(self.node.value)}'; remove the quotes"
            )
            self.fail(words, value=_STAND_IN)
        with self.errors_here(_STAND_IN):
            parsed = units.parse_expression(self.node.value, names)
        self.expressions[self.name] = parsed
        return parsed

    def numbers(
        self,
        count: int,
        *dimensions: units.Dimension,
        names: Mapping[str, units.Quantity] | None = None,
    ) -> list[float]:
        """Return the numbers of a list with exactly `count` entries; see `number`."""
        given = self.node.value if isinstance(self.node.value, list) else []
        if len(given) != count or any(node is GONE for node in given):
            self.fail(f"expected a list of {count} numbers, got {self._what()}")
        return [item.number(*dimensions, names=names) for item in self.items()]

    def _what(self) -> str:
        value = self.node.value
        if value is None:
            return "nothing"
        if isinstance(value, str):
            return f"'{_short(value)}'"
        if isinstance(value, list):
            return f"a list of {len(value)} entries"
        return "fields"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _short(text: str) -> str:
    shown = text if len(text) <= 40 else text[:37] + "..."
    return shown.encode("unicode_escape").decode("ascii") if not shown.isprintable() else shown
