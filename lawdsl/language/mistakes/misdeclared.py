"""Declarations with the wrong keyword, or without their subscripts -> one message each, where they are.

The message stands at the declaration, not at each use; what it says is then assumed, so that the uses
need no message of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lawdsl.core.diagnostics import Edit, Span
from lawdsl.language import keywords, tree
from lawdsl.language.constants import TooLarge, Undefined, value
from lawdsl.language.declarations import names_in
from lawdsl.language.foreign.functions import PRODUCTS
from lawdsl.language.label_texts import with_subscripts
from lawdsl.language.printer import print_formula
from lawdsl.language.scope import Scope
from lawdsl.language.tree import Definition, Statement

Body = Sequence[Statement]


def corrected(scope: Scope, body: Body, *, extends: bool) -> list[Statement]:
    """The statements as they are meant: equations and lets with their keywords, names with subscripts.

    Args:
        scope: the names of the file.
        body: the statements of a law.
        extends: whether it extends another law.
    """
    statements = _without_declared_output(scope, _parts_without_let(scope, body))
    if not extends and not scope.unread_names:
        statements = _equation_with_keyword(scope, statements)
    if not any(isinstance(s, tree.Index) for s in statements):
        return statements
    statements = [_with_spelled_subscripts(scope, s, statements) for s in statements]
    return [_with_used_subscripts(scope, s, statements) for s in statements]


def _definitions(body: Body, *kinds: str) -> list[Definition]:
    return [s for s in body if isinstance(s, Definition) and s.kind in kinds]


def _used(body: Body) -> dict[str, set[str]]:
    """Name -> the definitions that use it."""
    users: dict[str, set[str]] = {}
    for statement in _definitions(body, "let", "output", "setting"):
        for name in names_in(statement.formula):
            users.setdefault(name, set()).add(statement.name)
    return users


def _claimed(body: Body) -> list[str]:
    """The names in claims and objectives, in their order: the output is among them."""
    found: list[str] = []
    for statement in body:
        if isinstance(statement, (tree.Require, tree.Minimize)):
            for node in tree.walk(statement):
                match node:
                    case tree.Name(text):
                        found.append(text)
                    case tree.Element(name) | tree.Call(name):
                        found.append(name)
                    case tree.Derivative(of):
                        found.append(tree.name_of(of))
    return found


def _parts_without_let(scope: Scope, body: Body) -> list[Statement]:
    """`seen = max(D/U - 1, 0)` beside the equation of the law, which uses it."""
    outputs = _definitions(body, "output")
    if len({s.name for s in outputs}) < 2:
        return list(body)
    users, declared = _used(body), _declared(body)
    parts = [s for s in outputs if users.get(s.name, set()) - {s.name} or s.name in declared]
    claimed = _claimed(body)
    target = next((s.name for s in outputs if s.name in claimed), None)
    parts = [s for s in parts if s.name != target or s.name in declared]
    if len(parts) == len(outputs) or not parts:
        return list(body)
    changed: list[Statement] = []
    for statement in body:
        if not any(statement is part for part in parts):
            changed.append(statement)
            continue
        assert isinstance(statement, Definition)
        name = with_subscripts(statement.name, statement.subscripts)
        formula = print_formula(statement.formula)
        if statement.name in declared:
            kind = declared[statement.name]
            message = f"`{name}` is declared as {keywords.a(kind)}"
            help = f"a {kind} has its values from the table: leave this line out"
            if kind == "parameter":
                help = f"to hold it write `fix {name} = {formula}`, for a fit to begin there `start {name} = {formula}`"
            scope.report("L0403", message, statement.span, help)
            continue
        kind = "setting" if _is_number(statement.formula) else "let"
        what = "a known number" if kind == "setting" else "a part of the law"
        edit = Edit(Span(statement.span.start, statement.span.start), f"{kind} ")
        help = f"write `{kind} {name} = {formula}`"
        scope.report(
            "L0403", f"{what} is declared with `{kind}`", statement.span, help, edits=[edit]
        )
        changed.append(replace(statement, kind=kind))
    return changed


def _without_declared_output(scope: Scope, body: Body) -> list[Statement]:
    """`variable L  unit nat/token` beside the only equation, `L = …`, which nothing else uses."""
    outputs = _definitions(body, "output")
    kind = _declared(body).get(outputs[0].name) if len(outputs) == 1 else None
    if kind not in ("variable", "parameter") or _is_number(outputs[0].formula):
        return list(body)
    output = outputs[0]
    if _used(body).get(output.name):
        return list(body)
    changed: list[Statement] = []
    for statement in body:
        own = [s for s in (statement,) if isinstance(s, tree.Declaration)]
        items = [i for s in own for i in s.items if i.name == output.name]
        if not own or not items:
            changed.append(statement)
            continue
        rest = tuple(i for i in own[0].items if i.name != output.name)
        span = scope.within(items[0].span, output.name)
        number, text = scope.line(span), scope.text.text
        help = f"leave `{output.name}` out" if rest else f"leave line {number} out"
        edits = []
        if items[0].domain is not None:
            help += "; its bound is a claim, as `require L > 0`".replace("L", output.name)
        elif not rest and (own[0].unit is None or output.unit is not None):
            start = text.rfind("\n", 0, span.start) + 1
            end = text.find("\n", span.end) + 1 or len(text)
            edits = [Edit(Span(start, end), "")]
        elif not rest:
            help += f", and write its unit behind the formula on line {scope.line(output.span)}"
        message = f"`{output.name}` is the output of the law, which is not declared"
        scope.report("L0302", message, span, help, edits=edits)
        if rest:
            changed.append(replace(own[0], items=rest))
    return changed


def _declared(body: Body) -> dict[str, str]:
    """Name -> variable or parameter."""
    items = ((i.name, s.kind) for s in body if isinstance(s, tree.Declaration) for i in s.items)
    return dict(items)


def _is_number(formula: tree.Formula) -> bool:
    if list(names_in(formula)):
        return False
    try:
        return value(formula) is not None
    except (Undefined, TooLarge):
        return False


def _equation_with_keyword(scope: Scope, body: Body) -> list[Statement]:
    """`let L = E + A/N^alpha` where no equation stands: the let that nothing else uses."""
    if _definitions(body, "output"):
        return list(body)
    users, claimed = _used(body), _claimed(body)
    lets = [s for s in _definitions(body, "let", "setting") if not _is_number(s.formula)]
    unused = [s for s in lets if not users.get(s.name)]
    meant = next((s for s in unused if s.name in claimed), unused[-1] if unused else None)
    if meant is None:
        return list(body)
    word = scope.keyword(meant.span)
    name = with_subscripts(meant.name, meant.subscripts)
    message = "the equation of the law has no keyword"
    help = f"write `{name} = …` without `{meant.kind}`"
    edit = Edit(Span(word.start, meant.span.start), "")
    scope.report("L0402", message, word, help, edits=[edit])
    return [replace(meant, kind="output") if s is meant else s for s in body]


# Subscripts


def _claims(body: Body) -> Iterator[tree.Element]:
    return (e for s in body if isinstance(s, tree.Require) for e in _in(s))


def _index_names(body: Body) -> frozenset[str]:
    return frozenset(name for s in body if isinstance(s, tree.Index) for name in s.names)


def _elements(body: Body) -> Iterator[tree.Element]:
    for statement in body:
        if isinstance(statement, Definition):
            yield from _in(statement.formula)
        elif isinstance(statement, tree.Identify):
            yield from _in(statement)


def _in(node: tree.Node) -> Iterator[tree.Element]:
    return (part for part in tree.walk(node) if isinstance(part, tree.Element))


def _bare(body: Body) -> set[str]:
    """The names that formulas use without subscripts."""
    return {
        node.text
        for s in body
        if isinstance(s, (Definition, tree.Identify))
        for node in tree.walk(s)
        if isinstance(node, tree.Name)
    }


def _with_used_subscripts(scope: Scope, statement: Statement, body: Body) -> Statement:
    """`parameter t` or `let K = …`, where all formulas have `t[i, j]` and `K[d]`."""
    indices = _index_names(body)
    if not indices or not isinstance(statement, (tree.Declaration, Definition)):
        return statement
    if isinstance(statement, Definition):
        subscripts = _used_as(statement.name, body, indices) if statement.kind == "let" else None
        if statement.subscripts or subscripts is None:
            return statement
        written = with_subscripts(statement.name, subscripts)
        message = f"`{statement.name}` has subscripts where it is used"
        edit = Edit(statement.span, written)
        help = f"write `let {written} = …`"
        scope.report("L0314", message, statement.span, help, edits=[edit])
        return replace(statement, subscripts=subscripts)
    if statement.kind not in ("variable", "parameter"):
        return statement
    items = []
    for item in statement.items:
        subscripts = _used_as(item.name, body, indices, often=bool(item.subscripts))
        if (
            subscripts is None
            or subscripts == item.subscripts
            or set(subscripts) == set(item.subscripts)
            or not _other_sets(body, item.subscripts, subscripts)
        ):
            items.append(item)
            continue
        written = with_subscripts(item.name, subscripts)
        span = scope.within(item.span, item.name)
        message = f"`{item.name}` has subscripts where it is used"
        if item.subscripts:
            end = scope.text.text.find("]", span.end) + 1
            span = Span(span.start, end)
            message = f"`{item.name}` has other subscripts where it is used"
        domain = " in simplex" if isinstance(item.domain, tree.Simplex) else ""
        help = f"declare it with them: `{statement.kind} {written}{domain}`"
        scope.report("L0314", message, span, help, edits=[Edit(span, written)])
        items.append(replace(item, subscripts=subscripts))
    return replace(statement, items=tuple(items))


def _other_sets(body: Body, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether subscripts are indices over other sets."""
    over = {n: s.over for s in body if isinstance(s, tree.Index) for n in s.names}
    return [over.get(n) for n in one] != [over.get(n) for n in other]


