"""`%%law` in a notebook: the text of a law in a cell -> the law, its verdicts and a fit, shown.

`%load_ext lawdsl` registers it, through `load_ipython_extension`.
"""

from __future__ import annotations

import builtins
import keyword
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from IPython.core.error import UsageError
from IPython.display import display

from lawdsl.cli.fit import priors
from lawdsl.cli.options import OF_ONE_FIT, changes, columns, count_of_starts, fit_options
from lawdsl.core.diagnostics import Diagnostic, LawdslError, Span, Text, printable, render
from lawdsl.data.columns import MAPPING, NAMED_MAPPING
from lawdsl.data.read import read_table
from lawdsl.data.table import Table
from lawdsl.fitting.fit import check_inputs, fit_with
from lawdsl.fitting.options import FitOptions
from lawdsl.language.keywords import did_you_mean, section_of_text
from lawdsl.language.library import declared
from lawdsl.law.law import Law
from lawdsl.proof.check import check
from lawdsl.reporting.documents.blocks import Findings
from lawdsl.reporting.documents.render_html import notebook_html
from lawdsl.reporting.documents.render_text import text_of

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from lawdsl.language.law_changes import LawChanges

CELL = "cell"
"""The name of the text of a cell in messages."""
HELP = frozenset(("--help", "-h"))
OF_IPYTHON = ("_", "In", "Out", "exit", "quit", "get_ipython", "display")
"""Names that IPython assigns itself."""


@dataclass(frozen=True)
class _Request:
    """The line after `%%law`.

    Attributes:
        table: the name of a variable or the path of a file with measurements; None: no fit.
        variable: the name that the law shall have in the notebook; None: the name of the law.
        checked: whether the claims are decided.
        changes: the changes of the law.
        options: the options of the fit.
    """

    table: str | None
    variable: str | None
    checked: bool
    changes: LawChanges
    options: FitOptions


@click.command("%%law", add_help_option=False)
@click.argument("table", required=False)
@columns
@click.option("--as", "variable", metavar="NAME", help="The name of the law in the notebook.")
@click.option("--no-check", is_flag=True, help="Do not decide the claims.")
@fit_options("where", "starts", *OF_ONE_FIT)
@priors
@changes
def _read_line(
    table: str | None,
    variable: str | None,
    no_check: bool,
    options: Mapping[str, Any],
    priors: tuple[str, ...],
    changes: LawChanges,
) -> Any:
    record = FitOptions(**{**options, "starts": count_of_starts(options["starts"])})
    return _Request(table, variable, not no_check, replace(changes, priors=priors), record)


def law(line: str, cell: str, variables: dict[str, Any]) -> None:
    """Check the law in a cell, fit it if a table is named, and show both.

    The law becomes a variable of the notebook under its name, with `_` for `.`, or under the name
    that `--as` gives; its verdicts become `NAME_check`, and its fit `NAME_fit`. After a mistake no
    variable changes.

    Args:
        line: what follows `%%law`: a table (the name of a variable, such as a data frame, or a path),
            then NAME=COLUMN pairs and options as for `lawdsl fit`.
        cell: the text of the law.
        variables: the variables of the notebook, which are read and assigned.

    Raises:
        UsageError: a mistake in the line, the law or the table. IPython prints it without a traceback
            and stops running further cells.
    """
    try:
        words = _words(line)
        if HELP & set(words):
            print(description())
            return
        request = _request(words)
        if request.variable is not None:
            _check_name(request.variable, request)
        declared_law, warnings = _law_of(cell)
        changed = request.changes.apply(declared_law)
        name = request.variable or changed.name.replace(".", "_")
        _check_name(name, request)
        table = None
        if request.table is not None:  # all input is checked before the proofs, which take longer
            table = _table(request.table, variables)
            check_inputs(changed, table, request.options)
        if warnings:
            findings = (Findings(tuple(_in_cell(warnings, line, cell))),)
            parts = {"text/plain": text_of(findings), "text/html": notebook_html(findings)}
            display(parts, raw=True)
        results: dict[str, Any] = {name: _shown(changed)}
        if request.checked and changed.claims:
            results[f"{name}_check"] = _shown(check(changed))
        if table is not None:
            results[f"{name}_fit"] = _shown(fit_with(changed, table, request.options))
    except LawdslError as error:
        diagnostics = _in_cell(error.diagnostics, line, cell)
        raise UsageError("\n".join(render(each) for each in diagnostics)) from None
    except click.ClickException as error:
        raise UsageError(_of_line(error, line)) from None
    variables.update(results)
    print("variables:", ", ".join(results))


def _shown(result: Any) -> Any:
    """A result, after the notebook has shown it: as HTML, and on a terminal as a report."""
    display({"text/plain": str(result), "text/html": result._repr_html_()}, raw=True)
    return result


