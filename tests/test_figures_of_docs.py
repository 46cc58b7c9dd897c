"""The figures of docs/ are those that their script draws from the tables that ship."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "figures"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def test_the_figures_are_drawn_from_the_tables(tmp_path: Path):
    runpy.run_path(str(FIGURES / "law_and_schedule.py"))["main"](tmp_path)
    drawn = sorted(path.name for path in tmp_path.iterdir())

    assert drawn == sorted(path.name for path in FIGURES.glob("*.svg"))
    for name in drawn:
        new, kept = ((folder / name).read_text(encoding="utf-8") for folder in (tmp_path, FIGURES))
        assert NUMBER.sub("0", new) == NUMBER.sub("0", kept)
        # half a pixel; the fits may differ in their last digits from one processor to another
        numbers = [[float(x) for x in NUMBER.findall(text)] for text in (new, kept)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-3, abs=0.5)
