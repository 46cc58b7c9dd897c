"""sweep.toml -> its tables, parsed strictly, and every mistake in it with its location.

A location is a path: `training.steps`, `models[2].folder`, counted from 1.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, time
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from lawdsl.core.diagnostics import Diagnostic, LawdslError, Text
from lawdsl.language.keywords import did_you_mean, nearest

from ..run.evaluation_steps import Dense, Exponential, ListedSteps, Sectional, Sparse
from ..spec import ExecutionConfig, Training
from .file import (
    Also,
    Branching,
    Columns,
    CorpusEntry,
    File,
    Grid,
    Learnability,
    ModelEntry,
    Selection,
)
from .meant_values import meant_decay, meant_evaluation, meant_parts, meant_steps, meant_word
from .toml_errors import LISTED, no_toml, single_table

TABLES: Mapping[tuple[str, ...], type[BaseModel]] = {
    (): File,
    ("corpora", "*"): CorpusEntry,
    ("grid",): Grid,
    ("also", "*"): Also,
    ("schedule",): Branching,
    ("table",): Columns,
    ("table", "dlc"): Learnability,
}
"""Path of a table -> its schema."""
SCHEDULES: Mapping[str, type[BaseModel]] = {
    "dense": Dense,
    "sparse": Sparse,
    "sectional": Sectional,
    "exponential": Exponential,
    "list": ListedSteps,
}
TOML_NAMES: Mapping[str, str] = {
    "must be a valid dictionary": "must be a table",
    "must be an object": "must be a table",
    "must be a valid array": "must be a list",
    "must be a valid boolean": "must be true or false",
    "must be a valid integer": "must be an integer",
    "must be a valid number": "must be a number",
    "must be a valid string": "must be text",
}
"""Messages of pydantic -> wording for a TOML file."""

ALIASES: Mapping[str, str] = {
    "lr": "learning_rate",
    "batch_size": "batch",
    "seq_len": "sequence",
    "seq_length": "sequence",
    "sequence_length": "sequence",
    "context": "sequence",
    "max_steps": "steps",
    "num_steps": "steps",
    "warmup_steps": "warmup",
    "wd": "weight_decay",
    "eval": "evaluation",
    "train": "training",
    "model": "models",
    "datasets": "corpora",
    "data": "corpora",
    "mixtures": "shares",
    "weights": "shares",
    "seed": "seeds",
}
"""What other trainers call a key -> its name here."""

Problems = list[Diagnostic]

_Kind = TypeVar("_Kind", bound=BaseModel)


def sweep_diagnostic(
    location: str, message: str, help: str = "", code: str = "R0102"
) -> Diagnostic:
    """Create the diagnostic for a mistake in a sweep.

    Args:
        location: the path of the entry.
        message: what is wrong.
        help: how to correct it.
        code: the code of the message.

    Returns:
        The diagnostic.
    """
    return Diagnostic(code, message, place=location, help=help or "correct it; nothing was started")


def raise_mistakes(path: Path, problems: Iterable[Diagnostic]) -> None:
    """Raise one error with all mistakes of a file, if there are any.

    Args:
        path: the path of the file.
        problems: the mistakes.

    Raises:
        LawdslError: with each of them, once.
    """
    told = _repeated(_renamed(list(problems)))
    diagnostics = dict.fromkeys(replace(d, place=f"{path}: {d.place}") for d in told)
    if diagnostics:
        raise LawdslError(diagnostics)


def _renamed(problems: Problems) -> Problems:
    """The problems without consequences: a key under another name, and the one that is missing
    because of it, or each key of a table under another name, are a single problem.
    """
    missing = {d.place: d for d in problems if d.message == f"{d.place} is missing"}
    kept: Problems = []
    for problem in problems:
        table, _, key = problem.place.rpartition(".")
        if problem.message == f"unknown key {problem.place}":
            meant = _meant_key(table, key, missing)
            if meant is not None:
                name = meant.rpartition(".")[2]
                problem = replace(problem, help=f"did you mean `{name}`?")
                missing = {
                    p: d for p, d in missing.items() if p != meant and not p.startswith(f"{meant}.")
                }
        kept.append(problem)
    present = set(missing)
    return [d for d in kept if d.message != f"{d.place} is missing" or d.place in present]


def _meant_key(table: str, key: str, missing: Mapping[str, Diagnostic]) -> str | None:
    """The path of the missing key, or of the table with missing keys, that an unknown one stands
    for; None if it is not known.
    """
    prefix = f"{table}." if table else ""
    of_model = re.fullmatch(r"models\[[0-9]+\]", table)
    tops = [p for p in missing if p.startswith(prefix)]
    tops += [p for p in missing if of_model and p.startswith(("training.", "run."))]
    paths = {}
    for path in tops:
        rest = path.removeprefix(prefix)
        name = rest.rpartition(".")[2] if of_model else rest.partition(".")[0]
        paths[name] = path if of_model else prefix + name
    meant = ALIASES.get(key.lower()) or nearest(key, paths)
    return paths.get(meant, f"{prefix}{meant}") if meant is not None else None


def _repeated(problems: Problems) -> Problems:
    """The problems, those of one kind in the entries of one list as the first of them."""
    kept: dict[tuple[str, ...], Diagnostic] = {}
    more: dict[tuple[str, ...], int] = {}
    for problem in problems:
        place = re.sub(r"\[[0-9]+\]", "[]", problem.place)
        said = re.sub(r"\[[0-9]+\]", "[]", problem.message)
        kind = (problem.code, place, re.sub(r"[-0-9./\"]+[^\s,;]*", "#", said))
        listed = "[]" in place and not place.startswith("models[]")  # each model is one of its own
        if listed and kind in kept:
            more[kind] = more.get(kind, 0) + 1
        else:
            kept[kind if listed else (problem.code, problem.place, problem.message)] = problem
    return [
        replace(
            d,
            message=f"{d.message}; and {more[kind]} more such {'entry' if more[kind] == 1 else 'entries'}",
        )
        if kind in more
        else d
        for kind, d in kept.items()
    ]


def read_toml(path: Path) -> dict[str, Any]:
    """Read the tables of a file.

    Raises:
        LawdslError: it cannot be read, or is not TOML; R0103, with line and column. It has dates or
            times, which no entry may be; R0102.
    """
    if path.suffix.lower() in (".json", ".csv", ".law", ".yaml", ".yml", ".parquet"):
        message = f"{path.name} ends in {path.suffix}, where a sweep.toml is expected"
        help = "give the path of a file that ends in .toml"
        raise LawdslError(Diagnostic("R0103", message, place=str(path), help=help))
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        message = f"the sweep cannot be read: {error.strerror}"
        help = "give the path of a sweep.toml"
        raise LawdslError(Diagnostic("R0103", message, place=str(path), help=help)) from None
    except UnicodeDecodeError as error:
        message = f"the sweep is not UTF-8 (byte {error.start})"
        help = "save it as UTF-8 text"
        raise LawdslError(Diagnostic("R0103", message, place=str(path), help=help)) from None
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        source = Text(str(path), text)
        raise LawdslError(single_table(source) or no_toml(source, str(error))) from None
    raise_mistakes(path, _dates(tables))
    return tables


def _dates(value: Any, loc: tuple[str | int, ...] = ()) -> Iterator[Diagnostic]:
    """A mistake for each date and time: JSON lacks them, and as text they would be mistaken for
    names.
    """
    if isinstance(value, date | time):
        location = _path(loc)
        help = f'as text it has quotes: "{value}"'
        yield sweep_diagnostic(location, f"{location} must not be a date or time: {value}", help)
    elif isinstance(value, dict | list):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _dates(entry, (*loc, key))


def valid_sections(raw: Mapping[str, Any]) -> tuple[dict[str, Any], Problems]:
    """The valid tables, and the mistakes in the others."""
    problems: Problems = []
    try:
        File.model_validate_json(_json(raw), strict=True)
    except ValidationError as error:
        problems += (_mistake(e, raw=raw) for e in error.errors() if not _follows(e))
    branching = raw.get("schedule")
    ends_alone = isinstance(branching, dict) and not branching.get("constant_rows")
    if "evaluation" not in raw and not ends_alone:
        help = "write it; nothing was started"
        problems.append(sweep_diagnostic("evaluation", "evaluation is missing", help))
    parsed = {}
    for name, section in File.model_fields.items():
        if name not in raw:
            if not section.is_required():
                parsed[name] = section.default
            continue
        try:
            kind: TypeAdapter[Any] = TypeAdapter(section.rebuild_annotation())
            parsed[name] = kind.validate_json(_json(raw[name]), strict=True)
        except ValidationError:
            pass  # it is one of the mistakes
    return parsed, problems


def selection(path: Path, raw: Mapping[str, Any]) -> Selection:
    """A file that selects runs of another sweep.

    Args:
        path: of the file.
        raw: its tables.

    Raises:
        LawdslError: every entry that is wrong; R0102.
    """
    try:
        return Selection.model_validate_json(_json(raw), strict=True)
    except ValidationError as error:
        raise_mistakes(path, [_mistake(e) for e in error.errors()])
        raise  # not reached: there is a mistake


def model_sections(
    raw: Mapping[str, Any],
) -> tuple[dict[str, Training], dict[str, ExecutionConfig], Problems]:
    """The settings of the runs of each model: [training] and [run] with the model's own values."""
    models = [m for m in raw.get("models", ()) if isinstance(m, dict)]
    training: dict[str, Training] = {}
    how: dict[str, ExecutionConfig] = {}
    problems: Problems = []
    for number, model in enumerate(models, 1):
        name = str(model.get("name"))
        overrides = {
            key: value for key, value in model.items() if key not in ModelEntry.model_fields
        }
        valid_keys = (
            *ModelEntry.model_fields,
            *Training.model_fields,
            *ExecutionConfig.model_fields,
        )
        problems += (
            _unknown(f"models[{number}].{key}", key, valid_keys)
            for key in overrides
            if key not in valid_keys
        )
        if name in training or name in how:
            message = f"a second model is called {name}"
            help = "give each model a name of its own"
            problems.append(sweep_diagnostic(f"models[{number}].name", message, help))
        if merged := _merged(raw, "training", Training, number, overrides, problems):
            training[name] = merged
        if other := _merged(raw, "run", ExecutionConfig, number, overrides, problems):
            how[name] = other
    return training, how, problems


