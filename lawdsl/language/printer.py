"""Syntax tree -> text, in the one canonical style; `parse(print(tree))` is the tree again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from lawdsl.language.keywords import SUPERSCRIPTS
from lawdsl.language.tree import (
    Aggregate,
    Bound,
    Call,
    Chosen,
    Claim,
    Comparison,
    Declaration,
    Definition,
    Derivative,
    Document,
    Domain,
    Element,
    Equality,
    Extends,
    Finite,
    Formula,
    Hold,
    Identify,
    Index,
    Item,
    Label,
    Limit,
    Line,
    Listed,
    Maximize,
    Measure,
    Minimize,
    Name,
    Named,
    Negative,
    Number,
    Power,
    Product,
    Range,
    Reduction,
    Require,
    Section,
    Simplex,
    Source,
    StartGrid,
    StartPoint,
    Statement,
    Step,
    Subject,
    Sum,
    Trend,
    UnitOf,
    Uses,
    name_of,
)

KEYWORD = 9  # columns of the keyword: those of the longest, `parameter`
WIDTH = 110  # a formula longer than this is broken before a term

# How tightly a record binds; an operand that binds less than its place asks for is bracketed.
_SUM, _PRODUCT, _UNARY, _POWER, _ATOM = range(5)


def print_formula(formula: Formula) -> str:
    """A formula as text, with the brackets it needs and no others."""
    return _formula(formula)[0]


def print_named(named: Named) -> str:
    """A name, with its subscripts where it has some."""
    return with_subscripts(named.name, named.subscripts) if isinstance(named, Element) else named


def with_subscripts(name: str, subscripts: Sequence[str]) -> str:
    """`t[i, j]`, or the name alone."""
    return f"{name}[{', '.join(subscripts)}]" if subscripts else name


def _formula(node: Formula) -> tuple[str, int]:
    match node:
        case Number(text) | Name(text):
            return text, _ATOM
        case Element():
            return print_named(node), _ATOM
        case Aggregate(function, body, over):
            return f"{function}({print_formula(body)} for {', '.join(over)})", _ATOM
        case Derivative(of, by, order):
            return _derivative(of, by, order), _ATOM
        case Call(function, arguments, keywords, subscripts):
            parts = [print_formula(a) for a in arguments]
            parts += [f"{name} = {print_formula(value)}" for name, value in keywords]
            return f"{with_subscripts(function, subscripts)}({', '.join(parts)})", _ATOM
        case Power(base, exponent):
            return f"{_within(base, _ATOM)}^{_within(exponent, _UNARY)}", _POWER
        case Negative(operand):
            return f"-{_within(operand, _UNARY)}", _UNARY
        case Product(factors):
            text = _within(factors[0][1], _UNARY)
            return text + "".join(op + _within(f, _UNARY) for op, f in factors[1:]), _PRODUCT
        case Sum(terms):
            text = _within(terms[0][1], _PRODUCT)
            return text + "".join(f" {op} {_within(t, _PRODUCT)}" for op, t in terms[1:]), _SUM
    raise AssertionError(node)


def _within(node: Formula, at_least: int) -> str:
    text, binding = _formula(node)
    return text if binding >= at_least else f"({text})"


def _derivative(of: Named, by: Sequence[Named], order: int) -> str:
    most = max(SUPERSCRIPTS)
    if order > most or any("." in name_of(name) for name in (of, *by)):
        return f"diff({', '.join(map(print_named, (of, *by)))})"
    below = ""
    for name, run in groupby(by):
        left = len(list(run))
        while left:
            below += f"∂{print_named(name)}{SUPERSCRIPTS.get(min(left, most), '')}"
            left -= min(left, most)
    return f"∂{SUPERSCRIPTS.get(order, '')}{print_named(of)}/{below}"


def print_unit(unit: UnitOf) -> str:
    """A unit as text: nat/token."""
    text = ""
    for i, (name, power) in enumerate(unit.factors):
        negative = i > 0 and power < 0
        text += ("/" if negative else "*") if i else ""
        shown = -power if negative else power
        text += name if shown == 1 else f"{name}^{shown}"
    return text


def print_domain(domain: Domain) -> str:
    """A domain as it follows a name: `> 0` or `in [0, 1)`."""
    if isinstance(domain, Bound):
        return f"{domain.relation} {print_formula(domain.limit)}"
    if isinstance(domain, Simplex):
        return "in simplex"
    lower, upper = print_formula(domain.lower), print_formula(domain.upper)
    return f"in {domain.left}{lower}, {upper}{domain.right}"


def print_items(items: Sequence[Item]) -> str:
    """Declared names or conditions, each with its own domain."""
    return ", ".join(
        print_named(item.named) + (f" {print_domain(item.domain)}" if item.domain else "")
        for item in items
    )


def print_set(over: str | Range | Listed) -> str:
    """What an index runs over."""
    if isinstance(over, Range):
        return f"{over.first}..{over.last}"
    return f"{{{', '.join(over.labels)}}}" if isinstance(over, Listed) else over


def _values(values: Sequence[tuple[Named, Formula]], between: str = "=") -> str:
    return ", ".join(f"{print_named(n)} {between} {print_formula(v)}" for n, v in values)


def print_claim(claim: Claim) -> str:
    """A claim as it follows `require`."""
    match claim:
        case Comparison(left, relation, right):
            return f"{print_formula(left)} {relation} {print_formula(right)}"
        case Finite(formula):
            return f"{print_formula(formula)} finite"
        case Trend(formula, word, name, against):
            rest = f" against {print_named(against)}" if against is not None else ""
            return f"{print_formula(formula)} {word} in {print_named(name)}{rest}"
        case Limit(formula, target, approaches):
            ways = _values(approaches, "->")
            return f"{print_formula(formula)} -> {print_formula(target)} as {ways}"
        case Reduction(formula, law):
            return f"{print_formula(formula)} is {law}"
    raise AssertionError(claim)


def print_chosen(chosen: Chosen) -> str:
    """A condition of a step: `S >= 10000`, `domain = "Github"`."""
    value = chosen.value
    text = f'"{value.text}"' if isinstance(value, Label) else print_formula(value)
    return f"{chosen.name} {chosen.relation} {text}"


def print_relation(relation: Comparison | Equality) -> str:
    """What an answer is subject to: `6*N*D = C`."""
    sign = "=" if isinstance(relation, Equality) else relation.relation
    return f"{print_formula(relation.left)} {sign} {print_formula(relation.right)}"


def print_statement(statement: Statement) -> str:
    """One statement on one line, single-spaced."""
    return " ".join(cell for cell in _cells(statement) if cell)


def print_document(document: Document) -> str:
    """A whole file: paragraphs aligned in columns, comments kept, one blank line at most."""
    text = ""
    for paragraph in _paragraphs(document.lines):
        text += ("\n" if text else "") + "".join(f"{line}\n" for line in _aligned(paragraph))
    return text


def _paragraphs(lines: Sequence[Line]) -> list[list[Line]]:
    found: list[list[Line]] = []
    for line in lines:
        if line.gap or not found:
            found.append([])
        found[-1].append(line)
    return found


def _cells(statement: Statement) -> tuple[str, ...]:
    """Keyword, body, and for what has them the unit and the doc: the columns of a paragraph."""
    match statement:
        case Section(kind, name, title):
            return kind, name if title is None else f'{name} "{title}"'
        case Source(text):
            return "source", f'"{text}"'
        case Extends(law):
            return "extends", law
        case Index(names, over):
            return "index", f"{', '.join(names)} over {print_set(over)}"
        case Declaration(kind, items, unit, doc):
            return kind, print_items(items), *_unit_and_doc(unit, doc)
        case Definition(kind, name, formula, unit, doc, subscripts):
            keyword = "" if kind == "output" else kind
            left = with_subscripts(name, subscripts)
            return keyword, f"{left} = {print_formula(formula)}", *_unit_and_doc(unit, doc)
        case Hold(kind, values):
            return kind, _values(values)
        case Measure(name, formula):
            return "measure", f"{print_named(name)} = {print_formula(formula)}"
        case Identify(left, right):
            return "identify", f"{print_formula(left)} = {print_formula(right)}"
        case Require(claim, conditions, expect):
            place = f"for {print_items(conditions)}" if conditions else ""
            return "require", print_claim(claim), place, f"expect {expect}" if expect else ""
        case Minimize(objective):
            return "minimize", print_formula(objective)
        case Maximize(objective):
            return "maximize", print_formula(objective)
        case Uses(names, law):
            return "uses", f"{', '.join(names)} : {law}"
        case Subject(relations, doc):
            kept = ", ".join(map(print_relation, relations))
            return "subject to", kept, f'"{doc}"' if doc is not None else ""
        case StartGrid(targets, values):
            listed = ", ".join("..." if v is None else print_formula(v) for v in values)
            return "start", ", ".join(map(print_formula, targets)), f"in {{{listed}}}"
        case StartPoint(values):
            return "start", _values(values)
        case Step(law, by, where, at):
            groups = f"by {', '.join(by)}" if by else ""
            chosen = f"where {', '.join(map(print_chosen, where))}" if where else ""
            return "step", law, groups, chosen, f"at {_values(at)}" if at else ""
    raise AssertionError(statement)


def _unit_and_doc(unit: UnitOf | None, doc: str | None) -> tuple[str, str]:
    return f"unit {print_unit(unit)}" if unit else "", f'"{doc}"' if doc is not None else ""


def _table(statement: Statement) -> str:
    """Statements whose columns line up with one another when they stand in one paragraph."""
    if isinstance(statement, (Require, Section, StartGrid, Step, Subject)):
        return type(statement).__name__
    if isinstance(statement, Definition) and statement.kind == "output":
        return "output"
    return "declaration"


def _aligned(paragraph: Sequence[Line]) -> list[str]:
    """The lines of a paragraph, their cells and the comments behind them in columns."""
    widths: dict[tuple[str, int], int] = {}
    for line in paragraph:
        if line.statement is not None:
            cells = _cells(line.statement)
            for column in range(1, len(cells)):
                if any(cells[column + 1 :]):
                    key = _table(line.statement), column
                    widths[key] = max(widths.get(key, 0), len(cells[column]))
    rows: list[tuple[Line, str]] = []
    for line in paragraph:
        if line.statement is not None:
            rows.append((line, _row(line.statement, widths)))
    behind = max((len(t) for line, t in rows if line.behind and len(t) <= WIDTH), default=0)
    texts = iter(rows)
    printed: list[str] = []
    for line in paragraph:
        printed += line.above
        if line.statement is not None:
            pieces = _broken(next(texts)[1])
            if line.behind is not None:
                pieces[-1] = f"{pieces[-1]:{behind if len(pieces) == 1 else 0}}  {line.behind}"
            printed += pieces
    return printed


def _row(statement: Statement, widths: dict[tuple[str, int], int]) -> str:
    cells = _cells(statement)
    keyword = 0 if isinstance(statement, Section) else KEYWORD
    text = f"{cells[0]:{keyword}} " if cells[0] else ""
    for column in range(1, len(cells)):
        width = widths.get((_table(statement), column), 0)
        if cells[column] or any(cells[column + 1 :]):
            text += f"{cells[column]:{width}}" + ("  " if width else "")
    return text.rstrip()


def _broken(text: str) -> list[str]:
    """A line too long is broken before its terms."""
    pieces = [text]
    while len(pieces[-1]) > WIDTH and (at := _break(pieces[-1])):
        pieces[-1:] = [pieces[-1][:at].rstrip(), "    " + pieces[-1][at:]]
    return pieces


def _break(text: str) -> int:
    """Where a line may be broken: after the last outer ` + ` or ` - ` that fits, not in a text."""
    best = depth = 0
    quoted = False
    for i, char in enumerate(text[:WIDTH]):
        if char == '"':
            quoted = not quoted
        elif not quoted:
            depth += (char in "([{") - (char in ")]}")
            if depth == 0 and i > 8 and text[i : i + 3] in (" + ", " - "):
                best = i + 3
    return best
