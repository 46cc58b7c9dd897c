"""Numbers and units of other places -> `5e-2`, `10000`, `unit Gtoken`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lawdsl.core.units import PREFIXES, UNITS, canonical
from lawdsl.language.foreign.declarations import DECLARATIONS
from lawdsl.language.foreign.units import advice_on, prefixed
from lawdsl.language.mistakes.whole_lines import Line, Meant

# Units


def _unit_with_sign(line: Line) -> Iterator[Meant]:
    """`unit=param`, `unit: param`, `units Gparam`, `unit("param")`, `unit [param]`"""
    match = re.search(
        r"\bunits?\b\s*(?:([=:])\s*|(?=[(\[\"])|(?<=s)\s)\s*[(\[]?\s*(\"\d+\"|[\w/^*.]+(?: [\w/^*.]+)*?)(?:\s*[)\]])?(?P<gap>\s*)(?=\"|$|,)",
        line.masked,
    )
    if match is None:
        return
    if match[1] is None and match[2][0] == '"' and match[0][len("unit")] == " ":
        return  # a name in quotes
    unit = line.unmasked(match[2]).strip('"').strip() if match[2][0] == '"' else match[2].strip()
    if (
        line.keyword not in (*DECLARATIONS, "setting", "let")
        and "=" not in line.masked[: match.start()]
    ):
        return
    head = line.masked[: match.start()].rstrip(", ")
    gap = "  " if line.masked[: match.start()].endswith("  ") else " "
    behind = match["gap"] + line.masked[match.end() :].removeprefix(",")
    written = f"{head}{gap}unit {unit}{behind}"
    message = "a unit follows the word `unit`"
    help = f"write `unit {unit}`"
    at = (match.start(), match.start() + len(match[0].rstrip()))
    sign = match.start(1) if match[1] else match.start()
    yield Meant(
        message, (sign, sign + 1) if match[1] else at, line.unmasked(written), help, safe=True
    )


def _odd_unit(line: Line) -> Iterator[Meant]:
    """`unit PF-days`, `unit 1e9 token`, `unit billion tokens`"""
    match = re.search(r"\bunit\s+([^\"]+?)\s*(?=\"|$)", line.masked)
    if match is None:
        return
    said = match[1]
    unit = prefixed(said)
    if unit is not None:
        written = f"{line.masked[: match.start(1)]}{unit}{line.masked[match.end(1) :]}"
        message = (
            "a unit has no number"
            if re.match(r"[\d(]", said)
            else "a prefix and its unit are one word"
        )
        yield Meant(
            message,
            (match.start(1), match.start(1) + len(re.split(r"\s", said)[0])),
            line.unmasked(written),
            f"write `unit {unit}`",
            safe=True,
            code="L0201" if re.match(r"[\d(]", said) else "L0203",
        )
        return
    advice = advice_on(said)
    if advice is not None:
        yield Meant(
            f"unknown unit `{said}`", (match.start(1), match.end(1)), "", advice, code="L0409"
        )


# Numbers

POWER_OF_TEN = re.compile(
    r"(?<![\w.])(\d+\.?\d*)\s*(?:[x×X·⋅*]|\\times|\\cdot)\s*10\s*(?:\^|\*\*)?\s*"
    r"(?:\{\s*([-+−]?\d+)\s*\}|\(\s*([-+−]?\d+)\s*\)|(?<=[\^*])\s*([-+−]?\d+)|([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+))(?![\w.])"
)
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−", "0123456789-+-")
LETTERS = re.compile(
    r"(?<![\w.])(?=[\d.OolI]*[OolI])(?=[\d.OolI]*\d)[\dOolI]*\.?[\dOolI]+(?:[eE][-+]?\d+)?(?![\w.])"
)
AS_DIGITS = str.maketrans("OolI", "0011")


def _powers_of_ten(line: Line) -> Iterator[Meant]:
    """`5 x 10^-2`, `1.5·10⁹`, `5*10^{-2}`"""

    def number(match: re.Match[str]) -> str:
        exponent = next(g for g in match.groups()[1:] if g).translate(RAISED)
        return f"{match[1].rstrip('.')}e{int(exponent)}"

    found = [m for m in POWER_OF_TEN.finditer(line.masked) if any(m.groups()[1:])]
    if not found:
        return
    written = POWER_OF_TEN.sub(lambda m: number(m) if any(m.groups()[1:]) else m[0], line.masked)
    message = "powers of ten are written with `e`"
    at = (found[0].start(), found[0].end())
    help = f"write `{number(found[0])}`"
    yield Meant(message, at, line.unmasked(written), help if len(found) == 1 else "", safe=True)


GROUPED = re.compile(r"(?<![\w.])\d{1,3}(?:[ '’_\u00a0\u202f]\d{3})+(?![\w])")
SHORT = re.compile(
    r"(?<![\w.])(\d+(?:\.\d+)?)\s?(k|K|M|B|G|T|bn|mn|thousand|million|billion|trillion)\s+(unit\s+)?([A-Za-z]+)"
)


def _grouped_digits(line: Line) -> Iterator[Meant]:
    """`1 000 000`, `1'000'000`"""
    match = GROUPED.search(line.masked)
    if match is None:
        return
    written = GROUPED.sub(lambda m: re.sub(r"\D", "", m[0]), line.masked)
    help = f"write `{re.sub(chr(92) + 'D', '', match[0])}`"
    yield Meant("numbers have no separators", match.span(), line.unmasked(written), help, safe=True)


SIZES = {"k": 1e3, "K": 1e3, "M": 1e6, "mn": 1e6, "B": 1e9, "G": 1e9, "bn": 1e9, "T": 1e12} | {
    "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12,
}  # fmt: skip
WITH_SIZE = re.compile(rf"(?<![\w.])(\d+(?:\.\d+)?)(?:\s?({'|'.join(SIZES)}))(?!\w)")
UNIT_OF_LINE = re.compile(r"(?:\bunit\s+|(?<=[\w)\]])\s+)([kMGTPE][A-Za-z]+)\s*(?:\"|,|$)")


def _size_and_prefix(line: Line) -> Iterator[Meant]:
    """`10M unit Mparam`: the unit has the prefix already, so that 10e6 would be 10e12 of them"""
    match, unit = WITH_SIZE.search(line.masked), UNIT_OF_LINE.search(line.masked)
    if match is None or unit is None or match.start() > unit.start():
        return
    if line.keyword not in (*DECLARATIONS, "setting"):
        return
    name = canonical(unit[1])
    prefix = PREFIXES.get(name[0]) if name is not None and name not in UNITS else None
    if name is None or prefix is None:
        return
    number = f"{float(match[1]) * SIZES[match[2]] / prefix:.12g}"
    message = f"a number has no prefix `{match[2]}`: the unit `{name}` has one"
    yield Meant(message, match.span(), "", f"write `{number}`, in {name}", code="L0203")


def _short_number(line: Line) -> Iterator[Meant]:
    """`10k steps`, `7 billion param`: a number with a prefix and a unit"""
    match = SHORT.search(line.masked)
    if match is None or "unit" in line.masked[: match.start()]:
        return
    unit = canonical(match[4])
    power = {"k": 3, "t": 3, "m": 6, "b": 9, "g": 9}[match[2][0].lower()]
    power = 12 if match[2] in ("T", "trillion") else power
    if unit not in UNITS or line.masked[match.end() :].lstrip()[:1] == "/":
        return
    number = f"{float(match[1]) * 1000:.12g}" if power == 3 else f"{match[1]}e{power}"
    written = f"{line.masked[: match.start()]}{number}  unit {unit}{line.masked[match.end() :]}"
    message = "a number has no prefix"
    yield Meant(
        message,
        match.span(),
        line.unmasked(written),
        f"write `{number} unit {unit}`",
        safe=True,
        code="L0203",
    )


def _letters_for_digits(line: Line) -> Iterator[Meant]:
    """`1O`, `O.5`, `l.5`: the letters O and l for 0 and 1"""
    found = [m for m in LETTERS.finditer(line.masked) if not _is_name(line, m[0])]
    if not found:
        return
    written = LETTERS.sub(
        lambda m: m[0] if _is_name(line, m[0]) else m[0].translate(AS_DIGITS), line.masked
    )
    message = f"`{found[0][0]}` has a letter for a digit"
    help = f"write `{found[0][0].translate(AS_DIGITS)}`"
    yield Meant(
        message, (found[0].start(), found[0].end()), line.unmasked(written), help, code="L0203"
    )


def _is_name(line: Line, word: str) -> bool:
    return word in line.declared or not re.search(r"^\d|\.", word)


def _times(line: Line) -> Iterator[Meant]:
    """`6 x N x D`: the letter x as a sign of products, where no x is declared"""
    if "x" in line.declared or "X" in line.declared:
        return
    sign = re.compile(r"(?<=[\w)\]])\s+[xX]\s+(?=[\w(])")
    written = sign.sub("*", line.masked)
    match = sign.search(line.masked)
    if match is not None and re.search(r"[=<>]|require|minimize", line.masked):
        at = line.masked.index(match[0].strip(), match.start())
        yield Meant(
            "a product is written with `*`", (at, at + 1), line.unmasked(written), safe=True
        )


FIRST = (_powers_of_ten, _grouped_digits, _size_and_prefix, _short_number, _letters_for_digits)
"""Tried before declarations are read."""
LAST = (_unit_with_sign, _odd_unit, _times)
"""Tried after the domain of a declaration is read."""
