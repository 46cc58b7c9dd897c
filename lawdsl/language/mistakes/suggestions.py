"""A message about a line that does not parse -> the same message with the line that is meant.

A suggestion is made of the user's own words: it parses, and it keeps every name and number of the
line but for words of other languages that have no place in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from lark import Token

from lawdsl.core.diagnostics import Diagnostic, Text
from lawdsl.language.ast_builder import span_of
from lawdsl.language.keywords import FUNCTIONS, INSTEAD, RESERVED, SIGNS, ascii_name
from lawdsl.language.mistakes.loose_reading import candidates
from lawdsl.language.mistakes.loose_words import EACH, RELATIONS, STEMS, index_of, joined

MAX_WORDS, MAX_CHARACTERS = 120, 600
"""Of a line for which a suggestion is looked for."""

Parses = Callable[[str], bool]

SNIPPET = re.compile(r"`([^`]+)`")
OMISSIBLE = frozenset(
    "a an all always fraction share probability proportion ratio strictly simplex lower upper vector partial del d both divided each minus non plus power times converges group_by groupby lim_  and any approaches arange as at be between by c choosing each every everywhere "
    "evaluate filter fit float for forall from gauss gaussian geomspace given goes group grouped if in inf "
    "infinity infty int integer integers interval is law lim limit linspace list loc lognorm "
    "lognormal log_normal logspace mean monotone monotonic monotonically mu must n norm normal of on over "
    "per predict provided range real respect s scale sd se seq should sigma st std stdev strictly "
    "subject such t tends that the to u uniform unit units when where with within wrt".split()
) | {*SIGNS, "array", "np", "tuple"}
"""Words that a suggestion may leave out: what they say is said by its form."""

STRAY = (
    "a|all|always|and|as|at|be|between|by|each|every|everywhere|for|from|if|in|is|mean|must|of|on|"
    "divided|minus|partial|del|non|plus|times|or|over|sd|should|std|subject|such|that|then|to|under|using|when|where|with|within|wrt"
)
"""Words that are no names where they stand between two."""

FORMS = {
    "variable": 'variable NAME [domain] [unit U] ["text"]`, such as `variable {name} > 0',
    "parameter": "parameter NAME, … [domain]`, such as `parameter {name} > 0",
    "given": 'given NAME [domain] [unit U] ["text"]`, such as `given {name} > 0',
    "choose": "choose NAME in [LOW, HIGH]`, such as `choose {name} in [0, 1]",
    "setting": 'setting NAME = NUMBER [unit U] ["text"]`, such as `setting {name} = 1',
    "index": "index NAME over SET`, such as `index {name} over {{web, code}}",
    "fix": "fix NAME = NUMBER, …`, such as `fix {name} = 1",
    "tie": "tie NAME = FORMULA`, such as `tie {name} = 2*{other}",
    "measure": "measure NAME[d] = L(step = 1000)`, such as `measure {name}[d] = L(step = 1000)",
    "identify": "identify FORMULA = FORMULA`, such as `identify {name} = 0",
    "start": "start NAME, … in {{NUMBER, …}}`, such as `start {name} in {{1, 10, 100}}",
    "minimize": "minimize FORMULA`, in a law `minimize squared(log(L))",
    "maximize": "maximize FORMULA`, such as `maximize {name}",
    "prior": "prior NAME = CENTER ± DEVIATION`, such as `prior {name} = 0.3 ± 0.1",
    "uses": "uses NAME, … : LAW`, such as `uses {name} : chinchilla",
    "step": "step LAW [by NAMES] [where CONDITIONS] [at NAME = VALUE]`, such as `step mixing.size by r",
}
"""Statement -> its form, with an example of a name of the line."""


def advised(
    diagnostic: Diagnostic,
    tokens: Sequence[Token],
    corrected: str | None,
    parses: Parses,
    source: Text,
) -> Diagnostic:
    """A message about a line, its advice in words of the line.

    Args:
        diagnostic: the message.
        tokens: the tokens of the line.
        corrected: the line after the edits of the message, where they make it parse.
        parses: whether a text of statements parses.
        source: the text of the file.
    """
    words = [str(token) for token in tokens[:3]]
    if words[0] == "step" and len(words) > 1 and words[1].isdigit():  # `step 1: mixing.size`
        help = f"leave `{words[1]}{':' * (words[2:] == [':'])}` out: steps are taken in the order of their lines"
        return replace(diagnostic, message="steps have no numbers", help=help, edits=())
    help = diagnostic.help or ""
    astray = bool(diagnostic.edits) and corrected is None  # its advice does not make the line parse
    if astray:
        diagnostic = replace(diagnostic, edits=())
    if diagnostic.message.startswith("unexpected") and help.startswith("separate names"):
        described = _described(tokens, source)
        if described is not None and parses(described):
            return replace(diagnostic, help=_written(described, tokens), edits=())
    stray = _stray_word(diagnostic, tokens)
    if stray is not None and (meant := suggestion(tokens, parses)) is not None:
        message, help = f"unexpected `{stray}`", _written(meant, tokens)
        span = span_of(stray)
        return replace(diagnostic, code="L0201", message=message, span=span, help=help, edits=())
    if stray is not None:
        form = _form(tokens, source)
        help = f"the form is `{form}`" if form else f"leave `{stray}` out"
        return replace(diagnostic, message=f"unexpected `{stray}`", help=help, edits=())
    if diagnostic.suggested:  # it asks what is meant
        return diagnostic
    if corrected is None and help.startswith("expected") and str(tokens[0]) not in FORMS:
        corrected = next(_without_a_sign(diagnostic, tokens, parses), None)
    unfinished = help.endswith("must follow") and len(tokens) <= 2
    if unfinished and str(tokens[0]) in FORMS:
        form = _form(tokens, source)
        return replace(diagnostic, help=f"the form is `{form}`")
    generic = help.startswith("expected") or help == "choose another name" or astray
    if _of_the_line(help, tokens, corrected or "") and not generic:
        return diagnostic
    meant = corrected or suggestion(tokens, parses)
    if meant is not None:
        return replace(diagnostic, help=_written(meant, tokens))
    # what is missing in empty brackets says more than the form of the whole statement
    empty = any(a == "(" and b == ")" for a, b in pairwise(map(str, tokens)))
    if help.startswith("expected") and str(tokens[0]) in FORMS and not empty:
        form = _form(tokens, source)
        return replace(diagnostic, help=f"the form is `{form}`")
    return diagnostic


def _form(tokens: Sequence[Token], source: Text) -> str:
    """The form of a statement, with names of its line and of the file; empty for an unknown one."""
    name = _name(tokens)
    parameters = re.findall(
        r"^[ \t]*parameter[ \t]+([A-Za-z_]\w*(?:,[ \t]*\w+)*)", source.text, re.M
    )
    others = [other for listed in parameters for other in re.split(r",\s*", listed)]
    other = next((other for other in (*others, "alpha", "beta") if other != name), "beta")
    return FORMS.get(str(tokens[0]), "").format(name=name, other=other)


def _described(tokens: Sequence[Token], source: Text) -> str | None:
    """A declaration of one name in several words, of which the file uses one, or none."""
    end = next(
        (i for i, w in enumerate(tokens) if i and w.type != "NAME" or w == "in"), len(tokens)
    )
    words = tokens[1:end]
    if not 2 <= len(words) <= MAX_WORDS:
        return None
    span = span_of(tokens)
    others = source.text[: span.start] + source.text[span.end :]
    formulas = re.sub(r'"[^"\n]*"|#[^\n]*', "", others)
    names = set(re.findall(r"\w+", formulas))
    used = [word for word in words if word in names]
    if len(used) > 1:
        return None
    if not used:
        return f"{tokens[0]} {'_'.join(words)} {joined(tokens[end:])}"
    name, text = used[0], " ".join(word for word in words if word is not used[0])
    rest = [word for word in tokens[end:] if word.type != "STRING"]
    said = next((f"  {w}" for w in tokens if w.type == "STRING"), f'  "{text}"')
    return f"{tokens[0]} {name} {joined(rest)}{said}"


def _name(tokens: Sequence[Token]) -> str:
    """The first name of a line that may be declared."""
    names = (str(w) for w in tokens[1:] if w.type == "NAME" and str(w) not in RESERVED)
    return next(names, "x")


def sensible(text: str) -> bool:
    """Whether no word between names, such as `and`, has become a factor of a formula."""
    return not re.search(rf"\*\s*(?:{STRAY})\b|\b(?:{STRAY})\s*\*", text)


def _stray_word(diagnostic: Diagnostic, tokens: Sequence[Token]) -> Token | None:
    """The word of another language for which an operator was said to be missing."""
    if not diagnostic.message.startswith("an operator is missing") or diagnostic.span is None:
        return None
    place = diagnostic.span
    words = [w for w in tokens if place.start <= (w.start_pos or 0) < place.end]
    declared = str(tokens[0]) in ("variable", "parameter", "given", "choose")
    for word in words:
        if re.fullmatch(STRAY, str(word)) or (declared and word.value == "("):
            return word
    behind = next((w for w in tokens if (w.start_pos or 0) >= place.end), None)
    if words and words[-1].value == "s" and behind is not None and behind.value == ".":
        return words[-1]  # s.t.
    if tokens[0].value == "minimize" and words and words[0] is tokens[1]:
        return words[-1]  # minimize huber log(L)
    return None


def suggestion(tokens: Sequence[Token], parses: Parses) -> str | None:
    """The first statement that parses and keeps the words of a line; None where none does.

    Args:
        tokens: the tokens of the line.
        parses: whether a text of statements parses.
    """
    if len(tokens) > MAX_WORDS or sum(map(len, tokens)) > MAX_CHARACTERS:
        return None  # a long line is not read many times
    found = (text for text in candidates(tokens) if _keeps(tokens, text) and parses(text))
    return next(found, None)


def with_suggestion(
    diagnostics: Sequence[Diagnostic],
    tokens: Sequence[Token],
    source: Text,
    parses: Parses,
    lex: Callable[[str], Sequence[Token]],
) -> list[Diagnostic]:
    """Messages about the characters of a line that begin no token, as one with the line that is meant.

    Args:
        diagnostics: all messages of the file so far.
        tokens: the tokens of the line.
        source: the text of the file.
        parses: whether a text of statements parses.
        lex: the tokens of a line's text.
    """
    span = span_of(tokens)
    end = source.text.find("\n", span.end)
    end = len(source.text) if end < 0 else end
    own = [d for d in diagnostics if d.span is not None and span.start <= d.span.start < end]
    if not own:
        return list(diagnostics)
    edited = source.text[span.start : end]
    tokens = lex(edited)  # some of them may have been passed over for their message
    again = {source.text[e.span.start : e.span.end]: e.text for d in own for e in d.edits}
    for edit in sorted((e for d in own for e in d.edits), key=lambda e: -e.span.start):
        a, b = edit.span.start - span.start, edit.span.end - span.start
        edited = edited[:a] + edit.text + edited[b:]
    for char, written in again.items():  # a character has one message a line
        edited = edited.replace(char, written) if len(char) == 1 and char != '"' else edited
    if all(d.edits for d in own) and parses(edited):
        return list(diagnostics)
    # a percentage is another number after its edit
    meant = suggestion(
        lex(edited) if "%" in again or any("%" in e for e in again) else tokens, parses
    )
    if meant is None:
        return list(diagnostics)
    first = replace(own[0], help=_written(meant, tokens), edits=())
    return [first if d is own[0] else d for d in diagnostics if d is own[0] or d not in own]


def _without_a_sign(
    diagnostic: Diagnostic, tokens: Sequence[Token], parses: Parses
) -> Iterator[str]:
    """The line without the sign that the message points at: `E + A/N^alpha +, B`, `L = E: + A`."""
    span = diagnostic.span
    for i, word in enumerate(tokens):
        if span is None or span_of(word) != span or word.type in ("NAME", "NUMBER", "STRING"):
            continue
        again = i > 0 and tokens[i - 1].value == word.value
        if word.value in (":", ";", ",", ".", "=", "?") or again:
            text = joined([*tokens[:i], *tokens[i + 1 :]])
            if word.value != "=" and parses(text):
                yield text


def _written(meant: str, tokens: Sequence[Token]) -> str:
    text = next((str(w) for w in reversed(tokens) if w.type == "STRING"), None)
    if (
        text is not None
        and meant.endswith(text)
        and not meant.startswith(("source", "law", "step"))
    ):
        meant = meant.removesuffix(text).rstrip()
    lines = [f"`{re.sub('  +', ' ', line)}`" for line in meant.split("\n")]
    return f"write {', then '.join(lines)}"


def _of_the_line(help: str, tokens: Sequence[Token], corrected: str) -> bool:
    """Whether all that a piece of advice quotes stands in the line, before or after it is corrected."""
    texts = [re.sub(r"\s", "", text) for text in (joined(tokens), corrected)]
    for snippet in SNIPPET.findall(help):
        pieces = [piece for piece in re.sub(r"\s", "", snippet).split("…") if piece]
        if snippet not in INSTEAD.values() and not all(
            any(piece in text for text in texts) for piece in pieces
        ):
            return False
    return True


def _keeps(tokens: Sequence[Token], text: str) -> bool:
    """Whether a text has all names and numbers of a line."""
    plain = ascii_name(text)
    shares = " in simplex" in text  # which says the numbers 0 and 1
    numbers = re.findall(r"(?<![\w.])[0-9][\w.]*(?:(?<=[eE])[+-][0-9]+)?", text.replace("..", " "))
    values = {
        float(n) for n in numbers if re.fullmatch(r"[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", n)
    }
    until = next((i for i, w in enumerate(tokens) if str(w).lower() in EACH), len(tokens))
    if until == 2 and tokens[1].value == "for" and "," in tokens:  # for all t, L > 0
        tokens = tokens[index_of(tokens, (",",)) + 1 :]
        until = len(tokens)
    if not any(str(word) in RELATIONS for word in tokens[until:]):
        tokens = tokens[:until]  # `for all i, j` says nothing
    for i, word in enumerate(tokens):
        counted = (
            "..., " in text
            and word in tokens[-3:]
            or any(w in ("geomspace", "logspace") for w in tokens)
        )
        if word.type == "NUMBER" and (counted or (tokens[0].value == "index" and ".." in text)):
            continue  # the number of points of a grid; labels between the first and the last
        if word.type == "NUMBER" and not shares and float(word) not in values:
            return False
        if word.value == "R" and i and tokens[i - 1].value in ("in", "∈"):
            continue  # the real numbers
        if (
            "±" in text
            and any(w == "CI" for w in tokens)
            and (word == "CI" or word.type == "NUMBER")
        ):
            continue  # a prior of an interval
        before_of = [str(w) for w in tokens[i:]].count("of") and tokens[0].value == "minimize"
        if before_of and i and "of" not in tokens[1:i]:
            continue
        summed = i + 1 < len(tokens) and tokens[i + 1].value == "of"
        if (shares or summed) and word.value in ("sum", "mean", "average", "total"):
            continue
        if (shares and word.value == "sum") or (word.value == "not" and "!=" in text):
            continue
        objective = tokens[0].value in ("minimize", "maximize") and i == 1
        if str(word).lower()[:6] in STEMS or (objective and tokens[i + 1 :][:1] == ["="]):
            continue
        function = i + 1 < len(tokens) and str(word) in FUNCTIONS
        if word.type != "NAME" or (str(word).lower() in OMISSIBLE and not function):
            continue
        if ascii_name(word) not in plain and "∞" not in word:
            return False
    return True
