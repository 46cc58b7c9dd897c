"""An option that a command does not have -> the one that does what is meant, or the argument."""

from __future__ import annotations

import difflib

import click

SYNONYMS = {
    "--format": "--to",
    "--target": "--to",
    "--method": "--objective",
    "--loss": "--objective",
    "--criterion": "--objective",
    "--filter": "--where",
    "--query": "--where",
    "--subset": "--where",
    "--rows": "--where",
    "--confidence": "--level",
    "--ci": "--intervals",
    "--out": "--output",
    "--save": "--output",
    "--file": "--output",
    "--type": "--kind",
    "--param": "--set",
    "--init": "--start",
    "--p0": "--start",
    "--timeout": "--time-limit",
    "--n": "--count",
    "--dryrun": "--dry-run",
    "--workers": "--jobs",
    "--verbose": "--help",
}
"""What other programs call an option -> its name here."""


def advised(error: click.UsageError) -> click.UsageError:
    """An error of a command line; for an unknown option, one that says what is meant.

    Args:
        error: the error.
    """
    context = error.ctx
    if not isinstance(error, click.NoSuchOption) or context is None:
        return error
    name, command = error.option_name, context.command
    message = f"unknown option {name}"
    options = {o for p in command.params if isinstance(p, click.Option) for o in p.opts}
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    words = [argument.make_metavar(context) for argument in arguments]
    bare = name.lstrip("-")
    named = {argument.name for argument in arguments}
    if SYNONYMS.get(name) in options:
        message += f"; did you mean {SYNONYMS[name]}?"
    elif named & {bare, f"{bare}s"}:
        usage = f"lawdsl {command.name} {' '.join(words)}"
        message += f": write its value without the option, `{usage}`"
    elif any("NAME=VALUE" in word for word in words) and len(bare) < 4:
        message += f"; values are written {bare}=VALUE"
    elif difflib.get_close_matches(name, options, cutoff=0.7):
        return error
    else:
        message += f"; `lawdsl {command.name} --help` lists the options"
    return click.UsageError(message, context)