def _merged(
    raw: Mapping[str, Any],
    table: str,
    kind: type[_Kind],
    number: int,
    overrides: Mapping[str, Any],
    problems: Problems,
) -> _Kind | None:
    """Merge a table of the file with a model's own values; None, and the problems, if invalid."""
    general = raw.get(table, {})
    values = dict(general) if isinstance(general, dict) else {}
    values |= {key: overrides[key] for key in overrides if key in kind.model_fields}
    if kind is Training:
        values.setdefault("precision", "auto")
    if values.get("clip") is False:  # TOML has no null
        values["clip"] = None
    try:
        return kind.model_validate_json(_json(values), strict=True)
    except ValidationError as error:
        for e in error.errors():
            of_model = bool(e["loc"]) and e["loc"][0] in overrides
            place = f"models[{number}]" if of_model else table
            problems.append(_mistake(e, place, kind, {"training": values}))
        return None


def _json(value: Any) -> str:
    """Serialise as JSON, in which pydantic's strict mode accepts a list for a tuple."""
    return json.dumps(value)


def _mistake(
    e: Any,
    table: str = "",
    kind: type[BaseModel] | None = None,
    raw: Mapping[str, Any] | None = None,
) -> Diagnostic:
    """Translate an error of pydantic into a diagnostic.

    Args:
        e: the error.
        table: the path of the table; empty for the file.
        kind: the schema of the table.
        raw: the tables of the file.
    """
    loc: Sequence[str | int] = e["loc"]
    if not loc:  # inconsistent entries
        return sweep_diagnostic(table, f"{table}: {str(e['msg']).removeprefix('Value error, ')}")
    if loc[0] == "evaluation" and len(loc) > 1:  # pydantic names the schedule as well
        kind = SCHEDULES.get(str(loc[1]))
        loc = (loc[0], *loc[2:])
    location = _path((table, *loc) if table else loc)
    if e["type"] == "extra_forbidden":
        above = tuple("*" if isinstance(part, int) else str(part) for part in loc[:-1])
        if above[:1] == ("corpora",):
            above = ("corpora", "*")
        valid_keys = kind or TABLES.get(above)
        return _unknown(
            location, str(loc[-1]), tuple(valid_keys.model_fields) if valid_keys else ()
        )
    if e["type"] == "union_tag_invalid":
        location = f"{location}.schedule"
        tag = e["ctx"]["tag"]
        message = f"{location} must be one of {', '.join(SCHEDULES)}, not {tag}"
        help = meant_evaluation(tag, e["input"], list(SCHEDULES))
        return sweep_diagnostic(location, message, help)
    if e["type"] == "union_tag_not_found":
        return sweep_diagnostic(
            location, f"{location}.schedule is missing", f"one of {', '.join(SCHEDULES)}"
        )
    if e["type"] == "missing":
        return sweep_diagnostic(location, f"{location} is missing", "write it; nothing was started")
    if e["type"] == "too_short":
        return sweep_diagnostic(location, f"{location} must have at least 1 entry")
    help = ""
    if tuple(loc) == ("evaluation",) and isinstance(e["input"], list):
        help = f'[evaluation] with schedule = "list" and steps = {_shown(e["input"])}'
    message = str(e["msg"]).removeprefix("Value error, ").replace("Input should", "must")
    for of_python, of_toml in TOML_NAMES.items():
        message = message.replace(of_python, of_toml)
    help = help or _in_other_unit(loc, e, raw or {}) or _advice(location, e)
    return sweep_diagnostic(location, f"{location} {message}, not {_shown(e['input'])}", help)


