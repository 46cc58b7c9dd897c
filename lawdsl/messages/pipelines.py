"""What each message about pipelines means, with an example."""

from __future__ import annotations

from lawdsl.messages.examples import law
from lawdsl.messages.message import Message


def _pipeline(*lines: str) -> str:
    """A small pipeline of some lines."""
    return "\n".join(("pipeline example", *lines, ""))


_SIZE = "step mixing.size by mixture at N = 1e9"

SECTIONS: dict[str, Message] = {
    "L0601": Message(
        "a section of another kind than is wanted",
        "A file holds a law, a question or a pipeline, as its first line says. A law is checked and "
        "fitted, a question is answered, `lawdsl solve NAME`, a pipeline is run, `lawdsl pipeline "
        "NAME TABLE`; `uses`, `step` and `extends` name laws.",
    ),
    "L0602": Message(
        "a statement of another section",
        "Variables, parameters, equations, claims and starts are those of a law; `uses`, `choose`, "
        "`maximize` and `subject to` those of a question, `step` that of a pipeline. `given` stands in "
        "questions and pipelines, `index`, `let` and `minimize` in laws and questions, `source` and "
        "`setting` in all. A question or a pipeline names the laws that it is about.",
        (
            law("given N_target > 0"),
            law("step mixing.size at N = 1e9"),
            law("choose r in [0, 1]"),
            _pipeline("parameter A > 0", _SIZE),
            _pipeline("L = 3", _SIZE),
            _pipeline("choose N > 0", _SIZE),
        ),
        _pipeline(_SIZE),
    ),
    "L0603": Message(
        "a step that cannot be carried out",
        "Behind `by` stand columns in which the rows of a group are alike, each once and none of "
        "them the output of the law. Behind `at` stand variables of the law without subscripts, "
        "each with one value, and none that is listed after `by`. Every step but the last has such a "
        "point: what it predicts there is the data of the next. A step that asks a question has a value "
        "behind `at` for each of its givens, and an earlier step of the name and the law of each of its "
        "uses; `from` names one earlier step, and no two steps have one name.",
        (
            _pipeline("step mixing.size by mixture at M = 1e9"),
            _pipeline("step mixing.size by mixture, N at N = 1e9"),
            _pipeline("step mixing.size by mixture, mixture at N = 1e9"),
            _pipeline("step mixing.size by L at N = 1e9"),
            _pipeline("step mixing.size by mixture at N = 1e9, N = 2e9"),
            _pipeline("step mixing.size by mixture", "step mixing.two_domain"),
            _pipeline("step cmr.ratio_at at T = 100"),
            _pipeline("step ratio : cmr.ratio from turn"),
        ),
        _pipeline(_SIZE, "step mixing.two_domain"),
    ),
}

RUNS: dict[str, Message] = {
    "F0401": Message(
        "a given without a value",
        "A pipeline is told its givens where it is run, --set N_target=1e9, each inside the domain "
        "that its line declares. A value with a unit is converted: --set N_target=1Gparam.",
    ),
    "F0402": Message(
        "a prediction without a point",
        "A step predicts one number a group, so that every variable of its law has one value there: "
        "the value after `at`, or the one that all rows of the group have. Give the variable that the "
        "message names a value after `at`, or tell groups apart by it.",
    ),
    "F0403": Message(
        "a step of which no group can be fitted",
        "Each group has too few rows, or rows that its law cannot describe. Often a column after "
        "`by` tells every row from every other, or a condition leaves nearly none.",
    ),
    "F0404": Message(
        "groups that are left out",
        "A group that has fewer rows than the law has parameters, whose fit does not end in a "
        "minimum or that does not determine the prediction hands nothing on; the others do. The "
        "notes name the first of them, and --save-tables writes all.",
    ),
    "F0405": Message(
        "predictions with unknown errors",
        "Each group of the step has as many rows as its law has parameters, so that no row is left "
        "to tell the noise. What it predicts counts alike in the next step, and the end has no "
        "intervals but those of the last fits alone.",
    ),
    "F0406": Message(
        "draws that led nowhere",
        "Noise is drawn for what the first step predicts, and all later fits are repeated. Where "
        "many of them do not end in a minimum, a law is nearly undetermined by its rows, and the "
        "intervals are too short by what was lost.",
    ),
    "F0407": Message(
        "runs without a row to compare with",
        "A step with `since T = 0` subtracts from the losses of each group those that it has at T = 0: "
        "the losses of the base model, in one row of each group.",
    ),
    "F0408": Message(
        "a step that hands on nothing",
        "A step takes the table of an earlier one that has no answer and no prediction, so that there "
        "is nothing to fit. What the earlier step says is the cause.",
    ),
    "F0409": Message(
        "a fit that passes through all its rows",
        "A law with as many parameters as rows fits them exactly, right or wrong: its residuals "
        "say nothing. Its intervals are those of the noise, as if the law were right. More groups "
        "give more rows.",
    ),
    "F0410": Message(
        "rows that lie further from a law than their errors explain",
        "What earlier steps computed has known errors. Where the rows lie much further from the law "
        "than these explain, the law may be wrong there, or an error is missing from the noise, as "
        "that which all checkpoints of a run share.",
    ),
    "F0412": Message(
        "losses that are taken as changes",
        "A step with `since T = 0` subtracts what each group has at T = 0. In a table without any such "
        "row the column is read as the change itself: check that it is one. Rows with the losses of "
        "the base model make it one.",
    ),
    "F0413": Message(
        "a prediction beyond the rows of its group",
        "A step predicts at a point beyond the last row of some group. Sums of powers say little there: "
        "run these groups as long as the others, or ask about a shorter training.",
    ),
    "F0414": Message(
        "a point far beyond the rows of a fit",
        "A step predicts, or a question asks a fit, at more than 100 times the last row of a variable, or at less "
        "than a hundredth of the first. No measurement says anything of that point, and the numbers that "
        "follow from it are no results: the exit code is 1. Often an input is in another unit than the column.",
    ),
    "F0415": Message(
        "an answer that the rows contradict",
        "A `keep` decides for each row what a question decides by laws through all of them, from the same inputs. "
        "Here a row beyond the answer meets all conditions, or a row before it does not. With intervals only "
        "rows outside the interval count, without them those that are off by more than 1 %. The laws may be "
        "wrong, or the noise of that row is large.",
    ),
    "F0411": Message(
        "no row meets all conditions",
        "A `keep` leaves no row, so that later steps have nothing to fit. The notes say how many rows "
        "meet each of the conditions.",
    ),
}
