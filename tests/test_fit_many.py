"""Many fits of one law: each equals the fit of its rows alone, and failures are collected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from commands import run
from quick import without

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.processes import run_processes

SIZES = "laws/data/cmr_table2.csv"
FOUR = "laws/data/four_domains.csv"


def sizes() -> dict[str, dict[str, list[float]]]:
    """The rows of each size in the table of the CMR paper, as separate tables."""
    lines = Path(SIZES).read_text(encoding="utf-8").splitlines()
    cells = [line.split(",") for line in lines if line and not line.startswith("#")][1:]
    tables: dict[str, dict[str, list[float]]] = {}
    for size, share, loss in cells:
        table = tables.setdefault(size, {"R": [], "L": []})
        table["R"].append(float(share))
        table["L"].append(float(loss))
    return tables


def with_a_short_group(folder: Path) -> Path:
    path = folder / "sizes.csv"
    path.write_text(Path(SIZES).read_text(encoding="utf-8") + "7B,1,1.2\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def fits() -> lawdsl.FitsByGroup:
    return lawdsl.fit_many("cmr.share", SIZES, by="size")


def test_each_fit_is_that_of_its_rows_alone(fits: lawdsl.FitsByGroup):
    for size in sizes():
        alone = lawdsl.fit("cmr.share", SIZES, where=f"size = {size}")
        expected, found = alone.to_json(), fits[size].to_json()
        expected["data"]["where"] = []
        assert found == expected


def test_groups_are_in_the_order_of_the_table_and_a_mapping(fits: lawdsl.FitsByGroup):
    assert list(fits) == ["460M", "940M", "1.6B", "3.1B"]
    assert len(fits) == 4 and "940M" in fits and "7B" not in fits
    assert fits.verdict == "caution"


def test_separate_tables_are_named_or_numbered(fits: lawdsl.FitsByGroup):
    named = lawdsl.fit_many("cmr.share", sizes())
    assert named["460M"].values == fits["460M"].values
    numbered = lawdsl.fit_many("cmr.share", list(sizes().values())[:2])
    assert list(numbered) == ["0", "1"] and numbered[1].values == fits["940M"].values


def test_the_index_of_a_frame_is_not_listed_as_a_column():
    frame = pandas.DataFrame({"size": ["a", "b"], "R": [1, 2]}, index=[3, 5])
    with pytest.raises(LawdslError) as refused:
        lawdsl.fit_many("cmr.share", frame, by="sizes")
    assert "__index_level_0__" not in str(refused.value)


def test_the_number_of_processes_does_not_change_the_result(tmp_path: Path):
    path, counts = with_a_short_group(tmp_path), []
    one = lawdsl.fit_many("cmr.share", path, by="size")
    two = lawdsl.fit_many(
        "cmr.share", path, by="size", processes=2, progress=lambda *done: counts.append(done)
    )
    assert two.to_json() == one.to_json()
    assert counts[-1] == (5, 5)


def test_a_group_that_cannot_be_fitted_does_not_end_the_others(tmp_path: Path):
    fits = lawdsl.fit_many("cmr.share", with_a_short_group(tmp_path), by="size")
    (failure,) = fits.failures
    assert failure.labels == ("7B",) and failure.rows == 1
    assert failure.diagnostics[0].code == "D0110"
    assert len(fits) == 4 and fits.verdict == "not trusted"
    with pytest.raises(KeyError, match="7B: 1 row, 3 parameters"):
        fits["7B"]


def test_what_no_group_can_do_is_raised():
    with pytest.raises(lawdsl.LawdslError, match="D0104"):
        lawdsl.fit_many("cmr.share", SIZES, by="size", L="loss")
    with pytest.raises(lawdsl.LawdslError, match="did you mean `size`"):
        lawdsl.fit_many("cmr.share", SIZES, by="sise")
    with pytest.raises(lawdsl.LawdslError, match="is not an objective"):
        lawdsl.fit_many("cmr.share", SIZES, by="size", objective="cubed")


def test_one_table_needs_its_columns_and_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match="by=COLUMN"):
        lawdsl.fit_many("cmr.share", SIZES)
    with pytest.raises(TypeError, match="a mapping of columns is one"):
        lawdsl.fit_many("cmr.share", sizes()["460M"])
    with pytest.raises(TypeError, match="seeds"):
        lawdsl.fit_many("cmr.share", SIZES, by="size", seeds=3)
    with pytest.raises(ValueError, match="processes"):
        lawdsl.fit_many("cmr.share", SIZES, by="size", processes=0)


def test_options_and_weights_are_those_of_a_fit():
    weights = np.linspace(1, 2, 20)
    fits = lawdsl.fit_many(
        "cmr.share", SIZES, by="size", weights=weights, fix={"s": 0.2}, claims=False
    )
    rows = dict(sizes()["940M"])
    alone = lawdsl.fit("cmr.share", rows, weights=weights[5:10], fix={"s": 0.2}, claims=False)
    assert fits["940M"].values == alone.values
    assert fits["940M"].held["s"].value == 0.2


def test_files_hold_the_law_once_and_give_the_fits_back(fits: lawdsl.FitsByGroup, tmp_path: Path):
    path = tmp_path / "fits.json"
    fits.save(path)
    assert lawdsl.FitsByGroup.load(path) == fits
    assert path.read_text(encoding="utf-8").count("law cmr.share ") == 1
    with pytest.raises(lawdsl.LawdslError, match="the fits of many groups"):
        lawdsl.load_fit(path)
    one = tmp_path / "fit.json"
    fits["460M"].save(one)
    assert lawdsl.load_fit(one) == fits["460M"]
    with pytest.raises(lawdsl.LawdslError, match="F0108"):
        lawdsl.FitsByGroup.load(one)


def test_a_frame_has_a_row_for_each_group(tmp_path: Path):
    fits = lawdsl.fit_many("cmr.share", with_a_short_group(tmp_path), by="size")
    frame = fits.to_frame()
    assert list(frame["size"]) == ["460M", "940M", "1.6B", "3.1B", "7B"]
    assert list(frame["alpha"])[:4] == [fit.values["alpha"] for fit in fits.values()]
    assert frame["s error"][1] == fits["940M"].intervals.errors["s"]
    assert frame["failure"][4].startswith("1 row, 3 parameters")
    assert "460M" in str(fits) and "could not be fitted" in fits._repr_html_()


def test_laws_with_index_sets_and_groups_of_two_columns():
    fits = lawdsl.fit_many(
        "mixing.m4",
        FOUR,
        by=["model", "step"],
        where=["phase = end", "step = 400"],
        r="r_*",
        L="L_*",
        starts=4,
        claims=False,
        rolled_check=False,
        intervals="delta",
    )
    assert set(fits) == {("0.02M", "400"), ("0.08M", "400")}
    assert set(fits["0.02M", 400].labels["validation"]) == {"c", "code", "general", "perl"}
    assert lawdsl.FitsByGroup.of_json(json.loads(json.dumps(fits.to_json()))) == fits


def test_fits_that_are_not_trusted_are_named_in_one_warning():
    with pytest.warns(lawdsl.NotTrustedWarning, match="2 of 2 fits are not trusted .*: 0; 1"):
        lawdsl.fit_many("dcpt.share", [{"r": [0.1] * 8, "L": [2 + k / 9 for k in range(8)]}] * 2)


def test_the_command_prints_a_row_for_each_group(tmp_path: Path):
    out = tmp_path / "fits.json"
    done = run(*f"fit cmr.share {with_a_short_group(tmp_path)} --by size -o {out}".split())
    assert done.returncode == 1
    assert "cmr.share fitted to 4 groups, by size" in done.stdout
    assert "1 group could not be fitted" in done.stdout
    assert "7B" in done.stderr and "D0110" in done.stderr
    assert len(lawdsl.FitsByGroup.load(out)) == 4


def test_options_of_the_command_that_need_groups_say_so():
    assert (
        "name the groups: --by COLUMN"
        in run(*f"fit cmr.share {SIZES} --processes 2".split()).stderr
    )
    assert "--by names a column" in run(*f"fit cmr.share {SIZES} --by size,".split()).stderr


def test_the_parameters_of_groups_are_drawn_and_reported(fits: lawdsl.FitsByGroup, tmp_path: Path):
    figure = fits.plot()
    assert figure.kind == "groups"
    assert figure.columns["group"] == [size for size in fits for _ in range(3)]
    assert figure.columns["value"][1] == fits["460M"].values["s"]
    assert figure.columns["low"][1] == fits["460M"].intervals.ends["s"][0]
    assert "alpha from -0.4228 to -0.3179" in figure.description
    assert "<svg" in figure.encoded("svg").decode()
    text = fits.report(tmp_path / "report.md").read_text(encoding="utf-8")
    assert text.startswith("# cmr.share by size")
    assert "| 940M | 5 | 1.118e-08 | -0.374" in text and "groups.svg" in text
    fits.save(tmp_path / "fits.json")
    done = run(*"plot fits.json -o f.svg".split(), cwd=tmp_path)
    assert "parameters of 4 groups, by size" in done.stderr, done.stderr
    done = run(*"report fits.json -o r.md".split(), cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "r.md").exists(), done.stderr


def test_the_time_limit_counts_all_processes():
    line = f"fit cmr.share {SIZES} --by size --processes 2 --time-limit 1.5"
    done = run(*line.split())
    assert "error[C0008]: the fit is not finished after" in done.stderr
    assert float(done.stderr.split(" s of CPU")[0].split()[-1]) >= 1.5


WAITS_OR_FAILS = """import sys, time
if sys.stdin.read() == "wait":
    time.sleep(60)
    sys.exit("was not ended")
