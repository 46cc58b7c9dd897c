"""Options, arguments and output that several commands share."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from lawdsl.cli.law_error import Percentage
from lawdsl.cli.misplaced_words import misplaced_file
from lawdsl.cli.pairs import split_pairs, unread_pair
from lawdsl.core import files
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import disjunction
from lawdsl.core.output_files import check_writable, writing
from lawdsl.data.formats import FORMATS
from lawdsl.fitting.options import OPTIONS, option
from lawdsl.reporting.json_document import document

Command = TypeVar("Command", bound=Callable[..., Any])

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
quiet = click.option("-q", "--quiet", is_flag=True, help="Print no progress and no proofs.")
settings = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Override a setting of the law.",
)


def fit_option(name: str, **changes: Any) -> Callable[[Command], Command]:
    """The option of a command for a field of `FitOptions`.

    Args:
        name: the name of the field.
        changes: overrides of `default` and `help`.
    """
    meaning, default = option(name), OPTIONS[name].default
    keywords: dict[str, Any] = {"help": meaning.help}
    if isinstance(default, bool):
        keywords["is_flag"] = True
    elif isinstance(default, tuple):
        keywords["multiple"] = True
    elif meaning.shown:
        keywords |= {"default": default, "show_default": True}
    if meaning.choices is not None:
        keywords["type"] = click.Choice(meaning.choices)
    elif meaning.kind is not None:
        keywords["type"] = meaning.kind
    if name == "level":
        keywords["type"] = Percentage()
    if meaning.metavar is not None:
        keywords["metavar"] = meaning.metavar
    return click.option(f"--{name.replace('_', '-')}", **(keywords | changes))


def option_group(name: str, *options: Callable[[Any], Any]) -> Callable[[Any], Callable[..., int]]:
    """Several options whose values the command receives as one mapping, in this order.

    Args:
        name: the name of the parameter of the command; several groups of one name are merged.
        options: the results of `click.option`.

    Returns:
        A decorator of a command.
    """

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        names: list[str] = []

        @wraps(command)
        def with_group(**arguments: Any) -> int:
            values = {each: arguments.pop(each) for each in names}
            return command(**(arguments | {name: values | arguments.get(name, {})}))

        decorated: Any = with_group
        count = len(getattr(decorated, "__click_params__", ()))
        # decorators are applied from the inside out, but the help lists the outermost option first
        for add_option in reversed(options):
            decorated = add_option(decorated)
        # only click knows the parameter names: an option may have several flags and its own name
        names += [parameter.name for parameter in decorated.__click_params__[count:]]
        return with_group

    return decorate


def fit_options(
    *names: str, **changes: Mapping[str, Any]
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """The options of a command for several fields of `FitOptions`, in this order.

    The command receives the values as one mapping, `options`, from which it builds the record: name
    of the field -> value.

    Args:
        names: the names of the fields.
        changes: field -> overrides of `default` and `help`.
    """
    return option_group("options", *(fit_option(name, **changes.get(name, {})) for name in names))


OF_ONE_FIT = (
    "objective",
    "delta",
    "quantile",
    "over",
    "drop_bad",
    "enforce",
    "weights",
    "run",
    "horizon",
    "intervals",
    "level",
    "resamples",
    "seed",
)
"""Fields of `FitOptions` that are options wherever one fit is made, behind `where` and `starts`."""


def count_of_starts(starts: str) -> int | str:
    """The value of `--starts`: a number, or a word such as `auto`.

    Args:
        starts: what was written.
    """
    return int(starts) if starts.isdecimal() and len(starts) < 10 else starts


def columns(command: Callable[..., int]) -> Callable[..., int]:
    """NAME=COLUMN arguments, which become the field `columns` of the options of a fit.

    Raises:
        click.UsageError: an argument of another form.
    """

    @wraps(command)
    def with_columns(*, columns: tuple[str, ...], **rest: Any) -> int:
        options = rest.pop("options", {}) | {"columns": bindings(columns)}
        return command(options=options, **rest)

    return click.argument("columns", nargs=-1, metavar="[NAME=COLUMN]...")(with_columns)


def options_of_each_fit(*names: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """The options of a command that fits many times; see `fit_options`.

    Args:
        names: fields of `FitOptions` that the help lists before those common to all such commands.
    """
    starts = {"default": 8, "help": "Starting points of each fit.", "metavar": None}
    shared = ("starts", "objective", "delta", "quantile", "over", "drop_bad", "seed")
    return fit_options(*names, *shared, starts=starts)


_without = click.option(
    "--without", multiple=True, metavar="BOUND", help='Drop a bound of the law: --without "C > C0".'
)
_fix = click.option(
    "--fix",
    multiple=True,
    metavar="NAME=VALUE",
    help="Fix a parameter, or one element: E=1.69, t[web,code]=2. Labels that are not names may have quotes: "
    't["math-web",code]=2.',
)
_tie = click.option(
    "--tie",
    multiple=True,
    metavar="NAME=FORMULA",
    help="Tie a parameter, or one element, to a formula of others: beta=alpha, k[en]=k[py].",
)


def numbers(pairs: Iterable[str], what: str) -> dict[str, float]:
    """Parse NAME=VALUE arguments as numbers.

    Args:
        pairs: the arguments.
        what: the option, for the message.

    Returns:
        Name -> number.

    Raises:
        click.UsageError: an argument of another form.
    """
    values = {}
    for pair, name, equals, value in split_pairs(pairs):
        try:
            values[name] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            number = what == "--start" and pair.strip().isdigit()
            several = [part.strip() for part in re.split(r"[,\s]+", pair) if part.strip()]
            each = len(several) > 1 and all(re.fullmatch(r"\w+=[-+\w.]+", p) for p in several)
            meant = f"; for {pair.strip()} starts write --starts {pair.strip()}" if number else ""
            if each and what.startswith("--"):
                meant = f"; give each by itself: {' '.join(f'{what} {part}' for part in several)}"
            raise click.UsageError(f"{what} takes NAME=NUMBER, not {pair!r}{meant}")
    return values


def formulas(pairs: Iterable[str], what: str) -> dict[str, str]:
    """Parse NAME=FORMULA arguments as text.

    Args:
        pairs: the arguments.
        what: the option, for the message.

    Returns:
        Name -> formula.

    Raises:
        click.UsageError: an argument of another form.
    """
    return _texts(pairs, f"{what} takes NAME=FORMULA")


def bindings(
    pairs: Iterable[str],
    usage: str = "write NAME=VALUE",
    *,
    lists: Callable[[str], bool] | None = None,
) -> dict[str, str]:
    """Parse NAME=COLUMN arguments as text.

    Args:
        pairs: the arguments.
        usage: how to write them, for the message.
        lists: whether a name takes several values, separated by commas; None where none does.

    Returns:
        Name -> column.

    Raises:
        click.UsageError: an argument of another form, or a name that is given twice.
    """
    return _texts(pairs, usage, lists=lists)


def _texts(
    pairs: Iterable[str], usage: str, *, lists: Callable[[str], bool] | None = None
) -> dict[str, str]:
    texts = {}
    pairs = list(pairs)
    for pair, name, equals, text in split_pairs(pairs, lists=lists):
        if not equals or not name or not text:
            file = misplaced_file(pair.strip(), click.get_current_context(silent=True))
            if file:
                raise click.UsageError(file)
            hint = unread_pair(pairs, pair)
            raise click.UsageError(f"{usage}, not {pair!r}{hint}")
        texts[name] = text
    return texts


def changes(command: Callable[..., int]) -> Callable[..., int]:
    """The options that change a law; the command receives them as one record, `changes`.

    Raises:
        click.UsageError: an argument of another form than NAME=VALUE.
    """

    @wraps(command)
    def with_changes(*, settings: Any, without: Any, fix: Any, tie: Any, **rest: Any) -> int:
        from lawdsl.language.law_changes import LawChanges

        record = LawChanges.of(
            settings=numbers(settings, "--set"),
            without=without,
            fix=numbers(fix, "--fix"),
            tie=formulas(tie, "--tie"),
        )
        return command(changes=record, **rest)

    for add_option in (_tie, _fix, _without, settings):
        with_changes = add_option(with_changes)
    return with_changes


INTERRUPT_HANDLERS: list[Callable[[], object]] = []
"""Functions that are called, oldest first, when a command is interrupted."""


@contextmanager
def on_interrupt(report: Callable[[], object]) -> Iterator[None]:
    """Register a function that prints a message if the command is interrupted in the block."""
    INTERRUPT_HANDLERS.append(report)
    try:
        yield
    finally:
        INTERRUPT_HANDLERS.remove(report)


def print_message(message: str) -> None:
    """Print a message to standard error, after everything printed before it."""
    # each stream has its own buffer, and both may be shown on one terminal
    sys.stdout.flush()
    click.echo(message, err=True)


def _figure_path(
    context: click.Context, parameter: click.Parameter, path: str | None
) -> str | None:
    """The path of a figure; a path that cannot be written is refused before anything is computed."""
    if path:
        from lawdsl.figures.draw import require_altair
        from lawdsl.figures.figure import figure_format

        check_writable(Path(path))
        figure_format(Path(path))
        require_altair()
    return path


plot_option = click.option(
    "--plot",
    metavar="FILE",
    callback=_figure_path,
    help="Draw the result: .svg, .pdf, .png, .html or .json.",
)
"""The option of a command whose `finish` draws its result."""


def table_option(*names: str, help: str) -> Callable[[Command], Command]:
    """An option for a file to which a table is written; an unknown format is refused at once.

    Args:
        names: the names of the option.
        help: the help text.
    """
    endings = disjunction(form.written[0] for form in FORMATS if form.written)
    return click.option(*names, metavar="FILE", callback=_table_path, help=f"{help}: {endings}.")


def _table_path(context: click.Context, parameter: click.Parameter, path: str | None) -> str | None:
    if path:
        from lawdsl.data.write import written_format

        written_format(Path(path))
    return path


def write(path: Path, text: str) -> None:
    """Write a file atomically.

    Args:
        path: the path of the file.
        text: its content.

    Raises:
        LawdslError: it cannot be written.
    """
    with writing(path):
        files.write(path, text)


def finish(
    command: str,
    result: Any,
    diagnostics: Iterable[Diagnostic],
    *,
    ok: bool,
    as_json: bool,
    show: Callable[[], None],
    plot: str | None = None,
    record: Any = None,
) -> int:
    """Print a command's result, as text or as JSON, and draw it.

    Args:
        command: the name of the command.
        result: plain data, for JSON.
        diagnostics: messages, which go to standard error.
        ok: whether the command succeeded without findings.
        as_json: whether to print JSON.
        show: the function that prints the result as text.
        plot: the path of the figure; None for none.
        record: the record that is drawn.

    Returns:
        The exit code: 0, or 1 with findings.
    """
    listed = list(diagnostics)
    if not as_json:
        show()
        sys.stdout.flush()
    # the result is valid even if it cannot be drawn
    not_drawn = _draw(record, plot) if plot else []
    listed += not_drawn
    ok = ok and not not_drawn
    if as_json:
        click.echo(document(command, result, listed, ok=ok, plot=plot if not not_drawn else None))
    else:
        from lawdsl.reporting.terminal import print_diagnostics

        if plot and not not_drawn:
            print_message(f"wrote {plot}")
        print_diagnostics(listed)
    return 0 if ok else 1


def _draw(record: Any, path: str) -> list[Diagnostic]:
    """Draw a result to a file; return the errors."""
    from lawdsl.figures.draw import draw

    try:
        with writing(Path(path)):
            draw(record).save(path)
    except LawdslError as error:
        return list(error.diagnostics)
    return []
