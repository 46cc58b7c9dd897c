"""Fits of laws with index sets as files, and the commands that write and read them."""

from __future__ import annotations

import json
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import commands
import numpy as np
import pytest
from click.testing import CliRunner
from mixing_cases import DOMAINS, M4, OUTPUTS, wide
from planted import law_of
from rich.console import Console

import lawdsl
from lawdsl.cli import cli
from lawdsl.fitting.result_by_label import Fits
from lawdsl.reporting.fits import show_fits

# ---- files


def content(fits: Fits, *path: str | int, **changed: Any) -> dict[str, Any]:
    """The fits as plain data, with some values replaced below a path of keys."""
    made = json.loads(json.dumps(fits.to_json()))
    inner = made
    for key in path:
        inner = inner[key]
    inner.update(changed)
    return made


def test_what_is_saved_is_what_is_loaded(noisy: Fits, tmp_path: Path):
    noisy.save(tmp_path / "fits.json")
    again = lawdsl.load_fit(tmp_path / "fits.json")

    assert again == noisy == Fits.load(tmp_path / "fits.json")
    assert again.to_json() == noisy.to_json()
    assert again.predict(wide()) == pytest.approx(noisy.predict(wide()), rel=0, abs=0)


def test_a_fit_of_one_part_is_loaded_as_one(tmp_path: Path):
    law = law_of("variable N > 0\nparameter A > 0\nL = A/N")
    made = lawdsl.fit(law, {"N": [1.0, 2.0, 3.0], "L": [2.0, 1.0, 0.7]}, starts=2)
    made.save(tmp_path / "fit.json")

    assert lawdsl.load_fit(tmp_path / "fit.json") == made


def test_fits_are_no_single_fit(noisy: Fits, tmp_path: Path):
    noisy.save(tmp_path / "fits.json")
    with pytest.raises(lawdsl.LawdslError, match="fits of a law with index sets") as error:
        lawdsl.Fit.load(tmp_path / "fits.json")
    (diagnostic,) = error.value.diagnostics

    assert diagnostic.code == "F0108" and "load_fit" in (diagnostic.help or "")
    assert diagnostic.place == str(tmp_path / "fits.json")


def test_the_keys_of_the_file_are_stable(noisy: Fits):
    made = noisy.to_json()

    assert list(made) == [
        *(
            "schema",
            "verdict",
            "verdicts",
            "labels",
            "values",
            "objective",
            "columns",
            "warnings",
            "dropped",
        ),
        *("measured", "rests", "parts", "law"),
    ]
    assert made["schema"] == "fits 1"
    assert made["parts"][0]["law"]["instance"]["at"] == {"i": "github"}


