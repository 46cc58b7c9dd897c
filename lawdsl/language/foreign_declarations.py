"""Declarations as other languages write them -> `variable r in [0, 1]`, `parameter E >= 0  unit token`.

Bounds in words (`non-negative`, `at least 1`), Stan's `<lower=0>`, keyword arguments of Python, units
with `=` or numbers, shares that sum to 1, and numbers such as `5 x 10^-2`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from lawdsl.core.units import canonical
from lawdsl.language.foreign_units import advice_on, prefixed
from lawdsl.language.keywords import KEYWORDS
from lawdsl.language.whole_lines import Line, Meant, place

DECLARATIONS = ("variable", "parameter", "given", "choose")
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
NAME = r"[A-Za-z_]\w*(?:\[[\w, ]+\])?"
NAMES = rf"{NAME}(?:\s*,\s*{NAME})*"
LIMIT = rf"(?:{NUMBER}|zero|one|[A-Za-z_]\w*)"
FILLER = (
    r"(?:(?:is|are|be|must be|must|should be|always|strictly|a|an|the|real|number|numbers|value|"
    r"values|and|finite|continuous|float|scalar|:|,|\()\s+)*"
)
ENDS = {"zero": "0", "one": "1"}

PHRASES: tuple[tuple[str, str], ...] = (
    (r"(?:non\s*-?\s*|not\s+)neg(?:ative)?|nonneg|(?:positive|\+ve)\s+or\s+(?:zero|0)", ">= 0"),
    (r"(?:non\s*-?\s*|not\s+)pos(?:itive)?|nonpos", "<= 0"),
    (r"(?:strictly\s+)?pos(?:itive)?", "> 0"),
    (r"(?:strictly\s+)?neg(?:ative)?", "< 0"),
    (rf"(?:no|not)\s+(?:less|lower|smaller)\s+than\s+({LIMIT})", ">= {}"),
    (rf"(?:no|not)\s+(?:more|greater|larger|higher)\s+than\s+({LIMIT})", "<= {}"),
    (rf"(?:greater|larger|bigger|more|higher)\s+than\s+or\s+equal\s+to\s+({LIMIT})", ">= {}"),
    (rf"(?:less|smaller|lower)\s+than\s+or\s+equal\s+to\s+({LIMIT})", "<= {}"),
    (rf"(?:(?:greater|larger|bigger|more|higher)\s+than|above|over|exceeds)\s+({LIMIT})", "> {}"),
    (rf"(?:(?:less|smaller|lower)\s+than|below|under)\s+({LIMIT})", "< {}"),
    (rf"(?:at\s+least|minimum|min|from)\s+({LIMIT})(?:\s+(?:up|upwards?|on))?", ">= {}"),
    (rf"(?:at\s+most|up\s+to|maximum|max)\s+({LIMIT})", "<= {}"),
    (rf"between\s+({LIMIT})\s+and\s+({LIMIT})", "in [{}, {}]"),
    (r"(?:a\s+)?(?:fraction|share|probability|proportion)", "in [0, 1]"),
)
"""Bounds in words -> as they are written; the numbers or names of a phrase stand for `{}`."""


def _bound(text: str) -> str | None:
    """The bound that a phrase says: `non-negative`, `must be at least 1`; None for other words."""
    text = re.sub(r"\s+", " ", text.strip().strip("()")).strip()
    for phrase, bound in PHRASES:
        match = re.fullmatch(
            rf"(?i){FILLER}(?:{phrase})(?:\s+(?:real|number|numbers|float|value|reals))*", text
        )
        if match:
            limits = [ENDS.get(limit.lower(), limit) for limit in match.groups() if limit]
            if any(limit in KEYWORDS for limit in limits):
                return None
            return bound.format(*limits)
    return None


def _split(line: Line) -> tuple[str, str, str] | None:
    """Keyword, body, and what follows it (unit and text) of a declaration."""
    if line.keyword not in DECLARATIONS:
        return None
    match = re.fullmatch(r"(\w+)(.*?)(\s+unit\s.*|\s*\"\d+\"\s*)?", line.masked)
    return (match[1], match[2], match[3] or "") if match else None


def _sign_in_words(line: Line) -> Iterator[Meant]:
    """`k non-negative`, `positive k`, `k (positive)`, `k must be at least 1`"""
    parts = _split(line)
    if parts is None:
        return
    keyword, body, tail = parts
    # the shortest list of names behind which the rest is a phrase
    words = re.findall(rf"{NAME}|\S", body)
    for count in range(1, len(words)):
        head = re.match(
            rf"\s+({NAME}(?:\s*,\s*{NAME}){{{count - 1}}})(?![\w\[])\s*,?:?\s*(.+)", body
        )
        if head is None:
            break
        bound = _bound(head[2].strip())
        if bound is not None and head[1].lower() not in ("strictly", "non"):
            written = f"{keyword} {head[1]} {bound}{tail}"
            at = place(line, head[2].strip("( ").split()[0])
            yield Meant(
                "a sign is written as a bound"
                if " 0" in bound
                else "a domain is written with signs",
                at,
                line.unmasked(written),
                safe=True,
            )
            return
    before = re.match(rf"\s+(.+?)\s+({NAMES})\s*$", body)
    bound = _bound(before[1]) if before else None
    if before and bound:
        written = f"{keyword} {before[2]} {bound}{tail}"
        yield Meant(
            "a sign is written as a bound",
            place(line, before[1]),
            line.unmasked(written),
            safe=True,
        )


LOWER = ("lower", "lb", "low", "min", "minimum", "ge", "lower_bound", "minval", "vmin")
UPPER = ("upper", "ub", "high", "max", "maximum", "le", "upper_bound", "maxval", "vmax")
TYPES = r"(?:real|vector|int|float|double|row_vector|matrix|positive_ordered|var|scalar)"
OPTION = re.compile(
    rf"([A-Za-z_]\w*)\s*[=:]\s*(\[[^\]]*\]|\([^)]*\)|{NUMBER}|True|False|true|false|TRUE|T|None|"
    r"[A-Za-z_][\w/]*|\"\d+\")"
)


def _options(line: Line) -> Iterator[Meant]:
    """`parameter<lower=0> E`, `E(lower=0, upper=1)`, `E, nonneg=True`, `E: {min: 0}`"""
    body, keyword = line.masked, line.keyword
    if keyword not in (*DECLARATIONS, "real", "vector", "int", "Symbol", "symbols"):
        return
    found = OPTION.findall(body)
    if not found or not any(_option(k, v) is not None for k, v in found):
        return
    kind = keyword if keyword in DECLARATIONS else "parameter"
    rest = body[len(keyword) :]
    first = OPTION.search(rest)
    assert first is not None
    said = [(k, v) for k, v in found if _option(k, v) is not None]
    others = [(k, v) for k, v in found if _option(k, v) is None]
    if others:
        return
    bare = OPTION.sub(" ", rest)
    tail = "".join(re.findall(r'\s+unit\s+[\w/^*]+|\s*"\d+"', bare))
    bare = re.sub(r'\s+unit\s+[\w/^*]+|"\d+"|[<>(){}:,]|\[\s*\]', " ", bare)
    bare = re.sub(rf"\b{TYPES}\b", " ", bare)
    names = [n for n in re.findall(NAME, bare)]
    left = re.sub(NAME, "", bare).strip()
    if not names or left:
        return
    low = next((v for k, v in said if k in LOWER), None)
    high = next((v for k, v in said if k in UPPER), None)
    domain = next(
        (d for k, v in said if (d := _option(k, v)) and d not in ("", "lower", "upper")), ""
    )
    if low is not None and high is not None:
        domain = f"in [{low}, {high}]"
    elif low is not None:
        domain = f">= {low}"
    elif high is not None:
        domain = f"<= {high}"
    more = "".join(f"  unit {v}" for k, v in said if k in ("unit", "units"))
    more += "".join(f"  {v}" for k, v in said if v.startswith('"') and k not in ("unit", "units"))
    written = f"{kind} {', '.join(names)}{f' {domain}' if domain else ''}{more}{tail}"
    name = said[0][0]
    message = f"bounds have no names such as `{name}`: a bound follows the name"
    if not domain:
        message = f"there is no option `{name}`"
    yield Meant(message, place(line, name), line.unmasked(written), safe=True)


CONSTRUCTOR = re.compile(
    r"([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)\s*=\s*(?:[a-z]\w*\.)*"
    r"(Symbol|symbols|Variable|Parameter|Var|Param|var|HalfNormal|HalfCauchy|Exponential|LogNormal|Gamma|"
    r"Uniform|Normal|Flat|HalfFlat|Real|Dummy)\((.*)\)"
)


def _constructor(line: Line) -> Iterator[Meant]:
    """`E = Symbol("E", positive=True)`, `E = cp.Variable(nonneg=True)`, `E = pm.HalfNormal("E", 1)`"""
    match = CONSTRUCTOR.fullmatch(re.sub(r"^(?:parameter|variable)\s+", "", line.masked))
    if match is None:
        return
    names, function, inside = match.groups()
    domains = [d for k, v in OPTION.findall(inside) if (d := _option(k, v))]
    domain = next((d for d in domains if d not in ("lower", "upper")), "")
    if function in ("HalfNormal", "HalfCauchy", "Exponential", "LogNormal", "Gamma", "HalfFlat"):
        domain = ">= 0" if function.startswith("Half") else "> 0"
    numbers = re.findall(NUMBER, re.sub(r'"\d+"', "", inside))
    if function == "Uniform" and len(numbers) == 2:
        domain = f"in [{numbers[0]}, {numbers[1]}]"
    kind = line.keyword if line.keyword in DECLARATIONS else "parameter"
    written = f"{kind} {names}{f' {domain}' if domain else ''}"
    message = f"a name is declared with `{kind}`, not with `{function}`"
    yield Meant(message, place(line, function), written, code="L0205")


INFINITE = r"\+?(?:oo|inf\w*|Inf\w*|np\.inf|math\.inf|float\(\"\d+\"\)|∞)"


def _infinite(line: Line) -> Iterator[Meant]:
    """`E > 0, < oo`, `0 < E < inf`, `-oo < t < oo`, `E >= 0 and < inf`"""
    if line.keyword not in DECLARATIONS:
        return
    above = re.compile(rf"\s*(?:,|and|&)?\s*<=?\s*{INFINITE}(?!\w)")
    below = re.compile(rf"(?<=\s)-\s*{INFINITE.removeprefix(chr(92) + '+?')}\s*<=?\s*")
    match = above.search(line.masked) or below.search(line.masked)
    if match is None:
        return
    written = below.sub("", above.sub("", line.masked))
    lower = re.match(rf"(\w+)(\s+)({LIMIT})\s*(<=?)\s*({NAMES})", written)
    if lower:
        turned = {"<": ">", "<=": ">="}[lower[4]]
        written = f"{lower[1]}{lower[2]}{lower[5]} {turned} {lower[3]}{written[lower.end() :]}"
    at = line.masked.index(match[0].strip(" ,&"))
    yield Meant(
        "a domain has no infinite bound",
        (at, at + len(match[0].strip(" ,&"))),
        line.unmasked(written),
        safe=True,
        code="L0308",
    )


def _value_of_unknown(line: Line) -> Iterator[Meant]:
    """`parameter L = E + A/N^alpha`: an equation, or a part of one"""
    match = re.fullmatch(rf"(parameter|variable)\s+({NAME})\s*=\s*(.+)", line.masked)
    if match is None or line.section != "law":
        return
    formula = re.sub(r"\s+unit\s.*|\s*\"\d+\"", "", match[3]).strip()
    names = set(re.findall(r"[A-Za-z_]\w*", formula))
    if not names & line.declared or re.match(r"[\[({]", formula) or line.formula(formula) is None:
        return
    keyword = "let " if line.has_equation else ""
    written = f"{keyword}{match[2]} = {match[3]}"
    message = f"a {match[1]} has no formula"
    yield Meant(message, (0, len(match[1])), line.unmasked(written))


def _option(key: str, value: str) -> str | None:
    """The domain that a keyword argument says: nonneg=True, bounds=(0, 1); None for an unknown one."""
    true = value in ("True", "true", "TRUE", "T", "1")
    if key in LOWER and re.fullmatch(LIMIT, value):
        return "lower"
    if key in UPPER and re.fullmatch(LIMIT, value):
        return "upper"
    if key in ("positive", "pos") and true:
        return "> 0"
    if key in ("nonneg", "nonnegative", "non_negative") and true:
        return ">= 0"
    if key in ("negative", "neg") and true:
        return "< 0"
    if key in ("nonpos", "nonpositive") and true:
        return "<= 0"
    if key in ("real", "finite") and true:
        return ""
    if key in ("bounds", "range", "domain", "interval", "limits", "lim"):
        pair = re.fullmatch(rf"[(\[]\s*({LIMIT})\s*,\s*({LIMIT})\s*[)\]]", value)
        if pair and pair[2] in ("None", "inf", "oo"):
            return f">= {pair[1]}"
        return f"in [{pair[1]}, {pair[2]}]" if pair else None
    if key in ("doc", "desc", "description", "label", "text", "title") and value.startswith('"'):
        return ""
    if key in ("unit", "units") and canonical(value.partition("/")[0]):
        return ""
    return None


def _shares(line: Line) -> Iterator[Meant]:
    """`r[j] in [0, 1] sum to 1`, `r[j] >= 0, sum(r) = 1`"""
    parts = _split(line)
    said = parts and re.search(
        r"(?i)(?<![\s,;(])[\s,;(]*(?:(?:and|which|that|with|they|,|whose|the)\s+)*(?:sums?|summing|adds?(?:\s+up)?|"
        r"total(?:s|ing)?)\b[^\"]*?\b(?:1|one|unity)\b\)?\s*$|(?<!\s)\s+(?:~|in|on|∈|is)?\s*(?:the\s+)?"
        r"(?:(?:unit|probability|standard)?[\s_-]*simplex\s*(?:\(.*\)|\[.*\])?|(?:np\.)?[Dd]irichlet\b.*)$",
        parts[1],
    )
    if not parts or not said:
        return
    keyword, body, tail = parts
    name = re.match(r"\s*([A-Za-z_]\w*)(\[[\w, ]+\])?", body)
    if name is None:
        return
    subscripts = name[2]
    if subscripts is None:
        used = re.search(rf"(?<!\w){name[1]}(\[[\w, ]+\])", line.others)
        subscripts = used[1] if used else "[j]"
    written = f"{keyword} {name[1]}{subscripts} in simplex{tail}"
    at = place(line, said[0].strip(" ,;(").split()[0])
    yield Meant(
        "shares that sum to 1 have the domain `simplex`", at, line.unmasked(written), safe=True
    )


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


RULES: tuple[Callable[[Line], Iterator[Meant]], ...] = (
    _powers_of_ten,
    _letters_for_digits,
    _shares,
    _constructor,
    _value_of_unknown,
    _infinite,
    _options,
    _unit_with_sign,
    _odd_unit,
    _sign_in_words,
    _times,
)
"""The specific before the general."""
