"""Parser state at a syntax error -> a message that explains it, by the first matching rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lark import Token

from lawdsl.core.diagnostics import Diagnostic, Edit, Span, Text
from lawdsl.core.enumerations import disjunction
from lawdsl.language.ast_builder import span_of
from lawdsl.language.foreign.spellings import (
    FOREIGN_RULES,
    Explanation,
    Reading,
    closing_bracket,
    replacing,
)
from lawdsl.language.keywords import (
    DEFINING,
    INSTEAD,
    KEYWORDS,
    PIECEWISE,
    PLACED,
    SECTIONS,
    TRENDS,
    function_named,
    has_header,
    intended_statement,
    misspelt_statement,
    nearest,
    section_of_text,
    statements_of,
)
from lawdsl.language.mistakes.declaration_errors import DECLARATION_RULES
from lawdsl.language.mistakes.expected_tokens import ParseFailure, what_follows
from lawdsl.language.mistakes.omitted_signs import (
    function_without_brackets,
    operator_missing,
    superscript,
    two_slashes,
)
from lawdsl.language.mistakes.piecewise_errors import equality_in_condition, piecewise
from lawdsl.language.mistakes.punctuation_errors import PUNCTUATION_RULES, relation_spelling
from lawdsl.language.mistakes.several_claims import conjunction, second_relation
from lawdsl.language.mistakes.statement_errors import STATEMENT_RULES


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
    section, named = section_of_text(source.text), has_header(source.text)
    stop = ParseFailure(token, line, position, accepted, section, named, source.text)
    code, message, help, words, *edits = next(
        explanation for rule in RULES if (explanation := rule(stop))
    )
    made = tuple(edit for edit in edits if isinstance(edit, Edit))
    asked = tuple(reading.edit for reading in edits if isinstance(reading, Reading))
    span = span_of(tuple(words))
    return Diagnostic(code, message, text=source, span=span, help=help, edits=made, suggested=asked)


DECLARED = ("variable", "parameter", "given", "choose")
DATA = ("data", "dataset", "table", "input")
"""Words by which other languages name a file of measurements."""
HEADERS = (
    "class",
    "library",
    "using",
    "module",
    "package",
    "begin",
    "namespace",
    "struct",
    "model",
)
"""Words by which files of other languages begin."""


def _doubled(p: ParseFailure) -> Explanation | None:
    for sign, code, message, written in (
        ("*", "L0204", "powers are written with `^`", "^"),
        ("=", "L0209", "equality is written with one `=`", "="),
    ):
        if sign == "=" and p.statement == "require":
            continue
        if pair := p.both(sign):
            help = f"write `{written}` for `{sign * 2}`"
            return code, message, help, pair, replacing(pair, written)
    return None


def _order_of_derivative(p: ParseFailure) -> Explanation | None:
    if p.before is not None and p.before.type == "DEL" and p.token.value == "^":
        help = "write ∂²L/∂D∂r or diff(L, D, r)"
        return "L0201", "unexpected `^`", help, (p.token,)
    return None


def _no_statement(p: ParseFailure) -> Explanation | None:
    """The line's first word is not a keyword, and no equation follows it."""
    if not p.first:
        return None
    assigned = relation_spelling(p)
    if assigned is not None:
        return assigned
    first = p.line[0]
    message = f"unknown statement `{first}`"
    if p.statement == "(" and len(p.line) > 1 and p.line[1].value == "*":
        return "L0212", "`(*` is not a comment", "begin comments with `#`", p.line[:2]
    if first.value == "-" and len(p.line) > 2 and p.line[2].value in (":", "="):
        help = f"statements begin with a keyword: `variable {p.line[1]} > 0`"
        return "L0205", "a statement is not the item of a list", help, (first,)
    if first.type != "NAME":
        help = "write a claim as `require ∂L/∂N < 0`"
        if first.value in ("+", "-", "*", "/", "^"):
            help = "to go on with a formula, end the line above with the operator"
        elif first.type != "DEL":
            known = disjunction(statements_of(p.section))
            help = f"begin with {known}{_or_formula(p)}"
        return "L0205", message, help, (first,)
    if p.token.value == "(" and "=" in p.line[: len(p.line)] and first.value not in DEFINING:
        help = f"write the law as `{first} = …`, without arguments"
        values = [word.value for word in p.line]
        if ")" in values[: values.index("=")]:
            arguments = p.line[1 : values.index(")") + 1]
            return "L0205", message, help, (first,), replacing(arguments, "")
        return "L0205", message, help, (first,)
    return _meant_statement(p, first, message)


