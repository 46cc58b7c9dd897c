"""An option that a command does not have -> the one that does what is meant, or the argument."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

import click

from lawdsl.cli.unknown_choices import UNKNOWN as UNKNOWN_CHOICE, meant_choice
from lawdsl.cli.unknown_commands import UNKNOWN as UNKNOWN_COMMAND, unknown_command
from lawdsl.cli.unread_lines import EXTRA, extra_words, missing_option

OTHER_NAMES = {
    "--latex": "tex math",
    "--to": "format target fmt language lang backend",
    "--objective": "method loss criterion error-function cost-function",
    "--where": "filter query subset rows select condition if only",
    "--level": "confidence confidence-level conf ci-level cl coverage",
    "--intervals": "ci interval-method errors uncertainty",
    "--output": "out save file outfile out-file output-file dest destination save-to write-to to-file "
    "output-path save-fit",
    "--kind": "type chart figure plot-type style",
    "--fix": "fixed freeze hold constant param-value",
    "--set": "param setting define override parameter",
    "--start": "init p0 initial guess x0 start-values",
    "--starts": "restarts n-starts nstarts num-starts inits n-restarts multistart",
    "--resamples": "n-boot nboot bootstraps samples n-samples num-samples n-resamples b",
    "--draws": "samples n-samples num-samples n-draws",
    "--time-limit": "timeout max-time limit time time-out",
    "--count": "n num number size",
    "--dry-run": "dryrun dry simulate plan no-run noop n what-if",
    "--jobs": "workers num-workers n-jobs threads parallel cores processes j",
    "--plot": "svg png pdf fig figure chart graph plot-file",
    "--quiet": "silent no-progress q",
    "--drop-bad": "drop dropna drop-na skip-bad ignore-bad skip-errors drop-missing ignore-missing "
    "drop-invalid na-rm",
    "--run": "group groups group-by groupby cluster clusters run-column",
    "--by": "group groups group-by groupby",
    "--weights": "weight w sample-weight sigma",
    "--se": "std sd sigma stderr error errors yerr sem",
    "--protocol": "cv folds kfold k-fold split splits validation scheme",
    "--without": "no-bound drop-bound unbounded",
    "--apply-fixes": "fix write w in-place inplace i autofix",
    "--check": "verify list-different l dry-run",
    "--candidates": "pool from-sweep",
    "--target": "goal at",
    "--delta": "huber-delta threshold",
    "--quantile": "q tau",
    "--over": "overestimate-penalty over-estimate-penalty asymmetry",
    "--from": "data table csv input runs",
    "--wrong": "model-error law-error discrepancy",
    "--safe": "probability prob",
    "--json": "to-json as-json",
    "--only": "select check",
    "--tie": "link share",
    "--prior": "penalty regularize ridge",
}
"""Option -> what other programs call it; the first that a command has is suggested."""

OTHER_OPTIONS = {
    "--bootstrap": "--intervals bootstrap",
    "--profile": "--intervals profile",
    "--huber": "--objective 'huber(log)'",
    "--mse": "--objective squared",
    "--mae": "--objective absolute",
    "--log": "--objective 'squared(log)'",
    "--no-progress": "--quiet",
    "--kfold": "--protocol splits",
    "--loo": "--protocol leave-one-out",
    "--latex": "--to latex",
    "--python": "--to python",
    "--pytorch": "--to torch",
    "--torch": "--to torch",
    "--jax": "--to jax",
    "--numpy": "--to numpy",
    "--residuals": "--kind residuals",
}
"""Options of other programs -> an option with its value."""

FIGURE_OPTIONS = {
    "x": "x x-axis xaxis x-col xcol x-var",
    "y": "y y-axis yaxis y-col ycol y-var",
    "color": "color colour hue c group color-by colour-by",
}
"""Option of a figure, which is written NAME=VALUE -> what other programs call it."""

IN_PLACE = (
    "--write",
    "-w",
    "--inplace",
    "--in-place",
    "-i",
    "--overwrite",
    "--save",
    "--fix-in-place",
)
VERBOSE = (
    "--verbose",
    "-v",
    "-vv",
    "-vvv",
    "--debug",
    "--progress",
    "--log-level",
    "--show-progress",
)
UNASKED = ("--yes", "-y", "--force", "-f", "--no-confirm", "--assume-yes", "--batch", "--exist-ok")
COLUMNS = (
    "--columns --cols --column --bind --map --mapping --x --y --xcol --ycol --x-col --y-col --xy "
    "--rename --features --inputs --outputs --target-column --variables --vars"
).split()
SEPARATORS = ("--sep", "--delimiter", "--separator", "--delim", "-d", "--decimal")
UNUSED = (
    "--seed --random-seed --random-state --threads --num-workers --n-jobs --jobs --workers -j "
    "--cores --parallel --gpu --device --cuda --color --no-color --cache --no-cache --max-iter "
    "--maxiter --tol --optimizer --solver --header --index --encoding"
).split()
"""Options of other programs that nothing here needs."""

ARGUMENTS = {
    "data": "input csv table dataset data-file file-in measurements frame df",
    "law": "model formula equation",
    "fit": "model from checkpoint",
    "question": "problem",
}
"""Argument -> options by which other programs take it."""


def advised(error: click.UsageError, arguments: Sequence[str]) -> click.UsageError:
    """An error of a command line; for an unknown word, one that says what is meant.

    Args:
        error: the error.
        arguments: the command line, without the name of the program.
    """
    context = error.ctx
    if context is None:
        return error
    if isinstance(error, click.NoSuchOption):
        message = _unknown_option(error, context, arguments)
        return click.UsageError(message, context) if message else error
    unknown = UNKNOWN_COMMAND.match(error.message)
    if unknown and isinstance(context.command, click.Group):
        commands, path = context.command.commands, context.command_path
        message = unknown_command(unknown["name"], arguments, commands, path)
        return click.UsageError(message, context)
    extra = EXTRA.fullmatch(error.message.rstrip("."))
    if extra:
        message = extra_words(extra["words"].split(), context, arguments)
        return click.UsageError(message, context) if message else error
    if isinstance(error, click.MissingParameter):
        message = missing_option(error, arguments)
        return click.UsageError(message, context) if message else error
    parted = _parted_pair(arguments)
    if parted and not isinstance(error, click.BadParameter) and "NAME=" in error.message:
        return click.UsageError(parted, context)
    if isinstance(error, click.BadParameter) and error.param is not None:
        choice = UNKNOWN_CHOICE.match(error.message)
        if choice and isinstance(error.param.type, click.Choice):
            option = max(error.param.opts, key=len)
            meant = meant_choice(
                option, choice["value"], [str(c) for c in error.param.type.choices]
            )
            if meant is not None:
                message = f"{error.format_message()} Did you mean {meant}?"
                return click.UsageError(message, context)
    return error


def _parted_pair(arguments: Sequence[str]) -> str:
    """The message about `--fix alpha 0.3`; empty if there is no such option."""
    for option, name, value in zip(arguments, arguments[1:], arguments[2:], strict=False):
        plain = "=" not in name and "=" not in value and not value.startswith("-")
        if option in ("--fix", "--set", "--start", "--tie") and plain and name.isidentifier():
            return f"{option} takes NAME=VALUE in one word: {option} {name}={value}"
    return ""


def _unknown_option(
    error: click.NoSuchOption, context: click.Context, arguments: Sequence[str]
) -> str | None:
    """The message about an unknown option; None where click has found a similar one."""
    name, command = error.option_name, context.command
    options = [o for p in command.params if isinstance(p, click.Option) for o in p.opts]
    line = [a for a in arguments if a == name or a.startswith(f"{name}=")]
    value = line[0].partition("=")[2] if line else ""
    if line and not value:  # `--x D`
        following = list(arguments)[list(arguments).index(line[0]) + 1 :][:1]
        value = "".join(word for word in following if not word.startswith("-") and "=" not in word)
    if not name.startswith("--"):  # `-where` is read as `-w -h …`
        whole = next((a for a in arguments if len(a) > 2 and a.startswith(name)), name)
        if f"-{whole.partition('=')[0]}" in options:
            return f"unknown option {whole}; did you mean -{whole}?"
    message = f"unknown option {name}"
    if isinstance(context.command, click.Group):
        names = " ".join(context.command.commands)
        known = any(name in p.opts for c in context.command.commands.values() for p in c.params)
        if known:
            return f"{message}: write it after the command, `{context.command_path} COMMAND {name}`"
        if name in ("-v", "-V"):
            return f"{message}; did you mean --version?"
        return f"{message}; `{context.command_path} --help` lists options, and the commands {names}"
    advice = _advice(name, value, options, command, context)
    if advice is not None:
        return message + advice
    if difflib.get_close_matches(name, options, cutoff=0.7):
        return None
    return f"{message}; `{context.command_path} --help` lists the options"


def _advice(
    name: str,
    value: str,
    options: Sequence[str],
    command: click.Command,
    context: click.Context,
) -> str | None:
    """What stands in place of an option, as the end of a message; None if that is not known."""
    bare = name.lstrip("-").replace("_", "-").lower()
    words = {
        p.name or "": p.make_metavar(context)
        for p in command.params
        if isinstance(p, click.Argument)
    }
    if f"--{bare}" in options or f"-{bare}" in options:
        return f"; did you mean {f'--{bare}' if f'--{bare}' in options else f'-{bare}'}?"
    for option, others in OTHER_NAMES.items():
        if option in options and bare in others.split():
            return f"; did you mean {option}?"
    other = OTHER_OPTIONS.get(f"--{bare}")
    if other is not None and other.split()[0] in options:
        return f"; did you mean {other}?"
    usage = f"{context.command_path} {' '.join(words.values())}"
    taken = {
        argument: {argument, argument.removesuffix("s"), *ARGUMENTS.get(argument, "").split()}
        for argument in words
    }
    if any(bare in {name, f"{name}s"} | others for name, others in taken.items()):
        return f": write its value without the option, `{usage}`"
    figure = next((own for own, others in FIGURE_OPTIONS.items() if bare in others.split()), None)
    if "[OPTION=VALUE]..." in words.values() and figure is not None:
        written = f"{figure}={value or 'VALUE'}"
        return f"; options of a figure are written without --: {written}"
    binds = next((w for w in words.values() if "NAME=COLUMN" in w), None)
    if name.lower() in COLUMNS and binds:
        return f": a variable is bound to a column by NAME=COLUMN, `{usage}`"
    if name.lower() in UNUSED:
        return ": leave it out"
    if re.fullmatch(r"[A-Za-z]\w{0,4}", bare) and any("NAME=VALUE" in w for w in words.values()):
        return f"; values are written {name.lstrip('-')}={value or 'VALUE'}"
    to_file = bare in OTHER_NAMES["--output"].split() or name in ("-o", "--output")
    if command.name == "fmt" and (name in IN_PLACE or to_file):
        return ": leave it out, `lawdsl fmt FILE` writes the file"
    if name in VERBOSE:
        more = ": progress and findings are printed unless -q is given" if "-q" in options else ""
        return f": leave it out{more}"
    if name in UNASKED or name in IN_PLACE:
        return ": leave it out, nothing is asked"
    if to_file:
        return (
            ": what the command prints goes to a file by `> FILE`, and as JSON by `--json > FILE`"
        )
    if name in SEPARATORS:
        return ": leave it out; cells are separated by commas, and numbers have a point"
    return None
