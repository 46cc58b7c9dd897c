"""Labels as subscripts: one that is not a name stands in quotes, `t["math-web", code]`.

Texts of options may leave the quotes out, since a subscript is never a formula. Syntax trees and
names of parameters, `t[math-web, code]`, have the label itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lawdsl.language import keywords

_SUBSCRIPT = r"""\s*(?:"[^"\r\n]*"|'[^'\r\n]*'|[^\[\]"',\r\n]+?)\s*"""
_SUBSCRIPTS = re.compile(rf"(?<=\w)(\s*)\[({_SUBSCRIPT}(?:,{_SUBSCRIPT})*)\]")
_ONE = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^\[\]"',]+?))\s*(?:,|$)""")
_NAME = re.compile(r"[A-Za-z_Α-ΡΣ-Ωα-ωϑϕϵ∞][A-Za-z0-9_Α-ΡΣ-Ωα-ωϑϕϵ]*")
_ELEMENT = re.compile(r"\s*(\w+)\s*\[(.*)\]\s*", re.DOTALL)
_NOT_NAMES = keywords.KEYWORDS | set(keywords.SECTIONS)
LEFT_SIDE = re.compile(r"""[^=\[]*(?:\[(?:"[^"]*"|'[^']*'|[^\]"'])*\]\s*)?(?==)""")
"""The text before an equals sign, which may stand in a label, too."""


def quoted(label: str) -> str:
    """A label as a subscript: in quotes if it is not a name."""
    return label if _NAME.fullmatch(label) and label not in _NOT_NAMES else f'"{label}"'


def split_subscripts(text: str) -> tuple[str, ...]:
    """The labels and indices of `"math-web", code`, without quotes.

    Args:
        text: the subscripts, each in quotes or not.
    """
    return tuple(a or b or c for a, b, c in _ONE.findall(text.strip()))


def split_element(text: str) -> tuple[str, tuple[str, ...]]:
    """The name and the subscripts of `t["math-web", code]`; no subscripts for a name alone.

    Args:
        text: a name, possibly with subscripts.
    """
    match = _ELEMENT.fullmatch(text)
    return (match[1], split_subscripts(match[2])) if match else (text.strip(), ())


def with_quoted_labels(text: str) -> str:
    """The text of an option with each label that is not a name in double quotes.

    Args:
        text: a statement or formula: `k[en] = 2*k[math-web]`.
    """

    def requoted(match: re.Match[str]) -> str:
        labels = split_subscripts(match[2])
        if all(quoted(label) == label for label in labels) and "'" not in match[2]:
            return match[0]
        return f"{match[1]}[{', '.join(map(quoted, labels))}]"

    return _SUBSCRIPTS.sub(requoted, text) if "[" in text else text


def element_text(name: str, subscripts: Sequence[str]) -> str:
    """An element as a statement writes it: `t["math-web", code]`, or the name alone.

    Args:
        name: the name.
        subscripts: its indices and labels, possibly none.
    """
    return f"{name}[{', '.join(map(quoted, subscripts))}]" if subscripts else name