def _in_other_unit(loc: Sequence[str | int], e: Any, raw: Mapping[str, Any]) -> str:
    """What to write for a number of steps in place of a part of them, or the reverse; else empty."""
    training = raw.get("training")
    steps = training.get("steps") if isinstance(training, Mapping) else None
    if tuple(loc[:2]) == ("schedule", "branches") and isinstance(raw.get("schedule"), Mapping):
        return meant_parts(raw["schedule"].get("branches"), steps)
    if tuple(loc) == ("schedule", "decay"):
        return meant_decay(e["input"])
    key = str(loc[-1]) if loc else ""
    of_steps = ("warmup", "decay", "decay_steps", "every", "then", "checkpoint_every")
    if key in of_steps and str(e["type"]).startswith("int"):
        return meant_steps(key, e["input"], steps)
    return ""


def _advice(location: str, e: Any) -> str:
    """What to write for a value of another kind, or for a word that is not one of the choices."""
    key, value, kind = location.rpartition(".")[2], e["input"], str(e["type"])
    written = ""
    if kind.startswith(("int", "float")) and isinstance(value, str):
        digits = value.replace("_", "").replace(",", "").strip()
        if re.fullmatch(
            r"[0-9]+" if kind.startswith("int") else r"[0-9.]+([eE][-+]?[0-9]+)?", digits
        ):
            written = digits
    elif kind.startswith("int") and isinstance(value, float) and math.isfinite(value):
        written = str(round(value))
    elif "must be a number" in str(e["msg"]) and (percent := _percent(value)) is not None:
        return f"a share of {percent:g} % is {percent / 100:g}"
    elif kind == "bool_type" or kind == "bool_parsing":
        written = "true" if str(value).lower() in ("1", "yes", "on", "true") else "false"
    elif kind in ("tuple_type", "list_type") and isinstance(value, dict) and location in LISTED:
        return f"write `[[{location}]]` in place of `[{location}]`: there may be several"
    elif kind in ("tuple_type", "list_type") and isinstance(value, (int, float, str)):
        written = f"[{_shown(value)}]"
    elif kind == "string_type" and isinstance(value, (int, float)):
        written = f'"{value}"'
    elif kind == "literal_error":
        choices = re.findall(r"'([^']+)'", str(e["ctx"]["expected"]))
        meant = meant_word(re.sub(r"\[[0-9]+\]$", "", key), value)
        return meant or did_you_mean(
            str(value), choices, f'write one of them: {key} = "{choices[0]}"'
        )
    elif kind in ("model_type", "dict_type", "model_attributes_type"):
        domain = "code" if location.startswith("grid.shares") else "name"
        return f"write a table: {{{domain} = {_shown(value)}}}"
    elif kind in ("greater_than", "greater_than_equal", "less_than", "less_than_equal"):
        return f"choose another number for {key}"
    if not written and kind.startswith(("int", "float")):
        return f"write a number: `{key} = 16`" if kind.startswith("int") else f"write `{key} = 0.1`"
    return f"write `{key} = {written}`" if written else ""


def _percent(value: Any) -> float | None:
    """A share in per cent, as a number from 2 to 100 or as text; None for anything else."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if 2 <= value <= 100 else None
    text = str(value).strip().removesuffix("percent").rstrip("% ")
    try:
        number = float(text)
    except ValueError:
        return None
    written = str(value).strip() != text or number >= 2
    return number if written and 0 <= number <= 100 else None


def _follows(e: Any) -> bool:
    """Whether an error follows from others: a list is too short without its invalid entries."""
    return e["type"] == "too_short" and len(e["input"]) >= e["ctx"]["min_length"]


def _unknown(location: str, key: str, valid_keys: Sequence[str]) -> Diagnostic:
    listed = f"there may be {', '.join(valid_keys)}" if valid_keys else ""
    help = did_you_mean(key, valid_keys, listed)
    return sweep_diagnostic(location, f"unknown key {location}", help)


def _path(loc: Iterable[str | int]) -> str:
    location = ""
    for part in loc:
        location += (
            f"[{part + 1}]" if isinstance(part, int) else f".{part}" if location else str(part)
        )
    return location


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:40]}…"
