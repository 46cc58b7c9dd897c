"""Fit -> the inputs of its predictions: the names for which a user may give values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lawdsl.core.units import unit_text
from lawdsl.data.label_columns import binding_name
from lawdsl.fitting.result import Fit

if TYPE_CHECKING:
    from lawdsl.fitting.result_by_label import Fits
    from lawdsl.language.symbols import Symbol

Factors = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class PredictionInputs:
    """The inputs of the predictions of a fit.

    Attributes:
        law: the name of the law.
        output: the name of the predicted quantity.
        variables: `N`, or `r[web]` for each label -> unit; None for no unit.
        shares: variables that sum to 1, so that one of them follows from the others.
        sets: set, or index of a listed set -> its labels, one of which each row may have.
        outputs: the labels of the columns of a prediction whose rows have no label; empty if each
            row must have a label of every set.
        over: the set of these labels.
        measured: variables that need no value if a label, or further runs, determine them.
        measured_sets: the names of the sets for whose labels they are measured.
        output_unit: the unit of the output as text; empty if it has none.
    """

    law: str
    output: str
    variables: Mapping[str, Factors | None]
    shares: tuple[tuple[str, ...], ...] = ()
    sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    over: str = ""
    measured: tuple[str, ...] = ()
    measured_sets: tuple[str, ...] = ()
    output_unit: str = ""

    @property
    def units(self) -> dict[str, str]:
        """Variable or output -> its unit as text, if it has one."""
        texts = {name: unit_text(unit) for name, unit in self.variables.items()}
        texts[self.output] = self.output_unit
        return {name: text for name, text in texts.items() if text not in ("", "1")}


def prediction_inputs(fit: Fit | Fits) -> PredictionInputs:
    """List the inputs that a prediction of a fit takes.

    Raises:
        LawdslError: the text of the law in the fit was altered.
    """
    law = fit.read_law()
    declared = law.declarations
    of_output = declared.output.unit
    output_unit = unit_text(of_output.factors) if of_output else ""
    if isinstance(fit, Fit):
        units = {q.name: q.unit for q in law.variables}
        return PredictionInputs(law.name, law.output, units, output_unit=output_unit)
    variables: dict[str, Factors | None] = {}
    shares = []
    for name, elements in fit.elements_of_variables(law).items():
        symbol = declared.symbols[name]
        names = tuple(elements.values()) or (name,)
        variables |= dict.fromkeys(names, _unit(symbol))
        if symbol.simplex:
            shares.append(names)
    rows = fit.asked(law)
    sets = {binding_name(declared, i): fit.labels[declared.indices[i].over] for i in rows}
    columns = rows and fit.apart == rows == declared.output.indices
    outputs = tuple(fit.outputs) if columns else ()
    measures = tuple(declared.measures.values())
    measured_sets = tuple(dict.fromkeys(binding_name(declared, m.index) for m in measures))
    return PredictionInputs(
        law.name,
        law.output,
        variables,
        tuple(shares),
        sets,
        outputs,
        ", ".join(sets),
        tuple(m.name for m in measures),
        measured_sets,
        output_unit,
    )


def _unit(symbol: Symbol) -> Factors | None:
    return symbol.unit.factors if symbol.unit else None
