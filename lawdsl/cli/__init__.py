"""The command line: results on standard output, messages on standard error.

Exit codes: 0 done; 1 done, with findings (a claim not as expected, a fit not trusted, a file not
formatted); 2 the command line is wrong; 3 the input is wrong; 5 a fault of the
tool, with a report; 130 and 143 interrupted.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import traceback
from contextlib import suppress
from types import FrameType
from typing import NoReturn

import click

from lawdsl import __version__
from lawdsl.cli import (
    checking,
    comparing,
    corpora,
    demonstration,
    files,
    fits,
    measuring,
    mixtures,
    observing,
    pipelines,
    predicting,
    running,
    solving,
    validation,
)
from lawdsl.cli.options import LAST_WORDS
from lawdsl.diagnostics import Diagnostic, LawdslError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="lawdsl")
def cli() -> None:
    """Scaling laws written as papers print them: checked, fitted, used.

    \b
    lawdsl new my_law                            start a law file
    lawdsl check my_law.law                      prove or refute what it claims
    lawdsl trends my_law.law runs.csv            hold it against measurements
    lawdsl fit my_law.law runs.csv -o fit.json   fit it to measurements
    lawdsl predict fit.json N=7e9 D=2e12         use the fit
    lawdsl solve dcpt.tradeoff general=fit.json …   answer a question with it
    lawdsl compare law1 law2 runs.csv            which law predicts best
    lawdsl pipeline mixing.nested runs.csv       predict a large run from small ones
    """


for room in (
    files,
    checking,
    observing,
    measuring,
    fits,
    predicting,
    comparing,
    solving,
    pipelines,
    mixtures,
    corpora,
    validation,
    running,
    demonstration,
):
    for command in room.COMMANDS:
        cli.add_command(command)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run a command and leave with its exit code; nothing a user does ends in a traceback."""
    arguments = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in arguments
    name = next((a for a in arguments if not a.startswith("-")), "lawdsl")
    signal.signal(signal.SIGTERM, _stopped)
    signal.signal(signal.SIGINT, _stopped)
    try:
        code = cli.main(arguments, prog_name="lawdsl", standalone_mode=False)
        _leave(code if isinstance(code, int) else 0)
    except click.exceptions.Exit as stop:
        _leave(stop.exit_code)
    except click.UsageError as error:
        if as_json:
            _fail(name, [Diagnostic("C0001", error.format_message())], as_json)
        else:
            error.show()
        _leave(2)
    except (KeyboardInterrupt, click.Abort):
        print("interrupted", file=sys.stderr)
        _leave(130)
    except LawdslError as error:
        _fail(name, list(error.diagnostics), as_json)
        _leave(3)
    except BrokenPipeError:
        sys.stderr.close()
        _leave(0)
    except OSError as error:
        message = f"the output cannot be written: {error.strerror}"
        _fail(
            name,
            [Diagnostic("C0003", message, help="free some space, or write elsewhere")],
            as_json=False,
        )
        os._exit(3)  # what could not be written must not be tried again on the way out
    except Exception:
        _fail(name, [_fault()], as_json)
        _leave(5)


def _fail(name: str, diagnostics: list[Diagnostic], as_json: bool) -> None:
    if as_json:
        from lawdsl.reporting.documents import document

        print(document(name, None, diagnostics, ok=False))
    else:
        from lawdsl.reporting.terminal import say

        say(diagnostics)


def _fault() -> Diagnostic:
    """The message for a fault of the tool itself; the details go to a file."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="lawdsl-fault-", suffix=".txt", delete=False, encoding="utf-8"
    ) as report:
        report.write(f"lawdsl {__version__}, Python {sys.version}\n")
        report.write(f"arguments: {sys.argv[1:]!r}\n\n{traceback.format_exc()}")
    message = "this is a fault of lawdsl, not of your input"
    return Diagnostic("C0005", message, help=f"please report it with the file {report.name}")


def _stopped(number: int, frame: FrameType | None) -> None:
    """Leave at once: files are written whole or not at all, so nothing needs tidying.

    An exception instead might be swallowed by a library that is being loaded.
    """
    with suppress(RuntimeError, OSError, ValueError):  # the stream may be in use
        for say in LAST_WORDS:
            say()
        sys.stdout.flush()
    os.write(2, b"interrupted\n" if number == signal.SIGINT else b"terminated\n")
    os._exit(128 + number)


def _leave(code: int) -> NoReturn:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stderr.close()
    raise SystemExit(code)
