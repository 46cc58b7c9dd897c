"""The fits of one law to many tables, or to the groups of one: a record, with access by group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.presentation import Presented
from lawdsl.core.records import read, to_plain
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.fitting.result_parts import FittedLaw
from lawdsl.fitting.storage import (
    FITS_BY_GROUP_SCHEMA,
    FITS_SCHEMA,
    READERS,
    VERDICTS,
    StoredRecord,
    check_schema,
    load,
)

Key = str | tuple[str, ...]
"""A group: its label, or its labels where several columns tell groups apart."""


@dataclass(frozen=True)
class FittedGroup:
    """The fit of a group.

    Attributes:
        labels: the cells that its rows have in the columns `by`.
        fit: the fit, equal to that of a table of these rows alone.
    """

    labels: tuple[str, ...]
    fit: Fit | Fits

    @property
    def parts(self) -> tuple[Fit, ...]:
        """The fit, or those of the labels of a law with index sets."""
        return self.fit.parts if isinstance(self.fit, Fits) else (self.fit,)

    @property
    def rows(self) -> int:
        """The number of rows fitted."""
        return sum(part.data.rows for part in self.parts)

    @property
    def objective(self) -> float:
        """The value of the objective."""
        return self.fit.objective if isinstance(self.fit, Fits) else self.fit.objective.sum

    @property
    def errors(self) -> dict[str, float]:
        """Parameter -> standard error, of those that have one."""
        return {name: x for part in self.parts for name, x in part.intervals.errors.items()}

    @property
    def printed(self) -> dict[str, float]:
        """Parameter -> value as fits print it, 0 on a bound at 0; with fixed and tied ones."""
        printed = {n: p.printed for part in self.parts for n, p in part.parameters.items()}
        return printed | {n: held.value for part in self.parts for n, held in part.held.items()}

    def to_json(self) -> dict[str, Any]:
        """The group as plain data; the keys are stable."""
        return {"labels": list(self.labels), "fit": self.fit.to_json()}


@dataclass(frozen=True)
class FailedGroup:
    """A group that could not be fitted.

    Attributes:
        labels: the cells that its rows have in the columns `by`.
        rows: the number of its rows.
        diagnostics: the reasons.
    """

    labels: tuple[str, ...]
    rows: int
    diagnostics: tuple[Diagnostic, ...]

    @property
    def message(self) -> str:
        """The first reason."""
        return self.diagnostics[0].message

    def to_json(self) -> dict[str, Any]:
        """The group as plain data; the keys are stable."""
        diagnostics = [d.to_json() for d in self.diagnostics]
        return {"labels": list(self.labels), "rows": self.rows, "diagnostics": diagnostics}


@dataclass(frozen=True)
class FitsByGroup(StoredRecord, Mapping[Key, Fit | Fits], Presented):
    """The fits of one law to many tables, or to the groups of one.

    It is a mapping of groups to fits: `fits["gemstones"]`, `fits["gemstones", "70M"]` where two
    columns tell groups apart; tables of a sequence are called "0", "1", …

    Attributes:
        law: the law that was fitted.
        by: the columns that tell the groups apart; `table` for separate tables.
        groups: the groups that were fitted, in the order of the tables.
        failures: the groups that could not be fitted, and why.
    """

    law: FittedLaw = field(repr=False)
    by: tuple[str, ...]
    groups: tuple[FittedGroup, ...] = field(repr=False)
    failures: tuple[FailedGroup, ...] = ()

    def __getitem__(self, group: Any) -> Fit | Fits:
        """The fit of a group; its labels may be given as numbers.

        Raises:
            KeyError: an unknown group, or one that could not be fitted, with the reason.
        """
        labels = tuple(map(str, group)) if isinstance(group, tuple) else (str(group),)
        fit = self._fits.get(labels)
        if fit is not None:
            return fit
        why = next((f": {f.message}" for f in self.failures if f.labels == labels), "")
        raise KeyError(f"{', '.join(labels)}{why}")

    def __iter__(self) -> Iterator[Key]:
        for group in self.groups:
            yield group.labels[0] if len(group.labels) == 1 else group.labels

    def __len__(self) -> int:
        return len(self.groups)

    @cached_property
    def _fits(self) -> dict[tuple[str, ...], Fit | Fits]:
        return {group.labels: group.fit for group in self.groups}

    @property
    def verdict(self) -> str:
        """The worst verdict of the fits; `not trusted` if a group could not be fitted."""
        verdicts = [VERDICTS[-1]] if self.failures else [VERDICTS[0]]
        return max((*verdicts, *(g.fit.verdict for g in self.groups)), key=VERDICTS.index)

    @property
    def parameter_names(self) -> list[str]:
        """The parameters of all fits."""
        return list(dict.fromkeys(name for group in self.groups for name in group.printed))

    def to_json(self) -> dict[str, Any]:
        """The fits as plain data; the keys are stable. The text of the law is kept once."""
        law = to_plain(self.law)
        content = {
            "schema": FITS_BY_GROUP_SCHEMA,
            "verdict": self.verdict,
            "by": self.by,
            "groups": [
                {**group.to_json(), "fit": _without_texts(group.fit.to_json(), law)}
                for group in self.groups
            ],
            "failures": [failure.to_json() for failure in self.failures],
            "law": law,
        }
        document: dict[str, Any] = to_plain(content)
        return document

    @classmethod
    def of_json(cls, content: Mapping[str, Any]) -> FitsByGroup:
        """Rebuild fits from the plain data of `to_json`.

        Raises:
            ValueError, TypeError, LookupError, AttributeError, OverflowError: data of another form.
        """
        check_schema(content, FITS_BY_GROUP_SCHEMA)
        law = content["law"]
        groups = [
            {"labels": group["labels"], "fit": _with_texts(group["fit"], law)}
            for group in content["groups"]
        ]
        readers = {**READERS, FittedGroup: _fitted_group}
        return read(cls, {**content, "groups": groups}, readers)

    @classmethod
    def load(cls, path: Any) -> FitsByGroup:
        """Read fits written by `save`.

        Raises:
            LawdslError: the file does not exist, or does not contain the fits of groups.
        """
        return load(path, cls.of_json, limit=MAX_FILE_BYTES)


MAX_FILE_BYTES = 2**30  # larger files are not read as fits of groups


def read_group(content: Any) -> FittedGroup | FailedGroup:
    """Rebuild a group from the plain data of its `to_json`."""
    return _fitted_group(content) if "fit" in content else read(FailedGroup, content, READERS)


def _fitted_group(content: Any) -> FittedGroup:
    fit = content["fit"]
    kind: type[Fit] | type[Fits] = Fits if fit["schema"] == FITS_SCHEMA else Fit
    return FittedGroup(read(_Labels, content).labels, kind.of_json(fit))


@dataclass(frozen=True)
class _Labels:
    labels: tuple[str, ...]


def _without_texts(fit: Mapping[str, Any], law: Any) -> dict[str, Any]:
    """The plain data of a fit without the texts of its law, where they are those of all fits."""
    plain = dict(fit)
    if plain["law"]["texts"] == law["texts"]:
        plain["law"] = {name: x for name, x in plain["law"].items() if name != "texts"}
    if "parts" in plain:
        plain["parts"] = [_without_texts(part, law) for part in plain["parts"]]
    return plain


def _with_texts(fit: Any, law: Any) -> dict[str, Any]:
    """The plain data of a fit with the texts that `_without_texts` has left out."""
    plain = {**fit, "law": {"texts": law["texts"], **fit["law"]}}
    if "parts" in plain:
        plain["parts"] = [_with_texts(part, law) for part in plain["parts"]]
    return plain
