"""Landscapes over mixtures of three domains: the lines and the best mixture are those of the law."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.figures.contours import in_triangle
from lawdsl.fitting.result_by_label import Fits

DOMAINS = ("books", "code", "maths", "web")
T = {
    "code": {"books": -0.2, "code": -1.5, "maths": 0.8, "web": 0.9},
    "web": {"books": 0.5, "code": 1.1, "maths": 0.9, "web": -2.5},
}


def losses(shares: dict[str, Any]) -> dict[str, Any]:
    """Planted: each loss falls along its own domain."""
    return {
        i: 2.5 + 0.3 * np.exp(sum(t * shares[f"r[{j}]"] for j, t in of.items()))
        for i, of in T.items()
    }


@pytest.fixture(scope="module")
def fits() -> Fits:
    quarters = [m for m in itertools.product(range(5), repeat=4) if sum(m) == 4]
    columns = dict(zip((f"r[{d}]" for d in DOMAINS), np.array(quarters).T / 4, strict=True))
    table = columns | {f"L[{i}]": x for i, x in losses(columns).items()}
    made = lawdsl.fit("mixing.m4", table, starts=4, claims=False)
    assert isinstance(made, Fits)
    return made


def refused(fits: Fits, **options: str) -> str:
    with pytest.raises(LawdslError) as caught:
        fits.plot("landscape", **options)
    return caught.value.diagnostics[0].code


def test_the_best_mixture_is_that_of_the_law(fits: Fits):
    figure = fits.plot("landscape", x="books,code,web", held="maths=0.1", label="web")
    shares = np.array([(a, b, 60 - a - b) for a in range(61) for b in range(61 - a)]).T / 60 * 0.9
    columns = dict(zip(("r[books]", "r[code]", "r[web]"), shares, strict=True))
    planted = losses(columns | {"r[maths]": np.full(shares.shape[1], 0.1)})["web"]
    best = int(np.argmin(planted))
    assert f"least L on web on the fitted law, {planted[best]:.4g}" in figure.title
    assert "at books 0, code 0, web 0.9, at the edge" in figure.title
    assert figure.notes == ("with maths = 0.1",)


def test_by_default_the_mean_of_all_outputs_is_drawn(fits: Fits):
    figure = fits.plot("landscape")
    assert "least mean L" in figure.title
    shares = {name: np.array(figure.columns[name]) for name in figure.columns if "r[" in name}
    of_each = losses(shares)
    assert figure.columns["mean L"] == pytest.approx((of_each["code"] + of_each["web"]) / 2)


def test_lines_have_the_value_of_the_law_where_they_run(fits: Fits):
    figure = fits.plot("landscape", x="code,maths,web", held="books=0", label="code")
    tables = figure.chart.to_dict()["datasets"].values()
    (lines,) = [table for table in tables if table and "level" in table[0] and "line" in table[0]]
    x, y = (np.array([row[name] for row in lines]) for name in ("x", "y"))
    third = 2 * y / np.sqrt(3)
    second = x - third / 2
    shares = np.array([1 - second - third, second, third])
    assert in_triangle(shares)[0] == pytest.approx(x)
    columns = dict(zip(("r[code]", "r[maths]", "r[web]"), shares, strict=True))
    planted = losses(columns | {"r[books]": np.zeros(len(x))})["code"]
    assert planted == pytest.approx([row["level"] for row in lines], abs=5e-4)


def test_measured_mixtures_lie_at_the_proportions_of_their_three_shares(fits: Fits):
    columns = fits.plot("landscape", x="books,code,web", held="maths=0").columns
    mixtures = list(zip(*(columns[f"r[{d}]"] for d in DOMAINS), columns["x"], strict=True))
    for books, code, _, web, x in mixtures:
        assert x == pytest.approx((code + web / 2) / (books + code + web))
    assert len(mixtures) == 34, "that of maths alone has no place"


def test_what_does_not_suit_is_refused(fits: Fits):
    assert refused(fits, x="code,web") == "G0104"
    assert refused(fits, x="code,web,law") == "G0104"
    assert refused(fits, label="maths") == "G0104"
    assert refused(fits, x="code,web,maths", held="books=much") == "G0104"
    assert refused(fits, x="code,web,maths", held="code=0.1") == "G0104"
    assert refused(fits, x="code,web,maths", held="books=-0.1") == "G0104"


def test_the_command_takes_the_shares(fits: Fits, tmp_path: Path):
    fits.save(tmp_path / "mix.json")
    arguments = ("x=code,web,maths", "held=books=0.2", "label=code", "-o", "t.svg")
    done = run("plot", "mix.json", "--kind", "landscape", *arguments, cwd=tmp_path)
    assert "with books = 0.2" in done.stderr, done.stderr
    assert "least L on code" in (tmp_path / "t.svg").read_text(encoding="utf-8")
