"""What figures of a table of a million rows cost, beside reading it and drawing alone.

    python tests/benchmarks/bench_figures.py [--rows 1000000] [--repeats 3]

A chinchilla table is written as Parquet and CSV and fitted; each kind of figure of it is then drawn
by the command, in a process of its own. Beside stand, in the same run and with the same Python,
pandas and pyarrow reading the file alone, and an Altair chart of 2,000 points written alone. Figures
are the least user CPU times of some repeats, after one that leaves its byte code in a folder.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import lawdsl
from lawdsl.reporting.terminal import show_rows

KINDS = ("fit", "residuals", "profile", "extrapolation", "landscape")
READERS = {
    "big.csv": {
        "pandas.read_csv": "import pandas; pandas.read_csv('big.csv')",
        "pyarrow.csv": "import pyarrow.csv as c; c.read_csv('big.csv')",
    },
    "big.parquet": {
        "pandas.read_parquet": "import pandas; pandas.read_parquet('big.parquet')",
        "pyarrow.parquet": "import pyarrow.parquet as p; p.read_table('big.parquet')",
    },
}
CHART = """
import altair as alt, numpy as np
points = [{"x": x, "y": y} for x, y in np.random.default_rng(0).normal(size=(2000, 2)).tolist()]
alt.Chart(alt.InlineData(points)).mark_point().encode(x="x:Q", y="y:Q").save("alone.svg")
"""
GOAL = 3.0  # seconds


def written(folder: Path, rows: int) -> None:
    """A table of runs as both formats, and the law fitted to it."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    N, D = 10 ** rng.uniform(7.5, 9.5, rows), 10 ** rng.uniform(9, 11, rows)
    L = (1.8 + 480 / N**0.35 + 2100 / D**0.37) * np.exp(rng.normal(0, 0.002, rows))
    columns: dict[str, NDArray[np.float64]] = {"N [param]": N, "D [token]": D, "L": L}
    table = pa.table(columns)
    pa.parquet.write_table(table, folder / "big.parquet")
    pa.csv.write_csv(table, folder / "big.csv")
    fit = lawdsl.fit("chinchilla", folder / "big.parquet", starts=8, claims=False)
    assert isinstance(fit, lawdsl.Fit)
    fit.save(folder / "fit.json")


def cost(folder: Path, command: list[str], repeats: int) -> float:
    """The least user CPU time of a command, s."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": str(folder / "byte_code")}
    times = []
    for _ in range(repeats + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        times.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return min(times[1:])


def main() -> int:
    """Run it; the exit code is 1 where a figure takes longer than the goal."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    out, slow = Console(), False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written(folder, arguments.rows)

        def of(*command: str) -> float:
            return cost(folder, [sys.executable, *command], arguments.repeats)

        chart = of("-c", CHART)
        plot = ("-m", "lawdsl", "plot")
        kept = of(*plot, "fit.json", "-o", "kept.svg")
        out.print(
            f"an Altair chart alone {chart:.2f} s; `plot` of the 256 rows that a fit keeps {kept:.2f} s"
        )
        for data, readers in READERS.items():
            read = {reader: of("-c", code) for reader, code in readers.items()}
            rows = []
            for kind in KINDS:
                rows.append(
                    (kind, of(*plot, "fit.json", "--kind", kind, "--data", data, "-o", "f.svg"))
                )
            rows.append(("sweep", of(*plot, data, "-o", "f.svg")))
            slow |= any(seconds > GOAL for _, seconds in rows)
            alone = chart + read[next(iter(read))]
            listed = ", ".join(f"{reader} {seconds:.2f} s" for reader, seconds in read.items())
            out.print(f"\n{data}: {listed}")
            header = ["figure", "user CPU [s]", f"times {next(iter(read))} + chart"]
            show_rows(header, [(kind, round(s, 2), round(s / alone, 2)) for kind, s in rows], out)
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