def _used_as(
    name: str, body: Body, indices: frozenset[str], *, often: bool = False
) -> tuple[str, ...] | None:
    """The subscripts that all formulas give a name; None where they differ, or some give none.

    With `often` there are several such places.
    """
    places = [e.subscripts for e in _elements(body) if e.name == name]
    places += [e.subscripts for e in _claims(body) if e.name == name and often]
    used = set(places)
    if len(used) != 1 or name in _bare(body) or (often and len(places) < 2):
        return None
    (subscripts,) = used
    return subscripts if indices.issuperset(subscripts) else None


def _with_spelled_subscripts(scope: Scope, statement: Statement, body: Body) -> Statement:
    """`L_i = c_i + k_i*exp(…)` for `L[i] = c[i] + k[i]*exp(…)`: one message with the whole line."""
    indices = _index_names(body)
    if not indices or not isinstance(statement, Definition) or statement.kind == "setting":
        return statement
    declared = {
        i.name: i.subscripts for s in body if isinstance(s, tree.Declaration) for i in s.items
    }
    declared |= {s.name: s.subscripts for s in _definitions(body, "let") if s is not statement}
    words = {node.text for node in tree.walk(statement.formula) if isinstance(node, tree.Name)}
    spelled = {
        word: with_subscripts(name, subscripts)
        for word in words - declared.keys() - {statement.name}
        for name, subscripts in declared.items()
        if subscripts and word in _spellings(name, subscripts)
    }
    inside = {
        node.text
        for call in tree.walk(statement.formula)
        if isinstance(call, tree.Call) and call.function in (*keywords.AGGREGATES, *PRODUCTS)
        for node in tree.walk(call)
        if isinstance(node, tree.Name)
    }
    bare = {w: with_subscripts(w, declared[w]) for w in words - inside if declared.get(w)}
    if len(bare) > 1:
        spelled |= bare
    name, own = statement.name, statement.subscripts
    claimed = {e.subscripts for e in _claims(body) if e.name == name}
    if not own and len(claimed) == 1 and len(bare) > 1 and indices.issuperset(*claimed):
        own = next(iter(claimed))
        spelled[name] = with_subscripts(name, own)
    head, _, tail = name.partition("_")
    if not own and tail in indices and head not in declared:
        spelled[name], name, own = f"{head}[{tail}]", head, (tail,)
    if not spelled or (len(spelled) == 1 and statement.name in spelled):
        return statement
    text = scope.text.text
    line = text[statement.span.start : statement.formula.span.end]
    known = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, spelled))})(?![\w\[])")
    found = list(known.finditer(line))
    start = statement.span.start
    edits = [Edit(Span(start + m.start(), start + m.end()), spelled[m[1]]) for m in found]
    first = Span(start + found[0].start(), start + found[0].end())
    written = re.sub(r"\s+", " ", known.sub(lambda m: spelled[m[1]], line))
    keyword = "let " if statement.kind == "let" else ""
    message = f"the subscripts of `{found[0][1]}` stand in brackets"
    if not found[0][1].startswith(f"{spelled[found[0][1]].partition('[')[0]}_"):
        message = f"`{found[0][1]}` stands without its subscripts"
    scope.report("L0301", message, first, f"write `{keyword}{written}`", edits=edits)
    return replace(
        statement, name=name, subscripts=own, formula=_renamed(statement.formula, spelled)
    )


def _spellings(name: str, subscripts: tuple[str, ...]) -> frozenset[str]:
    """The words that stand for `t[i, j]`: t_ij, t_i_j, tij."""
    return frozenset(
        f"{name}{between}{joint.join(subscripts)}"
        for between, joint in (("_", ""), ("_", "_"), ("", ""))
    )


def _renamed(formula: tree.Formula, spelled: dict[str, str]) -> tree.Formula:
    """A formula with elements in the place of the words that stand for them."""

    def change(node: object) -> object:
        if isinstance(node, tree.Name) and node.text in spelled:
            name, _, rest = spelled[node.text].partition("[")
            return tree.Element(name, tuple(rest.rstrip("]").split(", ")), span=node.span)
        if isinstance(node, tuple):
            return tuple(change(part) for part in node)
        if isinstance(node, tree.Node):
            parts = {f: change(getattr(node, f)) for f in node.__dataclass_fields__ if f != "span"}
            return replace(node, **parts)  # type: ignore[arg-type]
        return node

    found = change(formula)
    assert isinstance(found, tree.Node)
    return found  # type: ignore[return-value]
