"""Figures say what they do not know: distrust, tables that were not fitted, extrapolation."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from planted import law_of

import lawdsl
from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.warning_categories import NotTrustedWarning
from lawdsl.data.read import read_table
from lawdsl.figures import theme
from lawdsl.figures.draw import draw
from lawdsl.figures.figure import Figure
from lawdsl.fitting.result import Fit

CHINCHILLA = """
variable  N > 0  unit param  "model size"
variable  D > 0  unit token  "training tokens"

parameter E, A, alpha, B, beta > 0

L = E + A/N^alpha + B/D^beta  "loss"
"""


def runs(sizes: tuple[float, ...] = (44e6, 117e6, 302e6, 800e6, 1900e6)) -> dict[str, Any]:
    """Runs of a law on a grid, with little noise."""
    N, D = (x.ravel() for x in np.meshgrid(sizes, [0.9e9, 2.4e9, 6.3e9, 17e9, 44e9]))
    noise = np.random.default_rng(3).normal(0, 0.002, N.size)
    return {"N": N, "D": D, "L": (1.7 + 400 / N**0.34 + 410 / D**0.28) * np.exp(noise)}


def fitted(table: dict[str, Any]) -> Fit:
    law = law_of(CHINCHILLA, "chinchilla_like")
    made = lawdsl.fit(law, table, starts=8, claims=False)
    assert isinstance(made, Fit)
    return made


@pytest.fixture(scope="module")
def fit() -> Fit:
    return fitted(runs())


@pytest.fixture(scope="module")
def untrusted() -> Fit:
    """A fit to one model size, which says nothing of how the loss falls with it."""
    made = fitted(runs(sizes=(44e6,)))
    assert made.verdict == "not trusted"
    return made


def command(*arguments: str) -> Result:
    """Run `lawdsl` in this process."""
    return CliRunner().invoke(cli, arguments)


def subtitle(figure: Figure) -> str:
    """The lines below the title, as one text."""
    return " ".join(figure.chart.to_dict()["title"]["subtitle"])


# Distrust


@pytest.mark.parametrize("kind", ["residuals", "landscape"])
def test_a_figure_of_a_fit_that_is_not_trusted_says_so(untrusted: Fit, kind: str):
    with pytest.warns(NotTrustedWarning, match="F0110"):
        figure = untrusted.plot(kind)
    assert subtitle(figure).startswith("the fit is not trusted: F0101")
    assert figure.description.startswith("The fit is not trusted: F0101.")
    assert "no pattern" not in figure.title  # as many parameters as rows
    assert [d.code for d in figure.warnings] == ["F0110"]


def test_the_command_warns_of_a_fit_that_is_not_trusted(untrusted: Fit, tmp_path: Path):
    untrusted.save(tmp_path / "few.json")
    done = command("plot", str(tmp_path / "few.json"), "-o", str(tmp_path / "few.svg"))
    assert done.exit_code == 0 and "warning[F0110]" in done.output
    assert "not trusted" in (tmp_path / "few.svg").read_text()


def test_a_fit_without_a_horizon_says_why(untrusted: Fit):
    with pytest.raises(LawdslError, match="no trust horizon: .*cannot be distinguished"):
        untrusted.plot("extrapolation")


def test_an_answer_from_a_fit_that_is_not_trusted_says_so(untrusted: Fit):
    answer = lawdsl.Asked("chinchilla.allocation", loss=untrusted).answer(C=1e20)
    assert "loss: the fit is not trusted: F0101" in subtitle(answer.plot())


def test_a_trusted_fit_is_drawn_without_a_warning(fit: Fit):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "not trusted" not in subtitle(fit.plot())


# Titles


def test_rows_that_were_not_fitted_have_a_bias_and_no_pattern(fit: Fit):
    other = runs() | {"L": runs()["L"] + 1}
    figure = fit.plot("residuals", data=other)
    logs = 100 * np.log(other["L"] / fit.predict(other))
    assert "pattern" not in figure.title + subtitle(figure)
    assert f"is {np.median(logs):+.2g} % in the median" in figure.title
    assert f"from {np.min(logs):+.2g} % to {np.max(logs):+.2g} %" in figure.title


def test_one_row_has_no_r_squared(fit: Fit):
    figure = fit.plot(data={"N": [1e8], "D": [1e9], "L": [3.0]})
    assert "R²" not in figure.title and "off by" in figure.title


def test_the_horizon_is_said_with_its_level_and_the_error_of_the_law(fit: Fit):
    assert "within 2 % (95 %, law wrong by 2 %/decade) up to" in fit.plot("extrapolation").title


def test_exponents_are_those_of_the_fitted_law_and_the_measured_range_is_framed(fit: Fit):
    figure = fit.plot("landscape")
    assert "on the fitted law, compute-optimal N grows as" in figure.title
    assert "dashed frame: measured range" in subtitle(figure)
    tables = figure.chart.to_dict()["datasets"].values()
    (frame,) = [t for t in tables if len(t) == 5 and set(t[0]) == {"N", "D", "order"}]
    for name in ("N", "D"):
        ends = min(r[name] for r in frame), max(r[name] for r in frame)
        assert ends == (min(figure.columns[name]), max(figure.columns[name]))


def test_a_correlation_is_never_rounded_to_1(fit: Fit):
    title = fit.plot("profile", parameters=["A", "alpha"]).title
    assert "correlation 0.99" in title


# Options


def test_options_take_values_of_python(fit: Fit):
    titles = {fit.plot("profile", parameters=p).title for p in ("A,B", ["A", "B"], ("A", "B"))}
    assert len(titles) == 1
    by_number, by_text = (fit.plot("extrapolation", times=t) for t in (np.float64(30), "30"))
    assert by_number.columns["C"] == by_text.columns["C"]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("fit", {"x": 3}),
        ("fit", {"color": ["N"]}),
        ("profile", {"parameters": 3}),
        ("profile", {"parameters": ["A", 3]}),
        ("profile", {"parameters": {"A": 1}}),
        ("extrapolation", {"times": float("inf")}),
        ("extrapolation", {"times": float("nan")}),
        ("extrapolation", {"times": [30]}),
        ("extrapolation", {"times": True}),
        ("landscape", {"y": 1.0}),
    ],
)
def test_options_of_another_type_are_refused(fit: Fit, kind: str, options: dict[str, Any]):
    with pytest.raises(LawdslError, match="G0104"):
        fit.plot(kind, **options)


def test_a_kind_that_is_no_text_is_refused(fit: Fit):
    for kind in (3, ["fit"]):
        with pytest.raises(LawdslError, match="G0102"):
            fit.plot(kind)  # type: ignore[arg-type]


def test_a_file_that_cannot_be_written_is_named(fit: Fit, tmp_path: Path):
    with pytest.raises(LawdslError, match="L0313.*the folder .*nowhere. does not exist"):
        fit.plot().save(tmp_path / "nowhere" / "fit.svg")


def test_a_figure_is_printed_as_its_title(fit: Fit):
    figure = fit.plot()
    assert str(figure) == figure.title
    assert len(repr(figure)) < 300


# Marks


def test_means_that_only_join_the_rows_are_not_drawn():
    made = fitted({name: values[:12] for name, values in runs().items()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotTrustedWarning)
        tables = made.plot("residuals").chart.to_dict()["datasets"].values()
    for rows in (t for t in tables if t and "mean" in t[0]):
        assert 2 * len(rows) <= 12


def test_labels_are_moved_apart():
    places = np.array([0.0, 1.0, 2.0, 50.0])
    moved = places + theme.apart(places, 12)
    assert np.min(np.diff(np.sort(moved))) >= 12 - 0.2
    assert theme.apart([0.0, 100.0], 12) == [0.0, 0.0]


def test_legends_write_sizes_as_axes_do():
    assert [theme.label(x) for x in (4.4e7, 1.17e8, 1.4e11, 0.0001925)] == [
        "44M",
        "117M",
        "140B",
        "0.0001925",
    ]


# Answers


def test_no_interval_of_answers_is_cut_without_a_word(fit: Fit):
    asked = lawdsl.Asked("chinchilla.allocation", loss=fit)
    answers = asked.answers({"C": [1e20, 1e21, 1e22]})
    figure = answers.plot()
    panels = figure.chart.to_dict()["vconcat"]
    ends = [x for x in figure.columns["high, laws wrong"] if x is not None]
    assert ends
    scales = [panel["layer"][0]["encoding"]["y"]["scale"] for panel in panels]
    assert [scale["type"] for scale in scales] == ["log", "log", "linear"]
    for name, scale in zip(("N", "D"), scales, strict=False):
        rows = [i for i, q in enumerate(figure.columns["quantity"]) if q == name]
        most = max(figure.columns["high, laws wrong"][i] or 0 for i in rows)
        assert scale["domain"][1] > most or any(f"intervals of {name}" in n for n in figure.notes)
    # the light band begins where an answer leaves the rows
    assert (
        "no error of the laws at C = 1e20: those answers are among the fitted rows" in figure.notes
    )


def test_an_interval_without_a_bound_fills_its_panel(fit: Fit):
    answers = lawdsl.Asked("chinchilla.allocation", loss=fit).answers({"C": [1e21, 1e23]})
    wide = tuple(
        replace(a, law_error=replace(a.law_error, ends={"N": (0.0, np.inf)}))
        for a in answers.answers
        if a.law_error is not None
    )
    figure = replace(answers, answers=wide).plot()
    assert (
        "intervals of N go on beyond its axis, down to 0 and without a bound above" in figure.notes
    )
    panel = figure.chart.to_dict()["vconcat"][0]
    low, high = panel["layer"][0]["encoding"]["y"]["scale"]["domain"]
    tables = figure.chart.to_dict()["datasets"].values()
    rows = [row for t in tables for row in t if row.get("quantity") == "N"]
    assert {(row["low, laws wrong"], row["high, laws wrong"]) for row in rows} == {(low, high)}


def test_the_unit_of_the_goal_is_that_of_the_fit(fit: Fit):
    asked = lawdsl.Asked("chinchilla.allocation", loss=fit)
    for figure in (asked.answer(C=1e21).plot(), asked.answers({"C": [1e20, 1e21]}).plot()):
        assert "nat" not in str(figure.chart.to_dict())
    assert "interval of the goal from noise" in subtitle(asked.answer(C=1e21).plot())


# Tables of runs

TABLE = {"N": [1e8, 2e8, 3e8], "D": [1e9, 2e9, 3e9], "L": [3.2, 3.1, 3.0]}


@pytest.mark.parametrize(
    ("code", "columns"),
    [
        ("D0108", {"N": [1e8, 0, 3e8]}),
        ("D0108", {"N": [1e8, -1, 3e8]}),
        ("D0108", {"N": [1e8, np.inf, 3e8]}),
        ("D0108", {"D": [1e9, -1, 3e9]}),
        ("D0121", {"r_web": [0.7, 0.8, 0.7], "r_code": [0.3, 0.4, 0.3]}),
        ("D0121", {"r_web": [0.7, -0.2, 0.7]}),
    ],
)
def test_rows_that_are_no_runs_are_refused_or_left_out(code: str, columns: dict[str, Any]):
    table = read_table(TABLE | columns)
    with pytest.raises(LawdslError, match=f"{code}.*(?s:.*--drop-bad)"):
        draw(table)
    figure = draw(table, drop_bad=True)
    assert "2 of 2 runs" in figure.title
    assert "1 row left out: no runs" in figure.notes


def test_a_unit_that_is_not_known_is_refused():
    with pytest.raises(LawdslError, match="D0112.*`Mfoo` is not a unit"):
        draw(read_table({"N [Mfoo]": [1], "D [Gtoken]": [2]}))
    figure = draw(read_table({"N [Gtoken]": [1], "D [Gtoken]": [2]}))
    assert "FLOP" not in figure.title


def test_the_columns_of_a_table_of_runs_can_be_named(tmp_path: Path):
    table = tmp_path / "runs.csv"
    table.write_text("size,tokens,val\n44,0.9,4.1\n117,2.4,3.5\n117,,3.5\n")
    named = ["plot", str(table), "N=size [Mparam]", "D=tokens [Gtoken]", "L=val"]
    with pytest.raises(LawdslError, match=r"G0113.*(?s:.*'N=COLUMN \[Mparam\]')"):
        draw(read_table(table))
    with pytest.raises(LawdslError, match="leave such rows out with --drop-bad"):
        draw(read_table(table), N="size [Mparam]", D="tokens [Gtoken]")
    with pytest.raises(LawdslError, match="D0104.*unknown column `sise`"):
        draw(read_table(table), N="sise", D="tokens")
    done = command(*named, "--drop-bad", "-o", str(tmp_path / "runs.svg"))
    flop = 6 * (44e6 * 0.9e9 + 117e6 * 2.4e9)
    assert f"2 of 2 runs done, {flop:.2g} FLOP".replace("e+", "e") in done.output


def test_the_loss_of_a_failed_run_is_marked():
    table = TABLE | {"status": ["done", "diverged", "done"]}
    datasets = draw(read_table(table)).chart.to_dict()["datasets"].values()
    (losses,) = [rows for rows in datasets if rows and "loss" in rows[0]]
    assert [row["failed"] for row in losses] == [False, True, False]
