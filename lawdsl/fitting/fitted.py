"""The result of a fit: a frozen record, written and read as JSON that a person can read."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.data.binding import bind
from lawdsl.data.tables import read_table
from lawdsl.diagnostics import Diagnostic, LawdslError, Text
from lawdsl.language.parsing import parse
from lawdsl.language.resolving import Declarations, resolve
from lawdsl.law import Law

SCHEMA = 1
OUTSIDE = 1.0 + 1e-9  # a value further out than this factor is outside the fitted range


@dataclass(frozen=True)
class Parameter:
    """A fitted parameter.

    Attributes:
        value: in the law's units.
        at_bound: lower or upper where the fit lies on that bound, else None.
        identified: whether the data determine it.
    """

    value: float
    at_bound: str | None = None
    identified: bool = True


@dataclass(frozen=True)
class Loss:
    """A total over the rows, and the mean of it."""

    sum: float
    mean: float


@dataclass(frozen=True)
class ObjectiveValue:
    """The objective at the fit.

    Attributes:
        name: as the language writes it: huber(log(L), 0.001).
        sum: the sum over rows that was minimised.
        mean: the same divided by the number of rows.
        log: the same loss of log residuals (nan where a prediction is not above 0).
        raw: the same loss of raw residuals.
    """

    name: str
    sum: float
    mean: float
    log: Loss
    raw: Loss


@dataclass(frozen=True)
class Metrics:
    """How well the fit describes its own data: R² of raw and of log values, mean absolute error."""

    r2: float
    r2_log: float
    mae: float


@dataclass(frozen=True)
class Agreement:
    """How many starts there were, and how many reached the best minimum (relative 1e-6)."""

    starts: int
    agreed: int


@dataclass(frozen=True)
class FittedLaw:
    """Which law was fitted: its digest, and all text needed to read it again."""

    name: str
    digest: str
    texts: Mapping[str, str]
    settings: Mapping[str, float]
    dropped: tuple[str, ...]


@dataclass(frozen=True)
class FittedData:
    """Which data were fitted: their digest, the columns, and the range of every variable."""

    name: str
    digest: str
    rows: int
    dropped: int
    columns: Mapping[str, str]
    where: tuple[str, ...]
    ranges: Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Fit:
    """A law fitted to a table.

    Attributes:
        parameters: name -> fitted parameter.
        objective: what was minimised, and its value.
        metrics: R² and mean absolute error on the fitted rows.
        agreement: how many starts reached this minimum.
        converged: whether the search ended in a minimum.
        stopped: why it ended.
        verdict: trusted, caution or not trusted.
        diagnostics: what the verdict rests on.
        law: the law that was fitted.
        data: the data it was fitted to.
        seed: of the starts.
    """

    parameters: Mapping[str, Parameter]
    objective: ObjectiveValue
    metrics: Metrics
    agreement: Agreement
    converged: bool
    stopped: str
    verdict: str
    diagnostics: tuple[Diagnostic, ...] = field(repr=False)
    law: FittedLaw = field(repr=False)
    data: FittedData = field(repr=False)
    seed: int = 0

    @property
    def values(self) -> dict[str, float]:
        """Parameter name -> value."""
        return {name: p.value for name, p in self.parameters.items()}

    def read_law(self) -> Law:
        """The fitted law, from the text kept in the fit."""
        law = Law(_declarations(self.law))
        if self.law.settings:
            law = law.with_settings(**self.law.settings)
        for bound in self.law.dropped:
            law = law.without(bound)
        return law

    def predict(self, table: Any, /, **columns: str) -> NDArray[np.float64]:
        """The fitted law on the rows of a table.

        Args:
            table: a path, a data frame, or a mapping of arrays; in the law's units unless its
                headers say otherwise.
            columns: variable -> column, where they differ from those fitted.

        Returns:
            The predicted output, shape (rows,).

        Raises:
            LawdslError: a column that is missing, a value outside the law's domain.
        """
        return self.predict_with_warnings(table, **columns)[0]

    def predict_with_warnings(
        self, table: Any, /, **columns: str
    ) -> tuple[NDArray[np.float64], tuple[Diagnostic, ...]]:
        """The same, and a warning for each variable that leaves the range it was fitted on."""
        law = self.read_law()
        read = read_table(table)
        known = {v: c for v, c in self.data.columns.items() if c in read.columns}
        names = [q.name for q in law.variables]
        fitted = {n: known[n] for n in names if n in known and n not in read.columns}
        runs = bind(law, read, {**fitted, **columns}, target=False)
        from lawdsl.fitting.problem import problem_of

        problem = problem_of(law, runs.columns, np.ones(runs.columns.shape[1]), law.objective)
        theta = np.array([[self.parameters[q.name].value for q in law.parameters]])
        return problem.predictions(theta)[0], tuple(self._outside(law, runs.columns))

    def _outside(self, law: Law, columns: NDArray[np.float64]) -> list[Diagnostic]:
        found = []
        for q, values in zip(law.variables, columns, strict=True):
            low, high = self.data.ranges[q.name]
            below, above = float(np.min(values)), float(np.max(values))
            factors = []
            if high > 0 and above > high * OUTSIDE:
                factors.append(
                    f"{above:g} is {above / high:.3g} times the largest fitted, {high:g}"
                )
            elif above > high + abs(high) * (OUTSIDE - 1):
                factors.append(f"{above:g} is above the largest fitted, {high:g}")
            if below < low - abs(low) * (OUTSIDE - 1):
                ratio = f"{low / below:.3g} times below" if below > 0 < low else "below"
                factors.append(f"{below:g} is {ratio} the smallest fitted, {low:g}")
            for factor in factors:
                message = f"{q.name} leaves the fitted range: {factor}"
                help = "measure there before you rely on it"
                found.append(Diagnostic("F0109", message, "warning", help=help))
        return found

    def to_json(self) -> dict[str, Any]:
        """The fit as plain data; the keys are stable. Numbers that are not finite become null."""
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "parameters": {name: asdict(p) for name, p in self.parameters.items()},
            "objective": _finite(asdict(self.objective)),
            "metrics": _finite(asdict(self.metrics)),
            "agreement": asdict(self.agreement),
            "converged": self.converged,
            "stopped": self.stopped,
            "diagnostics": [d.to_json() for d in self.diagnostics],
            "data": {
                **asdict(self.data),
                "ranges": {k: list(v) for k, v in self.data.ranges.items()},
            },
            "law": asdict(self.law),
            "seed": self.seed,
        }

    def save(self, path: str | Path) -> None:
        """Write the fit as JSON, whole or not at all.

        Raises:
            LawdslError: the file cannot be written.
        """
        path = Path(path)
        text = json.dumps(self.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        try:
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, path)
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError as error:
            message = f"the fit cannot be written: {error.strerror}"
            raise LawdslError(Diagnostic("F0108", message, place=str(path))) from None

    @classmethod
    def load(cls, path: str | Path) -> Fit:
        """Read a fit that `save` wrote.

        Raises:
            LawdslError: no such file, or no fit of this schema.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refuse)
            return from_json(content)
        except OSError as error:
            reason = error.strerror or "it cannot be read"
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            reason = f"it is no fit of schema {SCHEMA} ({type(error).__name__}: {str(error)[:80]})"
        help = "make one with `lawdsl fit LAW DATA -o FIT.json`"
        message = f"the fit cannot be read: {reason}"
        raise LawdslError(Diagnostic("F0108", message, place=str(path), help=help))


