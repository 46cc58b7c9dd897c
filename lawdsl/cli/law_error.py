"""Options in per cent: how wrong a law is beyond the fitted rows, how safe an answer, the level of
intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from lawdsl.fitting.options import LEARNED

Command = Callable[..., Any]

LEVEL = 0.95  # default level of intervals


def percentage(text: str) -> float:
    """The number given as `2%` or `0.02`.

    Args:
        text: the text.

    Raises:
        click.BadParameter: it is not a number, or a per cent without its sign.
    """
    number = text.strip()
    try:
        value = float(number[:-1]) / 100 if number.endswith("%") else float(number)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a percentage: write 2%, or 0.02") from None
    if not number.endswith("%") and 1 < value <= 100:
        raise click.BadParameter(f"{number} is {100 * value:g} %: did you mean {number}%?")
    return value


class Percentage(click.types.FloatParamType):
    """A parameter type: `95%` or `0.95`."""

    name = "float"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Convert text to a number; see `percentage`.

        Args:
            value: the text given on the command line, or the default.
            param, ctx: objects of click, which names the option in errors.

        Returns:
            The number.
        """
        return value if isinstance(value, float) else percentage(str(value))


def _percentage_or_learned(text: str) -> float | str:
    """The number given as `2%`, or the word `learned`."""
    return LEARNED if text.strip() == LEARNED else percentage(text)


def percentage_option(name: str, help: str) -> Callable[[Command], Command]:
    """An option whose value is `2%`, or `0.02`; None where it is not given.

    Args:
        name: the name of the option.
        help: its help text.
    """
    return click.option(
        name,
        metavar="PERCENT",
        callback=lambda _, __, text: None if text is None else percentage(text),
        help=help,
    )


wrong = percentage_option(
    "--wrong",
    "Assumed error of the law per decade beyond the fitted rows; 0 takes the law as exact.  "
    "[default: 2%]",
)


level_option = percentage_option(
    "--level", "Confidence level of the intervals: 95% or 0.95.  [default: 0.95]"
)


def _wrong_or_learned(help: str) -> Callable[[Command], Command]:
    """The option `--wrong 5%`, or `--wrong learned`; None where it is not given."""
    return click.option(
        "--wrong",
        metavar="PERCENT|learned",
        callback=lambda _, __, text: None if text is None else _percentage_or_learned(text),
        help=help,
    )


wrong_or_learned = _wrong_or_learned(
    "Assumed error of the law per decade beyond the fitted rows; 0 takes the law as exact; learned:"
    " 2%, widened if the smaller runs of the table predicted its largest runs badly.  [default: 2%]"
)

wrong_of_laws = _wrong_or_learned(
    "Assumed error of the laws per decade beyond the fitted rows; 0 takes the laws as exact;"
    " learned: 2%, widened if the smaller runs of a table predicted its largest runs badly."
    "  [default: 2%]"
)
