"""`%%law` in a notebook: the text of a law in a cell -> the law, its verdicts and a fit, shown.

`%load_ext lawdsl` registers it, through `load_ipython_extension`.
"""

from __future__ import annotations

import keyword
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from IPython.core.error import UsageError
from IPython.display import display

from lawdsl.cli.fit import priors
from lawdsl.cli.options import OF_ONE_FIT, changes, columns, count_of_starts, fit_options
from lawdsl.core.diagnostics import LawdslError, Text, printable, render
from lawdsl.fitting.fit import fit_with
from lawdsl.fitting.options import FitOptions
from lawdsl.language.keywords import section_of_text
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
        request = _request(line)
        read = request.changes.apply(_law_of(cell))
        name = _variable_name(request.variable, read.name)
        results: dict[str, Any] = {name: _shown(read)}
        if request.checked and read.claims:
            results[f"{name}_check"] = _shown(check(read))
        if request.table is not None:
            fitted = fit_with(read, _table(request.table, variables), request.options)
            results[f"{name}_fit"] = _shown(fitted)
    except LawdslError as error:
        raise UsageError("\n".join(render(each) for each in error.diagnostics)) from None
    except click.ClickException as error:
        raise UsageError(f"{error.format_message()}; `%%law?` describes the line") from None
    variables.update(results)
    print("variables:", ", ".join(results))


def _shown(result: Any) -> Any:
    # a terminal shows the report, not the fields of the record
    display({"text/plain": str(result), "text/html": result._repr_html_()}, raw=True)
    return result


def _request(line: str) -> _Request:
    try:
        words = shlex.split(line)
    except ValueError as error:  # a quotation without an end
        raise click.UsageError(f"{error} in {line.strip()!r}") from None
    if words and "=" in words[0] and not words[0].startswith("-") and not Path(words[0]).exists():
        raise click.UsageError(f"a table is missing before {words[0]!r}")
    request: _Request = _read_line.main(words, "%%law", standalone_mode=False)
    return request


def _law_of(cell: str) -> Law:
    section = section_of_text(cell)
    if section != "law":
        raise click.UsageError(
            f"the cell has a {section}, and %%law reads laws: write it to a file, `%%writefile "
            f"my_{section}.law`, for `lawdsl.{'solve' if section == 'question' else 'run_pipeline'}`"
        )
    declarations, warnings = declared(Text(CELL, cell), Path.cwd())
    if warnings:
        findings = (Findings(tuple(warnings)),)
        display({"text/plain": text_of(findings), "text/html": notebook_html(findings)}, raw=True)
    return Law(declarations)


def _variable_name(given: str | None, law_name: str) -> str:
    name = given or law_name.replace(".", "_")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise click.UsageError(
            f"{printable(name)!r} cannot be the name of a variable of Python: choose one with --as NAME"
        )
    return name


def _table(name: str, variables: Mapping[str, Any]) -> Any:
    return variables[name] if name.isidentifier() and name in variables else name


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register `%%law`; `%load_ext lawdsl` calls it.

    Args:
        shell: the running IPython.
    """

    def law_of_cell(line: str, cell: str) -> None:
        law(line, cell, shell.user_ns)

    law_of_cell.__doc__ = description()
    shell.register_magic_function(law_of_cell, "cell", "law")


def description() -> str:
    """What `%%law?` shows: how the line is written, and its options."""
    context = click.Context(_read_line, info_name="%%law")
    about = """Check the law in this cell, fit it to TABLE if one is given, and show both.

TABLE is a variable of the notebook, such as a data frame, or the path of a file.
NAME=COLUMN binds a variable or the output of the law to a column: L=loss.

The law `my_law` becomes the variable `my_law`, its verdicts `my_law_check`, its fit `my_law_fit`.

"""
    return about + _read_line.get_help(context)
