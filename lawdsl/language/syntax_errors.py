"""Parser state at a syntax error -> a message that explains it, by the first matching rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lark import Token

from lawdsl.core.diagnostics import Diagnostic, Edit, Span, Text
from lawdsl.core.enumerations import disjunction
from lawdsl.language.ast_builder import span_of
from lawdsl.language.expected_tokens import ParseFailure
from lawdsl.language.foreign_spellings import (
    FOREIGN_RULES,
    Explanation,
    closing_bracket,
    replacing,
    second_claim,
)
from lawdsl.language.keywords import (
    KEYWORDS,
    LEADING,
    ORDERS,
    PIECEWISE,
    PLACED,
    STATEMENTS,
    TRENDS,
    nearest,
)
from lawdsl.language.piecewise_errors import piecewise


def unexpected(
    token: Token, accepted: Mapping[str, str], line: Sequence[Token], source: Text
) -> Diagnostic:
    """The message for an unexpected token, from the first rule that matches.

    Args:
        token: the token; of type `$END` where the line ends too early.
        accepted: terminal that could stand there -> its spelling.
        line: all tokens of the logical line.
        source: the file.
    """
    ended = token.type == "$END"
    position = len(line) if ended else next(i for i, word in enumerate(line) if word is token)
    stop = ParseFailure(token, line, position, accepted)
    code, message, help, words, *edits = next(
        explanation for rule in RULES if (explanation := rule(stop))
    )
    return Diagnostic(
        code, message, text=source, span=span_of(words), help=help, edits=tuple(edits)
    )


def _doubled(p: ParseFailure) -> Explanation | None:
    for sign, code, message, written in (
        ("*", "L0204", "powers are written with `^`", "^"),
        ("=", "L0209", "equality is written with one `=`", "="),
        ("/", "L0212", "`//` begins no comment", "#"),
    ):
        if pair := p.both(sign):
            help = (
                "begin comments with `#`" if sign == "/" else f"write `{written}` for `{sign * 2}`"
            )
            return code, message, help, pair, replacing(pair, written)
    return None


def _superscript(p: ParseFailure) -> Explanation | None:
    if p.token.type == "ORDER" and p.before is not None:
        written = f"^{ORDERS.get(p.token.value, 2)}"
        help = f"write `{written}` for `{p.token}`"
        edit = replacing((p.token,), written)
        return "L0204", "powers are written with `^`", help, (p.token,), edit
    return None


def _order_of_derivative(p: ParseFailure) -> Explanation | None:
    if p.before is not None and p.before.type == "DEL" and p.token.value == "^":
        help = "write ∂²L/∂D∂r or diff(L, D, r)"
        return "L0201", "`^` cannot stand here", help, (p.token,)
    return None


def _no_statement(p: ParseFailure) -> Explanation | None:
    """The line's first word is not a keyword, and no equation follows it."""
    if not p.first:
        return None
    first = p.line[0]
    message = f"`{first}` begins no statement"
    if first.type != "NAME":
        help = "write a claim as `require ∂L/∂N < 0`"
        if first.value in ("+", "-", "*", "/", "^"):
            help = "to go on with a formula, end the line above with the operator"
        elif first.type != "DEL":
            help = _statements()
        return "L0205", message, help, (first,)
    alike = nearest(str(first), (*STATEMENTS, *LEADING))
    if alike:
        help = f"did you mean `{alike}`?"
    elif p.token.value == "(" and any(word.value == "=" for word in p.line):
        help = f"write the law as `{first} = …`, without arguments"
        values = [word.value for word in p.line]
        if ")" in values[: values.index("=")]:
            arguments = p.line[1 : values.index(")") + 1]
            return "L0205", message, help, (first,), replacing(arguments, "")
    else:
        help = _statements()
    return "L0205", message, help, (first,)


def _statements() -> str:
    return f"begin with {disjunction(STATEMENTS[3:])}, or write `NAME = formula`"


def _ended(p: ParseFailure) -> Explanation | None:
    if p.token.type != "$END":
        return None
    last = p.line[-1]
    message = f"the line ends too early, after `{last}`"
    help = f"{p.expected} must follow"
    # the list of all that may follow a claim would be longer than helpful
    if p.line[0].value == "require" and "TREND" in p.accepted:
        help = "say what is claimed: `< 0`, `finite`, `convex in N` or `-> E as N -> oo`"
    return "L0207", message, help, (last,)


def _interval(p: ParseFailure) -> Explanation | None:
    if p.before is None or p.before.value != "in":
        return None
    if "LSQB" in p.accepted:
        message, help = "an interval begins with a bracket", "write it as `x in [0, 1]`"
        if p.token.type == "NAME" and nearest(str(p.token), ("simplex",)):
            message, help = f"`{p.token}` cannot stand here", "did you mean `simplex`?"
        return "L0201", message, help, (p.token,)
    if "LBRACE" in p.accepted:
        message, help = "a grid stands in braces", "write it as `in {-1, 0, ..., 5}`"
        return "L0201", message, help, (p.token,)
    return None


