"""The files of `editors/` that are made from the tables of the language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from lawdsl.highlighting import textmate, tree_sitter, vim

FILES: Mapping[str, Callable[[], str]] = {
    "tree-sitter-law/grammar.js": tree_sitter.grammar_js,
    "tree-sitter-law/src/tokens.h": tree_sitter.tokens_h,
    "tree-sitter-law/queries/highlights.scm": partial(tree_sitter.highlights_scm, "neovim"),
    "helix/queries/law/highlights.scm": partial(tree_sitter.highlights_scm, "helix"),
    "vscode/syntaxes/law.tmLanguage.json": textmate.grammar_json,
    "vscode/syntaxes/markdown.tmLanguage.json": textmate.markdown_json,
    "vim/syntax/law.vim": vim.syntax,
}
"""Path in `editors/` -> the function that makes its text."""


def write(folder: Path) -> None:
    """Write all of them.

    Args:
        folder: `editors/`.

    Raises:
        OSError: a file cannot be written.
    """
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(), encoding="utf-8")
