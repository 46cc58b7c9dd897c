"""The token classes -> a syntax file of Vim."""

from __future__ import annotations

from collections.abc import Iterable

from lawdsl.highlighting.token_classes import (
    CLASSES,
    CONSTANT_NAMES,
    FUNCTION_NAMES,
)
from lawdsl.language.keywords import LEADING, PIECEWISE, PLACED, SECTIONS, STATEMENTS, TRENDS

_HEAD = """\
" Vim syntax file
" Language: law
" Made by `python -m lawdsl.highlighting`; do not edit.

if exists("b:current_syntax")
  finish
endif
"""


def syntax() -> str:
    """The text of `syntax/law.vim`.

    Vim tries the items that are defined last first.
    """
    statements = [word for word in STATEMENTS if word not in SECTIONS]
    leading = [word for word in LEADING if word != "note"]
    lines = [
        _match("name", r"\<\h\w*\>"),
        _match("operator", r"[-+*/^=<>≤≥±∂²³⁴⁵⁶⁷⁸⁹∞]\|!=\|->\|\.\.\.\="),
        _match("bracket", r"[][(){}]"),
        _match("delimiter", r"[,:]\|\.\@1<!\.\.\@!"),
        _match("number", r"\<\d\+\%(\.\d\+\)\=\%([eE][-+]\=\d\+\)\=\>"),
        _match("constant", _words(name for name in CONSTANT_NAMES if name.isascii())),
        _match("function", rf"{_words(FUNCTION_NAMES)}\ze\s*("),
        _match("keyword", _words(("for", "in", "is", "as", "expect", "finite", *TRENDS))),
        _match("conditional", _words(PIECEWISE)),
    ]
    for word, (homes, _) in PLACED.items():
        home = rf"\%(^\s*{_words(homes)}.*\)\@<="
        lines.append(_match("keyword", rf"{home}\<{word}\>"))
    lines += [
        _match("unit", r"\%(\<unit\s\+[^\"#]*\)\@<=\<\h\w*\>"),
        _match("keyword", r"\<unit\>"),
        _match("verdict", r"\%(\<expect\s\+\)\@<=\<\h\w*\>"),
        _match("law", r"\%(^\s*\%(law\|question\|pipeline\|extends\)\s\+\)\@<=\h[A-Za-z0-9_.]*"),
        _match("law", r"\%(^\s*step\s\+\)\@<=\h[A-Za-z0-9_.]*\%(\s*:\|\w\)\@!"),
        _match("law", r"\%(:\s*\|\<is\s\+\)\@<=\h[A-Za-z0-9_.]*"),
        _match("statement", rf"^\s*\zs{_words(statements)}"),
        _match("statement", rf"^\s*\zs{_words(leading)}\ze\s*\h"),
        _match("statement", r"^\s*\zsnote\ze\s*\""),
        _match("section", rf"^\s*\zs{_words(SECTIONS)}"),
        _match("string", r'"\%([^"]\|""\)*"'),
        _match("comment", "#.*$", " contains=@Spell"),
    ]
    links = [
        f"highlight default link {_group(name)} {row.vim}"
        for name, row in CLASSES.items()
        if row.vim is not None
    ]
    return "\n".join([_HEAD, *lines, "", *links, "", 'let b:current_syntax = "law"', ""])


def _group(kind: str) -> str:
    return f"law{kind.capitalize()}"


def _match(kind: str, pattern: str, options: str = "") -> str:
    return f"syntax match {_group(kind)} `{pattern}`{options}"


def _words(names: Iterable[str]) -> str:
    alternatives = r"\|".join(names)
    return rf"\<\%({alternatives}\)\>"
