"""Lines of a pipeline that branches -> its questions and kept rows, with all names resolved."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lawdsl.language import tree
from lawdsl.language.formulas import check_formula
from lawdsl.language.pipeline_records import (
    MEASUREMENTS,
    AnyStep,
    KeepStep,
    PipelineStep,
    QuestionStep,
)
from lawdsl.language.questions import Question
from lawdsl.language.scope import CHOICE, PREDICTED, Scope


def step_of(
    scope: Scope,
    line: tree.StepNode | tree.KeepNode,
    earlier: Sequence[AnyStep],
    find: Callable[[str], Question | None],
) -> AnyStep | None:
    """The step of a line that keeps rows or asks a question; None, and a message, for a mistake."""
    if isinstance(line, tree.KeepNode):
        if not line.conditions:
            help = "say which rows: `where T < 100`"
            scope.report("L0603", "`keep` has no condition", line.span, help)
        for condition in line.conditions:
            if not isinstance(condition.value, tree.Label):
                check_formula(scope, condition.value, CHOICE)
        return KeepStep(line.name, line.origins, line.conditions)
    question = find(line.law)
    assert question is not None
    for part, word in ((line.groups, "by"), (line.conditions, "where"), (line.origins, "from")):
        if part or (word == "from" and line.since):
            message = f"a step that asks a question takes no `{word}`"
            help = "its groups and rows are those of the fits that it is asked of"
            scope.report("L0603", message, line.span, help)
    point = tuple((tree.name_of(named), formula) for named, formula in line.point)
    inputs = {s.name for kind in ("given", "setting") for s in question.of_kind(kind)}
    for name, formula in point:
        if name not in inputs:
            message = f"`{question.name}` has no given or setting `{name}`"
            span = scope.within(line.span, name)
            listed = f"it has {', '.join(sorted(inputs))}"
            scope.unknown_word("L0603", message, span, name, sorted(inputs), listed)
        check_formula(scope, formula, PREDICTED)
    lacking = [s.name for s in question.of_kind("given") if s.name not in dict(point)]
    if lacking:
        message = f"`{question.name}` needs values of {', '.join(lacking)}"
        scope.report("L0603", message, line.span, f"write `at {lacking[0]} = …`")
    _check_uses(scope, line, question, earlier)
    return QuestionStep(question, point, line.name)


def check_names(
    scope: Scope, line: tree.StepNode | tree.KeepNode, earlier: Sequence[AnyStep]
) -> None:
    """Report a name that two steps have, and a table that no earlier step has."""
    names = [step.name for step in earlier if step.name]
    if line.name and line.name in (*names, MEASUREMENTS):
        message = f"two steps are called `{line.name}`"
        scope.report("L0603", message, scope.within(line.span, line.name), "rename one")
    for origin in line.origins:
        if origin not in (*names, MEASUREMENTS):
            message = f"no earlier step is called `{origin}`"
            span = scope.within(line.span, origin)
            known = [*names, MEASUREMENTS]
            scope.unknown_word("L0603", message, span, origin, known, "name one: `step NAME : LAW`")
    if isinstance(line, tree.StepNode) and len(line.origins) > 1:
        help = "put tables beside each other first: `keep NAME from A, B where …`"
        scope.report("L0603", "a step takes one table", line.span, help)


def _check_uses(
    scope: Scope, line: tree.StepNode, question: Question, earlier: Sequence[AnyStep]
) -> None:
    """Report uses of a question that no earlier step fits."""
    fitted = {s.name: s for s in earlier if isinstance(s, PipelineStep) and s.name}
    for use, law in question.uses.items():
        if use not in fitted:
            message = f"`{question.name}` uses a fit `{use}`, and no earlier step is called so"
            help = f"write above: `step {use} : {law.name} …`"
            scope.report("L0603", message, scope.within(line.span, line.law), help)
        elif fitted[use].law.name != law.name:
            message = (
                f"`{question.name}` uses `{law.name}`, and `{use}` fits `{fitted[use].law.name}`"
            )
            help = f"fit the law of the question: `step {use} : {law.name} …`"
            scope.report("L0603", message, scope.within(line.span, line.law), help)
