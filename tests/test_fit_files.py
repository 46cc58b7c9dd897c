"""A fit as a file, and what is predicted with it."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted import PLANTED, law_of

import lawdsl
from lawdsl.core import files
from lawdsl.core.diagnostics import render
from lawdsl.fitting import storage

X = np.linspace(1.0, 5.0, 12)


@pytest.fixture(scope="module")
def fit() -> lawdsl.Fit:
    return lawdsl.fit("dcpt.share", PLANTED["dcpt.share"].table(0.003), starts=6)


@pytest.fixture(scope="module")
def cpt() -> lawdsl.Fit:
    """Of a law with units, from columns with names and units of their own."""
    table = PLANTED["dcpt.l5"].table()
    renamed = {"size [Mparam]": table["N"] * 1e3, "tokens": table["D"], **table}
    del renamed["N"], renamed["D"]
    return lawdsl.fit("dcpt.l5", renamed, N="size", D="tokens", starts=4)


def content(fit: lawdsl.Fit, *path: str, **changed: Any) -> dict[str, Any]:
    """The fit as plain data, with some values replaced below a path of keys."""
    made = json.loads(json.dumps(fit.to_json()))
    inner = made
    for key in path:
        inner = inner[key]
    inner.update(changed)
    return made


def not_loaded(path: Path) -> lawdsl.Diagnostic:
    with pytest.raises(lawdsl.LawdslError) as error:
        lawdsl.Fit.load(path)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "F0108" and diagnostic.help
    assert diagnostic.place == str(path)
    assert "Traceback" not in render(diagnostic)
    return diagnostic


def warned(fit: lawdsl.Fit, table: Any, **columns: str) -> list[str]:
    return [f"{d.code} {d.message}" for d in fit.predict_with_warnings(table, **columns)[1]]


# ---- files


def test_what_is_saved_is_what_is_loaded(fit: lawdsl.Fit, tmp_path: Path):
    fit.save(tmp_path / "fit.json")
    again = lawdsl.Fit.load(tmp_path / "fit.json")

    assert again == fit
    assert again.to_json() == fit.to_json()
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "fit.json").read_bytes()


def test_a_fit_with_findings_and_numbers_that_json_lacks_comes_back_equal(tmp_path: Path):
    """Negative values have no logarithm: those measures are nan, and null in the file."""
    law = law_of("variable x > 0\nparameter a, b\nL = a*x + b\nminimize squared(L)")
    made = lawdsl.fit(law, {"x": X, "L": X - 3}, where="x > 1", starts=1)
    made.save(tmp_path / "fit.json")

    assert np.isnan(made.metrics.r2_log) and made.diagnostics
    assert "NaN" not in (tmp_path / "fit.json").read_text()
    assert lawdsl.Fit.load(tmp_path / "fit.json") == made


def test_the_keys_of_the_file_are_stable(fit: lawdsl.Fit):
    made = fit.to_json()

    assert list(made) == [
        *(
            "schema",
            "verdict",
            "verdicts",
            "parameters",
            "held",
            "intervals",
            "objective",
            "metrics",
        ),
        *("agreement", "optimality", "converged", "stopped", "diagnostics", "claims", "data"),
        *("law", "seed", "spread", "rows", "extrapolation", "priors"),
    ]
    assert list(made["parameters"]["E"]) == ["value", "at_bound", "identified"]
    assert list(made["intervals"]) == [
        *("method", "level", "by", "errors", "ends", "resamples", "failed"),
        "ends_with_law_error",
    ]
    assert list(made["data"]) == [
        *("name", "digest", "rows", "dropped", "columns", "where", "ranges"),
        *("weights", "runs", "groups", "inflections"),
    ]
    assert list(made["law"]) == [
        *("name", "digest", "texts", "settings", "dropped", "added", "held", "instance"),
        "priors",
    ]


def test_a_file_can_be_read_by_everyone_and_a_second_save_keeps_its_permissions(
    fit: lawdsl.Fit, tmp_path: Path
):
    path = tmp_path / "fit.json"
    fit.save(path)
    assert path.stat().st_mode & 0o777 == 0o644
    path.chmod(0o600)
    fit.save(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_saving_through_a_link_keeps_the_link(fit: lawdsl.Fit, tmp_path: Path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "fit.json"
    link.symlink_to(tmp_path / "there" / "real.json")
    fit.save(link)

    assert link.is_symlink() and lawdsl.Fit.load(tmp_path / "there" / "real.json") == fit


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod", "fdopen"])
def test_a_write_that_fails_keeps_the_old_file_and_leaves_nothing(
    call: str, fit: lawdsl.Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "fit.json"
    path.write_text("what was there before")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, call, full)
    with pytest.raises(lawdsl.LawdslError, match="No space left on device") as error:
        fit.save(path)
    assert error.value.diagnostics[0].code == "F0108"
    monkeypatch.undo()
    assert path.read_text() == "what was there before"
    assert os.listdir(tmp_path) == ["fit.json"]


def test_an_interrupted_write_keeps_the_old_file(
    fit: lawdsl.Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "fit.json"
    fit.save(path)
    before = path.read_bytes()

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fit.save(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["fit.json"]


@pytest.mark.parametrize("where", ["no/such/folder/fit.json", ".", "a_file/fit.json"])
def test_a_place_that_cannot_be_written_is_named(where: str, fit: lawdsl.Fit, tmp_path: Path):
    (tmp_path / "a_file").write_text("")
    with pytest.raises(lawdsl.LawdslError) as error:
        fit.save(tmp_path / where)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "F0108" and diagnostic.place == str(tmp_path / where)


def test_a_table_whose_name_is_no_text_can_be_kept(tmp_path: Path):
    """Names of files are bytes; what is no UTF-8 in them comes back as it was."""
    table = tmp_path / os.fsdecode(b"runs\xff.csv")
    table.write_text("r,L\n" + "".join(f"{x},{2 + x}\n" for x in (0, 0.1, 0.3, 0.6, 1)))
    law = law_of("variable r in [0, 1]\nparameter a, b\nL = a*r + b")
    made = lawdsl.fit(law, table, starts=2)
    made.save(tmp_path / "fit.json")

    assert lawdsl.Fit.load(tmp_path / "fit.json").data.name == str(table)


NESTED = "[" * 100_000 + "]" * 100_000
GARBAGE = {
    "empty": b"",
    "text": b"not json",
    "bytes": bytes(range(256)),
    "a list": b"[]",
    "a number": b"1",
    "null": b"null",
    "an object": b"{}",
    "other schema": b'{"schema": 1}',
    "only the schema": b'{"schema": 2}',
    "nesting": NESTED.encode(),
    "nesting inside": b'{"schema": 2, "objective": ' + NESTED.encode() + b"}",
    "a huge integer": b'{"schema": ' + b"9" * 5000 + b"}",
    "a number without end": b'{"schema": 1e999}',
    "UTF-16": '{"schema": 2}'.encode("utf-16"),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_is_no_fit(name: str, tmp_path: Path):
    path = tmp_path / "fit.json"
    path.write_bytes(GARBAGE[name])
    diagnostic = not_loaded(path)

    assert "it is not a fit of schema 2" in diagnostic.message


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.9, 0.999])
def test_a_truncated_fit_is_none(share: float, fit: lawdsl.Fit, tmp_path: Path):
    path = tmp_path / "fit.json"
    fit.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole)) - 1] if share else b"")

    not_loaded(path)


def test_a_file_that_is_too_large_is_not_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(storage, "MAX_FIT_BYTES", 2**20)
    path = tmp_path / "fit.json"
    path.write_bytes(b" " * (2**20 + 1))

    assert "larger than 1 MiB" in not_loaded(path).message


@pytest.mark.parametrize("name", ["nowhere.json", "."])
def test_no_file_is_no_fit(name: str, tmp_path: Path):
    not_loaded(tmp_path / name)


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        (("parameters", "E"), {"value": None}),
        (("parameters", "E"), {"value": "1.5"}),
        (("parameters", "E"), {"value": True}),
        (("parameters", "E"), {"value": 10**400}),
        (("parameters", "E"), {"at_bound": "sideways"}),
        (("parameters",), {"E": 3}),
        ((), {"parameters": []}),
        ((), {"parameters": None}),
        ((), {"verdict": "splendid"}),
        ((), {"schema": "1"}),
        ((), {"seed": None}),
        ((), {"diagnostics": [{}]}),
        ((), {"diagnostics": [7]}),
        (("data",), {"rows": "many"}),
        (("data",), {"rows": float("1e400")}),
        (("data",), {"ranges": {"r": [0]}}),
        (("data",), {"ranges": {"r": ["0", "1"]}}),
        (("data",), {"columns": []}),
        (("law",), {"texts": "law"}),
        (("law",), {"settings": {"D_min": "x"}}),
        (("objective",), {"sum": "little"}),
        (("metrics",), {"r2": []}),
        (("agreement",), {"starts": {}}),
        (("optimality",), {"gradient": "flat"}),
        (("intervals",), {"method": "guess"}),
        (("intervals",), {"ends": {"E": [1.0]}}),
        (("intervals",), {"errors": {"E": "small"}}),
    ],
)
def test_a_value_of_another_kind_is_refused(
    path: tuple[str, ...], changed: dict[str, Any], fit: lawdsl.Fit, tmp_path: Path
):
    made = json.dumps(content(fit, *path, **changed)).replace("Infinity", "1e999")
    (tmp_path / "fit.json").write_text(made)

    not_loaded(tmp_path / "fit.json")


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_constants_that_are_no_json_are_refused(constant: str, fit: lawdsl.Fit, tmp_path: Path):
    text = json.dumps(content(fit, "parameters", "E", value=12321)).replace("12321", constant)
    (tmp_path / "fit.json").write_text(text)

    not_loaded(tmp_path / "fit.json")


# ---- the law in the file


def tampered(fit: lawdsl.Fit, tmp_path: Path, *path: str, **changed: Any) -> lawdsl.Fit:
    (tmp_path / "fit.json").write_text(json.dumps(content(fit, *path, **changed)))
    return lawdsl.Fit.load(tmp_path / "fit.json")


def test_a_fit_needs_no_other_file_to_predict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A law that extends another is kept with all texts that it is built on."""
    (tmp_path / "base.law").write_text("law base\nvariable x > 0\nparameter a > 0\nL = a*x\n")
    (tmp_path / "own.law").write_text("law own\nextends base\nparameter b\nL = base + b\n")
    made = lawdsl.fit(tmp_path / "own.law", {"x": X, "L": 2 * X + 1}, starts=2)
    made.save(tmp_path / "fit.json")
    for name in ("base.law", "own.law"):
        (tmp_path / name).unlink()
    monkeypatch.chdir(tmp_path)
    loaded = lawdsl.Fit.load("fit.json")

    assert set(loaded.law.texts) == {"base", "own"}
    assert loaded.predict({"x": [10.0]}) == pytest.approx([21.0])


