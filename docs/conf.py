"""Sphinx settings. Pages are Markdown; formulas become MathML while building, so that a built page
loads nothing from anywhere else: it reads the same without a network."""

from __future__ import annotations

import logging
import sys
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

_project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))

project = "brazo"
author = "The brazo contributors"
copyright = author
version = release = _project["project"]["version"]

extensions = ["myst_nb", "sphinx.ext.autodoc", "docstrings", "generated_pages", "mathml"]
myst_enable_extensions = ["amsmath", "attrs_inline", "deflist", "dollarmath"]
myst_heading_anchors = 3
# Notebooks are stored without outputs and run when the pages are built; an error fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_render_text_lexer = "none"
logging.getLogger("traitlets").setLevel(logging.WARNING)  # it reports every notebook it starts
html_theme = "furo"
html_title = f"brazo {version}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["math.css"]
html_copy_source = False

# Docstrings write `q` for code, as Markdown does.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_type_aliases = {"Array": "Array", "ArrayLike": "ArrayLike"}
python_maximum_signature_line_length = 88
# Classes and functions have headings; entries for methods too would triple the time of a build.
toc_object_entries = False
