"""Designs: the criterion is exact, batches are nearly the best, and what is written can be run."""

from __future__ import annotations

import itertools
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sweeps import MACHINE, TEXT, made
from test_cli import document, lawdsl as command

import lawdsl
from lawdsl import LawdslError
from lawdsl.designing.design import design_for_question
from lawdsl.designing.runs import answers_as_targets
from lawdsl.designing.runs.batch import Hypothesis, greedy
from lawdsl.designing.runs.phases import PHASES, next_allowance
from lawdsl.designing.runs.posterior import LawPosterior, LawPrior, Points, Targets
from lawdsl.designing.runs.spread import grid_coordinates, spread_batch
from lawdsl.fitting.extrapolation.discrepancy import NoiseLevels
from lawdsl.fitting.extrapolation.kernel import kernel

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "laws" / "data" / "code_and_english.csv"
NOISE, RUN = 0.004, 0.003


def runs(seed: int = 0, sizes: int = 5, noise: float = NOISE) -> dict[str, np.ndarray]:
    """Runs of so many sizes, at 10 to 80 tokens for each parameter, by Chinchilla's law."""
    rng = np.random.default_rng(seed)
    N, ratio = (x.ravel() for x in np.meshgrid(np.geomspace(1e8, 3e9, sizes), [10, 20, 40, 80]))
    D = N * ratio
    L = (1.82 + 482 / N**0.348 + 2085 / D**0.366) * np.exp(noise * rng.standard_normal(len(N)))
    return {"N": N, "D": D, "L": L}


def some(table: dict[str, np.ndarray], chosen: Any) -> dict[str, np.ndarray]:
    return {name: values[chosen] for name, values in table.items()}


# ---- the criterion


def points(rng: np.random.Generator, count: int, runs: Any) -> Points:
    return Points(rng.normal(size=(count, 2)), rng.normal(size=(count, 3)), np.asarray(runs))


def dense_covariance(prior: LawPrior, a: Points, b: Points) -> np.ndarray:
    """The covariance of the docstring, written out."""
    total = a.jacobian @ prior.directions @ prior.directions.T @ b.jacobian.T
    total = total + prior.amplitude**2 * kernel(a.z, b.z)
    same = np.array([[x == y and x != -1 for y in b.runs] for x in a.runs])
    return total + prior.levels.run**2 * same