def _meant_statement(p: ParseFailure, first: Token, message: str) -> Explanation:
    """A line that begins with a name: a misspelled statement, one of another language, a formula."""
    if first.value in HEADERS and not (p.section == "question" and ":" in p.line):
        help = 'a file begins with a line such as `law my_law "what it says"`; it needs no imports'
        return "L0205", message, help, (first,)
    if p.token.value == ":" and intended_statement(str(first), p.section):
        stated = intended_statement(str(first), p.section) or ""
        return _likely_statement(str(first), message, stated, (first, p.token), p.section)
    if first.value in DEFINING and p.section == "law":
        return "L0205", message, "write the law as `L = E + A/N^alpha`", (first,)
    operator = p.token.value in ("+", "-", "*", "/", "^", ")", ",")
    values = [str(word) for word in p.line]
    if operator and p.section == "law":
        return "L0205", *_formula_alone(p, first, values)
    relation = p.token.type == "RELATION" or p.token.value in ("->", "finite", "is")
    if relation or p.token.type == "TREND":
        begins = {"law": "require", "question": "subject to", "pipeline": "step"}[p.section]
        edit = Edit(Span(span_of(first).start, span_of(first).start), f"{begins} ")
        help = f"begin it with `{begins}`"
        return (
            "L0205",
            f"unknown statement `{first}`: a claim has its keyword",
            help,
            (first,),
            edit,
        )
    meant = intended_statement(str(first), p.section, defining="=" in values)
    if meant is None or (meant in SECTIONS and p.has_header):
        known = disjunction(statements_of(p.section))
        return "L0205", message, f"begin with {known}{_or_formula(p)}", (first,)
    if first.value in DATA and p.token.type == "STRING":
        help = "a table is given to the fit: `lawdsl fit my_law.law runs.csv`"
        return "L0205", message, help, (first,)
    return _likely_statement(str(first), message, meant, (first,), p.section)


def _likely_statement(
    word: str, message: str, meant: str, replaced: Sequence[Token], section: str
) -> Explanation:
    """The message for a word that stands for a statement: a fact for a misspelt keyword, else a question."""
    edit = replacing(replaced, meant)
    colon = len(replaced) > 1
    if misspelt_statement(word, section) == meant:
        help = f"write `{meant}`" + (", without a colon" if colon else "")
        return "L0205", message, help, replaced[:1], edit
    help = f"did you mean `{meant}`" + (", without a colon?" if colon else "?")
    return "L0205", message, help, replaced[:1], Reading(edit)


def _or_formula(p: ParseFailure) -> str:
    return ", or write `NAME = formula`" if p.section == "law" else ""


def _formula_alone(
    p: ParseFailure, first: Token, values: Sequence[str]
) -> tuple[str, str, tuple[Token, ...]]:
    """The message for a formula without `L =` before it, or with `= L` behind it."""
    name = values[values.index("=") + 1 :] if "=" in values else []
    if name and (len(name) == 1 or name[1] == "unit" or name[1].startswith('"')):
        return (
            "an equation begins with the name",
            f"write `{name[0]} = …`, the name first",
            (first,),
        )
    if any(word.type == "RELATION" for word in p.line):
        return "a comparison alone is not a statement", "begin a claim with `require`", (first,)
    return (
        "a formula alone is not a statement",
        "write `L = …`, or `let NAME = …` for a part",
        (first,),
    )


def _ended(p: ParseFailure) -> Explanation | None:
    if p.token.type != "$END":
        return None
    last = p.line[-1]
    message = f"the line ends too early, after `{last}`"
    help = what_follows(p)
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
            message, help = f"unexpected `{p.token}`", "did you mean `simplex`?"
            reading = Reading(replacing((p.token,), "simplex"))
            return "L0201", message, help, (p.token,), reading
        return "L0201", message, help, (p.token,)
    if "LBRACE" in p.accepted:
        message, help = "a grid stands in braces", "write it as `in {-1, 0, ..., 5}`"
        return "L0201", message, help, (p.token,)
    return None


def _claim_behind_is(p: ParseFailure) -> Explanation | None:
    if p.before is not None and p.before.value == "is" and p.token.type in ("TREND", "FINITE"):
        help = f"leave the `is` out: `L {p.token}`"
        words = (p.before, p.token)
        edit = replacing(words, str(p.token))
        return "L0201", "the name of a law follows `is`", help, words, edit
    return None


