"""Results -> text on a terminal: data to standard output, messages to standard error."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lawdsl.core.diagnostics import MAX_SHOWN_DIAGNOSTICS, Diagnostic, printable, render
from lawdsl.core.enumerations import abridged, conjunction
from lawdsl.fitting.verdicts import ASSUMPTIONS, NEEDS, findings_for

if TYPE_CHECKING:
    from lawdsl.fitting.result import Fit
    from lawdsl.fitting.result_by_label import Fits
    from lawdsl.fitting.result_parts import (
        Certificate,
        FittedData,
        FittedLaw,
        FittedPrior,
        FittedPriors,
        Intervals,
    )
    from lawdsl.language.symbols import Declarations
    from lawdsl.law.law import Law
    from lawdsl.proof.verdict import Check, Verdict

STYLES = {
    "proved": "green",
    "inside": "green",
    "certified": "green",
    "trusted": "green",
    "conditional": "yellow",
    "caution": "yellow",
    "undecided": "yellow",
    "refuted": "red",
    "not trusted": "red",
    "error": "bold red",
    "warning": "bold yellow",
}

# columns of a line in a file or a pipe, so that no cell is truncated or wrapped
PIPE_WIDTH = 100_000
VERDICT_WIDTH = 17  # columns for a verdict: CERTIFIED INSIDE is the longest
MAX_PROOF_CHARACTERS = 400  # characters of one line of a proof, half of them from its end
TRUST_WIDTH = len("not trusted")
PRIOR_HEADERS = ("prior", "fit", "without priors", "shift", "rows against prior")
LEAST_DEVIATIONS = 0.005  # standard deviations: a smaller shift counts as none
MAX_SHOWN_PARAMETERS = 12  # parameters in the line of values without priors
GRADIENT_RTOL = 1e-7  # relative: a gradient below this is consistent with a minimum


class Stream(Console):
    """A console that leaves a closed pipe to the command; Rich would exit."""

    def on_broken_pipe(self) -> None:
        """Leave the exit code to the command.

        Raises:
            BrokenPipeError: the error that Rich handles at this point.
        """
        raise  # Rich calls this method while it handles the error


def console() -> Console:
    """Standard output. If it is piped, lines are not limited in width and have no colour."""
    if sys.stdout.isatty():
        return Stream(highlight=False, soft_wrap=False)
    return Stream(highlight=False, width=PIPE_WIDTH, color_system=None)


def print_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Print diagnostics to standard error: the first of them in full, the number of the others.
    Advice that several warnings of one code share is printed once, after the last of them.
    """
    err = Stream(stderr=True, highlight=False, soft_wrap=True)
    listed = list(diagnostics)
    shown = listed[:MAX_SHOWN_DIAGNOSTICS]
    last = {(d.code, d.help): i for i, d in enumerate(shown)}
    for i, each in enumerate(shown):
        is_repeated = each.severity == "warning" and last[each.code, each.help] != i
        diagnostic = replace(each, help=None) if is_repeated else each
        head, _, rest = render(diagnostic).partition("\n")
        label, _, message = head.partition(":")
        line = Text(label, style=STYLES.get(diagnostic.severity, "")) + Text(":" + message)
        err.print(line)
        if rest:
            err.print(Text(rest))
    if len(listed) > MAX_SHOWN_DIAGNOSTICS:
        err.print(f"… and {len(listed) - MAX_SHOWN_DIAGNOSTICS} more")


def number_text(value: float) -> str:
    """A fitted or predicted number, to six digits."""
    return f"{value:.6g}"


