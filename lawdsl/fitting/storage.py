"""Fit <-> JSON file, and the law of a fit rebuilt from the texts in the file."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.files import similar_file, write
from lawdsl.core.records import OneOf, read as read_record
from lawdsl.data.measured_values import Measured
from lawdsl.fitting.intervals.covariance import Covariance
from lawdsl.fitting.result_parts import FittedLaw

if TYPE_CHECKING:
    from lawdsl.language.symbols import Declarations
    from lawdsl.law.law import Law

FIT_SCHEMA = 2
FITS_SCHEMA = "fits 1"  # of a law with index sets
FITS_BY_GROUP_SCHEMA = "fits by group 1"
ENSEMBLE_SCHEMA = "ensemble 1"
VERDICTS = ("trusted", "caution", "not trusted")
MAX_FIT_BYTES = 32 * 2**20  # larger files are not read as fits
NO_FIT = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)
"""What reading content of another form ends in."""

Kept = TypeVar("Kept")


@dataclass(frozen=True)
class StoredDiagnostic:
    """A diagnostic as stored in a file, without the source text that it refers to."""

    code: str
    message: str
    severity: Annotated[str, OneOf("error", "warning")]
    place: str | None
    notes: tuple[str, ...]
    help: str | None

    @classmethod
    def read(cls, content: Any) -> Diagnostic:
        """Rebuild a diagnostic from its plain data."""
        stored = read_record(cls, content)
        return Diagnostic(
            stored.code,
            stored.message,
            stored.severity,
            place=stored.place or "",
            notes=stored.notes,
            help=stored.help,
        )


READERS: dict[Any, Callable[[Any], Any]] = {
    Diagnostic: StoredDiagnostic.read,
    Covariance: Covariance.of_json,
    Measured: Measured.of_json,
}
"""How the records are read that are stored in a form of their own."""


def check_schema(content: Any, schema: int | str) -> None:
    """Raise an error for plain data of another schema.

    Args:
        content: as read from a file.
        schema: the expected schema.

    Raises:
        ValueError, TypeError, LookupError: it has another schema, or none.
    """
    stored = content["schema"]
    # True == 1 and 2.0 == 2
    if type(stored) is not type(schema) or stored != schema:
        raise ValueError(f"schema {stored!r}")


def read(path: Path, limit: int | None = None) -> str:
    """The text of a file that may contain a fit.

    Args:
        path: the path of the file.
        limit: the largest permitted size, in bytes; MAX_FIT_BYTES by default.

    Raises:
        OSError: it cannot be read.
        ValueError: it is too large, or not UTF-8.
    """
    limit = MAX_FIT_BYTES if limit is None else limit
    with path.open("rb") as file:
        # one byte beyond the limit shows that a file is too large, whatever size the file system
        # states
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"larger than {limit // 2**20} MiB")
    return content.decode("utf-8")


OTHER_FILES = {
    ".law": ("a law", "make a fit of it with `lawdsl fit {} DATA -o FIT.json`, and give FIT.json"),
    ".csv": ("a table", "fit a law to it with `lawdsl fit LAW {} -o FIT.json`, and give FIT.json"),
    ".toml": ("a sweep", "make one with `lawdsl fit LAW DATA -o FIT.json`, and give FIT.json"),
}
"""Ending of files that are no fits -> what they are, and what to do."""


def content_of(text: str) -> Any:
    """The plain data in the text of a file.

    Raises:
        ValueError, RecursionError: it is not JSON.
    """
    return json.loads(text, parse_constant=_refuse)


def load(
    path: str | Path,
    build: Callable[[Any], Kept],
    text: str | None = None,
    limit: int | None = None,
) -> Kept:
    """Read a file and build a record from its content.

    Args:
        path: the path of a file written by `save`.
        build: the function from plain data to a record; its exceptions for data of another form
            become LawdslError.
        text: the text of the file, if it has been read.
        limit: the largest permitted size of the file, in bytes; MAX_FIT_BYTES by default.

    Raises:
        LawdslError: the file does not exist, or is not a fit.
    """
    help = "make one with `lawdsl fit LAW DATA -o FIT.json`"
    try:
        return build(content_of(read(Path(path), limit) if text is None else text))
    except LawdslError as error:
        raise LawdslError([replace(d, place=str(path)) for d in error.diagnostics]) from None
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        similar = similar_file(Path(path)) if isinstance(error, FileNotFoundError) else None
        if similar is not None:
            help = f"did you mean {similar}?"
        elif isinstance(error, FileNotFoundError) and _is_shipped(str(path)):
            reason = "it is a law"
            help = f"fit the law first: `lawdsl fit {path} DATA -o FIT.json`"
    except json.JSONDecodeError as error:
        reason = f"it is not a fit of schema {FIT_SCHEMA}, nor JSON (line {error.lineno})"
        other = OTHER_FILES.get(Path(path).suffix.lower())
        if other is not None:
            message = f"{path} is {other[0]}, where a fit is expected, a JSON file of `lawdsl fit`"
            help = other[1].format(path)
            raise LawdslError(Diagnostic("F0108", message, place=str(path), help=help)) from None
    except NO_FIT as error:
        reason = (
            f"it is not a fit of schema {FIT_SCHEMA} ({type(error).__name__}: {str(error)[:160]})"
        )
    message = f"the fit cannot be read: {reason}"
    raise LawdslError(Diagnostic("F0108", message, place=str(path), help=help))


def save(path: str | Path, content: Mapping[str, Any]) -> None:
    """Write a fit as JSON, atomically.

    Args:
        path: the path of the file.
        content: plain data.

    Raises:
        LawdslError: the file cannot be written.
    """
    # NaN and Infinity are not JSON: records replace them
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        write(Path(path), text)
    except OSError as error:
        message = f"the fit cannot be written: {error.strerror}"
        help = "give the path of a file in a folder that you may write to"
        raise LawdslError(Diagnostic("F0108", message, place=str(path), help=help)) from None


class StoredRecord(ABC):
    """A record that can be written to a file and read from it."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The record as plain data; the keys are stable."""

    @classmethod
    @abstractmethod
    def of_json(cls, content: Mapping[str, Any]) -> Self:
        """Rebuild a record from the plain data of `to_json`.

        Raises:
            ValueError, TypeError, LookupError, AttributeError, OverflowError: data of another form.
            LawdslError: the record of another class.
        """

    def save(self, path: str | Path) -> None:
        """Write the record as JSON, atomically.

        Raises:
            LawdslError: the file cannot be written.
        """
        save(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a record written by `save`.

        Raises:
            LawdslError: the file does not exist, or is not a record of this class.
        """
        return load(path, cls.of_json)


def fitted_law(law: Law) -> FittedLaw:
    """The record of a law, from which it can be rebuilt."""
    return FittedLaw(
        law.name,
        law.digest,
        law.texts,
        dict(law.given),
        law.dropped,
        law.added,
        law.held,
        law.declarations.instance,
        law.stated_priors,
    )


def read_again(fitted: FittedLaw) -> Law:
    """Rebuild the law that was fitted, with settings, changes and fixed parameters, but without
    labels.

    Raises:
        LawdslError: its texts do not give that law.
    """
    from lawdsl.law.law import Law  # the algebra of laws loads slowly

    return fitted.changes.apply(Law(declarations(fitted)))


def read_at_labels(fitted: FittedLaw) -> Law:
    """Rebuild the law that was fitted, at its labels where it has any.

    Raises:
        LawdslError: its texts do not give that law.
    """
    law = read_again(fitted)
    if fitted.instance is None:
        return law
    try:
        return law.at_labels(fitted.instance)
    except KeyError:
        raise altered("its labels are not those of its law") from None


def read_with_parameters(fitted: FittedLaw, law: Law, names: tuple[str, ...]) -> Law:
    """The law with the parameters of a covariance, of which one may have been chosen before the
    others and is fixed in the fitted law.

    Args:
        fitted: the law of a fit.
        law: the same, rebuilt.
        names: the parameters of the covariance.

    Raises:
        LawdslError: the texts do not give a law of these parameters.
    """
    chosen = set(names) - {q.name for q in law.parameters}
    if not chosen:
        return law
    free_law = read_at_labels(replace(fitted, held=fitted.changes.freeing(chosen).statements))
    if tuple(q.name for q in free_law.parameters) != names:
        raise altered("it says the errors of other parameters")
    return free_law


def declarations(law: FittedLaw) -> Declarations:
    """Parse the law from the texts that a fit contains; no other file is read.

    Raises:
        LawdslError: the texts do not give that law.
    """
    from lawdsl.language.kept_texts import law_finder

    return law_finder(law.texts, "fit", altered)(law.name)


def altered(why: str) -> LawdslError:
    """The error for a fit whose parts are inconsistent."""
    help = "make the fit again: `lawdsl fit LAW DATA -o FIT.json`"
    return LawdslError(Diagnostic("F0108", f"the fit has been altered: {why}", help=help))


def _is_shipped(name: str) -> bool:
    """Whether a law of this name ships."""
    from lawdsl.language.library import shipped  # reads laws, which loads their parser

    return name in shipped()


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")
