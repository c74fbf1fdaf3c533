"""Methods that call machine code directly if their arguments are arrays.

    class Arm:
        @compiled("kernels")
        def fk(self, q, *, out=None):
            '''Pose of the tool.'''
            return self.kernels.fk(q, out=out)

On an instance, `arm.fk` is the builtin function of `arm.kernels.fk` (see :mod:`entry`), with the
signature and docstring of the method. A call that the builtin handles, with positional C-contiguous
float64 arrays and possibly ``out=``, runs no Python code. Any other call runs the Python body of
the method. On the class, `Arm.fk` is the undecorated function. If there is no builtin, `arm.fk` is
an ordinary method.
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
    """Descriptor made by `compiled`; the first access stores the builtin in the object's dict."""

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
    """Replace a method of one object by a builtin function, stored as an attribute; return it.

    If ``function`` is not a builtin made from machine code, the method itself is stored.
    `compiled` calls `bind` at the first access. A method that compiles at its first call can call
    `bind` itself.
    """
    bound = bound_as(function, MethodType(method, owner), text_signature(method))
    owner.__dict__[method.__name__] = bound
    return bound


if TYPE_CHECKING:

    def compiled(part: str) -> Callable[[F], F]:
        """Decorator: bind a method to the function of its name in the object ``self.part``."""
        ...

else:

    def compiled(part: str) -> Callable[[F], CompiledMethod]:
        """Decorator: bind a method to the function of its name in the object ``self.part``."""
        return lambda method: CompiledMethod(part, method)


@functools.lru_cache(maxsize=64)
def text_signature(method: Callable[..., Any]) -> str:
    """Return signature and docstring of a method as one text, as builtin functions store them."""
    whole = inspect.signature(method)
    plain = [p.replace(annotation=p.empty) for p in list(whole.parameters.values())[1:]]
    signature = whole.replace(parameters=plain, return_annotation=whole.empty)
    return f"{method.__name__}{signature}\n--\n\n{inspect.getdoc(method) or ''}"
