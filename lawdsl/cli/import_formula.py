"""`lawdsl import`: a formula in Python's spelling -> a law file."""

from __future__ import annotations

import re
from pathlib import Path

import click

from lawdsl.cli.options import as_json, finish, print_message, write
from lawdsl.core.diagnostics import Diagnostic, LawdslError


class _FormulaCommand(click.Command):
    """A command whose argument may start with a minus sign, unlike an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; a formula is moved behind `--`."""
        formulas = [each for each in args if _NEGATIVE.match(each)]
        if formulas and "--" not in args:
            args = [*(each for each in args if each not in formulas), "--", *formulas]
        return super().parse_args(ctx, args)


_NEGATIVE = re.compile(r"-(?!-|h$|o$)(?!o[^*(^+ ]*$)")
"""A formula that starts with a minus sign: no long option, no -h, no -o, and no -oFILE."""


@click.command("import", cls=_FormulaCommand)
@click.argument("formula")
@click.option("--name", required=True, help="The name of the law.")
@click.option(
    "-o", "--output", metavar="FILE", help="File to write; without it the law is printed."
)
@click.option(
    "--variables",
    metavar="NAMES",
    help="Names of the variables, 'C,M', or their domains, 'C > 0, r in [0, 1]'.  [default: N, D and r]",
)
@as_json
def import_formula(
    formula: str, name: str, output: str | None, variables: str | None, as_json: bool
) -> int:
    """Convert a formula in Python syntax to a law file.

    \b
    lawdsl import 'E + A/N**alpha + B/D**beta' --name my_law -o my_law.law
    lawdsl import 'acc = a/(1 + np.exp(-k*(x - x0))) + b' --name sigmoid --variables x

    The formula is parsed and never executed. Powers are ** or ^; functions have their names in math,
    NumPy, PyTorch or JAX. All names that are not variables are parameters. In Python,
    lawdsl.Law.from_sympy(expression, name="my_law") converts a SymPy expression.
    """
    from lawdsl.language.foreign.formula import read_foreign_formula
    from lawdsl.language.new_law import chosen_variables, law_text

    name = name.removesuffix(".law")
    stated = None if variables is None else [variables]
    read = read_foreign_formula(formula, stated)
    chosen = chosen_variables(read.names, stated or read.arguments or None)
    parameters = {each: "" for each in read.names if each not in chosen}
    text = law_text(name, read.output, read.formula, chosen, parameters)
    if output:
        if Path(output).exists():
            help = "choose a file that does not exist"
            message = "the file exists already"
            raise LawdslError(Diagnostic("L0313", message, place=output, help=help))
        write(Path(output), text)

    def printed() -> None:
        if not output:
            click.echo(text, nl=False)
        print_message(
            f"variables: {', '.join(chosen)}; parameters: {', '.join(parameters) or 'none'}"
        )
        if output:
            print_message(f"wrote {output}; next: lawdsl check {output}")

    result = {
        "name": name,
        "file": output,
        "text": text,
        "variables": list(chosen),
        "parameters": list(parameters),
    }
    return finish("import", result, (), ok=True, as_json=as_json, show=printed)


COMMANDS = (import_formula,)
