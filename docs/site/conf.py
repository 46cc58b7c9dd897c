"""Sphinx settings of the documentation site, which `build.py` copies beside the pages."""

from __future__ import annotations

from typing import Any

from latex2mathml.converter import convert

from lawdsl import __version__
from lawdsl.highlighting.pygments_lexer import LawLexer

project = "lawdsl"
author = "the lawdsl maintainers"
release = version = __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["README.md", "conf.py"]

html_theme = "furo"
html_title = f"lawdsl {release}"
html_show_sphinx = False
html_copy_source = False
html_math_renderer = "mathml"  # pages load nothing from a network
html_static_path = ["static"]
html_css_files = ["site.css"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # `build.py` runs the notebooks
nb_execution_raise_on_error = True
nitpicky = False
# a console block may hold what no shell could lex; figures of notebooks are shown as SVG
suppress_warnings = ["misc.highlighting_failure", "mystnb.unknown_mime_type"]
default_role = "literal"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
pygments_style = "xcode"  # enough contrast for everyone
pygments_dark_style = "github-dark"


def _inline(writer: Any, node: Any) -> None:
    """A formula in a line, as MathML."""
    from docutils import nodes

    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _displayed(writer: Any, node: Any) -> None:
    """A displayed formula, as MathML."""
    from docutils import nodes

    writer.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Register MathML, which browsers draw without a script, and the language of laws."""
    app.add_lexer("law", LawLexer)
    app.add_html_math_renderer("mathml", (_inline, None), (_displayed, None))
