"""What a figure says of a law where it leaves the fitted rows: cautions, and a frame of the rows."""

from __future__ import annotations

from typing import Any

from lawdsl.figures import theme
from lawdsl.figures.figure import chart_of
from lawdsl.fitting.result import Fit
from lawdsl.fitting.verdicts import findings_for

FRAME = "dashed frame: measured range"
"""What the legend calls the frame."""


def cautions(fit: Fit, use: str) -> list[str]:
    """That a fit calls for caution in a use of it, with the codes of its findings; empty else.

    Args:
        fit: the fit; where it is not trusted at all, the figure says that instead.
        use: a key of `NEEDS`, such as "prediction".
    """
    if fit.verdict == "not trusted" or fit.verdict_for(use) == "trusted":
        return []
    codes = dict.fromkeys(d.code for d in findings_for(use, fit.diagnostics))
    return [f"{fit.verdict_for(use)} on {use}: {', '.join(codes)}"]


def frame(
    names: tuple[str, str],
    ends: tuple[tuple[float, float], tuple[float, float]],
    position: dict[str, Any],
) -> Any:
    """The rectangle of the measured rows: beyond it a law is extrapolated.

    Args:
        names: the columns of both axes.
        ends: the smallest and the largest measured value along each.
        position: the channels x and y of both columns.
    """
    (left, right), (low, high) = ends
    corners = [(left, low), (right, low), (right, high), (left, high), (left, low)]
    table = {
        names[0]: [x for x, _ in corners],
        names[1]: [y for _, y in corners],
        "order": list(range(len(corners))),
    }
    mark = chart_of(table).mark_line(color=theme.GREY, strokeDash=[6, 4], strokeWidth=1.3)
    return mark.encode(**position, order="order:Q")
