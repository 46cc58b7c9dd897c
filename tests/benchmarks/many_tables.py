"""Many tables with laws fitted to their smaller runs, for work on how wrong laws are beyond them.

Tables of one source are a family: their errors are alike, and what is learned is judged on families
that it has not seen. Fits are made once, and what a discrepancy needs of them is stored as arrays.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from extrapolation import ROOT, SHARED, WORLDS as KNOWN_WORLDS, Replay, shipped_and_shared, world
from numpy.typing import NDArray
from planted import law_of

import lawdsl
from lawdsl.comparing.largest_first import RATIOS, LargestRuns, largest_runs
from lawdsl.core.diagnostics import LawdslError
from lawdsl.data.read import read_table
from lawdsl.fitting.extrapolation.law_error import log_residuals
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.result import Fit
from lawdsl.law.law import Law, load

Array = NDArray[np.float64]

# cost of the cheapest run that is held out over that of the dearest one fitted: RATIOS are judged,
# the other CUTS predict the larger fitted runs from the smaller ones
CUTS = (*RATIOS, 30.0, 100.0)
MIN_ROWS = 5
FIRST_SEED = 5000  # of simulated worlds: those of extrapolation.py begin at 0

# laws that do not ship
TEXTS = {
    "curve": "variable S > 0\nparameter E, B, beta > 0\nL = E + B/S^beta",
    "power": "variable S > 0\nparameter B, beta > 0\nL = B/S^beta",
    "rectified": "variable S > 0\nparameter E, B, beta, S0 > 0\nL = E + B/(S0 + S^beta)",
    "joint": "variable N, D > 0\nparameter E, A, B, alpha, beta > 0\n"
    "L = E + ((A/N)^(alpha/beta) + B/D)^beta",
    "coupled": "variable N, D > 0\nparameter E, A, B, alpha, beta, eta > 0\n"
    "L = E + (A/N^alpha + B/D^beta)^eta",
    "share": "variable D > 0\nvariable r in [0, 1]\n"
    "parameter E, B, beta, eta, C, gamma, epsilon > 0\n"
    "L = E + B*r^eta/D^beta + C/(r + epsilon)^gamma",
    "additive": "variable D > 0\nvariable r in [0, 1]\nparameter E, B, beta, C, gamma, epsilon > 0\n"
    "L = E + B/D^beta + C/(r + epsilon)^gamma",
    "streams": "variable N, P > 0\nparameter E, A, alpha, k > 0\n"
    "L = E + (A/(N*(k*log(P) + 1)))^alpha",
    "experts": "variable N, P > 0\nparameter E, K, b > 0\nparameter a, c\n"
    "L = E + K*P^a*N^(-b)*exp(c*log(P)*log(N))",
    "annealed": "variable S1 > 0\nvariable S2 >= 0\nparameter E, A, alpha, C > 0\n"
    "L = E + A/S1^alpha - C*S2",
}
RIVALS = {
    "chinchilla": ("joint", "coupled"),
    "curve": ("power", "rectified"),
    "rectified": ("curve",),
    "share": ("additive",),
    "dcpt.l3": ("dcpt.l1", "dcpt.l5"),
    "dcpt.l1": ("dcpt.l3", "dcpt.l5"),
}


@dataclass(frozen=True)
class Study:
    """A table of finished runs, and the family that it belongs to.

    Attributes:
        family: tables of one source.
        table: its rows, with its law.
        by_row: whether the dearest rows are held out, not the largest runs with all their rows.
    """

    family: str
    table: Replay
    by_row: bool = False

    @property
    def largest(self) -> LargestRuns:
        """The rows that are held out."""
        return largest_runs(self.table.cost) if self.by_row else self.table.largest


@dataclass(frozen=True, eq=False)
class FittedCut:
    """A law fitted to the runs of a table below a cut, with the law at all its rows.

    Attributes:
        columns: the law's variables, shape (variables, rows).
        shares: which of them have a domain within [0, 1], shape (variables,).
        log_loss: measured, shape (rows,).
        log_law: the fitted law, shape (rows,).
        jacobian: of its logarithm by the logarithms of the parameters, shape (rows, parameters).
        cost: shape (rows,).
        held_out: shape (rows,).
        used: the rows that a discrepancy is conditioned on, numbers of rows.
        runs: the run of each of them; empty where each row is a run.
        half: half the interval of the curve, were the law right, shape (rows,), in the logarithm.
        noise: standard deviation of the residuals.
        quantile: of Student's t, for half a 95 % interval.
        floor: the position of the irreducible loss E among the parameters, -1 without one.
    """

    columns: Array
    shares: NDArray[np.bool_]
    log_loss: Array
    log_law: Array
    jacobian: Array
    cost: Array
    held_out: NDArray[np.bool_]
    used: NDArray[np.int64]
    runs: NDArray[np.int64]
    half: Array
    noise: float
    quantile: float
    floor: int

    @cached_property
    def determined(self) -> NDArray[np.bool_]:
        """The rows at which the fit determines the loss, shape (rows,)."""
        return np.isfinite(self.half) & np.isfinite(self.log_law)

    def save(self, path: Path) -> None:
        """Write it as arrays."""
        with path.open("wb") as file:
            np.savez(file, **{f.name: np.asarray(getattr(self, f.name)) for f in fields(self)})

    @classmethod
    def load(cls, path: Path) -> FittedCut:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            values: dict[str, Any] = {f.name: stored[f.name] for f in fields(cls)}
        for name in ("noise", "quantile"):
            values[name] = float(values[name])
        values["floor"] = int(values["floor"])
        return cls(**values)


def law_named(name: str) -> Law:
    """A law of TEXTS, or one that ships."""
    return law_of(TEXTS[name], name) if name in TEXTS else load(name)


def fitted_cut(study: Study, law_name: str, ratio: float) -> FittedCut | None:
    """Fit a law to the runs of a study below a cut; None where they do not determine a fit."""
    table, split = study.table, study.largest
    held_out, fitted = split.held_out, split.fitted(ratio)
    law = law_named(law_name)
    rows: dict[str, Any] = {name: values[fitted] for name, values in table.columns.items()}
    settings = table.settings if law_name.startswith("dcpt.") else None
    options: dict[str, Any] = {"claims": False, "rolled_check": False}
    options["settings"] = settings
    if table.runs is not None and len(set(table.runs[fitted])) > 1:
        rows["run"], options["run"] = table.runs[fitted], "run"
    if np.sum(fitted) < max(MIN_ROWS, len(law.parameters) + 1):
        return None
    try:
        fit = lawdsl.fit(law, rows, **options)
    except LawdslError:
        return None
    assert isinstance(fit, Fit)
    if fit.spread is None or fit.rows is None:
        return None
    points = {name: values for name, values in table.columns.items() if name != "L"}
    band = fit.predict_with_errors(points, discrepancy=0)
    free = fit.law_of_spread()
    names = tuple(q.name for q in free.variables)
    values = fit.values | {name: fixed.value for name, fixed in fit.held.items()}
    theta = np.array([values[q.name] for q in free.parameters])
    columns = np.array([table.columns[name] for name in names])
    problem = problem_of(free, columns, table.columns["L"], replace(free.objective, log=True))
    with np.errstate(all="ignore"):  # a law beyond its rows may have no value
        residuals, jacobian = log_residuals(problem, theta)
        half = np.log(band.high / band.values)
    dof = max(int(np.sum(fitted)) - len(fit.parameters), 1)
    rows_of = {row: k for k, row in enumerate(zip(*columns, table.columns["L"], strict=True))}
    kept = zip(*(fit.rows.columns[name] for name in names), fit.rows.target, strict=True)
    used = np.array([rows_of[row] for row in kept])
    runs = fit.rows.run_numbers
    return FittedCut(
        columns,
        np.array([q.is_share for q in free.variables]),
        np.log(table.columns["L"]),
        np.log(table.columns["L"]) + residuals,
        jacobian,
        split.cost,
        held_out,
        used,
        np.zeros(0, dtype=np.int64) if runs is None else runs,
        half,
        float(np.sqrt(np.sum(residuals[fitted] ** 2) / dof)),
        fit.spread.quantile(0.95),
        next((k for k, q in enumerate(free.parameters) if q.name == "E"), -1),
    )


def fit_all(studies: Iterator[Study], folder: Path) -> None:
    """Fit the laws of studies at every cut, and store what is not stored yet.

    Args:
        studies: tables with their families.
        folder: for the arrays: FAMILY/TABLE/LAW/CUT.npz.
    """
    for study in studies:
        law = study.table.law
        place = folder / _file_name(study.family) / _file_name(study.table.name)
        for position, law_name in enumerate((law, *RIVALS.get(law, ()))):
            law_folder = place / f"{position} {law_name}"
            if law_folder.exists():
                continue
            cuts = {ratio: fitted_cut(study, law_name, ratio) for ratio in CUTS}
            law_folder.mkdir(parents=True)
            for ratio, cut in cuts.items():
                if cut is not None:
                    cut.save(law_folder / f"{ratio:g}.npz")


def _file_name(name: str) -> str:
    return name.replace("/", " ")


def all_studies() -> Iterator[Study]:
    """The tables in ../shared/data, where it is present, and those that ship."""
    for table in shipped_and_shared():
        family = {"comma": "isoflops", "dclm": "isoflops"}.get(table.name, table.name.split(",")[0])
        yield Study(family, table)
    yield from _shipped()
    if SHARED.exists():
        yield from _two_variables()
        yield from _curves()
        yield from _mixtures()
        yield from _other_laws()


def worlds(count: int) -> Iterator[Study]:
    """Simulated tables, of which the law is right or nearly so: `count` of each kind."""
    for kind, loss in (KNOWN_WORLDS | OTHER_WORLDS).items():
        for seed in range(FIRST_SEED, FIRST_SEED + count):
            yield Study(f"world, {kind}", world(kind, loss, seed))


# ---- tables


def _shipped() -> Iterator[Study]:
    """Shares and tokens at one model size."""
    data = ROOT / "laws" / "data"
    for name in ("cosine", "proportional_decays", "exposure", "cross_domain"):
        table = read_table(data / f"{name}.csv")
        family = "cross_domain" if name == "cross_domain" else "code_and_english"
        ends = np.asarray(table.texts("phase")) == "end"
        N, D, models = table.numbers("N"), table.numbers("D"), np.asarray(table.texts("model"))
        domains = np.asarray(table.texts("domain"))
        for size in np.unique(N):
            for domain in np.unique(domains):
                for model in np.unique(models) if name == "exposure" else [None]:
                    kept = ends & (N == size) & (domains == domain)
                    kept &= (models == model) if model is not None else True
                    for loss, share in (("general", "general"), (domain, domain)):
                        columns = {
                            "D": D[kept] / 1e9,
                            "r": table.numbers(f"r_{share}")[kept],
                            "L": table.numbers(f"L_{loss}")[kept],
                        }
                        title = f"{name} {size:g} {domain} {model or ''}, {loss}"
                        yield Study(family, Replay(title, "share", columns, D[kept], D[kept]))


def _two_variables() -> Iterator[Study]:
    """Losses by size and tokens."""
    table = read_table(SHARED / "loss_to_loss" / "pairs.csv")
    N, D, C = (table.numbers(name) for name in ("params", "tokens", "iso_flop"))
    for corpus in ("fineweb", "starcoder"):
        columns = {"N": N, "D": D, "L": table.numbers(f"loss_{corpus}")}
        yield Study("loss_to_loss", Replay(corpus, "chinchilla", columns, 6 * N * D, C))
    table = read_table(SHARED / "steplaw_dense" / "runs.csv")
    N, D, loss = (table.numbers(name) for name in ("N", "D", "loss_smooth"))
    pairs = sorted(set(zip(N, D, strict=True)))
    best = np.array([np.min(loss[(N == n) & (D == d)]) for n, d in pairs])
    sizes, tokens = np.array(pairs).T
    columns = {"N": sizes, "D": tokens, "L": best}
    yield Study("steplaw", Replay("steplaw", "chinchilla", columns, 6 * sizes * tokens))
    table = read_table(SHARED / "datablations" / "runs_296_all.csv")
    N, D, U, loss = (table.numbers(name) for name in ("N", "D", "U", "loss"))
    kept = (D <= U) & (loss < 5)
    columns = {"N": N[kept], "D": D[kept], "L": loss[kept]}
    yield Study("datablations", Replay("one epoch", "chinchilla", columns, 6 * (N * D)[kept]))
    yield from _sizes_and_steps()


def _sizes_and_steps() -> Iterator[Study]:
    """Mean losses of mixtures at four model sizes, of which the largest is held out."""
    import pandas as pd

    parameters = {"70M": 18915328, "160M": 85056000, "305M": 201541632, "410M": 302311424}
    frame = pd.read_parquet(SHARED / "mixing_laws" / "5Mix.parquet")
    shares = [name for name in frame.columns if name.startswith("r_")]
    means = frame.groupby([*shares, "size", "step"], as_index=False)["loss"].mean()
    means = means[means["size"].isin(parameters)]
    for k, (_, rows) in enumerate(means.groupby(shares)):
        if k % 4 or len(set(rows["size"])) < len(parameters):
            continue
        sizes = rows["size"].astype(str).to_numpy()
        N = np.array([parameters[size] for size in sizes], dtype=np.float64)
        steps = rows["step"].to_numpy(np.float64)
        columns = {"N": N, "D": steps, "L": rows["loss"].to_numpy(np.float64)}
        title = f"5Mix {k}"
        yield Study("5Mix", Replay(title, "chinchilla", columns, N * steps, N, sizes))


def _curves() -> Iterator[Study]:
    """Losses by one variable."""
    table = read_table(SHARED / "nmt_examples" / "points.csv")
    x, loss = table.numbers("examples"), table.numbers("log_perplexity")
    for model in np.unique(table.texts("model")):
        rows = np.asarray(table.texts("model")) == model
        yield Study("nmt_examples", _curve(model, "curve", x[rows], loss[rows]))
    table = read_table(SHARED / "finetune_wmt19" / "runs.csv")
    x, loss = table.numbers("D"), table.numbers("L")
    for model in np.unique(table.texts("model"))[::3]:
        rows = (np.asarray(table.texts("model")) == model) & (x > 0)
        yield Study("finetune", _curve(model, "rectified", x[rows], loss[rows]))
    table = read_table(SHARED / "mixing_laws" / "3Mix.csv")
    table = table.keep(np.asarray(table.texts("step")) != "")
    x, loss = table.numbers("step"), table.numbers("loss")
    labels = np.asarray(table.texts("run"))
    for run in np.unique(labels):
        steps = np.unique(x[labels == run])
        if len(steps) < 60:
            continue
        mean = np.array([np.mean(loss[(labels == run) & (x == step)]) for step in steps])
        # checkpoints even in the logarithm, after the learning rate has warmed up
        nearest = np.unique(
            np.argmin(np.abs(steps[:, None] - np.geomspace(2000, steps[-1], 24)), 0)
        )
        yield Study("3Mix", _curve(run, "curve", steps[nearest], mean[nearest]))


def _curve(name: str, law: str, x: Array, loss: Array) -> Replay:
    return Replay(name, law, {"S": x, "L": loss}, x)


def _mixtures() -> Iterator[Study]:
    """Losses of continual pre-training by share."""
    table = read_table(SHARED / "mixing_laws" / "ct.csv")
    table = table.keep(np.asarray(table.texts("run")) != "base")
    step, loss = table.numbers("step"), table.numbers("loss")
    domains, runs = np.asarray(table.texts("valid_domain")), np.asarray(table.texts("run"))
    for domain, share in (("python", "r_python"), ("Pile-CC", "r_pile"), ("ArXiv", "r_pile")):
        rows = domains == domain
        columns = {"D": step[rows], "r": table.numbers(share)[rows], "L": loss[rows]}
        replay = Replay(
            f"Pile and Python, {domain}", "share", columns, step[rows], None, runs[rows]
        )
        yield Study("Pile and Python", replay, by_row=True)
    table = read_table(SHARED / "cpt_mini" / "runs.csv")
    table = table.keep(table.numbers("step") > 0)
    for loss in ("domain", "general"):
        columns = {
            "N": table.numbers("n_nonemb") / 1e9,
            "D": table.numbers("tokens") / 1e9,
            "r": table.numbers(f"r_{loss}"),
            "L": table.numbers(f"loss_{loss}"),
        }
        yield Study("cpt_mini", _checkpoints(f"cpt_mini, {loss}", columns, table.texts("run")))


def checkpoints_of(file: Path) -> Iterator[Study]:
    """A table of `lawdsl collect` on two corpora, code and general, with checkpoints of its runs."""
    table = read_table(file)
    # earlier ones are within the warm-up
    table = table.keep(table.numbers("step") >= 100)
    for loss in ("code", "general"):
        columns = {
            "N": table.numbers("N") / 1e9,
            "D": table.numbers("D") / 1e9,
            "r": table.numbers(f"r_{loss}"),
            "L": table.numbers(f"L_{loss}"),
        }
        yield Study(file.stem, _checkpoints(f"{file.stem}, {loss}", columns, table.texts("run")))


def _checkpoints(name: str, columns: dict[str, Array], runs: Sequence[str]) -> Replay:
    """Runs with checkpoints, of which the largest model is held out."""
    settings = {"D_min": float(np.min(columns["D"]))}
    cost = columns["N"] * columns["D"]
    return Replay(name, "dcpt.l1", columns, cost, columns["N"], np.asarray(runs), settings)


def _other_laws() -> Iterator[Study]:
    """Laws of other variables."""
    table = read_table(SHARED / "parscale" / "runs.csv")
    N, P, loss = table.numbers("N") / 1e9, table.numbers("P"), table.numbers("loss")
    for corpus in ("stack", "pile"):
        rows = np.asarray(table.texts("corpus")) == corpus
        columns = {"N": N[rows], "P": P[rows], "L": loss[rows]}
        # N grows a little with P
        size = np.round(N[rows], 1)
        yield Study("parscale", Replay(f"parscale {corpus}", "streams", columns, size, size))
    table = read_table(SHARED / "upcycled" / "runs.csv")
    N, P, loss = (table.numbers(name) for name in ("N_active", "P", "loss"))
    for group in np.unique(table.texts("group")):
        rows = np.asarray(table.texts("group")) == group
        columns = {"N": N[rows], "P": P[rows], "L": loss[rows]}
        yield Study("upcycled", Replay(group, "experts", columns, N[rows]))
    table = read_table(SHARED / "annealing" / "runs.csv")
    step, size = table.numbers("step"), table.numbers("size_M")
    schedule = np.asarray(table.texts("schedule"))
    for model in (25, 100):
        rows = np.flatnonzero((size == model) & (step > 3000))[::8]
        columns = {name: table.numbers(name)[rows] for name in ("S1", "S2")}
        columns["L"] = table.numbers("loss")[rows]
        replay = Replay(
            f"annealing {model}M", "annealed", columns, step[rows], None, schedule[rows]
        )
        yield Study("annealing", replay, by_row=True)


# ---- further simulated worlds: other truths, and breaks


def _other_truth(N: Array, D: Array, rng: np.random.Generator) -> Array:
    """The law is right, with other exponents and prices."""
    alpha, beta = rng.uniform(0.25, 0.6, 2)
    at_center = rng.uniform(0.1, 0.6, 2)
    return (
        rng.uniform(1, 3) + at_center[0] * (N / 1e9) ** -alpha + at_center[1] * (D / 2e10) ** -beta
    )


def _broken(N: Array, D: Array, rng: np.random.Generator) -> Array:
    """The exponent of D changes by up to 0.1 within the data."""
    d = np.log10(D / 2e10)
    change = rng.uniform(-0.1, 0.1) * np.maximum(d - rng.uniform(-0.7, 0.7), 0)
    return 1.82 + 482 / N**0.348 + 2085 / D**0.366 * 10.0**-change


OTHER_WORLDS = {"right, other truth": _other_truth, "broken": _broken}
