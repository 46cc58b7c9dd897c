"""JavaScript -> tokens, of the part of the language that exports use."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
    (?P<space>[ \n]+)
  | (?P<comment>/\*(?:(?!\*/)[^\u2028\u2029])*\*/ | //[^\n\r\u2028\u2029]*)
  | (?P<string>"(?:[^"\\\n\r\u2028\u2029]|\\[^\n\r\u2028\u2029])*")
  | (?P<template>`(?:[^`\\$]|\$\{[^{}`"']*(?:\("[^"]*"\))?[^{}`"']*\})*`)
  | (?P<number>(?:\d+\.\d+|\d+)(?:e[+-]?\d+)?(?![\w.]))
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<mark>=>|===|!==|\?\?|&&|\|\||\+=|\*=|\+\+|<=|>=|\.\.\.|[-+*/%=<>!?:;,.(){}\[\]])
    """,
    re.VERBOSE | re.DOTALL,
)
PAIRS = {")": "(", "]": "[", "}": "{"}


def tokens(text: str) -> list[tuple[str, str]]:
    """The tokens of a module, without spaces and comments: kind and text.

    Raises:
        AssertionError: a character that begins no token, or brackets that do not match.
    """
    found: list[tuple[str, str]] = []
    position, open_brackets = 0, list[str]()
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None, f"no token at {text[position : position + 40]!r}"
        position = match.end()
        kind, token = str(match.lastgroup), match[0]
        if kind in ("space", "comment"):
            continue
        found.append((kind, token))
        if token in PAIRS.values():
            open_brackets.append(token)
        elif token in PAIRS:
            assert open_brackets and open_brackets.pop() == PAIRS[token], text[
                position - 40 : position
            ]
    assert not open_brackets
    return found
