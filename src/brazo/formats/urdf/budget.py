"""Resource limits for the expansion of a xacro file.

Thirty macros, each of which calls the next macro twice, fit on two pages and expand to 10⁹
elements.  Properties can double a text or a list in the same manner.  The cost of every operation
that copies, reads or evaluates data is therefore subtracted from a budget.  It is subtracted before
the operation, or directly after an operation whose result cannot be large.  The robots of the tests
need less than a twentieth of these limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from brazo.errors import BrazoError


@dataclass(slots=True)
class Budget:
    """Remaining resources for the expansion of one file.

    The methods subtract an amount and raise BrazoError if less than zero remains.
    """

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
            f"the expanded file has more than {getattr(Budget(), field)} {words}, the maximum; "
            "check for a macro that calls itself, or a property whose value doubles repeatedly"
        )


def pay(value: Any, budget: Budget) -> None:
    """Subtract the size of a value from the budget: its characters and number of items.

    An item that occurs several times is counted each time.
    """
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
