"""Which cells of a table are numbers, that are aligned to the right."""

from __future__ import annotations

import re

NUMBER = re.compile(r"[-+]?(\d[\d,]*\.?\d*|\.\d+)(e[-+]?\d+)?( ?%)?|oo|-oo|inf|-inf|nan|-|")


def is_number(text: str) -> bool:
    """Whether a cell is a number, or stands for one that is missing."""
    return NUMBER.fullmatch(text.strip()) is not None
