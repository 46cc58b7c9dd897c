"""`index` lines and subscripts of declarations, `parameter t[i, j]` -> checked index sets."""

from __future__ import annotations

from collections.abc import Sequence

from lawdsl.core.diagnostics import Span
from lawdsl.language import keywords, size_limits, tree
from lawdsl.language.label_texts import quoted
from lawdsl.language.printer import print_set
from lawdsl.language.scope import Scope
from lawdsl.language.symbols import IndexSet, Symbol

MAX_LABELS_SHOWN = 8  # labels of a set in a message


def declare_indices(scope: Scope, statement: tree.Index) -> None:
    """Declare the indices of an `index` line, `index i, k over validation`.

    Args:
        scope: the names of the file.
        statement: the statement.
    """
    over, labels = _set(scope, statement)
    for name in statement.names:
        span = scope.within(statement.span, name)
        home = next((s.over for s in scope.indices.values() if name in s.listed), None)
        if len(scope.indices) == size_limits.MAX_INDICES:
            message = f"a law has at most {size_limits.MAX_INDICES} indices"
            scope.report("L0317", message, span, "use one index for what runs over one set")
            scope.unread_names |= set(statement.names)  # nothing more is said of those
            return
        if home is not None:
            message = f"`{name}` is a label of {home}"
            scope.report("L0317", message, span, "give the index another name")
        elif scope.declare(Symbol(name, "index", span)):
            scope.indices[name] = IndexSet(name, over, labels)


def _set(scope: Scope, statement: tree.Index) -> tuple[str, tuple[str, ...] | None]:
    """The set that a statement names, and its labels; an invalid set is reported."""
    over, most = statement.over, size_limits.MAX_LABELS
    labels: tuple[str, ...] | None = None
    if isinstance(over, tree.RangeNode):
        # Python refuses to convert thousands of digits
        last = int(over.last) if over.last.isdigit() and len(over.last) < 5 else 0
        if over.first != "1" or not 2 <= last <= most:
            message = f"`{print_set(over)}` does not number 2 to {most} labels"
            help = "number them from 1, as 1..30"
            scope.report("L0317", message, over.span, help)
            last = 2
        return f"1..{last}", tuple(str(n) for n in range(1, last + 1))
    if isinstance(over, tree.ListedNode):
        labels = over.labels
        if not 2 <= len(labels) <= most:
            message = f"a set that is listed has 2 to {most} labels"
            help = "labels of the data are not listed: `index i over domain`"
            scope.report("L0317", message, over.span, help)
            return "{}", ()
        twice = next((name for i, name in enumerate(labels) if name in labels[:i]), None)
        if twice is not None:
            span = scope.within(over.span, twice, last=True)
            scope.report("L0317", f"the label `{twice}` stands twice", span, "write it once")
        else:
            for name in labels:
                _check_label(scope, name, statement)
    elif over in scope.symbols or over in statement.names:
        kind = scope.symbols[over].kind if over in scope.symbols else "index"
        span = scope.within(statement.span, over, last=True)
        message = f"`{over}` is {keywords.a(kind)}, and here the name of a set"
        scope.report("L0317", message, span, "give the set another name")
    return print_set(over), labels


def _check_label(scope: Scope, name: str, statement: tree.Index) -> None:
    if name in scope.indices or name in statement.names:
        span = scope.within(statement.span, name, last=True)
        message = f"`{name}` is an index, and here a label"
        scope.report("L0317", message, span, "give the index another name")


def declared_subscripts(scope: Scope, subscripts: tuple[str, ...], span: Span) -> None:
    """Report mistakes in the subscripts of a declaration.

    Args:
        scope: the names of the file.
        subscripts: the subscripts.
        span: the place of the declaration.
    """
    if len(subscripts) > size_limits.MAX_SUBSCRIPTS:
        message = f"a name has at most {size_limits.MAX_SUBSCRIPTS} subscripts"
        scope.report("L0314", message, span, "leave some out")
        return
    for i, name in enumerate(subscripts):
        if name in subscripts[:i]:
            message = f"`{name}` stands twice among the subscripts of a declaration"
            scope.report(
                "L0314", message, scope.within(span, name, last=True), another(scope, name)
            )
        else:
            is_index(scope, name, span)


def another(scope: Scope, name: str) -> str:
    """The help text that shows how to declare a second index over the same set.

    Args:
        scope: the names of the file.
        name: the index.
    """
    over = scope.indices[name].over if name in scope.indices else "…"
    letter = next((c for c in "klmnpqstuvw" if c not in scope.symbols), "k2")
    return f"declare another index over the same set: `index {letter} over {over}`"


def is_index(scope: Scope, name: str, region: Span, labels: Sequence[str] = ()) -> bool:
    """Whether a name is an index; a message is reported where it is not.

    Args:
        scope: the names declared so far.
        name: the name.
        region: the part of the text that contains it.
        labels: the labels that it could be instead.
    """
    if name in scope.indices:
        scope.used.add(name)
        return True
    if scope.excused(name) and name not in scope.symbols:
        return False
    span = scope.within(region, name, last=True)
    alike = keywords.nearest(name, (*scope.indices, *labels))
    if name in scope.symbols:
        message = f"`{name}` is {keywords.a(scope.symbols[name].kind)}, not an index"
        scope.report("L0315", message, span, "a subscript is an index, or a label that is listed")
    elif name in scope.declaration_spans:
        keyword = scope.keyword(scope.declaration_spans[name])
        kind = scope.text.text[keyword.start : keyword.end]
        if kind in ("variable", "parameter", "let", "setting") and scope.indices:
            message = f"`{name}` is {keywords.a(kind)}, not an index"
            help = f"write {' or '.join(f'`{index}`' for index in scope.indices)}, or declare another index"
            scope.report("L0315", message, span, help)
            return False
        scope.declared_later(name, span)
        if not scope.errors:  # it is declared in this line, and not as an index
            message = f"`{name}` is declared here, and is not an index"
            scope.report("L0315", message, span, "a subscript is an index: `index i over …`")
    elif alike or not labels:
        declared = " or ".join(f"`{index}`" for index in scope.indices)
        help = f"declare it, `index {name} over …`" + (f", or write {declared}" if declared else "")
        if quoted(name) != name:  # a label of a table, which the law does not know
            help = f"write {declared}" if declared else "a subscript is an index: `index i over …`"
        of_set = next((i.name for i in scope.indices.values() if i.over == name), None)
        help = f"did you mean `{alike}`?" if alike else help
        if of_set is not None:
            help = f"it is a set of labels: write an index over it, `{of_set}`"
        message = f"`{name}` is not an index"
        reported = [
            d.span for d in scope.diagnostics if d.message == message and d.span is not None
        ]
        missing = not alike and of_set is None  # one message for all uses, else for those in a line
        if not (reported and missing) and scope.line(span) not in map(scope.line, reported):
            meant = scope.instead(span, name, alike) if of_set is None else ()
            scope.report("L0315", message, span, help, suggested=meant)
    else:
        help = f"the labels are {', '.join(labels[:MAX_LABELS_SHOWN])}{', …' if len(labels) > MAX_LABELS_SHOWN else ''}"
        over_labels = [n for n, i in scope.indices.items() if labels and i.labels == tuple(labels)]
        help = f"write the index `{over_labels[0]}`, or a label; {help}" if over_labels else help
        scope.report("L0315", f"`{name}` is not an index", span, help)
    return False