def _second_relation(p: ParseFailure) -> Explanation | None:
    relation = p.token.type == "RELATION" or p.token.value == "="
    if relation and any(word.type == "RELATION" for word in p.line[: p.position]):
        if p.line[0].value == "require" and p.token.value != "=":
            help = "write a claim a line: `require 0 < L`, `require L < 10`"
            return "L0201", "a claim makes one comparison", help, (p.token,), *second_claim(p)
        if p.line[0].value == "subject" and p.bracket is None:
            help = "write them one after the other: `0 < x, x < 1`"
            return "L0201", "a constraint makes one comparison", help, (p.token,)
    return None


def _no_colon(p: ParseFailure) -> Explanation | None:
    """`uses loss = chinchilla`"""
    if p.line[0].type == "USES" and "COLON" in p.accepted and p.token.type != "$END":
        help = f"write `uses {p.before} : LAW`"
        return "L0201", f"`{p.token}` cannot stand here", help, (p.token,)
    return None


def _claim_behind_is(p: ParseFailure) -> Explanation | None:
    if p.before is not None and p.before.value == "is" and p.token.type in ("TREND", "FINITE"):
        help = f"leave the `is` out: `L {p.token}`"
        words = (p.before, p.token)
        edit = replacing(words, str(p.token))
        return "L0201", "behind `is` stands the name of a law", help, words, edit
    return None


def _mistyped_word(p: ParseFailure) -> Explanation | None:
    """A word that is nearly one of those that may stand here."""
    spellings = (text.strip("`") for text in p.accepted.values())
    words = [word for word in spellings if word in (*KEYWORDS, *PLACED, *PIECEWISE)]
    words += TRENDS if "TREND" in p.accepted else ()
    alike = nearest(str(p.token), words) if p.token.type == "NAME" else None
    if alike:
        message = f"`{p.token}` cannot stand here"
        edit = replacing((p.token,), alike)
        return "L0201", message, f"did you mean `{alike}`?", (p.token,), edit
    return None


def _conjunction(p: ParseFailure) -> Explanation | None:
    if p.token.value in ("and", "or"):
        help = "write each condition by itself: `x > 0, x < 1`"
        if p.line[0].value == "require":
            help = "write a claim a line: `require L > 0`, `require L < 10`"
        return "L0201", f"`{p.token}` cannot stand here", help, (p.token,)
    return None


def _comma_missing(p: ParseFailure) -> Explanation | None:
    if p.token.type == "NAME" and p.after is not None and p.after.value == "=" and p.before:
        message = f"a comma is missing between `{p.before}` and `{p.token}`"
        return "L0203", message, "write `,` between them", (p.before, p.token)
    return None


def _keyword_as_name(p: ParseFailure) -> Explanation | None:
    if p.token.value in KEYWORDS and "NAME" in p.accepted:
        message = f"`{p.token}` is a word of the language and cannot be a name"
        return "L0206", message, "choose another name", (p.token,)
    return None


def _unit_after_text(p: ParseFailure) -> Explanation | None:
    if p.token.value == "unit" and p.before is not None and p.before.type == "STRING":
        return "L0201", "the unit stands before the text", "move the text to the end", (p.token,)
    return None


def _value_for_unknown(p: ParseFailure) -> Explanation | None:
    kind = str(p.line[0])
    if p.token.value == "=" and kind == "given":
        help = "its user gives it; a number that is known and may be changed is a `setting`"
        return "L0201", "a given has no value in the file", help, (p.token,)
    if p.token.value == "=" and kind == "choose":
        help = "it is what is asked for; a number that is known is a `setting`"
        return "L0201", "an unknown has no value in the file", help, (p.token,)
    if p.token.value == "=" and kind in ("parameter", "variable"):
        message = f"a {kind} has no value in a law"
        help = "a known constant is a `setting`; what a fit starts from stands after `start`"
        return "L0201", message, help, (p.token,)
    return None


def _name_first(p: ParseFailure) -> Explanation | None:
    if p.token.type == "NUMBER" and p.before is p.line[0] and "NAME" in p.accepted:
        if p.before.value in ("parameter", "variable"):
            message = "a domain begins with the name"
            return "L0201", message, "write it as `x > 0` or `x in (0, 1)`", (p.token,)
    return None


def _equation_as_claim(p: ParseFailure) -> Explanation | None:
    if p.token.value == "=" and p.line[0].value == "require":
        help = "claims use <, <=, >, >=, `is`, `->`, `finite`, `increasing in` and their like"
        if any(word.value == "as" for word in p.line):
            help = "write a limit as `L -> E as N -> oo`"
        return "L0201", "`=` makes no claim", help, (p.token,)
    return None


