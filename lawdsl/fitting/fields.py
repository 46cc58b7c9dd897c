"""Plain data -> the fields of fits, without trusting what they say."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from lawdsl.choices import METHODS
from lawdsl.data.measuring import Measured
from lawdsl.diagnostics import Diagnostic
from lawdsl.fitting import inflected
from lawdsl.fitting.intervals.spread import Spread
from lawdsl.fitting.records import (
    Agreement,
    Certificate,
    FittedData,
    FittedLaw,
    Held,
    Intervals,
    Loss,
    Metrics,
    ObjectiveValue,
    Optimality,
    Parameter,
)
from lawdsl.language.instances.instance import Instance

SCHEMA = 2
SEVERAL = "fits 1"  # the schema of a law with index sets
VERDICTS = ("trusted", "caution", "not trusted")


def fields(content: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a Fit, from the plain data that `Fit.to_json` makes.

    Raises:
        ValueError, TypeError, LookupError, AttributeError, OverflowError: it is no such data.
    """
    if content["schema"] != SCHEMA:
        raise ValueError(f"schema {content['schema']!r}")
    objective, metrics = content["objective"], content["metrics"]
    data, agreement = content["data"], content["agreement"]
    optimality = content["optimality"]
    return {
        "parameters": {name: _parameter(p) for name, p in content["parameters"].items()},
        "objective": ObjectiveValue(
            str(objective["name"]),
            _or_nan(objective["sum"]),
            _or_nan(objective["mean"]),
            _loss(objective["log"]),
            _loss(objective["raw"]),
        ),
        "metrics": Metrics(*(_or_nan(metrics[name]) for name in ("r2", "r2_log", "mae"))),
        "agreement": Agreement(int(agreement["starts"]), int(agreement["agreed"])),
        "converged": bool(content["converged"]),
        "stopped": str(content["stopped"]),
        "verdict": _one_of(VERDICTS, content["verdict"]),
        "diagnostics": tuple(_diagnostic(d) for d in content["diagnostics"]),
        "law": _law(content["law"]),
        "data": FittedData(
            str(data["name"]),
            str(data["digest"]),
            int(data["rows"]),
            int(data["dropped"]),
            {name: str(column) for name, column in data["columns"].items()},
            tuple(map(str, data["where"])),
            {name: (_number(r[0]), _number(r[1])) for name, r in data["ranges"].items()},
            None if data["weights"] is None else str(data["weights"]),
            tuple(map(str, data["runs"])),
            None if data["groups"] is None else int(data["groups"]),
            tuple(map(inflected.read, data.get("inflections", ()))),
        ),
        "claims": tuple(_certificate(c) for c in content["claims"]),
        "seed": int(content["seed"]),
        "held": {name: _held(h) for name, h in content["held"].items()},
        "optimality": Optimality(*(_or_nan(optimality[n]) for n in ("gradient", "curvature"))),
        "intervals": _intervals(content["intervals"]),
        "spread": _spread(content),
    }


def fields_of_several(content: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of Fits but for its parts, from the plain data that `Fits.to_json` makes.

    Raises:
        ValueError, TypeError, LookupError, AttributeError, OverflowError: it is no such data.
    """
    if content["schema"] != SEVERAL:
        raise ValueError(f"schema {content['schema']!r}")
    return {
        "law": _law(content["law"]),
        "labels": _labels(content["labels"]),
        "columns": {name: str(column) for name, column in content["columns"].items()},
        "warnings": tuple(_diagnostic(d) for d in content["warnings"]),
        "dropped": int(content["dropped"]),
        "measured": _measured(content["measured"]),
        "rests": {n: (_number(e[0]), _number(e[1])) for n, e in content["rests"].items()},
    }


def _measured(content: Mapping[str, Any] | None) -> Measured | None:
    if content is None:
        return None
    values = {
        str(name): {str(label): _number(value) for label, value in own.items()}
        for name, own in content["values"].items()
    }
    points = {
        str(name): tuple({str(n): _number(x) for n, x in point.items()} for point in own)
        for name, own in content["points"].items()
    }
    return Measured(values, points)


def _law(content: Mapping[str, Any]) -> FittedLaw:
    return FittedLaw(
        str(content["name"]),
        str(content["digest"]),
        {name: str(text) for name, text in content["texts"].items()},
        {name: _number(value) for name, value in content["settings"].items()},
        tuple(map(str, content["dropped"])),
        tuple(map(str, content["added"])),
        tuple(map(str, content["held"])),
        _instance(content.get("instance")),
    )


def _labels(content: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {str(over): tuple(map(str, labels)) for over, labels in content.items()}


def _instance(content: Mapping[str, Any] | None) -> Instance | None:
    if content is None:
        return None
    return Instance(
        _labels(content["labels"]),
        {str(index): str(label) for index, label in content["at"].items()},
        tuple(map(str, content["by_row"])),
        {str(name): str(label) for name, label in content["left_out"].items()},
    )


def _parameter(content: Mapping[str, Any]) -> Parameter:
    at_bound = _one_of((None, "lower", "upper"), content["at_bound"])
    return Parameter(_number(content["value"]), at_bound, bool(content["identified"]))


def _intervals(content: Mapping[str, Any]) -> Intervals:
    def end(value: Any, infinite: float) -> float:
        return infinite if value is None else _number(value)

    return Intervals(
        _one_of(METHODS, content["method"]),
        _number(content["level"]),
        _one_of(("rows", "runs"), content["by"]),
        {name: _number(error) for name, error in content["errors"].items()},
        {n: (end(e[0], -math.inf), end(e[1], math.inf)) for n, e in content["ends"].items()},
        int(content["resamples"]),
        int(content["failed"]),
    )


def _spread(content: Mapping[str, Any]) -> Spread | None:
    """The spread of a fit; files written before there were any have none."""
    found = content.get("spread")
    return None if found is None else Spread.of_json(found)


def _held(content: Mapping[str, Any]) -> Held:
    formula = content["formula"]
    return Held(_number(content["value"]), None if formula is None else str(formula))


def _certificate(content: Mapping[str, Any]) -> Certificate:
    return Certificate(
        str(content["claim"]),
        _one_of(("certified", "refuted", "undecided"), content["verdict"]),
        bool(content["failed"]),
        None if content["face"] is None else str(content["face"]),
        tuple((name, str(value)) for name, value in content["witness"].items()),
        None if content["value"] is None else str(content["value"]),
    )


def _loss(content: Mapping[str, Any]) -> Loss:
    return Loss(_or_nan(content["sum"]), _or_nan(content["mean"]))


def _diagnostic(content: Mapping[str, Any]) -> Diagnostic:
    help = content["help"]
    return Diagnostic(
        str(content["code"]),
        str(content["message"]),
        _one_of(("error", "warning"), content["severity"]),
        place=str(content["place"] or ""),
        notes=tuple(map(str, content["notes"])),
        help=None if help is None else str(help),
    )


def _one_of(known: tuple[Any, ...], value: Any) -> Any:
    if value not in known:
        raise ValueError(f"{value!r} is none of {known}")
    return value


def _or_nan(value: Any) -> float:
    return math.nan if value is None else _number(value)


def _number(value: Any) -> float:
    number = float(value)
    if isinstance(value, (str, bool)) or not math.isfinite(number):
        raise ValueError(f"{value!r} is no number")
    return number
