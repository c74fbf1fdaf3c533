"""Import of `lxml.etree`; lxml has no type annotations, so `Element` is `Any`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

etree: Any = import_module("lxml.etree")
Element = Any
