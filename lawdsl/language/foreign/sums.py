"""Sums and subscripts of other languages -> `sum(t[i, j]*r[j] for j)` and `t[i, j]`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lawdsl.language.foreign.functions import MODULES, PRODUCTS
from lawdsl.language.mistakes.whole_lines import Line, Meant, place

OPERAND = r"([A-Za-z_]\w*(?:\[[\w, :]*\])?)"
CALL = re.compile(
    rf"(?<![\w.])(?:(?:{'|'.join(MODULES)})\.)?(?:{'|'.join(PRODUCTS)})\(\s*(?:\"\d+\"\s*,\s*)?{OPERAND}\s*,\s*{OPERAND}\s*\)"
)
METHOD = re.compile(
    rf"(?<![\w.]){OPERAND}\s*(?:(?:@|%\*%)\s*{OPERAND}|\.(?:dot|matmul)\(\s*{OPERAND}\s*\))"
)
SLICES = re.compile(
    rf"(?<![\w.])(?:\w+\.)?sum\(\s*{OPERAND}\s*\*\s*{OPERAND}\s*(?:,\s*\w+\s*=\s*-?\w+\s*)?\)"
)
OVER = re.compile(
    r"(?<![\w.])(?:\w+\.)?(sum|prod|Sum|Product)\((.+?)(?:\s*[,;]\s*|\s+)(?:(?:over|across|on|by|wrt|along)\s+|(?:axis|index|dim|over)\s*=\s*)"
    r"(?:all\s+)?([A-Za-z_]\w*)\s*\)"
)


def _subscripts(line: Line, operand: str) -> list[str] | None:
    """The subscripts of an operand, those that it lacks as its declaration has them."""
    name, _, rest = operand.partition("[")
    declared = re.search(
        rf"^[ \t]*(?:variable|parameter|let)\s[^\n=<>]*?(?<!\w){re.escape(name)}\[([\w, ]+)\]",
        line.others,
        re.M,
    )
    if declared is None:
        return None
    full = [part.strip() for part in declared[1].split(",")]
    own = [part.strip() for part in rest.rstrip("]").split(",") if part.strip()]
    return [own[i] if i < len(own) and own[i] != ":" else full[i] for i in range(len(full))]


def _products(line: Line) -> Iterator[Meant]:
    """`t[i] @ r`, `np.dot(t[i], r)`, `t[i].dot(r)`, `sum(t[i, :]*r)`"""
    for pattern in (CALL, METHOD, SLICES):
        match = pattern.search(line.masked)
        if match is None:
            continue
        operands = [operand for operand in match.groups() if operand is not None]
        one, two = (_subscripts(line, operand) for operand in operands)
        if one is None or two is None:
            continue
        shared = [index for index in one if index in two]
        if len(shared) != 1:
            continue
        names = [operand.partition("[")[0] for operand in operands]
        term = "*".join(f"{n}[{', '.join(s)}]" for n, s in zip(names, (one, two), strict=True))
        formula = f"sum({term} for {shared[0]})"
        written = line.masked[: match.start()] + formula + line.masked[match.end() :]
        at = place(line, match[0])
        yield Meant(
            "a product of arrays is a sum over an index",
            at,
            line.unmasked(written),
            f"write `{formula}`",
            safe=True,
            code="L0203",
        )
        return


def _over(line: Line) -> Iterator[Meant]:
    """`sum(t[i, j]*r[j] over j)`, `sum(…, axis=j)`"""
    match = OVER.search(line.masked)
    if match is None or not _is_index(line, match[3]):
        return
    formula = (
        f"{match[1].lower().replace('product', 'prod')}({match[2].rstrip(',; ')} for {match[3]})"
    )
    written = line.masked[: match.start()] + formula + line.masked[match.end() :]
    start = line.masked.rindex(match[3], match.start(), match.end())
    yield Meant(
        "the index of a sum follows `for`",
        (start, start + len(match[3])),
        line.unmasked(written),
        f"write `{formula}`",
        safe=True,
    )


def _is_index(line: Line, name: str) -> bool:
    return bool(
        re.search(
            rf"^[ \t]*index\s[^\n]*(?<!\w){re.escape(name)}\b[^\n]*\bover\b", line.others, re.M
        )
    )


ROUND = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\(\s*([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)\s*\)")


def _round_brackets(line: Line) -> Iterator[Meant]:
    """`parameter t(i, j)`, `variable r(j) in simplex`"""
    if line.keyword not in ("variable", "parameter", "let", "given", "choose", "setting"):
        return
    for match in ROUND.finditer(line.masked):
        names = [name.strip() for name in match[2].split(",")]
        if all(_is_index(line, name) for name in names):
            written = ROUND.sub(lambda m: _bracketed(line, m), line.masked)
            at = place(line, match[0])
            yield Meant(
                "subscripts stand in square brackets",
                (at[0] + len(match[1]), at[1]),
                line.unmasked(written),
                safe=True,
            )
            return


def _bracketed(line: Line, match: re.Match[str]) -> str:
    names = [name.strip() for name in match[2].split(",")]
    return f"{match[1]}[{', '.join(names)}]" if all(_is_index(line, n) for n in names) else match[0]


def _simplex_first(line: Line) -> Iterator[Meant]:
    """`simplex r[j]`, `simplex[K] r`"""
    match = re.fullmatch(
        r"simplex(?:\[\w+\])?\s+([A-Za-z_]\w*)(\[[\w, ]+\])?(\s*\"\d+\")?", line.masked
    )
    if match is None:
        return
    used = re.search(rf"(?<!\w){match[1]}(\[[\w, ]+\])", line.others)
    subscripts = match[2] or (used[1] if used else "[j]")
    written = f"variable {match[1]}{subscripts} in simplex{match[3] or ''}"
    yield Meant("unknown statement `simplex`", (0, 7), line.unmasked(written), code="L0205")


RULES = (_products, _over, _round_brackets, _simplex_first)
"""The specific before the general."""
