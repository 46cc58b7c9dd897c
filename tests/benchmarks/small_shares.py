"""Held-out errors of dcpt.l3 and two laws with forgetting at shares up to 0.1 and above, for each table of runs.

`python tests/benchmarks/small_shares.py` prints the table of docs/trends.md. Held out are the largest
D, each size, and each share but the least, whose prediction is an extrapolation and has a column of
its own. The error is the mean of |prediction - measurement|, in nat/token.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

import lawdsl

LAWS: Mapping[str, tuple[str, ...]] = {
    "dcpt.l3": ("N", "D", "r"),
    "dcpt.forgetting": ("N", "D", "r"),
    "dcpt.forgetting_base": ("L0", "D", "r"),
}
"""law -> its variables."""
PARTS = ("D, small", "D, others", "r, least", "r, small", "r, others", "N, small", "N, others")
SMALL = 0.1
STARTS = 24
GIGA = 1e9
MIN_SIZES = 3  # a size is held out only if others remain that determine the exponent of N

Array = NDArray[np.float64]
Columns = Mapping[str, Array]


@dataclass(frozen=True)
class Runs:
    """The runs of one table with the loss of one corpus.

    Attributes:
        file: the table in laws/data.
        corpus: the corpus: its columns are L_CORPUS and r_CORPUS.
        where: column -> value in its rows.
    """

    file: str
    corpus: str
    where: Mapping[str, str] = field(default_factory=dict)


TABLES = (
    *(Runs("code_and_english", c, {"phase": "end"}) for c in ("code", "general")),
    *(Runs("code_and_english", c, {"phase": "stable"}) for c in ("code", "general")),
    *(Runs("exposure", c, {"model": "x3"}) for c in ("code", "general")),
    *(Runs("proportional_decays", c) for c in ("code", "general")),
    *(Runs("cross_domain", c, {"phase": "end", "domain": c}) for c in ("code", "c", "perl")),
    Runs("cross_domain", "general", {"phase": "end", "domain": "code"}),
)


def columns(runs: Runs) -> Columns:
    """N in Gparam, D in Gtoken, r, and L and L0, that of the base model, in nat/token."""
    with open(f"laws/data/{runs.file}.csv", encoding="utf-8") as file:
        reader = csv.DictReader(line for line in file if not line.startswith("#"))
        rows = [{name.partition(" [")[0]: cell for name, cell in row.items()} for row in reader]
    selected = [
        row for row in rows if all(row[name] == value for name, value in runs.where.items())
    ]
    names = {"N": "N", "D": "D", "r": f"r_{runs.corpus}", "L": f"L_{runs.corpus}"}
    names["L0"] = f"L0_{runs.corpus}"
    arrays = {key: np.array([float(row[name]) for row in selected]) for key, name in names.items()}
    return {**arrays, "N": arrays["N"] / GIGA, "D": arrays["D"] / GIGA}


def folds(table: Columns) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """The variable that is held out, and the rows that are."""
    yield "D", table["D"] == table["D"].max()
    for value in np.unique(table["r"]):
        yield "r", table["r"] == value
    sizes = np.unique(table["N"])
    for value in sizes if len(sizes) >= MIN_SIZES else []:
        yield "N", table["N"] == value


def held_out_errors(law: str, table: Columns) -> dict[str, list[float]]:
    """Absolute errors of held-out rows, for each of PARTS."""
    errors = defaultdict(list)
    settings = {"D_min": float(table["D"].min())} if law == "dcpt.l3" else None
    single = len(np.unique(table["N"])) == 1 and "N" in LAWS[law]
    for variable, out in folds(table):
        rows = {name: table[name][~out] for name in (*LAWS[law], "L")}
        fit = lawdsl.fit(
            law,
            rows,
            starts=STARTS,
            settings=settings,
            fix={"A": 1e-12, "alpha": 1.0} if single else None,  # one size: nothing but E
            claims=False,
            rolled_check=False,
            intervals="delta",
        )
        tested = {name: table[name][out] for name in LAWS[law]}
        missed = np.abs(np.asarray(fit.predict(tested)) - table["L"][out])
        for share, error in zip(tested["r"], missed, strict=True):
            least = variable == "r" and share == table["r"].min()
            part = "least" if least else "small" if share <= SMALL else "others"
            errors[f"{variable}, {part}"].append(float(error))
    return errors


def main() -> None:
    """Print a table of mean absolute errors, a number for each of LAWS."""
    print("| table |", " | ".join(PARTS), "|")
    print("|---" * (len(PARTS) + 1) + "|")
    for runs in TABLES:
        table = columns(runs)
        by_law = [held_out_errors(law, table) for law in LAWS]
        cells = [
            " / ".join(f"{np.mean(errors[part]):.4f}" for errors in by_law)
            if by_law[0][part]
            else ""
            for part in PARTS
        ]
        name = " ".join([runs.file, *runs.where.values()])
        print(f"| {name}: {runs.corpus} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
