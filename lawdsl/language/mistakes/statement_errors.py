"""A syntax error in a claim, an objective, a start, a use or a step -> what the statement should say."""

from __future__ import annotations

import re
from collections.abc import Callable

from lawdsl.core.diagnostics import Edit
from lawdsl.language.ast_builder import span_of
from lawdsl.language.foreign.claims import grid_of
from lawdsl.language.foreign.spellings import (
    Explanation,
    Reading,
    closing_bracket,
    inserting,
    replacing,
)
from lawdsl.language.keywords import FUNCTIONS, SIGNS, TRENDS, nearest
from lawdsl.language.mistakes.expected_tokens import ParseFailure
from lawdsl.language.mistakes.loose_words import joined
from lawdsl.language.mistakes.several_claims import claimed_range

CONDITIONALS = ("where", "if", "when", "whenever", "with", "given", "provided", "assuming", "while")
BESIDE_FINITE = ("defined", "bounded", "exists", "real", "continuous", "valid", "is_finite")
DIRECTIONS = ("monotone", "monotonic", "monotonically", "rises", "falls", "grows", "shrinks")


def _claim_in_words(p: ParseFailure) -> Explanation | None:
    """`L positive`, `increasing(L, N)`, `L decreasing`, `L in [0, 10]`, `L finite where r > 0`"""
    if p.statement != "require":
        return None
    word = str(p.token).lower()
    said = str(p.before).lower()
    if said in DIRECTIONS and p.position > 2 and p.line[p.position - 2].value == "is":
        what = "".join(str(w) for w in p.line[1 : p.position - 2])
        of = p.after or "N"
        help = f"say in which direction: `{what} increasing in {of}` or `{what} decreasing in {of}`"
        return "L0201", f"unknown claim `{p.before}`", help, (p.before,)
    subject = "".join(str(w) for w in p.line[1 : p.position])
    if p.position == 1 and p.token.type in ("TREND", "FINITE"):
        return _claim_as_function(p)
    if p.token.type == "$END":
        return _unfinished_claim(p)
    if p.token.value in CONDITIONALS and "FOR" in p.accepted and p.position > 2:
        edit = replacing((p.token,), "for")
        return (
            "L0201",
            "conditions follow `for`",
            "write `for` in its place",
            (p.token,),
            edit,
        )
    if "AS" in p.accepted and p.token.value in ("for", "when", "if", "at", "where"):
        edit = replacing((p.token,), "as")
        return "L0201", "a limit has `as`", "write `as N -> oo`", (p.token,), edit
    if p.token.value == "," and any(w.type == "TREND" for w in p.line[: p.position]):
        help = "write a claim for each variable, a line each"
        return "L0201", "a trend is in one variable", help, (p.token,)
    if p.before is not None and p.before.value in ("all", "any", "every", "each"):
        help = "leave it out: a claim is about the whole domain; `for r > 0` restricts it"
        return "L0201", f"unexpected `{p.before}`", help, (p.before,)
    relations = sum(w.type == "RELATION" for w in p.line[: p.position])
    if p.token.value == "," and relations == 1 and p.bracket is None and "FOR" in p.accepted:
        edit = replacing((p.token,), "\nrequire ")
        return "L0201", "a `require` line has one claim", "write a line for each", (p.token,), edit
    if "TREND" not in p.accepted:
        return None
    if word in SIGNS:
        edit = replacing((p.token,), SIGNS[word])
        return (
            "L0201",
            "a sign is claimed by a relation",
            f"write `{subject} {SIGNS[word]}`",
            (p.token,),
            edit,
        )
    if word in BESIDE_FINITE:
        edit = replacing((p.token,), "finite")
        return "L0201", f"unknown claim `{p.token}`", f"write `{subject} finite`", (p.token,), edit
    if word in DIRECTIONS and not (p.after is not None and p.after.type == "TREND"):
        help = f"say in which direction: `{subject} increasing in N` or `{subject} decreasing in N`"
        return "L0201", f"unknown claim `{p.token}`", help, (p.token,)
    if p.token.value == "in" and p.after is not None and p.after.value in ("[", "("):
        return claimed_range(p, joined(p.line[1 : p.position]))
    if p.token.type == "NAME" and subject and p.token.value not in CONDITIONALS and not p.bracket:
        if word.startswith(("increas", "decreas")) or p.before is None or p.before.value == "not":
            return None
        if p.before.type in ("NAME", "RPAR", "RSQB") and (
            p.after is None or p.after.type == "NAME" or p.after.value in ("in", "for")
        ):
            alike = {t[:5]: t for t in TRENDS}.get(word[:5]) if word[:6] != "conver" else None
            if alike:
                help = f"write `{subject} {alike} in N`"
                return (
                    "L0201",
                    f"unknown claim `{p.token}`",
                    help,
                    (p.token,),
                    replacing((p.token,), alike),
                )
            message = f"unknown claim `{p.token}`"
            if nearest(str(p.token), ("finite",)):
                reading = Reading(replacing((p.token,), "finite"))
                return "L0201", message, "did you mean `finite`?", (p.token,), reading
            help = "claims are relations, `finite`, `increasing in N`, `convex in N` or `-> E as N -> oo`"
            return "L0201", message, help, (p.token,)
    return None


