"""Formulas of a question -> formulas in which each evaluated law, `general(N, D, r = 1 - r_d)`, is
a name.

Each such call is checked once and then represented by a name, so that these formulas are checked,
instantiated at labels and converted to algebra like any others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lawdsl.core.diagnostics import Span
from lawdsl.language import tree
from lawdsl.language.declarations import names_in
from lawdsl.language.dimensions import powers_of
from lawdsl.language.formula_sizes import Size, size_of, size_of_law
from lawdsl.language.formulas import check_formula, check_same_unit
from lawdsl.language.printer import print_formula, print_named
from lawdsl.language.scope import ARGUMENT, Scope
from lawdsl.language.subscripts import check_named, free_in
from lawdsl.language.symbols import Declarations, Symbol
from lawdsl.language.tree import Formula

KINDS_OF_VALUES = ("given", "setting", "unknown", "let")


@dataclass(frozen=True)
class LawValue:
    """A law evaluated at given values.

    Attributes:
        use: the name that stands for the fit.
        labels: index of the law's rows -> an index of the question, or a label.
        arguments: variable of the law -> formula. A variable with a value for each label has the
            name in the question, written as an element: (r, `r[j]`).
        indices: the question's indices for each label of which it has a value.
        span: the place of its first use.
    """

    use: str
    labels: tuple[str, ...]
    arguments: tuple[tuple[str, Formula], ...]
    indices: tuple[str, ...]
    span: Span


@dataclass
class Calls:
    """The evaluated laws in a question's formulas.

    Attributes:
        scope: the names of the file.
        uses: name -> the law of which it stands for a fit.
        missing: names for fits of laws that could not be loaded; no further messages are reported.
        values: text of the call -> its record.
    """

    scope: Scope
    uses: dict[str, Declarations] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    values: dict[str, LawValue] = field(default_factory=dict)

    def named(self, node: Formula, bound: tuple[str, ...] = ()) -> Formula:
        """The formula with each evaluated law replaced by its name.

        Args:
            node: the formula.
            bound: the indices of the sums around it.
        """
        match node:
            case tree.Call() if node.function in self.uses:
                return self._value(node, bound)
            case tree.Call() if node.function in self.missing:
                return self._unknown(node, bound)
            case tree.Call(function, arguments, keywords, subscripts):
                named_arguments = tuple(self.named(a, bound) for a in arguments)
                return tree.Call(function, named_arguments, keywords, subscripts, span=node.span)
            case tree.Conditional():
                return tree.with_parts(node, lambda part: self.named(part, bound))
            case tree.Negative(operand):
                return tree.Negative(self.named(operand, bound), span=node.span)
            case tree.Sum(terms):
                return tree.Sum(tuple((s, self.named(t, bound)) for s, t in terms), span=node.span)
            case tree.Product(factors):
                parts = tuple((s, self.named(f, bound)) for s, f in factors)
                return tree.Product(parts, span=node.span)
            case tree.Power(base, exponent):
                below, above = self.named(base, bound), self.named(exponent, bound)
                return tree.Power(below, above, span=node.span)
            case tree.Aggregate(function, body, over):
                inner = self.named(body, (*bound, *over))
                return tree.Aggregate(function, inner, over, span=node.span)
        return node

    def sizes(self) -> dict[str, Size]:
        """The sizes of lets and of evaluated laws after substitution of all definitions."""
        laws = {use: size_of_law(law) for use, law in self.uses.items()}
        sizes: dict[str, Size] = {}
        for name, symbol in self.scope.symbols.items():
            if symbol.formula is not None:
                sizes[name] = size_of(symbol.formula, sizes)
            elif name in self.values:
                value = self.values[name]
                sizes[name] = laws[value.use].at(size_of(f, sizes) for _, f in value.arguments)
        return sizes

    def free_in(self, formula: Formula) -> tuple[str, ...]:
        """The indices in a formula that no sum binds."""
        return free_in(self.scope, formula)

    def _value(self, node: tree.Call, bound: tuple[str, ...]) -> Formula:
        law = self.uses[node.function]
        text = print_formula(node)
        self.scope.used.add(node.function)
        # equal calls are one value: its mistakes are reported once, and algebra builds it once
        if text not in self.values:
            before = self.scope.errors
            arguments = dict(self._arguments(node, law))
            self._check_labels(node, law)
            if self.scope.errors == before:
                self._check_complete(node, law, arguments)
            if self.scope.errors > before:
                return self._unknown(node, bound)
            indices = self._indices(node, law, arguments)
            self.values[text] = LawValue(
                node.function, node.subscripts, tuple(arguments.items()), indices, node.span
            )
            self._declare(text, indices, node.span, law.output.unit)
            if any(varies(self.scope, formula) for formula in arguments.values()):
                self.scope.varying.add(text)
        return _named(text, self.values[text].indices, node.span)

    def _unknown(self, node: tree.Call, bound: tuple[str, ...]) -> Formula:
        """A placeholder for a reported call, so that the surrounding formula is still checked."""
        over = tuple(name for name in dict.fromkeys(bound) if name in self.scope.indices)
        text = f"{print_formula(node)} for {', '.join(over)}"
        self._declare(text, over, node.span, None)
        return _named(text, over, node.span)

    def _declare(
        self, text: str, indices: tuple[str, ...], span: Span, unit: tree.UnitOf | None
    ) -> None:
        self.scope.symbols[text] = Symbol(text, "value", span, indices=indices, unit=unit)
        self.scope.units[text] = powers_of(unit.factors) if unit else None

    def _arguments(self, node: tree.Call, law: Declarations) -> Iterator[tuple[str, Formula]]:
        """The variables of the law, and what each is there; mistakes have their message."""
        assigned: set[str] = set()
        pairs: list[tuple[str, Formula]] = []
        for argument in node.arguments:
            if isinstance(argument, (tree.Name, tree.Element)):
                named = argument.text if isinstance(argument, tree.Name) else argument.name
                pairs.append((named, argument))
            else:
                told = {n for n, _ in (*pairs, *node.keywords)}
                told |= {a.text for a in node.arguments if isinstance(a, tree.Name)}
                name = next((v for v in _variables(law) if v not in told), "N")
                help = f"write `{name} = {print_formula(argument)}`, with the variable's name"
                message = "this value has no name"
                self.scope.report("L0701", message, argument.span, help)
        for name, formula in (*pairs, *node.keywords):
            span = formula.span
            if (name, formula) in node.keywords:
                ahead = Span(node.span.start, span.start)
                span = Span(self.scope.within(ahead, name, last=True).start, span.end)
            if name in assigned:
                self.scope.report("L0701", f"`{name}` has two values here", span, "give it one")
            elif self._is_variable(law, name, formula, span):
                assigned.add(name)
                yield name, formula

    def _is_variable(self, law: Declarations, name: str, formula: Formula, span: Span) -> bool:
        symbol = law.symbols.get(name)
        if symbol is None or symbol.kind != "variable":
            variables = _variables(law)
            message = f"`{law.name}` has no variable `{name}`"
            if isinstance(formula, tree.Name) and formula.text == name in self.scope.symbols:
                free = [v for v in variables if v not in self.scope.symbols]
                if len(free) == 1:  # main(N, D, x) for a law of N, D and r
                    help = f"write `{free[0]} = {name}`: values are matched by name"
                    self.scope.report("L0701", message, span, help)
                    return False
            listed = f"its variables are {', '.join(variables)}"
            self.scope.unknown_word("L0701", message, span, name, variables, listed)
            return False
        if symbol.indices:
            mine = symbol.text
            if not isinstance(formula, tree.Element) or formula.name != name:
                message = f"`{name}` has a value for each label"
                help = (
                    f"write `{mine}`, with an index of the question, and `choose` or `given {mine}`"
                )
                self.scope.report("L0701", message, span, help)
                return False
            return self._same_sets(law, symbol, formula)
        powers = check_formula(self.scope, formula, ARGUMENT)
        unit = powers_of(symbol.unit.factors) if symbol.unit else None
        check_same_unit(self.scope, unit, powers, f"`{name}`", formula.span)
        return True

    def _same_sets(self, law: Declarations, symbol: Symbol, formula: tree.Element) -> bool:
        """Whether an element has indices over the sets that the law's variable has."""
        before = self.scope.errors
        check_named(self.scope, formula, formula.span, ARGUMENT)
        if self.scope.errors > before:
            return False
        own_symbol = self.scope.symbols.get(formula.name)
        if own_symbol is None or any(self.scope.excused(i) for i in formula.subscripts):
            return True  # the line that declares it has its message
        if symbol.simplex and own_symbol.kind in ("unknown", "given") and not own_symbol.simplex:
            message = f"`{own_symbol.text}` does not sum to 1, as the shares of `{law.name}` do"
            help = f"declare it `{own_symbol.text} in simplex`"
            self.scope.report("L0701", message, formula.span, help)
            return False
        law_sets = [law.indices[i].over for i in symbol.indices]
        own_sets = [
            self.scope.indices[i].over for i in formula.subscripts if i in self.scope.indices
        ]
        if law_sets != own_sets:
            message = f"`{print_named(formula)}` does not run over {', '.join(law_sets)}"
            help = f"declare an index over the set of the law: `index j over {law_sets[-1]}`"
            self.scope.report("L0701", message, formula.span, help)
            return False
        return True

    def _check_labels(self, node: tree.Call, law: Declarations) -> None:
        """Report labels that are not those of the law's rows."""
        row_indices = (*law.output.indices, *law.output.rows)
        if len(row_indices) != len(node.subscripts):
            call_text = (
                f"{node.function}[{', '.join(row_indices)}](…)"
                if row_indices
                else f"{node.function}(…)"
            )
            message = f"`{law.name}` has a value for each label of {', '.join(row_indices)}"
            if not row_indices:
                message = f"`{law.name}` has no index sets"
            self.scope.report("L0701", message, node.span, f"write `{call_text}`")
            return
        for subscript, index in zip(node.subscripts, row_indices, strict=True):
            over = law.indices[index].over
            index_set = self.scope.indices.get(subscript)
            if index_set is not None:
                self.scope.used.add(subscript)
            if index_set is not None and index_set.over != over:
                message = f"`{subscript}` runs over {index_set.over}, the rows of `{law.name}` over {over}"
                help = f"declare an index over that set: `index i over {over}`"
                self.scope.report("L0701", message, node.span, help)

    def _check_complete(
        self, node: tree.Call, law: Declarations, arguments: dict[str, Formula]
    ) -> None:
        """Report variables of the law that have no value, in one message with the call that is meant."""
        missing = [
            symbol
            for name, symbol in law.symbols.items()
            if symbol.kind == "variable" and name not in arguments and name not in law.measures
        ]
        if not missing:
            return
        named = [f"`{symbol.text}`" for symbol in missing]
        listed = " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
        has, it = ("has", "it") if len(missing) == 1 else ("have", "them")
        message = f"{listed} of `{law.name}` {has} no value here"
        values = [f"{name} = {print_formula(formula)}" for name, formula in node.keywords]
        taken = {n for formula in arguments.values() for n in names_in(formula)}
        meant = [self._meant_value(s, taken) for s in missing]
        plain = [*map(print_formula, node.arguments), *(m for m in meant if "=" not in m)]
        written = ", ".join([*plain, *values, *(m for m in meant if "=" in m)])
        of = f"[{', '.join(node.subscripts)}]" if node.subscripts else ""
        one = "a value" if len(missing) == 1 else "values"
        help = f"give {it} {one}: `{node.function}{of}({written})`"
        self.scope.report("L0701", message, node.span, help)

    def _meant_value(self, symbol: Symbol, taken: set[str]) -> str:
        """A variable of a law as an argument, with the name of the question that is most likely its value.

        Names that are taken already are the values of other variables.
        """
        known = [
            s
            for s in self.scope.symbols.values()
            if s.kind in KINDS_OF_VALUES and s.name not in taken
        ]
        if symbol.indices or any(s.name == symbol.name for s in known):
            return symbol.text
        alike = [s.name for s in known if s.name.startswith(f"{symbol.name}_")]
        return f"{symbol.name} = {alike[0] if len(alike) == 1 else '…'}"

    def _indices(
        self, node: tree.Call, law: Declarations, arguments: dict[str, Formula]
    ) -> tuple[str, ...]:
        """The indices of the question that a law at values has a value for each label of."""
        indices = dict.fromkeys(name for name in node.subscripts if name in self.scope.indices)
        for name, formula in arguments.items():
            if not law.symbols[name].indices:
                indices |= dict.fromkeys(self.free_in(formula))
        return tuple(indices)


def varies(scope: Scope, formula: Formula) -> bool:
    """Whether a formula depends on the unknowns of the question.

    Args:
        scope: the names of the file.
        formula: the formula.
    """
    used = [(name, scope.symbols.get(name)) for name in names_in(formula)]
    return any(name in scope.varying or (s and s.kind == "unknown") for name, s in used)


def _named(text: str, indices: tuple[str, ...], span: Span) -> Formula:
    return tree.Element(text, indices, span=span) if indices else tree.Name(text, span=span)


def _variables(law: Declarations) -> list[str]:
    return [s.name for s in law.symbols.values() if s.kind == "variable"]
