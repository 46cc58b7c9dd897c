"""Labels as subscripts: one that is not a name stands in quotes, `t["math-web", code]`.

Texts of options may leave the quotes out, since a subscript is never a formula. Syntax trees have the
label itself. Names of parameters have it in quotes only where it could not be told from the name
around it: `t[math-web, code]`, but `t["web, code", en]`. A quotation mark in a quoted label is doubled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lawdsl.language import keywords

_SUBSCRIPT = r"""\s*(?:"(?:[^"\r\n]|"")*"|'[^'\r\n]*'|[^\[\]"',\r\n]+?)\s*"""
_SUBSCRIPTS = re.compile(rf"(?<=\w)(\s*)\[({_SUBSCRIPT}(?:,{_SUBSCRIPT})*)\]")
_ONE = re.compile(r"""\s*(?:"((?:[^"]|"")*)"|'([^']*)'|([^\[\]"',]+?))\s*(?:,|$)""")
_NAME = re.compile(r"[A-Za-z_Α-ΡΣ-Ωα-ωϑϕϵ∞][A-Za-z0-9_Α-ΡΣ-Ωα-ωϑϕϵ]*")
_IN_QUOTES = re.compile(r"""[,\[\]"']|^\s|\s$|^$""")
_ELEMENT_TEXT = re.compile(rf"\s*\w+\s*\[{_SUBSCRIPT}(?:,{_SUBSCRIPT})*\]\s*")
_ELEMENT = re.compile(r"\s*(\w+)\s*\[(.*)\]\s*", re.DOTALL)
_NOT_NAMES = keywords.KEYWORDS | set(keywords.SECTIONS)
_TOGETHER = r""""[^"]*"|'[^']*'|\[(?:"[^"]*"|'[^']*'|[^\]"'])*\]"""
INDEXED_NAME = re.compile(r"""(\w+)\[((?:"(?:[^"]|"")*+"|[^\[\]"])++)\]""")
"""The name of an element within a text: `t[github, web]`."""
LEFT_SIDE = re.compile(r"""[^=\[]*(?:\[(?:"[^"]*"|'[^']*'|[^\]"'])*\]\s*)?(?==)""")
"""The text before an equals sign, which may stand in a label, too."""


def quoted(label: str) -> str:
    """A label as a subscript: in quotes if it is not a name."""
    if _NAME.fullmatch(label) and label not in _NOT_NAMES:
        return label
    return in_quotes(label)


def in_quotes(text: str) -> str:
    """A text in double quotes, in which those of the text are doubled."""
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def without_quotes(text: str) -> str:
    """The text that stands in double quotes, in which a quotation mark is doubled."""
    return text[1:-1].replace('""', '"')


def with_subscripts(name: str, subscripts: Sequence[str]) -> str:
    """`t[i, j]`, or the name alone, as results name an element.

    Labels are in quotes only where they contain a comma, a bracket or a quotation mark, or end in
    spaces, so that different elements have different names.

    Args:
        name: the name.
        subscripts: its subscripts, possibly none.
    """
    texts = [in_quotes(x) if _IN_QUOTES.search(x) else x for x in subscripts]
    return f"{name}[{', '.join(texts)}]" if texts else name


def canonical_element(text: str) -> str:
    """The name of an element as results write it, from any other spelling: `r["C4 en"]` is
    `r[C4 en]`.

    Args:
        text: a name, possibly with subscripts; other texts stay as they are.
    """
    if not _ELEMENT_TEXT.fullmatch(text):
        return text
    return with_subscripts(*split_element(text))


def split_subscripts(text: str) -> tuple[str, ...]:
    """The labels and indices of `"math-web", code`, without quotes.

    Args:
        text: the subscripts, each in quotes or not.
    """
    return tuple(a.replace('""', '"') or b or c for a, b, c in _ONE.findall(text.strip()))


def split_list(text: str, separators: str = ",") -> list[str]:
    """The parts of `c[en], t[en, "a, b"]`, between commas that stand in no bracket and no quotes.

    Args:
        text: the text.
        separators: characters between the parts, as in a class of a regular expression.
    """
    parts = re.findall(rf"(?:{_TOGETHER}|[^{separators}])+", text)
    return [part.strip() for part in parts if part.strip()]


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