@pytest.mark.parametrize("width", [1, 3])
def test_drops_are_those_of_conditioning_one_large_gaussian(width: int):
    rng = np.random.default_rng(width)
    rows = points(rng, 7, -2 - np.arange(7) // 2)
    candidates = points(rng, 6, np.arange(6) // width)
    targets = Targets(points(rng, 4, [-1] * 4), rng.normal(size=(2, 4)))
    levels = NoiseLevels(NOISE, RUN)
    prior = LawPrior.of(rows.joined(candidates).joined(targets.points), 0.02, levels)
    weights = rng.uniform(0.5, 1, 7)
    numbers = np.arange(6).reshape(-1, width)
    law = LawPosterior(prior, rows, candidates, targets, weights)
    drops = law.drops(numbers)

    def variance(measured: Points, noise: np.ndarray) -> np.ndarray:
        c = dense_covariance(prior, measured, measured) + np.diag(noise)
        cross = targets.weights @ dense_covariance(prior, targets.points, measured)
        own = targets.weights @ dense_covariance(prior, targets.points, targets.points)
        return np.diag(own @ targets.weights.T - cross @ np.linalg.solve(c, cross.T))

    before = variance(rows, NOISE**2 / weights)
    assert law.target_variance == pytest.approx(before, rel=1e-6)
    for k, run in enumerate(numbers):
        more = candidates.at(run)
        noise = np.append(NOISE**2 / weights, np.full(width, NOISE**2))
        after = variance(rows.joined(more), noise)
        assert drops[:, k] == pytest.approx(before - after, rel=1e-6, abs=1e-12)
    law.observe(numbers[0])
    noise = np.append(NOISE**2 / weights, np.full(width, NOISE**2))
    after = variance(rows.joined(candidates.at(numbers[0])), noise)
    assert law.target_variance == pytest.approx(after, rel=1e-6)


def test_a_copy_is_not_conditioned_with_the_original():
    rng = np.random.default_rng(0)
    rows, candidates = points(rng, 5, -2 - np.arange(5)), points(rng, 4, np.arange(4))
    targets = Targets(points(rng, 1, [-1]), np.ones((1, 1)))
    prior = LawPrior.of(rows.joined(candidates), 0.02, NoiseLevels(NOISE, 0.0))
    law = LawPosterior(prior, rows, candidates, targets)
    before, copied = law.target_variance.copy(), law.copied()
    copied.observe(np.array([0, 1]))
    assert law.target_variance == pytest.approx(before)
    assert copied.target_variance < before


def hypothesis(seed: int, count: int) -> Hypothesis:
    rng = np.random.default_rng(seed)
    rows, candidates = points(rng, 6, -2 - np.arange(6)), points(rng, count, np.arange(count))
    targets = Targets(points(rng, 2, [-1, -1]), np.eye(2))
    prior = LawPrior.of(rows.joined(candidates).joined(targets.points), 0.02, NoiseLevels(NOISE, 0))
    return Hypothesis((LawPosterior(prior, rows, candidates, targets),), np.zeros(2))


def test_greedy_batches_lose_at_most_three_per_cent_of_the_best_ones():
    losses = []
    for seed in range(20):
        count, size = 9, 3
        alone, numbers = np.ones(count), np.arange(count)[:, None]
        start = hypothesis(seed, count)
        now = start.variance
        picks = greedy([start.copied()], numbers, alone, 3.0, most=size, power=0.0)
        reached = 2 - np.sum(picks[-1].variance)
        best = 0.0
        for chosen in itertools.combinations(range(count), size):
            trial = start.copied()
            trial.observe(np.array(chosen))
            best = max(best, 2 - float(np.sum(trial.variance / now)))
        losses.append(1 - reached / best)
    assert max(losses) <= 0.03, losses


def test_a_batch_keeps_to_its_budget_and_to_what_is_available():
    start = hypothesis(3, 8)
    costs = np.array([1.0, 2, 3, 4, 5, 6, 7, 8])
    available = costs != 2
    picks = greedy([start], np.arange(8)[:, None], costs, 10.0, available=available)
    chosen = [pick.candidate for pick in picks]
    assert 1 not in chosen and sum(costs[chosen]) <= 10 and len(set(chosen)) == len(chosen)


def test_spread_runs_are_far_from_one_another():
    columns = np.array([np.repeat([1.0, 10, 100], 3), np.tile([0.0, 0.5, 1.0], 3)])
    z = grid_coordinates(columns)
    corners = spread_batch(z, np.ones(9), 4.0, np.zeros((0, 2)))
    assert {tuple(z[i]) for i in corners} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert spread_batch(z, np.ones(9), 1.0, z[corners]) == [4]  # the middle


def test_batches_end_at_parts_of_the_budget():
    assert next_allowance(100.0, 0.0, 0.5) == pytest.approx(1.0)
    assert next_allowance(100.0, 0.0, 3.0) == pytest.approx(5.0)
    assert next_allowance(100.0, 99.9, 3.0) == 0.0
    spent, batches = 0.0, 0
    while allowance := next_allowance(100.0, spent, 0.5):
        spent, batches = spent + allowance, batches + 1
    assert spent == pytest.approx(100.0) and batches <= len(PHASES)


# ---- predictions


def test_the_batch_narrows_the_interval_as_much_as_it_says():
    table = runs()
    cheap = table["N"] * table["D"] < 3e19
    target = {"N": 3e9, "D": 2.4e11}
    design = lawdsl.design("chinchilla", table, runs=some(table, cheap), target=target, budget=1e22)
    (known,) = design.targets
    assert design.runs and known.half is not None and known.after is not None
    labels = [int(label.split()[1]) - 1 for label in design.labels]
    assert not cheap[labels].any()
    # the interval after the batch, whose measurements happen to fall as the law says
    measured = np.sort(np.append(np.flatnonzero(cheap), labels))
    fit = lawdsl.fit("chinchilla", some(table, measured), claims=False)
    band = fit.predict_with_errors({name: [x] for name, x in target.items()})
    half = np.expm1(np.log(band.high / band.low) / 2)[0]
    assert half == pytest.approx(known.after, rel=0.5)
    assert known.best is not None and known.best <= known.after < known.half


def test_a_precise_target_needs_no_further_run():
    table = runs(noise=1e-4)
    fit = lawdsl.fit("chinchilla", table, claims=False)
    target = {"N": 1e9, "D": 3e10}
    done = lawdsl.design(fit, runs(1, 8), target=target, budget=1e23, stop=0.05)
    assert done.certain and not done.runs
    more = lawdsl.design(fit, runs(1, 8), target=target, budget=1e23, stop=1e-6)
    assert not more.certain and more.runs


def test_units_and_order_of_candidates_do_not_matter():
    table = runs()
    cheap = table["N"] * table["D"] < 3e19
    fit = lawdsl.fit("chinchilla", some(table, cheap), claims=False)
    left = some(table, ~cheap)
    options: dict[str, Any] = {"target": {"N": 3e9, "D": 2.4e11}, "budget": 1e22}
    plain = lawdsl.design(fit, left, **options)
    order = np.random.default_rng(2).permutation(len(left["N"]))
    mixed = {"N [Gparam]": left["N"][order] / 1e9, "D [Gtoken]": left["D"][order] / 1e9}
    other = lawdsl.design(fit, mixed, **options)
    chosen = [run.point["D"] for run in plain.runs]
    assert [run.point["D"] * 1e9 for run in other.runs] == pytest.approx(chosen)


def test_rivals_share_the_criterion():
    table = runs()
    cheap = table["N"] * table["D"] < 1e20
    own = some(table, cheap)
    law = lawdsl.load("chinchilla")
    options: dict[str, Any] = {"runs": own, "target": {"N": 3e9, "D": 2.4e11}, "budget": 1e22}
    design = lawdsl.design(law, table, rivals="kaplan", **options)
    assert design.rivals == ("kaplan",) and design.runs
    with pytest.raises(LawdslError, match="N0104"):
        lawdsl.design(law, table, rivals="dcpt.l3", **options)


def test_the_first_runs_suffice_for_a_fit():
    table = runs(sizes=6)
    first = lawdsl.design("chinchilla", table, budget=1e22)
    assert first.method == "first" and len(first.runs) == 7
    chosen = [int(label.split()[1]) - 1 for label in first.labels]
    fit = lawdsl.fit("chinchilla", some(table, chosen), claims=False)
    assert all(p.identified for p in fit.parameters.values())
    assert first.cost < 0.2 * np.sum(6 * table["N"] * table["D"])


MISTAKES: dict[str, tuple[str, dict[str, Any]]] = {
    "a budget below the cheapest run": ("N0102", {"budget": 1e15}),
    "a budget that is none": ("N0102", {"budget": -1}),
    "a target without tokens": ("N0103", {"target": {"N": 1e9}}),
    "an unknown variable": ("N0103", {"target": {"N": 1e9, "D": 1e9, "r": 1}}),
    "no target": ("N0103", {"target": ()}),
    "a precision of 100 %": ("N0103", {"stop": 1.0}),
    "a cost of no column": ("N0108", {"cost": "flops"}),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_said(name: str):
    code, changed = MISTAKES[name]
    table = runs()
    fit = lawdsl.fit("chinchilla", table, claims=False, rolled_check=False)
    options = {"budget": 1e22, "target": {"N": 1e10, "D": 2e11}} | changed
    with pytest.raises(LawdslError) as error:
        lawdsl.design(fit, runs(1, 7), **options)
    assert [d.code for d in error.value.diagnostics] == [code]
    assert error.value.diagnostics[0].help


def test_candidates_outside_the_domain_are_refused_with_their_rows():
    table = runs()
    fit = lawdsl.fit("chinchilla", table, claims=False, rolled_check=False)
    bad = {"N": [1e9, -1.0], "D": [1e10, 1e10]}
    with pytest.raises(LawdslError, match="column N: -1.0 is outside the domain N > 0"):
        lawdsl.design(fit, bad, target={"N": 1e10, "D": 2e11}, budget=1e22)


# ---- answers


@pytest.fixture(scope="module")
def tradeoff() -> lawdsl.Asked:
    """The largest share of code that keeps the general loss, by fits to the smaller models."""
    law = lawdsl.load("dcpt.l3").with_settings(D_min=409_600e-9)
    where = ("phase = end", "step >= 400", "N < 4e5")
    fits = {
        loss: lawdsl.fit(
            law,
            DATA,
            where=where,
            columns={"L": f"L_{loss}", "r": f"r_{loss}"},
            starts=6,
            claims=False,
            rolled_check=False,
            intervals="delta",
        )
        for loss in ("code", "general")
    }
    return lawdsl.Asked("dcpt.tradeoff", general=fits["general"], domain=fits["code"])


def test_the_answer_to_a_question_is_a_target(tradeoff: lawdsl.Asked):
    given = {"N": 6.4e-4, "D": 1e-3, "L0": 3.75, "T": 0.02}
    design = design_for_question(tradeoff, given, DATA, budget=4e14)
    (target,) = design.targets
    answer = tradeoff.answer(given, discrepancy=0.02)
    assert target.name == "r_d" and target.value == pytest.approx(answer["r_d"])
    assert target.half is not None and target.best is not None and target.best < target.half
    assert design.runs and {"r_code", "r_general"} <= set(design.runs[0].point)


def test_runs_are_chosen_while_the_answer_is_open_but_nothing_is_certain(
    tradeoff: lawdsl.Asked, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(answers_as_targets, "COMPONENTS", 10**6)  # as if few draws had an answer
    given = {"N": 6.4e-4, "D": 1e-3, "L0": 3.75, "T": 0.02}
    design = design_for_question(tradeoff, given, DATA, budget=4e14, stop=0.9)
    assert design.runs and not design.certain
    assert [target.half for target in design.targets] == [np.inf, np.inf]


def test_a_question_has_first_runs_before_its_laws_can_be_fitted():
    words = ("--question", "dcpt.tradeoff", "N=638880param", "D=1024000token", "L0=3.75", "T=2%")
    words += ("--use", "general L=L_general r=r_general", "--use", "domain L=L_code r=r_code")
    words += ("--fix", "E=0.5", "--where", "phase = end", "--where", "step >= 400")
    shown = (*words, "--candidates", DATA, "--budget", "4e14", "--json")
    first = document(command("design", *shown, cwd=ROOT))["result"]
    assert first["method"] == "first" and len(first["runs"]) == 10


def test_a_question_with_numbers_has_no_design():
    loss = {"E": 1.8172, "A": 482.01, "B": 2085.43, "alpha": 0.3478, "beta": 0.3658}
    asked = lawdsl.Asked("chinchilla.allocation", loss=loss)
    with pytest.raises(LawdslError, match="N0104"):
        design_for_question(asked, {"C": 1e22}, runs(), budget=1e22)


# ---- the command line and sweeps


def write_csv(path: Path, table: dict[str, np.ndarray]) -> None:
    rows = zip(*table.values(), strict=True)
    lines = [",".join(table), *(",".join(f"{x:.10g}" for x in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def test_the_loop_ends_with_exit_code_0(tmp_path: Path):
    pool = runs(sizes=6, noise=0.001)
    write_csv(tmp_path / "pool.csv", some(pool, slice(None)))
    shown = ("--candidates", "pool.csv", "--budget", "2e21", "--json")
    first = document(command("design", "chinchilla", *shown, "-o", "next.csv", cwd=tmp_path))
    measured = [int(run["label"].split()[1]) - 2 for run in first["result"]["runs"]]
    target = ("--target", "N=3Gparam D=120B", "--stop", "2%", "--runs", "runs.csv")
    codes, halves = [], []
    for _ in range(8):
        write_csv(tmp_path / "runs.csv", some(pool, measured))
        done = command("design", "chinchilla", *target, *shown, cwd=tmp_path)
        result = json.loads(done.stdout)["result"]
        codes.append(done.returncode)
        halves.append(result["targets"][0]["half"])
        if done.returncode == 0 or not result["runs"]:
            break
        measured += [int(run["label"].split()[1]) - 2 for run in result["runs"]]
    assert codes[-1] == 0 and set(codes[:-1]) <= {1}, (codes, halves)
    assert halves[-1] <= 0.02
    predicted = result["targets"][0]["value"]
    truth = 1.82 + 482 / 3e9**0.348 + 2085 / 1.2e11**0.366
    assert abs(predicted / truth - 1) <= 0.02


def test_a_report_has_the_next_runs(tmp_path: Path):
    table = runs()
    cheap = table["N"] * table["D"] < 3e19
    write_csv(tmp_path / "pool.csv", table)
    fit = lawdsl.fit("chinchilla", some(table, cheap), claims=False)
    (tmp_path / "fit.json").write_text(json.dumps(fit.to_json()))
    shown = ("--candidates", "pool.csv", "--budget", "2e21", "--target", "N=3B D=240B", "--json")
    done = command("design", "fit.json", *shown, cwd=tmp_path)
    (tmp_path / "design.json").write_text(done.stdout)
    command("report", "fit.json", "design.json", "-o", "report.md", cwd=tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "## The next runs" in text and "(<design-design.svg>)" in text
    for run in json.loads(done.stdout)["result"]["runs"]:
        assert run["label"] in text
    (line,) = [line for line in text.splitlines() if line.startswith("lawdsl design fit.json")]
    again = command(*shlex.split(line.partition(" > ")[0])[1:], cwd=tmp_path)
    assert json.loads(again.stdout) == json.loads(done.stdout)
    assert "lawdsl report fit.json design.json -o report.md" in text


def test_a_printed_design_is_drawn_by_its_own_command(tmp_path: Path):
    printed = {"schema": 1, "ok": True, "command": "design", "result": {}, "diagnostics": []}
    (tmp_path / "design.json").write_text(json.dumps(printed))
    failed = command("plot", "design.json", cwd=tmp_path)
    assert failed.returncode == 3
    assert "this is what `lawdsl design --json` printed" in failed.stderr
    assert "`lawdsl design … --plot FILE`" in failed.stderr


def selection(folder: Path, *labels: str) -> Path:
    path = folder / "next.toml"
    path.write_text(f'extends = "sweep.toml"\nonly = {json.dumps(labels)}\n')
    return path


def test_a_selection_has_those_runs_of_its_sweep(tmp_path: Path):
    from lawdsl.runners.sweeps.sweep import read_sweep

    whole = read_sweep(made(tmp_path))
    labels = [cell.label for cell in whole.cells]
    chosen = read_sweep(selection(tmp_path, labels[4], labels[1]))
    assert [cell.label for cell in chosen.cells] == [labels[4], labels[1]]
    assert (chosen.folder, chosen.corpora) == (whole.folder, whole.corpora)
    with pytest.raises(LawdslError, match="did you mean `small_code=0_seed=1`"):
        read_sweep(selection(tmp_path, "small_code=0_seed=2"))
    with pytest.raises(LawdslError, match="R0102"):
        (tmp_path / "next.toml").write_text('extends = "sweep.toml"\nony = []\n')
        read_sweep(tmp_path / "next.toml")


def test_the_cells_of_a_sweep_are_candidates(tmp_path: Path):
    from sweeps import inspect

    from lawdsl.runners.tables.candidates import pool_of
    from lawdsl.runners.tables.selection import selection_text

    path = made(tmp_path, TEXT.replace("seeds = [1]", "seeds = [1, 2]"))
    pool = pool_of(path, MACHINE, inspect=inspect)
    assert len(pool) == 12 and pool.done is not None and not pool.done.any()
    assert pool.table.numbers("D").max() == 20 * 4 * 8
    assert set(pool.table.numbers("r_code").round(4)) == {0, 0.3333, 1}
    design = lawdsl.design("kaplan", pool, budget=float(pool.costs.sum()))
    text = selection_text(design, path, tmp_path / "next.toml")
    (tmp_path / "next.toml").write_text(text)
    from lawdsl.runners.sweeps.sweep import read_sweep

    cells = read_sweep(tmp_path / "next.toml").cells
    assert [cell.label for cell in cells] == design.labels
