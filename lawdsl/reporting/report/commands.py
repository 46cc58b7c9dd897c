"""Results -> the commands that reproduce them, versions and digests."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version

from lawdsl.data.read import IN_MEMORY
from lawdsl.fitting.extrapolation.discrepancy import DEFAULT_AMPLITUDE
from lawdsl.fitting.options import LEARNED, percentage_or_learned
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.fitting.result_parts import FittedLaw
from lawdsl.language.library import read, shipped
from lawdsl.language.symbols import Objective
from lawdsl.law.law import Law
from lawdsl.reporting.documents.blocks import Block, Code, Paragraph, Rows
from lawdsl.reporting.report.entries import Entry, fit_of_use, rests_on_others
from lawdsl.solving.result import Answer
from lawdsl.solving.solve import Asked

PACKAGES = ("lawdsl", "numpy", "scipy", "sympy", "altair", "vl-convert-python")


def made_by(entries: Sequence[Entry], output: str) -> Iterator[Block]:
    """How to reproduce a report.

    Args:
        entries: the results of the report.
        output: the name of the file of the report.
    """
    fits = [entry for entry in entries if entry.is_fit]
    answers = [entry for entry in entries if isinstance(entry.result, Answer)]
    lines = [fit_command(entry) for entry in fits]
    lines += [solve_command(entry, fits) for entry in answers]
    files = [file_of(entry) for entry in (*fits, *answers)]
    lines.append(" ".join(["lawdsl report", *map(shlex.quote, files), "-o", shlex.quote(output)]))
    yield Paragraph("These commands make the report again, from the tables and laws named in them:")
    yield Code("\n".join(lines))
    unread = dict.fromkeys(p.data.name for e in fits for p in e.parts if p.data.name in IN_MEMORY)
    for name in unread:
        yield Paragraph(
            f"No file has {name}, which was in memory: write it to one, "
            f"and put the name of that file for '{name}' in the command."
        )
    for name in dict.fromkeys(law_of(e) for e in fits if not is_shipped(e.result.law)):
        yield Paragraph(
            f"The law `{name}` does not ship: write its text, as shown above, to a file."
        )
    rows = []
    for entry in fits:
        data = dict.fromkeys(part.data.digest for part in entry.parts)
        rows.append([f"law of {entry.name}", entry.result.law.digest])
        rows += [[f"numbers fitted by {entry.name}", digest] for digest in data]
    if rows:
        yield Rows(["what", "SHA-256"], rows, "Digests of what was fitted")
    versions = [["Python", platform.python_version()]]
    versions += [[name, found] for name in PACKAGES if (found := _version(name))]
    yield Rows(["package", "version"], versions, "Versions that made this page")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def file_of(entry: Entry) -> str:
    """The file of a result, or the file to which commands write it."""
    return entry.file or f"{entry.name.replace(' ', '_')}.json"


def fit_command(entry: Entry) -> str:
    """The command that reproduces a fit.

    Args:
        entry: a fit.
    """
    part, changes = entry.parts[0], entry.result.law.changes
    law = entry.law
    arguments = ["fit", law_of(entry), part.data.name]
    columns = entry.result.columns if isinstance(entry.result, Fits) else part.data.columns
    arguments += [f"{name}={column}" for name, column in columns.items() if name != column]
    options = [("--where", condition) for condition in part.data.where]
    options += list(_objective_options(part, law))
    options += [("--set", f"{name}={value!r}") for name, value in changes.settings.items()]
    options += [("--without", bound) for bound in changes.dropped]
    for statement in changes.determined:
        kind, _, rest = statement.text.partition(" ")
        options.append((f"--{kind}", rest.replace(" ", "")))
    options += [("--prior", prior) for prior in changes.priors]
    options += [("--weights", part.data.weights)] if part.data.weights else []
    options += [("--run", column) for column in part.data.runs]
    options += list(_interval_options(part))
    options += [("--seed", str(part.seed))] if part.seed else []
    arguments += [text for pair in options for text in pair]
    arguments += ["--drop-bad"] if any(p.data.dropped for p in entry.parts) else []
    arguments += ["--enforce"] if changes.added else []
    return shlex.join(["lawdsl", *arguments, "-o", file_of(entry)])


def law_of(entry: Entry) -> str:
    """The law of a fit as a command names it: for the law of a user's file, the presumable name of
    that file.
    """
    law = entry.result.law
    return law.name if is_shipped(law) else f"{law.name}.law"


def is_shipped(law: FittedLaw) -> bool:
    """Whether the text of a fitted law is that of a law that ships."""
    path = shipped("law").get(law.name)
    return path is not None and read(path).text == law.texts[law.name]


def _objective_options(part: Fit, law: Law) -> Iterator[tuple[str, str]]:
    own, used = law.objective, part.objective
    scale = "log" if used.of_logs else "raw"
    if (own.loss, own.log) != (used.loss, used.of_logs):
        yield "--objective", f"{used.loss}({scale})"
    defaults = Objective(used.loss, used.of_logs)
    for name, value in used.parameters.items():
        declared = own if own.loss == used.loss else defaults
        if getattr(declared, name) != value:
            yield f"--{name}", repr(float(value))


def _interval_options(part: Fit) -> Iterator[tuple[str, str]]:
    intervals = part.intervals
    if intervals.method != "delta":
        yield "--intervals", intervals.method
    if intervals.level != 0.95:
        yield "--level", repr(float(intervals.level))
    if intervals.resamples:
        yield "--resamples", str(intervals.resamples)


def solve_command(entry: Entry, fits: Sequence[Entry]) -> str:
    """The command that reproduces the answer to a question.

    Args:
        entry: the answer.
        fits: the fits of the report; a fit is used if its law is that of a use and it reproduces
            the values of the answer.
    """
    answer: Answer = entry.result
    known = entry.fits or {}
    arguments = ["solve", answer.question]
    for use, law in answer.fits.items():
        fit = None if rests_on_others(answer) else _fit_asked(answer, use, law, fits)
        arguments.append(f"{use}={known.get(use) or (file_of(fit) if fit else 'FIT.json')}")
    arguments += [f"{name}={value!r}" for name, value in answer.values.items() if "." not in name]
    arguments += ["--level", repr(float(answer.level))] if answer.level != 0.95 else []
    arguments += _law_error_options(answer)
    for each in answer.compared:
        arguments += ["--at", ",".join(f"{name}={value!r}" for name, value in each.x.items())]
    return f"{shlex.join(['lawdsl', *arguments])} --json > {shlex.quote(file_of(entry))}"


def _fit_asked(answer: Answer, use: str, law: str, fits: Sequence[Entry]) -> Entry | None:
    """The fit of a report that an answer depends on: the fit that the question was answered with,
    or the one with that name.
    """
    asked = answer.asked.fits.get(use) if isinstance(answer.asked, Asked) else None
    same = [fit for fit in fits if fit.result is asked]
    return same[0] if same else fit_of_use(use, law, fits)


def _law_error_options(answer: Answer) -> Iterator[str]:
    """The options for the error of the laws, `--wrong`, and for the safe answer and the draws."""
    under = answer.law_error or answer.safe
    if answer.wrong:
        yield from ("--wrong", answer.wrong)
    # a file of an earlier version does not say what was requested
    elif under is not None and (under.widening or under.discrepancy != DEFAULT_AMPLITUDE):
        wrong = LEARNED if under.widening else under.discrepancy
        yield from ("--wrong", percentage_or_learned(wrong))
    if answer.safe is not None:
        yield from ("--safe", f"{100 * answer.safe.level:.15g}%")
    if seed := answer.seed or (answer.law_error.seed if answer.law_error else 0):
        yield from ("--seed", str(seed))
