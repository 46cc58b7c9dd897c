"""The language in Pygments, which highlights documentation sites, slides and terminals.

Its name there is `law`; the package registers it (`pygments.lexers` in pyproject.toml).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pygments.lexer import Lexer
from pygments.token import Text, Whitespace, string_to_tokentype

from lawdsl.highlighting.classified import classified
from lawdsl.highlighting.token_classes import CLASSES


class LawLexer(Lexer):  # type: ignore[misc]
    """The lexer of the language; the text is preserved, whatever mistakes it has."""

    name = "law"
    aliases = ("law", "lawdsl")
    filenames = ("*.law",)
    url = "https://pypi.org/project/lawdsl"

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """Offset, token type and text of each token, and of what stands between them."""
        end = 0
        for token in classified(text):
            if end < token.start:
                yield end, _between(text[end : token.start]), text[end : token.start]
            kind = string_to_tokentype(CLASSES[token.kind].pygments)
            yield token.start, kind, text[token.start : token.end]
            end = token.end
        if end < len(text):
            yield end, _between(text[end:]), text[end:]


def _between(text: str) -> Any:
    return Whitespace if text.isspace() else Text