GARBAGE = {
    "empty": b"",
    "text": b"not json",
    "bytes": bytes(range(256)),
    "a list": b"[]",
    "a number": b"1",
    "null": b"null",
    "an object": b"{}",
    "other schema": b'{"schema": "fits 2"}',
    "only the schema": b'{"schema": "fits 1"}',
    "no parts": b'{"schema": "fits 1", "parts": []}',
    "parts that are none": b'{"schema": "fits 1", "parts": [1]}',
    "fits in fits": b'{"schema": "fits 1", "parts": [{"schema": "fits 1"}]}',
    "nesting": b'{"schema": "fits 1", "parts": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}


@pytest.mark.parametrize("name", GARBAGE)
@pytest.mark.parametrize("load", [lawdsl.load_fit, Fits.load], ids=["load_fit", "Fits.load"])
def test_garbage_is_no_fit(name: str, load: Any, tmp_path: Path):
    path = tmp_path / "fits.json"
    path.write_bytes(GARBAGE[name])
    with pytest.raises(lawdsl.LawdslError) as error:
        load(path)
    (diagnostic,) = error.value.diagnostics

    assert diagnostic.code == "F0108" and diagnostic.help and diagnostic.place == str(path)


@pytest.mark.parametrize("share", [0.01, 0.5, 0.999])
def test_a_truncated_file_is_no_fit(share: float, noisy: Fits, tmp_path: Path):
    path = tmp_path / "fits.json"
    noisy.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole)) - 1])
    with pytest.raises(lawdsl.LawdslError, match="cannot be read"):
        lawdsl.load_fit(path)


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ((), {"labels": {"validation": 3}}),
        ((), {"labels": None}),
        ((), {"columns": []}),
        ((), {"warnings": [7]}),
        ((), {"dropped": "few"}),
        ((), {"parts": "all"}),
        (("law",), {"texts": "law"}),
        (("parts", 0), {"verdict": "splendid"}),
        (("parts", 0, "law"), {"instance": {"labels": {}}}),
        (("parts", 0, "law", "instance"), {"at": []}),
        (("parts", 1, "parameters", "c[books]"), {"value": "2"}),
    ],
)
def test_a_value_of_another_kind_is_refused(
    path: tuple[str | int, ...], changed: dict[str, Any], noisy: Fits, tmp_path: Path
):
    (tmp_path / "fits.json").write_text(json.dumps(content(noisy, *path, **changed)))
    with pytest.raises(lawdsl.LawdslError, match="cannot be read"):
        lawdsl.load_fit(tmp_path / "fits.json")


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        (("law",), {"digest": "0" * 64}),
        (("law",), {"name": "other"}),
        (("law",), {"texts": {}}),
        (("law",), {"held": ["fix c[i] = 1"]}),
        ((), {"labels": {}}),
        ((), {"labels": {"validation": ["github", "books"], "training": list(DOMAINS)}}),
        (("parts", 0, "law"), {"digest": "0" * 64}),
        (("parts", 0, "law"), {"instance": None}),
        (("parts", 0, "law", "instance"), {"at": {}}),
        (("parts", 0, "law", "instance"), {"at": {"i": "books"}}),
        (("parts", 0, "law", "instance"), {"at": {"j": "web"}}),
        (("parts", 0, "law", "instance"), {"labels": {}}),
        (("parts", 0, "law", "instance"), {"left_out": {}}),
        (("parts", 0), {"parameters": {}}),
        (("parts", 0, "data"), {"ranges": {}}),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(
    path: tuple[str | int, ...], changed: dict[str, Any], noisy: Fits, tmp_path: Path
):
    (tmp_path / "fits.json").write_text(json.dumps(content(noisy, *path, **changed)))
    loaded = lawdsl.load_fit(tmp_path / "fits.json")
    with pytest.raises(lawdsl.LawdslError, match="has been altered") as error:
        loaded.predict(wide())
    assert error.value.diagnostics[0].code == "F0108"


# ---- commands


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return commands.run(*arguments, cwd=folder)