def _mistyped_word(p: ParseFailure) -> Explanation | None:
    """A word that is nearly one of those that may stand here."""
    spellings = (text.strip("`") for text in p.accepted.values())
    words = [word for word in spellings if word in (*KEYWORDS, *PLACED, *PIECEWISE)]
    words += TRENDS if "TREND" in p.accepted else ()
    alike = nearest(str(p.token), words) if p.token.type == "NAME" else None
    if alike:
        message = f"unexpected `{p.token}`"
        edit = replacing((p.token,), alike)
        if str(p.token).lower() == alike.lower():
            return "L0201", message, f"write `{alike}`", (p.token,), edit
        return "L0201", message, f"did you mean `{alike}`?", (p.token,), Reading(edit)
    return None


def _comma_missing(p: ParseFailure) -> Explanation | None:
    if p.token.type == "NAME" and p.after is not None and p.after.value == "=" and p.before:
        message = f"a comma is missing between `{p.before}` and `{p.token}`"
        end = span_of(p.before).end
        edit = Edit(Span(end, end), ",")
        return "L0203", message, "write `,` between them", (p.token,), edit
    return None


def _keyword_as_name(p: ParseFailure) -> Explanation | None:
    if p.token.value in KEYWORDS and "NAME" in p.accepted:
        if p.token.value == "law" and p.before is not None and p.before.value == ".":
            words = p.line[p.position - 1 : p.position + 1]
            name = "".join(str(word) for word in p.line[1 : p.position - 1])
            message = "a law is named without the ending of its file"
            return "L0206", message, f"write `{name}`", (p.token,), replacing(words, "")
        message = f"`{p.token}` is a word of the language and cannot be a name"
        return "L0206", message, "choose another name", (p.token,)
    return None


def _value_for_unknown(p: ParseFailure) -> Explanation | None:
    kind = str(p.line[0])
    interval = p.after is not None and p.after.value in ("[", "(", "{")
    if p.token.value == "=" and interval and kind in ("given", "choose", "parameter", "variable"):
        edit = replacing((p.token,), "in")
        return "L0201", "a domain follows `in`", f"write `{p.before} in …`", (p.token,), edit
    if p.token.value == "=" and kind == "given":
        value = "" if p.after is None else f" {p.after}"
        help = (
            f"leave `={value}` out: who uses it gives the value; "
            "a number that is known and may be changed is a `setting`"
        )
        return "L0201", "a given must not have a value in the file", help, (p.token,)
    if p.token.value == "=" and kind == "choose":
        help = "it is what is asked for; a number that is known is a `setting`"
        return "L0201", "an unknown has no value in the file", help, (p.token,)
    if p.token.value == "=" and kind in ("parameter", "variable"):
        message = f"a {kind} has no value in a law"
        name, value = (
            p.line[1],
            p.after if p.after is not None and p.after.type == "NUMBER" else "…",
        )
        help = (
            f"for a known constant write `setting {name} = {value}`"
            + (f", to hold it `fix {name} = {value}`" if kind == "parameter" else "")
            + (
                f", for a fit to begin there `start {name} = {value}`"
                if kind == "parameter"
                else ""
            )
        )
        return "L0201", message, help, (p.token,)
    return None


def _name_first(p: ParseFailure) -> Explanation | None:
    if p.token.type == "NUMBER" and p.before is p.line[0] and "NAME" in p.accepted:
        if p.before.value in ("parameter", "variable"):
            message = "a domain begins with the name"
            values = [str(word) for word in p.line[1:6]]
            help = "write it as `x > 0` or `x in (0, 1)`"
            if len(values) == 5 and p.line[3].type == "NAME" and p.line[5].type == "NUMBER":
                low, first, name, second, high = values
                opening, closing = "[" if "=" in first else "(", "]" if "=" in second else ")"
                if {first[0], second[0]} == {"<"} and p.line[4].type == "RELATION":
                    written = f"{name} in {opening}{low}, {high}{closing}"
                    edit = replacing(p.line[1:6], written)
                    return "L0201", message, f"write `{written}`", (p.token,), edit
            return "L0201", message, help, (p.token,)
    return None


def _equation_as_claim(p: ParseFailure) -> Explanation | None:
    if p.token.value == "=" and p.line[0].value == "require":
        help = "claims use <, <=, >, >=, `is`, `->`, `finite`, `increasing in` and their like"
        if any(word.value in ("as", "lim", "limit", "Limit") for word in p.line):
            help = "write a limit as `L -> E as N -> oo`"
            first = next(w for w in p.line if w.value in ("as", "lim", "limit", "Limit"))
            if first.value != "as":
                return "L0201", "`=` is not a claim", help, (first,)
        return "L0201", "`=` is not a claim", help, (p.token,)
    return None