def _unequal(p: ParseFailure) -> Explanation | None:
    if p.token.type == "UNEQUAL":
        help = "the relations are <, <=, > and >="
        return "L0101", "`!=` has no place in a law", help, (p.token,)
    return None


def _number_spelling(p: ParseFailure) -> Explanation | None:
    if p.token.value in (".", ".."):
        message = f"`{p.token}` cannot stand here"
        return "L0201", message, "write numbers as 0.5 or 1.0", (p.token,)
    words = (p.before, p.token, p.after)
    if p.token.value == "," and all(w is not None and w.type == "NUMBER" for w in words[::2]):
        help = "write large numbers without commas, as 1000000 or 1e6"
        return "L0201", "`,` cannot stand here", help, (p.token,)
    return None


def _dotted_function(p: ParseFailure) -> Explanation | None:
    if p.token.value == "(" and p.position > 2 and p.line[p.position - 2].value == ".":
        message = "a dotted name is that of a law, not of a function"
        words = (p.line[p.position - 3], p.token)
        edit = replacing(p.line[p.position - 3 : p.position], str(p.before))
        return "L0201", message, f"write `{p.before}(…)`", words, edit
    return None


def _number_as_label(p: ParseFailure) -> Explanation | None:
    if p.token.type != "NUMBER" or set(p.accepted) != {"NAME"} or p.bracket is None:
        return None
    if p.bracket.value == "{":
        help = "number them as 1..30, or give them names"
        return "L0201", "labels are names", help, (p.token,)
    help = "write an index, or a label of a set that is listed"
    return "L0201", "a subscript is a name", help, (p.token,)


def _set_behind_for(p: ParseFailure) -> Explanation | None:
    if p.token.value == "in" and set(p.accepted) == {"COMMA", "RPAR"} and p.before is not None:
        help = f"write `for {p.before}`: an index has its set from its own line"
        return "L0201", "`in` cannot stand here", help, (p.token,)
    return None


def _reading(p: ParseFailure) -> Explanation | None:
    """The explanation for a reading of a run that is not written as `L(step = 1000)`."""
    if p.line[0].value != "measure" or p.before is None or "=" not in p.line[: p.position]:
        return None
    in_condition = p.bracket is not None and (
        p.token.type == "RELATION" or p.token.value == "=" or p.before.type == "NAME"
    )
    if in_condition or p.token.value == "at" or (p.before.value == "]" and p.token.value == "("):
        help = "write a reading of the runs of a label as `L(step = 1000)`"
        return "L0201", f"`{p.token}` cannot stand here", help, (p.token,)
    return None


def _operator_missing(p: ParseFailure) -> Explanation | None:
    begins = p.token.type in ("NAME", "NUMBER", "DEL") or p.token.value == "("
    if begins and p.before is not None and "STAR" in p.accepted:
        message = f"an operator is missing between `{p.before}` and `{p.token}`"
        help = f"write `{p.before}*{p.token}` for a product"
        if p.before.value == ")":
            help = "write `*` between them for a product"
        edit = Edit(Span(span_of(p.before).end, span_of(p.token).start), "*")
        return "L0203", message, help, (p.before, p.token), edit
    return None


def _other_bracket(p: ParseFailure) -> Explanation | None:
    if p.token.value in ("[", "{") and "LPAR" in p.accepted:
        message = f"`{p.token}` is not a bracket of formulas"
        closing = closing_bracket(p.line, p.position)
        edits = () if closing is None else (replacing((p.token,), "("), replacing((closing,), ")"))
        return "L0201", message, "use `(` and `)`", (p.token,), *edits
    closer = {")": "RPAR", "]": "RSQB", "}": "RBRACE"}
    expected = [bracket for bracket in closer if closer[bracket] in p.accepted]
    if p.token.value in closer and expected:
        message = f"`{p.token}` closes a bracket of another kind"
        help = f"close it with {disjunction([f'`{bracket}`' for bracket in expected])}"
        return "L0201", message, help, (p.token,)
    return None


def _any(p: ParseFailure) -> Explanation:
    message = f"`{p.token}` cannot stand here"
    return "L0201", message, f"expected {p.expected}", (p.token,)


# the specific before the general: the first rule that matches explains the error
RULES: tuple[Callable[[ParseFailure], Explanation | None], ...] = (
    _doubled,
    _superscript,
    _order_of_derivative,
    _no_statement,
    piecewise,
    _ended,
    _unit_after_text,
    _interval,
    _number_as_label,
    _set_behind_for,
    _claim_behind_is,
    _no_colon,
    _keyword_as_name,
    _second_relation,
    _value_for_unknown,
    _name_first,
    _equation_as_claim,
    _unequal,
    _number_spelling,
    _dotted_function,
    *FOREIGN_RULES,
    _mistyped_word,
    _conjunction,
    _comma_missing,
    _reading,
    _operator_missing,
    _other_bracket,
    _any,
)
