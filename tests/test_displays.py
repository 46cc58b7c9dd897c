"""What a notebook, `print` and `to_frame` show of public records, and what Python warns of."""

from __future__ import annotations

import warnings
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from planted import law_of

import lawdsl
from lawdsl.core.presentation import Presented
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.reporting.documents import document_of as documents, frames
from lawdsl.reporting.documents.blocks import Code, Findings, Heading, Lines, Paragraph, Rows
from lawdsl.reporting.documents.render_html import html_of
from lawdsl.reporting.documents.render_markdown import markdown_of

ROOT = Path(lawdsl.__file__).resolve().parent.parent
DATA = ROOT / "laws" / "data"
RUNS = law_of("variable N, D > 0\nparameter E, A, B > 0\nL = E + A/N^0.3 + B/D^0.3\n")


def runs(count: int = 40) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    N, D = 10 ** rng.uniform(7, 9, count), 10 ** rng.uniform(9, 11, count)
    L = (1.7 + 300 / N**0.3 + 900 / D**0.3) * np.exp(0.002 * rng.normal(size=count))
    return {"N": N, "D": D, "L": L}


@pytest.fixture(scope="module")
def fit() -> Fit:
    made = lawdsl.fit(RUNS, runs(), starts=2)
    assert isinstance(made, Fit)
    return made


@pytest.fixture(scope="module")
def records(fit: Fit) -> dict[str, Any]:
    """A record of each public kind."""
    mixes = DATA / "four_domains.csv"
    by_label = lawdsl.fit(
        "mixing.m4",
        mixes,
        where=("phase = end", "step = 400", "model = 0.08M"),
        columns={"r": "r_*", "L": "L_*"},
        starts=2,
        intervals="delta",
        claims=False,
        rolled_check=False,
    )
    assert isinstance(by_label, Fits)
    share = lawdsl.fit("dcpt.share", DATA / "c4_share.csv", starts=2)
    check = lawdsl.check("chinchilla")
    loss = {"E": 1.8, "A": 400, "B": 900, "alpha": 0.34, "beta": 0.3}
    asked = lawdsl.Asked("chinchilla.allocation", loss=loss)
    return {
        "Law": lawdsl.load("dcpt.l3"),
        "Fit": fit,
        "Fits": by_label,
        "Check": check,
        "Verdict": check.claims[0],
        "Comparison": lawdsl.compare(
            ["dcpt.share", "mixing.critical"],
            DATA / "c4_share.csv",
            starts=2,
            objective="squared(raw)",
        ),
        "Answer": asked.answer(C=1e21),
        "Answers": asked.answers({"C": [1e21, 1e22]}),
        "Trends": lawdsl.trends("dcpt.share", DATA / "c4_share.csv"),
        "Band": share.predict_with_errors({"r": [0.2, 0.3]}),
    }


