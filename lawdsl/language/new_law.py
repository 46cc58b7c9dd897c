"""A formula, with names for variables and parameters -> the text of a law file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lawdsl.core.diagnostics import Diagnostic, LawdslError, Text
from lawdsl.language import library, tree
from lawdsl.language.keywords import ascii_name
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_document, print_domain, print_formula
from lawdsl.language.tree import Formula

USUAL_VARIABLES: Mapping[str, str] = {"N": "> 0", "D": "> 0", "r": "in [0, 1]"}
"""Names that papers on scaling laws use for variables alone -> their domains."""

_NAME = re.compile(r"[A-Za-z]\w*(?:\.\w+)*", re.ASCII)

_HEADER = re.compile(r"^[ \t]*(?P<kind>law|question|pipeline)[ \t]+(?P<name>[\w.]+)", re.MULTILINE)

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
    stated = stated_domains(given)
    if given is None:
        chosen = {name: stated[name] for name in names if name in stated}
        if not chosen:
            message = f"which names are variables? {', '.join(names) or 'there are none'}"
            help = f"name them: --variables {names[0] if names else 'N'}"
            raise LawdslError(Diagnostic("E0203", message, help=help))
        return chosen
    for name in stated:
        if name not in names:
            message = f"the formula has no name `{name}`"
            help = f"its names are {', '.join(names)}"
            raise LawdslError(Diagnostic("E0203", message, help=help))
    return stated


def stated_domains(given: Iterable[str] | None) -> dict[str, str]:
    """Variable -> its domain as text, empty without one; those by custom where none are given.

    Args:
        given: names, each alone or with a domain, `N > 0`.

    Raises:
        LawdslError: a text that names no variables.
    """
    if given is None:
        return dict(USUAL_VARIABLES)
    return {
        item.name: print_domain(item.domain) if item.domain else USUAL_VARIABLES.get(item.name, "")
        for item in _items(given)
    }


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


def check_name(name: str) -> None:
    """Refuse a name that a law cannot have.

    Raises:
        LawdslError: with a code of the grammar, and no place: the text is in no file.
    """
    mistakes = [d for d in parse(f"law {name}")[1] if d.severity == "error"]
    if not mistakes and _NAME.fullmatch(ascii_name(name)):
        return
    code = mistakes[0].code if mistakes else "L0201"
    help = (
        "take letters, digits and _, with dots between parts, and no word of the language: my_law"
    )
    written = re.sub(r"[^\w.]+", "_", name).strip("_.")
    if written != name and _NAME.fullmatch(written) and not parse(f"law {written}")[1]:
        help = f"write {written}: a name has letters, digits and _, with dots between parts"
    raise LawdslError(Diagnostic(code, f"`{name}` cannot be the name of a law", help=help))


def copy_text(original: str, name: str) -> tuple[str, str]:
    """The kind and the text of a file, with another name in its first line.

    Args:
        original: a path, or the name of a shipped law, question or pipeline.
        name: the name of the copy.

    Raises:
        LawdslError: the original does not exist, cannot be read, or has no line with its name (L0401).
    """
    source = library.read(library.locate(original))
    header = _HEADER.search(source.text)
    if header is None:
        message = "no line names a law, question or pipeline, so there is no name to change"
        raise LawdslError(
            Diagnostic(
                "L0401",
                message,
                place=source.name,
                help=f"copy the file itself: cp {original} {name}.law",
            )
        )
    return header["kind"], source.text[: header.start("name")] + name + source.text[
        header.end("name") :
    ]


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
    check_name(name)
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
    try:
        library.declared(Text(file, text), Path())
    except LawdslError as error:
        shown = Text("the law that was written", text)  # the file does not exist
        raise LawdslError([replace(d, text=d.text and shown) for d in error.diagnostics]) from None
    return print_document(parse(text, file)[0])
