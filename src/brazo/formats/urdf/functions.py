"""Functions and constants that the expressions of a xacro file can use.

xacro gives its files most of Python's builtins.  Here each allowed name is listed.  Functions whose
time or memory is not bounded by the size of their arguments are limited (`range`, `round`) or
omitted (`factorial`, `comb`, `perm`, `prod`).  `load_yaml` reads only from the folder of the xacro
file, its package and the packages that the file uses.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from brazo.errors import BrazoError
from brazo.formats.urdf.budget import Budget, pay
from brazo.formats.urdf.expressions import XacroFunction, evaluate
from brazo.formats.urdf.packages import Packages

MAX_YAML = 50_000  # bytes
_YAML_COST = 10  # cost per byte; parsing takes longer than reading
_MAX_BRACKETS = 24
_MAX_RANGE = 10_000
_MAX_DIGITS = 50
_EVERYWHERE = (  # others only as python.any() etc., so that properties can use their names
    *("True", "False", "list", "dict", "len", "str", "float", "int", "bool", "min", "max", "round"),
    *("abs", "sum", "sorted", "range"),
)
_MATH_CONSTANTS = ("pi", "e", "tau", "inf", "nan")
_MATH = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "radians", "degrees", "hypot", "dist"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "exp2", "expm1", "cbrt", "sqrt"),
    *("log", "log2", "log10", "log1p", "pow", "ceil", "floor", "trunc", "fabs", "fmod", "modf"),
    *("copysign", "isclose", "isfinite", "isinf", "isnan", "remainder", "fsum", "gcd", "isqrt"),
    *("erf", "erfc", "gamma", "lgamma", "frexp", "ldexp"),
)
_UNITS = {
    "!radians": 1.0,
    "!degrees": math.pi / 180.0,
    "!meters": 1.0,
    "!millimeters": 0.001,
    "!foot": 0.3048,
    "!inches": 0.0254,
}


def global_symbols(
    packages: Packages,
    find: Callable[[str], str],
    say: Callable[..., None],
    budget: Budget,
) -> dict[str, Any]:
    """Return the functions, constants and namespaces that `${...}` can use, by name.

    `find(name)` returns the folder of a package.  `say(*words)` is called if an expression calls
    `xacro.message`, `xacro.warning` or `xacro.error`.
    """
    import xacro

    def load_yaml(name: str) -> Any:
        return _load_yaml(Path(xacro.abs_filename_spec(name)), packages, symbols, budget)

    def ignored(*words: Any, **_: Any) -> str:
        say(*words)
        return ""

    def fatal(*words: Any) -> None:
        raise BrazoError("xacro.fatal: " + (" ".join(map(str, words)) or "no reason given"))

    own = _table(
        load_yaml=load_yaml,
        abs_filename=xacro.abs_filename_spec,
        dotify=xacro.YamlDictWrapper,
        arg=lambda name: xacro.substitution_args_context["arg"][name],
        find=find,
        fatal=fatal,
        tokenize=_tokenize,
        print_location=lambda: "",
    )
    options = frozenset(["print_location", "color", "end", "sep"])
    own |= {name: XacroFunction(name, ignored, options) for name in ("message", "warning", "error")}
    symbols: dict[str, Any] = {name: BUILTINS[name] for name in _EVERYWHERE} | MATH
    symbols |= {name: own[name] for name in ("load_yaml", "abs_filename", "dotify")}
    for name, members in (("python", BUILTINS), ("math", MATH), ("xacro", own)):
        symbols[name] = xacro.NameSpace()
        symbols[name].update(members)
    return symbols


def substitution_symbols(arguments: Mapping[str, Any], find: Callable[[str], str]) -> dict:
    """Return the names that `$(eval ...)` can use: arguments, `arg()`, `find()`, functions.

    `arguments` are the xacro arguments; `find(name)` returns the folder of a package.
    """
    from xacro.substitution_args import convert_value

    values = {key: convert_value(str(value), "auto") for key, value in arguments.items()}
    symbols = BUILTINS | MATH | {"true": True, "false": False}
    return symbols | _table(arg=values.__getitem__, find=find) | values


def _load_yaml(path: Path, packages: Packages, symbols: Any, budget: Budget) -> Any:
    import xacro

    path = path.resolve()
    if not any(path.is_relative_to(folder) for folder in packages.own_folders()):
        raise BrazoError(
            f"load_yaml: {path} is neither in the folder of the xacro file nor in one of its "
            "packages; other files are not read"
        )

    loader = _loader(lambda text: evaluate(text, symbols, budget))
    try:
        if not path.is_file():
            raise BrazoError(f"load_yaml: {path}: no such file")
        with path.open("rb") as file:
            text = file.read(MAX_YAML + 1)
        if len(text) > MAX_YAML:
            raise BrazoError(f"load_yaml: {path}: larger than {MAX_YAML} bytes, the maximum")
        budget.spend(_YAML_COST * len(text))
        # The loader builds plain data only, as `yaml.safe_load` does.
        value = yaml.load(text, loader)
    except (OSError, yaml.YAMLError) as error:
        raise BrazoError(f"load_yaml: {path}: {' '.join(str(error).split())}") from error
    pay(value, budget)
    return xacro.YamlListWrapper.wrap(_plain(value))


def _loader(number: Callable[[str], Any]) -> type[yaml.SafeLoader]:
    """Return a PyYAML loader class for plain data, with the unit tags of xacro.

    `number` evaluates the text of a value that has a unit tag.
    """

    class Loader(yaml.SafeLoader):
        def flatten_mapping(self, node: Any) -> None:
            # Merged mappings are copied into each other, so nested merges grow exponentially.
            if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
                raise BrazoError(
                    "load_yaml: merge keys (<<) are not supported; copy the keys instead"
                )

        def fetch_flow_collection_start(self, TokenClass: Any) -> None:
            # The scanner visits all open brackets at every token.
            if self.flow_level >= _MAX_BRACKETS:
                raise BrazoError(
                    f"load_yaml: brackets are nested more than {_MAX_BRACKETS} levels deep"
                )
            super().fetch_flow_collection_start(TokenClass)

    def with_unit(factor: float) -> Callable[[Any, Any], float]:
        return lambda loader, node: float(number(str(loader.construct_scalar(node)))) * factor

    for tag, factor in _UNITS.items():
        Loader.add_constructor(tag, with_unit(factor))
    return Loader


def _plain(value: Any) -> Any:
    """Return YAML data in which unsupported types (dates, sets, bytes) are converted to text."""
    if isinstance(value, dict):
        return {_scalar(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else _scalar(value)


def _scalar(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _range(*bounds: int) -> list[int]:
    numbers = range(*bounds)
    if max(abs(numbers.start), abs(numbers.stop)) >= 1 << 62 or len(numbers) > _MAX_RANGE:
        raise BrazoError(f"range() has more than {_MAX_RANGE} numbers, the maximum")
    return list(numbers)


def _round(x: Any, digits: int | None = None) -> Any:
    if digits is not None and abs(digits) > _MAX_DIGITS:
        raise BrazoError(f"round() to {digits} digits; at most {_MAX_DIGITS} are allowed")
    return round(x, digits)


def _tokenize(text: str, sep: str = ",; ", skip_empty: bool = True) -> list[str]:
    items = re.split(f"[{re.escape(sep)}]", text)
    return [item for item in items if item] if skip_empty else items


def _ints(value: Any = 0, base: int = 10) -> int:
    return int(value, base) if isinstance(value, str) else int(value)


def _table(**functions: Callable[..., Any]) -> dict[str, Any]:
    return {name: XacroFunction(name, call) for name, call in functions.items()}


BUILTINS: dict[str, Any] = {
    "True": True,
    "False": False,
    "dict": XacroFunction("dict", dict, None),
    "sorted": XacroFunction("sorted", sorted, frozenset(["reverse"])),
    **_table(
        abs=abs,
        all=all,
        any=any,
        bool=bool,
        divmod=divmod,
        enumerate=lambda values, start=0: list(enumerate(values, start)),
        float=float,
        int=_ints,
        len=len,
        list=list,
        max=max,
        min=min,
        range=_range,
        reversed=lambda values: list(reversed(values)),
        round=_round,
        str=lambda value="": str(value),
        sum=lambda values: sum(values),
        tuple=tuple,
        zip=lambda *values: list(zip(*values, strict=False)),
    ),
}
MATH: dict[str, Any] = {
    **{name: getattr(math, name) for name in _MATH_CONSTANTS},
    **_table(**{name: getattr(math, name) for name in _MATH}),
    "isclose": XacroFunction("isclose", math.isclose, frozenset(["rel_tol", "abs_tol"])),
}
