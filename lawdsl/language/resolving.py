"""Syntax tree -> declarations: every name knows what it is, every mistake is found.

What comes out is still syntax (no algebra library is loaded), so `lawdsl fmt` and an editor can
use it; `lawdsl.law` turns it into mathematics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from lawdsl.diagnostics import Diagnostic, Text
from lawdsl.language import limits, tree, words
from lawdsl.language.dimensions import Powers, powers_of, unit_mistakes
from lawdsl.language.numbers import TooLarge, Undefined, value
from lawdsl.language.parsing import long_name
from lawdsl.language.printing import print_formula
from lawdsl.language.tree import Formula, Node, Span
from lawdsl.units import known

Relation = tuple[str, Formula]


@dataclass(frozen=True)
class Symbol:
    """A declared name.

    `kind` is variable, setting, parameter, let, output or law (the right-hand side of a law that
    is extended). `bounds` are the domain's relations; `formula` is what a setting, let, output or
    law equals.
    """

    name: str
    kind: str
    span: Span
    bounds: tuple[Relation, ...] = ()
    formula: Formula | None = None
    unit: tree.UnitOf | None = None
    doc: str | None = None


@dataclass(frozen=True)
class Objective:
    """What a fit minimises: the sum over rows of a loss of log or raw residuals."""

    loss: str = "huber"  # huber | squared
    log: bool = True
    delta: float = 1e-3  # Huber's delta

    @property
    def name(self) -> str:
        scale = "log({})" if self.log else "{}"
        tail = f", {self.delta:g}" if self.loss == "huber" else ""
        return f"{self.loss}({scale.format('L')}{tail})"


@dataclass(frozen=True)
class Claim:
    """A `require` line: what is claimed, where, and the verdict its author expects."""

    claim: tree.Claim
    conditions: tuple[tuple[str, tuple[Relation, ...]], ...]
    expect: str
    text: Text = field(repr=False, compare=False)
    span: Span


@dataclass(frozen=True)
class Declarations:
    """A law as declared, that of the law it extends included."""

    name: str
    title: str
    sources: tuple[str, ...]
    symbols: Mapping[str, Symbol]
    output: Symbol
    claims: tuple[Claim, ...]
    objective: Objective
    grids: tuple[tree.StartGrid, ...]
    points: tuple[tree.StartPoint, ...]
    laws: Mapping[str, Declarations]  # those named in it, by name
    text: Text


Find = Callable[[str], Declarations]
"""Finds a law by its dotted name; raises `LawdslError`."""


def resolve(
    document: tree.Document, text: Text, find: Find
) -> tuple[Declarations | None, list[Diagnostic]]:
    """Give every name of a file its meaning.

    Args:
        document: the parsed file.
        text: its text, for messages.
        find: finds the laws that it names.

    Returns:
        The declarations, or None where a mistake leaves nothing to go on with; and all mistakes.
    """
    resolver = _Resolver(text, find, document.lost)
    declarations = resolver.run(document.statements)
    return declarations, resolver.diagnostics


# The kinds of names that a formula in each place may use.
_SEES = {
    "setting": (),
    "variable": ("setting",),
    "parameter": ("setting", "parameter", "let"),
    "let": ("setting", "parameter", "variable", "let", "law"),
    "output": ("setting", "parameter", "variable", "let", "law"),
    "claim": ("setting", "parameter", "variable", "let", "law", "output"),
    "start": ("setting",),
}


class _Resolver:
    """One pass over the statements of a file, in their order."""

    def __init__(self, text: Text, find: Find, lost: frozenset[str]) -> None:
        self.text = text
        self.find = find
        self.lost = lost
        self.diagnostics: list[Diagnostic] = []
        self.symbols: dict[str, Symbol] = {}
        self.laws: dict[str, Declarations] = {}
        self.used: set[str] = set()
        self.own: dict[str, Span] = {}
        self.pending: dict[str, tree.Definition] = {}

    def run(self, statements: tuple[tree.Statement, ...]) -> Declarations | None:
        header, body = self._header(statements)
        if len(body) > limits.DECLARATIONS:
            message = f"the file has more than {limits.DECLARATIONS:,} statements"
            self._say("L0109", message, body[-1].span)
            return None
        base = self._extended([s for s in body if isinstance(s, tree.Extends)])
        self.pending = {s.name: s for s in body if isinstance(s, tree.Definition)}
        claims: list[Claim] = [] if base is None else list(base.claims)
        objective = base.objective if base else Objective()
        grids = list(base.grids) if base else []
        points = list(base.points) if base else []
        output: Symbol | None = None
        for statement in body:
            match statement:
                case tree.Declaration():
                    self._declare(statement)
                case tree.Definition():
                    found = self._define(statement, output)
                    output = found or output
        for statement in body:  # claims and fits speak of the whole law, wherever they stand
            match statement:
                case tree.Require():
                    claims.append(self._claim(statement, output))
                case tree.Minimize():
                    objective = self._objective(statement, output) or objective
                case tree.StartGrid():
                    self._grid(statement)
                    grids.append(statement)
                case tree.StartPoint():
                    self._point(statement)
                    points.append(statement)
        if output is None and not self.lost:
            place = header.span if header else Span(0, 0)
            help = "write the law as `L = …`"
            self._say("L0402", "the file has no equation", place, help=help)
        if header is None or output is None or any(d.severity == "error" for d in self.diagnostics):
            return None
        self._unused(output)
        self._sizes()
        sources = [s.text for s in body if isinstance(s, tree.Source)]
        return Declarations(
            name=header.name,
            title=header.title or header.name,
            sources=tuple(sources or (base.sources if base else ())),
            symbols=self.symbols,
            output=output,
            claims=tuple({(c.claim, c.conditions): c for c in claims}.values()),
            objective=objective,
            grids=tuple(grids),
            points=tuple(points),
            laws=self.laws,
            text=self.text,
        )

    # Structure

    def _header(
        self, statements: tuple[tree.Statement, ...]
    ) -> tuple[tree.Section | None, list[tree.Statement]]:
        """The `law` line, and the statements after it."""
        header: tree.Section | None = None
        body: list[tree.Statement] = []
        for statement in statements:
            if not isinstance(statement, tree.Section):
                body.append(statement)
            elif header is not None:
                help = "write it to a file of its own"
                self._say("L0403", "the file has a second law", statement.span, help=help)
                break
            else:
                header = statement
                if body:
                    help = "move it to the top"
                    self._say("L0401", "the `law` line is not the first", statement.span, help=help)
        if header is None and "law" not in self.lost:
            place = body[0].span if body else Span(0, 0)
            help = 'begin with a line as: law my_law "what it says"'
            self._say("L0401", "the file names no law", place, help=help)
        return header, body

    def _extended(self, extends: list[tree.Extends]) -> Declarations | None:
        """Take over what the extended law declares."""
        for second in extends[1:]:
            self._say("L0403", "a law extends one law", second.span, help="remove this line")
        if not extends:
            return None
        base = self._law(extends[0].law, extends[0].span)
        if base is None:
            self.lost |= frozenset((extends[0].law, *self.lost, "*"))
            return None
        for symbol in base.symbols.values():
            if symbol.kind != "output":
                self.symbols[symbol.name] = symbol
        self.symbols[base.name] = replace(base.output, name=base.name, kind="law")
        return base

    def _law(self, name: str, span: Span) -> Declarations | None:
        from lawdsl.diagnostics import LawdslError

        try:
            found = self.find(name)
        except LawdslError as error:
            first = error.diagnostics[0]
            here = first if first.text is None else replace(first, message=f"`{name}` is in error: {first.message}")
            self._say(here.code, here.message, span, help=here.help)
            return None
        self.laws |= {**found.laws, found.name: found}
        return found

    # Declarations

    def _declare(self, statement: tree.Declaration) -> None:
        waiting: list[tree.Item] = []
        for item in statement.items:
            waiting.append(item)
            if item.domain is not None:
                for named in waiting:
                    self._add(statement, named, item.domain)
                waiting = []
        for named in waiting:
            self._add(statement, named, None)
        self._unit(statement.unit)

    def _add(
        self, statement: tree.Declaration, item: tree.Item, domain: tree.Domain | None
    ) -> None:
        bounds = self._bounds(domain, statement.kind)
        earlier = self.symbols.get(item.name)
        if earlier and earlier.kind == statement.kind and item.name in self.own and bounds:
            # a second domain of one name: `parameter C > 0` and then `parameter C > C0`
            self.symbols[item.name] = replace(earlier, bounds=earlier.bounds + bounds)
            return
        if self._new_name(item.name, item.span):
            self.symbols[item.name] = Symbol(
                item.name,
                statement.kind,
                item.span,
                bounds,
                unit=statement.unit,
                doc=statement.doc,
            )

    def _bounds(self, domain: tree.Domain | None, kind: str) -> tuple[Relation, ...]:
        """A domain as relations; an empty interval is a mistake."""
        if domain is None:
            return ()
        if isinstance(domain, tree.Bound):
            self._formula(domain.limit, kind)
            return ((domain.relation, domain.limit),)
        self._formula(domain.lower, kind)
        self._formula(domain.upper, kind)
        lower, upper = self._value(domain.lower), self._value(domain.upper)
        closed = (domain.left, domain.right) == ("[", "]")
        if lower is not None and upper is not None:
            if lower > upper or (lower == upper and not closed):
                help = "write the smaller number first"
                self._say("L0406", "nothing lies in this interval", domain.span, help=help)
        return (
            (">=" if domain.left == "[" else ">", domain.lower),
            ("<=" if domain.right == "]" else "<", domain.upper),
        )

    def _define(self, statement: tree.Definition, output: Symbol | None) -> Symbol | None:
        """A setting, a let or the output; returns the output."""
        name, kind = statement.name, statement.kind
        if kind == "output" and output is not None:
            notes = (f"the first is `{output.name} = …`",)
            help = "name a part of the law with `let`"
            self._say("L0403", "the law has a second equation", statement.span, notes, help)
            return None
        self._formula(statement.formula, kind)
        self._unit(statement.unit)
        if kind == "setting" and self._value(statement.formula) is None:
            help = "a setting is a number; what depends on others is a `let`"
            self._say("L0412", "this is not a number", statement.formula.span, help=help)
        if not self._new_name(name, statement.span):
            return None
        symbol = Symbol(
            name,
            kind,
            statement.span,
            formula=statement.formula,
            unit=statement.unit,
            doc=statement.doc,
        )
        self.symbols[name] = symbol
        return symbol if kind == "output" else None

    def _new_name(self, name: str, span: Span) -> bool:
        if len(name) > limits.NAME:
            self.diagnostics.append(long_name(span, self.text))
        elif name in words.RESERVED:
            what = "a function" if name in words.FUNCTIONS else "a word with a fixed meaning"
            help = "choose another name"
            self._say("L0303", f"`{name}` is {what} and cannot be declared", span, help=help)
        elif name in self.symbols:
            earlier = self.own.get(name)
            where = f"line {self.text.position(earlier.start)[0]}" if earlier else "the extended law"
            note = (f"`{name}` is the {self.symbols[name].kind} declared in {where}",)
            self._say("L0302", f"`{name}` is declared twice", span, note, "choose another name")
        else:
            self.own[name] = span
            return True
        return False

    # Formulas

    def _formula(self, formula: Formula, place: str, fresh: frozenset[str] = frozenset()) -> None:
        """Check the names, calls, numbers and units of a formula that stands in such a place."""
        before = len(self.diagnostics)
        for node in tree.walk(formula):
            match node:
                case tree.Name(text):
                    self._name(text, node.span, place, fresh)
                case tree.Call():
                    self._call(node, place)
                case tree.Derivative():
                    self._derivative(node, place)
        if len(self.diagnostics) > before:
            return
        try:
            value(formula)
        except Undefined as found:
            self._say("L0501", found.why, found.node.span, help="correct the formula")
        except TooLarge as found:
            help = "write the number itself, as 1e20"
            self._say("L0502", "this number is too large to compute", found.node.span, help=help)
        for code, part, why in unit_mistakes(formula, self._powers):
            if code == "L0410":
                help = "give the parameter between them a unit of its own, or convert one of them"
                self._say(code, f"the units do not add: {why}", part.span, help=help)
            else:
                help = "divide by a reference value, or let the unit be part of the law's meaning"
                self._say(code, why, part.span, help=help, severity="warning")

    def _name(self, name: str, span: Span, place: str, fresh: frozenset[str]) -> None:
        if name in fresh or name in words.CONSTANTS:
            return
        symbol = self.symbols.get(name)
        if symbol is not None:
            self.used.add(name)
            if symbol.kind not in _SEES[place]:
                kinds = " and ".join(f"{k}s" for k in _SEES[place]) or "numbers"
                where = "a claim's" if place == "claim" else f"a {place}'s"
                message = f"{where} formula cannot use the {symbol.kind} `{name}`"
                self._say("L0308", message, span, help=f"it may use {kinds}")
            return
        if name in self.pending and name not in self.symbols:
            self._declared_later(name, span)
            return
        if name in words.RESERVED:
            help = f"write `{name}(…)`"
            self._say("L0301", f"`{name}` is a function", span, help=help)
            return
        if name in self.lost or "*" in self.lost:
            return
        alike = words.nearest(name, self.symbols)
        if alike is not None:
            symbol = self.symbols[alike]
            line = self.own.get(alike)
            where = f", declared on line {self.text.position(line.start)[0]}" if line else ""
            help = f"did you mean `{alike}`? (a {symbol.kind}{where})"
        else:
            help = f"declare it: `parameter {name}` or `variable {name}`"
        self._say("L0301", f"unknown name `{name}`", span, help=help)

    def _declared_later(self, name: str, span: Span) -> None:
        circle = self._circle(name)
        if circle:
            path = " -> ".join(circle)
            help = "define one of them without the others"
            self._say("L0307", f"`{name}` is defined by itself: {path}", span, help=help)
        else:
            line = self.text.position(self.pending[name].span.start)[0]
            help = f"move its line ({line}) above this one"
            self._say("L0306", f"`{name}` is used before it is declared", span, help=help)

    def _circle(self, name: str) -> list[str] | None:
        """The path by which a definition comes back to itself."""
        paths, seen = [[name]], set()
        while paths:
            path = paths.pop()
            definition = self.pending.get(path[-1])
            for node in tree.walk(definition.formula) if definition else ():
                if isinstance(node, tree.Name):
                    if node.text == name:
                        return [*path, name]
                    if node.text not in seen:
                        seen.add(node.text)
                        paths.append([*path, node.text])
        return None

    def _call(self, node: tree.Call, place: str) -> None:
        symbol = self.symbols.get(node.function)
        if symbol is not None and symbol.kind == "output" and place == "claim":
            if node.arguments or not node.keywords:
                help = f"write `{node.function}(name = value)`"
                self._say("L0305", "a law is taken at named values", node.span, help=help)
            for name, _ in node.keywords:
                self._derivable(name, node.span)
            self.used.add(node.function)
            return
        if symbol is not None:
            help = f"write `{node.function}*(…)` for a product"
            self._say("L0304", f"`{node.function}` is a {symbol.kind}", node.span, help=help)
            return
        arity = words.FUNCTIONS.get(node.function)
        if arity is None:
            alike = words.nearest(node.function, words.FUNCTIONS)
            listed = ", ".join(words.FUNCTIONS)
            help = f"did you mean `{alike}`?" if alike else f"the functions are {listed}"
            if node.function == "diff":
                help = "write `diff(L, N)` with plain names"
            self._say("L0304", f"unknown function `{node.function}`", node.span, help=help)
            return
        low, high = arity
        if node.keywords or not low <= len(node.arguments) <= high:
            count = f"{low}" if low == high else f"{low} to {high}"
            message = f"`{node.function}` takes {count} argument{'s' * (high > 1)}"
            help = f"give it {count}"
            self._say("L0305", message, node.span, help=help)

    def _derivative(self, node: tree.Derivative, place: str) -> None:
        if place != "claim":
            message = "a derivative stands only in a claim"
            self._say("L0308", message, node.span, help="use it in `require`")
            return
        if node.order != len(node.by):
            message = f"a derivative of order {node.order} by {len(node.by)} names"
            help = "write as many ∂ below as the order says: ∂²L/∂D∂r"
            self._say("L0210", message, node.span, help=help)
        if node.order > limits.ORDER:
            message = f"derivatives go up to order {limits.ORDER}"
            self._say("L0105", message, node.span)
        self._name(node.of, node.span, place, frozenset())
        for name in node.by:
            self._derivable(name, node.span)

    def _derivable(self, name: str, span: Span) -> None:
        self._name(name, span, "claim", frozenset())
        symbol = self.symbols.get(name)
        if symbol is not None and symbol.kind not in ("variable", "parameter", "let"):
            message = f"the {symbol.kind} `{name}` does not vary"
            help = "name a variable, a parameter or a let"
            self._say("L0308", message, span, help=help)

    def _value(self, formula: Formula) -> object:
        try:
            return value(formula)
        except (Undefined, TooLarge):
            return 0  # it has its message already

    # Units

    def _unit(self, unit: tree.UnitOf | None) -> None:
        for name, power in unit.factors if unit else ():
            if not known(name) or power == 0:
                from lawdsl.units import PREFIXES, UNITS

                alike = words.nearest(name, [p + u for p in ("", *PREFIXES) for u in UNITS])
                help = f"did you mean `{alike}`?" if alike else None
                listed = ", ".join(UNITS)
                help = help or f"the units are {listed}, with prefixes {' '.join(PREFIXES)}"
                assert unit is not None
                self._say("L0409", f"unknown unit `{name}`", unit.span, help=help)

    def _powers(self, name: str) -> Powers:
        symbol = self.symbols.get(name)
        if symbol is None or symbol.unit is None:
            return None
        try:
            return powers_of(symbol.unit.factors)
        except KeyError:
            return None

    # Claims, objective, starts

    def _claim(self, statement: tree.Require, output: Symbol | None) -> Claim:
        claim = statement.claim
        for part in tree.children(claim):
            self._formula(part, "claim", self._fresh(claim))  # type: ignore[arg-type]
        match claim:
            case tree.Trend(_, _, name):
                self._derivable(name, claim.span)
            case tree.Limit(_, _, approaches):
                for name, where in approaches:
                    self._derivable(name, claim.span)
                    self._formula(where, "start")
            case tree.Reduction(_, law):
                self._law(law, claim.span)
        if statement.expect is not None and statement.expect not in words.VERDICTS:
            help = "the verdicts are " + ", ".join(words.VERDICTS)
            message = f"`{statement.expect}` is no verdict"
            self._say("L0407", message, statement.span, help=help)
        conditions = []
        for item in statement.conditions:
            self._derivable(item.name, item.span)
            conditions.append((item.name, self._bounds(item.domain, "parameter")))
        return Claim(
            claim, tuple(conditions), statement.expect or "proved", self.text, statement.span
        )

    def _fresh(self, claim: tree.Claim) -> frozenset[str]:
        """Names that a claim brings in itself: the r0 of `L(r = r0) is chinchilla`."""
        found = set()
        for node in tree.walk(claim):
            if isinstance(node, tree.Call):
                for _, at in node.keywords:
                    if isinstance(at, tree.Name) and at.text not in self.symbols:
                        found.add(at.text)
        return frozenset(found)

    def _objective(self, statement: tree.Minimize, output: Symbol | None) -> Objective | None:
        name = output.name if output else "L"
        found = read_objective(statement.objective, name)
        if found is None and output is not None:
            help = f"write huber(log({name}), 1e-3), huber({name}, d), squared(log({name})) or squared({name})"
            self._say("L0404", "this is no objective", statement.span, help=help)
        return found

    def _grid(self, statement: tree.StartGrid) -> None:
        for target in statement.targets:
            inner = target.arguments[0] if isinstance(target, tree.Call) else target
            plain = isinstance(inner, tree.Name) and not (
                isinstance(target, tree.Call) and target.function != "log"
            )
            if not plain:
                help = "write `start A in {…}` or `start log(A) in {…}`"
                message = f"`{print_formula(target)}` cannot have a start"
                self._say("L0405", message, target.span, help=help)
            elif isinstance(inner, tree.Name):
                self._startable(inner.text, inner.span)
        numbers = []
        for item in statement.values:
            if item is not None:
                self._formula(item, "start")
                numbers.append(self._value(item))
        try:
            spread(statement.values)
        except ValueError as error:
            self._say("L0405", str(error), statement.span, help="write {-1, 0, ..., 5}")

    def _point(self, statement: tree.StartPoint) -> None:
        for name, number in statement.values:
            self._startable(name, number.span)
            self._formula(number, "start")

    def _startable(self, name: str, span: Span) -> None:
        self._name(name, span, "claim", frozenset())
        symbol = self.symbols.get(name)
        if symbol is not None and symbol.kind != "parameter":
            message = f"`{name}` is a {symbol.kind}; only parameters have starts"
            self._say("L0405", message, span, help="remove it")

    # Afterwards

    def _unused(self, output: Symbol) -> None:
        for name, span in self.own.items():
            if name not in self.used and name != output.name:
                kind = self.symbols[name].kind
                message = f"the {kind} `{name}` is never used"
                self._say("L0309", message, span, help="remove it", severity="warning")

    def _sizes(self) -> None:
        """The size of every formula with its lets and laws written out."""
        sizes: dict[str, int] = {}
        for name, symbol in self.symbols.items():
            if symbol.formula is None:
                continue
            size = 0
            for node in tree.walk(symbol.formula):
                size += sizes.get(node.text, 1) if isinstance(node, tree.Name) else 1
            sizes[name] = size
            if size > limits.NODES:
                message = f"`{name}` has more than {limits.NODES:,} parts once its lets are written out"
                self._say("L0105", message, symbol.span, help="simplify it")
                return

    def _say(
        self,
        code: str,
        message: str,
        span: Span,
        notes: Iterable[str] = (),
        help: str | None = None,
        severity: str = "error",
    ) -> None:
        self.diagnostics.append(
            Diagnostic(
                code,
                message,
                severity,
                text=self.text,
                span=span,
                notes=tuple(notes),
                help=help,
            )
        )


def read_objective(formula: Formula, output: str) -> Objective | None:
    """`huber(log(L), 1e-3)` and its like as an objective; None where it is something else."""
    match formula:
        case tree.Call("huber", (of, delta), ()):
            size = value(delta)
            if size is None or not size > 0:
                return None
            loss = Objective("huber", delta=float(size))
        case tree.Call("squared", (of,), ()):
            loss = Objective("squared")
        case _:
            return None
    match of:
        case tree.Name(name) if name == output:
            return replace(loss, log=False)
        case tree.Call("log", (tree.Name(name),), ()) if name == output:
            return loss
    return None


def spread(values: tuple[Formula | None, ...]) -> tuple[float, ...]:
    """The numbers of `{-1, 0, ..., 5}`: the dots go on in steps of the two numbers before them.

    Raises:
        ValueError: dots without two numbers before and one behind, or steps that miss the end.
    """
    numbers = [None if v is None else value(v) for v in values]
    if any(n is None and v is not None for n, v in zip(numbers, values, strict=True)):
        raise ValueError("a start is a number")
    found: list[float] = []
    for i, number in enumerate(numbers):
        if number is not None:
            found.append(float(number))
            continue
        after = numbers[i + 1] if i + 1 < len(numbers) else None
        before = numbers[i - 2 : i] if i > 1 else []
        if after is None or len(before) < 2 or None in before:
            raise ValueError("`...` needs two numbers before it and one behind")
        step = before[1] - before[0]  # type: ignore[operator]
        count = (after - before[1]) / step if step else 0  # type: ignore[operator]
        if not 1 <= count <= 1000 or abs(count - round(count)) > 1e-9:
            raise ValueError(f"steps of {float(step):g} do not lead from {float(before[1]):g} to {float(after):g}")  # type: ignore[arg-type]
        found += [float(before[1] + k * step) for k in range(1, round(count))]  # type: ignore[operator]
    return tuple(found)