class Text(HTMLParser):
    """The text of a page, and the tags that are open."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.open, self.tables = "", [], 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tables += tag == "table"
        assert tag not in ("script", "link", "iframe", "img")

    def handle_endtag(self, tag: str) -> None:
        while self.open.pop() != tag:
            assert self.open

    def handle_data(self, data: str) -> None:
        self.text += data


def read_html(html: str) -> Text:
    parser = Text()
    parser.feed(html.replace("<br>", " "))
    assert not parser.open
    return parser


SAID = {
    "Law": "D-CPT Law",
    "Fit": "fitted to 40 rows",
    "Fits": "validation",
    "Check": "L convex in N",
    "Verdict": "PROVED",
    "Comparison": "rank",
    "Answer": "tokens",
    "Answers": "where the slope is 0",
    "Trends": "holds",
    "Band": "95 % interval",
}


@pytest.mark.parametrize("kind", list(SAID))
def test_a_notebook_and_print_show_the_record(records: dict[str, Any], kind: str):
    record = records[kind]
    assert isinstance(record, Presented)
    shown = read_html(record._repr_html_())
    assert SAID[kind] in shown.text and SAID[kind] in str(record)
    assert shown.tables or kind in ("Check", "Verdict")


@pytest.mark.parametrize("kind", list(SAID))
def test_rows_are_a_data_frame(records: dict[str, Any], kind: str):
    frame = records[kind].to_frame()
    assert isinstance(frame, pd.DataFrame) and len(frame)


def test_every_record_with_a_document_has_a_frame():
    assert set(documents.DOCUMENTS) == set(frames.FRAMES)


def test_the_frame_of_a_fit_has_its_numbers(fit: Fit):
    frame = fit.to_frame().set_index("parameter")
    assert frame.loc["A", "value"] == fit.values["A"]
    assert (frame.loc["A", "low"], frame.loc["A", "high"]) == fit.intervals.ends["A"]


def test_without_pandas_the_frame_is_of_another_library(fit: Fit, monkeypatch: pytest.MonkeyPatch):
    import polars as pl

    monkeypatch.setattr(frames, "BACKENDS", ("polars",))
    frame = fit.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame["value"].to_list() == list(fit.values.values())


def test_text_of_files_is_escaped():
    attack = "<script>alert(1)</script> & | `x` $y$ [a](b)"
    blocks = [
        Heading(attack),
        Paragraph(attack),
        Lines([attack, f"  {attack}"]),
        Rows([attack], [[attack]], attack),
        Code(attack),
        Findings([lawdsl.Diagnostic("F0000", attack, help=attack)]),
    ]
    assert "<script" not in html_of(blocks) and html_of(blocks).count("&lt;script&gt;") == 10
    lines = markdown_of([b for b in blocks if not isinstance(b, Code)])
    assert "<script" not in lines.replace(r"\<", "") and "[a](b)" not in lines


def test_a_fit_that_is_not_trusted_warns():
    table = {"N": [1e8, 2e8, 4e8], "D": [1e9, 2e9, 4e9], "L": [3.0, 2.8, 2.6]}
    with pytest.warns(lawdsl.NotTrustedWarning, match=r"\[F0"):
        made = lawdsl.fit(RUNS, table, starts=2)
    with pytest.warns(lawdsl.NotTrustedWarning, match="F0110"):
        made.predict({"N": [2e8], "D": [2e9]})


def test_predictions_beyond_the_horizon_warn_and_those_within_do_not(fit: Fit):
    assert fit.horizon is not None
    start, times = fit.horizon.variables, fit.horizon.times(0.02)
    assert 1.2 < times < 1e4
    largest = {name: float(values.max()) for name, values in runs().items() if name != "L"}

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit.predict({"N": [1e8], "D": [1e10]})
        # outside the range of N, but no larger than is known
        within = {"N": [largest["N"] * 1.05], "D": [start["D"] * start["N"] / largest["N"]]}
        fit.predict(within)
    beyond = {name: [value * (10 * times)] for name, value in start.items()}
    with pytest.warns(lawdsl.ExtrapolationWarning, match="F0109") as caught:
        fit.predict(beyond)
    assert caught[0].filename == __file__
    for options in ({}, {"discrepancy": 0, "level": 0.9}):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fit.predict_with_errors(within, **options)
        with pytest.warns(lawdsl.ExtrapolationWarning) as with_interval:
            fit.predict_with_errors(beyond, **options)
        assert [str(w.message) for w in with_interval] == [str(w.message) for w in caught]
        assert with_interval[0].filename == __file__


def test_predictions_by_label_with_intervals_warn_as_those_without():
    table = {f"r[{name}]": 0.1 + 0.08 * np.arange(10) for name in ("a",)}
    table |= {"r[b]": 1 - table["r[a]"]}
    noise = 1 + 0.002 * np.random.default_rng(0).standard_normal((2, 10))
    for name, row in zip(("u", "v"), noise, strict=True):
        table[f"L[{name}]"] = (1 + np.exp(-table["r[a]"])) * row
    fits = lawdsl.fit("mixing.m4", table, starts=2, claims=False)
    inside, outside = {"r[a]": [0.4], "r[b]": [0.6]}, {"r[a]": [0.999], "r[b]": [0.001]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fits.predict(inside)
        fits.predict_with_errors(inside)
    for predict in (fits.predict, fits.predict_with_errors):
        with pytest.warns(lawdsl.ExtrapolationWarning, match="F0109") as caught:
            predict(outside)
        assert caught[0].filename == __file__


def test_a_variable_that_measures_no_size_warns_beyond_its_range():
    N, q = (x.ravel() for x in np.meshgrid(np.geomspace(1e7, 1e9, 6), [0.1, 0.2, 0.3]))
    L = (2 + 400 / N**0.35 + q) * np.exp(0.003 * np.random.default_rng(1).standard_normal(len(N)))
    law = (
        "variable N > 0  unit param\nvariable q\nparameter E, A, alpha > 0\nL = E + A/N^alpha + q\n"
    )
    fit = lawdsl.fit(law_of(law), {"N": N, "q": q, "L": L})
    assert fit.horizon is not None and "q" not in fit.horizon.variables
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit.predict({"N": [1e8], "q": [0.25]})
    for outside in (0.01, 30.0):
        with pytest.warns(lawdsl.ExtrapolationWarning, match="F0109"):
            fit.predict({"N": [1e8], "q": [outside]})


def test_a_frame_of_predictions_has_their_points(fit: Fit):
    points = {"N": [1e8, 2e8], "D": [1e10, 3e10]}
    frame = fit.predict_with_errors(points).to_frame()
    assert list(frame.columns)[:4] == ["N", "D", "values", "low"]
    assert {name: frame[name].tolist() for name in points} == points


def test_commands_print_no_warnings_of_python(fit: Fit, tmp_path: Path):
    from commands import run

    fit.save(tmp_path / "fit.json")
    done = run("predict", "fit.json", "N=1e15", "D=1e16", "--no-intervals", cwd=tmp_path)
    assert "F0109" in done.stderr and "Warning" not in done.stderr
