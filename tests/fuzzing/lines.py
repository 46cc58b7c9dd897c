"""Which lines of a package have been run: cheap, as a function whose lines all have been is left alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any


class Lines:
    """Lines of the files of a folder that have not been run yet.

    Attributes:
        new: how many lines have been run for the first time.
    """

    def __init__(self, folder: Path) -> None:
        self.prefix, self.new = f"{folder}/", 0
        self.left: dict[int, set[int]] = {}
        self.codes: list[CodeType] = []  # kept, so that no other gets their id

    def watch(self, work: Callable[[], Any]) -> bool:
        """Run something; whether that ran a line for the first time."""
        before = self.new
        sys.settrace(self._called)
        try:
            work()
        finally:
            sys.settrace(None)
        return self.new > before

    def _called(self, frame: FrameType, event: str, value: Any) -> Any:
        code = frame.f_code
        left = self.left.get(id(code))
        if left is None:
            own = code.co_filename.startswith(self.prefix)
            left = {line for _, _, line in code.co_lines() if line} if own else set()
            self.left[id(code)] = left
            self.codes.append(code)
        return self._line if left else None

    def _line(self, frame: FrameType, event: str, value: Any) -> Any:
        left = self.left[id(frame.f_code)]
        if event == "line" and frame.f_lineno in left:
            left.discard(frame.f_lineno)
            self.new += 1
        return self._line
