"""Statements of a file -> the line that names its section, and the statements allowed in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lawdsl.core.diagnostics import Diagnostic, Span
from lawdsl.core.enumerations import conjunction
from lawdsl.language import keywords, size_limits, tree
from lawdsl.language.declarations import names_in
from lawdsl.language.parser import ANYTHING, long_name
from lawdsl.language.scope import Scope

INSTEAD = {
    ("maximize", "law"): "a fit minimizes: write `minimize huber(log(L), 1e-3)`",
    ("choose", "law"): "write `variable` for a column of the table, `parameter` for what is fitted",
    ("given", "law"): "write `variable` for a column of the table, `setting` for a known constant",
    ("subject", "law"): "write a bound where the name is declared, or a claim behind `require`",
    ("parameter", "question"): "write `choose` for what is asked for, `given` for what is known",
    ("variable", "question"): "write `choose` for what is asked for, `given` for what is known",
    ("require", "question"): "write `subject to` for a constraint",
    ("start", "question"): "remove it: the search needs no start",
    ("output", "question"): "write `let NAME = …` for a part, `minimize …` for the goal",
    ("extends", "question"): "write `uses NAME : LAW`",
    ("fix", "question"): "write `setting NAME = …`, or a constraint `subject to`",
    ("variable", "pipeline"): "write `given` for a number that the user gives",
    ("parameter", "pipeline"): "write `given` for a number that the user gives",
    ("uses", "pipeline"): "write `step LAW`",
    ("let", "pipeline"): "write `setting NAME = …` for a known number",
}
"""Statement and the section that it stands in -> what to write there in its place."""

COMMANDS = {
    "law": "`lawdsl fit` fits a law",
    "question": "`lawdsl solve NAME` answers it, `lawdsl check --syntax` reads it",
    "pipeline": "`lawdsl pipeline NAME TABLE` runs it, `lawdsl check --syntax` reads it",
}


def header_and_body(
    scope: Scope, statements: Sequence[tree.Statement], kind: str
) -> tuple[tree.Section | None, list[tree.Statement] | None]:
    """The line that names the section, and the statements after it that are allowed there.

    Args:
        scope: the names of the file.
        statements: all statements of the file.
        kind: law, question or pipeline: the kind that the file is read as.

    Returns:
        The line, if the file has one, and the statements; None in place of these if unchecked.
    """
    header: tree.Section | None = None
    body: list[tree.Statement] = []
    for statement in statements:
        if not isinstance(statement, tree.Section):
            body.append(statement)
        elif header is not None:
            help = "write it to a file of its own"
            message = f"the file has a second {_kind(statement, header)}"
            scope.report("L0403", message, statement.span, help)
            break
        else:
            header = statement
            if body:
                message = f"the `{header.kind}` line is not the first"
                scope.report("L0401", message, statement.span, "move it to the top")
            if len(header.name) > size_limits.MAX_NAME_LENGTH:
                scope.add(long_name(header.span, scope.text))
    unread_header = (*keywords.SECTIONS, ANYTHING, "class", "model", "module", "title", "name")
    words = scope.unread_names
    unread = words.intersection(unread_header) or any(
        keywords.nearest(word, keywords.SECTIONS) for word in words if len(word) > 2
    )
    if header is None and not unread:
        span = scope.keyword(body[0].span) if body else Span(0, 0)
        help = f'begin the file with a line such as: {kind} my_{kind} "what it says"'
        scope.report("L0401", f"the file has no `{kind}` line", span, help)
    if header is not None and header.kind != kind:
        scope.report("L0601", *_other_kind(header, kind, body))
        return None, None
    if len(body) > size_limits.MAX_DECLARATIONS:
        message = f"the file has more than {size_limits.MAX_DECLARATIONS:,} statements"
        span = body[size_limits.MAX_DECLARATIONS].span
        scope.report("L0109", message, span, f"split it into several {kind}s")
        return None, None
    return header, [s for s in body if _belongs(scope, s, kind)]


def _kind(second: tree.Section, first: tree.Section) -> str:
    return second.kind if second.kind == first.kind else f"section, the {second.kind}"


def _other_kind(
    header: tree.Section, kind: str, body: Sequence[tree.Statement]
) -> tuple[str, Span, str]:
    """The message for a section of another kind than the requested one."""
    message = f"this is the {header.kind} `{header.name}`, where a {kind} is expected"
    words = [_word(statement) for statement in body]
    foreign = [w for w in words if header.kind not in keywords.STATEMENT_HOMES.get(w, ("law",))]
    if foreign and all(kind in keywords.STATEMENT_HOMES.get(w, ("law",)) for w in words):
        named = [f"`{'subject to' if w == 'subject' else w}`" for w in dict.fromkeys(foreign)]
        verb = "belongs" if len(named) == 1 else "belong"
        belongs = f"{conjunction(named)} {verb} to a {kind}"
        return message, header.span, f"{belongs}: write `{kind} {header.name}` in this line"
    return message, header.span, COMMANDS[header.kind]


def _word(statement: tree.Statement) -> str:
    """The word that begins a statement."""
    if isinstance(statement, (tree.Declaration, tree.Definition, tree.Hold)):
        return statement.kind
    if isinstance(statement, (tree.StartGrid, tree.StartPoint)):
        return "start"
    return type(statement).__name__.removesuffix("Node").lower()


def _belongs(scope: Scope, statement: tree.Statement, kind: str) -> bool:
    """Whether a statement may stand in a section of that kind; a message where it may not."""
    word = _word(statement)
    homes = keywords.STATEMENT_HOMES.get(word, ("law",))
    if kind in homes:
        return True
    help = f"move it to the file of a {' or a '.join(homes)}"
    if homes == ("law",):
        help = "write it to the file of a law, and name that law here"
    help = INSTEAD.get((word, kind), help)
    named = (
        "an equation" if word == "output" else f"`{'subject to' if word == 'subject' else word}`"
    )
    message = f"{named} belongs to a {' or a '.join(homes)}, not to a {kind}"
    scope.report("L0602", message, scope.keyword(statement.span), help)
    # what it declares may be used below: one mistake, one message
    scope.unread_names |= _declared_names(statement)
    return False


def _declared_names(statement: tree.Statement) -> frozenset[str]:
    if isinstance(statement, tree.Declaration):
        return frozenset(item.name for item in statement.items)
    if isinstance(statement, tree.Definition):
        return frozenset({statement.name})
    return frozenset()


def look_ahead(scope: Scope, body: Sequence[tree.Statement]) -> None:
    """Record where the file declares each name, and which names its definitions use.

    Args:
        scope: the names of the file.
        body: the statements of the file.
    """
    spans: dict[str, Span] = {}
    names_used: dict[str, list[str]] = {}
    for statement in body:
        match statement:
            case tree.Index(names):
                for name in names[: size_limits.MAX_INDICES]:
                    spans.setdefault(name, scope.within(statement.span, name))
            case tree.Uses():
                for name, span in use_spans(scope, statement):
                    spans.setdefault(name, span)
            case tree.Declaration(_, items):
                for item in items:
                    spans.setdefault(item.name, item.span)
                    names_used.setdefault(item.name, []).extend(names_in(item))
            case tree.Definition(_, name, formula):
                spans.setdefault(name, statement.span)
                names_used.setdefault(name, []).extend(names_in(formula))
    scope.declaration_spans, scope.names_used = spans, names_used


def use_spans(scope: Scope, statement: tree.Uses) -> Iterator[tuple[str, Span]]:
    """The names of a statement, each with its place; the whole statement if it is in Greek.

    Args:
        scope: the names of the file.
        statement: the statement.
    """
    offset = statement.span.start + len("uses")
    for name in statement.names:
        start = scope.text.text.find(name, offset, statement.span.end)
        offset = start + len(name) if start >= 0 else offset
        yield name, Span(start, offset) if start >= 0 else statement.span


def check_unused(scope: Scope, output: str = "") -> None:
    """Warn about names that are never used, except the law's output.

    Args:
        scope: the names of the file.
        output: the name of the law's output.
    """
    if scope.unread_names:
        return  # it may be used in a line that could not be read
    for name, span in scope.declared_here.items():
        if name not in scope.used and name != output:
            kind = scope.symbols[name].kind
            message = f"the {'law' if kind == 'use' else kind} `{name}` is never used"
            help = "remove it"
            if name.lower() in keywords.SIGNS and kind in ("variable", "parameter"):
                others = [n for n, s in scope.symbols.items() if s.kind == kind and n != name]
                before = [
                    n for n in others if scope.line(scope.symbols[n].span) == scope.line(span)
                ]
                sign = keywords.SIGNS[name.lower()]
                help = f"a sign is written as a bound: `{(before or others or ['x'])[-1]} {sign}`"
            scope.report("L0309", message, span, help, severity="warning")


def without_unused(
    declared: Iterable[Diagnostic], proved: Sequence[Diagnostic]
) -> tuple[Diagnostic, ...]:
    """The warnings about a law, one for each place: that a parameter is never used is left out where
    it is said that no data determine it.

    Args:
        declared: the messages about its text.
        proved: the warnings that follow from the law.
    """
    places = {(d.text, d.span) for d in proved if d.span is not None}
    shown = (d for d in declared if d.code != "L0309" or (d.text, d.span) not in places)
    return tuple(dict.fromkeys((*shown, *proved)))