def _claim_as_function(p: ParseFailure) -> Explanation | None:
    """`increasing(L, N)`, `finite(L)`"""
    words = p.line[p.position :]
    if len(words) < 3 or words[1].value != "(":
        help = f"write `L {p.token} in N`" if p.token.type == "TREND" else "write `L finite`"
        return "L0201", f"`{p.token}` follows the claim", help, (p.token,)
    inner = words[2:-1] if words[-1].value == ")" else words[2:]
    parts = "".join(str(w) for w in inner).split(",")
    written = f"{parts[0]} {p.token}" + (f" in {parts[1]}" if len(parts) == 2 else "")
    written += " in N" if p.token.type == "TREND" and len(parts) != 2 else ""
    edits: tuple[Edit, ...] = (
        (replacing(words, written),) if len(parts) <= 2 and words[-1].value == ")" else ()
    )
    return "L0201", f"`{p.token}` is not a function", f"write `{written}`", (p.token,), *edits


def _unfinished_claim(p: ParseFailure) -> Explanation | None:
    """`L decreasing`, `L -> E`, and the call of a function: `monotone(L, N)`, `positive(L)`."""
    last = p.line[-1]
    subject = "".join(str(word) for word in p.line[1:-1])
    if last.type == "TREND":
        help = f"say in what: `{subject} {last} in N`"
        return "L0207", f"`{last}` needs a variable", help, (last,)
    if "AS" in p.accepted and any(word.value == "->" for word in p.line):
        return "L0207", "a limit says where it is taken", "write `as N -> oo` after it", (last,)
    if len(p.line) == 1:
        return (
            "L0207",
            "a claim is missing",
            "write `require ∂L/∂N < 0` or `require L finite`",
            (last,),
        )
    if (
        len(p.line) < 5
        or p.line[1].type != "NAME"
        or p.line[2].value != "("
        or p.line[-1].value != ")"
    ):
        return None
    word, parts = str(p.line[1]).lower(), "".join(str(w) for w in p.line[3:-1]).split(",")
    subject = parts[0]
    help = ""
    edits: tuple[Edit, ...] = ()
    if word.startswith(("is_", "is")):
        word = word.removeprefix("is_").removeprefix("is")
    if word in SIGNS:
        help = f"write `{subject} {SIGNS[word]}`"
        edits = (replacing(p.line[1:], f"{subject} {SIGNS[word]}"),)
    elif word in (*BESIDE_FINITE, "finite"):
        help, edits = f"write `{subject} finite`", (replacing(p.line[1:], f"{subject} finite"),)
    elif any(word.startswith(stem) for stem in ("monoton", *DIRECTIONS)):
        of = parts[1] if len(parts) == 2 else "N"
        help = f"say in which direction: `{subject} increasing in {of}` or `{subject} decreasing in {of}`"
    else:
        return None
    return "L0201", f"unknown claim `{p.line[1]}`", help, (p.line[1],), *edits


# Objectives, starts, priors


