"""`lawdsl solve`: question, fits -> the best choice, with its certificate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from lawdsl.cli.law_error import LEVEL, level_option, percentage_option, wrong_of_laws
from lawdsl.cli.likely_percentages import likely_percentages
from lawdsl.cli.misplaced_words import law_in_place_of_question
from lawdsl.cli.options import (
    as_json,
    bindings,
    finish,
    plot_option,
    print_message,
    table_option,
)
from lawdsl.cli.time_limits import cpu_limit, time_limit
from lawdsl.cli.unused_parts import postpone_unused_parts
from lawdsl.cli.values import value_in, values_in
from lawdsl.language.label_texts import split_list

if TYPE_CHECKING:
    from lawdsl.core.diagnostics import Diagnostic
    from lawdsl.language.questions import Question
    from lawdsl.solving.result import Answer

MAX_COMBINATIONS = 10_000  # combinations of values


@click.command("solve")
@click.argument("question")
@click.argument("arguments", nargs=-1, metavar="[NAME=FIT.json]... [NAME=VALUE[,VALUE...]]...")
@click.option(
    "--at",
    "points",
    multiple=True,
    metavar="NAME=VALUE,...",
    help="Compare the answer with another choice: --at r_d=0.5, --at N=7e9,D=1e12.",
)
@level_option
@click.option("--seed", default=0, show_default=True, help="Random seed.")
@percentage_option(
    "--safe",
    "Also compute the best choice that satisfies the constraints with this probability, such as 95%,"
    " under noise and the error of the laws (--wrong).",
)
@wrong_of_laws
@table_option(
    "-o",
    "--output",
    help="Write the answers as a table, with a row for each combination of inputs (and labels)",
)
@table_option("--curve", help="Write the goal and the constraints as functions of the unknown")
@plot_option
@time_limit(300.0, "one answer")
@click.option("-q", "--quiet", is_flag=True, help="Print only the answer.")
@as_json
def solve(
    question: str,
    arguments: tuple[str, ...],
    points: tuple[str, ...],
    level: float | None,
    seed: int,
    safe: float | None,
    wrong: float | Literal["learned"] | None,
    output: str | None,
    curve: str | None,
    plot: str | None,
    time_limit: float,
    quiet: bool,
    as_json: bool,
) -> int:
    """Find the best choice under fitted laws.

    A QUESTION declares inputs, decision variables, a goal and constraints in terms of fitted laws.

    \b
    lawdsl solve dcpt.tradeoff                                 print what it needs
    lawdsl solve dcpt.tradeoff general=G.json domain=D.json \\
        N=1.8 D=10B L0=2.8602 T=3%
    lawdsl solve dcpt.tradeoff … T=0.01,0.02,0.03              an answer for each value
    lawdsl solve dcpt.tradeoff … --safe 95%                    constraints hold with 95 % probability
    lawdsl solve cmr.ratio_at ratio.alpha4=0.225 …             parameters as numbers, no fit

    NAME=FIT.json gives a fit; NAME=VALUE gives an input or a setting, with or without a unit.
    `cap=0.4` applies to all labels, `"cap[web]=0.2"` to one. The exit code is 1 if no choice
    satisfies the constraints.

    The answer is optimal for the fitted laws. If a constraint is active there, the true laws
    violate it in about half of all cases: --safe adds a choice that satisfies the constraints with
    a given probability. If the answer lies outside the fitted rows, or with --safe, a second interval
    and the regret include the error of the laws, 2 % per decade (--wrong).
    """
    postpone_unused_parts()
    from lawdsl.language import library
    from lawdsl.solving.result import Answers
    from lawdsl.solving.solve import Asked, combinations

    of_law = law_in_place_of_question(question, arguments)
    if of_law is not None:
        raise of_law
    parsed, warned = library.question(question)
    if output is not None and output == curve:
        raise click.UsageError("-o and --curve name one file: give two")
    if not arguments and (parsed.uses or parsed.of_kind("given")):
        return print_inputs(parsed, "solve", warned, name=question, as_json=as_json)
    _check_compared(parsed, arguments, points)
    fits, values_of = fits_and_values(parsed, arguments)
    ready = Asked(parsed, **fits)
    compared = [_point(parsed, text) for text in points]
    check_count(values_of)
    warned = [*warned, *likely_percentages(parsed, arguments)]
    rows = list(combinations(values_of))
    many = len(rows) > 1
    answers = []
    for row in rows:
        with cpu_limit(time_limit, "the answer", "fewer or narrower unknowns take less"):
            answers.append(
                ready.answer(
                    row,
                    level=LEVEL if level is None else level,
                    seed=seed,
                    proofs=not many,
                    compare=compared,
                    discrepancy=wrong,
                    safe=safe,
                )
            )
    varying = [name for name, values in values_of.items() if len(values) > 1]
    written = _write_tables(parsed, answers, varying, output, curve)
    result: Any = answers[0].to_json() if not many else [a.to_json() for a in answers]
    diagnostics = dict.fromkeys([*warned, *(d for answer in answers for d in answer.diagnostics)])

    def printed() -> None:
        from lawdsl.reporting.answers import show_answer, show_answers
        from lawdsl.reporting.terminal import console

        if many:
            show_answers(parsed, answers, varying, console())
        else:
            show_answer(parsed, answers[0], console(), details=not quiet)
        for path in written:
            print_message(f"wrote {path}")

    ok = all(answer.ok and (answer.safe is None or answer.safe.ok) for answer in answers)
    return finish(
        "solve",
        result,
        diagnostics,
        ok=ok,
        as_json=as_json,
        show=printed,
        plot=plot,
        record=Answers(tuple(answers), tuple(varying)) if many else answers[0],
    )


def print_inputs(
    question: Question, command: str, warned: Sequence[Diagnostic], *, name: str, as_json: bool
) -> int:
    """Print a question and the inputs it requires, as the result of a command.

    Args:
        question: the question.
        command: the name of the command.
        warned: diagnostics.
        name: the name or file of the question, for the printed command.
        as_json: whether to print JSON.

    Returns:
        The exit code.
    """
    from lawdsl.language.printer import print_unit
    from lawdsl.reporting.answers import show_needs
    from lawdsl.reporting.terminal import console

    units = question.units

    def symbols_of(kind: str) -> list[dict[str, Any]]:
        return [
            {
                "name": s.text,
                "unit": print_unit(unit) if (unit := units[s.name]) else None,
                "doc": s.doc,
            }
            for s in question.of_kind(kind)
        ]

    result = {
        "question": question.name,
        "title": question.title,
        "sources": list(question.sources),
        "notes": list(question.notes),
        "text": question.text.text,
        "uses": {use: law.name for use, law in question.uses.items()},
        "givens": symbols_of("given"),
        "settings": symbols_of("setting"),
        "unknowns": symbols_of("unknown"),
    }
    return finish(
        command,
        result,
        warned,
        ok=True,
        as_json=as_json,
        show=lambda: show_needs(question, console(), name),
    )


def fits_and_values(
    question: Question, arguments: Sequence[str]
) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """The fits, and the values of givens and settings, in the units of the question.

    Args:
        question: the question.
        arguments: NAME=VALUE, `loss=fit.json C=1e21,1e22`.
    """
    fits: dict[str, Any] = {}
    values: dict[str, list[float]] = {}
    names = [argument.partition("=")[0].strip() for argument in arguments]
    unnamed = next((a for a in arguments if "=" not in a and a.endswith(".json")), None)
    if unnamed is not None:
        use = next((use for use in question.uses if use not in names), "NAME")
        raise click.UsageError(f"say what {unnamed} is a fit of: {use}={unnamed}")
    for name, text in bindings(arguments, lists=lambda name: name not in question.uses).items():
        use, dot, inner = name.partition(".")
        if name in question.uses:
            fits[name] = text
        elif dot and use in question.uses and (use not in names or _is_part(question, use, inner)):
            parameters = fits.setdefault(use, {})
            if not isinstance(parameters, dict):
                message = f"{name}={text}: {use} is a fit already, which has its own parameters"
                raise click.UsageError(message)
            parameters[inner] = _value(question, name, text)
        else:
            values[name] = values_in(name, _unit(question, name), text)
    return fits, values


def check_count(values_of: Mapping[str, Sequence[float]]) -> None:
    """Refuse more combinations of values than a command answers.

    Raises:
        click.UsageError: there are more.
    """
    # counted before any is answered: each may take up to the time limit
    count = math.prod(map(len, values_of.values()))
    if count > MAX_COMBINATIONS:
        raise click.UsageError(f"{count:,} combinations of values; at most {MAX_COMBINATIONS:,}")


def _is_part(question: Question, use: str, name: str) -> bool:
    """Whether the name after `use.` is a parameter, not a setting, whose value may differ from the
    fit's.
    """
    symbol = question.uses[use].symbols.get(name)
    return symbol is not None and symbol.kind == "parameter"


def _value(question: Question, name: str, text: str) -> float:
    """A number in the unit that the question declares for a name."""
    return value_in(name, _unit(question, name), text)


def _unit(question: Question, name: str) -> tuple[tuple[str, int], ...] | None:
    """The unit that the question declares for a name; None if it has none."""
    use, dot, inner = name.partition(".")
    if dot and use in question.uses:
        symbol = question.uses[use].symbols.get(inner)
        unit = symbol.unit if symbol else None
    else:
        unit = question.units.get(name.partition("[")[0])
    return unit.factors if unit else None


def _check_compared(question: Question, arguments: Sequence[str], points: Sequence[str]) -> None:
    """Refuse values of unknowns that belong to `--at` or to nothing.

    Raises:
        click.UsageError: there are such values.
    """
    unknown = {symbol.name for symbol in question.of_kind("unknown")}
    values = [a for a in arguments if a.partition("=")[0].partition("[")[0].strip() in unknown]
    if not values:
        return
    name = values[0].partition("=")[0].strip()
    if not points:
        given_names = {a.partition("=")[0].partition("[")[0].strip() for a in values}
        others = [s.text for s in question.of_kind("unknown") if s.name not in given_names]
        whole = ",".join((*values, *(f"{other}=…" for other in others)))
        raise click.UsageError(
            f"`{name}` is what the question asks for: leave it out; --at {whole} "
            "compares the answer with this choice"
        )
    whole = ",".join((points[-1].strip().rstrip(","), *values))
    raise click.UsageError(f"--at takes all values in one word: --at {whole}")


def _point(question: Question, text: str) -> dict[str, float]:
    """NAME=VALUE,NAME=VALUE as numbers in the units of the unknowns."""
    unknowns = [symbol.text for symbol in question.of_kind("unknown")]
    plain = [part.strip() for part in text.split(",")]
    if "=" not in text and ":" not in text and len(plain) <= len(unknowns):
        values = [*plain, *["…"] * len(unknowns)]
        written = ",".join(f"{n}={v}" for n, v in zip(unknowns, values, strict=False))
        message = f"--at takes NAME=VALUE, not {text!r}: write --at {written}"
        raise click.UsageError(message)
    pairs = bindings(split_list(text), "--at takes NAME=VALUE")
    return {name: _value(question, name, value) for name, value in pairs.items()}


def _write_tables(
    question: Question,
    answers: Sequence[Answer],
    varying: Sequence[str],
    output: str | None,
    curve: str | None,
) -> list[str]:
    """Write the tables requested on the command line; return their paths."""
    from lawdsl.data.write import write_rows

    written = []
    if output:
        from lawdsl.reporting.answer_tables import is_by_label, rows_by_label, rows_of

        labelled = is_by_label(question)
        rows = rows_by_label(question, answers, varying) if labelled else rows_of(answers, varying)
        write_rows(Path(output), *rows)
        written.append(output)
    if curve:
        from lawdsl.reporting.answer_tables import curve_of

        write_rows(Path(curve), *curve_of(answers, varying))
        written.append(curve)
    return written


COMMANDS = (solve,)
