"""Statements of other forms -> those that are meant: titles, keywords before equations, left sides.

Also texts with quotes in them, several definitions in a line, and functions with a module's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lawdsl.core.diagnostics import Edit, Span
from lawdsl.language import tree
from lawdsl.language.foreign.conditions import COMMA, closing, parts_of
from lawdsl.language.foreign.functions import MODULES, filled, renamed
from lawdsl.language.keywords import (
    DEFINING,
    FUNCTIONS,
    KEYWORDS,
    LEADING,
    PLACED,
    SECTIONS,
    intended_statement,
)
from lawdsl.language.mistakes.whole_lines import STRING, Line, Meant, place
from lawdsl.language.printer import print_formula

FORMULA_WORDS = (*DEFINING, *"formula equation expr expression prediction compute yields".split())
"""Words before the formula of a law, with or without its name."""
EQUATION_WORDS = (
    *FORMULA_WORDS,
    *"model eq equations law define result target response scaling_law curve".split(),
)
"""Words before the equation of a law that say that it is one."""


def _inner_quotes(line: Line) -> Iterator[Meant]:
    """`law power "Loss of the "power" law"`: the text ends at the second quote."""
    texts = list(STRING.finditer(line.text))
    if len(texts) < 2 and r"\"" not in line.text or not texts:
        return
    if line.keyword in ("step", "index", "choose", "start", "uses", "extends", "measure"):
        return
    before, behind = line.text[: texts[0].start()].rstrip(), line.text[texts[0].end() :].strip()
    if not before or before[-1] in "=({[,:" or before.endswith("unit") or before in KEYWORDS:
        if before != "source":
            return
    if re.match(r"unit\b|in\b|[<>=#]", behind):
        return
    last = line.text.rindex('"')
    inner = re.sub(r'[\\"]', "", line.text[texts[0].start() : last])
    inner = re.sub(r"\s+", " ", inner).strip()
    rest = line.text[last + 1 :]
    if rest.strip():
        return
    written = f'{line.text[: texts[0].start()]}"{inner}"'
    at = texts[0].end() - 1
    message = 'the text ends at its second `"`'
    help = f'leave the inner quotes out: `"{inner}"`'
    yield Meant(message, (at, at + 1), written, help, safe=True)


def _sign_before_text(line: Line) -> Iterator[Meant]:
    """`source = "Hoffmann et al."`, `source: "…"`"""
    match = re.fullmatch(
        r'(source|(?:law|question|pipeline)\s+[\w.]+)\s*([:=-])\s*("[^"]*")', line.text
    )
    if match is not None:
        message = f"no `{match[2]}` stands before the text"
        yield Meant(message, match.span(2), f"{match[1]} {match[3]}", safe=True)


def _second_equal(line: Line) -> Iterator[Meant]:
    """`L = E + A/N^alpha = loss`"""
    match = re.fullmatch(
        r"((?:let\s+)?[A-Za-z_]\w*\s*=\s*[^=<>]+?)\s*(=)\s*([A-Za-z_]\w*)(\s+unit\s.*|\s*\"\d+\")?",
        line.masked,
    )
    if match is not None and match[3] not in line.declared:
        written = line.unmasked(f"{match[1]}{match[4] or ''}")
        yield Meant("an equation has one `=`", match.span(2), written)


def _claim_without_require(line: Line) -> Iterator[Meant]:
    """`limit L -> E as N -> oo`: an unknown word before a claim"""
    match = re.fullmatch(r"([A-Za-z]\w*)\s*:?\s+(\S.*)", line.masked)
    if match is None or line.section != "law" or match[1] in (*KEYWORDS, *LEADING, *FUNCTIONS):
        return
    claims = re.search(r"->|[<>]|\bfinite\b|creasing\b|\bcon(?:vex|cave)\b", match[2])
    if claims and match[1] not in line.declared and match[1] != line.output:
        if intended_statement(match[1], line.section) in (None, *SECTIONS):
            message = f"unknown statement `{match[1]}`: a claim begins with `require`"
            yield Meant(message, match.span(1), line.unmasked(f"require {match[2]}"), code="L0205")


def _equation_keyword(line: Line) -> Iterator[Meant]:
    """`equation L = …`, `return …`, `def loss(N, D): return …`, `predict: …`"""
    word = line.keyword
    known = word in EQUATION_WORDS and (word != "law" or line.has_header)
    if line.section != "law" or not known:
        return
    body = line.masked[len(word) :].strip()
    named = re.match(
        r"([A-Za-z_]\w*(?:\[[^\]]*\])?)\s*(?:\([^)=]*\)\s*)?(?::=|=(?!=)|<-|~)\s*", body
    )
    if named and named[1] not in KEYWORDS and "return" not in body:
        part = line.has_equation and named[1] != line.output
        written = f"{'let ' if part else ''}{named[1]} = {body[named.end() :]}"
        message = (
            "a part of the law is declared with `let`"
            if part
            else "the equation of a law has no keyword"
        )
        yield Meant(message, (0, len(word)), line.unmasked(written), safe=True, code="L0205")
        return
    if word not in FORMULA_WORDS or line.has_equation:
        return
    returned = re.search(r"\breturn\s+(.+)$", body)
    returned = returned or re.search(r":\s*([^:=]+)$|(?:=>|->)\s*(.+)$", body)
    formula = next((g for g in returned.groups() if g), body) if returned else body
    formula = formula.strip("{}; ")
    if formula and (returned or not formula.startswith("(")):
        written = line.unmasked(f"{line.output} = {formula.removeprefix('=').strip()}")
        yield Meant(f"unknown statement `{word}`", (0, len(word)), written, code="L0205")


def _where(line: Line) -> Iterator[Meant]:
    """`where scale = …` below the equation that uses it"""
    match = re.fullmatch(
        r"(where|with|and|for|having|letting)\s+([A-Za-z_]\w*)\s*:?=\s*(.+)", line.text
    )
    if match is None or not line.parses(f"let {match[2]} = {match[3]}"):
        return
    offset = 0
    used = re.compile(rf"(?<![\w\"]){re.escape(match[2])}(?!\w)")
    for number, each in enumerate(line.source.split("\n"), start=1):
        plain = re.sub(r'"[^"]*"|#.*', "", each)
        if offset >= line.start:
            break
        if used.search(plain):
            let = f"let {match[2]} = {match[3]}"
            said = re.sub(r"\s+", " ", STRING.sub("", let)).strip()
            help = f"write `{said}` above line {number}"
            end = min(line.start + len(line.text) + 1, len(line.source))
            edits = (
                Edit(Span(offset, offset), f"{let}\n"),
                Edit(Span(line.start, end), ""),
            )
            message = "a part of the law is declared by `let`, above the line that uses it"
            yield Meant(message, (0, len(match[1])), "", help, code="L0205", elsewhere=edits)
            return
        offset += len(each) + 1


def _several_definitions(line: Line) -> Iterator[Meant]:
    """`let a = …, b = …`, `setting a = 1, b = 2`"""
    if line.keyword not in ("let", "setting"):
        return
    body = line.masked[len(line.keyword) :].strip()
    parts = [part.strip() for part in parts_of(body, re.compile(r"[,;]|\band\b"))]
    named = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\s*=\s*\S")
    if len(parts) < 2 or not all(named.match(part) for part in parts):
        return
    written = "\n".join(f"{line.keyword} {part}" for part in parts)
    second = line.masked.find(parts[1])
    message = f"a `{line.keyword}` line has one definition"
    yield Meant(message, (second, second + 1), line.unmasked(written), safe=True)


FUNCTION = re.compile(
    r"([A-Za-z_]\w*(?:\[[^\]]*\])?)\s*(?:=|<-|:=)\s*(?:function\s*\([^()]*\)\s*\{?|lambda\s+[\w\s,]+:|"
    r"\\\([^()]*\)|\(?[\w\s,]+\)?\s*(?:=>|->))\s*(?:return\b)?\s*(.+?)\s*\}?"
)


def _function(line: Line) -> Iterator[Meant]:
    """`L <- function(N, D) E + A/N^alpha`, `L = lambda N, D: E + A/N^alpha`"""
    match = FUNCTION.fullmatch(line.masked)
    if match is not None and match[1] not in KEYWORDS:
        written = line.unmasked(f"{match[1]} = {match[2]}")
        message = "a law is a formula, not a function"
        yield Meant(message, (match.end(1), match.start(2)), written, code="L0203", safe=True)


# Left sides


def _left_side(line: Line) -> Iterator[Meant]:
    """`log(L) = a - b*x`, `L - E = B/S^beta`, `L/E = …`"""
    head = re.match(
        r"(?:let\s+)?([^=<>\"]+?)\s*=(?![=>])\s*([^\"]+?)(\s+unit\s[^\"]*)?(\s*\"[^\"]*\")*$",
        line.masked,
    )
    if head is None or line.section != "law" or line.keyword in KEYWORDS - {"let"}:
        return
    if line.keyword in LEADING and len(line.words) > 1 and line.words[1].type == "NAME":
        return
    side = re.sub(r"^(\w+)\s+([A-Za-z_]\w*)$", r"\1(\2)", head[1])  # ln L
    left, right = line.formula(side), line.formula(head[2])
    if left is None or right is None or isinstance(left, (tree.Name, tree.Element)):
        return
    alone = _name(right)
    if alone is not None and alone.partition("[")[0] not in line.declared:
        written = line.unmasked(f"{alone} = {head[1]}{line.masked[head.end(2) :]}")
        yield Meant(
            "an equation begins with the name", (0, len(head[1])), written, code="L0205", safe=True
        )
        return
    names = {n for node in tree.walk(left) if (n := _name(node)) is not None}
    unknown = [n for n in names if n.partition("[")[0] not in line.declared]
    if len(unknown) != 1:
        return
    solved = _solved(left, unknown[0], right)
    if solved is None:
        return
    tail = line.masked[head.end(2) :]
    written = line.unmasked(f"{unknown[0]} = {print_formula(solved)}{tail}")
    message = "on the left of an equation stands one name"
    yield Meant(message, (0, len(head[1])), written, code="L0205")


def _name(node: tree.Node) -> str | None:
    if isinstance(node, (tree.Name, tree.Element)):
        return print_formula(node)
    return None


def _has(formula: tree.Formula, name: str) -> bool:
    return sum(_name(node) == name for node in tree.walk(formula)) == 1


def _solved(left: tree.Formula, name: str, right: tree.Formula) -> tree.Formula | None:
    """What a name equals, where `left = right` and the name stands once in `left`."""
    if _name(left) == name:
        return right
    minus_one = tree.Negative(tree.Number("1"))
    match left:
        case tree.Call("log" | "ln" | "Log", (of,), (), ()):
            return _solved(of, name, tree.Call("exp", (right,)))
        case tree.Call("log10", (of,), (), ()):
            return _solved(of, name, tree.Power(tree.Number("10"), right))
        case tree.Call("log2", (of,), (), ()):
            return _solved(of, name, tree.Power(tree.Number("2"), right))
        case tree.Call("exp", (of,), (), ()):
            return _solved(of, name, tree.Call("log", (right,)))
        case tree.Call("sqrt", (of,), (), ()):
            return _solved(of, name, tree.Power(right, tree.Number("2")))
        case tree.Negative(of):
            return _solved(of, name, tree.Negative(right))
        case tree.Sum(terms) if _has(left, name):
            inside = next((s, t) for s, t in terms if _has(t, name))
            others = [(s, t) for s, t in terms if t is not inside[1]]
            back = {"+": "-", "-": "+"}
            if inside[0] == "-":
                moved = [*others, ("-", right)]
            else:
                moved = [("+" if back[s] == "+" else "-", t) for s, t in others]
                first = [pair for pair in moved if pair[0] == "+"]
                own = right.terms if isinstance(right, tree.Sum) else (("+", right),)
                moved = [*first, *own, *(pair for pair in moved if pair[0] == "-")]
            return _solved(inside[1], name, tree.Sum(tuple(moved)))
        case tree.Product(factors) if _has(left, name):
            sign, of = next((s, t) for s, t in factors if _has(t, name))
            rest = [(s, t) for s, t in factors if t is not of]
            if sign == "*":
                swapped = [("/" if s == "*" else "*", t) for s, t in rest]
                above = [pair for pair in swapped if pair[0] == "*"]
                below = [pair for pair in swapped if pair[0] == "/"]
                return _solved(of, name, tree.Product((*above, ("*", right), *below)))
            if rest and rest[0][0] == "*":
                return _solved(of, name, tree.Product((*rest, ("/", right))))
        case tree.Power(base, exponent) if _has(base, name):
            power = tree.Product((("*", tree.Number("1")), ("/", exponent)))
            if isinstance(exponent, tree.Negative):
                power = tree.Product((("*", minus_one), ("/", exponent.operand)))
            return _solved(base, name, tree.Power(right, power))
    return None


def _unknown_keyword(line: Line) -> Iterator[Meant]:
    """`part seen = max(D/U - 1, 0)`: an unknown word before a definition"""
    match = re.fullmatch(
        r"([A-Za-z]\w*)\s+([A-Za-z_]\w*(?:\[[^\]]*\])?)\s*(?::=|=(?!=))\s*(.+)", line.masked
    )
    if match is None or line.section != "law" or match[1] in (*KEYWORDS, *LEADING, *FUNCTIONS):
        return
    if (
        intended_statement(match[1], line.section) not in (None, *SECTIONS)
        or match[2].partition("[")[0] in line.declared
    ):
        return
    part = line.has_equation and match[2] != line.output
    written = f"{'let ' if part else ''}{match[2]} = {match[3]}"
    message = f"unknown statement `{match[1]}`"
    yield Meant(message, match.span(1), line.unmasked(written), code="L0205")


def _positive_part(line: Line) -> Iterator[Meant]:
    """`(D/U - 1)_+`, `[D/U - 1]+`"""
    for match in re.finditer(r"[\])]_?\+(?=\s*(?:$|[)\],*/]|unit\b|\"))", line.masked):
        start = next(
            (
                i
                for i in range(match.start())
                if line.masked[i] in "([" and closing(line.masked, i) == match.start()
            ),
            None,
        )
        if start is None:
            continue
        inner = line.masked[start + 1 : match.start()]
        formula = f"max({inner}, 0)"
        written = line.masked[:start] + formula + line.masked[match.end() :]
        message = "a positive part is written with `max`"
        yield Meant(message, match.span(), line.unmasked(written), f"write `{formula}`", safe=True)
        return


def _hyphens(line: Line) -> Iterator[Meant]:
    """`parameter alpha-N > 0`, `let D-eff = …`: names have no hyphens"""
    kinds = ("variable", "parameter", "given", "choose", "setting", "let", "index", "fix", "prior")
    if line.keyword not in kinds:
        return
    name = re.match(
        r"\w+\s+([A-Za-z]\w*(?:-[A-Za-z0-9]\w*)+)(?=\s*(?:[,<>=\[\"]|in\b|unit\b|over\b|$))",
        line.masked,
    )
    if name is None or re.match(r"(?i)non?-", name[1]):
        return
    plain = name[1].replace("-", "_")
    if plain in PLACED or plain in KEYWORDS:
        return
    written = line.masked.replace(name[1], plain)
    again = re.search(rf"(?<![\w-]){re.escape(name[1])}(?![\w-])", line.others)
    help = f"write `{plain}`" + (", also where it is used" if again else "")
    at = place(line, name[1])
    hyphen = at[0] + name[1].index("-")
    yield Meant(
        "names have no hyphens", (hyphen, hyphen + 1), line.unmasked(written), help, safe=not again
    )


PREFIXED = re.compile(rf"(?<![\w.])(?:{'|'.join(MODULES)})(?:\.\w+)*\.(\w+)(?=\s*\()")


def _prefixed_functions(line: Line) -> Iterator[Meant]:
    """`np.log(N)`, `torch.relu(x)`, `math.pow(N, 2)`"""
    first = PREFIXED.search(line.masked)
    if first is None:
        return
    text = PREFIXED.sub(r"\1", line.masked)
    for _ in range(12):
        for call in reversed(list(re.finditer(r"(?<![\w.])([A-Za-z_]\w*)\(", text))):
            end = closing(text, call.end() - 1)
            arguments = [part.strip() for part in parts_of(text[call.end() : end], COMMA)]
            formula = None if call[1] in FUNCTIONS else filled(call[1], arguments)
            name = renamed(call[1])
            if formula is not None:
                alone = re.fullmatch(r"\w+\(([^()]|\([^()]*\))*\)", formula)
                text = (
                    text[: call.start()] + (formula if alone else f"({formula})") + text[end + 1 :]
                )
                break
            if name is not None:
                text = text[: call.start()] + name + text[call.end(1) :]
                break
        else:
            break
    message = "a dotted name is that of a law, not of a function"
    yield Meant(message, first.span(), line.unmasked(text), safe=True)


RULES = (
    _inner_quotes,
    _sign_before_text,
    _second_equal,
    _hyphens,
    _equation_keyword,
    _where,
    _function,
    _several_definitions,
    _unknown_keyword,
    _positive_part,
    _left_side,
    _claim_without_require,
    _prefixed_functions,
)
"""The specific before the general."""