def _one_start(p: ParseFailure) -> Explanation | None:
    """`start A = 1, 10, 100`, `start log(A) in [0, 5]`, `start A = {1, 10}`"""
    if p.statement != "start" or p.before is None:
        return None
    names = [str(word) for word in p.line[1 : p.position] if word.type == "NAME"]
    listed = p.token.value == "=" and len(names) > 1 and p.after is not None
    if listed and len(p.line) == p.position + 2 and "(" not in p.line:
        written = ", ".join(f"{name} = {p.after}" for name in names)
        edit = replacing(p.line[1:], written)
        return "L0201", "each start has a value", f"write `start {written}`", (p.token,), edit
    if p.token.value == "{" and p.position == 1:
        written = "".join(str(w) for w in p.line[2:-1]).replace(":", " = ").replace(",", ", ")
        written = written.replace('"', "")
        edit = replacing(p.line[1:], written)
        return "L0201", "starts stand without braces", f"write `start {written}`", (p.token,), edit
    if p.before.value == "in" and "LBRACE" in p.accepted and p.token.type == "NAME":
        return _listed_starts(p)
    colons = sum(word.value == ":" for word in p.line)
    if p.token.value == ":" and p.bracket is not None and p.after is not None and colons == 1:
        first, last = str(p.before), str(p.after)
        written = (
            f"{first}, {float(first) + 1:g}, ..., {last}" if first.isdigit() else "0, 1, ..., 5"
        )
        words = p.line[p.position - 1 : p.position + 2]
        edits: tuple[Edit, ...] = (replacing(words, written),) if first.isdigit() else ()
        message = "a range is written with its first two numbers"
        return "L0201", message, f"write `{{{written}}}`", (p.token,), *edits
    if p.token.type == "NUMBER" and p.before.value == "," and set(p.accepted) == {"NAME"}:
        name = p.line[1]
        numbers = ", ".join(str(w) for w in p.line[3:] if w.type == "NUMBER")
        help = f"write `start {name} in {{{numbers}}}`"
        return "L0201", "several starts stand in braces", help, (p.token,)
    if p.before.value == "=" and p.token.value in ("{", "[") and p.position == 3:
        closing = closing_bracket(p.line, p.position)
        edits = (replacing((p.before,), "in"), replacing((p.token,), "{"))
        edits += () if closing is None else (replacing((closing,), "}"),)
        return (
            "L0201",
            "a grid follows `in`",
            f"write `{p.line[1]} in {{…}}`",
            (p.before,),
            *edits,
        )
    if p.before.value == "in" and "LBRACE" in p.accepted and p.token.value == "[":
        closing = closing_bracket(p.line, p.position)
        edits = () if closing is None else (replacing((p.token,), "{"), replacing((closing,), "}"))
        return (
            "L0201",
            "a grid stands in braces",
            "write it as `in {-1, 0, ..., 5}`",
            (p.token,),
            *edits,
        )
    return None


def _listed_starts(p: ParseFailure) -> Explanation:
    """`in c(0, 5, 25)`, `in range(0, 25, 5)`, `in np.linspace(0, 1, 5)`"""
    rest = p.line[p.position :]
    written = grid_of(joined(rest)) or "{-1, 0, ..., 5}"
    listed = str(p.token) in ("c", "list", "array", "tuple")
    edits = (replacing(rest, written),) if listed and grid_of(joined(rest)) else ()
    help = f"write `in {written}`"
    return "L0201", "a grid stands in braces", help, (p.token,), *edits


def _plus_minus(p: ParseFailure) -> Explanation | None:
    """`prior alpha = 0.35 +/- 0.1`, `prior alpha = normal(0.35, 0.1)`"""
    if p.statement != "prior" or p.before is None:
        return None
    help = "write `prior alpha = 0.35 ± 0.1`, in ASCII `+-`"
    if p.token.value == "/" and p.before.value == "+":
        words = p.line[p.position - 1 : p.position + 2]
        edits: tuple[Edit, ...] = (
            (replacing(words, "+-"),) if len(words) == 3 and words[2].value == "-" else ()
        )
        return "L0201", "the standard deviation follows `±`", help, tuple(words[:1]), *edits
    call = next((w for w in p.line if str(w).lower() in ("normal", "gaussian", "n", "norm")), None)
    if p.token.type == "$END" and call is not None and p.line[-1].value == ")":
        position = next(i for i, word in enumerate(p.line) if word is call)
        parts = "".join(str(word) for word in p.line[position + 2 : -1]).split(",")
        edits = ()
        if len(parts) == 2:
            edits = (replacing(p.line[position:], f"{parts[0]} ± {parts[1]}"),)
            help = f"write `{parts[0]} ± {parts[1]}`"
        return "L0201", "a prior is written with `±`", help, (call,), *edits
    if p.token.type == "$END" and "PLUSMINUS" in p.accepted and _distribution(p) is not None:
        return _distribution(p)
    if p.token.type == "$END" and "PLUSMINUS" in p.accepted:
        said = " ".join(str(word) for word in p.line)
        help = f"write it after the center: `{re.sub(r' (?=[()])|(?<=[(]) ', '', said)} ± …`"
        return "L0207", "the standard deviation is missing", help, (p.line[-1],)
    if p.token.type == "RELATION" and p.after is not None:
        help = f"a bound stands where it is declared: `parameter {p.before} {p.token} {p.after}`"
        return "L0201", "a prior has no bound", help, (p.token,)
    if p.token.value in ("in", "~"):
        return (
            "L0201",
            f"unexpected `{p.token}`: a prior is a center and a standard deviation",
            help,
            (p.token,),
        )
    return None


