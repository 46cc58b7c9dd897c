"""Records <-> plain data, by the annotations of their fields; types are not converted.

Supported annotations: str, bool, int, float, Literal, X | None, tuple[X, ...], tuple[X, Y],
Mapping[str, X], dataclasses, and Annotated with the marks below. Marks may also be given in the
metadata of a field, as `stored`.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Record = TypeVar("Record")
Readers = Mapping[Any, Callable[[Any], Any]]

MAY_BE_ABSENT = "may be absent"
"""The mark of a field that older files lack: it has its default then."""


@dataclass(frozen=True)
class Null:
    """The mark of a number that plain data may store as null: infinite, or not a number."""

    value: float


@dataclass(frozen=True)
class OneOf:
    """The mark of a text that must be one of several."""

    texts: tuple[str, ...]

    def __init__(self, *texts: str) -> None:
        object.__setattr__(self, "texts", texts)


@dataclass(frozen=True)
class Between:
    """The mark of a number from `low` to `high`; `name` describes the permitted numbers."""

    low: float
    high: float
    name: str = "within its limits"


@dataclass(frozen=True)
class Pairs:
    """The mark of a tuple of (name, value) pairs that is stored as an object."""


class Misplaced(ValueError):
    """A field that is missing or has the wrong type; `place` is its path, `data.ranges.N`."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.place, self.reason = path, reason


def read(kind: type[Record], content: Any, readers: Readers | None = None) -> Record:
    """Read a record from plain data.

    Args:
        kind: the type of the record.
        content: the parsed JSON; keys that are not fields are ignored.
        readers: type -> function from plain data to a record, for types stored in another form.

    Raises:
        Misplaced: a field is missing, or has the wrong type.
        ValueError: the content as a whole has the wrong type.
    """
    record: Record = _value(kind, content, readers or {})
    return record


def to_plain(value: Any) -> Any:
    """Plain data from records, mappings and tuples; null for numbers that are not finite."""
    if is_dataclass(value):
        kind: Any = type(value)
        hints = _annotations(kind)
        return {
            each.name: to_plain(
                dict(member) if Pairs() in get_args(hints[each.name])[1:] else member
            )
            for each in fields(value)
            for member in (getattr(value, each.name),)
        }
    if isinstance(value, Mapping):
        return {str(key): to_plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@cache
def _annotations(kind: Any) -> dict[str, Any]:
    """The annotations of the fields of a record, with the marks of their metadata."""
    hints = get_type_hints(kind, include_extras=True)
    marks = {each.name: each.metadata.get("stored", ()) for each in fields(kind)}
    return {
        name: Annotated[(hints[name], *metadata)] if metadata else hints[name]
        for name, metadata in marks.items()
    }


def _value(kind: Any, content: Any, readers: Readers) -> Any:
    if kind in readers:
        return readers[kind](content)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _marked(arguments[0], arguments[1:], content, readers)
    if origin in (Union, types.UnionType):
        (inner,) = (each for each in arguments if each is not type(None))
        return None if content is None else _value(inner, content, readers)
    if origin is Literal:
        return _one_of(arguments, content)
    if origin is tuple:
        return _tuple(arguments, content, readers)
    if origin is not None and issubclass(origin, Mapping):
        return _object(arguments[1], content, readers)
    if is_dataclass(kind):
        return _record(kind, content, readers)
    return _scalar(kind, content)


def _record(kind: Any, content: Any, readers: Readers) -> Any:
    _check_object(content)
    values = {}
    for each in fields(kind):
        annotation = _annotations(kind)[each.name]
        if each.name in content:
            values[each.name] = _at(each.name, annotation, content[each.name], readers)
        elif not (MAY_BE_ABSENT in get_args(annotation)[1:] and _has_default(each)):
            raise Misplaced(each.name, "it is missing")
    return kind(**values)


def _has_default(each: Field[Any]) -> bool:
    return each.default is not MISSING or each.default_factory is not MISSING


def _marked(kind: Any, marks: tuple[Any, ...], content: Any, readers: Readers) -> Any:
    for mark in marks:
        if isinstance(mark, Null) and content is None:
            return mark.value
        if isinstance(mark, Pairs):
            return tuple(_object(get_args(get_args(kind)[0])[1], content, readers).items())
        if isinstance(mark, OneOf):
            return _one_of(
                (*mark.texts, *((None,) if type(None) in get_args(kind) else ())), content
            )
    limits = [mark for mark in marks if isinstance(mark, Between)]
    try:
        value = _value(kind, content, readers)
        if value is None or all(mark.low <= value <= mark.high for mark in limits):
            return value
    except ValueError:
        if not limits:
            raise
    raise ValueError(f"{content!r:.40} is not {limits[0].name}")


def _tuple(kinds: tuple[Any, ...], content: Any, readers: Readers) -> tuple[Any, ...]:
    if not isinstance(content, (list, tuple)):
        raise ValueError(f"{content!r:.40} is not a list")
    if kinds[-1] is Ellipsis:
        kinds = kinds[:1] * len(content)
    elif len(content) != len(kinds):
        what = "a pair of numbers" if len(kinds) == 2 else f"a list of {len(kinds)}"
        raise ValueError(f"{content!r:.40} is not {what}")
    return tuple(
        _at(str(number), kind, each, readers)
        for number, (kind, each) in enumerate(zip(kinds, content, strict=True))
    )


def _object(kind: Any, content: Any, readers: Readers) -> dict[str, Any]:
    _check_object(content)
    return {_scalar(str, name): _at(name, kind, each, readers) for name, each in content.items()}


def _check_object(content: Any) -> None:
    if not isinstance(content, Mapping):
        raise ValueError(f"{content!r:.40} is not an object")


def _at(path: str, kind: Any, content: Any, readers: Readers) -> Any:
    try:
        return _value(kind, content, readers)
    except Misplaced as error:
        raise Misplaced(f"{path}.{error.place}", error.reason) from None
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        raise Misplaced(str(path), str(error)[:80]) from None


def _one_of(choices: tuple[Any, ...], content: Any) -> Any:
    # True == 1 and 1 == 1.0
    if not any(type(content) is type(each) and content == each for each in choices):
        raise ValueError(f"{content!r:.40} is not one of {', '.join(map(str, choices))}")
    return content


SCALARS = {
    str: "text",
    bool: "neither true nor false",
    int: "an integer",
    float: "a number",
}


def _scalar(kind: Any, content: Any) -> Any:
    types_allowed = (int, float) if kind is float else (kind,)
    if kind not in SCALARS:
        raise TypeError(f"no record is made of {kind}")
    if type(content) not in types_allowed:
        is_not = "is" if kind is bool else "is not"
        raise ValueError(f"{content!r:.40} {is_not} {SCALARS[kind]}")
    if kind is float:
        # a long integer overflows to OverflowError, which `_at` reports with its place
        number = float(content)
        if not math.isfinite(number):
            raise ValueError(f"{content!r:.40} is not finite")
        return number
    return content
