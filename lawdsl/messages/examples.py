"""Building blocks of the examples of messages: small laws and tables."""

from __future__ import annotations


def law(lines: str = "", equation: str = "L = A/N^alpha") -> str:
    """A small law with some lines of its own."""
    between = f"{lines}\n" if lines else ""
    return f"law example\nvariable N > 0\nparameter A, alpha > 0\n{between}{equation}\n"


def lets(count: int) -> str:
    return "\n".join(
        ["let a0 = N + N", *(f"let a{i} = a{i - 1} + a{i - 1}" for i in range(1, count))]
    )


ROWS = """\
1e8,2e9,3.4248
1e8,2e10,2.9684
1e8,2e11,2.7770
1e9,2e9,2.9942
1e9,2e10,2.5351
1e9,2e11,2.3183
1e10,2e9,2.8034
1e10,2e10,2.3426
1e10,2e11,2.1265
"""
HEAD = "N,D,L\n"
SHARE = """\
law share
variable r in [0, 1]
parameter c, k, t1, t2 > 0
L = c + k*exp(TERMS)
require L finite
"""
GOOD = HEAD + ROWS


def table_with(row: str) -> str:
    """The good table with another third row."""
    return GOOD.replace("1e8,2e11,2.7770", row)


def table_of(*starts: str) -> str:
    """The rows of the good table that begin so."""
    return HEAD + "".join(line + "\n" for line in ROWS.splitlines() if line.startswith(starts))


# twenty-five runs, with noise of a ten-thousandth
GRID = (
    HEAD
    + """\
1e8,2e9,3.4386
1e8,6e9,3.1656
1e8,2e10,2.9681
1e8,6e10,2.8510
1e8,2e11,2.7659
3e8,2e9,3.1858
3e8,6e9,2.9132
3e8,2e10,2.7158
3e8,6e10,2.5981
3e8,2e11,2.5135
1e9,2e9,3.0005
1e9,6e9,2.7269
1e9,2e10,2.5302
1e9,6e10,2.4121
1e9,2e11,2.3275
3e9,2e9,2.8866
3e9,6e9,2.6131
3e9,2e10,2.4163
3e9,6e10,2.2985
3e9,2e11,2.2141
1e10,2e9,2.8033
1e10,6e9,2.5300
1e10,2e10,2.3333
1e10,6e10,2.2152
1e10,2e11,2.1307
"""
)

GRID_ROUNDED = HEAD + "".join(
    f"{line.rpartition(',')[0]},{float(line.rpartition(',')[2]):.1f}\n"
    for line in GRID.splitlines()[1:]
)
