"""Answers to questions -> text on a terminal."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from lawdsl.core.diagnostics import printable
from lawdsl.language.printer import print_unit
from lawdsl.reporting.answer_tables import goal_of
from lawdsl.reporting.answers_if_laws_are_wrong import (
    law_error_heading,
    missing_text,
    rounded_ends,
    show_law_error,
    show_safe,
)
from lawdsl.reporting.terminal import number_text, printable_lines, show_rows

if TYPE_CHECKING:
    from lawdsl.language.questions import Question
    from lawdsl.solving.result import Answer, Conflict
    from lawdsl.solving.result_under_law_error import Ends

MAX_ACTIVE_SHOWN = 4  # active constraints that are written out
MAX_CHOICES_SHOWN = 8  # combinations of discrete unknowns that are shown
MAX_NAMES_SHOWN = 20  # unknowns, constraints or givens that are shown
MARGIN_ATOL = 1e-12  # a margin that is 0 up to rounding
MAX_GOAL_CHARACTERS = 30  # characters of a goal at the head of a table
NO_ANSWER = {
    "infeasible": "no answer: the constraints cannot be kept together",
    "unbounded": "no answer: nothing is best",
    "undecided": "not decided",
}


def show_needs(question: Question, out: Console, name: str = "") -> None:
    """Print a question as written, and the command that answers it.

    Args:
        question: the question.
        out: where it is printed.
        name: the name or file by which the question was requested; its own name if empty.
    """
    out.print(Text(printable_lines(question.text.text)), end="")
    out.print()
    inputs = [f"{use}=FIT.json" for use in question.uses]
    inputs += [f"{symbol.name}=…" for symbol in question.of_kind("given")]
    line = f"lawdsl solve {shlex.quote(name or question.name)} {' '.join(inputs)}".rstrip()
    out.print(Text(line, style="bold"), soft_wrap=True)
    fits = ", ".join(f"{use}: a fit of {law.name}" for use, law in question.uses.items())
    out.print(Text(fits), soft_wrap=True)


def show_answer(question: Question, answer: Answer, out: Console, *, details: bool = True) -> None:
    """Print one answer: the unknowns, the location of the optimum, its certainty and its
    sensitivities.

    Args:
        question: the question.
        answer: the answer to the question.
        out: where it is printed.
        details: whether to print more than the unknowns.
    """
    _show_head(question, answer, out)
    if not answer.unknowns:
        out.print(Text(NO_ANSWER[answer.status], style="bold"), soft_wrap=True)
        for line in answer.proof:
            out.print(Text(f"  {line}"), soft_wrap=True)
        _show_relaxations(answer, out)
        show_safe(answer, out)
        return
    _show_unknowns(answer, out)
    show_law_error(answer, out)
    show_safe(answer, out)
    _show_without_bounds(answer, out)
    if not details:
        return
    _show_why(answer, out)
    _show_conflicts(answer, out)
    _show_choices(answer, out)
    _show_sensitivities(question, answer, out)
    _show_response(answer, out)
    _show_compared(answer, out)


def _show_head(
    question: Question, answer: Answer, out: Console, varying: Sequence[str] = ()
) -> None:
    out.print(Text(f"{answer.question}: {printable(answer.title)}", style="bold"), soft_wrap=True)
    laws = ", ".join(f"{use}: {law}" for use, law in answer.fits.items())
    if laws:
        out.print(Text(f"  {laws}"), soft_wrap=True)
    values = list(_given_values(question, answer, varying))
    if values:
        more = f", … ({len(values)} values)" if len(values) > MAX_NAMES_SHOWN else ""
        out.print(Text("  " + ", ".join(values[:MAX_NAMES_SHOWN]) + more), soft_wrap=True)


def _given_values(question: Question, answer: Answer, varying: Sequence[str]) -> Iterator[str]:
    """Givens and settings; one with the same value for all labels is shown once, as it is declared."""
    values = {name: x for name, x in answer.values.items() if "." not in name}
    for base, group in groupby(values.items(), lambda pair: pair[0].partition("[")[0]):
        elements = dict(group)
        if {base, *elements}.intersection(varying):
            continue
        alike = len(elements) > 1 and len(set(elements.values())) == 1
        printed = (
            {question.symbols[base].text: next(iter(elements.values()))} if alike else elements
        )
        for name, value in printed.items():
            yield f"{name} = {_with_unit(question, name, value)}"


def _with_unit(question: Question, name: str, value: float) -> str:
    unit = question.units.get(name.partition("[")[0])
    return f"{number_text(value)} {print_unit(unit)}" if unit else number_text(value)


def _show_unknowns(answer: Answer, out: Console) -> None:
    percent = f"{100 * answer.level:g} % interval"
    wrong = answer.law_error
    rows: list[list[str]] = []
    for u in answer.unknowns:
        wider = rounded_ends(wrong.ends.get(u.name)) if wrong else ""
        doc = printable(u.doc or "")
        doc = "" if rows and doc == printable(answer.unknowns[0].doc or "") else doc
        rows.append([u.name, number_text(u.value), _ends(u.ends), wider, u.unit, doc])
    if answer.goal is not None and goal_of([answer]):
        goal, wider = answer.goal, rounded_ends(wrong.goal) if wrong else ""
        rows.append([goal.text, number_text(goal.value), _ends(goal.ends), wider, "", ""])
    columns = ["", "", percent, law_error_heading(wrong), "unit", ""]
    _show_table(columns, rows, out, always=2)
    for u in answer.unknowns:
        if u.formula is not None:
            out.print(Text(f"{u.name} = {u.formula}"), soft_wrap=True)


def _show_without_bounds(answer: Answer, out: Console) -> None:
    """Print the answer without the bounds on which fits lie, and the reason why it is shown."""
    other = answer.without_bounds
    if other is None:
        return
    named = [f"{bound} of {use}" for use, bounds in other.bounds.items() for bound in bounds]
    what = f"without the bound{'s' if len(named) > 1 else ''} {' and '.join(named)}"
    values = [
        f"{name} = {number_text(value)}"
        + (f" ({ends})" if (ends := _ends(other.ends[name])) else "")
        for name, value in other.unknowns.items()
    ]
    if other.goal is not None and answer.goal is not None and goal_of([answer]):
        values.append(f"{answer.goal.text} = {number_text(other.goal)}")
    shown = ", ".join(values) if values else NO_ANSWER.get(other.status, other.status)
    out.print()
    out.print(Text(f"{what}: {shown}", style="bold"), soft_wrap=True)
    for use, ratio in other.objective_ratios.items():
        line = f"  the fit of {use} lies on {'it' if len(other.bounds[use]) == 1 else 'them'}"
        if ratio < 1:
            line += f"; without, its objective falls to {100 * ratio:.3g} %"
        if other.verdicts[use] != "trusted":
            line += f"; that fit: {other.verdicts[use]}"
        out.print(Text(line), soft_wrap=True)


def _ends(ends: Ends | None) -> str:
    if ends is None:
        return ""
    low, high = (("-oo" if x < 0 else "oo") if math.isinf(x) else number_text(x) for x in ends)
    return f"{low} to {high}"


def _show_why(answer: Answer, out: Console) -> None:
    lines = [f"{answer.where} ({answer.method})"]
    active = [k for k in answer.kept if k.active and k.doc is not None]
    lines += [f"  {k.name}: {k.text}" for k in active[:MAX_ACTIVE_SHOWN]]
    if len(active) > MAX_ACTIVE_SHOWN:
        lines.append(f"  … and {len(active) - MAX_ACTIVE_SHOWN} more")
    lines += [f"  {line}" for line in answer.proof]
    free: dict[str, list[float]] = {}
    for constraint in answer.kept:
        if not constraint.active and not constraint.law:
            free.setdefault(constraint.name, []).append(constraint.margin)
    for name, margins in free.items():
        many = f", the least of {len(margins)}" if len(margins) > 1 else ""
        lines.append(f"  {name} keeps a margin of {number_text(min(margins))}{many}")
    for threshold in answer.thresholds:
        lines.append(
            f"  it lies inside where {threshold.name} {threshold.relation} "
            f"{number_text(threshold.value)} = {threshold.formula}"
        )
    for line in lines:
        out.print(Text(line), soft_wrap=True)


def _show_conflicts(answer: Answer, out: Console) -> None:
    for conflict in answer.conflicts:
        for line in _conflict_lines(conflict):
            out.print(Text(line), soft_wrap=True)


def _conflict_lines(conflict: Conflict) -> Iterator[str]:
    yield f"no fit of this law has it inside: the bound {conflict.bound} of {conflict.use} forbids it (proved)"
    needed = f"{conflict.needed} = {number_text(conflict.threshold)}"
    name = conflict.bound.partition(" ")[0]
    yield f"  inside needs {needed}; here {name} = {number_text(conflict.value)}"
    yield from (f"  {line}" for line in conflict.proof)
    for setting, value in conflict.settings.items():
        yield f"  the bound would allow it with {setting.rpartition('.')[2]} above {number_text(value)}"
    if conflict.held:
        yield f'  the fit lies on that bound: fit again without it, --without "{conflict.bound}"'
    else:
        yield "  the fit does not lie on that bound: without it the answer would be the same"


def _show_sensitivities(question: Question, answer: Answer, out: Console) -> None:
    sensitivities = [s for s in answer.sensitivities if any(s.unknowns.values()) or s.goal]
    if not sensitivities:
        return
    names = [u.name for u in answer.unknowns] if len(answer.unknowns) <= MAX_ACTIVE_SHOWN else []
    headers = ["1 % more of", *(f"moves {name} by" for name in names), "the goal by"]
    rows = [
        [s.name, *(_step(s.unknowns.get(n, 0.0), s.value) for n in names), _step(s.goal, s.value)]
        for s in sensitivities[:MAX_NAMES_SHOWN]
    ]
    _show_table(headers, rows, out)


def _step(slope: float, value: float) -> str:
    return f"{slope * value / 100:+.3g}" if slope else "0"


def _show_response(answer: Answer, out: Console) -> None:
    if not answer.response:
        return
    named = {k.text: k.name for k in answer.kept}
    margin_names = list(dict.fromkeys(named[text] for text in answer.response[0].margins))
    goal = goal_of([answer])
    headers = [
        *answer.response[0].x,
        *((*goal, f"{100 * answer.level:g} % interval") if goal else ()),
        *(f"margin of {name}" for name in margin_names),
    ]
    rows = []
    for r in answer.response:
        least = {n: min(m for t, m in r.margins.items() if named[t] == n) for n in margin_names}
        goal_cells = (number_text(r.goal), _ends(r.ends)) if goal else ()
        rows.append(
            [*(f"{v:.4g}" for v in r.x.values()), *goal_cells, *map(_margin, least.values())]
        )
    _show_table(headers, rows, out)


def _margin(value: float) -> str:
    if abs(value) < MARGIN_ATOL:
        return "0"
    return f"broken by {number_text(-value)}" if value < 0 else number_text(value)


def _show_relaxations(answer: Answer, out: Console) -> None:
    for relaxed in answer.relaxations:
        name = relaxed.doc or relaxed.text
        point = ", ".join(_point_text(n, v) for n, v in list(relaxed.at.items())[:MAX_NAMES_SHOWN])
        line = f"  {name} must give way by {number_text(relaxed.by)} at least"
        if relaxed.by == 0:
            line = f"  {name} must give way by more than 0: equality is not enough"
        elif answer.status == "undecided":
            line = f"  {name} can be kept if it gives way by {number_text(relaxed.by)}"
        line += f", then at {point}" if point else ""
        instead = [f"{n} = {number_text(v)}" for n, v in relaxed.written.items()]
        line += f": {' or '.join(instead)}" if instead else ""
        out.print(Text(line), soft_wrap=True)
        if relaxed.doc:
            out.print(Text(f"    {relaxed.text}"), soft_wrap=True)


def _point_text(name: str, value: float) -> str:
    """An unknown at a value, or approaching an end of its range that it does not attain."""
    if math.isinf(value):
        return f"{name} -> {'oo' if value > 0 else '-oo'}"
    return f"{name} = {number_text(value)}"


def _show_choices(answer: Answer, out: Console) -> None:
    """Print all combinations of the discrete unknowns, the best first."""
    choices = [c for c in answer.choices if c.goal is not None]
    if len(choices) < 2:
        return
    choices.sort(key=lambda c: c.behind or 0.0)
    names = [*choices[0].x, *choices[0].unknowns][:MAX_NAMES_SHOWN]
    rows = [
        [
            *(number_text({**c.x, **c.unknowns}[name]) for name in names),
            number_text(c.goal or 0.0),
            number_text(c.behind or 0.0),
            _ends(c.behind_ends),
        ]
        for c in choices[:MAX_CHOICES_SHOWN]
    ]
    _show_table([*names, "goal", "worse by", "interval"], rows, out, always=len(names))
    left = len(choices) - len(rows)
    if left:
        out.print(Text(f"and {left} more choices that are worse (--json has all)"), soft_wrap=True)


def _show_compared(answer: Answer, out: Console) -> None:
    if not answer.compared:
        return
    rows = []
    for c in answer.compared:
        point = ", ".join(f"{n} = {number_text(v)}" for n, v in list(c.x.items())[:4])
        more = ", …" if len(c.x) > 4 else ""
        broken = ", ".join(c.broken[:2]) + (", …" if len(c.broken) > 2 else "")
        rows.append(
            [
                point + more,
                number_text(c.goal),
                _ends(c.ends),
                number_text(c.behind),
                _ends(c.behind_ends),
                broken,
            ]
        )
    headers = ["instead", "goal", "interval", "worse by", "interval", "breaks"]
    _show_table(headers, rows, out, always=2)


def show_answers(
    question: Question, answers: Sequence[Answer], varying: Sequence[str], out: Console
) -> None:
    """Print answers for several values of the inputs, one row each.

    Args:
        question: the question.
        answers: the answers to the question.
        varying: names of the givens and settings that differ.
        out: where they are printed.
    """
    _show_head(question, answers[0], out, varying)
    first = next((a for a in answers if a.unknowns), None)
    names = [u.name for u in first.unknowns] if first else []
    goal = goal_of(answers)
    percent = f"{100 * answers[0].level:g} % interval"
    headers = [*varying]
    goal_names = [g if len(g) <= MAX_GOAL_CHARACTERS else "goal" for g in goal]
    for name in (*names, *goal_names):
        headers += [name, percent]
    wrong = next((a.law_error for a in answers if a.law_error), None)
    heading = law_error_heading(wrong)
    headers += [f"{name}, {heading}" for name in (*names, *goal_names)] if wrong else []
    safe_names = names if any(a.safe for a in answers) else []
    headers += [f"safe {name}" for name in safe_names] + ["where"]
    rows = [
        _answer_row(answer, varying, names, goal=bool(goal), wrong=wrong is not None)
        for answer in answers
    ]
    _show_table(headers, rows, out)
    for line in {missing_text(a.law_error): None for a in answers if a.law_error}:
        if line:
            out.print(Text(line), soft_wrap=True)


def _answer_row(
    answer: Answer, varying: Sequence[str], names: Sequence[str], *, goal: bool, wrong: bool
) -> list[str]:
    row = [number_text(answer.given(name)) for name in varying]
    by_name = {u.name: u for u in answer.unknowns}
    for estimate in (*(by_name.get(name) for name in names), *([answer.goal] if goal else [])):
        row += [number_text(estimate.value), _ends(estimate.ends)] if estimate else ["", ""]
    if wrong:
        law_error = answer.law_error
        row += [rounded_ends(law_error.ends.get(name) if law_error else None) for name in names]
        row += [rounded_ends(law_error.goal if law_error else None)] if goal else []
    if answer.safe is not None:
        unknowns = answer.safe.unknowns if answer.safe.ok else {}
        row += [number_text(unknowns[n]) if n in unknowns else "none" for n in names]
    return [*row, answer.where or NO_ANSWER.get(answer.status, answer.status)]


def _show_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], out: Console, always: int = 0
) -> None:
    """Print a table after an empty line, without empty columns beyond the first `always`."""
    columns = [i for i in range(len(headers)) if i < always or any(row[i] for row in rows)]
    out.print()
    show_rows([headers[i] for i in columns], [[row[i] for i in columns] for row in rows], out)
