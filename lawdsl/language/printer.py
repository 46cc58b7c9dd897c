"""Syntax tree -> text, in the one canonical style; `parse(print(tree))` is the tree again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from lawdsl.core.units import unit_text
from lawdsl.language.characters import BYTE_ORDER_MARK
from lawdsl.language.keywords import SUPERSCRIPTS
from lawdsl.language.label_texts import element_text, in_quotes, with_subscripts
from lawdsl.language.tree import (
    Aggregate,
    BoundNode,
    Call,
    ChoicesNode,
    Claim,
    ComparisonNode,
    Conditional,
    ConditionNode,
    Declaration,
    Definition,
    Derivative,
    Domain,
    Element,
    Equality,
    Extends,
    Finite,
    Formula,
    Hold,
    Identify,
    Index,
    IntegerNode,
    Item,
    KeepNode,
    Label,
    LimitNode,
    ListedNode,
    Maximize,
    MeasureNode,
    Minimize,
    Name,
    Named,
    Negative,
    NoteNode,
    Number,
    Power,
    PriorNode,
    Product,
    RangeNode,
    Reduction,
    Require,
    Section,
    Simplex,
    SourceLine,
    SourceNode,
    StartGrid,
    StartPoint,
    Statement,
    StepNode,
    Subject,
    Sum,
    SyntaxTree,
    TrendNode,
    UnitOf,
    Uses,
    name_of,
)

KEYWORD_COLUMNS = 9  # columns of the keyword: those of the longest, `parameter`
MAX_LINE_WIDTH = 110  # a formula longer than this is broken before a term

# How tightly a record binds; an operand that binds less than its place asks for is bracketed.
_CONDITIONAL, _SUM, _PRODUCT, _UNARY, _POWER, _ATOM = range(6)


def print_formula(formula: Formula) -> str:
    """A formula as text, with the necessary brackets only."""
    return _formula(formula)[0]


def print_named(named: Named) -> str:
    """A name, with its subscripts where it has some."""
    return element_text(named.name, named.subscripts) if isinstance(named, Element) else named


def _formula(node: Formula) -> tuple[str, int]:
    match node:
        case Number(text) | Name(text):
            return text, _ATOM
        case Element():
            return print_named(node), _ATOM
        case Aggregate(function, body, over):
            return f"{function}({print_formula(body)} for {', '.join(over)})", _ATOM
        case Derivative(of, wrt, order):
            return _derivative(of, wrt, order), _ATOM
        case Call(function, arguments, keywords, subscripts):
            parts = [print_formula(a) for a in arguments]
            parts += [f"{name} = {print_formula(value)}" for name, value in keywords]
            return f"{element_text(function, subscripts)}({', '.join(parts)})", _ATOM
        case Power(base, exponent):
            return f"{_operand(base, _ATOM)}^{_operand(exponent, _UNARY)}", _POWER
        case Negative(operand):
            return f"-{_operand(operand, _UNARY)}", _UNARY
        case Product(factors):
            text = _operand(factors[0][1], _UNARY)
            return text + "".join(op + _operand(f, _UNARY) for op, f in factors[1:]), _PRODUCT
        case Conditional(lhs, relation, rhs, yes, no):
            condition = f"{_operand(lhs, _SUM)} {relation} {_operand(rhs, _SUM)}"
            # the last part needs no brackets: `else if …`
            text = f"if {condition} then {_operand(yes, _SUM)} else {print_formula(no)}"
            return text, _CONDITIONAL
        case Sum(terms):
            text = _operand(terms[0][1], _PRODUCT)
            return text + "".join(f" {op} {_operand(t, _PRODUCT)}" for op, t in terms[1:]), _SUM
    raise AssertionError(node)


def _operand(node: Formula, at_least: int) -> str:
    text, binding = _formula(node)
    return text if binding >= at_least else f"({text})"


def _derivative(of: Named, wrt: Sequence[Named], order: int) -> str:
    # superscripts have one digit, and the notation with ∂ has no dotted names
    most = max(SUPERSCRIPTS)
    if order > most or any("." in name_of(name) for name in (of, *wrt)):
        return f"diff({', '.join(map(print_named, (of, *wrt)))})"
    below = ""
    for name, run in groupby(wrt):
        remaining = len(list(run))
        while remaining:
            below += f"∂{print_named(name)}{SUPERSCRIPTS.get(min(remaining, most), '')}"
            remaining -= min(remaining, most)
    return f"∂{SUPERSCRIPTS.get(order, '')}{print_named(of)}/{below}"


def print_unit(unit: UnitOf) -> str:
    """A unit as text: nat/token."""
    return unit_text(unit.factors)


def print_domain(domain: Domain) -> str:
    """A domain as it follows a name: `> 0` or `in [0, 1)`."""
    if isinstance(domain, BoundNode):
        return f"{domain.relation} {print_formula(domain.limit)}"
    if isinstance(domain, Simplex):
        return "in simplex"
    if isinstance(domain, ChoicesNode):
        return f"in {{{', '.join(map(print_formula, domain.values))}}}"
    if isinstance(domain, IntegerNode):
        return f"integer {print_domain(domain.interval)}"
    lower, upper = print_formula(domain.lower), print_formula(domain.upper)
    return f"in {domain.opening}{lower}, {upper}{domain.closing}"


def print_items(items: Sequence[Item]) -> str:
    """Declared names or conditions, each with its own domain."""
    return ", ".join(
        print_named(item.named) + (f" {print_domain(item.domain)}" if item.domain else "")
        for item in items
    )


def print_set(over: str | RangeNode | ListedNode) -> str:
    """The set of labels of an index, as text."""
    if isinstance(over, RangeNode):
        return f"{over.first}..{over.last}"
    return f"{{{', '.join(over.labels)}}}" if isinstance(over, ListedNode) else over


def _values(values: Sequence[tuple[Named, Formula]], between: str = "=") -> str:
    return ", ".join(f"{print_named(n)} {between} {print_formula(v)}" for n, v in values)


def print_claim(claim: Claim) -> str:
    """A claim as it follows `require`."""
    match claim:
        case ComparisonNode(lhs, relation, rhs):
            return f"{print_formula(lhs)} {relation} {print_formula(rhs)}"
        case Finite(formula):
            return f"{print_formula(formula)} finite"
        case TrendNode(formula, word, name, against):
            rest = f" against {print_named(against)}" if against is not None else ""
            return f"{print_formula(formula)} {word} in {print_named(name)}{rest}"
        case LimitNode(formula, target, approaches):
            limits = _values(approaches, "->")
            return f"{print_formula(formula)} -> {print_formula(target)} as {limits}"
        case Reduction(formula, law):
            return f"{print_formula(formula)} is {law}"
    raise AssertionError(claim)


def print_chosen(chosen: ConditionNode) -> str:
    """A condition of a step: `S >= 10000`, `domain = "Github"`."""
    value = chosen.value
    text = in_quotes(value.text) if isinstance(value, Label) else print_formula(value)
    return f"{chosen.name} {chosen.relation} {text}"


def print_relation(relation: ComparisonNode | Equality) -> str:
    """The text of a relation in a constraint: `6*N*D = C`."""
    sign = "=" if isinstance(relation, Equality) else relation.relation
    return f"{print_formula(relation.lhs)} {sign} {print_formula(relation.rhs)}"


def print_statement(statement: Statement) -> str:
    """One statement on one line, single-spaced."""
    return " ".join(cell for cell in _cells(statement) if cell)


def print_document(document: SyntaxTree) -> str:
    """A whole file: paragraphs aligned in columns, comments kept, one blank line at most."""
    text = ""
    for paragraph in _paragraphs(document.lines):
        text += ("\n" if text else "") + "".join(f"{line}\n" for line in _aligned(paragraph))
    return text


def print_like(text: str, document: SyntaxTree) -> str:
    """A whole file with the line ends and the byte order mark of its text.

    Mixed line ends become those of most lines: Git on Windows writes CR LF in all of them, and takes
    that back when it stores the file.

    Args:
        text: the text of the file.
        document: its tree.
    """
    printed = print_document(document)
    if 2 * text.count("\r\n") > text.count("\n"):
        printed = printed.replace("\n", "\r\n")
    return BYTE_ORDER_MARK + printed if text.startswith(BYTE_ORDER_MARK) else printed


def _paragraphs(lines: Sequence[SourceLine]) -> list[list[SourceLine]]:
    paragraphs: list[list[SourceLine]] = []
    for line in lines:
        if line.gap or not paragraphs:
            paragraphs.append([])
        paragraphs[-1].append(line)
    return paragraphs


def _cells(statement: Statement) -> tuple[str, ...]:
    """Keyword, body, and for what has them the unit and the doc: the columns of a paragraph."""
    match statement:
        case Section(kind, name, title):
            return kind, name if title is None else f"{name} {in_quotes(title)}"
        case SourceNode(text):
            return "source", in_quotes(text)
        case NoteNode(text):
            return "note", in_quotes(text)
        case Extends(law):
            return "extends", law
        case Index(names, over):
            return "index", f"{', '.join(names)} over {print_set(over)}"
        case Declaration(kind, items, unit, doc):
            return kind, print_items(items), *_unit_and_doc(unit, doc)
        case Definition(kind, name, formula, unit, doc, subscripts):
            keyword = "" if kind == "output" else kind
            lhs = with_subscripts(name, subscripts)
            return keyword, f"{lhs} = {print_formula(formula)}", *_unit_and_doc(unit, doc)
        case Hold(kind, values):
            return kind, _values(values)
        case MeasureNode(name, formula):
            return "measure", f"{print_named(name)} = {print_formula(formula)}"
        case Identify(lhs, rhs):
            return "identify", f"{print_formula(lhs)} = {print_formula(rhs)}"
        case Require(claim, conditions, expect):
            conditions_text = f"for {print_items(conditions)}" if conditions else ""
            return (
                "require",
                print_claim(claim),
                conditions_text,
                f"expect {expect}" if expect else "",
            )
        case Minimize(objective):
            return "minimize", print_formula(objective)
        case Maximize(objective):
            return "maximize", print_formula(objective)
        case Uses(names, law):
            return "uses", f"{', '.join(names)} : {law}"
        case Subject(relations, doc):
            relations_text = ", ".join(map(print_relation, relations))
            return "subject to", relations_text, in_quotes(doc) if doc is not None else ""
        case StartGrid(targets, values):
            listed = ", ".join("..." if v is None else print_formula(v) for v in values)
            return "start", ", ".join(map(print_formula, targets)), f"in {{{listed}}}"
        case StartPoint(values):
            return "start", _values(values)
        case PriorNode(of, center, deviation):
            equals = f"{print_formula(of)} = {print_formula(center)}"
            return "prior", f"{equals} ± {print_formula(deviation)}"
        case StepNode(law, group_by, where, point, name, origins, since):
            named = f"{name} : {law}" if name else law
            source = f"from {', '.join(origins)}" if origins else ""
            baseline = f"since {_values((since,))}" if since else ""
            groups = f"by {', '.join(group_by)}" if group_by else ""
            at = f"at {_values(point)}" if point else ""
            return "step", named, f"{source} {baseline}".strip(), groups, _chosen(where), at
        case KeepNode(name, origins, where):
            return "keep", f"{name} from {', '.join(origins)}", _chosen(where)
    raise AssertionError(statement)


def _unit_and_doc(unit: UnitOf | None, doc: str | None) -> tuple[str, str]:
    return f"unit {print_unit(unit)}" if unit else "", in_quotes(doc) if doc is not None else ""


def _chosen(where: Sequence[ConditionNode]) -> str:
    return f"where {', '.join(map(print_chosen, where))}" if where else ""


def _table(statement: Statement) -> str:
    """Statements whose columns line up with one another when they stand in one paragraph."""
    if isinstance(statement, (Require, Section, StartGrid, StepNode, KeepNode, Subject)):
        return type(statement).__name__
    if isinstance(statement, Definition) and statement.kind == "output":
        return "output"
    return "declaration"


def _aligned(paragraph: Sequence[SourceLine]) -> list[str]:
    """The lines of a paragraph, their cells and the comments behind them in columns."""
    widths: dict[tuple[str, int], int] = {}
    for line in paragraph:
        if line.statement is not None:
            cells = _cells(line.statement)
            for column in range(1, len(cells)):
                # the last cell of a row has nothing to its right that would have to line up
                if any(cells[column + 1 :]):
                    key = _table(line.statement), column
                    widths[key] = max(widths.get(key, 0), len(cells[column]))
    rows: list[tuple[SourceLine, str]] = []
    for line in paragraph:
        if line.statement is not None:
            rows.append((line, _row(line.statement, widths)))
    # a line that will be broken would push the comments of the others far to the right
    behind = max(
        (len(t) for line, t in rows if line.behind and len(t) <= MAX_LINE_WIDTH), default=0
    )
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
    keyword = 0 if isinstance(statement, Section) else KEYWORD_COLUMNS
    text = f"{cells[0]:{keyword}} " if cells[0] else ""
    for column in range(1, len(cells)):
        width = widths.get((_table(statement), column), 0)
        if cells[column] or any(cells[column + 1 :]):
            text += f"{cells[column]:{width}}" + ("  " if width else "")
    return text.rstrip()


def _broken(text: str) -> list[str]:
    """A line too long is broken before its terms."""
    pieces = [text]
    while len(pieces[-1]) > MAX_LINE_WIDTH and (position := _break(pieces[-1])):
        pieces[-1:] = [pieces[-1][:position].rstrip(), "    " + pieces[-1][position:]]
    return pieces


def _break(text: str) -> int:
    """Where a line may be broken: after the last outer ` + ` or ` - ` that fits, or before `then` and
    `else`, not in a text."""
    best = depth = 0
    quoted = False
    for i, char in enumerate(text[:MAX_LINE_WIDTH]):
        if char == '"':
            quoted = not quoted
        elif not quoted:
            depth += (char in "([{") - (char in ")]}")
            # not within the first columns, where a break would gain nothing
            if depth or i <= 8:
                continue
            if text[i : i + 3] in (" + ", " - "):
                best = i + 3
            elif text.startswith((" then ", " else "), i):
                best = i + 1
    return best
