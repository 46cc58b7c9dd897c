"""What is advised for a table of runs can be done with it: the grid determines the law."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest
from quick import without
from texts import lawdsl as command_line

from lawdsl.runners.tables.collect import RunsTable
from lawdsl.runners.tables.files import write_table
from lawdsl.runners.tables.recommendation import Advice, advise

STRUCTURAL = ("F0101", "F0105", "F0106", "F0108")
THREE_SHARES = ([20_640, 81_984], [40, 80, 120, 160, 200], [0.2, 0.5, 0.8])
RECIPE = Path(__file__).resolve().parent.parent / "runners/recipes/quick/sweep.toml"
GRIDS = {
    # sizes, steps, shares: the law that is advised
    "three shares": (*THREE_SHARES, "mixing.step"),
    "one run": ([20_640], [5, 10, 20, 40, 80, 160], [1 / 3], "mixing.step"),
    "shares alone": ([20_640], [200], [0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0], "mixing.two_domain"),
    "five shares, two sizes": ([20_640, 81_984], [100, 200], [0.1, 0.3, 0.5, 0.7, 0.9], "mixing.two_domain"),
    "sizes alone": ([10_000, 30_000, 90_000, 270_000, 810_000], [200], [0.3, 0.6], "mixing.size"),
    "all": (
        [20_000, 60_000, 180_000, 540_000],
        [50, 100, 200, 400, 800],
        [0.05, 0.2, 0.4, 0.6, 0.8, 1.0],
        "dcpt.l3",
    ),
}  # fmt: skip


def table(
    sizes: list[int], steps: list[int], shares: list[float], status: str = "done"
) -> RunsTable:
    """Losses of a law that has all three in it, with noise of 0.001."""
    rng = np.random.default_rng(1)
    grid = [(n, s, r) for n in sizes for r in shares for s in steps]
    n, step, r = (np.array(column, dtype=float) for column in zip(*grid, strict=True))
    tokens = 512 * step
    loss = 1.5 + 30 / n**0.35 + 30 * (0.3 + r**1.5) / tokens**0.4 + 0.5 / (r + 0.2) ** 0.7
    count = len(grid)
    columns = {
        "run": [f"{a}-{b}" for a, _, b in grid],
        "domain": ["code"] * count,
        "seed": [1] * count,
        "status": [status] * count,
        "N [param]": [int(x) for x in n],
        "D [token]": [int(x) for x in tokens],
        "step [step]": [int(x) for x in step],
        "r_code": r.tolist(),
        "L_code [nat/token]": (loss + rng.normal(0, 0.001, count)).tolist(),
    }
    smallest = f"setting D_min = {int(tokens.min())} unit token"
    return RunsTable(columns, (smallest,), len(sizes) * len(shares), ())


@pytest.mark.parametrize("name", without(GRIDS, ["all"]))  # of its advice: the test of phases
def test_the_law_that_is_advised_is_determined_by_the_grid(name: str, tmp_path: Path, monkeypatch):
    """The command as it is printed; `not trusted` for want of values is what it must not give."""
    sizes, steps, shares, law = GRIDS[name]
    made = table(sizes, steps, shares)
    monkeypatch.chdir(tmp_path)
    write_table(Path("my runs.csv"), made)
    advice = advise(made, Path("my runs.csv"), "code")
    assert advice is not None
    command = shlex.split(advice.command)
    assert command[:4] == ["lawdsl", "fit", law, "my runs.csv"]
    assert bool(advice.why) == (law != "dcpt.l3")
    if law == "dcpt.l3":
        command += ["--starts", "24"]
    assert command_line(*command[1:], "-o", "fit.json", "-q") in (0, 1)
    found = json.loads(Path("fit.json").read_text())
    codes = {d["code"] for d in found["diagnostics"]}
    assert not codes & set(STRUCTURAL)


def test_the_grid_of_the_quick_recipe_determines_a_law_of_the_share(tmp_path: Path, monkeypatch):
    """The losses of so short runs follow no law of the step; of the share they follow one."""
    sweep = tomllib.loads(RECIPE.read_text(encoding="utf-8"))
    shares = [mixture["code"] for mixture in sweep["grid"]["shares"]]
    every, last = sweep["evaluation"]["every"], sweep["training"]["steps"]
    sizes = [20_640, 82_240][: len(sweep["models"])]
    made = table(sizes, list(range(every, last + 1, every)), shares)
    monkeypatch.chdir(tmp_path)
    write_table(Path("runs.csv"), made)

    advice = advise(made, Path("runs.csv"), "code")

    assert advice is not None
    command = shlex.split(advice.command)
    assert command[:3] == ["lawdsl", "fit", "mixing.two_domain"]
    assert command_line(*command[1:], "-o", "fit.json", "-q") == 0
    fit = json.loads(Path("fit.json").read_text())
    # five shares determine three parameters, and hardly test them
    assert all(parameter["identified"] for parameter in fit["parameters"].values())
    assert [d["code"] for d in fit["diagnostics"]] == ["F0102"]


def test_why_it_is_not_the_joint_law_is_said_in_numbers():
    advice = advise(table(*THREE_SHARES), Path("runs.csv"), "code")
    assert advice == Advice(
        "lawdsl fit mixing.step runs.csv L=L_code S=step --where 'N = 20640'"
        " --where 'r_code = 0.2' --where 'seed = 1'",
        "dcpt.l3 takes 3 sizes, 3 numbers of tokens and 5 shares at least; these runs have 2, 5 and 3",
    )


def test_where_phases_are_mixed_one_is_fitted():
    """Rows at a constant rate, and ends of decays after the longest runs: the law that fits either."""
    whole = table(*THREE_SHARES)
    ends = [step == 200 for step in whole.columns["step [step]"]]
    phases = {"phase": ["end" if end else "stable" for end in ends]}
    mixed = RunsTable(whole.columns | phases, whole.notes, whole.runs, ())
    assert advise(mixed, Path("runs.csv"), "code").why.endswith("where phase = end")
    shares = table([20_640], [100, 200], [0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0])
    phases = {"phase": ["decay", "end"] * 7}
    advice = advise(RunsTable(shares.columns | phases, (), 7, ()), Path("runs.csv"), "code")
    assert advice is not None and "--where 'phase = end' --where 'N = 20640'" in advice.command
    every = table([20_000, 60_000, 180_000], [50, 100, 200, 400], [0.05, 0.2, 0.4, 0.6, 1.0])
    rows = len(every.columns["run"])
    for phase, law in (
        (["stable"] * 3 + ["end"], "mixing.two_domain"),
        (["end"] * 3 + ["decay"], "dcpt.l3"),
    ):
        columns = every.columns | {"phase": phase * (rows // 4)}
        advice = advise(RunsTable(columns, (), 15, ()), Path("runs.csv"), "code")
        assert advice is not None and advice.command.startswith(f"lawdsl fit {law} ")
        assert "--where 'phase = end'" in advice.command
    columns = every.columns | {"phase": ["stable"] * rows}
    advice = advise(RunsTable(columns, (), 15, ()), Path("runs.csv"), "code")
    assert advice is not None and "phase" not in advice.command


def test_too_few_of_everything_is_advised_nothing():
    advice = advise(table([20_640], [100, 200], [0.2, 0.5]), Path("runs.csv"), "code")
    assert advice is not None and advice.command == "" and "have 1, 2 and 2" in advice.why


def test_runs_that_are_not_done_do_not_count():
    assert advise(table(*THREE_SHARES, status="diverged"), Path("runs.csv"), "code") is None
    assert advise(table(*THREE_SHARES), Path("runs.csv"), "general") is None


def models_of_one_size(made: RunsTable, models: int) -> RunsTable:
    """A table of as many models, which differ by the corpus that they were trained on."""
    columns = {name: list(values) * models for name, values in made.columns.items()}
    names = [f"base-{number}" for number in range(models) for _ in range(made.rows)]
    return RunsTable(columns | {"model": names}, made.notes, made.runs * models, ())


@pytest.mark.parametrize(
    ("name", "fit"),
    [
        ("shares alone", "mixing.two_domain --where 'model = base-4'"),
        ("one run", "mixing.step S=step --where 'model = base-0'"),
        ("sizes alone", ""),
        ("all", "mixing.two_domain --where 'model = base-4'"),
    ],
)
def test_models_of_one_size_are_not_fitted_together(name: str, fit: str):
    sizes, steps, shares, _ = GRIDS[name]
    made = models_of_one_size(table(sizes, steps, shares), 5)
    advice = advise(made, Path("runs.csv"), "code")

    assert advice is not None
    assert advice.why == "dcpt.l3 takes one model of each size; these runs have several of one"
    words = advice.command.replace("lawdsl fit ", "").replace(" runs.csv L=L_code", "")
    assert words.replace(" r=r_code", "").startswith(fit) and bool(words) == bool(fit)


def test_of_a_table_of_several_domains_one_is_fitted(tmp_path: Path, monkeypatch, capsys):
    """The runs of another domain have no code; as r = 0 they would be one more mixture."""
    code = table([20_640], [200], [0.1, 0.2, 0.4, 0.6])
    others = table([20_640], [200], [0.0, 0.0, 0.0, 0.0])
    columns = {name: [*values, *others.columns[name]] for name, values in code.columns.items()}
    columns["domain"] = ["code"] * 4 + ["math"] * 4
    advice = advise(RunsTable(columns, code.notes, 8, ()), Path("runs.csv"), "code")
    assert advice is not None and advice.command == ""
    assert advice.why.endswith("these runs have 1, 1 and 4 where domain = code")

    more = table([20_640], [200], [0.05, 0.3, 0.5])
    columns = {name: [*values, *more.columns[name]] for name, values in columns.items()}
    columns["domain"][8:] = ["code"] * 3
    both = RunsTable(columns, code.notes, 11, ())
    monkeypatch.chdir(tmp_path)
    write_table(Path("runs.csv"), both)
    advice = advise(both, Path("runs.csv"), "code")
    assert advice is not None
    command = shlex.split(advice.command)
    assert command[:3] == ["lawdsl", "fit", "mixing.two_domain"]
    assert command[6:8] == ["--where", "domain = code"]
    assert command_line(*command[1:], "-o", "fit.json", "-q") == 0
    assert "fitted to 7 rows" in capsys.readouterr().out
