"""Sphinx settings. Pages are Markdown; formulas become MathML while building, so that a built page
loads nothing from anywhere else: it reads the same without a network."""

from __future__ import annotations

import tomllib
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

_project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))

project = "brazo"
author = "The brazo contributors"
copyright = author
version = release = _project["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["amsmath", "attrs_inline", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"brazo {version}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["math.css"]
html_copy_source = False

# Docstrings write `q` for code, as Markdown does.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))


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
