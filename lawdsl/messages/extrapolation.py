"""Messages about predictions beyond the fitted rows: code -> meaning and examples.

Examples are CSV files for the law chinchilla. Messages that need more than a table have none.
"""

from __future__ import annotations

from lawdsl.messages.examples import GRID, HEAD
from lawdsl.messages.message import Message

EXTRAPOLATION: dict[str, Message] = {
    "F0140": Message(
        "larger runs that miss their predictions",
        "At up to four cuts the law was fitted to the smaller runs of the table and predicted the "
        "larger ones, with an error of the law of 2 % per decade. They missed these predictions by "
        "more than their standard deviations explain, so predictions beyond the table are "
        "likely to be wrong by more, too. `--wrong learned` widens intervals by as much. Compare "
        "with another law, or fit a smaller range.",
    ),
    "F0141": Message(
        "predictions that are not within the required tolerance",
        "`--horizon 10` requires predictions within 2 % up to 10 times the largest fitted compute, "
        "at 95 % confidence and with an error of the law of 2 % per decade. The message says how far "
        "the fitted runs reach. Add larger runs, or accept the interval of each prediction.",
    ),
    "F0142": Message(
        "an error of the law that cannot be learned",
        "`--wrong learned` widens the error of the law by how far the larger runs of the table miss "
        "their predictions from the smaller ones. Where too few runs are left below each cut, or the "
        "file is of an earlier version, nothing is known of that, and the error is 2 % per decade.",
    ),
    "F0143": Message(
        "rows near one ray",
        "One variable is nearly a power of another in all rows, as D and N are where each model is "
        "trained on 20 tokens per parameter, or where D falls as 1/N at one budget. The form of the law alone tells their effects apart, so that "
        "predictions off that ray, and the best split of a budget, rest on it. Add runs with many "
        "tokens for a small model, and few for a large one.",
        (
            HEAD
            + "".join(
                f"{n:.4g},{n * k:.4g},{1.8 + 480 / n**0.35 + 2080 / (n * k) ** 0.37 + e:.4f}\n"
                for n, k, e in zip(
                    (
                        1e8,
                        1.5e8,
                        2.3e8,
                        3.5e8,
                        5.3e8,
                        8.1e8,
                        1.2e9,
                        1.9e9,
                        2.8e9,
                        4.3e9,
                        6.6e9,
                        1e10,
                    ),
                    (18, 22, 20, 24, 17, 22, 18, 23, 19, 22, 18, 21),
                    (1e-4, -1e-4, 2e-4, 0, -2e-4, 1e-4, 0, -1e-4, 1e-4, 0, 2e-4, -2e-4),
                    strict=True,
                )
            ),
        ),
        GRID,
    ),
    "F0144": Message(
        "fewer than three sizes",
        "A variable has one or two values in all rows. They may determine a parameter, but not test "
        "how the output depends on the variable: any curve passes through two points. Measure at a "
        "third value before you predict at others.",
    ),
    "F0145": Message(
        "a law that misses its own rows",
        "Beyond the noise of the rows, the smooth error of the law at the fitted rows is larger than "
        "the 2 % that laws are supposed to be wrong by. The law has another form, or a bound keeps the fit "
        "from the rows. Compare with another law, leave the bound out with `--without`, or fit a "
        "smaller range.",
    ),
}
