"""Statements about single elements of what has subscripts: `fix t[web, code] = 2`.

A subscript is an index, for all its labels, or one label. Where a law lists its labels, they are
checked at once; others are known once there is a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from lawdsl.core.diagnostics import Diagnostic, LawdslError, Span
from lawdsl.core.enumerations import abridged
from lawdsl.language import keywords, tree
from lawdsl.language.instances.instance import Instance
from lawdsl.language.label_texts import quoted, split_element, with_subscripts
from lawdsl.language.scope import Scope
from lawdsl.language.subscripts import check_as_declared
from lawdsl.language.symbols import Declarations, Symbol

MOST_LABELS = 8  # that a message lists


def selects_some(
    scope: Scope, symbol: Symbol, subscripts: tuple[str, ...], what: str, span: Span
) -> bool:
    """Whether subscripts select some elements of a name only; mistakes in them are reported.

    Args:
        scope: the names of the file or of the options.
        symbol: the declared name.
        subscripts: the subscripts in the statement.
        what: the statement, for the message: "`fix` holds".
        span: the place of the name.
    """
    if subscripts == symbol.indices:
        return False
    sets = [scope.indices[index] for index in symbol.indices]
    if len(subscripts) != len(sets) or not sets:
        check_as_declared(scope, symbol, subscripts, what, span)
        return False
    for subscript, declared_index, index_set in zip(subscripts, symbol.indices, sets, strict=True):
        if subscript == declared_index or subscript in index_set.listed:
            continue
        if subscript in scope.indices:
            check_as_declared(scope, symbol, subscripts, what, span)
            return False
        if scope.options and subscript in (index_set.labels or ()):
            continue
        if subscript in (index_set.labels or ()):
            message = f"`{subscript}` is one of {index_set.over}: in a file this is for all of them"
            help = f"write `{symbol.text}`, or give it to a fit: `--fix`, `--tie` or `--prior`"
            scope.report("L0314", message, span, help)
            return False
        if index_set.labels is not None:
            labels = abridged(index_set.labels, MOST_LABELS)
            listed = index_set.over if index_set.listed else f"{index_set.over}: {labels}"
            message = f"`{subscript}` is none of {listed}"
            end = scope.text.text.find("]", span.end) + 1  # the subscripts stand behind the name
            place = scope.within(Span(span.end, end), subscript) if end else span
            help = f"write `{symbol.text}` for all of them"
            scope.unknown_word("L0315", message, place, subscript, index_set.labels, help)
            return False
        if not scope.options:
            message = f"`{subscript}` may be a label of {index_set.over}, which a table determines"
            listed = f"list the labels, `index {declared_index} over {{{subscript}, …}}`, "
            if quoted(subscript) != subscript:
                listed = ""  # only names can be listed
            help = (
                f"write `{symbol.text}`, {listed}or give it to a fit: `--fix`, `--tie` or `--prior`"
            )
            scope.report("L0314", message, span, help)
            return False
    return True


def selected(
    declared: Declarations, instance: Instance, named: tree.Element
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the elements that subscripts select at given labels, and what their indices stand for.

    Labels that an instance lacks select nothing.

    Args:
        declared: the law.
        instance: the labels.
        named: the name with its subscripts, each an index or a label.
    """
    indices = declared.symbols[named.name].indices
    labels = []
    for subscript, index in zip(named.subscripts, indices, strict=True):
        of_set = instance.of(declared, index)
        labels.append(of_set if subscript == index else tuple(x for x in of_set if x == subscript))
    for chosen in product(*labels):
        at = zip(named.subscripts, indices, chosen, strict=True)
        yield (
            with_subscripts(named.name, chosen),
            {index: label for subscript, index, label in at if subscript == index},
        )


def check_labels(declared: Declarations, labels: Mapping[str, tuple[str, ...]]) -> None:
    """Check that the labels of a table have those that statements about elements name.

    Args:
        declared: the law, with its statements.
        labels: set -> its labels in the table.

    Raises:
        LawdslError: L0324, a label that the table lacks.
    """
    for text, named in _named_elements(declared):
        indices = declared.symbols[named.name].indices
        for subscript, index in zip(named.subscripts, indices, strict=True):
            over = declared.indices[index].over
            known = labels.get(over, ())
            if subscript in declared.indices or subscript in known:
                continue
            message = f"`{text}`: `{subscript}` is none of {over}: {abridged(known, MOST_LABELS)}"
            near = keywords.nearest(subscript, known)
            help = f"did you mean `{near}`?" if near else f"name one of them, or all: `{index}`"
            raise LawdslError(Diagnostic("L0324", message, help=help))


def _named_elements(declared: Declarations) -> Iterator[tuple[str, tree.Element]]:
    """The statements about elements, as text, and each element that they name."""
    for statement in declared.elements:
        for node in (statement.named, *tree.walk(statement.formula)):
            if isinstance(node, tree.Element):
                yield statement.text, node
    for name, prior in declared.priors.items():
        if "[" in name:
            yield prior.text, tree.Element(*split_element(name))


def without_elements(declared: Declarations) -> Declarations:
    """The declarations without what they say of some elements only."""
    priors = {name: prior for name, prior in declared.priors.items() if "[" not in name}
    return replace(declared, elements=(), priors=priors)


def warn_without_effect(declared: Declarations) -> list[Diagnostic]:
    """Warnings about single elements where claims are decided for all labels.

    Args:
        declared: the law, with its statements.
    """
    warnings = []
    for statement in declared.elements:
        indices = declared.symbols[statement.named.name].indices
        for subscript, index in zip(statement.named.subscripts, indices, strict=True):
            if subscript not in declared.indices and not declared.indices[index].listed:
                over = declared.indices[index].over
                message = (
                    f"`{statement.text}` has no effect here: claims are decided for all labels "
                    f"of {over}, of which `{subscript}` may be one"
                )
                help = "fit the law with it, and decide the claims of the fit: `--fit FIT.json`"
                warnings.append(Diagnostic("L0324", message, "warning", help=help))
                break
    return warnings
