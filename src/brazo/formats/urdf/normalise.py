"""Conversion of a URDF or xacro file to one clean URDF element tree.

The file is parsed by lxml without any access outside it: no network, no external DTD, no entities.
A file that declares entities is rejected, which prevents both external entities and exponential
ones ("billion laughs").  A few errors that cannot change a number (an undeclared prefix, `--`
inside a comment, an invalid byte, a late XML declaration) are ignored with a warning; any other
invalid XML is rejected with its line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from brazo.errors import BrazoError, at
from brazo.etree import Element, etree
from brazo.files import require_regular
from brazo.formats.urdf.expand import MAX_BYTES, expand_xacro
from brazo.formats.urdf.packages import PackagePlaces, Packages
from brazo.model.description import Finding

_HARMLESS = {
    "NS_ERR_UNDEFINED_NAMESPACE": "a name prefix is not declared",
    "ERR_HYPHEN_IN_COMMENT": "'--' inside a comment",
    "ERR_RESERVED_XML_NAME": "the XML declaration is not at the start of the file",
    "ERR_INVALID_ENCODING": "a character does not fit the file's encoding",
}


@dataclass
class Document:
    """Element tree of one file, and its warnings."""

    root: Element
    path: Path
    packages: Packages
    has_lines: bool = True  # False after xacro, whose lines are not those of the file
    findings: list[Finding] = field(default_factory=list)

    def note(self, element: Element, message: str) -> None:
        """Add a warning and continue."""
        self.findings.append(Finding(message, self.path, self.line(element), label(element)))

    def fail(self, element: Element, message: str) -> NoReturn:
        """Reject the file because of this element."""
        raise BrazoError(at(self.path, self.line(element), label(element)) + message)

    def line(self, element: Element) -> int | None:
        return element.sourceline if self.has_lines else None


def read_document(
    path: str | Path,
    packages: PackagePlaces | None = None,
    arguments: Mapping[str, str] | None = None,
) -> Document:
    """Read a .urdf or .xacro file into a plain URDF tree."""
    path = Path(path)
    finder = Packages(path.resolve(), packages)
    root, findings = parse_xml(read_bytes(path), path)
    uses_xacro = any("xacro" in (element.prefix or "") for element in elements(root))
    if not (path.suffix.lower() == ".xacro" or uses_xacro):
        if arguments:
            raise BrazoError(f"{path}: arguments apply to xacro files; this is plain URDF")
        return Document(root, path, finder, findings=findings)
    declared = {element.get("name") for element in elements(root, "arg")}
    findings += [
        Finding(f"argument '{name}' is not declared in this file", path)
        for name in arguments or {}
        if name not in declared
    ]
    text = etree.tostring(root, encoding="unicode", with_tail=False)
    plain, warnings = expand_xacro(text, path.resolve(), finder, arguments)
    findings += [Finding(f"xacro: {warning}", path) for warning in warnings]
    root, more = parse_xml(plain.encode(), path)
    return Document(root, path, finder, has_lines=False, findings=findings + more)


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, up to `MAX_BYTES`."""
    try:
        size = require_regular(path).st_size
        if size > MAX_BYTES:
            raise BrazoError(f"{path}: {size} bytes; at most {MAX_BYTES} are read")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BrazoError(f"{path}: cannot be read: {reason}") from error


def parse_xml(data: bytes, path: Path) -> tuple[Element, list[Finding]]:
    """Parse an untrusted file; comments and processing instructions are removed."""
    parser = etree.XMLParser(
        recover=True,  # errors are checked below, one by one
        resolve_entities=False,
        load_dtd=False,
        dtd_validation=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise BrazoError(f"{path}: not an XML file: {error}") from error
    findings = []
    for entry in parser.error_log:
        if entry.type_name not in _HARMLESS:
            raise BrazoError(at(path, entry.line) + f"broken XML: {entry.message.strip()}")
        findings.append(Finding(_HARMLESS[entry.type_name], path, entry.line))
    if root is None:
        raise BrazoError(f"{path}: not an XML file: it has no element")
    info = root.getroottree().docinfo
    dtd = info.internalDTD
    if dtd is not None and (info.system_url or next(dtd.iterentities(), None) is not None):
        raise BrazoError(
            f"{path}: declares entities or an external DTD, which are not read; "
            "write the values out in the file"
        )
    return root, findings


def elements(parent: Element, name: str | None = None) -> Iterator[Element]:
    """Yield all elements below `parent`, including itself (of one name)."""
    for element in parent.iter():
        if isinstance(element.tag, str) and (name is None or local_name(element) == name):
            yield element


def children(parent: Element, name: str) -> list[Element]:
    """Return the direct children of one name."""
    return [c for c in parent if isinstance(c.tag, str) and local_name(c) == name]


def local_name(element: Element) -> str:
    """Return the element's name without its namespace."""
    return element.tag.rpartition("}")[2]


def label(element: Element) -> str:
    """Return the name of an element for a message: `joint name="elbow" origin`."""
    words: list[str] = []
    while element is not None and local_name(element) != "robot":
        name = element.get("name")
        words.insert(0, local_name(element) + (f' name="{name}"' if name is not None else ""))
        if name is not None and local_name(element) in ("link", "joint"):
            break
        element = element.getparent()
    return " ".join(words) or "robot"