def from_json(content: Mapping[str, Any]) -> Fit:
    """A fit from the plain data that `Fit.to_json` makes.

    Raises:
        ValueError, KeyError, TypeError: it is no such data.
    """
    if content["schema"] != SCHEMA:
        raise ValueError(f"schema {content['schema']!r}")
    objective, data, law = content["objective"], content["data"], content["law"]
    return Fit(
        parameters={
            str(name): Parameter(float(p["value"]), p["at_bound"], bool(p["identified"]))
            for name, p in content["parameters"].items()
        },
        objective=ObjectiveValue(
            str(objective["name"]),
            _number(objective["sum"]),
            _number(objective["mean"]),
            *(
                Loss(_number(objective[k]["sum"]), _number(objective[k]["mean"]))
                for k in ("log", "raw")
            ),
        ),
        metrics=Metrics(**{k: _number(content["metrics"][k]) for k in ("r2", "r2_log", "mae")}),
        agreement=Agreement(
            int(content["agreement"]["starts"]), int(content["agreement"]["agreed"])
        ),
        converged=bool(content["converged"]),
        stopped=str(content["stopped"]),
        verdict=str(content["verdict"]),
        diagnostics=tuple(
            Diagnostic(
                d["code"],
                d["message"],
                d["severity"],
                place=d["place"] or "",
                notes=tuple(d["notes"]),
                help=d["help"],
            )
            for d in content["diagnostics"]
        ),
        law=FittedLaw(
            str(law["name"]),
            str(law["digest"]),
            {str(k): str(v) for k, v in law["texts"].items()},
            {str(k): float(v) for k, v in law["settings"].items()},
            tuple(map(str, law["dropped"])),
        ),
        data=FittedData(
            str(data["name"]),
            str(data["digest"]),
            int(data["rows"]),
            int(data["dropped"]),
            {str(k): str(v) for k, v in data["columns"].items()},
            tuple(map(str, data["where"])),
            {str(k): (float(v[0]), float(v[1])) for k, v in data["ranges"].items()},
        ),
        seed=int(content["seed"]),
    )


def _declarations(law: FittedLaw) -> Declarations:
    """Read a law again from the texts that a fit carries; no other file is looked at."""
    done: dict[str, Declarations] = {}

    def find(name: str) -> Declarations:
        if name not in done:
            if name not in law.texts:
                raise LawdslError(Diagnostic("F0108", f"the fit lacks the law `{name}`"))
            text = Text(f"{name} (kept in the fit)", law.texts[name])
            document, mistakes = parse(text.text, text.name)
            found, more = resolve(document, text, find)
            if found is None:
                raise LawdslError([*mistakes, *more])
            done[name] = found
        return done[name]

    try:
        return find(law.name)
    except RecursionError:
        raise LawdslError(Diagnostic("F0108", "the fit's laws are built on each other")) from None


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