def _in_cell(diagnostics: Iterable[Diagnostic], line: str, cell: str) -> list[Diagnostic]:
    """Messages with the lines counted as the notebook counts them: `%%law` is the first."""
    first = f"%%law {line.strip()}".rstrip() + "\n"
    shift, text = len(first), Text(CELL, first + cell)
    shifted = []
    for d in diagnostics:
        if d.text is not None and d.text.name == CELL:
            span = None if d.span is None else Span(d.span.start + shift, d.span.end + shift)
            d = replace(d, text=text, span=span)
        shifted.append(d)
    return shifted


def _of_line(error: click.ClickException, line: str) -> str:
    """A message about the line of `%%law`, with the word that it is about where that is known."""
    message = f"{error.format_message().rstrip('.')}; `%%law --help` describes the line"
    shown = f"%%law {line.strip()}"
    parameter = getattr(error, "param", None)
    options = [getattr(error, "option_name", None), *(getattr(parameter, "opts", None) or ())]
    words = [option for option in options if option and f" {option}" in f"{shown} "]
    if not words:
        return message
    column = shown.index(f" {words[0]}") + 1
    carets = " " * column + "^" * len(words[0])
    return f"{message}\n --> {CELL}:1:{column + 1}\n  |\n1 | {printable(shown)}\n  | {carets}"


def _words(line: str) -> list[str]:
    """The words of the line, split as a shell does."""
    try:
        return shlex.split(line)
    except ValueError as error:  # a quotation without an end
        raise click.UsageError(f"{error} in {line.strip()!r}") from None


def _request(words: list[str]) -> _Request:
    if words and "=" in words[0] and not words[0].startswith("-") and not Path(words[0]).exists():
        raise click.UsageError(f"a table is missing before {words[0]!r}")
    request: _Request = _read_line.main(words, "%%law", standalone_mode=False)
    return request


def _law_of(cell: str) -> tuple[Law, list[Diagnostic]]:
    section = section_of_text(cell)
    if section != "law":
        raise click.UsageError(
            f"the cell has a {section}, and %%law reads laws: write it to a file, `%%writefile "
            f"my_{section}.law`, for `lawdsl.{'solve' if section == 'question' else 'run_pipeline'}`"
        )
    declarations, warnings = declared(Text(CELL, cell), Path.cwd())
    return Law(declarations), warnings


def _check_name(name: str, request: _Request) -> None:
    """Refuse a name that is not one in Python, or whose meaning the notebook would lose."""
    problem = ""
    if not name.isidentifier() or keyword.iskeyword(name):
        problem = "is not a valid name for a Python variable"
    elif name in OF_IPYTHON:
        problem = "is a name that IPython assigns"
    elif keyword.issoftkeyword(name):
        problem = "is a keyword of Python"
    elif hasattr(builtins, name):
        problem = "is a built-in name of Python, which the law would hide"
    elif name == request.table:
        problem = "is the table, which the law would replace"
    if problem:
        raise click.UsageError(f"{printable(name)!r} {problem}: choose another one with --as NAME")


def _table(name: str, variables: Mapping[str, Any]) -> Table:
    """The table in a variable or a file.

    Raises:
        LawdslError: a malformed table, or no file where there is no variable either.
    """
    if name.isidentifier() and name in variables:
        table = read_table(variables[name])
        return replace(table, name=NAMED_MAPPING) if table.name == MAPPING else table
    try:
        return read_table(name)
    except LawdslError as error:
        if not name.isidentifier() or Path(name).exists():
            raise
        known = (n for n, value in variables.items() if not n.startswith("_") and _is_table(value))
        help = did_you_mean(name, known, "give the name of a data frame, or the path of a file")
        message = f"the notebook has no variable `{name}`, and there is no file of this name"
        raise LawdslError(replace(error.diagnostics[0], message=message, help=help)) from None


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or hasattr(type(value), "columns")


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register `%%law`; `%load_ext lawdsl` calls it.

    Args:
        shell: the running IPython.
    """

    def law_of_cell(line: str, cell: str) -> None:
        law(line, cell, shell.user_ns)

    law_of_cell.__doc__ = description()
    shell.register_magic_function(law_of_cell, "cell", "law")
    transforms = shell.input_transformers_cleanup
    if with_body not in transforms:  # the extension may be loaded again
        transforms.insert(0, with_body)


def with_body(lines: list[str]) -> list[str]:
    """A cell `%%law --help` with an empty line below, since IPython refuses one without a body.

    Args:
        lines: the lines of a cell.

    Returns:
        The lines; those of other cells unchanged.
    """
    words = lines[0].split() if len(lines) == 1 else []
    is_help = words[:1] == ["%%law"] and bool(HELP & set(words))
    return [f"{lines[0].rstrip()}\n", "\n"] if is_help else lines


def description() -> str:
    """What `%%law?` and `%%law --help` show: how the line is written, and its options."""
    context = click.Context(_read_line, info_name="%%law")
    about = """Check the law in this cell, fit it to TABLE if one is given, and show both.

TABLE is a variable of the notebook, such as a data frame, or the path of a file.
NAME=COLUMN binds a variable or the output of the law to a column: L=loss.

The law `my_law` becomes the variable `my_law`, its verdicts `my_law_check`, its fit `my_law_fit`.

"""
    return about + _read_line.get_help(context)
