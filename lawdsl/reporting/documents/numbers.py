"""Which cells of a table are numbers and hence right-aligned."""

from __future__ import annotations

import re

NUMBER = re.compile(r"[-+]?(\d[\d,]*\.?\d*|\.\d+)(e[-+]?\d+)?( ?%)?|oo|-oo|inf|-inf|nan|-|")


def is_number(text: str) -> bool:
    """Whether a cell is a number, or the mark of a missing number."""
    return NUMBER.fullmatch(text.strip()) is not None
