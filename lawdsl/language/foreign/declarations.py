"""Declarations as other languages write them -> `variable r in [0, 1]`, `parameter E >= 0  unit token`.

Bounds in words (`non-negative`, `at least 1`), Stan's `<lower=0>`, keyword arguments of Python, intervals
without commas, and shares that sum to 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from lawdsl.core.units import canonical
from lawdsl.language.keywords import KEYWORDS
from lawdsl.language.mistakes.whole_lines import Line, Meant, place

DECLARATIONS = ("variable", "parameter", "given", "choose")
NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
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


def bound_in_words(text: str) -> str | None:
    """The bound that a phrase says: `non-negative`, `must be at least 1`; None for other words.

    Args:
        text: the phrase.
    """
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
        bound = bound_in_words(head[2].strip())
        if bound is not None and head[1].lower() not in ("strictly", "non"):
            written = f"{keyword} {head[1]} {bound}{tail}"
            at = place(line, head[2].strip("( ").split()[0])
            yield Meant(
                "a sign is written as a bound"
                if " 0" in bound
                else "a domain is written as an interval, or with `<` and `>`",
                at,
                line.unmasked(written),
                safe=True,
            )
            return
    before = re.match(rf"\s+(.+?)\s+({NAMES})\s*$", body)
    bound = bound_in_words(before[1]) if before else None
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


TWO_BOUNDS = re.compile(
    rf"(\w+)\s+({NAMES})\s*([<>]=?)\s*({NUMBER})\s*(?:,|(and|&&?|;))\s*(?:({NAME})\s*)?"
    rf"([<>]=?)\s*({NUMBER})(\s+unit\s.*|\s*\"\d+\"\s*)?"
)


def _two_bounds(line: Line) -> Iterator[Meant]:
    """`gamma > 0 and < 1`, `A, B > 0, < 1`"""
    match = TWO_BOUNDS.fullmatch(line.masked)
    if line.keyword not in DECLARATIONS or match is None or match[3][0] == match[7][0]:
        return
    keyword, names, first, one, sign, again, second, two, tail = match.groups()
    if again is not None and (sign is None or again != names):
        return
    low, high = ((first, one), (second, two)) if first[0] == ">" else ((second, two), (first, one))
    written = f"{keyword} {names} {first} {one}, {names} {second} {two}{tail or ''}"
    if "," in names:
        left, right = "[" if "=" in low[0] else "(", "]" if "=" in high[0] else ")"
        written = f"{keyword} {names} in {left}{low[1]}, {high[1]}{right}{tail or ''}"
    message = "a second bound needs the name again" if again is None else f"unexpected `{sign}`"
    at = match.span(5) if sign else match.span(7)
    code = "L0201" if sign in (None, "and") else "L0101"
    yield Meant(message, at, line.unmasked(written), safe=True, code=code)


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


RANGE = re.compile(
    rf"(\bin\s*)?([\[(])\s*({NUMBER})\s*(-|–|:|\bto\b|\.\.+|\|)\s*({NUMBER})\s*([\])])"
)
ATTRIBUTES = re.compile(
    rf"[\s,]+(?:(step|by|increment)\s*=?\s*{NUMBER}|(default|init|initial|initially|value|starts?|guess)\s*(?:at|=|:)?\s*({NUMBER})|"
    rf"(fixed|held|frozen|constant)(?:\s*(?:at|to|=|:)?\s*({NUMBER}))?|"
    r"(optional|shared|global|trainable|learned|learnable|fitted|estimated|unknown|observed|measured|known|"
    r"input|output|covariate|required|float|real))(?=\s*(?:$|\"|unit\b))"
)


def _interval_as_range(line: Line) -> Iterator[Meant]:
    """`r [0-1]`, `r in (0..1]`"""
    match = RANGE.search(line.masked)
    if line.keyword not in DECLARATIONS or match is None:
        return
    interval = f"in {match[2]}{match[3]}, {match[5]}{match[6]}"
    head = line.masked[: match.start()].rstrip()
    written = f"{head} {interval}{line.masked[match.end() :]}"
    message = "the ends of an interval have a comma between"
    yield Meant(message, match.span(4), line.unmasked(written), safe=True)


def _attribute(line: Line) -> Iterator[Meant]:
    """`r in [0, 1] step 0.1`, `E > 0 fixed at 1.69`, `E > 0 init 2`, `E > 0 shared`"""
    match = ATTRIBUTES.search(line.masked)
    if line.keyword not in ("variable", "parameter") or match is None:
        return
    name = re.match(rf"\w+\s+({NAME})", line.masked)
    plain = line.masked[: match.start()] + line.masked[match.end() :]
    step, start, value, fixed, held, other = match.groups()
    word = step or start or fixed or other
    at = line.masked.index(word, match.start())
    help = "leave it out" if step is None else "a domain has no step: leave it out"
    written = plain
    if name is not None and line.keyword == "parameter" and value:
        written = f"{plain}\nstart {name[1]} = {value}"
        help = ""
    elif name is not None and line.keyword == "parameter" and fixed:
        written = f"{plain}\nfix {name[1]} = {held}" if held else ""
        help = "" if held else f"to hold it write `fix {name[1]} = …` on a line of its own"
    message = (
        f"unexpected `{word}` behind the domain" if not fixed else "a parameter is held by `fix`"
    )
    yield Meant(message, (at, at + len(word)), line.unmasked(written), help)


def _names_in_a_row(line: Line) -> Iterator[Meant]:
    """`A alpha both > 0`, `A and alpha each > 0`"""
    match = re.fullmatch(
        r"(\w+\s+)([A-Za-z_]\w*(?:(?:\s*,\s*|\s+and\s+|\s+)[A-Za-z_]\w*)+?)\s*,?\s+(both|each|all|respectively)\s+(.+)",
        line.masked,
    )
    if line.keyword in DECLARATIONS and match is not None:
        names = ", ".join(re.split(r"\s*,\s*|\s+and\s+|\s+", match[2]))
        written = f"{match[1]}{names} {match[4]}"
        yield Meant(f"unexpected `{match[3]}`", match.span(3), line.unmasked(written), safe=True)


WHOLE = r"(?:int|ints|integer|integers|whole|uint|natural)"
NUMERIC = r"(?:real|float|double|number|numeric|scalar|continuous)"
KIND_FIRST = re.compile(
    rf"(\w+)\s+((?:{WHOLE}|{NUMERIC})(?:\s+numbers?)?)\s*:?\s+({NAMES})((?:\s*[<>=\[(]|\s+in\b|\s+unit\b|\s*$|\s*\").*|)"
)


def _kind_first(line: Line) -> Iterator[Meant]:
    """`choose int n in [1, 16]`, `variable float N > 0`: a type before the name"""
    match = KIND_FIRST.fullmatch(line.masked)
    if line.keyword not in DECLARATIONS or match is None:
        return
    keyword, kind, names, domain = match.groups()
    if re.search(rf"(?<!\w){re.escape(kind)}(?!\w)", line.others):
        return  # it is a name
    integer = ""
    message = "numbers have no type here"
    if re.match(WHOLE, kind):
        message = "only what a question chooses may be a whole number"
        if keyword == "choose":
            message, integer = "for whole numbers `integer` stands behind the name", " integer"
    written = f"{keyword} {names}{integer}{domain}"
    yield Meant(message, match.span(2), line.unmasked(written), safe=True)


LISTED = re.compile(
    rf"((\w+)\s+({NAME}))\s*(?:integer\s+)?(?:in\b|=|:|from\b|of\b)?\s*([\[(])\s*"
    rf"({NUMBER}(?:\s*,\s*(?:{NUMBER}|\.\.\.)){{2,}})\s*[\])]"
)


def _listed(line: Line) -> Iterator[Meant]:
    """`choose n in [1, 2, 4, 8]`: numbers to choose from, or an interval with more than two ends"""
    match = LISTED.match(line.masked)
    if match is None or line.keyword not in DECLARATIONS:
        return
    head, keyword, name, _, numbers = match.groups()
    values = [part.strip() for part in numbers.split(",")]
    tail = line.masked[match.end() :]
    if keyword == "choose" and "..." not in values:
        written = f"{head} in {{{', '.join(values)}}}{tail}"
        message = "a list of numbers stands in braces"
        yield Meant(message, match.span(4), line.unmasked(written), safe=True)
        return
    ends = f"[{values[0]}, {values[-1]}]"
    if keyword == "choose":
        message = "a list of numbers has no `...`"
        help = f"write all of them in braces, or `{name} in {ends}`"
        yield Meant(message, match.span(4), "", help)
        return
    written = f"{head} in {ends}{tail}"
    yield Meant("an interval has two ends", match.span(4), line.unmasked(written))


def _keyword_as_type(line: Line) -> Iterator[Meant]:
    """`N : variable > 0`, `E: parameter`"""
    match = re.fullmatch(
        rf"({NAME})\s*(:)\s*(variable|parameter|setting|given|choose)\b\s*(.*)", line.masked
    )
    if match is not None:
        written = f"{match[3]} {match[1]} {match[4]}".rstrip()
        message = f"`{match[3]}` begins the line"
        yield Meant(message, match.span(3), line.unmasked(written), code="L0205", safe=True)


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


RULES: tuple[Callable[[Line], Iterator[Meant]], ...] = (
    _shares,
    _interval_as_range,
    _attribute,
    _names_in_a_row,
    _kind_first,
    _listed,
    _two_bounds,
    _keyword_as_type,
    _constructor,
    _value_of_unknown,
    _infinite,
    _options,
    _sign_in_words,
)
"""The specific before the general."""
