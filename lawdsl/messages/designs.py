"""Messages about the choice of the next runs."""

from __future__ import annotations

from lawdsl.messages.message import Message

DESIGNS: dict[str, Message] = {
    "N0101": Message(
        "no candidate runs",
        "The rows of candidates meet the conditions under which the law was fitted, such as "
        "`phase = end`, since other rows are not used. None of them does: change the conditions, "
        "or the evaluations and branches of the sweep.",
    ),
    "N0102": Message(
        "a budget that affords no run",
        "--budget is what all runs may cost together, in the unit of the candidates' costs, FLOP by "
        "default. Candidates that are done count as spent. Raise the budget, or add cheaper runs.",
    ),
    "N0103": Message(
        "a target that cannot be used",
        "A target is a prediction: every variable of the law with a value, "
        '--target "N=70Gparam D=1.4Ttoken". With --question the target is its answer. --stop is half '
        "a 95 % interval relative to the value, 1%.",
    ),
    "N0104": Message(
        "a fit from which no design can start",
        "A design is based on the measured rows that a fit keeps and on the covariance of its "
        "parameters. Parameters that are given as numbers have neither, nor have fits of quantiles, "
        "or of as many rows as parameters. Rivals are laws with the same variables.",
    ),
    "N0105": Message(
        "candidates on which the target does not depend",
        "No candidate would narrow the interval of the target: they differ in variables that do not "
        "matter there. Add runs in the directions in which the target lies.",
    ),
    "N0106": Message(
        "too few candidates for a first fit",
        "Before the first runs a design proposes two rows more than the law has parameters, so that "
        "the law can be fitted. The candidates, or the budget, have fewer.",
    ),
    "N0107": Message(
        "a question without an answer as a target",
        "The target is the answer by the present fits, and how it would move with further runs. Where "
        "the fits give no answer, first make the predictions precise that prevent it.",
    ),
    "N0108": Message(
        "an unknown cost",
        "A run costs 6·N·D by default, or what the column `cost` of the candidates says. Of laws without "
        "a model size and tokens the cost is given, as a formula of columns: `--cost 6*N*D`.",
    ),
    "N0109": Message(
        "a law of a question without columns",
        "With --runs, or --loop, each law that the question uses is fitted to the table: say which columns "
        "are its loss and its variables, "
        '`--use "general L=L_general r=r_general"`, once for each name in the `uses` line of the question.',
    ),
    "N0110": Message(
        "a file that is no selection of this sweep",
        "`lawdsl design --loop` keeps the batch that it is running in a file, by default beside the sweep, "
        "and goes on with it after an interruption. A file of another kind is not replaced: give another "
        "name with -o.",
    ),
    "N0111": Message(
        "candidates that may be in another unit",
        "All candidates have values of a variable that are a thousand times those of the runs so far, or a "
        "thousandth. Bind the column with its unit, `N=size [Gparam]`, as in the table of the runs.",
    ),
    "N0112": Message(
        "first runs from which a law cannot be told",
        "A law is fitted to runs that differ in all its variables, and not only along one ray such as "
        "D = 20·N: else terms of one variable cannot be told from those of another. Add such candidates.",
    ),
    "N0113": Message(
        "a precision that is out of reach",
        "Even all candidates together are not expected to narrow the interval of a target to `--stop`. The "
        "interval of a predicted loss has the noise of one run in it, which no other run lowers. Accept a "
        "wider interval, or add candidates nearer to the target.",
    ),
}
