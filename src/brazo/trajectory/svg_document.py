"""Extraction of the drawn elements of an SVG file, after a check of its size.

A few kB of SVG can expand to very many elements, because `<use>` repeats an element that may
contain `<use>` again.  Therefore elements and their data are counted as if every `<use>` were
expanded, before anything is expanded.  Declarations in a DOCTYPE are rejected, because entities and
default attributes multiply text in the same way.  Elements, attributes and style rules
that do not change the lines of a drawing are removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn
from xml.etree import ElementTree as ET
from xml.parsers import expat

from brazo.errors import BrazoError

MAX_ELEMENTS = 10_000  # with all <use> expanded
MAX_DATA = 500_000  # characters of attributes, with all <use> expanded
MAX_DEPTH = 60  # of nested elements, with all <use> expanded
MAX_ATTRIBUTE = 4_000  # characters, except path data and points
MAX_STYLE = 100_000  # characters of all <style>

_SVG = "{http://www.w3.org/2000/svg}"
_HREF = ("href", "{http://www.w3.org/1999/xlink}href")
_LONG = ("d", "points")
_SIZES = ("x", "y", "width", "height", "r", "cx", "cy", "rx", "ry")
_STYLED = ("display", "visibility", "transform", *_SIZES)
_KEPT = {
    *("id", "class", "style", "viewBox", "preserveAspectRatio", *_LONG, "x1", "y1", "x2", "y2"),
    *_STYLED,
    *_HREF,
}
_NOT_DRAWN = {"text", "image", "metadata", "script", "title", "desc"}


@dataclass(frozen=True, slots=True)
class _ExpandedSize:
    """Size of an element with all its children and with every `<use>` expanded."""

    elements: int
    data: int  # characters
    depth: int


def drawn_part(data: bytes | str, name: str) -> bytes:
    """Return the drawn elements of an SVG file as XML in UTF-8; errors start with `name`."""
    root = _parsed(data, name)
    if _tag(root) != "svg":
        raise BrazoError(f"{name}: not an SVG file: its root is <{_tag(root)[:40]}>, not <svg>")
    style = "".join(one.text or "" for one in root.iter() if _tag(one) == "style")
    if len(style) > MAX_STYLE:
        raise BrazoError(f"{name}: <style> has more than {MAX_STYLE:,} characters; shorten it")
    rules = _rules(style)
    for element in list(root.iter()):
        _clean(element, name)
    longest = max((len(one.get("transform", "")) for one in rules.values()), default=0)
    if _expanded(root, name, longest).data > MAX_DATA:
        raise BrazoError(
            f"{name}: more than {MAX_DATA:,} characters of path data and attributes, with all "
            "<use> expanded; simplify the drawing"
        )
    if rules:
        first = ET.Element(f"{_SVG}style")
        first.text = "".join(f"{key}{{{_declared(one)}}}\n" for key, one in rules.items())
        root.insert(0, first)
    return ET.tostring(root, encoding="utf-8")


def _parsed(data: bytes | str, name: str) -> ET.Element:
    """Parse XML and return its root; an error if it is invalid, too large or too deeply nested."""
    # Text is already decoded: a declared encoding does not count.
    encoding = "utf-8" if isinstance(data, str) else None
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    parser = expat.ParserCreate(encoding, "}")
    tree = ET.TreeBuilder()
    depth = count = 0

    def fail(what: str) -> NoReturn:
        raise BrazoError(f"{name}:{parser.CurrentLineNumber}: {what}")

    def doctype(_name: str, _system: str | None, _public: str | None, internal: bool) -> None:
        if internal:
            fail(
                "entities and other declarations in the DOCTYPE of an SVG file are not allowed; "
                "remove the part of the DOCTYPE in [...]"
            )

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if depth > MAX_DEPTH:
            fail(f"more than {MAX_DEPTH} nested elements; ungroup some of them")
        if count > MAX_ELEMENTS:
            fail(f"more than {MAX_ELEMENTS:,} elements; simplify the drawing")
        tree.start(_qualified(tag), {_qualified(key): one for key, one in attributes.items()})

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        tree.end(_qualified(tag))

    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = tree.data
    parser.buffer_text = True
    try:
        parser.Parse(raw, True)
        return tree.close()
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise BrazoError(f"{name}:{error.lineno}: not valid XML: {what}") from None
    except (LookupError, ValueError) as error:  # of the encoding
        raise BrazoError(f"{name}: cannot be decoded: {error}; save it as UTF-8") from None


def _qualified(tag: str) -> str:
    return "{" + tag if "}" in tag else tag


def _tag(element: ET.Element) -> str:
    """Tag of an element without the SVG namespace; other namespaces are kept."""
    return element.tag.removeprefix(_SVG)


def _clean(element: ET.Element, name: str) -> None:
    """Remove elements and attributes that do not change the drawn lines."""
    element.text = element.tail = None
    for child in list(element):
        if _tag(child) in _NOT_DRAWN or _tag(child) == "style":
            element.remove(child)
    for key, value in list(element.attrib.items()):
        if key not in _KEPT:
            del element.attrib[key]
        elif key == "style":
            element.set(key, _declared(_declarations(value)))
        elif len(value) > MAX_ATTRIBUTE and key not in _LONG:
            raise BrazoError(
                f"{name}: '{key}' of a <{_tag(element)[:40]}> has {len(value)} characters; at most "
                f"{MAX_ATTRIBUTE} are allowed"
            )


def _expanded(root: ET.Element, name: str, styled: int) -> _ExpandedSize:
    """Return the size of the drawing `root` with every `<use>` expanded.

    Raises an error if there are too many elements or nested levels, or if an element uses itself.
    `styled` is the number of characters of the longest `transform` in a style rule; this number is
    counted for every element.
    """
    named = {key: one for one in root.iter() if (key := one.get("id")) is not None}
    known: dict[ET.Element, _ExpandedSize] = {}
    open_: set[ET.Element] = set()

    def size(element: ET.Element, above: int) -> _ExpandedSize:
        if element in known:
            return known[element]
        what = f"<{_tag(element)[:40]} id={element.get('id', '')[:40]!r}>"
        if element in open_:
            raise BrazoError(f"{name}: {what} contains a <use> of itself")
        if above > MAX_DEPTH:
            raise BrazoError(
                f"{name}: more than {MAX_DEPTH} nested elements at {what}, with all <use> "
                "expanded; simplify the drawing"
            )
        open_.add(element)
        inner = list(element)
        used = None
        if _tag(element) == "use":
            for key in _HREF:  # as svgelements: the last one counts
                used = element.get(key, used)
        if used is not None and used[1:] in named:
            inner.append(named[used[1:]])
        sizes = [size(one, above + 1) for one in inner]
        open_.remove(element)
        elements = 1 + sum(one.elements for one in sizes)
        own = sum(len(value) for value in element.attrib.values())
        # A transform is applied to each element inside.
        moved = (styled + sum(len(element.get(k, "")) for k in ("transform", "style"))) * elements
        data = own + moved + sum(one.data for one in sizes)
        found = _ExpandedSize(elements, data, 1 + max((one.depth for one in sizes), default=0))
        if found.elements > MAX_ELEMENTS:
            raise BrazoError(
                f"{name}: more than {MAX_ELEMENTS:,} elements, with all <use> expanded; simplify "
                "the drawing"
            )
        if above + found.depth > MAX_DEPTH + 1:
            raise BrazoError(
                f"{name}: more than {MAX_DEPTH} nested elements at {what}, with all <use> "
                "expanded; simplify the drawing"
            )
        known[element] = found
        return found

    return size(root, 0)


def _rules(style: str) -> dict[str, dict[str, str]]:
    """Declarations of simple style rules, by selector; nested rules are ignored."""
    found: dict[str, dict[str, str]] = {}
    for rule in _without_comments(style).split("}"):
        selectors, brace, body = rule.partition("{")
        values = _declarations(body) if brace and "{" not in body else {}
        for selector in selectors.split(",") if values else ():
            selector = " ".join(selector.split())
            if selector and "//" not in selector:
                found.setdefault(selector, {}).update(values)
    return found


def _without_comments(style: str) -> str:
    parts, at = [], 0
    while (start := style.find("/*", at)) >= 0:
        parts.append(style[at:start])
        end = style.find("*/", start + 2)
        if end < 0:
            return "".join(parts)
        at = end + 2
    return "".join([*parts, style[at:]])


def _declarations(text: str) -> dict[str, str]:
    """Properties of a style that change the lines of a drawing, by name."""
    found = {}
    for one in text.split(";"):
        key, _, value = one.partition(":")
        key, value = key.strip().lower(), " ".join(value.replace("!important", "").split())
        plain = len(value) <= MAX_ATTRIBUTE and not any(c in value for c in ("//", "{", "}", ":"))
        if key in _STYLED and value and plain:
            found[key] = value
    return found


def _declared(values: dict[str, str]) -> str:
    return ";".join(f"{key}:{value}" for key, value in values.items())