def _borderless_table(*headers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for header in headers:
        table.add_column(Text(header), overflow="fold", no_wrap=False)
    return table


def show_laws(
    laws: Sequence[Declarations],
    questions: Mapping[str, str],
    pipelines: Sequence[str],
    out: Console,
) -> None:
    """Print the shipped laws and questions, one row each, and the names of the pipelines.

    Args:
        laws: the laws.
        questions: name -> title.
        pipelines: names.
        out: where they are printed.
    """
    from lawdsl.language.printer import print_formula

    table = _borderless_table("law", "title", "formula")
    for law in laws:
        formula = law.output.formula
        assert formula is not None
        equation = f"{law.output.text} = {print_formula(formula)}"
        table.add_row(law.name, Text(printable(law.title)), Text(equation))
    out.print(table)
    out.print()
    show_rows(["question", "title"], [[n, printable(t)] for n, t in questions.items()], out)
    if pipelines:
        out.print()
        out.print(f"pipelines: {', '.join(pipelines)}")


def show_fed_laws(fed: Sequence[Mapping[str, Any]], table: str, out: Console) -> None:
    """Print the laws that a table can feed, one row each, and the command that compares them.

    Args:
        fed: records with `law`, `title`, `parameters`, `by_label` and `command`.
        table: the path of the table.
        out: where they are printed.
    """
    if not fed:
        out.print(Text(f"no law has its variables and its output in the columns of {table}"))
        return
    counts = [f"{each['parameters']}{' by label' * each['by_label']}" for each in fed]
    rows = [[each["law"], n, each["command"]] for each, n in zip(fed, counts, strict=True)]
    show_rows(["law", "parameters", "to fit it"], rows, out)


def show_notes(notes: Mapping[str, Sequence[str]], out: Console) -> None:
    """Print the notes of laws, questions and pipelines.

    Args:
        notes: name -> its notes.
        out: where they are printed.
    """
    for name, texts in notes.items():
        out.print(Text(name, style="bold"))
        for text in texts:
            out.print(Text(f"  {printable(text)}"), soft_wrap=True)


def show_law(law: Law, out: Console) -> None:
    """Print a law as written, and its exact first derivatives.

    Args:
        law: the law.
        out: where it is printed.
    """
    from lawdsl.law.functions import without_impulses
    from lawdsl.law.text import text

    out.print(Text(printable_lines(law.declarations.text.text)), end="")
    out.print()
    for q in (*law.variables, *law.parameters):
        line = f"∂{law.output}/∂{q.name} = {text(without_impulses(law.derivative(q.name)))}"
        out.print(Text(line), soft_wrap=True)
    inherited = law.declarations.inherited_notes  # its own stand in its text
    if inherited:
        out.print()
    for note in inherited:
        out.print(Text(f"note: {printable(note)}"), soft_wrap=True)


def printable_lines(text: str) -> str:
    """The text of a file with control characters escaped, but line ends preserved."""
    return "".join(printable(line) + "\n" for line in text.splitlines())


def shortened_proof(text: str) -> str:
    """A text with its middle omitted, where it is longer than MAX_PROOF_CHARACTERS."""
    if len(text) <= MAX_PROOF_CHARACTERS:
        return text
    omitted = len(text) - MAX_PROOF_CHARACTERS
    half = MAX_PROOF_CHARACTERS // 2
    return f"{text[:half]} … {omitted} characters left out, --json has them … {text[-half:]}"


def show_verdict(verdict: Verdict, out: Console, *, width: int = 0, proofs: bool = True) -> None:
    """Print one claim: its verdict, and below it the proof, condition, counterexample or blame.

    Args:
        verdict: the verdict.
        out: where it is printed.
        width: the width of the column of claims, in characters.
        proofs: whether to print proofs.
    """
    word = Text(f"{verdict.word.upper():{VERDICT_WIDTH}}", style=STYLES[verdict.verdict])
    line = word + Text(verdict.claim)
    beside = Text()
    if not verdict.ok:
        beside = Text(f"expected: {verdict.expect}", style="red")
    elif verdict.expect != "proved" and verdict.verdict != "certified":
        beside = Text("as expected", style="dim")
    if beside:
        line += Text(" " * (width - len(verdict.claim) + 2)) + beside
    out.print(line, soft_wrap=True)
    indent = " " * (VERDICT_WIDTH + 2)
    if verdict.origin and not verdict.ok:
        out.print(Text(indent + printable(verdict.origin)), soft_wrap=True)
    if verdict.condition is not None:
        kind = "exactly where" if verdict.exact else "where"
        out.print(Text(f"{indent}{kind} {shortened_proof(verdict.condition)}"), soft_wrap=True)
    if verdict.remedy:
        declared = ", ".join(f"`parameter {bound}`" for bound in verdict.remedy)
        out.print(Text(f"{indent}help: declare {declared}"), soft_wrap=True)
    if verdict.face is not None:
        out.print(Text(f"{indent}equality only at {shortened_proof(verdict.face)}"), soft_wrap=True)
    if verdict.verdict == "refuted":
        out.print(Text(indent + failure_text(verdict)), soft_wrap=True)
        if verdict.never:
            out.print(Text(indent + "never: the opposite is proved", style="dim"))
    elif verdict.blame is not None:
        out.print(Text(indent + shortened_proof(verdict.blame)), soft_wrap=True)
    elif proofs:
        for step in verdict.proof[:5]:
            out.print(Text(indent + shortened_proof(step), style="dim"), soft_wrap=True)


def failure_text(verdict: Verdict | Certificate) -> str:
    """The point at which a refuted claim fails, and the value there."""
    witness = ", ".join(f"{name} = {value}" for name, value in verdict.witness)
    return (f"at {witness}: " if witness else "") + shortened_proof(verdict.value or "")


def show_check(check: Check, out: Console, *, proofs: bool = True) -> None:
    """Print all verdicts on a law.

    Args:
        check: the verdicts.
        out: where they are printed.
        proofs: whether to print proofs.
    """
    out.print(Text(check.law, style="bold"))
    width = max((len(v.claim) for v in check.claims), default=0)
    for verdict in check.claims:
        show_verdict(verdict, out, width=width, proofs=proofs)


def show_fit(fit: Fit, out: Console) -> None:
    """Print a fit: the data, the parameters, its quality, and the verdicts on trust.

    Args:
        fit: the fit.
        out: where it is printed.
    """
    show_data(fit.law, fit.data, out)
    o, m, a = fit.objective, fit.metrics, fit.agreement
    out.print(f"  {o.name}: sum {o.sum:.10g}, mean {o.mean:.6g}", soft_wrap=True)
    # if a value is not positive there is no R² of logarithms
    log = "" if math.isnan(m.r2_log) else f" (log {m.r2_log:.6f})"
    out.print(f"  R² {m.r2:.6f}{log}, mean absolute error {m.mae:.6g}")
    out.print(f"  {a.agreed} of {a.starts} starts agree; {fit.stopped}")
    best = fit.optimality
    flat = best.gradient < GRADIENT_RTOL
    gradient = "0 to rounding" if flat else f"{best.gradient:.1e}"
    if not (
        math.isnan(best.gradient) and math.isnan(best.curvature)
    ):  # a loss with a kink has no gradient
        out.print(
            f"  relative gradient {gradient}, smallest eigenvalue of the scaled Hessian {best.curvature:.2g}"
        )
    _show_parameters(fit, out)
    if fit.priors is not None:
        show_priors([fit.priors], out)
    _show_claims(fit, out)
    for inflection in fit.data.inflections:
        line = f"inflection ratio: {inflection.text}; below it {inflection.trend}"
        out.print(Text(line, style=STYLES["caution"]), soft_wrap=True)
    show_verdicts(fit, out)


def show_verdicts(fit: Fit | Fits, out: Console) -> None:
    """Print whether a fit can be trusted, for all uses and for each.

    Args:
        fit: the fit, or those of all labels.
        out: where it is printed.
    """
    out.print(Text("verdict: ") + Text(fit.verdict, style=STYLES[fit.verdict]))
    width = max(map(len, NEEDS))
    for use in NEEDS:
        verdict = fit.verdict_for(use)
        line = Text(f"  {use:{width}}  ") + Text(f"{verdict:{TRUST_WIDTH}}", STYLES[verdict])
        codes = ", ".join(dict.fromkeys(d.code for d in findings_for(use, fit.diagnostics)))
        texts = [codes] if codes else [ASSUMPTIONS.get(use, "")]
        extrapolation = getattr(fit, "extrapolation", None)  # each label has its own
        if use == "prediction" and extrapolation is not None:
            texts += extrapolation.texts
        elif use == "prediction" and "F0134" in codes:
            texts.append("no horizon")
        line += Text("  " + "; ".join(filter(None, texts)))
        line.rstrip()
        out.print(line, soft_wrap=True)


def show_data(law: FittedLaw, data: FittedData, out: Console) -> None:
    """Print the law and the data of a fit.

    Args:
        law: the fitted law.
        data: the rows.
        out: where they are printed.
    """
    rows = f"{data.rows:,} rows of {data.name}"
    if data.where:
        rows += f" where {', '.join(data.where)}"
    out.print(Text(f"{law.name} fitted to {printable(rows)}", style="bold"), soft_wrap=True)
    for name, value in law.settings.items():
        out.print(f"  {name} = {number_text(value)} in place of the law's own")
    if data.dropped:
        out.print(f"  {data.dropped:,} bad rows were left out")
    if data.weights:
        out.print(Text(f"  rows are weighted by {printable(data.weights)}"), soft_wrap=True)
    if data.groups:
        run_columns = ", ".join(map(printable, data.runs))
        plural = "s" if len(data.runs) > 1 else ""
        line = f"  intervals by run: {data.groups:,} runs, column{plural} {run_columns}"
        out.print(Text(line), soft_wrap=True)


def _show_parameters(fit: Fit, out: Console) -> None:
    """Print one line per parameter, and how many resamples failed."""
    show_rows(*parameter_rows(fit), out)
    intervals = fit.intervals
    if intervals.failed:
        out.print(f"{intervals.failed} of {intervals.resamples} resamples did not end in a minimum")


def parameter_rows(fit: Fit) -> tuple[list[str], list[list[Any]]]:
    """The headers and the rows of a table of parameters: value, standard error, interval, remarks."""
    intervals = fit.intervals
    wider = intervals.ends_with_law_error
    rows = []
    for name, p in fit.parameters.items():
        notes = intervals.doubts(name, p)
        error = f"± {intervals.errors[name]:.2g}" if name in intervals.errors else ""
        ends = intervals.ends.get(name)
        cells = [error, interval_text(*ends) if ends else ""]
        cells += [rounded_interval_text(*wider[name]) if name in wider else ""] if wider else []
        rows.append((name, p.printed, *cells, ", ".join(notes)))
    for name, h in fit.held.items():
        note = "fixed" if h.formula is None else f"= {h.formula}"
        ends = intervals.ends.get(name)
        error = f"± {intervals.errors[name]:.2g}" if name in intervals.errors else ""
        blank = ("",) if wider else ()
        rows.append((name, h.value, error, interval_text(*ends) if ends else "", *blank, note))
    headers = ["parameter", "value", "", interval_heading(intervals)]
    headers += ["law wrong by 2 %/decade", " "] if wider else [" "]
    if not any(row[-1] for row in rows):
        headers = headers[:-1]
    return headers, [list(row[: len(headers)]) for row in rows]


def interval_heading(intervals: Intervals) -> str:
    """The heading of a column of intervals."""
    per_run = "" if intervals.by == "rows" else f", by {intervals.by}"
    return f"{100 * intervals.level:g} % interval ({intervals.method}{per_run})"


def interval_text(low: float, high: float) -> str:
    """Format both ends of an interval to as many digits as distinguish them, at least four.

    Args:
        low, high: the ends.

    Returns:
        The text.
    """
    digits = 4
    if math.isfinite(low) and math.isfinite(high) and high > low:
        digits = max(4, 3 + math.ceil(math.log10(max(abs(low), abs(high)) / (high - low))))
    return f"{low:.{min(digits, 12)}g} to {high:.{min(digits, 12)}g}"


def rounded_interval_text(low: float, high: float) -> str:
    """Format both ends of a wide interval in three digits."""
    return f"{low:.3g} to {high:.3g}"


def show_priors(records: Sequence[FittedPriors], out: Console) -> None:
    """Print the priors of fits, their effects on the parameters, and the values without priors.

    Args:
        records: the priors of each fit.
        out: where they are printed.
    """
    if not records:
        return
    show_rows(
        PRIOR_HEADERS, [_prior_row(prior, each) for each in records for prior in each.priors], out
    )
    values = {name: x for each in records for name, x in each.without.items()}
    still = [f"{name} = {number_text(x)}" for name, x in values.items() if not math.isnan(x)]
    lost = [name for name, x in values.items() if math.isnan(x)]
    parts = [abridged(still, MAX_SHOWN_PARAMETERS)] if still else []
    parts += [f"{conjunction(lost[:MAX_SHOWN_PARAMETERS])} undetermined"] if lost else []
    out.print(Text(f"  without priors: {'; '.join(parts)}"), soft_wrap=True)


def _prior_row(prior: FittedPrior, record: FittedPriors) -> tuple[str, str, str, str, str]:
    without = record.without[prior.parameter]
    fitted = math.exp(prior.value) if prior.log else prior.value
    is_open = math.isnan(without)
    return (
        prior.text,
        number_text(fitted),
        "undetermined" if is_open else number_text(without),
        "" if is_open else _shift_text(prior.shift),
        "" if is_open or math.isnan(prior.conflict) else deviations_text(prior.conflict),
    )


def _shift_text(shift: float) -> str:
    """The shift of a parameter by priors, if the rows determine it."""
    return "off its bound" if math.isnan(shift) else deviations_text(shift)


def deviations_text(value: float) -> str:
    """A number of standard deviations to one decimal, and to two significant digits below 1: `-6.6
    s.d.`.
    """
    if abs(value) < LEAST_DEVIATIONS:
        return "0 s.d."
    digits = ",.0f" if abs(value) >= 10 else ".1f" if abs(value) >= 1 else ".2g"
    return f"{value:+{digits}} s.d."


def _show_claims(fit: Fit, out: Console) -> None:
    """Print the verdicts on claims at the fitted values: the number of claims that hold, and the
    others in full.
    """
    if fit.law.added:
        out.print(Text(f"enforced: {', '.join(fit.law.added)}"), soft_wrap=True)
    certified = [c for c in fit.claims if c.verdict == "certified"]
    if certified:
        faces = [f"{c.claim} but for {c.face}" for c in certified if c.face]
        beside = f" ({'; '.join(faces)})" if faces else ""
        line = (
            f"certified on the whole domain: {len(certified)} of {len(fit.claims)} claims{beside}"
        )
        out.print(Text(line, style=STYLES["certified"]), soft_wrap=True)
    for claim in fit.claims:
        if claim.verdict != "certified":
            line = f"{claim.verdict}: {claim.claim}"
            out.print(Text(line, style=STYLES[claim.verdict]), soft_wrap=True)
            if claim.verdict == "refuted":
                out.print(Text(f"  {failure_text(claim)}"), soft_wrap=True)


def show_rows(headers: Sequence[str], rows: Iterable[Sequence[Any]], out: Console) -> None:
    """Print a table of numbers and words.

    Args:
        headers: the headers of the columns.
        rows: the rows of cells.
        out: where it is printed.
    """
    out.print(rows_table(headers, rows))


def rows_table(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """A table of numbers, to six digits, and words."""
    table = _borderless_table(*headers)
    for row in rows:
        table.add_row(*(Text(cell_text(x)) for x in row))
    return table


def cell_text(value: Any) -> str:
    """A cell of a table: numbers to six digits, other values as they print."""
    return number_text(value) if isinstance(value, float) else str(value)
