"""Plain data -> the fields of fits, without trusting what they say."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.data.measured_variables import Measured
from lawdsl.fitting import inflection_warnings
from lawdsl.fitting.intervals.covariance import Spread
from lawdsl.fitting.options import METHODS
from lawdsl.fitting.result_parts import (
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
Read = TypeVar("Read")

VERDICTS = ("trusted", "caution", "not trusted")


def fields(content: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a Fit, from the plain data that `Fit.to_json` makes.

    Raises:
        ValueError, TypeError, LookupError, AttributeError, OverflowError: it is no such data.
    """
    if content["schema"] != SCHEMA:
        raise ValueError(f"schema {content['schema']!r}")
    return {
        "parameters": _at(content, "parameters", _each(_parameter)),
        "objective": _at(content, "objective", _objective),
        "metrics": _at(content, "metrics", _metrics),
        "agreement": _at(content, "agreement", _agreement),
        "converged": _at(content, "converged", _flag),
        "stopped": _at(content, "stopped", _text),
        "verdict": _at(content, "verdict", partial(_one_of, VERDICTS)),
        "diagnostics": _at(content, "diagnostics", _list(_diagnostic)),
        "law": _at(content, "law", _law),
        "data": _at(content, "data", _data),
        "claims": _at(content, "claims", _list(_certificate)),
        "seed": _at(content, "seed", _whole),
        "held": _at(content, "held", _each(_held)),
        "optimality": _at(content, "optimality", _optimality),
        "intervals": _at(content, "intervals", _intervals),
        "spread": _at({"spread": content.get("spread")}, "spread", _maybe(Spread.of_json)),
    }


def fields_of_several(content: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of Fits but for its parts, from the plain data that `Fits.to_json` makes.

    Raises:
        ValueError, TypeError, LookupError, AttributeError, OverflowError: it is no such data.
    """
    if content["schema"] != SEVERAL:
        raise ValueError(f"schema {content['schema']!r}")
    return {
        "law": _at(content, "law", _law),
        "labels": _at(content, "labels", _labels),
        "columns": _at(content, "columns", _each(_text)),
        "warnings": _at(content, "warnings", _list(_diagnostic)),
        "dropped": _at(content, "dropped", _whole),
        "measured": _at(content, "measured", _measured),
        "rests": _at(content, "rests", _each(_pair)),
    }


class Misplaced(ValueError):
    """A field of a stored fit that is missing or has the wrong type."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place, self.reason = place, reason


WRONG = (ValueError, TypeError, LookupError, AttributeError, OverflowError)


def _at(content: Mapping[str, Any], key: str, read: Callable[[Any], Read]) -> Read:
    """The parsed value of a field.

    Raises:
        Misplaced: it is missing or has the wrong type; with its path, `data.ranges.N`.
    """
    if not isinstance(content, Mapping):
        raise ValueError(f"{content!r:.40} is not an object")
    if key not in content:
        raise Misplaced(key, "it is missing")
    return _placed(key, content[key], read)


def _placed(key: str, value: Any, read: Callable[[Any], Read]) -> Read:
    try:
        return read(value)
    except Misplaced as error:
        raise Misplaced(f"{key}.{error.place}", error.reason) from None
    except WRONG as error:
        raise Misplaced(key, str(error)[:80]) from None


def _each(read: Callable[[Any], Read]) -> Callable[[Any], dict[str, Read]]:
    """A reader of objects: each value is parsed, by name."""

    def every(value: Any) -> dict[str, Read]:
        if not isinstance(value, Mapping):
            raise ValueError(f"{value!r:.40} is not an object")
        return {_text(name): _placed(str(name), own, read) for name, own in value.items()}

    return every


def _list(read: Callable[[Any], Read]) -> Callable[[Any], tuple[Read, ...]]:
    """A reader of lists: each item is parsed."""

    def every(value: Any) -> tuple[Read, ...]:
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"{value!r:.40} is not a list")
        return tuple(_placed(str(i), own, read) for i, own in enumerate(value))

    return every


def _maybe(read: Callable[[Any], Read]) -> Callable[[Any], Read | None]:
    """A reader that accepts null too."""
    return lambda value: None if value is None else read(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.40} is not text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r:.40} is neither true nor false")
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{value!r:.40} is not an integer")
    return value


def _pair(value: Any) -> tuple[float, float]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ValueError(f"{value!r:.40} is not a pair of numbers")
    return _number(value[0]), _number(value[1])


