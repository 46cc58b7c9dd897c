"""The option --wrong: how wrong a law is beyond the fitted rows."""

from __future__ import annotations

import click


def _percentage(text: str) -> float:
    """The number of `2%`, or of `0.02`."""
    number = text.strip()
    try:
        return float(number[:-1]) / 100 if number.endswith("%") else float(number)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a percentage: write 2%, or 0.02") from None


wrong = click.option(
    "--wrong",
    metavar="PERCENT",
    callback=lambda _, __, text: None if text is None else _percentage(text),
    help="Error of the law per decade beyond the fitted rows, 2% by default; 0 for a law that is"
    " right.",
)
