"""A table of scores -> text on a terminal, Markdown or LaTeX, in the layout of papers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from lawdsl.core.diagnostics import printable
from lawdsl.reporting.comparisons import R_SQUARED_LIMIT, r_squared_text, score_text
from lawdsl.reporting.terminal import show_rows

if TYPE_CHECKING:
    from lawdsl.comparing.score_table_result import Score, ScoreTable

SCORES: tuple[tuple[Score, str], ...] = (
    ("huber_sum", "Huber sum"),
    ("huber_mean", "Huber mean"),
    ("r2", "R²"),
)
LATEX_CHARACTERS = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "<": "$<$",
    "^": "\\textasciicircum{}",
    "²": "$^2$",
    "∂": "$\\partial$",
}


@dataclass(frozen=True)
class Block:
    """One printed table: its title, a remark on its numbers, headers and rows of cells."""

    title: str
    remark: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def blocks_of(table: ScoreTable) -> Iterator[Block]:
    """The printed tables: the averages of each protocol and its parts, then the scores by group.

    Args:
        table: the scores.
    """
    for protocol in table.protocols:
        yield _averages(table, protocol, "")
        parts = table.parts(protocol)
        for part in parts if len(parts) > 1 else ():
            yield _averages(table, protocol, part)
        if len(table.groups) > 1:
            for score, name in SCORES:
                yield _by_group(table, protocol, score, name)


def show_score_table(table: ScoreTable, out: Console) -> None:
    """Print a table of scores as text.

    Args:
        table: the scores.
        out: where it is printed.
    """
    out.print(Text(_title(table), style="bold"), soft_wrap=True)
    out.print(Text(f"  every fit minimises {table.objective}"), soft_wrap=True)
    out.print(Text(f"  {_meaning(table)}"), soft_wrap=True)
    for block in blocks_of(table):
        out.print()
        remark = f": {block.remark}" if block.remark else ""
        out.print(Text(block.title, style="bold") + Text(remark), soft_wrap=True)
        show_rows(block.headers, block.rows, out)


def markdown(table: ScoreTable) -> str:
    """A table of scores as Markdown."""
    lines = [_markdown(f"{_title(table)}; {_meaning(table)}"), ""]
    for block in blocks_of(table):
        lines += [_markdown(": ".join(filter(None, (block.title, block.remark)))), ""]
        cells = [block.headers, ("---",) * len(block.headers), *block.rows]
        lines += [f"| {' | '.join(map(_markdown, row))} |" for row in cells]
        lines.append("")
    return "\n".join(lines)


def latex(table: ScoreTable) -> str:
    """A table of scores as LaTeX: one `tabular` for each printed table; it needs no package."""
    lines = [f"% {_title(table)}", f"% {_meaning(table)}"]
    for block in blocks_of(table):
        lines += [f"% {': '.join(filter(None, (block.title, block.remark)))}"]
        texts = sum(not any(_is_number(row[k]) for row in block.rows) for k in range(2))
        columns = "l" * max(texts, 1) + "r" * (len(block.headers) - max(texts, 1))
        lines += [f"\\begin{{tabular}}{{{columns}}}", "\\hline"]
        for number, row in enumerate([block.headers, *block.rows]):
            lines.append(" & ".join(map(_latex, row)) + " \\\\")
            lines += ["\\hline"] if number == 0 else []
        lines += ["\\hline", "\\end{tabular}", ""]
    return "\n".join(lines)


def _title(table: ScoreTable) -> str:
    """The laws, the data and the groups."""
    counts = set(table.rows.values())
    low, high = min(counts), max(counts)
    rows = f"{low:,} rows" if low == high else f"{low:,} to {high:,} rows"
    each = " for each" if len(table.rows) > 1 else ""
    laws = f"{len(table.laws)} laws" if len(table.laws) > 1 else table.laws[0].name
    text = f"{laws} on {rows}{each} of {table.data}"
    if table.where:
        text += f" where {', '.join(table.where)}"
    if len(table.groups) > 1:
        text += f"; {len(table.groups)} groups by {table.by}"
    if len(table.losses) > 1:
        text += f"; losses {', '.join(table.losses)}"
    return printable(text)


def _meaning(table: ScoreTable) -> str:
    """What the sums and means are of."""
    return (
        f"Huber of log residuals, delta = {table.delta:g}: a sum over the tested rows, comparable "
        "only between laws on the same rows, and the mean of a row"
    )


def _averages(table: ScoreTable, protocol: str, part: str) -> Block:
    """The averages of one protocol, or of one part of it: one row for each law."""
    headers = [f"{name} {loss}".strip() for _, name in SCORES for loss in table.losses]
    rows = tuple(
        (
            law.name,
            *(
                _number(score, table.mean(score, law.name, protocol, loss, part=part))
                for score, _ in SCORES
                for loss in table.losses
            ),
        )
        for law in table.laws
    )
    remark = _remark(table, protocol, part)
    return Block(f"{protocol} {part}".strip(), remark, ("law", *headers), rows)


def _remark(table: ScoreTable, protocol: str, part: str) -> str:
    """What the averages of a protocol are of."""
    first = next(cell for cell in table.cells if cell.protocol == protocol)
    folds = sum(part in ("", fold.part) for fold in first.folds)
    low, high = table.tested(protocol, part)
    tested = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    over = [f"{folds} folds"] if folds > 1 else []
    over += [f"{len(table.groups)} groups"] if len(table.groups) > 1 else []
    if not over:
        return f"{tested} rows"
    return f"averages over {' x '.join(over)}, each of {tested} tested rows"


def _by_group(table: ScoreTable, protocol: str, score: Score, name: str) -> Block:
    """One score by group: one row for each law and loss."""
    several = len(table.losses) > 1
    rows = []
    for loss in table.losses:
        for law in table.laws:
            values = [
                table.cell(law.name, protocol, loss, group).mean(score) for group in table.groups
            ]
            mean = table.mean(score, law.name, protocol, loss)
            cells = [_number(score, x) for x in (*values, mean)]
            rows.append((*((loss,) if several else ()), law.name, *cells))
    headers = (*(("loss",) if several else ()), "law", *table.groups, "mean")
    return Block(f"{protocol}, {name} by {table.by}", "", headers, tuple(rows))


def _number(score: Score, value: float) -> str:
    """A score: R² to four decimals, Huber's loss to four digits; a dash where there is none."""
    return r_squared_text(value) if score == "r2" else score_text(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text in ("-", R_SQUARED_LIMIT)
    return True


def _markdown(text: str) -> str:
    return "".join(f"\\{c}" if c in "|*_`<[" else c for c in text)


def _latex(text: str) -> str:
    return "".join(LATEX_CHARACTERS.get(c, c) for c in text)
