"""How well a law ranks mixtures that is fitted to a fifth of them, for each way to choose that fifth.

The law ranks others: mixtures that were held out (RegMix), all mixtures at the next model size (5Mix),
or a random quarter (3Mix).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from extrapolation import SHARED, Replay
from planted import law_of
from replayed_pools import MORE_ROWS, STARTS, Array, Mask, Pool, bought
from rich.console import Console

import lawdsl
from lawdsl.reporting.terminal import show_rows

FIFTH = 0.2
RANK_TOLERANCE = 0.01


@dataclass(frozen=True)
class Mixtures:
    """A table of mixtures, some of which are ranked by a law that is fitted to a fifth of the others.

    Attributes:
        table: the mixtures; its cost is 1 for each.
        law: that is fitted.
        ranked: those that are ranked, shape (rows,); None for a random quarter.
        starts: of a fit.
        seeds: at most so many replays.
    """

    table: Replay
    law: lawdsl.Law
    ranked: Mask | None
    starts: int = STARTS
    seeds: int = 1000

    def pool(self, seed: int) -> Pool:
        """The candidates of a replay, in a random order."""
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(self.table.cost))
        ranked = self.ranked
        if ranked is None:
            ranked = np.zeros(len(order), dtype=np.bool_)
            ranked[order[: len(order) // 4]] = True
        return Pool(
            self.table, self.law, order[~ranked[order]], order[ranked[order]], rng, self.starts
        )


def mixtures() -> Iterator[Mixtures]:
    """The tables of mixtures in ../shared/data."""
    if not SHARED.exists():
        return
    import pandas as pd

    frame = pd.read_parquet(SHARED / "mixing_laws" / "5Mix.parquet")
    frame = frame[(frame["step"] == 30_000) & frame["size"].isin(list(SIZES))]
    shares = [name for name in frame.columns if name.startswith("r_")]
    for domain in sorted(frame["valid_domain"].unique())[::4]:
        rows = frame[frame["valid_domain"] == domain]
        columns = _shares_of(rows[shares].to_numpy(float)) | {
            "N": rows["size"].map(SIZES).to_numpy(float),
            "L": rows["loss"].to_numpy(float),
        }
        largest = (rows["size"] == max(SIZES, key=lambda name: SIZES[name])).to_numpy()
        table = Replay(f"5Mix, {domain}", "", columns, np.ones(len(rows)))
        yield Mixtures(table, law_of(_exponential(len(shares) - 1, sizes=True)), largest)
    frame = pd.read_csv(SHARED / "mixing_laws" / "3Mix.csv")
    frame = frame[(frame["step"] == 60_000) & (frame["size"] == "410M")]
    shares = [name for name in frame.columns if name.startswith("r_")]
    for domain in sorted(frame["valid_domain"].unique()):
        rows = frame[frame["valid_domain"] == domain]
        columns = _shares_of(rows[shares].to_numpy(float)) | {"L": rows["loss"].to_numpy(float)}
        table = Replay(f"3Mix, {domain}", "", columns, np.ones(len(rows)))
        yield Mixtures(table, law_of(_exponential(len(shares) - 1)), None)
    parts = [
        pd.read_csv(SHARED / "regmix" / f"{kind}_{what}_1m.csv").drop(columns="index")
        for what in ("mixture", "pile_loss")
        for kind in ("train", "test")
    ]
    whole = np.vstack([part.to_numpy(float) for part in parts[:2]])
    loss = np.concatenate([part[REGMIX_LOSS].to_numpy(float) for part in parts[2:]])
    columns = _shares_of(whole / whole.sum(axis=1, keepdims=True), every=True) | {"L": loss}
    ranked = np.arange(len(loss)) >= len(parts[0])
    table = Replay("RegMix, pile_cc", "", columns, np.ones(len(loss)))
    # one start suffices for these powers, whose fit takes many seconds
    yield Mixtures(table, law_of(_powers(whole.shape[1])), ranked, starts=1, seeds=4)


SIZES = {"70M": 18.9e6, "160M": 85e6, "305M": 201e6, "410M": 302e6}  # without embeddings
REGMIX_LOSS = "metric/the_pile_pile_cc_val_loss"


def _shares_of(shares: Array, every: bool = False) -> dict[str, Array]:
    """Columns r1, r2, ...; without the last, which the others determine."""
    count = shares.shape[1] if every else shares.shape[1] - 1
    return {f"r{i + 1}": shares[:, i] for i in range(count)}


def _exponential(count: int, sizes: bool = False) -> str:
    """The law M4 of the Data Mixing Laws with that many free shares, and a power of the size."""
    r = [f"r{i + 1}" for i in range(count)]
    t = [f"t{i + 1}" for i in range(count)]
    exponent = " + ".join(f"{a}*{b}" for a, b in zip(t, r, strict=True))
    lines = [f"variable {', '.join(r)} in [0, 1]", f"parameter {', '.join(t)}"]
    lines += ["parameter E, k > 0", *(["variable N > 0", "parameter A, alpha > 0"] * sizes)]
    return "\n".join([*lines, f"L = E + {'A/N^alpha + ' * sizes}k*exp({exponent})"])


def _powers(count: int) -> str:
    """The law `mixing.powers` of one loss, with that many shares."""
    numbers = range(1, count + 1)
    lines = [
        f"variable {', '.join(f'r{i}' for i in numbers)} in [0, 1]",
        "parameter E >= 0",
        f"parameter w, {', '.join(f'C{i}' for i in numbers)} > 0",
        f"parameter {', '.join(f'g{i}' for i in numbers)} in [0.1, 1]",
    ]
    total = " + ".join(f"C{i}*r{i}^g{i}" for i in numbers)
    return "\n".join([*lines, f"L = E + 1/(w + {total})", "minimize squared(log(L))"])


def replay_ranks(
    tables: Sequence[Mixtures], seeds: int, methods: Sequence[str], out: Console
) -> None:
    """Replay tables of mixtures, and print the rank correlations."""
    rows, total = [], np.zeros((len(methods), 2))
    for each in tables:
        start, pools = time.process_time(), [each.pool(s) for s in range(min(seeds, each.seeds))]
        found = np.zeros((len(methods), len(pools)))
        # the order of candidates does not matter to a fit: where the ranked rows do not change, one
        # fit to all is that of each seed
        fits = pools if each.ranked is None else pools[:1]
        full = np.array([pool.rank_correlation(range(len(pool.rows))) for pool in fits])
        for k, method in enumerate(methods):
            for j, pool in enumerate(pools):
                (chosen,) = bought(pool, method, [_fifth(pool)])
                found[k, j] = pool.rank_correlation(chosen)
            reached = np.mean(found[k] >= full - RANK_TOLERANCE)
            total[k] += np.mean(found[k]) - np.mean(full), reached
        texts = [
            f"{mean:.3f} ({n})"
            for mean, n in zip(
                np.mean(found, axis=1), np.sum(found >= full - RANK_TOLERANCE, axis=1), strict=True
            )
        ]
        cells = (each.table.name, len(pools), len(pools[0].rows), f"{np.mean(full):.3f}")
        rows.append([*cells, *texts, f"{time.process_time() - start:.0f}"])
    differences = [f"{mean:+.3f} ({100 * share:.0f} %)" for mean, share in total / len(tables)]
    rows.append(["mean difference", "", "", "", *differences, ""])
    out.print(
        f"\nrank correlation by a fifth of the runs (in how many seeds at most {RANK_TOLERANCE} below that by all)"
    )
    show_rows(["mixtures", "seeds", "runs", "all runs", *methods, "s CPU"], rows, out)


def _fifth(pool: Pool) -> float:
    """A fifth of the candidates, or the fewest to which the law is fitted at first."""
    count = max(round(FIFTH * len(pool.rows)), len(pool.law.parameters) + MORE_ROWS)
    return count / len(pool.rows)
