"""Conversion of a URDF or xacro file to one clean URDF element tree.

lxml parses the file without access to anything else: no network, no external DTD, no entities.
A file that declares entities is rejected, which prevents external entities and exponential
expansion ("billion laughs").  A few errors that cannot change a number (an undeclared prefix, `--`
inside a comment, an invalid byte, a late XML declaration) are ignored with a warning.  Any other
invalid XML is rejected, with the line of the error.
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
    "NS_ERR_UNDEFINED_NAMESPACE": "a namespace prefix is not declared; ignored",
    "ERR_HYPHEN_IN_COMMENT": "'--' inside a comment is not valid XML; ignored",
    "ERR_RESERVED_XML_NAME": "the XML declaration is not at the start of the file; ignored",
    "ERR_INVALID_ENCODING": "a character is not valid in the encoding of the file; replaced",
}


@dataclass
class Document:
    """URDF element tree of one file, and the warnings about it."""

    root: Element
    path: Path
    packages: Packages
    has_lines: bool = True  # False after xacro, whose lines are not those of the file
    findings: list[Finding] = field(default_factory=list)

    def note(self, element: Element, message: str) -> None:
        """Add a warning about an element and continue."""
        self.findings.append(Finding(message, self.path, self.line(element), label(element)))

    def fail(self, element: Element, message: str) -> NoReturn:
        """Raise BrazoError with the location of an element."""
        raise BrazoError(at(self.path, self.line(element), label(element)) + message)

    def line(self, element: Element) -> int | None:
        return element.sourceline if self.has_lines else None


def read_document(
    path: str | Path,
    packages: PackagePlaces | None = None,
    arguments: Mapping[str, str] | None = None,
) -> Document:
    """Read a .urdf or .xacro file and return its URDF tree, with macros expanded."""
    path = Path(path)
    finder = Packages(path.resolve(), packages)
    root, findings = parse_xml(read_bytes(path), path)
    uses_xacro = any("xacro" in (element.prefix or "") for element in elements(root))
    if not (path.suffix.lower() == ".xacro" or uses_xacro):
        if arguments:
            raise BrazoError(
                f"{path}: arguments are only allowed for xacro files; this is plain URDF"
            )
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
    """Return the content of a file.

    Raises BrazoError if the file cannot be read or has more than `MAX_BYTES` bytes.
    """
    try:
        size = require_regular(path).st_size
        if size > MAX_BYTES:
            raise BrazoError(f"{path}: the file has {size} bytes; at most {MAX_BYTES} are allowed")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BrazoError(f"{path}: cannot be read: {reason}") from error


def parse_xml(data: bytes, path: Path) -> tuple[Element, list[Finding]]:
    """Return the root element of an untrusted XML file, and warnings about harmless errors.

    Comments and processing instructions are removed.  `path` is used in messages.  Raises
    BrazoError for other errors, and for a file with entities or an external DTD.
    """
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
            f"{path}: declares entities or an external DTD, which are not supported; "
            "write the values in the file instead"
        )
    return root, findings


def elements(parent: Element, name: str | None = None) -> Iterator[Element]:
    """Yield `parent` and all elements below it, optionally only those with the given name."""
    for element in parent.iter():
        if isinstance(element.tag, str) and (name is None or local_name(element) == name):
            yield element


def children(parent: Element, name: str) -> list[Element]:
    """Return the direct children with the given name."""
    return [c for c in parent if isinstance(c.tag, str) and local_name(c) == name]


def local_name(element: Element) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def label(element: Element) -> str:
    """Return a description of an element for messages, such as `joint name="elbow" origin`."""
    words: list[str] = []
    while element is not None and local_name(element) != "robot":
        name = element.get("name")
        words.insert(0, local_name(element) + (f' name="{name}"' if name is not None else ""))
        if name is not None and local_name(element) in ("link", "joint"):
            break
        element = element.getparent()
    return " ".join(words) or "robot"
