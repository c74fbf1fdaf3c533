"""Assignment of CAD parts to links, by their names or by the user's mapping.

Names are compared without case, separators, leading zeros and instance numbers, such as `:2` in
`Arm_1:2` and the last `-1` in `1 arm-1`.  The name of a part is compared first with the names of
the links and joints of the robot; a joint stands for the link that it moves.  Then the name is
searched for these words:

    base, pedestal, foot, stand                   the base
    flange, effector, gripper, clamp, tool, hand, finger, jaw
                                                  the last link
    shoulder, waist, column, turret, carousel     the first link
    forearm, lower arm                            the third link
    upper arm                                     the second link
    arm N, N arm                                  link N; link N + 1 if the name of any part
                                                  contains a word for the first link (shoulder, …)
    link N, axis N, joint N, segment N, body N    link N; also j N, l N, a N
    wrist                                         the last link but one, if the robot has
                                                  three or more moving links

The first match of this list is used.  N is a number, or a word from "first" to "sixth".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from brazo.errors import BrazoError
from brazo.formats.cad.assembly_parts import CadPart

_BASE = {"base", "pedestal", "foot", "stand"}
_FIRST = {"shoulder", "waist", "column", "turret", "carousel"}
_LAST = {"flange", "effector", "endeffector", "gripper", "tool", "hand", "finger", "jaw", "clamp"}
_NUMBERED = {"link", "axis", "joint", "segment", "body", "j", "l", "a"}
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6}
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class RobotLink:
    """Link of the robot: its name, and the name of the joint that moves it (empty for the base)."""

    name: str
    joint: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """Link to which a part is assigned.

    `body` is the index of the link (0 is the base); None if the part is omitted.  `reason` is the
    explanation in the report.
    """

    body: int | None
    reason: str


def match_parts(
    parts: Sequence[CadPart], links: Sequence[RobotLink], mapping: Mapping[str, str]
) -> list[Match]:
    """Return the link to which each part is assigned.

    `mapping` maps part names, with wildcards, to links or "none"; a link is given by its name, the
    name of its joint, or its index (0 is the base).  Raises BrazoError if no link is found for a
    part, if an entry of `mapping` is used for no part, or if its link does not exist.
    """
    chosen = {pattern: _link_of(target, links) for pattern, target in mapping.items()}
    used: set[str] = set()
    found: list[Match | None] = []
    beside = any(_words(name)[0] & _FIRST for part in parts for name in part.names)
    for part in parts:
        given = next((p for p in mapping if _fits(p, part)), None)
        if given is not None:
            used.add(given)
            found.append(Match(chosen[given], "as in the map"))
            continue
        found.append(_by_name(part, links, beside))
    names = ", ".join(f"'{part.name}'" for part in parts[:_SHOWN])
    for pattern in mapping:
        if pattern not in used:
            raise BrazoError(f"map: no part is named '{pattern}'; the parts are: {names}")
    lost = [part.name for part, match in zip(parts, found, strict=True) if match is None]
    if lost:
        shown = ", ".join(f"'{name}'" for name in lost[:_SHOWN])
        more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
        raise BrazoError(
            f"no link found for part{'s' if len(lost) > 1 else ''} {shown}{more}; assign a link "
            f"with --map \"{lost[0]}=LINK\" (links: {_listed(links)}; 'none' omits the part)"
        )
    return [match for match in found if match is not None]


def _fits(pattern: str, part: CadPart) -> bool:
    return any(
        fnmatchcase(name.lower(), pattern.lower()) or _plain(name) == _plain(pattern)
        for name in (part.name, *part.names)
    )


def _link_of(target: str, links: Sequence[RobotLink]) -> int | None:
    """Return the index of the link that `target` refers to; None if `target` is "none" or empty.

    `target` is the name of a link, the name of its joint, or its index.
    """
    if _plain(target) in ("none", ""):
        return None
    for i, link in enumerate(links):
        if _plain(target) in (_plain(link.name), _plain(link.joint or link.name)):
            return i
    if target.strip().isdecimal() and int(target) < len(links):
        return int(target)
    raise BrazoError(f"map: '{target}' is not a link; choose one of {_listed(links)}, or 'none'")


def _listed(links: Sequence[RobotLink]) -> str:
    return ", ".join(f"{one.name} ({one.joint})" if one.joint else one.name for one in links)


def _by_name(part: CadPart, links: Sequence[RobotLink], beside_shoulder: bool) -> Match | None:
    for name in part.names:
        for i, link in enumerate(links):
            if _plain(name) in (_plain(link.name), _plain(link.joint or link.name)):
                return Match(i, f"named as {link.name}{f' ({link.joint})' if link.joint else ''}")
        body, word = _by_words(name, len(links) - 1, beside_shoulder)
        if body is not None and body < len(links):
            return Match(body, f"by the word '{word}'")
    return None


def _by_words(name: str, last: int, beside_shoulder: bool) -> tuple[int | None, str]:
    words, number = _words(name)
    for known, body in ((_BASE, 0), (_LAST, last), (_FIRST, 1)):
        if common := words & known:
            return body, min(common)
    if "forearm" in words or {"fore", "arm"} <= words or {"lower", "arm"} <= words:
        return 3, "forearm"
    if "upperarm" in words or {"upper", "arm"} <= words:
        return 2, "upper arm"
    if "arm" in words and number is not None:
        return number + (1 if beside_shoulder else 0), f"arm {number}"
    if (common := words & _NUMBERED) and number is not None:
        return number, f"{min(common)} {number}"
    if "wrist" in words and last >= 3:
        return last - 1, "wrist"
    return None, ""


def _words(name: str) -> tuple[set[str], int | None]:
    """Return the words of a name, and the first number in it (None if there is none).

    A word that ends in s is included with and without the s.
    """
    words, number = set(), None
    for word in _plain(name).split():
        if word in _ORDINALS or word.isdecimal():
            number = number if number is not None else int(_ORDINALS.get(word, word))
        else:
            words |= {word, word.removesuffix("s")}
    return words, number


def _plain(name: str) -> str:
    """Return a name as words in lower case, without separators and instance number."""
    text = unicodedata.normalize("NFKD", name).lower().strip()
    text = re.sub(r"(?:[:<]\d+>?|\.\d{3})$", "", text)
    if re.search(r"\d.*-\d+$", text):
        text = re.sub(r"-\d+$", "", text)
    text = re.sub(r"[^a-z0-9]+", " ", text)
    text = re.sub(r"(?<=[a-z])(?=\d)|(?<=\d)(?=[a-z])", " ", text)
    return " ".join(str(int(word)) if word.isdecimal() else word for word in text.split())
