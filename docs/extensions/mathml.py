"""Formulas as MathML, converted while building: a page loads no script from anywhere else."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(_mathml(node, "inline"))
    raise nodes.SkipNode


def _display(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(_mathml(node, "block"))
    raise nodes.SkipNode


def _mathml(node: nodes.math | nodes.math_block, display: str) -> str:
    latex = node.astext()
    mathml = convert(latex, display=display)
    # The converter prints what it does not know; a formula must not reach the reader like that.
    if "\\" in mathml or ">&<" in mathml:
        logging.getLogger(__name__).warning("cannot typeset %r", latex, location=node)
    return mathml
