"""Options of a command -> an error if its output would replace one of its inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from lawdsl.core.diagnostics import Diagnostic, LawdslError

OUTPUTS = ("output", "plot", "report")
"""The options that name output files."""
NOT_FILES = frozenset({*OUTPUTS, "name"})


def protect_inputs(command: click.Command) -> None:
    """Make a command, and the commands of a group, refuse to overwrite the files that they read."""
    if isinstance(command, click.Group):
        for part in command.commands.values():
            protect_inputs(part)
    elif command.callback is not None:
        command.callback = _checked(command.callback)


def _checked(callback: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(callback)
    def run(*arguments: Any, **options: Any) -> Any:
        check_outputs(click.get_current_context().params)
        return callback(*arguments, **options)

    return run


def check_outputs(options: Mapping[str, Any]) -> None:
    """Raise an error if an output is also an input.

    Args:
        options: name -> value, of all arguments and options of a command.

    Raises:
        LawdslError: an existing file is both input and output (L0313).
    """
    outputs = [options[name] for name in OUTPUTS if isinstance(options.get(name), str)]
    paths = [Path(output) for output in outputs if Path(output).is_file()]
    if not paths:
        return
    for text in _texts(value for name, value in options.items() if name not in NOT_FILES):
        for path in paths:
            if _is_file(text) and path.samefile(text):
                message = "the output is one of the inputs, which it would replace"
                help = "write to another file: `-o NEW`"
                raise LawdslError(Diagnostic("L0313", message, place=str(path), help=help))


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    # too long for a path, or with a character that paths cannot contain
    except (OSError, ValueError):
        return False


def _texts(values: Iterator[Any]) -> Iterator[str]:
    """Texts that may be paths: arguments, and the values of NAME=VALUE."""
    for value in values:
        if isinstance(value, str):
            yield value
            yield value.partition("=")[2]
        elif isinstance(value, tuple | list):
            yield from _texts(iter(value))
