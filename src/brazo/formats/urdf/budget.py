"""How much one xacro file may use up while it is expanded, and the paying for it.

A macro that calls another twice, thirty times over, fits on two pages and expands to a thousand
million elements; a property can double a text or a list as easily.  Hence everything that copies,
reads or works out something pays for it in advance or, where a single step cannot be large, right
after.  The robots that the tests read need less than a twentieth of what is here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from brazo.errors import BrazoError


@dataclass(slots=True)
class Budget:
    """What is left of all that one file may use up; what goes beyond is refused."""

    elements: int = 60_000
    copies: int = 5_000  # of a macro or a block
    includes: int = 500
    data: int = 1_000_000  # characters, list entries and steps of expressions

    def spend_elements(self, amount: int) -> None:
        self.elements -= amount
        if self.elements < 0:
            self._refuse("elements", "elements")

    def spend_copy(self) -> None:
        self.copies -= 1
        if self.copies < 0:
            self._refuse("copies", "uses of macros")

    def spend_include(self) -> None:
        self.includes -= 1
        if self.includes < 0:
            self._refuse("includes", "included files")

    def spend(self, data: int) -> None:
        self.data -= data
        if self.data < 0:
            self._refuse("data", "characters and values")

    def _refuse(self, field: str, words: str) -> NoReturn:
        raise BrazoError(
            f"the file grows beyond {getattr(Budget(), field)} {words} when it is expanded; "
            "is a macro or a property multiplying itself?"
        )


def pay(value: Any, budget: Budget) -> None:
    """Pay for all that a value holds; what is in it twice is paid for twice, as it is printed."""
    size, waiting = 0, [value]
    while waiting and size <= budget.data:
        item = waiting.pop()
        size += 1
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple):
            waiting += item
    budget.spend(size)
