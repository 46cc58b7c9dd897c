"""Exported -> a JSON document: the steps of the formula, with values, errors and derivatives."""

from __future__ import annotations

import json
import math
from typing import Any, cast

from lawdsl import __version__
from lawdsl.compiling.indexed_leaves import Leaf
from lawdsl.exporting.content import Exported
from lawdsl.exporting.program import FormulaProgram
from lawdsl.language.instances.instance import Differing
from lawdsl.language.label_texts import with_subscripts
from lawdsl.language.printer import print_formula

SCHEMA = "lawdsl formula 1"


def json_document(made: Exported) -> str:
    """The text of a document, whose keys are stable.

    Args:
        made: the content.
    """
    return json.dumps(_document(made), indent=1, allow_nan=False) + "\n"


def _document(made: Exported) -> dict[str, Any]:
    fit = made.fit
    return {
        "schema": SCHEMA,
        "written_by": f"lawdsl {__version__}",
        "law": {
            "name": made.name,
            "title": made.title,
            "sources": list(made.sources),
            "digest": made.digest,
            "formulas": [f"{name} = {print_formula(formula)}" for name, formula in made.formulas],
        },
        "fit": fit
        and {
            "data": fit.data,
            "digests": list(fit.digest),
            "rows": fit.rows,
            "where": list(fit.where),
            "ranges": {name: list(ends) for name, ends in fit.ranges.items()},
            "verdict": fit.verdict,
        },
        "output": {"name": made.output, "unit": made.unit or None, "doc": made.doc or None},
        "labels": {over: list(labels) for over, labels in made.labels.items()},
        "rows": {
            index: {"called": over, "set": made.index_sets[index]}
            for index, over in made.rows.items()
        },
        "variables": [
            {
                "name": v.name,
                "unit": v.unit or None,
                "doc": v.doc or None,
                "bounds": [[b.relation, b.limit] for b in v.bounds],
                "set": v.over or None,
                "left_out": v.left_out,
            }
            for v in made.variables
        ],
        "parameters": [
            {
                "name": c.name,
                "doc": c.doc or None,
                "sets": list(c.over),
                "values": _finite(c.values),
                "errors": _finite(c.errors),
                "fitted": c.kind == "parameter",
                "unit": c.unit or None,
                "notes": {with_subscripts(c.name, labels): why for labels, why in c.notes.items()},
            }
            for c in made.constants
        ],
        "program": _program(made.program),
        "intervals": [
            {
                "parameters": list(e.names),
                "terms": [
                    [[t.coefficient, t.name, list(t.positions)] for t in each] for each in e.terms
                ],
                "covariance": _covariance(e.factor, len(e.names)),
                "factor": [list(row) for row in e.factor],
                "null_space": [list(row) for row in e.null_space],
                "scale": list(e.scale),
                "dof": e.dof,
                "level": made.level,
                "quantile": e.quantile,
                "logarithm": e.log,
            }
            for e in made.errors
        ],
        "apart": list(made.apart),
        "without_intervals": made.why_no_errors or None,
    }


def _program(program: FormulaProgram) -> dict[str, Any]:
    """The steps: operation, arguments (numbers of earlier steps), and what else it needs."""
    axes = program.axis_names
    steps = []
    for op, arguments, data in program.steps:
        step: dict[str, Any] = {"op": op, "arguments": list(arguments)}
        if op == "number":
            step["value"] = _finite(data)
        elif op == "leaf":
            name, labels = cast(Leaf, data)
            step |= {"name": name, "subscripts": [_subscript(x, axes) for x in labels]}
        elif data is not None:
            step["over"] = [axes[axis] for axis in cast(tuple[int, ...], data)]
        steps.append(step)
    return {
        "steps": steps,
        "value": program.value,
        "lets": {name: position for position, name in program.lets.items()},
        "derivatives": [
            {
                "name": name,
                "subscripts": [_subscript(x, axes) for x in labels],
                "step": position,
            }
            for (name, labels), position in program.slopes.items()
        ],
    }


def _subscript(label: Any, axes: Any) -> dict[str, str]:
    if isinstance(label, int):
        return {"index": axes[label]}
    if isinstance(label, Differing):
        return {"row": label.index}
    return {"label": str(label)}


def _covariance(factor: tuple[tuple[float, ...], ...], count: int) -> list[list[float]]:
    columns = [[row[k] for row in factor] for k in range(count)]
    return [[math.fsum(x * y for x, y in zip(a, b, strict=True)) for b in columns] for a in columns]


def _finite(values: Any) -> Any:
    """Numbers that are not finite become null."""
    if isinstance(values, tuple):
        return [_finite(x) for x in values]
    return float(values) if math.isfinite(values) else None
