"""Methods that call machine code directly if their arguments are arrays.

    class Arm:
        @compiled("kernels")
        def fk(self, q, *, out=None):
            '''Pose of the tool.'''
            return self.kernels.fk(q, out=out)

On an instance, `arm.fk` is generated machine code: the builtin function of `arm.kernels.fk` (see
:mod:`entry`). It has the signature and docstring of the method. A call with positional C-contiguous
float64 arrays, and possibly ``out=``, runs no Python code. Any other call runs the Python body of
the method. On the class, `Arm.fk` is the undecorated function. If there is no builtin function,
`arm.fk` is an ordinary method.
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
    """Descriptor made by `compiled`.

    The first access stores the builtin function in the ``__dict__`` of the object.
    """

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
    """Replace a method of the object ``owner`` by a builtin function; return the replacement.

    The replacement is stored as an attribute of the object. It is a copy of ``function`` with the
    name and docstring of the method; calls that it does not handle go to the method. If
    ``function`` is not a builtin function of :mod:`entry`, the method is stored instead. `compiled`
    calls `bind` at the first access. A method that compiles at its first call can call `bind`.
    """
    bound = bound_as(function, MethodType(method, owner), text_signature(method))
    owner.__dict__[method.__name__] = bound
    return bound


if TYPE_CHECKING:

    def compiled(part: str) -> Callable[[F], F]:
        """Decorator: replace a method by the kernel or function of the same name.

        ``part`` is the name of the attribute of ``self`` that contains the kernel or function.
        """
        ...

else:

    def compiled(part: str) -> Callable[[F], CompiledMethod]:
        """Decorator: replace a method by the kernel or function of the same name.

        ``part`` is the name of the attribute of ``self`` that contains the kernel or function.
        """
        return lambda method: CompiledMethod(part, method)


@functools.lru_cache(maxsize=64)
def text_signature(method: Callable[..., Any]) -> str:
    """Return signature and docstring of a method as one text, as builtin functions store them."""
    whole = inspect.signature(method)
    plain = [p.replace(annotation=p.empty) for p in list(whole.parameters.values())[1:]]
    signature = whole.replace(parameters=plain, return_annotation=whole.empty)
    return f"{method.__name__}{signature}\n--\n\n{inspect.getdoc(method) or ''}"
