"""Rows that break what a law presupposes are reported, and clean tables are not."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from clean_tables import premise_codes, shipped_tables, simulated_tables
from planted import grid, law_of

import lawdsl
from lawdsl.data.size_ranks import agreement_text, rank_agreement, rank_correlations

ROOT = Path(__file__).resolve().parent.parent
COSINE = ROOT / "laws" / "data" / "cosine.csv"

Columns = Mapping[str, object]


def curve(**more: object) -> dict[str, object]:
    """Two sizes, nine D each: runs of checkpoints unless columns say otherwise."""
    columns: dict[str, object] = grid(N=np.array([1e8, 1e9]), D=1e9 * np.arange(1.0, 10.0))
    n, d = np.asarray(columns["N"]), np.asarray(columns["D"])
    columns["L"] = 1.7 + 480 / n**0.35 + 2000 / d**0.37
    return {**columns, **more}


def sizes() -> np.ndarray:
    return np.asarray(curve()["N"])


def length() -> np.ndarray:
    return np.asarray(curve()["D"])


def cosine_rate() -> np.ndarray:
    return 3e-4 * (0.1 + 0.45 * (1 + np.cos(np.pi * length() / 9e9)))


RUN = [f"run-{n:g}" for n in sizes()]


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"Run ID": RUN, "LearningRate": cosine_rate()}, "D0141"),
        ({"run": RUN, "learning-rate": cosine_rate()}, "D0141"),
        ({"lr": cosine_rate()}, "D0141"),
        ({"run_name": RUN, "LR Schedule": ["Cosine"] * 18}, "D0141"),
        ({"run": RUN, "schedule": ["WSD"] * 18}, "D0141"),
        ({"Phase": ["decay"] * 17 + ["end"]}, "D0141"),
        ({"phase": ["stable"] * 9 + ["end"] * 9}, "D0141"),
        ({"scheduler": ["linear"] * 18, "step": length(), "total_steps": [9e9] * 18}, "D0141"),
        ({"Tokenizer": ["gpt2"] * 9 + ["llama"] * 9}, "D0142"),
        ({"vocabSize": [32000] * 9 + [128256] * 9}, "D0142"),
        ({"epochs": [1, 1, 8] * 6}, "D0144"),
        ({"Unique Tokens": [2e9] * 18}, "D0144"),
        ({"U": [1e9] * 18}, "D0144"),
    ],
)
def test_a_broken_premise_is_reported_once(columns: Columns, code: str):
    assert premise_codes("chinchilla", curve(**columns)) == [code]


@pytest.mark.parametrize(("unique", "codes"), [(2.0, ["D0144"]), (200.0, [])])
def test_a_column_of_unique_tokens_has_its_unit_in_its_name(unique: float, codes: list[str]):
    columns = curve(unique_tokens_B=[unique] * 18)
    columns["D [Gtoken]"] = columns.pop("D") / 1e9
    assert premise_codes("chinchilla", columns) == codes


@pytest.mark.parametrize(
    "columns",
    [
        {"lr": 1e-3 * (sizes() / 1e8) ** -0.2},  # a peak rate for each size
        {"lr": 0.01 * length() ** -0.1, "run": [str(i) for i in range(18)]},  # a run for each row
        {"peak_lr": cosine_rate()},
        {"schedule": ["cosine"] * 18, "run": [str(i) for i in range(18)]},
        {"schedule": ["constant"] * 18, "run": RUN},
        {"phase": ["end"] * 18},
        {"phase": ["train", "eval"] * 9, "run": RUN},
        {"tokenizer": ["gpt2"] * 18, "vocab_size": [50257] * 18},
        {"vocab_size": [50304] * 9 + [50432] * 9},  # padded to other multiples of 128
        {"tokenizer": ["gpt2"] * 17 + [""]},
        {"epochs": [1] * 18},
        {"epochs": [3] * 18},
        {"epoch": [0.1 * i for i in range(10)] * 1 + [0.5] * 8},
        {"unique_tokens": [2e10] * 18},
        {"U": ["left", "right"] * 9},
        {"warmup": [2000] * 18},
    ],
)
def test_a_clean_table_is_not_reported(columns: Columns):
    assert premise_codes("chinchilla", curve(**columns)) == []


def test_the_curves_of_runs_show_a_decay():
    """Without a column of rates: the loss falls faster again where a linear decay ends the runs."""
    many = grid(seed=np.arange(5), D=1e9 * np.arange(1.0, 21.0))
    d, rng = many["D"], np.random.default_rng(0)
    flat = 2 + 2000 / d**0.37 + 1e-4 * rng.normal(size=len(d))
    runs = {"run": [f"s{i}" for i in many["seed"]], "S": d / 1e6}
    decayed = flat - 0.4 * np.maximum(0, (d - 12e9) / 8e9) ** 1.5

    assert premise_codes("mixing.step", {**runs, "L": decayed}) == ["D0141"]
    assert premise_codes("mixing.step", {**runs, "L": flat}) == []


def test_a_law_with_the_variable_has_its_premise():
    with_vocabulary = law_of(
        'variable N > 0\nvariable V > 0 "vocabulary size"\nparameter E, A, a, B, b > 0\n'
        "L = E + A/N^a + B/V^b"
    )
    table = curve(V=[32000] * 9 + [128256] * 9, tokenizer=["a"] * 9 + ["b"] * 9)
    by_tokenizer = law_of(
        "index t over tokenizer\nvariable D > 0 unit token\nparameter E[t], A[t], a[t] > 0\n"
        "L[t] = E[t] + A[t]/D^a[t]"
    )

    assert premise_codes(with_vocabulary, table) == []
    assert not premise_codes(by_tokenizer, table)
    assert premise_codes("repeated", curve(U=[1e9] * 18)) == []


def test_predictions_for_repeated_data_are_reported():
    fit = lawdsl.fit("chinchilla", curve(), claims=False, rolled_check=False)
    d = np.array([2e9, 8e9])

    _, once = fit.predict_with_warnings({"N": [1e9, 1e9], "D": d, "epochs": [1, 1]})
    _, repeated = fit.predict_with_warnings({"N": [1e9, 1e9], "D": d, "unique_tokens": [1e9, 1e9]})

    assert "D0144" not in {d.code for d in once}
    (found,) = (d for d in repeated if d.code == "D0144")
    assert "2 of 2 rows have seen data more than once, up to 8 epochs" in found.message


def test_turning_points_are_those_of_a_warm_up(tmp_path: Path):
    t = np.linspace(2.0, 100.0, 25)
    loss = 0.05 * t**0.4 - 0.01 * t**0.7 + 0.001 * np.random.default_rng(0).normal(size=25)
    table = {"T": t, "dL_general": loss, "warmup_steps": [500] * 25}

    fit = lawdsl.fit("cmr.general", table)
    fit.save(tmp_path / "general.json")
    answer = lawdsl.solve("cmr.general_peak", general=fit)

    found = [d for d in fit.diagnostics if d.code == "D0143"]
    assert "warm-up of the learning rate, here warmup_steps = 500" in found[0].message
    assert "D0143" in {d.code for d in answer.diagnostics}


@pytest.mark.parametrize(("term", "part"), [("log(r)", "log(r)"), ("1/r^s", "1/r^s")])
def test_rows_at_0_are_named_with_the_part_of_the_formula(term: str, part: str):
    law = law_of(f"variable r in [0, 1]\nparameter E, a, s > 0\nL = E + a*{term} + s*r")
    r = np.array([0, 0.1, 0.2, 0.5, 0, 0.8, 1])

    with pytest.raises(lawdsl.LawdslError) as error:
        lawdsl.fit(law, {"r": r, "L": 3 - 0.5 * r})

    (found,) = error.value.diagnostics
    assert found.code == "F0107" and f"2 rows with r = 0: `{part}`" in found.message
    assert found.notes == ("rows 1, 5",) and "--where 'r > 0'" in (found.help or "")


def test_a_start_at_0_without_a_value_is_named():
    law = law_of(
        "variable r in [0, 1]\nparameter E, a, s > 0\nparameter e >= 0\nL = E + a/(r + e)^s"
    )
    r = np.repeat(np.linspace(0, 1, 12), 2)
    table = {"r": r, "L": 2 + 0.3 / (r + 0.1) ** 0.5}

    fit = lawdsl.fit(law, table, starts={"E": 2, "a": 0.3, "s": 0.5, "e": 0})

    (found,) = (d for d in fit.diagnostics if d.code == "F0106")
    assert "starts with e = 0" in found.message and "(e + r)^s" in found.message


def test_ranks_of_mixtures_agree_as_far_as_they_do():
    assert rank_correlations(np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4])) == pytest.approx(
        (0.8, 2 / 3)
    )
    mixtures = [(f"m{i}",) for i in range(5)] * 3
    sizes = np.repeat([1e6, 1e7, 1e8], 5)
    losses = np.array([1, 2, 3, 4, 5, 1, 2, 3, 5, 4, 5, 4, 3, 2, 1.0])

    found = rank_agreement(mixtures, [()] * 15, sizes, losses)

    assert found is not None and found.sizes == (1e6, 1e8) and found.kendall == -1
    assert "5 mixtures at N = 1e+06 and 1e+08: Spearman -1.00" in agreement_text(found, "N")
    assert rank_agreement(mixtures[:5], [()] * 5, sizes[:5], losses[:5]) is None


def test_shipped_and_simulated_tables_break_no_premise():
    tables = [*shipped_tables(), *simulated_tables()]

    assert len(tables) >= 40
    assert {
        name: found for name, law, table in tables if (found := premise_codes(law, table))
    } == {}


def test_the_middle_of_the_shipped_cosine_runs_is_reported_however_columns_tell(tmp_path: Path):
    lines = [line for line in COSINE.read_text().splitlines() if not line.startswith("#")]
    rows = [row for row in csv.DictReader(lines) if row["r_code"] == "0.1"]
    for dropped in ((), ("phase",), ("phase", "learning_rate"), ("phase", "run", "schedule")):
        kept = [name for name in rows[0] if name not in dropped]
        path = tmp_path / "cosine.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, kept, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
        assert premise_codes("chinchilla", path, {"L": "L_code"}) == ["D0141"], dropped