@pytest.fixture(scope="module")
def folder(noisy: Fits, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the table and its fits."""
    folder = tmp_path_factory.mktemp("fits")
    table = wide(noise=1e-3)
    rows = [
        ",".join(table),
        *(",".join(map(repr, row)) for row in zip(*table.values(), strict=True)),
    ]
    (folder / "runs.csv").write_text("\n".join(rows).replace("np.float64(", "").replace(")", ""))
    noisy.save(folder / "fits.json")
    return folder


def test_a_fit_is_printed_as_matrices_and_kept(folder: Path):
    done = command(folder, "fit", str(M4), "runs.csv", "-o", "again.json", "--starts", "8")

    assert done.returncode == 0
    assert "mixing_m4 fitted to 90 rows of runs.csv" in done.stdout
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["validation", "c", "k", "t[web]", "t[code]", "t[news]", "t[math]"] in lines
    assert sum(line[:1] == ["books"] for line in lines) == 2
    assert "t[i, math] = -t[i, web] - t[i, code] - t[i, news]" in done.stdout
    assert "\nverdict: trusted\n" in done.stdout
    kept = lawdsl.load_fit(folder / "again.json")
    assert isinstance(kept, Fits) and len(kept.parts) == 3


def test_a_fit_is_one_document(folder: Path):
    done = command(folder, "fit", str(M4), "runs.csv", "--json", "--starts", "8")
    made = json.loads(done.stdout)

    assert made["ok"] and made["command"] == "fit" and made["diagnostics"] == []
    assert made["result"]["schema"] == "fits 1"
    assert made["result"]["values"]["c[wiki]"] == pytest.approx(0.6, rel=0.02)


def test_a_narrow_terminal_shows_the_matrix_in_pieces(noisy: Fits):
    out = Console(width=60, record=True, file=StringIO(), color_system=None)
    show_fits(noisy, out)
    lines = [line.split() for line in out.export_text().splitlines()]
    heads = [line[1:] for line in lines if line[:1] == ["validation"] and line[1] != "rows"]

    assert len(heads) > 1
    assert [c for head in heads for c in head] == ["c", "k", *(f"t[{d}]" for d in DOMAINS)]


def predict(folder: Path, *arguments: str) -> Any:
    """The command in this process: what it returns, or raises."""
    done = CliRunner().invoke(cli, ["predict", str(folder / "fits.json"), *arguments])
    if isinstance(done.exception, lawdsl.LawdslError):
        raise done.exception
    return done


def predicted(folder: Path, *arguments: str) -> Any:
    return json.loads(predict(folder, *arguments, "--json").stdout)


def test_values_give_a_prediction_for_each_label(folder: Path, noisy: Fits):
    made = predicted(folder, "r[web]=0.5,0.25", "r[code]=0.25", "r[news]=0.125", "--no-intervals")[
        "result"
    ]
    shares = {"web": [0.5, 0.25], "code": [0.25] * 2, "news": [0.125] * 2, "math": [0.125, 0.375]}
    expected = noisy.predict({f"r[{name}]": column for name, column in shares.items()})

    assert made["labels"] == list(OUTPUTS)
    assert made["columns"] == [f"r[{d}]" for d in DOMAINS] + [f"L[{i}]" for i in OUTPUTS]
    assert np.array(made["predictions"]) == pytest.approx(expected, rel=1e-12)
    assert [row[3] for row in made["rows"]] == [0.125, 0.375]


def test_a_label_gives_its_prediction_alone(folder: Path):
    values = ("r[web]=0.5", "r[code]=0.25", "r[news]=0.125", "--no-intervals")
    every = predicted(folder, *values)["result"]["predictions"][0]
    made = predicted(folder, *values, "validation=wiki")["result"]

    assert made["labels"] is None and made["columns"][-2:] == ["validation", "L"]
    assert made["predictions"] == [every[2]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("r[web]=0.5",), "no value for r[code], r[news], r[math]"),
        (("r[web]=0.5", "q=1"), "the law has no variable 'q'"),
        (("r[web]=a", "r[code]=.2", "r[news]=.1"), "is not a number"),
    ],
)
def test_values_that_are_missing_are_named(values: tuple[str, ...], message: str, folder: Path):
    done = predict(folder, *values)

    assert done.exit_code == 2 and message in done.stderr


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("r[web]=0.9", "r[code]=.2", "r[news]=.1"), "none is below 0"),
        (("r[web]=.5", "r[code]=.2", "r[news]=.1", "r[math]=.5"), "sum to 1.3, not to 1"),
        (("r[web]=.5", "r[code]=.2", "r[news]=.1", "validation=x"), "`x` is none of"),
    ],
)
def test_values_that_are_wrong_are_refused(values: tuple[str, ...], message: str, folder: Path):
    with pytest.raises(lawdsl.LawdslError, match=message):
        predict(folder, *values)


def test_a_table_is_predicted_with_a_column_for_each_label(folder: Path, noisy: Fits):
    written = ("-o", str(folder / "out.csv"), "--no-intervals")
    done = predict(folder, str(folder / "runs.csv"), *written)
    header, *rows = (folder / "out.csv").read_text().splitlines()

    assert done.exit_code == 0
    assert header.split(",")[-3:] == [f"L[{name}] predicted" for name in OUTPUTS]
    assert float(rows[0].split(",")[-1]) == pytest.approx(noisy.predict(wide())[0, 2])


@pytest.mark.parametrize("law", [(), (str(M4),)], ids=["its own law", "a law"])
def test_claims_are_decided_for_each_label(law: tuple[str, ...], folder: Path):
    done = command(folder, "check", *law, "--fit", "fits.json", "--quiet")
    heads = [line for line in done.stdout.splitlines() if line.endswith("fitted")]

    assert done.returncode == 0
    assert heads == [f"mixing_m4 at {name}, fitted" for name in OUTPUTS]
    assert "CERTIFIED        L > c[books]" in done.stdout


def test_claims_of_another_law_are_refused(folder: Path):
    done = command(folder, "check", "chinchilla", "--fit", "fits.json")

    assert done.returncode == 2 and "is a fit of mixing_m4, not of chinchilla" in done.stderr
