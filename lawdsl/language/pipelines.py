"""Syntax tree -> pipeline with all names resolved, and all mistakes of its file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lawdsl.core.diagnostics import Diagnostic, Span, Text
from lawdsl.language import branching, tree
from lawdsl.language.declarations import declare, define
from lawdsl.language.dimensions import powers_of
from lawdsl.language.formulas import check_formula, check_same_unit
from lawdsl.language.keywords import nearest
from lawdsl.language.pipeline_records import AnyStep, Pipeline, PipelineStep
from lawdsl.language.printer import print_formula
from lawdsl.language.questions import Question
from lawdsl.language.scope import CHOICE, PREDICTED, FormulaContext, Scope, TooManyMistakes
from lawdsl.language.sections import check_unused, header_and_body, look_ahead
from lawdsl.language.symbols import Find, Symbol
from lawdsl.language.tree import Formula

_PLAIN = Symbol("", "variable", Span(0, 0))


def resolve_pipeline(
    document: tree.SyntaxTree,
    text: Text,
    find: Find,
    find_question: Callable[[str], Question | None] = lambda _: None,
) -> tuple[Pipeline | None, list[Diagnostic]]:
    """Resolve every name of a pipeline.

    Args:
        document: the parsed file.
        text: its text, for messages.
        find: the function that loads the laws that it names.
        find_question: the function that loads a question that it names; None for no question.

    Returns:
        The pipeline, or None where there is an error; and all mistakes.
    """
    scope = Scope(text, find, document.unread_names, unknown="`given {}`, or a setting")
    try:
        return _resolved(scope, document.statements, find_question), scope.diagnostics
    except TooManyMistakes:
        return None, scope.diagnostics


def _resolved(
    scope: Scope,
    statements: Sequence[tree.Statement],
    find_question: Callable[[str], Question | None],
) -> Pipeline | None:
    header, body = header_and_body(scope, statements, "pipeline")
    if body is None:
        return None
    look_ahead(scope, body)
    # before the steps, which may use names that are declared below them
    for statement in body:
        if isinstance(statement, tree.Declaration):
            declare(scope, statement)
        elif isinstance(statement, tree.Definition):
            define(scope, statement, None)
    lines = [s for s in body if isinstance(s, tree.StepNode | tree.KeepNode)]
    if not lines and not scope.unread_names and not scope.errors:
        span = header.span if header else Span(0, 0)
        help = "write one: `step LAW by COLUMN, … at VARIABLE = …`"
        scope.report("L0402", "the pipeline has no step", span, help)
    branches = any(_branches(line, find_question) for line in lines)
    steps: list[AnyStep | None] = []
    for line in lines:
        earlier = [step for step in steps if step is not None]
        steps.append(
            _step(scope, line, last=line is lines[-1] or branches)
            if isinstance(line, tree.StepNode) and _fits(line, find_question)
            else branching.step_of(scope, line, earlier, find_question)
        )
        if branches:
            branching.check_names(scope, line, earlier)
    resolved_steps = tuple(step for step in steps if step is not None)
    if header is None or scope.errors or len(resolved_steps) < len(lines):
        return None
    check_unused(scope)
    return Pipeline(
        name=header.name,
        title=header.title or header.name,
        sources=tuple(s.text for s in body if isinstance(s, tree.SourceNode)),
        notes=tuple(s.text for s in body if isinstance(s, tree.NoteNode)),
        symbols=scope.symbols,
        every_step=resolved_steps,
        laws=scope.laws,
        text=scope.text,
    )


def _fits(line: tree.StepNode | tree.KeepNode, find: Callable[[str], Question | None]) -> bool:
    """Whether a line is a step that fits a law."""
    return isinstance(line, tree.StepNode) and find(line.law) is None


def _branches(line: tree.StepNode | tree.KeepNode, find: Callable[[str], Question | None]) -> bool:
    """Whether a line is more than a step in a row of steps that fit laws."""
    if not isinstance(line, tree.StepNode):
        return True
    return bool(line.name or line.origins or line.since) or not _fits(line, find)


def _step(scope: Scope, line: tree.StepNode, last: bool) -> PipelineStep | None:
    """One step; None, and a message, where its law cannot be used."""
    law = scope.law(line.law, scope.within(line.span, line.law))
    units = {} if law is None else {n: s.unit for n, s in law.symbols.items()}
    for chosen in line.conditions:
        if not isinstance(chosen.value, tree.Label):
            _check_number(scope, chosen.name, chosen.value, CHOICE, units, chosen.relation)
    point = tuple((tree.name_of(named), formula) for named, formula in line.point)
    for name, formula in point:
        variable = law.symbols.get(name) if law is not None else None
        _check_number(scope, name, formula, PREDICTED, units, variable=variable)
    if law is None:
        return None
    since = None
    if line.since is not None:
        since = tree.name_of(line.since[0]), line.since[1]
        _check_number(scope, since[0], since[1], PREDICTED, units)
        if law.symbols.get(since[0], _PLAIN).kind != "variable" or since[0] not in law.symbols:
            message = f"`{line.law}` has no variable `{since[0]}`"
            span = scope.within(line.span, since[0])
            scope.report("L0603", message, span, f"write `since {next(iter(law.symbols))} = 0`")
    origin = line.origins[0] if line.origins else ""
    step = PipelineStep(law, line.groups, line.conditions, point, line.name, origin, since)
    for name in _twice(step.group_by):
        span = scope.within(line.span, name, last=True)
        scope.report("L0603", f"`{name}` stands twice behind `by`", span, "name it once")
    if law.output.name in step.group_by:
        message = f"`{law.output.name}` is what the law predicts: no group is alike in it"
        span = scope.within(line.span, law.output.name)
        scope.report("L0603", message, span, "leave it out")
    _check_point(scope, line, step)
    if not line.point and not last:
        message = "this step has no point, so the next step has no data"
        free = [name for name in step.variables if name not in step.group_by]
        help = f"say where it predicts: `at {free[0] if free else 'N'} = …`"
        scope.report("L0603", message, line.span, help)
    return step


def _twice(names: Sequence[str]) -> list[str]:
    return [name for i, name in enumerate(names) if name in names[:i]]


def _check_number(
    scope: Scope,
    name: str,
    formula: Formula,
    context: FormulaContext,
    units: Mapping[str, tree.UnitOf | None],
    relation: str = "",
    variable: Symbol | None = None,
) -> None:
    """Check the number of a condition or a point: a formula of givens and settings, in the unit of
    the name."""
    text = formula.text if isinstance(formula, tree.Name) else ""
    is_declared = text in scope.symbols or text in scope.declaration_spans or scope.excused(text)
    # `domain = Github` is a label without its quotes rather than an unknown number
    if relation in ("=", "!=") and text and not is_declared and not nearest(text, scope.symbols):
        help = f'write a label in quotes: `{name} = "{text}"`'
        scope.report("L0301", f"unknown name `{text}`", formula.span, help)
        return
    if context is PREDICTED and text and not is_declared and variable is not None:
        alike = nearest(text, scope.symbols)
        # `r_target` is the value of r; N_target, however similar, is that of N
        if text.startswith(f"{name}_") and not (alike or "").startswith(f"{name}_"):
            help = f"declare it: `given {text}{_domain_of(variable)}`"
            scope.report("L0301", f"unknown name `{text}`", formula.span, help)
            return
    powers = check_formula(scope, formula, context)
    unit = units.get(name)
    unit_powers = powers_of(unit.factors) if unit is not None else None
    check_same_unit(scope, unit_powers, powers, f"`{name}`", formula.span)


def _domain_of(variable: Symbol) -> str:
    """The domain of a variable as in a declaration, ` in [0, 1]`, if its bounds are numbers; its
    unit is known from it.
    """
    numbers = [(r, print_formula(b)) for r, b in variable.bounds if isinstance(b, tree.Number)]
    lower = next(((r, b) for r, b in numbers if r in (">", ">=")), None)
    upper = next(((r, b) for r, b in numbers if r in ("<", "<=")), None)
    if lower and upper:
        opened = "(" if lower[0] == ">" else "["
        closed = ")" if upper[0] == "<" else "]"
        return f" in {opened}{lower[1]}, {upper[1]}{closed}"
    one = lower or upper
    return f" {one[0]} {one[1]}" if one else ""


def _check_point(scope: Scope, line: tree.StepNode, step: PipelineStep) -> None:
    """Report mistakes in the point after `at`: it must fix what does not define the groups."""
    variables = step.variables
    for name in _twice([name for name, _ in step.point]):
        span = scope.within(line.span, name, last=True)
        scope.report("L0603", f"`{name}` is given two values", span, "give it one")
    for named, formula in line.point:
        name = tree.name_of(named)
        before = Span(line.span.start, formula.span.start)
        span = scope.within(before, name, last=True)
        if isinstance(named, tree.Element) or variables.get(name, _PLAIN).indices:
            message = "a point has a value for a variable without subscripts"
            help = "what has labels is what the rows of a group have in common"
            scope.report("L0603", message, span, help)
            continue
        if name not in variables:
            help = f"its variables are {', '.join(variables)}"
            message = f"`{line.law}` has no variable `{name}`"
            scope.unknown_word("L0603", message, span, name, variables, help)
            continue
        if name in step.group_by:
            message = f"`{name}` cannot be the same within a group and move to a point"
            help = f"leave it out behind `by`, or behind `at`: a prediction has the `{name}` of its group"
            scope.report("L0603", message, span, help)
