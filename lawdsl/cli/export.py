"""`lawdsl export`: fit, or law with values -> the formula in another language."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lawdsl.cli.law_error import level_option
from lawdsl.cli.options import as_json, finish, numbers, print_message, write
from lawdsl.exporting import TARGETS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lawdsl.fitting.result import Fit
    from lawdsl.fitting.result_by_label import Fits
    from lawdsl.law.law import Law


@click.command("export")
@click.argument("fit")
@click.option(
    "--to",
    "target",
    type=click.Choice(TARGETS),
    required=True,
    help="Language or format of the output.",
)
@click.option(
    "-o", "--output", metavar="FILE", help="File to write; without it the formula is printed."
)
@level_option
@click.option(
    "--set",
    "values",
    multiple=True,
    metavar="NAME=VALUE",
    help="For a law without a fit: the value of a parameter or setting.",
)
@as_json
def export(
    fit: str,
    target: str,
    output: str | None,
    level: float | None,
    values: tuple[str, ...],
    as_json: bool,
) -> int:
    """Write a fitted formula as code, LaTeX or JSON.

    \b
    lawdsl export fit.json --to python -o loss.py     floats, without dependencies
    lawdsl export fit.json --to numpy                 arrays; also torch and jax
    lawdsl export fit.json --to javascript -o loss.mjs
    lawdsl export fit.json --to latex                 for a paper
    lawdsl export fit.json --to json                  the steps of the formula as data
    lawdsl export chinchilla --to python --set E=1.8172 --set A=482.01 --set alpha=0.3478 \\
           --set B=2085.43 --set beta=0.3658          a law with given values

    A module defines `predict`, which checks the domain, `predict_with_interval`, and derivatives.
    Its intervals include the noise of the fitted rows, but not the error of the law. A law with index
    sets has a formula for each label, which only a fit knows: export the fit.
    """
    from lawdsl.core.diagnostics import Diagnostic
    from lawdsl.exporting.export import export as exported
    from lawdsl.fitting.result import Fit
    from lawdsl.fitting.result_by_label import Fits

    given = numbers(values, "--set")
    what = _with_values(fit, given)
    text = exported(what, target) if level is None else exported(what, target, level=level)
    warnings: dict[Diagnostic, None] = {}
    if isinstance(what, Fit | Fits):
        parts = what.parts if isinstance(what, Fits) else (what,)
        warnings = dict.fromkeys(warning for part in parts for warning in part.distrust())
    if output:
        write(Path(output), text)

    def printed() -> None:
        if output:
            print_message(f"wrote {output}")
        else:
            click.echo(text, nl=False)

    result = {"target": target, "file": output, "text": None if output else text}
    return finish("export", result, warnings, ok=True, as_json=as_json, show=printed)


def _with_values(path: str, values: Mapping[str, float]) -> Fit | Fits | Law:
    """A fit, or a law with values for its parameters and settings.

    Raises:
        LawdslError: neither can be read, or a value is for a name that the law lacks.
        click.UsageError: values together with a fit.
    """
    from lawdsl.fitting.result_by_label import load_fit
    from lawdsl.law.law import load

    if path.endswith(".json"):
        if values:
            raise click.UsageError("a fit has its values: --set is for laws")
        return load_fit(path)
    law = load(path)
    settings = {s.name for s in law.settings}
    fixed = {name: x for name, x in values.items() if name not in settings}
    given = {name: x for name, x in values.items() if name in settings}
    return law.with_settings(**given).with_held(fixed, {})


COMMANDS = (export,)
