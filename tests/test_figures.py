"""Figures: what they draw, how they are written, and what is refused."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run
from raised import code_of
from test_reports import ATTACK, Page

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.data.read import read_table
from lawdsl.figures import draw as drawing
from lawdsl.figures.figure import FORMATS
from lawdsl.fitting.result import Fit

ROOT = Path(lawdsl.__file__).resolve().parent.parent
CODE_AND_ENGLISH = ROOT / "laws" / "data" / "code_and_english.csv"
MAGIC = {
    ".svg": b"<svg",
    ".png": b"\x89PNG",
    ".pdf": b"%PDF",
    ".html": b"<!DOCTYPE html>",
    ".json": b"{",
}


@pytest.fixture(scope="module")
def fit() -> Fit:
    """The D-CPT Law: three variables, one of which has no place in a figure."""
    made = lawdsl.fit(
        "dcpt.l3",
        CODE_AND_ENGLISH,
        where=("phase = end", "D > 410000"),
        L="L_code",
        r="r_code",
        starts=4,
        claims=False,
        rolled_check=False,
        intervals="delta",
    )
    assert isinstance(made, Fit)
    return made


@pytest.fixture(scope="module")
def line() -> Fit:
    x = np.linspace(0.1, 1, 12)
    made = lawdsl.fit("dcpt.share", {"r": x, "L": 2 + 0.5 / (x + 0.1)}, starts=4, claims=False)
    assert isinstance(made, Fit)
    return made


def test_points_are_the_rows_and_their_residuals(line: Fit):
    figure = line.plot("fit")
    assert figure.columns["L"] == pytest.approx(list(line.rows.target))
    assert figure.columns["fitted"] == pytest.approx(line.predict({"r": line.rows.columns["r"]}))


def test_variables_without_a_place_move_the_points_along_the_fitted_law(fit: Fit):
    figure = fit.plot(x="r", color="N")
    columns = {name: np.array(figure.columns[name]) for name in ("N", "D", "r")}
    middle = float(np.sort(columns["D"])[(len(columns["D"]) - 1) // 2])
    there = fit.predict({**columns, "D": np.full_like(columns["D"], middle)})
    measured = np.array(fit.rows.target) * there / fit.predict(columns)
    assert figure.columns["L"] == pytest.approx(measured, rel=1e-12)
    assert any(f"D = {middle:.4g}" in note for note in figure.notes)


@pytest.mark.parametrize("suffix", list(FORMATS))
def test_a_figure_is_written_in_the_format_of_the_name(line: Fit, suffix: str, tmp_path: Path):
    path = line.plot().save(tmp_path / f"figure{suffix}")
    assert path.read_bytes().lstrip().startswith(MAGIC[suffix])


def test_an_html_figure_loads_nothing(line: Fit):
    page = line.plot().encoded("html").decode()
    assert "<script src" not in page and 'src="http' not in page and "@import" not in page


def test_texts_of_a_table_do_not_become_markup_in_a_page():
    model = f"</script>{ATTACK}"
    table = read_table(
        {"N [param]": [1e8, 1e9], "D [token]": [1e9, 1e9], "model": [model, "small"]}
    )
    page = drawing.draw(table).encoded("html").decode()
    scripts = [text for element, text in Page(page).texts if element == "script"]
    assert not Page(page).all("img") and len(Page(page).all("script")) == 2
    (spec,) = [line for text in scripts for line in text.splitlines() if "const spec = " in line]
    drawn = json.loads(spec.partition("const spec = ")[2].rstrip(";"))
    models = {row.get("model") for rows in drawn["datasets"].values() for row in rows}
    assert model in models


def test_a_figure_has_a_description_for_those_who_do_not_see_it(line: Fit):
    figure = line.plot()
    assert figure.description in figure.encoded("json").decode()
    assert f"<desc>{figure.description}</desc>" in figure.encoded("svg").decode()
    assert "12 points" in figure.description


def test_all_rows_of_a_long_table_are_thinned_and_that_is_said(line: Fit):
    rng = np.random.default_rng(0)
    r = rng.uniform(0.1, 1, 20_000)
    L = 2 + 0.5 / (r + 0.1)
    L[777] *= 1.5
    figure = line.plot(data={"r": r, "L": L})
    assert len(figure.columns["r"]) < 2_100
    assert any("of 20,000 rows are drawn" in note for note in figure.notes)
    assert max(figure.columns["L"]) == L.max()


def test_a_fit_whose_columns_have_other_names_is_drawn_from_its_table(fit: Fit):
    figure = fit.plot(data=CODE_AND_ENGLISH, x="r")
    assert sorted(figure.columns["r"]) == pytest.approx(sorted(fit.rows.columns["r"]))


def test_a_long_table_is_read_without_pandas(tmp_path: Path):
    """Which takes longer to load than a million rows take to read."""
    from lawdsl.data.read import read_table
    from lawdsl.data.write import write_rows

    write_rows(tmp_path / "long.parquet", ["r", "L"], [(0.1 * k, 3.0 - 0.1 * k) for k in range(9)])
    code = (
        "import sys; from lawdsl.data.read import read_table; "
        "table = read_table(sys.argv[1]); assert 'pandas' not in sys.modules; print(table.numbers('L'))"
    )
    path = str(tmp_path / "long.parquet")
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, cwd=ROOT
    )
    assert done.stdout.strip() == str(read_table(path).numbers("L")), done.stderr


def test_what_cannot_be_drawn_is_refused(line: Fit, tmp_path: Path):
    assert code_of(lambda: line.plot("pie")) == "G0102"
    assert code_of(lambda: line.plot("fit", x="q")) == "G0104"
    assert code_of(lambda: line.plot("fit", size=3)) == "G0104"
    assert code_of(lambda: line.plot().save(tmp_path / "figure.bmp")) == "G0105"
    assert not list(tmp_path.iterdir())


def test_without_altair_the_error_says_what_to_install(line: Fit, monkeypatch: Any):
    find = importlib.util.find_spec
    missing = {"altair"}
    monkeypatch.setattr(drawing, "find_spec", lambda name: None if name in missing else find(name))
    with pytest.raises(LawdslError) as caught:
        line.plot()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "G0101" and "pip install 'lawdsl[figures]'" in str(diagnostic.help)


def test_the_command_writes_a_file_and_says_what_it_shows(line: Fit, tmp_path: Path):
    line.save(tmp_path / "share.json")
    done = run("plot", "share.json", "--json", cwd=tmp_path)
    result = json.loads(done.stdout)["result"]
    assert result["file"] == "share-fit.svg" and result["rows"] == 12
    assert (tmp_path / "share-fit.svg").read_bytes().startswith(b"<svg")
    refused = run("plot", "share.json", "-o", "share.bmp", cwd=tmp_path)
    assert refused.returncode == 3 and "G0105" in refused.stderr
