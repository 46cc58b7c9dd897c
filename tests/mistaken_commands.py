"""Commands that are refused: their exit codes and messages, and a question that several tests ask."""

from __future__ import annotations

import pytest

from lawdsl import cli

LEAST = """\
question least "The smallest share of C4 that keeps the loss"
uses      loss : dcpt.share
given     T >= 0                       "tolerated relative rise of the loss"
given     L0 > 0       unit nat/token  "loss on C4 alone"
choose    r in [0, 1]                  "share of C4"
minimize  r
subject to loss(r) <= (1 + T)*L0  "loss"
"""


def exit_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """The exit code of a command, what it prints, and its messages."""
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err