HOSTILE = [
    '__import__("os").system("touch hacked")',
    "E + C/(r + epsilon)^gamma + open",
    "E + C/(r + epsilon)^gamma * exp(exp(exp(1e300)))",
    "9^9^9^9^9",
    "(" * 5000 + "r" + ")" * 5000,
]


@pytest.mark.parametrize("formula", HOSTILE, ids=lambda f: f[:20])
def test_a_hostile_law_in_a_fit_is_only_parsed(
    formula: str, fit: lawdsl.Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    text = fit.law.texts["dcpt.share"].replace("E + C/(r + epsilon)^gamma", formula)
    loaded = tampered(fit, tmp_path, "law", texts={"dcpt.share": text})

    with pytest.raises(lawdsl.LawdslError) as error:
        loaded.predict({"r": [0.5]})
    assert error.value.diagnostics
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        (("law",), {"digest": "0" * 64}),
        (("law",), {"name": "other"}),
        (("law",), {"texts": {}}),
        (("data",), {"ranges": {}}),
        (("data",), {"columns": {}}),
        ((), {"parameters": {}}),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(
    path: tuple[str, ...], changed: dict[str, Any], fit: lawdsl.Fit, tmp_path: Path
):
    loaded = tampered(fit, tmp_path, *path, **changed)
    with pytest.raises(lawdsl.LawdslError, match="has been altered") as error:
        loaded.predict({"r": [0.5]})
    assert error.value.diagnostics[0].code == "F0108"


def test_another_constant_in_the_law_of_a_fit_is_noticed(fit: lawdsl.Fit, tmp_path: Path):
    text = fit.law.texts["dcpt.share"].replace("r + epsilon", "r + 2*epsilon")
    loaded = tampered(fit, tmp_path, "law", texts={"dcpt.share": text})

    with pytest.raises(lawdsl.LawdslError, match="its law is not the one that was fitted"):
        loaded.predict({"r": [0.5]})


def test_laws_built_on_each_other_in_a_fit_are_refused(fit: lawdsl.Fit, tmp_path: Path):
    texts = {
        "dcpt.share": "law dcpt.share\nextends other\nL = other\n",
        "other": "law other\nextends dcpt.share\nL = dcpt.share\n",
    }
    loaded = tampered(fit, tmp_path, "law", texts=texts)

    with pytest.raises(lawdsl.LawdslError):
        loaded.predict({"r": [0.5]})


# ---- predictions


def test_predictions_equal_the_formula(cpt: lawdsl.Fit):
    p = PLANTED["dcpt.l5"]
    found = cpt.predict(dict(p.columns))

    assert found == pytest.approx(p.table()["L"], rel=1e-9)
    assert found.flags.writeable


def test_a_prediction_inside_the_fitted_range_has_no_warning(fit: lawdsl.Fit):
    assert warned(fit, {"r": [0.0, 0.5, 1.0]}) == []


@pytest.mark.parametrize(
    ("table", "messages"),
    [
        ({"N": [700.0]}, ["N leaves the fitted range: 700 is 100 times the largest fitted, 7"]),
        (
            {"N": [0.05]},
            ["N leaves the fitted range: 0.05 is 10 times below the smallest fitted, 0.5"],
        ),
        (
            {"D": [1e4], "N": [14.0]},
            [
                "N and D leave the fitted range: N = 14 is 2 times the largest fitted, 7; "
                "D = 10000 is 385 times the largest fitted, 26"
            ],
        ),
    ],
)
def test_outside_the_fitted_range_a_warning_says_how_far(
    table: dict[str, list[float]], messages: list[str], cpt: lawdsl.Fit
):
    point = {"N": [1.8], "D": [3.0], "r": [0.5], **table}

    assert warned(cpt, point) == [f"F0109 {message}" for message in messages]


def test_below_a_range_of_negative_values_is_said_without_a_factor():
    law = law_of("variable x\nparameter a, b\nL = a*x + b\nminimize squared(L)")
    made = lawdsl.fit(law, {"x": X - 3, "L": X}, starts=2)

    assert warned(made, {"x": [-5.0, 4.0]}) == [
        "F0109 x leaves the fitted range: 4 is 2 times the largest fitted, 2; "
        "-5 is below the smallest fitted, -2",
    ]


@pytest.mark.parametrize(
    ("table", "code", "message"),
    [
        ({"r": [0.5, 1.5]}, "D0108", "1.5 is outside the domain r <= 1"),
        ({"r": [-0.1]}, "D0108", "-0.1 is outside the domain r >= 0"),
        ({"r": [float("nan")]}, "D0107", "nan is not a finite number"),
        ({"q": [0.5]}, "D0104", "unknown column `r` for the variable `r`"),
        ({"r": ["a half"]}, "D0106", '"a half" is not a number'),
        ({"r [Gtoken]": [0.5]}, "D0112", "the law gives `r` no unit"),
        ({"r": []}, "D0103", "the table has no rows"),
    ],
)
def test_outside_the_domain_nothing_is_predicted(
    table: dict[str, list[Any]], code: str, message: str, fit: lawdsl.Fit
):
    with pytest.raises(lawdsl.LawdslError, match=message) as error:
        fit.predict(table)
    assert [d.code for d in error.value.diagnostics] == [code]


def test_the_output_is_no_column_of_a_prediction(fit: lawdsl.Fit):
    with pytest.raises(lawdsl.LawdslError, match="no variable `L`"):
        fit.predict({"r": [0.5]}, L="r")


def test_columns_are_found_by_the_names_that_were_fitted(cpt: lawdsl.Fit):
    """And by the variables' own names where the table lacks those."""
    by_variables = cpt.predict({"N": [1.8], "D": [3.0], "r": [0.5]})
    as_fitted = cpt.predict({"size [Gparam]": [1.8], "tokens [Ttoken]": [3e-3], "r": [0.5]})
    as_bound = cpt.predict({"n": [1.8], "d": [3.0], "r": [0.5]}, N="n", D="d")

    assert as_fitted == pytest.approx(by_variables)
    assert as_bound == pytest.approx(by_variables)


def test_the_fitted_column_goes_before_one_with_the_variables_name():
    """A table of two shares, fitted on one of them, is predicted from that one."""
    p = PLANTED["dcpt.share"]
    table = {"r": 1 - p.columns["r"], "r_code": p.columns["r"], "L": p.table()["L"]}
    made = lawdsl.fit("dcpt.share", table, r="r_code", starts=4)

    assert made.predict(table) == pytest.approx(table["L"], rel=1e-9)


def test_values_far_apart_can_be_predicted_at_once():
    """Two scales in a column of measurements are a mistake, in a question they are not."""
    made = lawdsl.fit("chinchilla", PLANTED["chinchilla"].table(), starts=4)
    found = made.predict({"N": [1e6, 1e12], "D": [1e9, 1e9]})

    assert found[0] > found[1]


def test_a_fit_that_is_not_trusted_says_so_with_every_prediction():
    law = law_of("variable x > 0\nparameter a, b > 0\nL = a*b*x")
    made = lawdsl.fit(law, {"x": X, "L": 6 * X}, starts=2)

    assert made.verdict == "not trusted"
    assert warned(made, {"x": [2.0]}) == ["F0110 the fit is not trusted: F0114"]


def test_a_csv_is_predicted_row_by_row(fit: lawdsl.Fit, tmp_path: Path):
    path = tmp_path / "ask.csv"
    path.write_text("# shares\nrun,r\na,0.25\nb,0.75\n")

    assert fit.predict(path) == pytest.approx(fit.predict({"r": [0.25, 0.75]}), rel=1e-13)