def _objective(content: Any) -> ObjectiveValue:
    return ObjectiveValue(
        _at(content, "name", _text),
        _at(content, "sum", _or_nan),
        _at(content, "mean", _or_nan),
        _at(content, "log", _loss),
        _at(content, "raw", _loss),
    )


def _metrics(content: Any) -> Metrics:
    return Metrics(*(_at(content, name, _or_nan) for name in ("r2", "r2_log", "mae")))


def _agreement(content: Any) -> Agreement:
    return Agreement(*(_at(content, name, _whole) for name in ("starts", "agreed")))


def _optimality(content: Any) -> Optimality:
    return Optimality(*(_at(content, name, _or_nan) for name in ("gradient", "curvature")))


def _data(content: Any) -> FittedData:
    return FittedData(
        _at(content, "name", _text),
        _at(content, "digest", _text),
        _at(content, "rows", _whole),
        _at(content, "dropped", _whole),
        _at(content, "columns", _each(_text)),
        _at(content, "where", _list(_text)),
        _at(content, "ranges", _each(_pair)),
        _at(content, "weights", _maybe(_text)),
        _at(content, "runs", _list(_text)),
        _at(content, "groups", _maybe(_whole)),
        _at({"inflections": (), **content}, "inflections", _list(inflection_warnings.read)),
    )


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


def _law(content: Any) -> FittedLaw:
    return FittedLaw(
        _at(content, "name", _text),
        _at(content, "digest", _text),
        _at(content, "texts", _each(_text)),
        _at(content, "settings", _each(_number)),
        _at(content, "dropped", _list(_text)),
        _at(content, "added", _list(_text)),
        _at(content, "held", _list(_text)),
        _at({"instance": None, **content}, "instance", _maybe(_instance)),
    )


def _labels(content: Any) -> dict[str, tuple[str, ...]]:
    return _each(_list(_text))(content)


def _instance(content: Any) -> Instance:
    return Instance(
        _at(content, "labels", _labels),
        _at(content, "at", _each(_text)),
        _at(content, "by_row", _list(_text)),
        _at(content, "left_out", _each(_text)),
    )


def _parameter(content: Any) -> Parameter:
    return Parameter(
        _at(content, "value", _number),
        _at(content, "at_bound", partial(_one_of, (None, "lower", "upper"))),
        _at(content, "identified", _flag),
    )


def _intervals(content: Any) -> Intervals:
    return Intervals(
        _at(content, "method", partial(_one_of, METHODS)),
        _at(content, "level", _number),
        _at(content, "by", partial(_one_of, ("rows", "runs"))),
        _at(content, "errors", _each(_number)),
        _at(content, "ends", _each(_interval)),
        _at(content, "resamples", _whole),
        _at(content, "failed", _whole),
    )


def _interval(value: Any) -> tuple[float, float]:
    """Both ends; null where one is infinite."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ValueError(f"{value!r:.40} is not a pair of numbers")
    low = -math.inf if value[0] is None else _number(value[0])
    return low, math.inf if value[1] is None else _number(value[1])


def _held(content: Any) -> Held:
    return Held(_at(content, "value", _number), _at(content, "formula", _maybe(_text)))


def _certificate(content: Any) -> Certificate:
    return Certificate(
        _at(content, "claim", _text),
        _at(content, "verdict", partial(_one_of, ("certified", "refuted", "undecided"))),
        _at(content, "failed", _flag),
        _at(content, "face", _maybe(_text)),
        tuple(_at(content, "witness", _each(_text)).items()),
        _at(content, "value", _maybe(_text)),
    )


def _loss(content: Any) -> Loss:
    return Loss(_at(content, "sum", _or_nan), _at(content, "mean", _or_nan))


def _diagnostic(content: Any) -> Diagnostic:
    return Diagnostic(
        _at(content, "code", _text),
        _at(content, "message", _text),
        _at(content, "severity", partial(_one_of, ("error", "warning"))),
        place=_at(content, "place", _maybe(_text)) or "",
        notes=_at(content, "notes", _list(_text)),
        help=_at(content, "help", _maybe(_text)),
    )


def _one_of(known: tuple[Any, ...], value: Any) -> Any:
    if not isinstance(value, (str, type(None))) or value not in known:
        raise ValueError(f"{value!r:.40} is not one of {', '.join(map(str, known))}")
    return value


def _or_nan(value: Any) -> float:
    return math.nan if value is None else _number(value)


def _number(value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise ValueError(f"{value!r:.40} is not a number")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value!r:.40} is not finite")
    return number
