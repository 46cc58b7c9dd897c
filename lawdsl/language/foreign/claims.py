"""Claims, objectives and starts of other languages -> `L -> E as N -> oo`, `L finite`, `in {0, 5, ..., 25}`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from lawdsl.language.foreign.conditions import COMMA, parts_of
from lawdsl.language.foreign.declarations import NUMBER, bound_in_words
from lawdsl.language.mistakes.whole_lines import Line, Meant

INFINITE = r"(?:oo|inf\w*|Inf\w*|np\.inf|math\.inf|∞|\\infty)"
RELATED = re.compile(r"\s*(?:==?|->|→|is|\\to)\s*")


def _limit_call(line: Line) -> Iterator[Meant]:
    """`lim(L, N, oo, D, oo) = E`, `limit(L, N -> oo) = E`, `Limit[L, N -> Infinity] == E`"""
    if line.keyword not in ("require", "assert", "ensure", "claim"):
        return
    match = re.search(
        r"\b(?:sp\.|sympy\.)?(?:lim|limit|Lim|Limit)\s*[(\[](.*)[)\]](.*)$", line.masked
    )
    if match is None:
        return
    parts = [part.strip() for part in parts_of(match[1], COMMA)]
    subject, rest = parts[0], parts[1:]
    approaches: list[str] = []
    while rest:
        first = rest.pop(0).strip("{}()")
        pair = re.fullmatch(r"([\w\[\], ]+?)\s*(?:->|→|=|\\to)\s*(.+)", first)
        if pair:
            approaches.append(f"{pair[1]} -> {_end(pair[2])}")
        elif rest:
            approaches.append(f"{first} -> {_end(rest.pop(0))}")
        else:
            return
    related = RELATED.match(match[2])
    target = match[2][related.end() :].strip() if related else "E"
    if not approaches or not target:
        return
    written = f"require {subject} -> {target} as {', '.join(approaches)}"
    at = line.text.find("lim") if "lim" in line.text else line.text.find("Lim")
    yield Meant(
        "a limit is written with `->`", (at, at + 3), line.unmasked(written), safe=bool(related)
    )


def _end(text: str) -> str:
    text = text.strip(" {}()\"'")
    return "oo" if re.fullmatch(rf"\+?{INFINITE}", text) else text


def _finite(line: Line) -> Iterator[Meant]:
    """`require -oo < L < oo`, `require L != inf`"""
    infinite = rf"[-+]?\s*{INFINITE}"
    match = re.fullmatch(
        rf"(require\s+)(?:{infinite}\s*<=?\s*)?([^<>=!]+?)\s*(?:<=?|!=|<>|≠)\s*({infinite})((?:\s+(?:for|expect)\s.*)?)",
        line.masked,
    )
    if match is not None:
        written = f"{match[1]}{match[2]} finite{match[4]}"
        yield Meant("nothing is compared with infinity", match.span(3), written, code="L0308")


DIFFERENTIALS = re.compile(r"(?<!\w)d([A-Za-z_]\w*)/d([A-Za-z_]\w*)")


def _sign_in_words(line: Line) -> Iterator[Meant]:
    """`require dL/dN negative`, `require diff(L, N) less than 0`, `require L at least E`"""
    match = re.match(r"require\s+([A-Za-z_∂]\S*(?:\([^()]*\))?)\s+(?!is\b)(.+)$", line.masked)
    call = re.match(r"require\s+(\w+\([^()]*\))\s+(.+)$", line.masked)
    match = call or match
    bound = bound_in_words(match[2]) if match is not None else None
    if match is None or bound is None or bound.startswith("in "):
        return
    subject = DIFFERENTIALS.sub(r"∂\1/∂\2", match[1])
    message = "a sign is claimed by a relation"
    yield Meant(
        message,
        (match.start(2), match.start(2) + len(match[2].split()[0])),
        f"require {subject} {bound}",
        safe=True,
    )


def _relative_deviation(line: Line) -> Iterator[Meant]:
    """`prior beta = 0.3 ± 30%`: a share of the center, or a number"""
    match = re.search(r"=\s*([\d.eE+-]+)\s*(?:±|\+-|\+/-)\s*([\d.]+)\s*%", line.masked)
    if line.keyword != "prior" or match is None:
        return
    deviation = f"{float(match[1]) * float(match[2]) / 100:.6g}"
    written = f"{line.masked[: match.end(1)]} ± {deviation}{line.masked[match.end() :]}"
    at = line.text.index("%")
    yield Meant(
        "a deviation is a number, not a share of the center", (at, at + 1), written, code="L0101"
    )


def _variance(line: Line) -> Iterator[Meant]:
    """`prior beta ~ N(0.3, 0.1^2)`: the square of the standard deviation"""
    match = re.fullmatch(
        r"(prior\s+.+?)\s*(~|=)\s*(?:N|Normal|normal|norm|Gaussian|\\mathcal\{N\})\(\s*([^,]+?)\s*,\s*([\d.eE-]+)\s*(?:\^2|\*\*2|²)\s*\)",
        line.masked,
    )
    if match is not None:
        message = "a prior is written with its standard deviation behind `±`"
        yield Meant(message, match.span(2), f"{match[1]} = {match[3]} ± {match[4]}")


def _value_at_infinity(line: Line) -> Iterator[Meant]:
    """`require L(oo, oo) = E`, `require L(N = oo) = E`"""
    match = re.fullmatch(r"require\s+(\w+)\(([^()]*)\)\s*(?:==?|->)\s*(.+)", line.masked)
    if match is None:
        return
    variables = re.findall(r"^[ \t]*variable\s+([A-Za-z_]\w*)", line.others, re.M)
    parts = [part.strip() for part in match[2].split(",")]
    approaches = []
    for i, part in enumerate(parts):
        name, _, end = part.rpartition("=")
        if not name and len(parts) != len(variables):
            return
        name = name.strip() or variables[i]
        if re.fullmatch(INFINITE, end.strip()):
            approaches.append(f"{name} -> oo")
        elif end.strip() != name:
            return
    if approaches:
        written = f"require {match[1]} -> {match[3]} as {', '.join(approaches)}"
        yield Meant("a limit is written with `->`", (match.start(1), match.end(2) + 1), written)


def _named_size(line: Line) -> Iterator[Meant]:
    """`huber(log(L), delta: 1e-3)`"""
    match = re.search(r",\s*((?:delta|quantile|q|tau|d)\s*:\s*)(?=[\d.])", line.masked)
    if line.keyword == "minimize" and match is not None:
        written = line.masked[: match.start(1)] + line.masked[match.end(1) :]
        name = match[1].partition(":")[0].strip()
        yield Meant(f"`{name}` is given by its place", match.span(1), written, safe=True)


def grid_of(text: str) -> str | None:
    """The grid in braces that a range of another language is; None for another text.

    The ends of Python's `range` and NumPy's `arange` are not in them; those of R's `seq`, of `linspace`
    and of `0:5:25` are.

    Args:
        text: the range.
    """
    call = re.fullmatch(r"(?:\w+\.)*(\w+)\s*[(\[](.*)[)\]]\.?\w*\(?\)?", text.strip())
    colons = re.fullmatch(
        r"[\[(]?\s*([-\d.eE+]+)\s*:\s*([-\d.eE+]+)(?:\s*:\s*([-\d.eE+]+))?\s*[\])]?", text.strip()
    )
    try:
        if colons:
            first, second, last = colons.groups()
            step = float(second) if last else 1.0
            return _stepped(float(first), float(last or second), step)
        if call is None:
            return None
        keys = dict(re.findall(r"(\w[\w.]*)\s*=\s*([-\d.eE+]+)", call[2]))
        numbers = [float(part) for part in call[2].split(",") if "=" not in part]
        name = call[1].lower()
        if name in ("range", "arange") and call[1][0] != "R":
            numbers = [0.0, *numbers] if len(numbers) == 1 else numbers
            step = float(keys.get("step", numbers[2] if len(numbers) > 2 else 1))
            count = math.ceil((numbers[1] - numbers[0]) / step - 1e-9) - 1
            return _stepped(numbers[0], numbers[0] + count * step, step)
        count_key = next(
            (keys[k] for k in ("length.out", "length", "num", "n", "len") if k in keys), None
        )
        if name in ("seq", "range", "linspace"):
            points = count_key or (
                str(numbers[2]) if name == "linspace" and len(numbers) > 2 else None
            )
            if points is not None:
                step = (numbers[1] - numbers[0]) / (float(points) - 1)
            else:
                step = float(keys.get("by", numbers[2] if len(numbers) > 2 else 1))
            return _stepped(numbers[0], numbers[1], step)
        if name in ("logspace", "geomspace") and len(numbers) == 3 and 2 <= numbers[2] <= 100:
            first, last = (
                (10 ** numbers[0], 10 ** numbers[1]) if name == "logspace" else numbers[:2]
            )
            first, last = min(first, last), max(first, last)
            if first <= 0 or math.isinf(last / first):
                return None
            ratio = (last / first) ** (1 / (numbers[2] - 1))
            points = [
                f"{first * ratio**i:.6g}".replace("e+0", "e").replace("e+", "e")
                for i in range(int(numbers[2]))
            ]
            return f"{{{', '.join(points)}}}"
        if name in ("c", "list", "array", "tuple", "asarray", "set"):
            return f"{{{', '.join(part.strip(' []') for part in call[2].split(','))}}}"
    except (ValueError, ArithmeticError, IndexError):
        return None
    return None


def _stepped(first: float, last: float, step: float) -> str | None:
    count = (last - first) / step
    if not 1 <= count <= 1000:
        return None
    last = first + math.floor(count + 1e-9) * step  # R's seq(0, 26, 5) ends at 25
    numbers = [f"{first + i * step:.12g}" for i in range(min(round(count), 2) + 1)]
    if count < 3.5 and abs(first + round(count) * step - last) < 1e-9:
        numbers = [f"{first + i * step:.12g}" for i in range(round(count) + 1)]
        return f"{{{', '.join(numbers)}}}"
    return f"{{{numbers[0]}, {numbers[1]}, ..., {last:.12g}}}"


def _grid(line: Line) -> Iterator[Meant]:
    """`start log(A) in range(0, 30, 5)`, `start A = np.linspace(0, 1, 5)`"""
    match = re.fullmatch(r"start\s+(.+?)(?:\s+in\s*|\s*=\s*)(.+)", line.text)
    if line.keyword != "start" or match is None:
        return
    grid = grid_of(match[2].strip("{}") if ":" in match[2] else match[2])
    if grid is not None:
        at = match.start(2)
        width = len(re.match(r"[\w.]*", match[2])[0]) or 1  # type: ignore[index]
        written = f"{line.text[: match.end(1)]} in {grid}"
        listed = re.match(r"(?:c|list|array|tuple)\b", match[2]) is not None
        message = "a grid stands in braces"
        if ":" in match[2]:
            at, width, listed = line.text.index(":", at), 1, True
            message = "a range is written with its first two numbers"
        yield Meant(message, (at, at + width), written, safe=listed)


CONDITION_FIRST = tuple(
    re.compile(
        r"(?P<for>(?:require\s+)?(?:for|if|when|whenever|where|given|on))\s+"
        rf"(?P<conditions>(?:(?!\brequire\b)[^:])+?)\s*{sign}\s*(?:require\s+)?(?P<claim>.+)"
    )
    for sign in (r"(?::|\bthen\b|,?\s*(?=\brequire\b))", ",")
)
ALL = re.compile(r"(?:all|any|every|each)\b.*")
IN_INTERVAL = re.compile(r"(\w+)\s+in\s+([\[(])\s*([^,\[\]()]+),\s*([^,\[\]()]+?)\s*([\])])")


def _condition_first(line: Line) -> Iterator[Meant]:
    """`for r < r0: require ∂L/∂r < 0`, `if r < r0 then require L > 0`"""
    found = (pattern.fullmatch(line.masked) for pattern in CONDITION_FIRST)
    match = next((m for m in found if m is not None), None)
    if match is None or line.section != "law":
        return
    conditions, claim = match["conditions"].strip(), match["claim"].strip()
    if re.search(r"\belse\b|=(?!=)(?<![<>!]=)", claim):
        return  # a piecewise formula, or an equation
    message = "the conditions of a claim follow it"
    at, code = match.span("for"), "L0205"
    if match["for"].startswith("require"):
        code = "L0206"
        at = (match.end("for") - len(match["for"].split()[-1]), match.end("for"))
    if ALL.fullmatch(conditions):
        message = "a claim is about the whole domain"
        yield Meant(message, at, line.unmasked(f"require {claim}"), code=code)
        return
    listed = IN_INTERVAL.sub(_sides, re.sub(r"\s+(?:and|&&?)\s+", ", ", conditions))
    expected = re.search(r"\s+expect\s+\w+$", claim)
    tail = expected[0] if expected else ""
    written = f"require {claim.removesuffix(tail)} for {listed}{tail}"
    yield Meant(message, at, line.unmasked(written), safe=True, code=code)


def _sides(match: re.Match[str]) -> str:
    name, opening, low, high, closing = match.groups()
    lower, upper = ">=" if opening == "[" else ">", "<=" if closing == "]" else "<"
    return f"{name} {lower} {low}, {name} {upper} {high}"


FROM_TO = re.compile(
    rf"start\s+(?P<what>[^=]+?)\s*(?:\bin\b|=|(?P<word>\bfrom\b|\bbetween\b))\s*(?P<at>[\[(]?)\s*"
    rf"(?P<low>{NUMBER})\s*(?:,|\.\.|-|\bto\b|\band\b)\s*(?P<high>{NUMBER})\s*[\])]?\s*"
)


def _from_to(line: Line) -> Iterator[Meant]:
    """`start log(A) in [0, 25]`: a grid between two numbers, or the two alone"""
    match = FROM_TO.fullmatch(line.masked)
    if match is None:
        return
    low, high = float(match["low"]), float(match["high"])
    steps = [(high - low) / count for count in (5, 4, 3, 2)]
    step = next((s for s in steps if f"{s:.12g}" == f"{s:.2g}"), steps[0])
    grid = _stepped(low, high, step) if high > low else None
    decades = math.log10(high / low) if 0 < low < high else 0.0
    if 2 <= decades <= 8 and abs(decades - round(decades)) < 1e-9:
        grid = f"{{{', '.join(f'{low * 10**i:.12g}' for i in range(round(decades) + 1))}}}"
    what = re.sub(r"\s+", " ", match["what"])
    two = f"{{{match['low']}, {match['high']}}}"
    help = f"write `start {what} in {two}`"
    if grid is not None:
        help = f"write `start {what} in {grid}` for a grid between them, `{two}` for the two alone"
    at = next(match.span(g) for g in ("word", "at", "low") if match[g])
    yield Meant("a grid stands in braces", at, "", help)


RULES = (
    _condition_first,
    _limit_call,
    _finite,
    _sign_in_words,
    _relative_deviation,
    _variance,
    _value_at_infinity,
    _named_size,
    _grid,
    _from_to,
)
"""The specific before the general."""