def _distribution(p: ParseFailure) -> Explanation | None:
    """`prior p = Beta(2, 2)`: the normal distribution of that mean and standard deviation."""
    words = p.line[next((i for i, w in enumerate(p.line) if w.value == "="), 0) + 1 :]
    if len(words) < 4 or words[0].type != "NAME" or words[1].value != "(":
        return None
    if str(words[0]) in FUNCTIONS:
        return None
    numbers = [float(word) for word in words if word.type == "NUMBER"]
    name, written = str(words[0]).lower(), "… ± …"
    if len(numbers) == 2 and len(words) == 6:
        a, b = numbers
        if name == "beta" and a > 0 and b > 0:
            written = f"{a / (a + b):.3g} ± {(a * b / (a + b + 1)) ** 0.5 / (a + b):.3g}"
        elif name in ("uniform", "u"):
            written = f"{(a + b) / 2:.3g} ± {abs(b - a) / 12**0.5:.3g}"
        elif name == "gamma" and a > 0 and b > 0:
            written = f"{a / b:.3g} ± {a**0.5 / b:.3g}"
    message = "a prior is Gaussian: a mean and a standard deviation"
    return "L0201", message, f"write `{joined(p.line[1 : -len(words)])} {written}`", (words[0],)


# Index sets, questions and pipelines


def _index_set(p: ParseFailure) -> Explanation | None:
    """`index j in training`, `index j over [web, code]`"""
    if p.statement != "index" or p.before is None:
        return None
    if "OVER" in p.accepted and p.token.type != "$END" and p.after is not None:
        edits: tuple[Edit, ...] = (
            (replacing((p.token,), "over"),) if p.token.value in "in = : of from".split() else ()
        )
        help = f"write `index {p.before} over {p.after if p.after.type == 'NAME' else '…'}`"
        return "L0201", "the set of an index follows `over`", help, (p.token,), *edits
    if p.token.value == "," and p.after is not None and "COMMA" not in p.accepted:
        edit = replacing((p.token,), "\nindex")
        help = f"write `index {p.after} over …` on a line of its own"
        return "L0201", "an `index` line has one set", help, (p.token,), edit
    if p.token.value in ("[", "(") and "LBRACE" in p.accepted:
        closing = next((w for w in p.line[p.position :] if w.value in ("]", ")")), None)
        edits = () if closing is None else (replacing((p.token,), "{"), replacing((closing,), "}"))
        return "L0201", "labels are listed in braces", "write `{web, code}`", (p.token,), *edits
    return None


def _use(p: ParseFailure) -> Explanation | None:
    """`uses loss = chinchilla`, `uses chinchilla as loss`, `uses chinchilla`"""
    if p.line[0].type != "USES" or "COLON" not in p.accepted or p.before is None:
        return None
    if p.token.type == "$END":
        help = f"write `uses NAME : {p.before}`: the name stands for a fit of that law"
        return "L0207", "the law has no name here", help, (p.before,)
    if p.token.value == "as" and "." in p.line[p.position :]:
        path = "".join(str(word) for word in p.line[p.position + 1 :])
        help, edit = f"write `uses {p.before} : {path}`", replacing((p.token,), ":")
        return "L0201", "unexpected `as`", help, (p.token,), edit
    if p.token.value == "as" and p.after is not None:
        written = f"{p.after} : {p.before}"
        words = (p.before, p.after)
        return (
            "L0201",
            "the name comes first",
            f"write `uses {written}`",
            (p.token,),
            replacing(words, written),
        )
    help = f"write `uses {p.before} : LAW`"
    if p.token.value == ".":
        path = "".join(str(word) for word in p.line[1:])
        help = f"write `uses loss : {path}`: the name stands for a fit of that law"
        end = next((i for i in range(2, len(p.line)) if p.line[i].value != "."), len(p.line))
        while end + 1 < len(p.line) and p.line[end + 1].value == ".":
            end += 2
        if end + 1 < len(p.line):
            message = "`uses` names the fits first, then the law"
            return "L0207", message, "expected the names first", p.line[1 : end + 1]
        return "L0207", "the law has no name here", help, p.line[1:]
    edits: tuple[Edit, ...] = (
        (replacing((p.token,), ":"),) if p.token.value in ("=", "is", "from") else ()
    )
    return "L0201", f"unexpected `{p.token}`", help, (p.token,), *edits


