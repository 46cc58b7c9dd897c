"""Public tables with several domains, targets or models, for public_tables.py: each loss is a part by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]

MIXING = ("mixing.m1", "mixing.m2", "mixing.m4", "mixing.powers", "mixture.loglinear")
LONG = ("mixing.m1", "mixing.m2", "mixing.powers")
"""Laws with twice as many parameters as domains, or whose fits take long where there are many."""

CONTINUAL = ("dcpt.l1", "dcpt.l2", "dcpt.l3", "dcpt.l4", "dcpt.l5", "dcpt.forgetting")
GROWING = ("finetune.rectified", "family.shifted")


@dataclass(frozen=True)
class Part:
    """Rows of a public table, and those of its largest runs.

    Attributes:
        columns: names of laws' variables and outputs, each shape (rows,); one column may have several names.
        held_out: the rows to be predicted, shape (rows,).
        output: the columns that are an output.
        label: the validation domain of all rows, for laws with index sets; else empty.
        laws: the laws to be fitted; by default all without index sets that the columns feed.
        settings: settings of these laws.
        starts: the number of starts of a fit; None for the default.
    """

    columns: Mapping[str, Array]
    held_out: NDArray[np.bool_]
    output: tuple[str, ...] = ("L",)
    label: str = ""
    laws: tuple[str, ...] = ()
    settings: Mapping[str, float] = field(default_factory=dict)
    starts: int | None = None


def mixture(rows: pd.DataFrame, shares: list[str], loss: Array, label: str, *left_out: str) -> Part:
    """The losses on one validation domain; every fourth mixture is held out."""
    columns = {f"r[{name}]": rows[name].to_numpy(float) for name in shares}
    laws = tuple(law for law in MIXING if law not in left_out)
    held_out = np.arange(len(rows)) % 4 == 3
    return Part({**columns, "L": loss}, held_out, label=label, laws=laws, starts=6)


def three_domains(path: Path) -> Iterator[Part]:
    """410M models after 60,000 steps, the 32 mixtures of the paper."""
    table = pd.read_csv(path)
    table = table[(table["size"] == "410M") & (table["step"] == 60_000)].sort_values("run")
    for label, rows in table.groupby("valid_domain"):
        loss = rows["loss"].to_numpy(float)
        yield mixture(rows, ["r_github", "r_books3", "r_pilecc"], loss, str(label))


def five_groups(path: Path) -> Iterator[Part]:
    """410M models after 30,000 steps; the 22 validation domains in the five groups of the paper."""
    from test_catalogue_tables import FIVE, GROUPS

    weights = json.loads((path.parent / "valid_weight.json").read_text(encoding="utf-8"))
    table = pd.read_parquet(path)
    table = table[(table["size"] == "410M") & (table["step"] == 30_000)]
    shares = [f"r_{name}" for name in FIVE]
    wide = table.pivot_table(
        index=["run", *shares], columns="valid_domain", values="loss", observed=True
    ).reset_index()
    for name, group in zip(FIVE, GROUPS, strict=True):
        weight = np.array([weights[domain] for domain in group])
        loss = wide[group].to_numpy(float) @ weight / weight.sum()
        yield mixture(wide, shares, loss, name, "mixing.m1", "mixing.powers")


def seventeen_domains(path: Path) -> Iterator[Part]:
    """1M models; 512 mixtures are fitted, the other 256 predicted: three of 13 losses."""
    found = []
    for which in ("train", "test"):
        shares = pd.read_csv(path.parent / f"{which}_mixture_1m.csv").drop(columns="index")
        found.append((shares, pd.read_csv(path.parent / f"{which}_pile_loss_1m.csv")))
    shares = pd.concat([share for share, _ in found], ignore_index=True)
    shares = shares.div(shares.sum(axis=1), axis=0)
    losses = pd.concat([loss for _, loss in found], ignore_index=True)
    held_out = np.arange(len(shares)) >= len(found[0][0])
    laws = tuple(law for law in MIXING if law not in LONG)
    columns = {f"r[{name}]": shares[name].to_numpy(float) for name in shares}
    for label in ("pile_cc", "github", "wikipedia_en"):
        loss = losses[f"metric/the_pile_{label}_val_loss"].to_numpy(float)
        yield Part({**columns, "L": loss}, held_out, label=label, laws=laws, starts=3)


def fine_tuning(path: Path) -> Iterator[Part]:
    """Every fourth model; its two largest numbers of examples are held out."""
    table = pd.read_csv(path)
    for _, rows in list(table[table["D"] > 0].groupby("model"))[::4]:
        D, L = rows["D"].to_numpy(float), rows["L"].to_numpy(float)
        columns = {"D": D, "x": D, "L": L, "y": L}
        yield Part(columns, np.sort(D)[-2] <= D, ("L", "y"), laws=GROWING)


def continual(path: Path) -> Iterator[Part]:
    """Two sizes, the loss on either corpus by its own share; the last third of the tokens is held out."""
    table = pd.read_csv(path)
    table = table[(table["step"] > 0) & (table["size"] != "3M")]
    for corpus in ("domain", "general"):
        rows = table[table[f"r_{corpus}"] > 0]
        columns = {"N": rows["n_nonemb"] / 1e6, "D": rows["tokens"] / 1e6, "r": rows[f"r_{corpus}"]}
        columns["L"] = rows[f"loss_{corpus}"]
        arrays = {name: column.to_numpy(float) for name, column in columns.items()}
        D = arrays["D"]
        settings = {"D_min": float(D.min())}
        yield Part(arrays, 2 / 3 * D.max() < D, laws=CONTINUAL, settings=settings, starts=6)
