"""The main job on data that ship: law, verdicts, fit, and a prediction against a held-out value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lawdsl.data.tables import read_table
from lawdsl.fitting.fit import fit
from lawdsl.law import load
from lawdsl.library import shipped_folder
from lawdsl.proof.claims import check
from lawdsl.reporting.terminal import show_check, show_fit, show_law, show_rows

if TYPE_CHECKING:
    from rich.console import Console

WITHIN = 1e-4  # relative: how near the held-out losses of the table the predictions must come


def run(out: Console | None) -> tuple[dict[str, Any], bool]:
    """Fit the share law of the CMR paper to its table 2 and predict the column it held out.

    Args:
        out: where to show it; nowhere when None.

    Returns:
        What was found as plain data, and whether every prediction came within 0.01 %.
    """
    law = load("cmr.share")
    table = shipped_folder() / "data" / "cmr_table2.csv"
    data = read_table(table)
    sizes = list(dict.fromkeys(data.texts("size")))
    verdicts = check(law)
    if out is not None:
        _heading(out, "the law")
        show_law(law, out)
        _heading(out, "what it promises")
        show_check(verdicts, out)
        _heading(out, "fitted to four shares of domain data, for each model size")
    rows: list[tuple[str | float, ...]] = []
    errors = []
    for size in sizes:
        found = fit(law, data, where=[f"size = {size}", "R > 0.3"])
        held_out = data.numbers("R") == 0.25
        own = [cell == size for cell in data.texts("size")]
        measured = float(data.numbers("L")[held_out & own][0])
        predicted = float(found.predict({"R": [0.25]})[0])
        errors.append(predicted / measured - 1)
        rows.append((size, *found.values.values(), predicted, measured, f"{errors[-1]:+.4%}"))
        if out is not None and size == sizes[-1]:
            show_fit(found, out)
    if out is not None:
        _heading(out, "the loss at R = 0.25, which no fit has seen")
        headers = ("size", *(q.name for q in law.parameters), "predicted", "measured", "off by")
        show_rows(headers, rows, out)
        out.print("next: lawdsl laws, lawdsl new my_law, lawdsl fit LAW runs.csv -o fit.json")
    plain = [
        {"size": row[0], "predicted": row[-3], "measured": row[-2], "relative_error": error}
        for row, error in zip(rows, errors, strict=True)
    ]
    result = {"law": law.name, "claims": verdicts.to_json()["claims"], "held_out": plain}
    return result, all(abs(error) < WITHIN for error in errors)


def _heading(out: Console, words: str) -> None:
    out.print(f"\n== {words} ==\n", style="bold")