def _unequal(p: ParseFailure) -> Explanation | None:
    if p.token.type == "UNEQUAL":
        help = "the relations are <, <=, > and >="
        return "L0101", "unexpected `!=`", help, (p.token,)
    return None


def _dotted_function(p: ParseFailure) -> Explanation | None:
    if p.token.value == "(" and p.position > 2 and p.line[p.position - 2].value == ".":
        message = "a dotted name is that of a law, not of a function"
        words = (p.line[p.position - 3], p.token)
        edit = replacing(p.line[p.position - 3 : p.position], str(p.before))
        help = INSTEAD.get(str(p.before), f"{function_named(str(p.before)) or p.before}(…)")
        return "L0201", message, f"write `{help}`", words, edit
    return None


def _number_as_label(p: ParseFailure) -> Explanation | None:
    if p.token.type != "NUMBER" or set(p.accepted) - {"STRING"} != {"NAME"} or p.bracket is None:
        return None
    if p.bracket.value == "{":
        help = "number them as 1..30, or give them names"
        return "L0201", "labels are names", help, (p.token,)
    help = "write an index, or a label of a set that is listed"
    return "L0201", "a subscript is a name", help, (p.token,)


def _set_behind_for(p: ParseFailure) -> Explanation | None:
    if p.token.value == "in" and set(p.accepted) == {"COMMA", "RPAR"} and p.before is not None:
        help = f"write `for {p.before}`: an index has its set from its own line"
        return "L0201", "unexpected `in`", help, (p.token,)
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
        return "L0201", f"unexpected `{p.token}`", help, (p.token,)
    return None


def _comma_between_names(p: ParseFailure) -> Explanation | None:
    """`parameter A > 0 B > 0`"""
    bounded = p.after is not None and p.after.type == "RELATION"
    if p.statement in DECLARED and p.token.type == "NAME" and bounded and p.before is not None:
        message = f"a comma is missing between `{p.before}` and `{p.token}`"
        edit = Edit(Span(span_of(p.before).end, span_of(p.before).end), ",")
        return "L0203", message, f"write `{p.before}, {p.token}`", (p.before, p.token), edit
    return None


def _other_bracket(p: ParseFailure) -> Explanation | None:
    if p.token.value == "[" and p.before is not None and p.before.value == "]":
        help = "write all subscripts in one pair of brackets: `t[i, j]`"
        return (
            "L0201",
            "subscripts stand in one pair of brackets",
            help,
            (p.token,),
            replacing((p.before, p.token), ", "),
        )
    if p.token.value in ("[", "{") and "LPAR" in p.accepted:
        message = f"`{p.token}` is not a bracket of formulas"
        closing = closing_bracket(p.line, p.position)
        edits: tuple[Edit, ...] = (
            () if closing is None else (replacing((p.token,), "("), replacing((closing,), ")"))
        )
        return "L0201", message, "use `(` and `)`", (p.token,), *edits
    closer = {")": "RPAR", "]": "RSQB", "}": "RBRACE"}
    expected = [bracket for bracket in closer if closer[bracket] in p.accepted]
    if p.token.value in closer and expected:
        message = f"`{p.token}` closes a bracket of another kind"
        help = f"close it with {disjunction([f'`{bracket}`' for bracket in expected])}"
        edits = (replacing((p.token,), expected[0]),) if len(expected) == 1 else ()
        return "L0201", message, help, (p.token,), *edits
    return None


def _any(p: ParseFailure) -> Explanation:
    message = f"unexpected `{p.token}`"
    return "L0201", message, f"expected {p.expected}", (p.token,)


# the specific before the general: the first rule that matches explains the error
RULES: tuple[Callable[[ParseFailure], Explanation | None], ...] = (
    equality_in_condition,
    _doubled,
    two_slashes,
    superscript,
    _order_of_derivative,
    _no_statement,
    piecewise,
    function_without_brackets,
    *PUNCTUATION_RULES,
    *DECLARATION_RULES,
    *STATEMENT_RULES,
    _ended,
    _interval,
    _number_as_label,
    _set_behind_for,
    _claim_behind_is,
    _keyword_as_name,
    second_relation,
    _value_for_unknown,
    _name_first,
    _equation_as_claim,
    _unequal,
    _dotted_function,
    *FOREIGN_RULES,
    _mistyped_word,
    conjunction,
    _comma_missing,
    _reading,
    _comma_between_names,
    operator_missing,
    _other_bracket,
    _any,
)
