"""`lawdsl predict`: fit, values or table -> predictions with intervals."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from lawdsl.cli.law_error import LEVEL, level_option, wrong_or_learned
from lawdsl.cli.options import (
    as_json,
    bindings,
    finish,
    plot_option,
    print_message,
    table_option,
)
from lawdsl.cli.pairs import ASSIGNED, unread_pair
from lawdsl.cli.predict_ensemble import (
    HEADERS as SPREAD_HEADERS,
    check_options,
    has_members,
    is_ensemble,
    predicted_spread,
    spread_document,
)
from lawdsl.cli.unknown_inputs import unknown_input
from lawdsl.cli.unused_parts import postpone_unused_parts
from lawdsl.cli.values import values_in
from lawdsl.core.diagnostics import LawdslError
from lawdsl.language.label_texts import split_subscripts, with_subscripts

DECIMAL_COMMA = re.compile(r"\s*-?[0-9]+,[0-9]+\s*")

# names of the columns of a prediction, in the order of BAND_ARRAYS; the first is the output
HEADERS = ["", "low", "high", "law", "run low", "run high", "± noise", "± run", "± law"]

Predicted = TypeVar("Predicted")

if TYPE_CHECKING:
    from lawdsl.core.diagnostics import Diagnostic
    from lawdsl.data.table import Table
    from lawdsl.fitting.ensembles.ensemble import Ensemble
    from lawdsl.fitting.predicted_points import PredictedPoints
    from lawdsl.fitting.prediction_inputs import PredictionInputs
    from lawdsl.fitting.result import Fit
    from lawdsl.fitting.result_by_label import Fits


@click.command("predict")
@click.argument("fit")
@click.argument("arguments", nargs=-1, metavar="[TABLE] [NAME=VALUE[,VALUE...]]...")
@table_option("-o", "--output", help="Write the predictions to this file")
@click.option(
    "--runs",
    metavar="TABLE",
    help="First runs of a new domain, from which its variables are measured.",
)
@click.option(
    "--intervals/--no-intervals",
    default=None,
    help="With intervals, the prediction includes the estimated error of the law; without, it is the "
    "fitted law alone.  [default: intervals, if the fit has them]",
)
@level_option
@wrong_or_learned
@plot_option
@as_json
def predict(
    fit: str,
    arguments: tuple[str, ...],
    output: str | None,
    runs: str | None,
    intervals: bool | None,
    level: float | None,
    wrong: float | Literal["learned"] | None,
    plot: str | None,
    as_json: bool,
) -> int:
    """Predict with a fit: at given values, or on the rows of a table.

    \b
    lawdsl predict fit.json N=7e9 D=1e11,1e12       every combination of the values
    lawdsl predict fit.json D=2Ttoken N=7B          values with units or magnitudes
    lawdsl predict fit.json r=0:1:0.1               a range, 11 values
    lawdsl predict fit.json runs.csv N=params       a table; NAME=COLUMN binds columns

    \b
    laws with index sets:
    lawdsl predict fit.json "r[web]=0.3,0.7"        an omitted share is 1 minus the others
    lawdsl predict fit.json mixtures.csv "r=r_*"    a column of losses for each domain
    lawdsl predict fit.json runs.csv domain=name    a column of the table names the domain
    lawdsl predict fit.json N=4 D=20 r=0.5 --runs law.csv    a new domain, from its first runs

    \b
    another confidence level, or the fitted law alone:
    lawdsl predict fit.json N=7e9 D=1e11 --level 90%
    lawdsl predict fit.json N=7e9 D=1e11 --no-intervals

    The prediction is the fitted law plus δ, its error, as estimated from the residuals of the
    fitted rows. Beyond these rows δ is assumed to grow by 2 % per decade (--wrong). The first
    interval is for the curve; the interval of "a further run" also includes the noise of one run.
    "± noise, run, law" are the three parts of this interval.

    A warning says when a prediction outside the fitted range is not known within 2 %.

    For an ensemble (`lawdsl fit --ensemble`) the prediction is the median of its members, with the
    standard deviation and the 5 % and 95 % quantiles over the members, which are not a confidence
    interval.
    """
    from lawdsl.fitting.prediction_inputs import prediction_inputs
    from lawdsl.reporting.ensembles import show_ensemble_predictions
    from lawdsl.reporting.predictions import show_predictions
    from lawdsl.reporting.terminal import console

    request = _requested_intervals(intervals, level, wrong)

    def predicted(read: Fit | Fits | Ensemble) -> tuple[PredictionInputs, PredictedPoints]:
        if has_members(read):
            check_options(intervals, level, wrong, plot)
        inputs = prediction_inputs(read.fit if has_members(read) else read)
        if not arguments:
            example = " ".join(f"{name}=VALUE" for name in inputs.variables)
            raise click.UsageError(f"give values, {example}, or a table")
        if runs and not inputs.measured:
            raise click.UsageError(f"{inputs.law} measures nothing: leave --runs out")
        return inputs, _record(read, inputs, arguments, runs, request)

    read, (inputs, record) = _with_fit(fit, predicted)
    names, points, labels, predictions = record.names, record.points, record.labels, record.arrays
    all_headers = SPREAD_HEADERS if has_members(read) else HEADERS
    ends = all_headers[1 : predictions.shape[-1]]
    suffix = record.output.removeprefix(inputs.output)
    outputs = _output_headers(inputs, labels, [suffix, *(f" {end}" for end in ends)], names)
    values = predictions.reshape(len(points), len(outputs)).tolist()
    headers = [*names, *outputs]
    rows = [[*point, *predicted] for point, predicted in zip(points, values, strict=True)]
    if output:
        from lawdsl.data.write import write_rows

        write_rows(Path(output), headers, rows)

    def printed() -> None:
        if output:
            print_message(f"wrote {output}")
        else:
            show = show_ensemble_predictions if has_members(read) else show_predictions
            show(record, console())
        if has_members(read):
            return
        for line in _widening_text(predictions, read, request).splitlines():
            print(line)

    result = {
        "law": inputs.law,
        "columns": headers,
        "rows": rows,
        "predictions": predictions[..., 0].tolist(),
        "labels": list(labels) or None,
        "intervals": None,
    }
    if has_members(read):
        result["spread"] = spread_document(read, predictions) if ends else None
    elif ends:
        result["intervals"] = _document(predictions, read, request)
    ending: dict[str, Any] = {"as_json": as_json, "show": printed, "plot": plot, "record": record}
    return finish("predict", result, record.warnings, ok=True, **ending)


def _with_fit(
    path: str, predicted: Callable[[Fit | Fits | Ensemble], Predicted]
) -> tuple[Fit | Fits | Ensemble, Predicted]:
    """A fit or an ensemble and what it predicts, with its law from the cache if it is there.

    Args:
        path: the path of the fit.
        predicted: the function from a fit to what it predicts.
    """
    from lawdsl.fitting.prediction_cache import keep, ready_fit
    from lawdsl.fitting.storage import load, read

    text = None
    with suppress(OSError, ValueError):  # reported below
        text = read(Path(path))
    if is_ensemble(text):
        from lawdsl.fitting.ensembles.ensemble import Ensemble

        ensemble = load(path, Ensemble.of_json, text)
        return ensemble, predicted(ensemble)
    ready = None if text is None else ready_fit(text)
    if ready is not None:
        # a mistake is reported by the law itself, which knows more names and reasons; and where the
        # law is needed after all, it is read
        with suppress(Exception):
            return ready, predicted(ready)
    postpone_unused_parts()
    from lawdsl.fitting.result import Fit as OneFit
    from lawdsl.fitting.result_by_label import fit_of

    fit = fit_of(path, text)
    found = predicted(fit)
    if text is not None and isinstance(fit, OneFit):
        keep(text, fit)
    return fit, found


def _record(
    fit: Fit | Fits | Ensemble,
    inputs: PredictionInputs,
    arguments: Sequence[str],
    runs: str | None,
    request: _IntervalRequest,
) -> PredictedPoints:
    """The predictions of a fit at the values, or on the rows of the table, of a command line.

    Args:
        fit: the fit, or the ensemble.
        inputs: the inputs of its predictions.
        arguments: NAME=VALUE, or a table and NAME=COLUMN.
        runs: a table of first runs of a domain, or None.
        request: the intervals that are asked for.
    """
    from lawdsl.data.read import read_table
    from lawdsl.fitting.predicted_points import PREDICTED, PredictedPoints

    more = {"runs": runs} if runs else {}
    single = fit.fit if has_members(fit) else fit
    is_table = "=" not in arguments[0] or Path(arguments[0]).is_file()
    pairs = arguments[1:] if is_table else arguments
    if is_table and len(arguments) > 1 and arguments[0] in inputs.variables:
        first, second = arguments[:2]
        advice = f", without spaces around `=`: {first}={second}"
        if second.startswith("="):
            advice = unread_pair(arguments, first)
        raise click.UsageError(f"write NAME=VALUE{advice}")
    assigned = ASSIGNED.fullmatch(arguments[0]) if is_table else None
    if assigned is not None and assigned["name"] in inputs.variables:
        raise click.UsageError(f"write NAME=VALUE{unread_pair(arguments, arguments[0])}")
    if is_table:
        data = read_table(arguments[0])
        predictions, warnings = _predicted(fit, data, {**more, **bindings(pairs)}, request)
        points = list(zip(*(data.texts(name) for name in data.columns), strict=True))
        names, suffix = _headers_with_units(data), PREDICTED
    else:
        given = bindings(pairs, lists=lambda _: True)
        fitted = dict(single.data.columns) if hasattr(single, "data") else {}
        columns = _points(inputs, given, fitted, measured=bool(runs))
        try:
            predictions, warnings = _predicted(fit, columns, more, request)
        except LawdslError as error:
            written = bindings(pairs, lists=lambda _: True)
            raise LawdslError(_of_values(d, written) for d in error.diagnostics) from None
        names, suffix = list(columns), ""
        points = list(zip(*columns.values(), strict=True))
    labels = inputs.outputs if predictions.ndim == 3 else ()
    return PredictedPoints(
        names,
        points,
        f"{inputs.output}{suffix}",
        inputs.over if labels else "",
        labels,
        predictions,
        request.level,
        inputs.law,
        inputs.units,
        warnings,
        _inputs_among(names, single, inputs, pairs),
    )


def _of_values(diagnostic: Diagnostic, written: Mapping[str, str]) -> Diagnostic:
    """A diagnostic about a row of values, with the argument of the command line as its place."""
    name = diagnostic.place.rpartition(" column ")[2]
    if name not in written:
        return diagnostic
    help = diagnostic.help
    if DECIMAL_COMMA.fullmatch(written[name]):
        help = f"commas separate values; write {name}={written[name].replace(',', '.')} for a decimal number"
    elif diagnostic.code == "D0108" and "<= 1" in diagnostic.message:
        number = diagnostic.message.split()[2].removesuffix(".0")
        help = f"correct it; {number} % is written {name}={number}%"
    message = diagnostic.message.removeprefix("column ")
    return replace(
        diagnostic, message=message, place=f"{name}={written[name]}", notes=(), help=help
    )


def _headers_with_units(data: Table) -> list[str]:
    """The columns of a table, with the units in their headers: `N [param]`."""
    return [f"{c} [{data.units[c]}]" if c in data.units else c for c in data.columns]


def _inputs_among(
    names: Sequence[str], fit: Fit | Fits, inputs: PredictionInputs, pairs: Sequence[str]
) -> list[str]:
    """The columns of a table that the law takes."""
    bound = dict(bindings(pairs)) if pairs else {}
    fitted = dict(fit.data.columns) if hasattr(fit, "data") else {}
    columns = {**fitted, **bound}
    of_inputs = {columns.get(name, name) for name in (*inputs.variables, *inputs.sets)}
    return [name for name in names if name.partition(" [")[0] in of_inputs]


def _output_headers(
    inputs: PredictionInputs, labels: Sequence[str], suffixes: Sequence[str], names: Sequence[str]
) -> list[str]:
    """The headers of the predicted columns.

    Args:
        inputs: the inputs of the fit.
        labels: the labels of the outputs; none for a single output.
        suffixes: the suffixes of the columns of one output.
        names: the headers of the other columns.

    Raises:
        click.UsageError: a header that is also that of another column.
    """
    outputs = [with_subscripts(inputs.output, (label,)) for label in labels] or [inputs.output]
    headers = [f"{output}{suffix}" for output in outputs for suffix in suffixes]
    repeated = next((name for name in headers if name in names), None)
    if repeated is not None:
        raise click.UsageError(f"the table has a column {repeated!r} already: remove it first")
    return headers


def _requested_intervals(
    intervals: bool | None, level: float | None, wrong: float | Literal["learned"] | None
) -> _IntervalRequest:
    """The intervals requested on the command line, also implicitly by a level or an error of the
    law.

    Raises:
        click.UsageError: intervals are requested and disabled at once.
        LawdslError: a level outside 0.5 to 0.999; F0120.
    """
    from lawdsl.fitting.options import check_level

    stated = "--level" if level is not None else "--wrong" if wrong is not None else ""
    if stated and intervals is False:
        raise click.UsageError(f"{stated} concerns intervals: leave --no-intervals out")
    level = LEVEL if level is None else level
    check_level(level)
    return _IntervalRequest(True if stated else intervals, level, wrong)


def _widening_text(predictions: Any, fit: Fit | Fits, request: _IntervalRequest) -> str:
    """The factor by which a learned error of the law was widened, as text; empty if none was
    learned.
    """
    from lawdsl.fitting.options import LEARNED
    from lawdsl.fitting.prediction_bands import BAND_ARRAYS

    if request.wrong != LEARNED or predictions.shape[-1] != len(BAND_ARRAYS):
        return ""
    widening = fit.widening
    factors = widening if isinstance(widening, dict) else {"": widening}
    named = [(f" of {label}" if label else "", x) for label, x in factors.items() if x != 1]
    if not named:
        return "the rolled check leaves the error of the law at 2 % per decade"
    texts = [f"{factor:.3g} times{label}" for label, factor in named]
    return f"the rolled check widens the error of the law, 2 % per decade, {', '.join(texts)}"


def _document(predictions: Any, fit: Fit | Fits, request: _IntervalRequest) -> dict[str, Any]:
    """The intervals of predictions as in the JSON document."""
    from lawdsl.fitting.extrapolation.discrepancy import DEFAULT_AMPLITUDE
    from lawdsl.fitting.options import LEARNED
    from lawdsl.fitting.prediction_bands import BAND_ARRAYS

    names = BAND_ARRAYS[: predictions.shape[-1]]
    arrays = {name: predictions[..., k].tolist() for k, name in enumerate(names) if k}
    amplitude: float = request.wrong if isinstance(request.wrong, float) else DEFAULT_AMPLITUDE
    learned = request.wrong == LEARNED and "law" in arrays
    return {
        "level": request.level,
        "discrepancy": amplitude if "law" in arrays else 0.0,
        "widening": fit.widening if learned else None,
        **arrays,
    }


@dataclass(frozen=True)
class _IntervalRequest:
    """The intervals requested on the command line.

    Attributes:
        intervals: whether intervals are requested; None for the default: if the fit supports the
            error of the law.
        level: 0.95 for 95 % intervals.
        wrong: the error of the law per decade, or None.
    """

    intervals: bool | None
    level: float
    wrong: float | Literal["learned"] | None


def _predicted(
    fit: Fit | Fits | Ensemble, table: Any, more: Mapping[str, str], request: _IntervalRequest
) -> tuple[Any, tuple[Diagnostic, ...]]:
    """The predictions of a fit, with the arrays of its band if there are intervals: an array of
    shape (points, arrays), or (points, labels, arrays); and the warnings.
    """
    import numpy as np

    if has_members(fit):
        return predicted_spread(fit, table, more, request.intervals is not False)
    wanted = fit.has_law_error if request.intervals is None else request.intervals
    if not wanted:
        values, warnings = fit.predict_with_warnings(table, **more)
        if request.intervals is None:
            warnings = (*warnings, *_missing_intervals(fit))
        return values[..., None], warnings
    band = fit.predict_with_errors(table, level=request.level, discrepancy=request.wrong, **more)
    return np.moveaxis(band.stacked(), 0, -1), band.warnings


def _missing_intervals(fit: Fit | Fits) -> dict[Diagnostic, None]:
    """Warnings, each once, about why predictions have no intervals, if they were not disabled."""
    from lawdsl.fitting.prediction_bands import missing_intervals_warning

    parts: tuple[Any, ...] = getattr(fit, "parts", (fit,))
    return dict.fromkeys(missing_intervals_warning(p) for p in parts if not p.has_law_error)


def _points(
    inputs: PredictionInputs, pairs: Mapping[str, str], fitted: Mapping[str, str], *, measured: bool
) -> dict[str, list[Any]]:
    """Every combination of the requested values, as columns in the law's units."""
    # names are compared in the spelling that the law prints: `r [ web ]` is r[web]
    texts = {re.sub(r"\s*([\[\]])\s*", r"\1", name): text for name, text in pairs.items()}
    sets = list(dict.fromkeys((*inputs.sets, *inputs.measured_sets)))
    accepted = [*inputs.variables, *sets]
    for name in texts:
        if name not in accepted:
            raise click.UsageError(unknown_input(name, texts, accepted, inputs.output, fitted))
    # the law itself computes the last share of a simplex, but only if all others are given
    left_out = [
        [name for name in shares if name not in texts]
        for shares in inputs.shares
        if any(name in texts for name in shares)
    ]
    computed = [names[0] for names in left_out if len(names) == 1]
    is_measured = measured or any(over in texts for over in inputs.measured_sets)
    computed += inputs.measured if is_measured else ()
    missing = [name for name in inputs.variables if name not in {*texts, *computed}]
    if missing:
        written = " ".join(f"{name}=VALUE" for name in missing)
        raise click.UsageError(f"no value for {', '.join(missing)}; write {written}")
    values: dict[str, list[Any]] = {
        name: values_in(name, inputs.variables[name], texts[name])
        for name in inputs.variables
        if name in texts
    }
    values |= {
        over: _labels(texts[over], inputs.sets.get(over, ())) for over in sets if over in texts
    }
    if not inputs.outputs:  # labels that are fitted together: all that are not chosen
        values |= {over: list(labels) for over, labels in inputs.sets.items() if over not in texts}
    grid = zip(*itertools.product(*values.values()), strict=True)
    columns = dict(zip(values, map(list, grid), strict=True))
    for shares in inputs.shares:
        for name in set(shares) & set(computed):
            others = [columns[other] for other in shares if other != name]
            columns[name] = [_rest(shares_of_row) for shares_of_row in zip(*others, strict=True)]
    return {name: columns[name] for name in accepted if name in columns}


def _labels(text: str, known: Iterable[str]) -> list[str]:
    """The labels of `web,code`: one that is known, or several between commas, each in quotes or not."""
    return [text] if text in known else list(split_subscripts(text))


def _rest(shares: tuple[float, ...]) -> float:
    """1 minus the other shares, rounded: 1 - (0.3 + 0.6) is 0.1 instead of 0.10000000000000009."""
    return round(1 - sum(shares), 12)


COMMANDS = (predict,)