sys.exit("no such thing")
"""


def test_a_process_that_fails_ends_the_others_at_once_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "waits_or_fails.py").write_text(WAITS_OR_FAILS, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(lawdsl.LawdslError, match="failed with code 1: no such thing") as caught:
        run_processes([b"wait", b"fail", b"wait"], 0, 3, None, "waits_or_fails")
    assert caught.value.diagnostics[0].code == "C0009"


@pytest.mark.parametrize(
    ("number", "intervals"), without([(2, "delta"), (4, "profile")], [(4, "profile")])
)
def test_labels_are_fitted_alike_on_any_number_of_threads(number: int, intervals: str):
    options: dict[str, Any] = {"r": "r_*", "L": "L_*", "claims": False, "rolled_check": False}
    options["intervals"] = intervals
    options["where"] = ["phase = end", "step = 400", "model = 0.08M"]
    one = lawdsl.fit("mixing.m4", FOUR, **options, starts=4, fix={"t[perl, perl]": -4})
    counts: list[tuple[int, int]] = []
    several = lawdsl.fit(
        "mixing.m4",
        FOUR,
        **options,
        starts=4,
        fix={"t[perl, perl]": -4},
        processes=number,
        progress=lambda *done: counts.append(done),
    )
    assert several.to_json() == one.to_json()
    assert counts[-1] == (4, 4)


def test_the_first_label_that_cannot_be_fitted_is_named_on_any_number_of_threads(tmp_path: Path):
    rows = ["domain,r_a,r_b,L"] + [
        f"{d},{k / 9},{1 - k / 9},{2 + k / 9}" for d in "xz" for k in range(8)
    ]
    table = tmp_path / "runs.csv"
    table.write_text("\n".join([*rows, "y,0.5,0.5,2"]) + "\n")
    errors = []
    for number in (1, 2):
        with pytest.raises(lawdsl.LawdslError) as caught:
            lawdsl.fit(
                "mixing.m4",
                table,
                r="r_*",
                L="L",
                validation="domain",
                starts=1,
                processes=number,
                intervals="delta",
                claims=False,
                rolled_check=False,
            )
        errors.append(caught.value.diagnostics)
    assert (
        errors[0] == errors[1] and errors[0][0].code == "D0110" and errors[0][0].place.endswith("y")
    )
