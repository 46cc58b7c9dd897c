"""Fit, fits or law -> Exported: values, domains, labels and errors as plain numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from types import MappingProxyType

import sympy as sp

from lawdsl.compiling.indexed_leaves import Leaves
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.units import unit_text
from lawdsl.data.label_columns import binding_name
from lawdsl.exporting.content import (
    Constant,
    Errors,
    Exported,
    ExportedBound,
    ExportedVariable,
    FitFacts,
    Nested,
    Term,
)
from lawdsl.exporting.program import FormulaProgram, program_of
from lawdsl.fitting.prediction_bands import missing_band_diagnostic
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.language.instances.instance import Differing, Instance
from lawdsl.language.label_texts import with_subscripts
from lawdsl.language.symbols import Declarations, Symbol
from lawdsl.law.law import Law, Quantity


def exported(what: Fit | Fits | Law, level: float) -> Exported:
    """Collect what an export contains.

    Args:
        what: a fit, the fits of a law with index sets, or a law all parameters of which have values.
        level: of the intervals, 0.95 for 95 %.

    Raises:
        LawdslError: a fit whose law was altered; a law with index sets, or with a parameter or
            setting without a value (E0102).
    """
    if isinstance(what, Law):
        return _of_law(what)
    return _of_fits(what, level)


def _of_law(law: Law) -> Exported:
    missing = [q.name for q in law.parameters]
    missing += [q.name for q in law.settings if q.value is None]
    if law.indexed or missing:
        what = "it has index sets" if law.indexed else f"no value of {', '.join(missing)}"
        message = f"`{law.name}` cannot be exported without a fit: {what}"
        help = "fit it, and export the fit: lawdsl fit … -o FIT.json, lawdsl export FIT.json"
        if not law.indexed:
            help += f"; or give values: --set {missing[0]}=VALUE"
        raise LawdslError(Diagnostic("E0102", message, help=help))
    values = {q.name: q.value for q in law.settings if q.value is not None}
    made = _exported(law, Instance({}), values)
    given = tuple(replace(constant, kind="given") for constant in made.constants)
    return replace(made, constants=given, why_no_errors="the values were given, not fitted")


def _of_fits(fits: Fit | Fits, level: float) -> Exported:
    parts = fits.parts if isinstance(fits, Fits) else (fits,)
    fits.read_law()  # says whether the parts belong together
    laws = [part.read_law() if part.spread is None else part.law_of_spread() for part in parts]
    values = {q.name: q.value for law in laws for q in law.settings if q.value is not None}
    errors_of: dict[str, float] = {}
    printed_of: dict[str, float] = {}
    notes_of: dict[str, str] = {}
    for part in parts:
        values |= part.values | {name: fixed.value for name, fixed in part.held.items()}
        errors_of |= part.intervals.errors
        printed_of |= {name: p.printed for name, p in part.parameters.items()}
        notes_of |= dict(_notes(part))
    instance = laws[0].declarations.instance or Instance({})
    if isinstance(fits, Fits):
        instance = replace(instance, at={})
    made = _exported(laws[0], instance, values, errors_of, printed_of, notes_of)
    without = [part for part in parts if part.spread is None]
    if not without:
        errors = tuple(_errors(p, law, made, level) for p, law in zip(parts, laws, strict=True))
        made = replace(made, errors=errors, level=level)
    else:
        made = replace(made, why_no_errors=missing_band_diagnostic(without[0]).message)
    apart = fits.apart if isinstance(fits, Fits) else ()
    declared = laws[0].declarations.schema
    rows = {index: binding_name(declared, index) for index in apart} if declared else {}
    return replace(
        made,
        digest=fits.law.digest,
        fit=_facts(fits, parts, made),
        apart=apart,
        rows={**rows, **made.rows},
    )


def _exported(
    law: Law,
    instance: Instance,
    values: Mapping[str, float],
    errors_of: Mapping[str, float] = MappingProxyType({}),
    printed_of: Mapping[str, float] = MappingProxyType({}),
    notes_of: Mapping[str, str] = MappingProxyType({}),
) -> Exported:
    """A law with values, as yet without joint errors.

    Args:
        law: the law, at the labels of a fit.
        instance: these labels.
        values: parameter or setting -> value.
        errors_of: parameter -> standard error.
        printed_of: parameter -> value as a fit prints it, where it differs.
        notes_of: parameter -> why it is to be distrusted, or has no error.
    """
    declared = law.declarations.schema or law.declarations
    program = program_of(_leaves(law, declared, instance))
    output = declared.output
    rows = {
        x.index: binding_name(declared, x.index)
        for name, labels in program.leaves
        for x in labels
        if isinstance(x, Differing) and name not in instance.by_row
    }
    return Exported(
        name=law.name,
        title=law.title,
        sources=law.sources,
        digest=law.digest,
        output=with_subscripts(output.name, [instance.at.get(i, i) for i in output.indices]),
        unit=unit_text(output.unit.factors) if output.unit else "",
        doc=output.doc or "",
        formulas=tuple(declared.needed_formulas()),
        program=program,
        variables=tuple(
            _variable(law, declared, instance, symbol)
            for symbol in declared.symbols.values()
            if symbol.kind == "variable"
        ),
        constants=tuple(
            _constants(declared, instance, program, values, errors_of, printed_of, notes_of)
        ),
        labels=dict(instance.labels),
        index_sets={name: index.over for name, index in declared.indices.items()},
        rows=rows,
    )


def _leaves(law: Law, declared: Declarations, instance: Instance) -> Leaves:
    """The leaves of the law, where the label of each row may differ."""
    grounded = replace(law.declarations, instance=instance)
    settings = {q.name: q.value for q in law.settings if q.value is not None}
    variables = tuple(q.name for q in law.variables)
    return Leaves(declared, grounded, variables, tuple(q.name for q in law.parameters), settings)


def _variable(
    law: Law, declared: Declarations, instance: Instance, symbol: Symbol
) -> ExportedVariable:
    by_label = bool(symbol.indices) and symbol.name not in instance.by_row
    over = declared.indices[symbol.indices[0]].over if by_label else ""
    elements = [with_subscripts(symbol.name, (x,)) for x in instance.labels[over]] if over else []
    named = [q for q in law.variables if q.name in (symbol.name, symbol.text, *elements)]
    left_out = None
    if over and symbol.name in instance.left_out:
        left_out = instance.labels[over].index(instance.left_out[symbol.name])
    return ExportedVariable(
        symbol.name,
        symbol.doc or "",
        unit_text(symbol.unit.factors) if symbol.unit else "",
        tuple(_bounds(law, named[0])) if named else (),
        over,
        left_out,
    )


def _bounds(law: Law, q: Quantity) -> Iterator[ExportedBound]:
    # 17 digits give a float64 back unchanged
    settings = {s.symbol: sp.Float(s.value, 17) for s in law.settings if s.value is not None}
    for b in q.bounds:
        yield ExportedBound(b.relation, float(b.limit.xreplace(settings)))


def _constants(
    declared: Declarations,
    instance: Instance,
    program: FormulaProgram,
    values: Mapping[str, float],
    errors_of: Mapping[str, float],
    printed_of: Mapping[str, float],
    notes_of: Mapping[str, str],
) -> Iterator[Constant]:
    names = {name for name, _ in program.leaves}
    for symbol in declared.symbols.values():
        if symbol.kind == "parameter" or (symbol.kind == "setting" and symbol.name in names):
            over = tuple(declared.indices[i].over for i in symbol.indices)
            sets = [instance.labels[each] for each in over]
            notes = {
                labels: notes_of[name]
                for labels in product(*sets)
                if (name := with_subscripts(symbol.name, labels)) in notes_of
            }
            yield Constant(
                symbol.name,
                symbol.doc or "",
                over,
                _nested(symbol.name, sets, values),
                _nested(symbol.name, sets, errors_of),
                symbol.kind,
                unit_text(symbol.unit.factors) if symbol.unit else "",
                notes,
                _nested(symbol.name, sets, {**values, **printed_of}),
            )


def _notes(part: Fit) -> Iterator[tuple[str, str]]:
    """Parameters whose values are to be distrusted, or were not fitted, and why."""
    for name, parameter in part.parameters.items():
        if doubts := part.intervals.doubts(name, parameter):
            yield name, ", ".join(doubts)
    for name, held in part.held.items():
        yield name, "fixed" if held.formula is None else "tied to others"


def _nested(
    name: str,
    sets: Sequence[Sequence[str]],
    values: Mapping[str, float],
    labels: tuple[str, ...] = (),
) -> Nested:
    """The values of a name, with an axis for each set; nan where there is none."""
    if not sets:
        return float(values.get(with_subscripts(name, labels), math.nan))
    return tuple(_nested(name, sets[1:], values, (*labels, label)) for label in sets[0])


def _errors(part: Fit, law: Law, made: Exported, level: float) -> Errors:
    """The errors of one part, for the elements of the parameters that move with each free one."""
    spread = part.spread
    assert spread is not None
    return Errors(
        spread.names,
        tuple(elements_of(law, made, spread.names)),
        tuple(tuple(map(float, row)) for row in spread.sqrt_factor),
        tuple(tuple(map(float, row)) for row in spread.null_space),
        tuple(map(float, spread.scale)),
        float(spread.dof),
        spread.quantile(level),
        part.objective.of_logs,
    )


def elements_of(law: Law, made: Exported, names: Sequence[str]) -> Iterator[tuple[Term, ...]]:
    """For each free parameter, the elements that move with it.

    Args:
        law: the law, at the labels of a fit.
        made: the content of its export.
        names: the free parameters.
    """
    if not made.indexed:
        for name in names:
            yield (Term(1.0, name, ()),)
        return
    declared, instance = law.declarations.schema, law.declarations.instance
    assert declared is not None and instance is not None
    elements = {
        with_subscripts(constant.name, chosen): (constant.name, positions)
        for constant in made.constants
        for chosen, positions in _elements([instance.labels[over] for over in constant.over])
    }
    leaves = _leaves(law, declared, instance)
    matrix = leaves.affine_map[0].tocsc()
    texts = list(leaves.numbers)
    for name in names:
        column = leaves.parameters.index(name)
        entries = slice(matrix.indptr[column], matrix.indptr[column + 1])
        rows = zip(matrix.indices[entries], matrix.data[entries], strict=True)
        yield tuple(
            Term(float(x), *elements[texts[row]]) for row, x in rows if texts[row] in elements
        )


def _elements(sets: Sequence[Sequence[str]]) -> Iterator[tuple[tuple[str, ...], tuple[int, ...]]]:
    for chosen in product(*(enumerate(labels) for labels in sets)):
        yield tuple(label for _, label in chosen), tuple(k for k, _ in chosen)


def _facts(fits: Fit | Fits, parts: Sequence[Fit], made: Exported) -> FitFacts:
    # where labels have rows of their own: the range that the rows of all of them have
    ranges: dict[str, tuple[float, float]] = {}
    names = {variable.name for variable in made.variables}
    for part in parts:
        for name, (low, high) in part.data.ranges.items():
            if name.partition("[")[0] in names:
                least, most = ranges.get(name, (low, high))
                ranges[name] = (max(low, least), min(high, most))
    common = {name: ends for name, ends in ranges.items() if ends[0] <= ends[1]}
    data = parts[0].data
    return FitFacts(
        data.name,
        tuple(part.data.digest for part in parts),
        sum(part.data.rows for part in parts),
        data.where,
        common,
        tuple(name for name in ranges if name not in common),
        fits.verdict,
        {variable.name: variable.unit for variable in made.variables if variable.unit},
    )
