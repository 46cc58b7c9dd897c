"""The table of runs: columns are the laws' variables, and nothing that was measured is lost in it."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_worker
import numpy as np
import pytest
import sweeps
from click.testing import CliRunner
from collected_runs import TEXT, fake_runs, folder, work
from quick import some

import lawdsl
from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError
from lawdsl.data.read import read_table
from lawdsl.runners.run.model_facts import Experts
from lawdsl.runners.tables.checkpoint_sampling import read_sampling
from lawdsl.runners.tables.collect import RunsTable, collect
from lawdsl.runners.tables.files import write_table

SHARES = ("0", "0.2", "0.5", "0.8", "1")
WIDE = TEXT.replace(
    '{code = 0}, {code = "1/3"}, {code = 1}', ", ".join(f"{{code = {s}}}" for s in SHARES)
).replace(
    "[grid]",
    '[[models]]\nname = "mid"\nconfig = {hidden_size = 300}\ninitialization = "width-scaled"\n[grid]',
)

ran = pytest.fixture(fake_runs)


def column(table: RunsTable, name: str) -> list[Any]:
    (header,) = (h for h in table.columns if h.partition(" ")[0] == name)
    return list(table.columns[header])


def of_run(table: RunsTable, label: str, name: str) -> list[Any]:
    pairs = zip(column(table, "label"), column(table, name), strict=True)
    return [value for own, value in pairs if own == label]


def codes(table: RunsTable) -> list[str]:
    return [d.code for d in table.warnings]


def test_columns_are_the_variables_of_the_laws_with_their_units(ran):
    table = collect([ran()])
    headers = list(table.columns)
    assert headers[:13] == [
        "run", "label", "sweep", "domain", "model", "seed", "status", "N [param]",
        "N_total [param]", "D [token]", "step [step]", "r_code", "r_general",
    ]  # fmt: skip
    for name in ("L", "se", "L0", "dL"):
        assert f"{name}_code [nat/token]" in headers and f"{name}_general [nat/token]" in headers
    assert {"U_code [token]", "T", "learning_rate", "S1", "S2", "mfu"} - set(headers) == {"mfu"}
    assert table.rows == 6 * 4 and table.runs == 6 and table.warnings == ()
    assert set(column(table, "domain")) == {"code"} and set(column(table, "status")) == {"done"}
    assert [n for n in dict.fromkeys(column(table, "N"))] == [100_000, 1_000_000]


def test_rows_are_sorted_by_size_share_and_step(ran):
    table = collect([ran()])
    rows = list(zip(*(column(table, n) for n in ("N", "r_code", "step")), strict=True))
    assert rows == sorted(rows)


def test_shares_are_those_asked_for_and_those_drawn_stand_beside_them(ran):
    path = ran()
    label = "small_code=0.3333_seed=1"
    table = collect([path])
    assert of_run(table, label, "r_code") == [1 / 3] * 4
    assert of_run(table, label, "drawn_code") == [7 / 20, 13 / 40, 20 / 60, 27 / 80]
    assert of_run(table, "small_code=0_seed=1", "r_code") == [0.0] * 4
    assert of_run(table, "small_code=1_seed=1", "r_general") == [0.0] * 4
    sums = np.add(column(table, "r_code"), column(table, "r_general"))
    assert np.allclose(sums, 1, rtol=0, atol=1e-15)


def test_step_0_stands_in_columns_of_its_own_and_in_rows_if_asked_for(ran):
    path = ran()
    table, whole = collect([path]), collect([path], step_0=True)
    assert min(column(table, "step")) == 5 and min(column(table, "D")) == 5 * 32
    assert whole.rows == table.rows + 6
    label = "small_code=0.3333_seed=1"
    first = of_run(whole, label, "L_code")[0]
    assert of_run(whole, label, "step")[0] == 0
    assert of_run(table, label, "L0_code") == [first] * 4
    differences = np.subtract(of_run(table, label, "L_code"), first)
    assert of_run(table, label, "dL_code") == list(differences)
    assert table.notes[1] == whole.notes[1] == "setting D_min = 160 unit token"


def test_a_method_of_sampling_thins_each_run_and_leaves_d_min_and_k_alone(ran, tmp_path: Path):
    path = ran(TEXT + '[table]\ndlc = {model = "small", shares = {code = 1}, steps = 5}\n')
    dense = collect([path])
    table = collect([path], step_0=True, sampling=read_sampling("sparse:every=10"))
    assert of_run(table, "small_code=1_seed=1", "step") == [0, 10, 20]
    assert table.rows == 6 * 3 and (table.sampled_from, dense.sampled_from) == (6 * 5, None)
    assert "sampled: sparse:every=10, 18 of 30 evaluations" in table.notes
    assert dense.notes[-1] == table.notes[-1] == "setting D_min = 160 unit token"
    assert set(column(table, "k1")) == set(column(dense, "k1")) != {None}

    words = ["collect", str(path), "-o", str(tmp_path / "thin.csv"), "--sample"]
    said = CliRunner().invoke(cli, [*words, "M2:every=10"])
    assert said.exit_code == 0 and "12 of 24 evaluations of 6 runs" in said.output
    refused = CliRunner().invoke(cli, [*words, "M2"])
    assert "R0806" in str(refused.exception) and "every 25 steps" in str(refused.exception)


@pytest.mark.parametrize("form", ["parquet", "csv", "sqlite"])
def test_what_is_written_is_what_is_read(form: str, ran, tmp_path: Path):
    table = collect([ran()], notes=["Manuals and Python.", "2 cores,\none evening"])
    assert table.notes[1:4] == ("Manuals and Python.", "2 cores,", "one evening")
    write_table(tmp_path / f"runs.{form}", table)
    read = read_table(tmp_path / f"runs.{form}")
    assert read.notes == table.notes
    assert len(read) == table.rows
    assert [f"{n} [{read.units[n]}]" if n in read.units else n for n in read.columns] == list(
        table.columns
    )
    for name in ("N", "D", "r_code", "L_code", "se_general", "tokens_per_second"):
        assert read.numbers(name).tolist() == column(table, name)
    assert read.texts("label") == column(table, "label")


@pytest.mark.parametrize("form", some(["parquet", "csv", "sqlite"], 1))
def test_a_law_is_fitted_to_it_as_it_is(form: str, ran, tmp_path: Path):
    path = tmp_path / f"runs.{form}"
    write_table(path, collect([ran(WIDE)]))
    quick = {"starts": 6, "intervals": "delta", "rolled_check": False}
    found = lawdsl.fit("dcpt.l3", path, L="L_code", r="r_code", **quick)
    planted = {name: getattr(fake_worker, name.upper()) for name in found.values}
    assert found.values == pytest.approx(planted, rel=1e-6)
    assert found.law.settings == {"D_min": pytest.approx(160e-9)}
    assert all(claim.verdict == "certified" for claim in found.claims)


def test_the_general_loss_is_fitted_to_its_own_share(ran, tmp_path: Path):
    write_table(tmp_path / "runs.parquet", collect([ran(WIDE)]))
    found = lawdsl.fit(
        "dcpt.l3", tmp_path / "runs.parquet", L="L_general", r="r_general", starts=6, claims=False
    )
    assert found.metrics.r2 == pytest.approx(1)


def test_a_setting_that_was_chosen_overrules_what_the_table_says(ran, tmp_path: Path):
    path = tmp_path / "runs.csv"
    write_table(path, collect([ran(WIDE)]))
    found = lawdsl.fit(
        "dcpt.l3", path, L="L_code", r="r_code", settings={"D_min": 1e-8}, starts=2, claims=False
    )
    assert found.law.settings == {"D_min": 1e-8}
    with pytest.raises(LawdslError, match=r"--set D_min=1\.6e-07, the smallest here"):
        lawdsl.fit("dcpt.l3", path, L="L_code", r="r_code", settings={"D_min": 1.0})


def test_runs_that_are_not_done_keep_their_rows_and_their_status(ran):
    path = ran(**{"small_code=0_": {"diverges": 12}, "large_code=0_": {"memory": 1}})
    begun = folder(path, "small_code=1_seed=1")
    (begun / "done.json").unlink()
    rows = (begun / "points.jsonl").read_text()
    (begun / "points.jsonl").write_text("".join(rows.splitlines(True)[:3]) + rows[:40])
    table = collect([path])
    assert of_run(table, "small_code=0_seed=1", "status") == ["diverged"] * 2
    assert of_run(table, "small_code=1_seed=1", "status") == ["unfinished"] * 2
    assert of_run(table, "large_code=0_seed=1", "status") == []
    said = [d.message.partition(":")[0] for d in table.warnings]
    assert said == ["1 run diverged", "1 run ran out of memory", "1 run not finished"]
    assert {d.severity for d in table.warnings} == {"warning"}


def test_losses_that_are_no_numbers_are_left_out_and_counted(ran):
    path = ran()
    points = folder(path, "small_code=0_seed=1") / "points.jsonl"
    rows = [json.loads(line) for line in points.read_text().splitlines()]
    rows[3]["losses"]["code"]["loss"] = "nan"
    points.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = collect([path])
    assert table.rows == 23 and codes(table) == ["R0802"]
    assert table.warnings[0].message.startswith("1 evaluation")
    assert all(map(math.isfinite, column(table, "L_code")))


def test_a_damaged_row_is_refused_with_its_line(ran):
    path = ran()
    points = folder(path, "small_code=0_seed=1") / "points.jsonl"
    points.write_text(points.read_text().replace('"step"', '"step', 1))
    with pytest.raises(LawdslError, match="points.jsonl, line 1"):
        collect([path.parent / "runs"])


DLC = '[table.dlc]\nsteps = 1\nmodel = "small"\nshares = {code = "1/3"}\n[run]'


def test_k1_k2_and_k3_are_those_of_the_run_that_is_named(ran):
    path = ran(TEXT.replace("[run]", DLC).replace("\nevery = 5", "\nevery = 1"))
    for table in (collect([path]), collect([path.parent / "runs"])):
        losses = of_run(table, "small_code=0.3333_seed=1", "L_code")
        before = of_run(table, "small_code=0.3333_seed=1", "L0_code")[0]
        k3 = ((losses[10] - losses[9]) - (losses[0] - before)) / 10
        assert set(column(table, "k1")) == {losses[0]}
        assert set(column(table, "k2")) == {before - losses[4]}
        assert set(column(table, "k3")) == {k3}


def test_what_the_reference_run_did_not_measure_is_not_known(ran):
    table = collect([ran(TEXT.replace("[run]", DLC.replace("steps = 1", "steps = 2")))])
    assert not any(h.startswith("k1") for h in table.columns)  # step 2 is between evaluations
    assert len(set(column(table, "k2"))) == 1  # steps 0 and 10 were measured
    assert not any(h.startswith("k3") for h in table.columns)


def test_of_a_sweep_only_the_runs_are_collected_that_it_asks_for_now(ran):
    path = ran()
    path.write_text(TEXT.replace("{code = 0}, ", "{code = 0.5}, "))
    table = collect([path])
    assert set(column(table, "r_code")) == {1 / 3, 1.0}
    assert codes(table) == ["R0802"] and "2 of 6 runs" in table.warnings[0].message
    assert collect([path.parent / "runs"]).runs == 6


def test_runs_with_the_router_loss_of_their_model_are_those_of_the_sweep(
    ran, monkeypatch: pytest.MonkeyPatch
):
    """The file does not state it; where it does, it must be that of the runs."""
    plain, experts = sweeps.inspect, Experts(8, 2, 80, (), 0.02)
    monkeypatch.setattr(
        sweeps, "inspect", lambda sources: [replace(f, experts=experts) for f in plain(sources)]
    )
    path = ran()
    assert collect([path]).runs == 6
    path.write_text(TEXT.replace("[training]\n", "[training]\nrouter_loss = 0.02\n"))
    assert collect([path]).runs == 6
    path.write_text(TEXT.replace("[training]\n", "[training]\nrouter_loss = 0.5\n"))
    with pytest.raises(LawdslError, match="R0801"):
        collect([path])


def test_a_run_that_was_made_twice_under_two_labels_is_in_the_table_once(ran):
    path = ran()
    once = collect([path])
    made_twice = folder(path, "small_code=1_seed=1")
    shutil.copytree(made_twice, made_twice.with_name(f"a_{made_twice.name}"))
    (made_twice / "points.jsonl").write_text("")
    assert collect([path]).columns == once.columns


def test_two_runs_of_one_description_are_not_mixed_up(ran):
    path = ran()
    sweeps.corpus(path.parent / "corpora" / "code", 2100)
    work(path)
    with pytest.raises(LawdslError) as error:
        collect([path])
    (found,) = error.value.diagnostics
    assert found.code == "R0803" and len(found.notes) == 2
    with pytest.raises(LawdslError, match="different corpora are called code"):
        collect([path.parent / "runs"])


def test_a_run_is_there_once_however_often_it_is_named(ran):
    path = ran()
    runs = path.parent / "runs"
    one = folder(path, "small_code=0_seed=1")
    assert collect([path, runs, one]).rows == collect([path]).rows
    assert collect([one]).runs == 1


def test_domains_of_their_own_have_columns_in_common(ran, tmp_path: Path):
    path = ran()
    other = TEXT.replace('"runs"', '"runs-math"').replace("code", "math")
    for name in ("math", "math-validation"):
        sweeps.corpus(tmp_path / "corpora" / name)
    second = tmp_path / "math.toml"
    second.write_text(other)
    work(second)
    table = collect([path, second])
    assert table.rows == 48 and set(column(table, "domain")) == {"code", "math"}
    for name in ("code", "math"):
        label = f"small_{name}=0.3333_seed=1"
        assert of_run(table, label, "r_domain") == [1 / 3] * 4
        assert of_run(table, label, "L_domain") == of_run(table, label, f"L_{name}")
    assert of_run(table, "small_code=1_seed=1", "L_math") == [None] * 4
    assert of_run(table, "small_code=1_seed=1", "r_math") == [0.0] * 4


def test_a_run_of_another_sweep_has_the_columns_of_each_domain_that_it_serves(ran, tmp_path: Path):
    """Runs on general text alone, done for a sweep without domain; one for two domains as well."""
    for name in ("math", "math-validation"):
        sweeps.corpus(tmp_path / "corpora" / name)
    validation = '[validation]\nmath = "corpora/math-validation"'
    text = TEXT.replace("[validation]", validation).replace('rest = "general"\n', "")
    alone = "shares = [{general = 1}]"
    grid = next(line for line in TEXT.splitlines() if line.startswith("shares"))
    first = ran(text.replace(grid, alone))
    tables = []
    for name in ("code", "math"):
        columns = f'\n[table]\ndomain = "{name}"\ngeneral = "general"\n'
        mixed = f"shares = [{{general = 1}}, {{general = 0.5, {name} = 0.5}}]"
        path = tmp_path / f"{name}.toml"
        of_domain = text.replace(grid, mixed) + columns
        path.write_text(
            of_domain.replace('\ncode = "corpora/code"', f'\n{name} = "corpora/{name}"')
        )
        work(path)
        tables.append(path)
    assert column(collect([first]), "run")  # done before the others
    table = collect(tables)

    assert set(column(table, "general")) == {"general"}
    label = "small_general=1_seed=1"
    pairs = zip(of_run(table, label, "domain"), of_run(table, label, "r_domain"), strict=True)
    assert set(pairs) == {("code", 0.0), ("math", 0.0)}
    assert None not in column(table, "L_domain")


COSINE = sweeps.TEXT
ENDS = COSINE.replace('"dense"\nevery = 5', '"list"\nsteps = []')  # the last steps alone


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        (COSINE, "18 evaluations"),  # of 6 runs, after steps 5, 10 and 15
        (COSINE.replace('name = "large"', 'name = "large"\nsteps = 10'), "12 evaluations"),
        (TEXT.replace('name = "large"', 'name = "large"\nschedule = "cosine"'), "9 evaluations"),
        (ENDS, ""),
        (ENDS.replace('name = "large"', 'name = "large"\nsteps = 40'), ""),
        (TEXT, ""),
        (TEXT.replace('name = "large"', 'name = "large"\nsteps = 10'), ""),
        (COSINE.replace("batch = 4", "batch = 4\nfinal = 1"), ""),  # it does not fall
    ],
)
def test_rows_where_the_rate_falls_are_said_and_ends_are_not(text: str, warned: str, ran):
    path = ran(text)
    found = [d for d in collect([path]).warnings if d.code == "R0804"]
    assert bool(found) == bool(warned)
    if warned:
        assert warned in found[0].message and "phase = end" in found[0].help
        assert "cosine over 20 steps" in found[0].notes[0]


def test_rows_at_a_constant_rate_and_ends_of_decays_are_of_two_kinds(ran):
    text = TEXT.replace(
        'name = "large"', 'name = "large"\nschedule = "warmup-stable-decay"\ndecay = 5'
    )
    table = collect([ran(text)])
    (found,) = table.warnings
    assert (
        found.code == "R0804" and "21 evaluations" in found.message and "3 at the" in found.message
    )
    by_step = {1_000_000: ["stable"] * 3 + ["end"], 100_000: ["stable"] * 4}
    for n, phases in by_step.items():
        own = [
            p for p, of in zip(column(table, "phase"), column(table, "N"), strict=True) if of == n
        ]
        assert own == 3 * phases
    assert set(column(table, "decay_steps")) == {0, 5}