def _step_part(p: ParseFailure) -> Explanation | None:
    """`step LAW group by r`, `step LAW where … by r`, `step LAW at N_big`"""
    if p.line[0].type != "STEP" or p.before is None:
        return None
    late = next(
        (i for i, w in enumerate(p.line) if w.value in ("where", "at") and w.type == "NAME"), 0
    )
    if late and p.line[late - 1].value == ",":
        comma, word = p.line[late - 1 : late + 1]
        edit = replacing((comma,), "")
        return "L0201", f"no comma stands before `{word}`", "leave the comma out", (comma,), edit
    if p.token.value in ("group", "grouped", "per", "for") and "BY" in p.accepted:
        edit = replacing((p.token,), "by")
        if p.after is not None and p.after.value == "by":
            edit = replacing((p.token, p.after), "by")
        return "L0201", f"unexpected `{p.token}`", "write `by r`", (p.token,), edit
    if p.token.value in ("by", "where") and p.token.type in ("NAME", "BY", "WHERE"):
        help = "write them in this order: `step LAW  by r  where r > 0  at N = N_target`"
        return "L0201", f"`{p.token}` stands too late", help, (p.token,)
    named = p.token.type == "$END" or p.token.value in (",", "where", "by")
    if named and set(p.accepted) <= {"EQUAL", "LSQB"} and "at" in p.line[: p.position]:
        if p.line[p.position - 2].value in ("at", ","):
            of = p.before.partition("_")[0] if "_" in p.before else "N"  # S_goal is a value of S
            help = f"write `at {of} = {p.before}`, with the variable that has this value"
            return "L0207", "the point of a step names a variable and its value", help, (p.before,)
    if p.token.value == "in" and p.after is not None and p.after.value == "{":
        help = f'compare with one label: `{p.before} = "{p.line[p.position + 2]}"`'
        return "L0201", "a condition is a relation", help, (p.token,)
    if p.token.value in ("in", "between") and "RELATION" in p.accepted:
        numbers = [str(word) for word in p.line[p.position :] if word.type == "NUMBER"]
        low, high = numbers[:2] if len(numbers) > 1 else ("0", "10")
        help = f"write two conditions: `{p.before} >= {low}, {p.before} <= {high}`"
        return "L0201", "a condition is a relation", help, (p.token,)
    if p.token.value == "for" and "AT" in p.accepted:
        return (
            "L0201",
            "unexpected `for`",
            "write `at N = …`",
            (p.token,),
            replacing((p.token,), "at"),
        )
    return None


def _listed_numbers(p: ParseFailure) -> Explanation | None:
    """`{1e9 7e9}`"""
    if p.bracket is None or p.bracket.value != "{" or "COMMA" not in p.accepted:
        return None
    if (
        p.before is not None
        and p.token.type in ("NUMBER", "NAME")
        and p.token.value not in ("to", "and", "by", "step")
        and p.before.type in ("NUMBER", "NAME")
    ):
        message = f"a comma is missing between `{p.before}` and `{p.token}`"
        edit = inserting(span_of(p.before).end, ",")
        return "L0203", message, f"write `{p.before}, {p.token}`", (p.token,), edit
    return None


def _subject(p: ParseFailure) -> Explanation | None:
    """`subject k*N*D <= C`"""
    if p.line[0].type == "SUBJECT" and p.position == 1 and p.token.type != "$END":
        edit = inserting(span_of(p.token).start, "to ")
        return "L0201", "`to` is missing", "write `subject to`", (p.token,), edit
    return None


STATEMENT_RULES: tuple[Callable[[ParseFailure], Explanation | None], ...] = (
    _claim_in_words,
    _one_start,
    _plus_minus,
    _index_set,
    _use,
    _step_part,
    _listed_numbers,
    _subject,
)
"""Tried before the general rules, the specific before the general."""
