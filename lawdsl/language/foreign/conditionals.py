"""Piecewise formulas of other languages -> `if … then … else …`.

R's `ifelse`, NumPy's `where` and `select`, SymPy's and MATLAB's `piecewise`, spreadsheets' `IF`, C's
`?`, indicators such as `(D < D0)*A`, `and` and `or` in conditions, and one equation for each part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lawdsl.language.foreign.conditions import (
    CLOSERS,
    COMMA,
    ELSEWHERE,
    OPENERS,
    PLUS,
    SEMICOLON,
    Condition,
    Piece,
    closing,
    condition_of,
    outside,
    parts_of,
    written,
)
from lawdsl.language.mistakes.whole_lines import TOLD, Line, Meant, place

FUNCTIONS = (
    "IF|If|if|IIF|iif|IFS|ifelse|ifElse|if_else|fifelse|where|select|Which|cond|Cond|case|cases|"
    "case_when|Piecewise|piecewise|switch|Switch|choose_if|when|ternary"
)
CALL = re.compile(rf"(?<![\w.])((?:[A-Za-z_]\w*\.)*(?:{FUNCTIONS}))\s*([(\[])")
WORDS = re.compile(
    r"(?i)\b(?:then|else\s*if|elsif|elif|else|otherwise)\b(?:\s*:)?|:|;|(?<=\s)(?:end\s*if|end|fi)\b\s*(?=$|\"|unit\b)"
)
INDICATOR = re.compile(
    r"(?:(?:np\.)?(?:I|ind|indicator|Indicator|float|int|bool|1|\\mathbb\{1\}))$"
)
TAIL = re.compile(r"\s+unit\s[^\"]*|\s*\"[^\"]*\"\s*$")
BEHIND = re.compile(
    r"[\s,;]*\b(?:for|if|when|where|whenever|provided|given|on|in case)\s+(?!all\b|any\b)(.+)$"
)


# What other languages write


def _of_call(arguments: str) -> str | None:
    """The parts of a call: `c, a, b`, `(a, c), (b, True)`, `c ~ a, TRUE ~ b`, `[c, d], [a, b], e`."""
    parts = [part.strip() for part in parts_of(arguments, COMMA)]
    if len(parts) == 1 and parts[0][:1] in ("{", "[", "("):  # Piecewise[{{a, c}, {b, True}}]
        return _of_call(parts[0][1:-1])
    lists = [_list(part) for part in parts]
    if len(parts) >= 2 and all(each is not None and len(each) == 2 for each in lists[:-1]):
        pairs = [each for each in lists if each is not None and len(each) == 2]
        told = [(_condition(c), a) for a, c in pairs]
        if len(pairs) < len(parts):
            told.append((None, parts[-1]))
        if all(c is not None or i == len(told) - 1 for i, (c, _) in enumerate(told)):
            return written(told)
    selected = [each for each in lists if each is not None]
    if len(selected) == 2 and len(parts) in (2, 3):
        pieces = [(_condition(c), a) for c, a in zip(*selected, strict=False)]
        if lists[-1] is None:
            pieces.append((None, parts[-1].rpartition("=")[2]))
        return written(pieces)
    if all("~" in part or "=" in part for part in parts) and "~" in arguments:
        sides = [re.split(r"\s*~\s*|\s*=\s*(?=[^=])", part, maxsplit=1) for part in parts]
        return written([(_condition(c), a) for c, a in sides])
    named = [re.sub(r"^\w+\s*=\s*(?![=])", "", part) for part in parts]
    pieces = [(_condition(named[i]), named[i + 1]) for i in range(0, len(named) - 1, 2)]
    if any(condition is None for condition, _ in pieces[:-1]):
        return None
    if len(named) % 2:
        pieces.append((None, named[-1]))
    return written(pieces)


def _condition(text: str) -> Condition | None:
    return None if ELSEWHERE.fullmatch(text) else condition_of(text)


def _list(text: str) -> list[str] | None:
    if not text[:1] or text[0] not in OPENERS or closing(text, 0) != len(text) - 1:
        return None
    return [part.strip() for part in parts_of(text[1:-1], COMMA)]


def _group(text: str, at: int) -> tuple[int, int]:
    """Start and end of the formula around a place, within its brackets."""
    depth, start = 0, at
    while start > 0:
        char = text[start - 1]
        depth += (char in CLOSERS) - (char in OPENERS)
        equal = char == "=" and text[start - 2 : start - 1] not in ("<", ">", "=", "!")
        if depth < 0 or (not depth and (char == "," or (equal and text[start : start + 1] != "="))):
            break
        start -= 1
    depth, end = 0, at
    while end < len(text):
        char = text[end]
        depth += (char in OPENERS) - (char in CLOSERS)
        if depth < 0 or (not depth and (char in ',"' or re.match(r"\sunit\b", text[end:]))):
            break
        end += 1
    return start, end


def _put(text: str, start: int, end: int, formula: str) -> str:
    """A text with a piecewise formula in the place of a part, in brackets where it is not all."""
    outer = _group(text, start)
    whole = text[outer[0] : outer[1]].strip() == text[start:end].strip()
    bracketed = text[start - 1 : start] == "(" and text[end : end + 1] == ")"
    return text[:start] + (formula if whole or bracketed else f"({formula})") + text[end:]


def _calls(line: Line) -> Iterator[Meant]:
    """`IF(D < D0, a, b)`, `np.where(D < D0, a, b)`, `Piecewise((a, D < D0), (b, True))`"""
    text, first = line.masked.replace(";", ","), ""
    for _ in range(8):
        for match in reversed(list(CALL.finditer(text))):  # the inner ones before the outer
            end = closing(text, match.end() - 1)
            formula = _of_call(text[match.end() : end])
            if formula is not None:
                first = match[1]
                text = _put(text, match.start(), end + 1, formula)
                break
        else:
            break
    if first:
        message = f"`{first}` is not a function of formulas"
        yield Meant(message, place(line, first), line.unmasked(text), safe=True, code="L0203")


def _with_if(text: str) -> str | None:
    """`if (c) a else b`, `if c: a else: b`, `if c and d then a else b`, `case when c then a …`"""
    match = re.search(r"(?i)(?<![\w.])(?:case\s+when|if|when)\b(?=[\s(])", text)
    if match is None:
        return None
    _, end = _group(text, match.start())
    inside = text[match.end() : end]
    inside = re.sub(r"(?i)\bwhen\b", " else if ", inside)
    words = [re.sub(r"\s+|:", "", word).lower() for word in outside(inside, WORDS)]
    chunks = parts_of(inside, WORDS)
    pieces: list[Piece] = []
    condition: Condition | None = None
    waiting = True  # whether a condition is next
    for i, chunk in enumerate(chunks):
        chunk = chunk.strip()
        before = words[i - 1] if i else "if"
        if not chunk:
            waiting = waiting or before in ("elif", "elsif", "elseif")
            continue
        if before in ("if", "elif", "elsif", "elseif"):
            value = ""
            if chunk[0] == "(" and (close := closing(chunk, 0)) < len(chunk) - 1:
                rest = chunk[close + 1 :].strip()
                if condition_of(chunk[: close + 1]) and not re.match(
                    r"[-+*/^<>≤≥=]|and\b|or\b|&|\|", rest
                ):
                    chunk, value = chunk[: close + 1], rest
            elif chunk[-1] == "}" and "{" in chunk:
                chunk, _, value = chunk.partition("{")
                value = value[:-1]
            condition = condition_of(chunk)
            if condition is None:
                return None
            if value:
                pieces.append((condition, _inner(value)))
                condition = None
        elif before in ("else", "otherwise"):
            pieces.append((None, _inner(chunk)))
        elif condition is not None:
            pieces.append((condition, _inner(chunk)))
            condition = None
        else:
            return None
    formula = written(pieces)
    return None if formula is None else _put(text, match.start(), end, formula)


def _inner(value: str) -> str:
    value = value.strip().rstrip(";,").strip()
    again = _with_if(value) if re.search(r"(?i)\bif\b", value) else None
    return again or value


def _statements(line: Line) -> Iterator[Meant]:
    text = _with_if(re.sub(r",(?=\s*else\b)", "", line.masked))
    if text is None:
        return
    for sign, message in MISTAKES:
        match = re.search(sign, line.masked)
        if match is not None:
            name = next(g for g in ("at", 0) if g == 0 or "at" in match.re.groupindex)
            at = match.span(name)
            said = message.format(match[name])
            yield Meant(said, at, line.unmasked(text), safe=True, code="L0203")
            return


MISTAKES = (
    (r"(?i)\b(?:or|and|not)\b|\|\|?|&&?", "a condition makes one comparison"),
    (
        r"\bif\b(?:(?!then|else)[^<>])*[<>]=?(?:(?!then|else)[^<>])*(?P<at>[<>]=?)",
        "a condition makes one comparison",
    ),
    (r"(?i)\b(?:elif|elseif|elsif)\b", "`{}` cannot stand here"),
    (r"(?i)\b(?:otherwise|case\s+when|when)\b", "`{}` is no word of a piecewise formula"),
    (
        r"[-+*/]\s*\b(?P<at>if)\b(?=.*\bthen\b.*\belse\b)",
        "inside a formula a piecewise one stands in brackets",
    ),
    (r"(?i)\bif\b(?:(?!then).)*?(?P<at>:)", "`then` comes after the condition, not `:`"),
    (r"(?i)\belse\b\s*(?P<at>:)", "no `:` stands behind `else`"),
    (r"(?i)(?<=\s)(?P<at>end\s*if|end|fi)\b\s*(?=$|\"|unit\b)", "a piecewise formula has no `{}`"),
    (r"(?i)\bthen\b.*(?P<at>;)\s*else\b", "no `;` stands before `else`"),
    (r"(?i)\bthen\b.*(?P<at>,)\s*else\b", "no `,` stands before `else`"),
    (r"(?i)\bif\b", "a piecewise formula is written `if … then … else …`"),
)
"""What is wrong with a piecewise formula -> the message, the first that is found."""


def _question_mark(line: Line) -> Iterator[Meant]:
    """`D < D0 ? a : b`"""
    text = line.masked
    for _ in range(8):
        at = text.rfind("?")
        if at < 0:
            break
        start, end = _group(text, at)
        if "?" in text[start:at]:
            start = max(text.rfind("?", 0, at), text.rfind(":", 0, at)) + 1
        values = parts_of(text[at + 1 : end], re.compile(":"))
        condition = condition_of(text[start:at])
        formula = (
            written([(condition, values[0]), (None, values[-1])]) if len(values) == 2 else None
        )
        if condition is None or formula is None:
            return
        lead = " " * (len(text[start:at]) - len(text[start:at].lstrip()))
        text = text[:start] + lead + formula + text[end:]
    if text != line.masked:
        at = line.text.find("?")
        message = "unexpected `?`"
        yield Meant(message, (at, at + 1), line.unmasked(text), safe=True, code="L0101")


def _indicators(line: Line) -> Iterator[Meant]:
    """`(D < D0)*A + (D >= D0)*B`, `I(D < D0)*A`, `1[D < D0]*A`"""
    text, first = line.masked, None
    for match in re.finditer(r"[(\[{]", text):
        end = closing(text, match.start())
        if end >= len(text) or condition_of(text[match.start() : end + 1]) is None:
            continue
        head = INDICATOR.search(text[: match.start()])
        begin = head.start() if head else match.start()
        start, stop = _group(text, begin)
        terms = parts_of(text[start:stop], PLUS)
        signs = ["", *(s.strip() for s in outside(text[start:stop], PLUS))]
        formula = _of_terms(terms, signs)
        if formula is None:
            return
        first = text[begin : end + 1]
        lead = " " if text[start : start + 1] == " " else ""
        text = text[:start] + lead + formula + text[stop:]
        break
    if first:
        message = "a comparison is not a number"
        yield Meant(message, place(line, first), line.unmasked(text), code="L0203")


def _of_terms(terms: Sequence[str], signs: Sequence[str]) -> str | None:
    """A sum whose terms have comparisons as factors."""
    found: dict[int, tuple[Condition, str]] = {}
    for i, term in enumerate(terms):
        factors = parts_of(term.strip(), re.compile(r"(?=[*/])"))
        for k, factor in enumerate(factors):
            inner = factor.lstrip("*").strip()
            bracket = re.search(r"[(\[{]", inner)
            if bracket is None or not (
                inner[: bracket.start()] == "" or INDICATOR.search(inner[: bracket.start()])
            ):
                continue
            condition = condition_of(inner[bracket.start() :])
            if condition is not None and not factor.startswith("/"):
                rest = "".join([*factors[:k], *factors[k + 1 :]]).strip()
                rest = re.sub(r"^\*\s*", "", rest) or "1"
                found[i] = (condition, f"1{rest}" if rest.startswith("/") else rest)
                break
    if not found:
        return None
    said: dict[int, str] = {}
    places = list(found)
    if len(places) == 2 and all(signs[i] in ("", "+") for i in places):
        together = written([found[i] for i in places])
        if together is not None:
            said = {places[0]: together, places[1]: ""}
    for i in places:
        said.setdefault(i, written([found[i], (None, "0")]) or "")
    alone = len(terms) - sum(text == "" for text in said.values()) == 1
    formula = ""
    for i, term in enumerate(terms):
        part = term.strip() if i not in said else said[i]
        if i in said and part == "":
            continue
        part = f"({part})" if i in said and not alone else part
        formula += f" {signs[i]} {part}" if formula else (f"-{part}" if signs[i] == "-" else part)
    return formula


def _piece(text: str) -> tuple[str, str, Condition | None, str] | None:
    """The name, the formula, the condition and the rest of `L = E + A/N for N < N0  unit nat/token`."""
    text = re.sub(r"#[^\"\n]*$", "", text).rstrip()
    tail = "".join(m[0] for m in TAIL.finditer(text))
    head = re.match(
        r"\s*((?:let\s+)?[A-Za-z_]\w*(?:\[[^\]]*\])?)\s*=(?!=)\s*(.+)$", TAIL.sub("", text)
    )
    if head is None:
        return None
    name, formula = head[1], head[2].strip()
    other = re.search(r"[\s,;]*\b(?:otherwise|elsewhere|else)\s*$", formula)
    if other:
        return name, formula[: other.start()], None, tail
    behind = BEHIND.search(formula)
    comma = re.search(r"\s*,\s*([^,]*(?:<|>|≤|≥)[^,]*)$", formula)
    match = behind or comma
    if match is None or "then" in formula:
        return None
    condition = condition_of(match[1])
    return None if condition is None else (name, formula[: match.start()].strip(), condition, tail)


def _equations(line: Line) -> Iterator[Meant]:
    """`L = a for D < D0` and, on another line, `L = b for D >= D0`."""
    own = _piece(line.text)
    if own is None:
        return
    found = []
    offset = 0
    for each in line.source.split("\n"):
        read = _piece(each)
        if read is not None and read[0] == own[0]:
            found.append((offset + len(each) - len(each.lstrip()), read))
        offset += len(each) + 1
    if len(found) < 2:
        return
    if found[0][0] < line.start:
        yield TOLD
        return
    formula = written([(condition, value) for _, (_, value, condition, _) in found])
    tail = next((tail for _, (_, _, _, tail) in found if tail), "")
    message = "the parts of a piecewise law are one equation"
    behind = re.search(r"\b(?:for|if|when|where|whenever)\b|,(?=[^,]*$)", line.text)
    at = (behind.start(), behind.end()) if behind else (0, len(line.keyword))
    if formula is None:
        help = f"write `{own[0]} = if … then … else …` on one line"
        yield Meant(message, at, help=help, code="L0203")
        return
    yield Meant(message, at, f"{own[0]} = {formula}{tail}", code="L0203")


def _rows(inside: str) -> list[Piece] | None:
    """The parts in `a if D < D0, b otherwise` and `a & D < D0 \\\\ b & D >= D0`."""
    rows = [row.strip() for row in parts_of(inside, SEMICOLON) if row.strip()]
    rows = rows if len(rows) > 1 else [row.strip() for row in parts_of(inside, COMMA)]
    pieces: list[Piece] = []
    for row in rows:
        match = re.fullmatch(
            r"(.+?)\s*(?:,|&|\b(?:if|for|when|where)\b)\s*(?:\\text\{.*?\}\s*)?(.+)", row
        )
        other = re.fullmatch(r"(.+?)[\s,&]*(?:\\text\{\s*)?(?:otherwise|else(?:where)?)\b.*", row)
        if other:
            pieces.append((None, other[1]))
        elif match and (condition := condition_of(match[2])) is not None:
            pieces.append((condition, match[1]))
        else:
            return None
    return pieces if len(pieces) > 1 else None


def _listed(line: Line) -> Iterator[Meant]:
    """`L = a if D < D0, b otherwise`"""
    head = re.match(
        r"((?:let\s+)?[A-Za-z_]\w*(?:\[[^\]]*\])?\s*=\s*)([^={}]+)$", TAIL.sub("", line.masked)
    )
    pieces = _rows(head[2]) if head else None
    formula = written(pieces) if pieces else None
    if head and formula:
        tail = "".join(m[0] for m in TAIL.finditer(line.masked))
        behind = re.search(r"\b(?:if|for|when|where)\b", line.masked)
        at = (behind.start(), behind.end()) if behind else (0, 1)
        message = "the condition stands before the formulas"
        yield Meant(message, at, line.unmasked(f"{head[1]}{formula}{tail}"), code="L0203")


BRANCH = re.compile(
    r"\s*(?:(if|elif|else\s*if|elseif)\b\s*(.+?)\s*(?::|\bthen\b|\{)|(else|otherwise)\b\s*[:{]?)"
    r"\s*(?:let\s+)?([A-Za-z_]\w*(?:\[[^\]]*\])?)\s*=(?!=)\s*(.+?)\s*\}?\s*$"
)


def branches(line: Line) -> Iterator[Meant]:
    """`if D < D0: L = a` and, on the next line, `else: L = b`; `if D < D0 then L = a else L = b`.

    Args:
        line: the line, or all of them where the lexer takes them for one.
    """
    if line.keyword not in ("if", "elif", "else", "elseif", "otherwise"):
        return
    one = re.sub(r"\s*\b(else\s*if|elseif|elif|else|otherwise)\b", r"\n\1", line.text)
    first = line.source.rfind("\n", 0, line.start) + 1
    block = [*one.split("\n"), *line.source[line.start + len(line.text) :].lstrip("\n").split("\n")]
    if line.keyword != "if":
        before = line.source[:first].rstrip().rpartition("\n")[2]
        if re.match(r"\s*(?:if|elif|elseif|else\s*if)\b", before):
            yield TOLD
        return
    pieces: list[Piece] = []
    name, tail = "", ""
    for each in block:
        read = BRANCH.match(re.sub(r"#.*$", "", each)) if each.strip() else None
        if read is None or (pieces and read[1] == "if"):
            break
        name = name or read[4]
        tail = tail or "".join(m[0] for m in TAIL.finditer(read[5]))
        pieces.append((None if read[3] else condition_of(read[2]), TAIL.sub("", read[5])))
    formula = written(pieces) if pieces and all(c for c, _ in pieces[:-1]) else None
    if formula:
        message = "the parts of a piecewise law are one equation"
        yield Meant(message, (0, 2), f"{name} = {formula}{tail}", code="L0203")


def _braces(line: Line) -> Iterator[Meant]:
    """`L = {a if D < D0; b otherwise}`, `L = \\begin{cases} a & D < D0 \\\\ b & D \\ge D0 \\end{cases}`"""
    text = line.masked
    latex = re.search(r"\\begin\{cases\}(.*?)\\end\{cases\}", text)
    brace = re.search(r"\{", text) if latex is None else None
    if latex is None and brace is None:
        return
    if latex is not None:
        start, end, inside = latex.start(), latex.end(), latex[1]
    else:
        assert brace is not None
        start, end = brace.start(), closing(text, brace.start()) + 1
        inside = text[start + 1 : end - 1]
    pieces = _rows(inside)
    if pieces is None:
        return
    formula = written(pieces)
    if formula is not None:
        message = "a piecewise formula is written `if … then … else …`"
        yield Meant(
            message,
            (start, start + 1),
            line.unmasked(_put(text, start, end, formula)),
            code="L0203",
        )


RULES = (
    _equations,
    branches,
    _calls,
    _question_mark,
    _braces,
    _listed,
    _statements,
    _indicators,
)
"""The specific before the general."""
