"""Syntax tree -> question with all names resolved, and all mistakes of its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lawdsl.core.diagnostics import Diagnostic, Span, Text
from lawdsl.language import tree
from lawdsl.language.declarations import declare, define
from lawdsl.language.formula_sizes import check_sizes
from lawdsl.language.formulas import check_formula, check_same_unit
from lawdsl.language.indices import declare_indices
from lawdsl.language.law_calls import Calls, LawValue, varies
from lawdsl.language.parser import ANYTHING
from lawdsl.language.printer import print_formula, print_relation
from lawdsl.language.scope import QUESTION, Scope, TooManyMistakes
from lawdsl.language.sections import check_unused, header_and_body, look_ahead, use_spans
from lawdsl.language.symbols import Declarations, Find, IndexSet, Symbol
from lawdsl.language.tree import Formula


@dataclass(frozen=True)
class QuestionConstraint:
    """A constraint on the answer: `lhs relation rhs`, in which evaluated laws are names.

    `text` is the constraint as written, `doc` its description, and `indices` those for whose every
    label it holds.
    """

    lhs: Formula
    relation: str
    rhs: Formula
    text: str
    doc: str | None
    indices: tuple[str, ...]
    span: Span


@dataclass(frozen=True)
class Question:
    """A question as declared.

    Attributes:
        symbols: its givens, settings, unknowns and lets.
        uses: name -> the law of which it stands for a fit.
        values: name in the formulas -> the evaluated law that it stands for.
        goal: the formula to minimise, or to maximise where `maximize` is true; `goal_text` is its
            text.
        constraints: the constraints, in addition to the domains of the unknowns.
        laws: those that it uses, and all that they extend.
        indices: name -> the set of labels that it runs over.
    """

    name: str
    title: str
    sources: tuple[str, ...]
    notes: tuple[str, ...]
    symbols: Mapping[str, Symbol]
    uses: Mapping[str, Declarations]
    values: Mapping[str, LawValue]
    goal: Formula
    goal_text: str
    maximize: bool
    constraints: tuple[QuestionConstraint, ...]
    laws: Mapping[str, Declarations]
    indices: Mapping[str, IndexSet]
    text: Text

    def of_kind(self, kind: str) -> tuple[Symbol, ...]:
        """Its givens, settings, unknowns or lets."""
        return tuple(s for s in self.symbols.values() if s.kind == kind)

    @property
    def units(self) -> dict[str, tree.UnitOf | None]:
        """The unit of each name: its own, or that of the variable of a law that it stands for."""
        units: dict[str, tree.UnitOf | None] = dict.fromkeys(self.symbols)
        for value in self.values.values():
            variables = self.uses[value.use].symbols
            for name, formula in value.arguments:
                if isinstance(formula, (tree.Name, tree.Element)):
                    argument = formula.text if isinstance(formula, tree.Name) else formula.name
                    units[argument] = units.get(argument) or variables[name].unit
        return units | {s.name: s.unit for s in self.symbols.values() if s.unit is not None}


def resolve_question(
    document: tree.SyntaxTree, text: Text, find: Find
) -> tuple[Question | None, list[Diagnostic]]:
    """Resolve every name of a question.

    Args:
        document: the parsed file.
        text: its text, for messages.
        find: the function that loads the laws that it names.

    Returns:
        The question, or None where there is an error; and all mistakes.
    """
    scope = Scope(text, find, document.unread_names, unknown="`given {0}` or `choose {0}`")
    try:
        return _resolved(scope, document.statements), scope.diagnostics
    except TooManyMistakes:
        return None, scope.diagnostics


def _resolved(scope: Scope, statements: Sequence[tree.Statement]) -> Question | None:
    header, body = header_and_body(scope, statements, "question")
    if body is None:
        return None
    look_ahead(scope, body)
    if scope.unread_names and not any(isinstance(s, tree.Uses) for s in body):
        scope.unread_names |= {ANYTHING}  # the laws are named in a line that could not be read
    calls = Calls(scope)
    # laws first: a let may use one that is named further down
    for statement in sorted(body, key=lambda s: not isinstance(s, tree.Uses)):
        match statement:
            case tree.Uses():
                _use(scope, statement, calls)
            case tree.Index():
                declare_indices(scope, statement)
            case tree.Declaration():
                declare(scope, statement)
            case tree.Definition():
                definition = replace(statement, formula=calls.named(statement.formula))
                define(scope, definition, None, QUESTION, labelled=True)
    constraints = tuple(
        _constraint(scope, calls, relation, statement.doc)
        for statement in body
        if isinstance(statement, tree.Subject)
        for relation in statement.relations
    )
    goal = _goal(scope, calls, header, body)
    if not scope.unread_names and not scope.errors:
        _check_unknowns(scope, header, goal)
        _check_sizes(scope, calls, constraints, goal)
    if header is None or goal is None or scope.errors:
        return None
    check_unused(scope)
    symbols = {n: s for n, s in scope.symbols.items() if s.kind not in ("index", "use", "value")}
    line, formula = goal
    return Question(
        name=header.name,
        title=header.title or header.name,
        sources=tuple(s.text for s in body if isinstance(s, tree.SourceNode)),
        notes=tuple(s.text for s in body if isinstance(s, tree.NoteNode)),
        symbols=symbols,
        uses=calls.uses,
        values=calls.values,
        goal=formula,
        goal_text=print_formula(line.objective),
        maximize=isinstance(line, tree.Maximize),
        constraints=constraints,
        laws=scope.laws,
        indices=scope.indices,
        text=scope.text,
    )


def _check_unknowns(
    scope: Scope, header: tree.Section | None, goal: tuple[tree.Statement, Formula] | None
) -> None:
    """Report unknowns that neither goal nor constraints contain, and a goal without unknowns."""
    unknowns = [s for s in scope.symbols.values() if s.kind == "unknown"]
    if not unknowns:
        span = header.span if header else Span(0, 0)
        scope.report("L0702", "the question has no unknown", span, "write `choose NAME in [0, 1]`")
    for symbol in unknowns:
        if symbol.name not in scope.used:
            message = f"nothing depends on the unknown `{symbol.name}`"
            help = "remove it, or use it in the goal or a constraint"
            scope.report("L0702", message, symbol.span, help)
    if goal is not None and unknowns and not scope.errors and not varies(scope, goal[1]):
        message = "the goal does not depend on an unknown"
        named = " or ".join(f"`{s.text}`" for s in unknowns[:4])
        scope.report("L0702", message, goal[0].span, f"let it depend on {named}")


def _check_sizes(
    scope: Scope,
    calls: Calls,
    constraints: Sequence[QuestionConstraint],
    goal: tuple[tree.Statement, Formula] | None,
) -> None:
    """Report a formula that is too large after expansion of the laws in it."""
    formulas = [s.formula for s in scope.symbols.values() if s.formula is not None]
    formulas += [side for constraint in constraints for side in (constraint.lhs, constraint.rhs)]
    formulas += [goal[1]] if goal is not None else []
    check_sizes(scope, formulas, calls.sizes(), "lets and laws")


def _use(scope: Scope, statement: tree.Uses, calls: Calls) -> None:
    """`uses general, domain : dcpt.l3`"""
    law = scope.law(statement.law, scope.within(statement.span, statement.law, last=True))
    for name, span in use_spans(scope, statement):
        symbol = Symbol(name, "use", span)
        # without further messages for each call of a law that could not be loaded
        if not scope.declare(symbol) or law is None:
            calls.missing.add(name)
        else:
            calls.uses[name] = law


def _constraint(
    scope: Scope, calls: Calls, relation: tree.ComparisonNode | tree.Equality, doc: str | None
) -> QuestionConstraint:
    """One relation of a `subject to` line; an index that is free in it means: for each label."""
    word = "=" if isinstance(relation, tree.Equality) else relation.relation
    lhs, rhs = calls.named(relation.lhs), calls.named(relation.rhs)
    free = replace(QUESTION, free=True)
    one, other = (check_formula(scope, side, free) for side in (lhs, rhs))
    check_same_unit(scope, one, other, "the left side", relation.rhs.span)
    indices: tuple[str, ...] = ()
    # of both sides together: an index on one side alone is free in the whole relation
    if not scope.errors:
        indices = calls.free_in(tree.Sum((("+", lhs), ("-", rhs))))
    text = print_relation(relation)
    return QuestionConstraint(lhs, word, rhs, text, doc, indices, relation.span)


def _goal(
    scope: Scope, calls: Calls, header: tree.Section | None, body: Sequence[tree.Statement]
) -> tuple[tree.Minimize | tree.Maximize, Formula] | None:
    """The statement and formula of the goal; None, after a message, without a goal."""
    lines = [s for s in body if isinstance(s, (tree.Minimize, tree.Maximize))]
    for second in lines[1:]:
        help = "remove it, or make it a constraint: `subject to`"
        span = scope.keyword(second.span)
        scope.report("L0403", "the question has a second goal", span, help)
    if not lines:
        if not scope.unread_names:
            span = header.span if header else Span(0, 0)
            help = "write `minimize …` or `maximize …`"
            scope.report("L0702", "the question has no goal", span, help)
        return None
    formula = calls.named(lines[0].objective)
    check_formula(scope, formula, QUESTION)
    return lines[0], formula
