"""Messages about figures."""

from __future__ import annotations

from lawdsl.messages.message import Message

FIGURES: dict[str, Message] = {
    "G0101": Message(
        "figures without the libraries that draw them",
        "Figures are drawn by Altair and written by vl-convert, without a browser: "
        "`pip install 'lawdsl[figures]'`. All else works without them.",
    ),
    "G0102": Message(
        "a kind of figure that a result does not have",
        "`lawdsl plot --help` lists the kinds of figures of fits; commands that make other results "
        "draw them with `--plot FILE`.",
    ),
    "G0103": Message(
        "a figure of a fit that keeps no rows",
        "Fits keep up to 256 rows, but not where a measured output is not positive. Give the table "
        "that was fitted: `lawdsl plot fit.json --data runs.csv`, in Python `fit.plot(data=table)`.",
    ),
    "G0104": Message(
        "an option that a figure does not have",
        "Options of figures are variables of the law: `x=D` for the horizontal axis, `color=N` for "
        "groups.",
    ),
    "G0105": Message(
        "a figure in a format that is not written",
        "Figures are written as .svg, .pdf or .png, as .html (one page that needs no network), or as "
        ".json (the Vega-Lite specification with its data).",
    ),
    "G0106": Message(
        "a figure that a result has nothing to draw for",
        "`extrapolation` needs a trust horizon, which a fit has where a variable of its law measures "
        "the size of a run. `profile` needs intervals, `landscape` a law of two variables.",
    ),
    "G0107": Message(
        "a figure of a law that has a name of the figure's own",
        "The table of a figure has a column for each variable of the law, and columns of its own, such "
        "as `fitted` and `residual`. Of two of one name only one would be drawn: rename the variable "
        "in a copy of the law.",
    ),
    "G0108": Message(
        "a profile over a table that was not fitted",
        "A profile is the objective of a fit on its own rows, near its minimum. `--data` takes the fitted "
        "table there, with the same columns and values; other kinds of figures draw another table beside "
        "the fitted law.",
    ),
    "G0111": Message(
        "a figure of an answer that has nothing to draw",
        "The goal is drawn along the unknowns through the answer. Without an answer it is drawn where "
        "the question has one unknown, whose range is bounded.",
    ),
    "G0112": Message(
        "a figure of trends that have nothing to compare",
        "A claim is compared where rows differ in its variables alone. `lawdsl trends` says of each claim "
        "why there are no such rows.",
    ),
    "G0121": Message(
        "a report in a format that is not written",
        "Reports are written as .html, one page that needs no network, or as .md, Markdown with its "
        "figures as files beside it.",
    ),
    "G0122": Message(
        "an answer that cannot be reported",
        "A report takes fits, and the answers to a question as `lawdsl solve … --json` prints them, with "
        "the text of the question. Files of earlier versions lack it, and the documents of other commands, "
        "or of one that failed, have no answer. A report answers questions itself, too: "
        "`lawdsl report FIT.json --question FILE.law loss=FIT.json C=1e22`.",
    ),
    "G0114": Message(
        "a figure of claims that a law does not make",
        "The figure shows each claim with its verdict. Claims are lines of the law: `require ∂L/∂N < 0`, "
        "see docs/claims.md.",
    ),
    "G0115": Message(
        "a figure of a pipeline without predictions",
        "Drawn is what the steps of a pipeline predict, at the points after `at`. Where none predicts "
        "anything, keep the last fit with `-o FIT.json` and draw that.",
    ),
    "G0113": Message(
        "a figure of runs of a table that has none",
        "Runs are drawn at their model sizes and tokens: columns N and D, as `lawdsl collect` makes them, "
        "with r_CORPUS, L_VALIDATION, run and status where the table has them. Other columns are "
        "named: `lawdsl plot runs.csv 'N=params_m [Mparam]' 'D=tokens_b [Gtoken]'`.",
    ),
}
