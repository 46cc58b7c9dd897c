"""Declarations -> Law: a SymPy expression with domains, claims and provenance.

All stages after the language work with this record. Nothing here parses text: formulas come from
the syntax tree, node by node.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from lawdsl.core.diagnostics import Text
from lawdsl.core.lazy_modules import lazy_module
from lawdsl.core.objectives import Objective
from lawdsl.core.presentation import Exportable, Presented
from lawdsl.language import library, tree
from lawdsl.language.added_bounds import add_bound, leave_out
from lawdsl.language.changed_declarations import changed_declarations
from lawdsl.language.elements import without_elements
from lawdsl.language.fix_and_tie import check_bounds_kept, without_bounds
from lawdsl.language.instances.claims import instantiated
from lawdsl.language.instances.declarations import written_out
from lawdsl.language.instances.grounding import Grounding
from lawdsl.language.instances.instance import Instance
from lawdsl.language.instances.sample_labels import few_labels, general
from lawdsl.language.latex import law_latex
from lawdsl.language.law_changes import LawChanges
from lawdsl.language.printer import print_formula
from lawdsl.language.resolver import Claim, Declarations
from lawdsl.language.symbols import Prior
from lawdsl.law.published_values import expanded
from lawdsl.law.quantities import (
    Bound as Bound,
    Names,
    Quantity as Quantity,
    check_finite,
    lacks,
)

if TYPE_CHECKING:
    import sympy as sp

    from lawdsl.law import algebra, from_sympy, indexed as sums
else:  # they take longer to load than most commands, and what is not asked for needs none of them
    sp = lazy_module("sympy")
    algebra = lazy_module("lawdsl.law.algebra")
    from_sympy = lazy_module("lawdsl.law.from_sympy")
    sums = lazy_module("lawdsl.law.indexed")


@dataclass(frozen=True, repr=False)
class Law(Presented, Exportable):
    """A law as mathematics.

    Attributes:
        declarations: the law as declared, and the laws that it names.
        given: setting or fixed parameter -> its value, which replaces a declared one.
        dropped: texts of the removed bounds.
        added: texts of the added bounds.
        held: additional `fix` and `tie` statements: `fix E = 1.69`, `tie beta = alpha`.
        stated_priors: texts of additional priors, `log(alpha) = log(0.35) ± 0.35`; `none` removes
            the priors of the law's file.
        root: the law as declared in its file, if bounds were added or parameters fixed or tied.
    """

    declarations: Declarations
    given: tuple[tuple[str, float], ...] = ()
    dropped: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    stated_priors: tuple[str, ...] = ()
    root: Declarations | None = field(default=None, compare=False)

    @classmethod
    def from_sympy(
        cls,
        expression: sp.Expr | sp.Equality,
        *,
        name: str,
        variables: Iterable[str | sp.Symbol] | None = None,
    ) -> Law:
        """The law whose formula is a SymPy expression.

        Floats are rounded to float64, and so are whole numbers that have no exact literal.

        Args:
            expression: the right-hand side; `sympy.Eq(L, …)` also names the output. Assumed signs
                of its symbols become domains.
            name: the name of the law.
            variables: names or symbols that are variables, optionally with a domain, `"N > 0"`; by
                default N, D and r. All other symbols are parameters. Without a stated or assumed
                domain, N, D and r have the conventional ones, N > 0, D > 0 and r in [0, 1]; other
                variables have none.

        Raises:
            LawdslError: a node that the language cannot express, different symbols of one name, a
                number outside the range of float64 (E0204), variables that are not known or not in
                the expression (E0203), or a name that a law cannot have.
        """
        text = from_sympy.text_of_expression(expression, variables, name)
        declarations, _ = library.declared(Text(f"{name}.law", text), Path())
        return cls(declarations)

    @property
    def name(self) -> str:
        """The dotted name of the law."""
        return self.declarations.name

    @property
    def title(self) -> str:
        """The title that the law's file declares."""
        return self.declarations.title

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know, the notes of the law it extends before its own."""
        return (*self.declarations.inherited_notes, *self.declarations.notes)

    @property
    def sources(self) -> tuple[str, ...]:
        """The publications of the law."""
        return self.declarations.sources

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of the law, in the order of its file."""
        return self.declarations.claims

    @property
    def objective(self) -> Objective:
        """The objective that a fit minimises by default."""
        return self.declarations.objective

    @property
    def output(self) -> str:
        """The name of the predicted quantity."""
        return self.declarations.output.name

    @property
    def indexed(self) -> bool:
        """Whether the law has index sets, so that it has numeric values only at given labels."""
        return bool(self.declarations.indices or self.declarations.identities)

    def at_labels(self, instance: Instance) -> Law:
        """The law of the rows with some labels, without index sets.

        Raises:
            LawdslError: an `identify` that is not linear in parameters.
        """
        given = dict(self.given)
        declared = without_bounds(self.declarations, self.dropped, given)
        return replace(self, declarations=instantiated(declared, instance, given), root=None)

    @cached_property
    def _grounded(self) -> tuple[Grounding, Law]:
        """A law with index sets, in which each index serves as its own label, without them."""
        ground = general(self.declarations)
        return ground, replace(self, declarations=written_out(ground), root=None)

    @cached_property
    def general(self) -> sums.IndexedAlgebra[Law]:
        """The algebra of a law with index sets, in which each index serves as its own label."""
        with algebra.bounded(self.declarations):
            return sums.indexed_algebra(*self._grounded)

    @cached_property
    def sample(self) -> Law:
        """The law at a few sample labels if it has index sets, else the law itself."""
        if not self.indexed:
            return self
        declared = self.declarations
        if any(index.labels is None for index in declared.indices.values()):
            # sample labels are not those of a table, which statements about elements name
            declared = without_elements(declared)
        return replace(self, declarations=declared).at_labels(few_labels(declared))

    @cached_property
    def variables(self) -> tuple[Quantity, ...]:
        """The variables in the order of declaration."""
        return self._quantities("variable")

    @cached_property
    def settings(self) -> tuple[Quantity, ...]:
        """The settings, and parameters that have fixed values."""
        return self._quantities("setting")

    @cached_property
    def parameters(self) -> tuple[Quantity, ...]:
        """The parameters that are not fixed, in the order of declaration."""
        return self._quantities("parameter")

    @property
    def priors(self) -> tuple[Prior, ...]:
        """The priors of parameters that a fit determines, in the order of the parameters."""
        declared = self.declarations.priors
        return tuple(declared[q.name] for q in self.parameters if q.name in declared)

    @cached_property
    def fixed(self) -> Mapping[str, float]:
        """The parameters that are fixed, and their values."""
        declared = {s.text: s for s in self.declarations.symbols.values()}
        return {
            s.name: s.value
            for s in self.settings
            if s.value is not None
            and (declared[s.name].determined_by == "fix" or declared[s.name].kind == "parameter")
        }

    @property
    def ties(self) -> Mapping[str, str]:
        """The parameters that are tied, and the formulas that they are tied to."""
        symbols = self.declarations.symbols.values()
        return {
            s.name: print_formula(s.formula)
            for s in symbols
            if s.determined_by == "tie" and s.formula
        }

    @property
    def texts(self) -> dict[str, str]:
        """Name -> text of this law and of all laws that it builds on: sufficient to reload it."""
        laws = {self.name: self.declarations, **self.declarations.laws}
        return {name: declarations.text.text for name, declarations in laws.items()}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the law: its texts, given values, removed and added bounds."""
        parts: tuple[object, ...] = (
            sorted(self.texts.items()),
            list(self.given),
            sorted(self.dropped),
        )
        parts += (self.added,) if self.added or self.held else ()
        parts += (repr(self.declarations.instance),) if self.declarations.instance else ()
        # absent features are omitted, so that digests of earlier versions stay the same
        parts += (self.held,) if self.held else ()
        parts += (("priors", *self.stated_priors),) if self.stated_priors else ()
        content = repr(parts)
        return hashlib.sha256(content.encode()).hexdigest()

    @cached_property
    def symbols(self) -> Mapping[str, sp.Symbol]:
        """Name -> SymPy symbol: one table, so that a name is one symbol everywhere."""
        if self.indexed:
            return self.general.law.symbols
        # symbols are added while the table is in use: a domain may refer only to names declared
        # before it, and its sign determines the assumptions of the next symbol
        table: dict[str, sp.Symbol] = {}
        build, names = algebra.ExpressionBuilder(self, frozenset(), {}, table), self._names
        with algebra.bounded(self.declarations):
            for symbol in self.declarations.symbols.values():
                if symbol.kind in ("variable", "parameter", "setting", "let"):
                    table[symbol.name] = sp.Symbol(symbol.name, **names.assumptions(symbol, build))
        return table

    @cached_property
    def expression(self) -> sp.Expr:
        """The right-hand side in variables, settings and parameters, all lets expanded.

        For a law with index sets each index serves as its own label, and each sum is a symbol.
        """
        if self.indexed:
            return self.general.expression()
        formula = self.declarations.output.formula
        assert formula is not None
        return self.to_sympy(formula)

    def built(self) -> Law:
        """The law itself, after building its expression: errors in its formula are raised here.

        Raises:
            LawdslError: a part without a value, or a formula too complicated for computer algebra.
        """
        self.expression  # noqa: B018
        return self

    def derivative(self, *names: str) -> sp.Expr:
        """The exact partial derivative of the law with respect to each of the names in turn.

        A let may be named, and is then treated as an independent variable. Names with subscripts
        are written as declared, `t[i, j]`.

        Args:
            names: the names, in the order of differentiation.

        Raises:
            KeyError: a name that the law does not have.
        """
        if self.indexed:
            with algebra.bounded(self.declarations):
                return self.general.derivative(*names)
        # a let is a variable here, so it must not be expanded
        opaque = tuple(n for n in names if self.declarations.symbols[n].kind == "let")
        formula = self.declarations.output.formula
        assert formula is not None
        expression = self.to_sympy(formula, opaque) if opaque else self.expression
        symbols = [self.symbols[n] for n in names]
        with algebra.bounded(self.declarations):
            return algebra.derivative(expression, *symbols)

    def to_sympy(
        self,
        formula: tree.Formula,
        opaque: Iterable[str] = (),
        extra: dict[str, sp.Expr] | None = None,
    ) -> sp.Expr:
        """A formula of this law as a SymPy expression.

        Args:
            formula: its syntax tree, whose names are those of the law.
            opaque: lets that stay symbols instead of being expanded.
            extra: name that a claim introduces -> its symbol; missing ones are added.
        """
        build = algebra.ExpressionBuilder(self, frozenset(opaque), {} if extra is None else extra)
        with algebra.bounded(self.declarations):
            return build(formula)

    def with_settings(self, /, **values: float) -> Law:
        """The law with other values of its settings.

        Args:
            values: setting -> value in its unit.

        Raises:
            LawdslError: a name that is not a setting, or a value that is not a finite number.
        """
        names = [s.name for s in self.settings if s.name not in self.fixed]
        for name in values:
            if name not in names:
                raise lacks(self.name, self.declarations, "setting", name, names, values[name])
        check_finite("setting", values)
        changed = self._with(values)
        check_bounds_kept(self.root or self.declarations, dict(changed.given))
        # implied bounds of fixed and tied parameters depend on the values of settings
        return changed._changed() if self.held else changed

    def at(self, /, **values: float) -> Law:
        """The law with some or all of its parameters fixed: they become settings.

        For values from a fit or a certificate: they are not checked against their domains, and the
        bounds of other parameters do not change. Values from a user are applied by `with_held`.

        Args:
            values: parameter -> value.

        Raises:
            LawdslError: a name that is not a parameter, or a value that is not a finite number.
        """
        names = [p.name for p in self.parameters]
        for name in values:
            if name not in names:
                raise lacks(self.name, self.declarations, "parameter", name, names)
        check_finite("parameter", values)
        return self._with(values)

    def _with(self, values: Mapping[str, float]) -> Law:
        merged = {**dict(self.given), **{k: float(v) for k, v in values.items()}}
        return replace(self, given=tuple(sorted(merged.items())))

    def without(self, bound: str) -> Law:
        """The law without one bound.

        Where the limit is proved positive, the bound `C > C0` becomes `C > 0`.

        Args:
            bound: the bound as `lawdsl show` prints it: `C > C0`.

        Raises:
            LawdslError: the law has no such bound.
        """
        # compared without spaces, since users type `C>C0`
        compact = "".join(bound.split())
        bounds = [f"{q.name} {b.relation} {b.text}" for q in self.parameters for b in q.bounds]
        for text in bounds:
            if "".join(text.split()) == compact:
                changed = replace(self, dropped=(*self.dropped, text))
                return changed._changed() if self.held else changed
        if leave_out(self.declarations, bound) is not None:
            return replace(self, dropped=(*self.dropped, " ".join(bound.split())))._changed()
        raise lacks(self.name, self.declarations, "bound", bound, bounds)

    def with_bound(self, bound: str) -> Law:
        """The law with one more bound.

        Args:
            bound: a relation between a parameter and a formula of others: `C > B/gamma`.

        Raises:
            LawdslError: the text is not such a relation, names a quantity that the law lacks, or
                closes a circle of bounds.
        """
        changed = replace(self, added=(*self.added, bound))
        if self.declarations.instance is not None:  # which has the other changes already
            return replace(changed, declarations=add_bound(self.declarations, bound))
        return changed._changed()

    def with_held(self, fixed: Mapping[str, float], tied: Mapping[str, str]) -> Law:
        """The law with parameters fixed inside their domains and others tied to formulas, at once.

        Bounds that involve a fixed or tied parameter are replaced by bounds of the others that
        imply them.

        Args:
            fixed: parameter -> number.
            tied: parameter -> formula of others: "alpha", "2*A".

        Raises:
            LawdslError: a name that is not a parameter, a value outside its domain, a text that is
                not a formula of parameters, a circular definition, or a bound that may be violated.
        """
        return LawChanges.of(fix=fixed, tie=tied).apply(self)

    def holding(self, statements: Iterable[str]) -> Law:
        """The law with further statements `fix E = 1.69` and `tie beta = alpha`, applied at once.

        Args:
            statements: the statements.

        Raises:
            LawdslError: for the reasons given in `with_held`.
        """
        more = tuple(statements)
        return replace(self, held=(*self.held, *more))._changed() if more else self

    def with_priors(self, texts: Iterable[str]) -> Law:
        """The law with further priors, which replace those of the same parameters.

        Args:
            texts: `log(alpha) = log(0.35) ± 0.35`; `none` removes the priors that the law's file
                declares, `published` stands for those of `lawdsl.law.published_values`.

        Raises:
            LawdslError: a text of another form, or a prior that the law cannot have.
        """
        names = [n for n, s in self.declarations.symbols.items() if s.kind == "parameter"]
        more = expanded(tuple(texts), self.name, self.declarations.text.text, names)
        return (
            replace(self, stated_priors=(*self.stated_priors, *more))._changed() if more else self
        )

    def _changed(self) -> Law:
        """The law of its file with the added bounds, the fixed and tied parameters, and the priors."""
        # from the file again: bounds may refer to parameters that are fixed now, and bounds implied
        # by earlier statements would count as declared
        root = self.root or self.declarations
        changes = self.dropped, self.added, self.held, self.stated_priors
        declarations = changed_declarations(root, *changes, dict(self.given))
        return replace(self, declarations=declarations, root=root)

    @property
    def _names(self) -> Names:
        return Names(dict(self.given), self.dropped)

    def _quantities(self, kind: str) -> tuple[Quantity, ...]:
        if self.indexed:
            ground, law = self._grounded
            # remainders of sums are variables of the grounded law only
            return tuple(q for q in law._quantities(kind) if q.name not in ground.rests)
        names, symbols = self._names, self.declarations.symbols.values()
        others = {s.name for s in symbols if s.kind in ("variable", "parameter", "setting")}
        return tuple(
            names.quantity(s, partial(self._symbol, s.name), self.to_sympy, others)
            for s in symbols
            if names.kind(s) == kind
        )

    def _symbol(self, name: str) -> sp.Symbol:
        return self.symbols[name]

    def latex(self) -> str:
        """The law as LaTeX: `L = …`, and the definitions that it needs below it."""
        return law_latex(self.declarations)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def __repr__(self) -> str:
        formula = self.declarations.output.formula
        assert formula is not None
        return f"<Law {self.name}: {self.output} = {print_formula(formula)}>"


def load(name_or_path: str | Path) -> Law:
    """Load a law.

    Args:
        name_or_path: the dotted name of a shipped law, or the path of a file.

    Raises:
        LawdslError: with every mistake in the file.
    """
    declarations, _ = library.declarations(str(name_or_path))
    return Law(declarations)
