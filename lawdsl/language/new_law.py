"""A formula, with names for variables and parameters -> the text of a law file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lawdsl.core.diagnostics import Diagnostic, LawdslError, Text
from lawdsl.language import library, tree
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_document, print_domain, print_formula
from lawdsl.language.tree import Formula

USUAL_VARIABLES: Mapping[str, str] = {"N": "> 0", "D": "> 0", "r": "in [0, 1]"}
"""Names that papers on scaling laws use for variables alone -> their domains."""

NO_SIGN = "# Sign unconstrained; add `> 0` where a parameter is positive."


def chosen_variables(names: Sequence[str], given: Iterable[str] | None) -> dict[str, str]:
    """The variables of a formula and their domains.

    Args:
        names: those in the formula.
        given: those that are variables, each alone or with a domain, `N > 0`; None to take those
            that are variables by custom.

    Raises:
        LawdslError: no name of the formula is one by custom, or a given one is not in it (E0203).
    """
    if given is None:
        chosen = {name: USUAL_VARIABLES[name] for name in names if name in USUAL_VARIABLES}
        if not chosen:
            message = f"which names are variables? {', '.join(names) or 'there are none'}"
            help = f"name them: --variables {names[0] if names else 'N'}"
            raise LawdslError(Diagnostic("E0203", message, help=help))
        return chosen
    chosen = {}
    for item in _items(given):
        name, domain = item.name, print_domain(item.domain) if item.domain else ""
        if name not in names:
            message = f"the formula has no name `{name}`"
            help = f"its names are {', '.join(names)}"
            raise LawdslError(Diagnostic("E0203", message, help=help))
        chosen[name] = domain or USUAL_VARIABLES.get(name, "")
    return chosen


def _items(given: Iterable[str]) -> list[tree.Item]:
    """Names with domains, as a declaration of variables has them.

    Raises:
        LawdslError: a text that is none.
    """
    text = " ".join(", ".join(given).split())
    document, mistakes = parse(f"variable {text}", "--variables")
    errors = [d for d in mistakes if d.severity == "error"]
    if errors:
        raise LawdslError(errors)
    statements = document.statements
    if len(statements) != 1 or not isinstance(statements[0], tree.Declaration):
        message = f"`{text}` does not name variables"
        help = "write --variables N,D or --variables 'N > 0, r in [0, 1]'"
        raise LawdslError(Diagnostic("E0203", message, help=help))
    return list(statements[0].items)


def law_text(
    name: str,
    output: str,
    formula: Formula,
    variables: Mapping[str, str],
    parameters: Mapping[str, str],
) -> str:
    """The text of a law file, formatted and valid.

    Args:
        name: of the law.
        output: the name of what it predicts.
        formula: its right-hand side.
        variables: variable -> domain, `> 0`, or empty.
        parameters: parameter -> domain, or empty.

    Raises:
        LawdslError: a name that a law cannot have, or a formula that it cannot be made of.
    """
    lines = [f"law {' '.join(name.split())}", ""]
    lines += [f"variable {variable} {domain}".rstrip() for variable, domain in variables.items()]
    by_domain: dict[str, list[str]] = {}
    for parameter, domain in parameters.items():
        by_domain.setdefault(domain, []).append(parameter)
    lines += [""] if parameters else []
    for domain, names in by_domain.items():
        lines += [] if domain else [NO_SIGN]
        lines.append(f"parameter {', '.join(names)} {domain}".rstrip())
    lines += ["", f"{output} = {print_formula(formula)}", ""]
    text = "\n".join(lines)
    file = f"{re.sub('[^A-Za-z0-9_]', '', name.rpartition('.')[2])}.law"
    library.declared(Text(file, text), Path())
    return print_document(parse(text, file)[0])
