"""Results -> the commands that reproduce them, versions and digests."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lawdsl.core.objectives import Objective
from lawdsl.data.read import IN_MEMORY
from lawdsl.designing.runs.records import Design
from lawdsl.fitting.extrapolation.discrepancy import DEFAULT_AMPLITUDE
from lawdsl.fitting.options import LEARNED, percentage_or_learned
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.fitting.result_parts import FittedLaw
from lawdsl.language.kept_texts import question_file
from lawdsl.language.library import ships
from lawdsl.law.law import Law
from lawdsl.reporting.documents.blocks import Block, Code, Paragraph, Rows
from lawdsl.reporting.report.entries import Entry, fit_of_use, rests_on_others, varying
from lawdsl.reporting.report.of_answer import own_laws
from lawdsl.solving.result import Answer, AskedFit
from lawdsl.solving.solve import Asked

NO_FILE = "FIT.json"
"""What stands for the file of a fit whose name is not known."""
PACKAGES = ("lawdsl", "numpy", "scipy", "sympy", "altair", "vl-convert-python")


def made_by(entries: Sequence[Entry], output: str) -> Iterator[Block]:
    """How to reproduce a report.

    Args:
        entries: the results of the report.
        output: the name of the file of the report.
    """
    fits = [entry for entry in entries if entry.is_fit]
    answers = [entry for entry in entries if entry.answers]
    designs = [entry for entry in entries if isinstance(entry.result, Design)]
    lines = [fit_command(entry) for entry in fits]
    lines += [solve_command(entry, fits) for entry in answers]
    lines += [design_command(entry) for entry in designs]
    files = [file_of(entry) for entry in (*fits, *answers, *designs)]
    lines.append(" ".join(["lawdsl report", *map(shlex.quote, files), "-o", shlex.quote(output)]))
    yield Paragraph("These commands make the report again, from the tables and laws named in them:")
    yield Code("\n".join(lines))
    unread = dict.fromkeys(p.data.name for e in fits for p in e.parts if p.data.name in IN_MEMORY)
    for name in unread:
        yield Paragraph(
            f"No file has {name}, which was in memory: write it to one, "
            f"and put the name of that file for '{name}' in the command."
        )
    own = [law_of(e) for e in fits if not is_shipped(e.result.law)]
    own += [f"{name}.law" for entry in answers for name in own_laws(entry.answers[0], fits)]
    for name in dict.fromkeys(own):
        yield Paragraph(
            f"The law `{name}` does not ship: write its text, as shown above, to a file."
        )
    questions = [question_of(entry) for entry in answers if question_file_of(entry)]
    for name in dict.fromkeys(questions):
        yield Paragraph(
            f"The question `{name}` does not ship: write its text, as shown above, to that file."
        )
    rows = []
    for entry in fits:
        data = dict.fromkeys(part.data.digest for part in entry.parts)
        rows.append([f"law of {entry.name}", entry.result.law.digest])
        rows += [[f"numbers fitted by {entry.name}", digest] for digest in data]
    for entry in answers:
        for use, law in entry.answers[0].fits.items():
            if _fit_of(entry, use, fits) is None and not _numbers(entry.answers[0], use):
                yield Paragraph(_missing(entry, use, law, _file_elsewhere(entry, use, fits)))
                rows += _digests(entry, use)
    if rows:
        yield Rows(["what", "SHA-256"], rows, "Digests of what was fitted")
    versions = [["Python", platform.python_version()]]
    versions += [[name, found] for name in PACKAGES if (found := _version(name))]
    yield Rows(["package", "version"], versions, "Versions that made this page")


def _missing(entry: Entry, use: str, law: str, file: str) -> str:
    """A sentence about a fit that an answer rests on, and that is not in the report."""
    known = entry.answers[0].asked_fits.get(use)
    hidden = "its verdict and its warnings are not shown"
    put = f"put the name of its file for {NO_FILE} in {use}={NO_FILE}, and name it as one of the report"
    if known is None:
        return (
            f"{entry.name} does not say which fit of {law} it was asked about, as `{use}`: {put}."
        )
    text = f"{entry.name} was asked about a fit of {law}, as `{use}`, that is not in this report: {hidden}."
    if file:
        return f"{text} Name {file}, its file, as one of the report."
    return f"{text} Its digests are below: {put}."


def _digests(entry: Entry, use: str) -> Iterator[list[str]]:
    known = entry.answers[0].asked_fits.get(use)
    if known is not None and known.law:
        yield [f"law of the fit {use} of {entry.name}", known.law]
        for digest in dict.fromkeys(known.data):
            yield [f"numbers fitted by {use} of {entry.name}", digest]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def file_of(entry: Entry) -> str:
    """The file of a result, or the file to which commands write it."""
    return entry.file or f"{entry.name.replace(' ', '_')}.json"


def design_command(entry: Entry) -> str:
    """The command that reproduces a design, as its document has it.

    Args:
        entry: a design.
    """
    command = entry.result.command or "lawdsl design … --json"
    return f"{command} > {shlex.quote(file_of(entry))}"


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
    options += [("--set", f"{name}={as_typed(value)}") for name, value in changes.settings.items()]
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
    return ships(law.name, law.texts[law.name])


def question_file_of(entry: Entry) -> str:
    """The file of the question of an answer, as it was named; empty for one that ships."""
    declared = entry.answers[0].declared
    return question_file(declared) if declared is not None else ""


def question_of(entry: Entry) -> str:
    """The question of an answer as a command names it."""
    return question_file_of(entry) or entry.answers[0].question


def _objective_options(part: Fit, law: Law) -> Iterator[tuple[str, str]]:
    own, used = law.objective, part.objective
    scale = "log" if used.of_logs else "raw"
    if (own.loss, own.log) != (used.loss, used.of_logs):
        yield "--objective", f"{used.loss}({scale})"
    defaults = Objective(used.loss, used.of_logs)
    for name, value in used.parameters.items():
        declared = own if own.loss == used.loss else defaults
        if getattr(declared, name) != value:
            yield f"--{name}", as_typed(value)


def _interval_options(part: Fit) -> Iterator[tuple[str, str]]:
    intervals = part.intervals
    if intervals.method != "delta":
        yield "--intervals", intervals.method
    if intervals.level != 0.95:
        yield "--level", as_typed(intervals.level)
    if intervals.resamples:
        yield "--resamples", str(intervals.resamples)


def solve_command(entry: Entry, fits: Sequence[Entry]) -> str:
    """The command that reproduces the answer to a question.

    Args:
        entry: the answer, or the answers for several values.
        fits: those of the report, one of which is taken where its law is that of a use, and where
            they give the values of the answer.
    """
    answer = entry.answers[0]
    arguments = ["solve", question_of(entry)]
    for use in answer.fits:
        fit = _fit_of(entry, use, fits)
        if numbers := _numbers(answer, use):
            arguments += [f"{use}.{name}={as_typed(x)}" for name, x in numbers.items()]
        else:
            file = file_of(fit) if fit else _file_elsewhere(entry, use, fits) or NO_FILE
            arguments.append(f"{use}={file}")
    arguments += _value_arguments(entry)
    arguments += ["--level", as_typed(answer.level)] if answer.level != 0.95 else []
    arguments += _law_error_options(answer)
    for each in answer.compared:
        arguments += ["--at", ",".join(f"{name}={as_typed(x)}" for name, x in each.x.items())]
    return f"{shlex.join(['lawdsl', *arguments])} --json > {shlex.quote(file_of(entry))}"


def as_typed(value: float) -> str:
    """A number as one types it, with all of its digits: 1e21, 6."""
    return repr(float(value)).replace("e+", "e").removesuffix(".0")


def _value_arguments(entry: Entry) -> Iterator[str]:
    """NAME=VALUE for the givens and settings; those with several values last, the fastest at the end."""
    answers = entry.answers
    names = [name for name in answers[0].values if not _is_of_fit(answers[0], name)]
    several = varying(answers)
    bases = dict.fromkeys(name.partition("[")[0] for name in names)
    for base in sorted(bases, key=lambda b: several.index(b) if b in several else -1):
        elements = [name for name in names if name.partition("[")[0] == base]
        columns = {tuple(each.values[name] for each in answers) for name in elements}
        # one value for all labels: a list for each label would stand for every combination
        for name in elements if len(columns) > 1 or len(elements) == 1 else [base]:
            values = dict.fromkeys(
                each.values[elements[0] if name == base else name] for each in answers
            )
            yield f"{name}={','.join(map(as_typed, values))}"


def _is_of_fit(answer: Answer, name: str) -> bool:
    """Whether a name is a setting of a law, `general.D_min`, at the value that its fit has."""
    if "." not in name or not isinstance(answer.asked, Asked):
        return False
    formulated = answer.asked.formulated
    symbol = formulated.names.get(name)
    return formulated.default_values.get(symbol) == answer.values[name]


def _numbers(answer: Answer, use: str) -> Mapping[str, float]:
    """The numbers that were given in place of a fit."""
    known = answer.asked_fits.get(use)
    return known.values if known is not None else {}


def _file_elsewhere(entry: Entry, use: str, fits: Sequence[Entry]) -> str:
    """The file of a fit that is not in a report; empty where it is not known.

    A fit of the report that has this file now, and does not give the answer, was made since.
    """
    known = entry.answers[0].asked_fits.get(use)
    file = (entry.fits or {}).get(use) or (known.file if known is not None else "")
    return "" if any(_is_same(file, fit.file) for fit in fits) else file


def _is_same(file: str, other: str) -> bool:
    return bool(file and other) and Path(file).resolve() == Path(other).resolve()


def _fit_of(entry: Entry, use: str, fits: Sequence[Entry]) -> Entry | None:
    """The fit of a report that an answer rests on; None where it is not among them."""
    answer = entry.answers[0]
    if rests_on_others(entry):
        return None
    asked = answer.asked.fits.get(use) if isinstance(answer.asked, Asked) else None
    file, known = (entry.fits or {}).get(use, ""), answer.asked_fits.get(use)
    for fit in fits:
        if fit.result is asked or _is_same(file, fit.file):
            return fit
    if known is not None:
        return next((fit for fit in fits if _has_digests(fit, known)), None)
    return fit_of_use(use, answer.fits[use], fits)


def _has_digests(fit: Entry, known: AskedFit) -> bool:
    data = tuple(part.data.digest for part in fit.parts)
    return (fit.result.law.digest, data) == (known.law, known.data)


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
