"""Names and texts of a law -> what may stand in generated code: identifiers, literals, comments.

A `.law` file and the labels of a table are untrusted. A name becomes an identifier only as it stands
here: ASCII letters, digits and underscores after a letter, no word that the target reserves, and no
second use. All else gets a name of a fixed scheme, v0, v1, …
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lawdsl.core.diagnostics import printable
from lawdsl.core.files import json_in_page

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)


class Identifiers:
    """The identifiers of one generated module, each used once.

    Args:
        reserved: the words that no name may be: keywords, builtins, names of the module itself.
    """

    def __init__(self, reserved: Iterable[str]) -> None:
        self.used = set(reserved)

    def add(self, wanted: str, otherwise: str = "v") -> str:
        """An identifier for a name: the name itself where it may be one.

        Args:
            wanted: the name in the law.
            otherwise: the first letters of an identifier that is made up.
        """
        name, number = wanted, 0
        while not _PLAIN.fullmatch(name) or name in self.used:
            name, number = f"{otherwise}{number}", number + 1
        self.used.add(name)
        return name


def python_string(text: str) -> str:
    """A text as a Python literal, in ASCII."""
    escaped = [_escaped(c) for c in text]
    return f'"{"".join(escaped)}"'


def _escaped(c: str) -> str:
    if c in '"\\':
        return f"\\{c}"
    return c if " " <= c <= "~" else c.encode("unicode_escape", "surrogatepass").decode("ascii")


def javascript_string(text: str) -> str:
    """A text as a JavaScript literal, in ASCII, which may also stand in a page."""
    return json_in_page(text)


def line_comment(text: str) -> str:
    """A text as the rest of a line: without line ends and other characters that are not printed."""
    return printable(" ".join(text.split()))


def python_docstring(text: str) -> str:
    """A line of a docstring."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


def block_comment(text: str) -> str:
    """A line of a comment that `*/` ends."""
    return printable(text).replace("*/", "* /")
