"""Methods that call machine code directly when their arguments are arrays.

    class Arm:
        @compiled("kernels")
        def fk(self, q, *, out=None):
            '''Pose of the tool.'''
            return self.kernels.fk(q, out=out)

On an instance, `arm.fk` is the compiled callable of `arm.kernels.fk` (see :mod:`entry`), with the
signature and docstring of the method. A call with positional float64 arrays runs no Python code;
any other call, for example with keywords, runs the body of the method. On the class, `Arm.fk` is
the undecorated function.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeVar

from brazo.internals.cpython import bound_as

__all__ = ["bind", "compiled"]

F = TypeVar("F", bound=Callable[..., Any])


class CompiledMethod:
    """Descriptor of `compiled`; the first access makes the builtin and stores it on the object."""

    def __init__(self, part: str, method: Callable[..., Any]) -> None:
        self.part, self.method = part, method
        self.__doc__ = method.__doc__

    def __get__(self, owner: Any, kind: type | None = None) -> Callable[..., Any]:
        if owner is None:
            return self.method
        function = getattr(getattr(owner, self.part), self.method.__name__)
        function = getattr(function, "entry", function)  # of a kernel
        return bind(owner, self.method, function)


def bind(
    owner: Any, method: Callable[..., Any], function: Callable[..., Any]
) -> Callable[..., Any]:
    """Store a builtin as an attribute of the object, where it replaces a method of the class.

    For methods that compile at their first call, not at their first access.
    """
    bound = bound_as(function, MethodType(method, owner), text_signature(method))
    owner.__dict__[method.__name__] = bound
    return bound


if TYPE_CHECKING:

    def compiled(part: str) -> Callable[[F], F]:
        """Bind a method to the machine code of the same name in an attribute of the object."""
        ...

else:

    def compiled(part: str) -> Callable[[F], CompiledMethod]:
        """Bind a method to the machine code of the same name in an attribute of the object."""
        return lambda method: CompiledMethod(part, method)


@functools.lru_cache(maxsize=64)
def text_signature(method: Callable[..., Any]) -> str:
    """The docstring of a builtin, headed by the signature as `inspect.signature` reads it."""
    whole = inspect.signature(method)
    plain = [p.replace(annotation=p.empty) for p in list(whole.parameters.values())[1:]]
    signature = whole.replace(parameters=plain, return_annotation=whole.empty)
    return f"{method.__name__}{signature}\n--\n\n{inspect.getdoc(method) or ''}"
