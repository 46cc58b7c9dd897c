"""Single fits beside ensembles on released mixtures: errors on held-out mixtures over ten splits.

    python tests/benchmarks/ensembles.py --data ../shared/data/mixing_laws --case overall-2 --members 10

The tables are those of Data Mixing Laws (Ye et al. 2024): 5Mix.parquet with valid_weight.json, and
3Mix.csv. Cases: `overall-K`, the overall loss of the 26 mixtures of five domains under
`mixing.implicit` with K hidden domains, 6 held out; `LABEL-K`, a domain of the 32 mixtures of three
domains under the same law, 8 held out; `LABEL-m4`, that domain under `mixing.m4`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import lawdsl

KINDS = ("bag", "subbag", "starts", "boost")
SPLITS = 10


def overall(folder: Path) -> tuple[pd.DataFrame, int]:
    """The overall loss of each of the 26 mixtures, and the number to hold out."""
    weights = json.loads((folder / "valid_weight.json").read_text(encoding="utf-8"))
    table = pd.read_parquet(folder / "5Mix.parquet")
    table = table[(table["size"] == "70M") & (table["step"] == 30_000)]
    shares = [name for name in table.columns if name.startswith("r_")]
    wide = table.pivot_table(
        index=["run", *shares], columns="valid_domain", values="loss", observed=True
    )
    s = np.array([weights[name] for name in wide.columns])
    runs = wide.reset_index()[shares].assign(L=wide.to_numpy(float) @ (s / s.sum()))
    return runs, 6


def one_domain(folder: Path, label: str) -> tuple[pd.DataFrame, int]:
    """The loss of one domain at each of the 32 mixtures, and the number to hold out."""
    table = pd.read_csv(folder / "3Mix.csv")
    table = table[(table["size"] == "410M") & (table["step"] == 60_000)]
    table = table[table["valid_domain"] == label].reset_index(drop=True)
    shares = [name for name in table.columns if name.startswith("r_")]
    return table[shares].assign(L=table["loss"]), 8


def law_of(case: str, folder: Path) -> Path:
    """The law of a case, written to a folder."""
    name = "mixing.m4" if case == "m4" else "mixing.implicit"
    text = Path(lawdsl.load(name).declarations.text.name).read_text(encoding="utf-8")
    path = folder / f"own{case}.law"
    text = text.replace(name, path.stem)
    if case != "m4":
        text = text.replace("1..30", f"1..{case}")
    path.write_text(text, encoding="utf-8")
    return path


def held_out(rows: int, count: int) -> Iterator[NDArray[np.bool_]]:
    """The rows that each split holds out."""
    draws = np.random.default_rng(0)
    for _ in range(SPLITS):
        yield np.isin(np.arange(rows), draws.choice(rows, count, replace=False))


def errors(
    case: str, data: Path, kinds: list[str], members: int, starts: int
) -> dict[str, list[float]]:
    """Method -> the mean absolute error on the held-out mixtures of each split."""
    label, _, kind = case.rpartition("-")
    table, count = overall(data) if label == "overall" else one_domain(data, label)
    columns = {"r": "r_*"}
    if kind == "m4":
        table = table.assign(validation=label)
    off: dict[str, list[float]] = {name: [] for name in ("mean", "single", *kinds)}
    with tempfile.TemporaryDirectory() as folder:
        law = law_of(kind, Path(folder))
        for held in held_out(len(table), count):
            seen, unseen = table[~held], table[held]
            measured = unseen["L"].to_numpy(float)
            off["mean"].append(float(np.abs(seen["L"].mean() - measured).mean()))
            for name in kinds:
                ensemble = lawdsl.fit_ensemble(
                    law,
                    seen,
                    f"{name}:{members}",
                    columns=columns,
                    starts=starts,
                    claims=False,
                    rolled_check=False,
                )
                off[name].append(float(np.abs(ensemble.predict(unseen) - measured).mean()))
            off["single"].append(float(np.abs(ensemble.fit.predict(unseen) - measured).mean()))
    return off


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--case", action="append", required=True)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--starts", type=int, default=4)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # verdicts are not compared here
    for case in options.case:
        began = time.process_time()
        off = errors(
            case, options.data, options.kind or list(KINDS), options.members, options.starts
        )
        print(f"{case}: {options.members} members, {time.process_time() - began:.0f} s of CPU time")
        for name, values in off.items():
            spread = float(np.std(values))
            print(
                f"  {name:7} median {np.median(values):.4f}  worst {max(values):.3g}  sd {spread:.3g}",
                flush=True,
            )


if __name__ == "__main__":
    main()
