"""The fits beside a law -> the values of its parameters."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

ENDING = ".fit.json"
MAX_BYTES = 2 << 20  # of a fit that is read
MAX_FILES = 30  # the newest, in a folder


@dataclass(frozen=True)
class FittedValue:
    """The value of a parameter in a fit.

    Attributes:
        value: in the unit of the law.
        error: its standard error; None where it is not known.
        file: the name of the file of the fit.
        verdict: trusted, caution or not trusted.
        same_text: whether the fit is of the present text of the law.
    """

    value: float
    error: float | None
    file: str
    verdict: str
    same_text: bool


def fitted_value(law: str, text: str, folder: Path, parameter: str) -> FittedValue | None:
    """The value of a parameter in the newest fit of a law in a folder; None without one.

    A fit with index sets, which has a value for each label, is passed over.

    Args:
        law: the name of the law.
        text: its text.
        folder: the folder.
        parameter: the name of the parameter.
    """
    for path, modified, size in _newest_first(folder):
        content = _content(path, modified, size)
        fitted = content.get("law")
        if not isinstance(fitted, dict) or fitted.get("name") != law:
            continue
        value = _number(_part(content, "parameters", parameter, "value"))
        if value is None:
            continue
        verdict = content.get("verdict")
        return FittedValue(
            value,
            _number(_part(content, "intervals", "errors", parameter)),
            path.name,
            verdict if isinstance(verdict, str) else "",
            _part(fitted, "texts", law) == text,
        )
    return None


def _newest_first(folder: Path) -> Iterator[tuple[Path, int, int]]:
    """The files of fits, each with the time of its last change (ns) and its size (bytes)."""
    files = []
    try:
        for path in folder.glob(f"*{ENDING}"):
            if not path.is_file():
                continue
            about = path.stat()
            if about.st_size <= MAX_BYTES:
                files.append((path, about.st_mtime_ns, about.st_size))
    except OSError:
        return
    yield from sorted(files, key=lambda each: -each[1])[:MAX_FILES]


@lru_cache(maxsize=8)
def _content(path: Path, modified: int, size: int) -> dict[str, Any]:
    """What the values need of a file; the rest is not cached."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict):
        return {}
    return {key: content.get(key) for key in ("law", "parameters", "intervals", "verdict")}


def _part(content: Any, *keys: str) -> Any:
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:  # a whole number of many digits
        return None
    return number if math.isfinite(number) else None
