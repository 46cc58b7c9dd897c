"""The command line: results on standard output, messages on standard error.

Exit codes: 0 done; 1 done, with findings (a claim not as expected, a fit not trusted, a file not
formatted); 2 the command line is wrong; 3 the input is wrong; 5 a fault of the
tool, with a report; 130 and 143 interrupted.
"""

from __future__ import annotations

import os
import select
import shlex
import signal
import sys
import tempfile
import traceback
import warnings
from contextlib import suppress
from importlib import import_module
from types import FrameType
from typing import NoReturn

import click

from lawdsl import __version__
from lawdsl.cli.first_collection import postpone_first_collection
from lawdsl.cli.options import INTERRUPT_HANDLERS
from lawdsl.cli.overwritten_inputs import protect_inputs
from lawdsl.cli.swapped_arguments import swapped_arguments_diagnostic
from lawdsl.cli.unknown_options import advised
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.registry import by_name
from lawdsl.core.warning_categories import LawdslWarning

BEGIN = f"""\
lawdsl {__version__}: check, fit and use scaling laws of language models.

See it work on shipped data:
  lawdsl demo

Begin with a table of your own runs, one row for each loss:
  lawdsl new my_law --from runs.csv   propose a law for its columns, and print the next commands

Begin with a law that ships:
  lawdsl laws                         list them
  lawdsl show chinchilla              formula, parameters and derivatives
  lawdsl check chinchilla             prove its claims

lawdsl --help lists all commands, and lawdsl COMMAND --help explains one.
"""


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="lawdsl")
@click.pass_context
def cli(context: click.Context) -> None:
    """Check, fit and use scaling laws of language models.

    A law is a text file with a formula, as papers print it, and claims about it.

    \b
    lawdsl new my_law --from runs.csv            propose a law for a table
    lawdsl check my_law.law                      prove or refute its claims
    lawdsl trends my_law.law runs.csv            test its claims on measurements
    lawdsl fit my_law.law runs.csv -o fit.json   estimate its parameters
    lawdsl predict fit.json N=7e9 D=2e12         predict with the fit
    lawdsl solve chinchilla.allocation loss=fit.json C=1e22   find the best choice
    lawdsl design fit.json --candidates sweep.toml …   which runs to do next
    lawdsl compare law1 law2 runs.csv            rank laws by held-out error
    lawdsl pipeline mixing.nested runs.csv       predict a large run from small ones
    """
    if context.invoked_subcommand is None:
        click.echo(BEGIN, nl=False)


COMMANDS = (
    "laws",
    "show",
    "new",
    "import_formula",
    "fmt",
    "explain",
    "check",
    "trends",
    "measure",
    "fit",
    "predict",
    "plot",
    "report",
    "export",
    "compare",
    "solve",
    "pipeline",
    "mixtures",
    "design",
    "corpus",
    "validation",
    "run",
    "collect",
    "doctor",
    "demo",
    "lsp",
    "completion",
)
"""The modules of commands: `lawdsl/cli/NAME.py`."""
TRAINING = frozenset({"run", "doctor"})
"""Commands whose processes train models and configure threads themselves."""

# commands import their dependencies inside functions, since all modules are loaded for `--help`
_MODULES = [import_module(f"lawdsl.cli.{module}") for module in COMMANDS]
for command in by_name((c.name, c) for module in _MODULES for c in module.COMMANDS).values():
    cli.add_command(command)
    protect_inputs(command)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run a command and exit with its code; no error of a user prints a traceback.

    Args:
        arguments: the arguments of the command line; those of the process if None.

    Raises:
        SystemExit: always, with the exit code.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    postpone_first_collection()
    # commands print the diagnostics that these warnings would repeat
    warnings.simplefilter("ignore", LawdslWarning)
    signal.signal(signal.SIGTERM, _exit_on_signal)
    signal.signal(signal.SIGINT, _exit_on_signal)
    _repair_streams()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except OSError as error:
        if not (isinstance(error, BrokenPipeError) and _reader_has_closed()):
            _exit_output_lost(error)
        code = 0
    raise SystemExit(code)


def _run(arguments: list[str]) -> int:
    """Run a command and print its messages; return its exit code.

    Raises:
        OSError: the output cannot be written.
    """
    name = next((a for a in arguments if not a.startswith("-")), "lawdsl")
    form = next((f for f in ("--sarif", "--json") if f in arguments), "")
    if name not in TRAINING:
        # matrices of fits are small, so the threads of NumPy's library would mostly busy-wait for
        # each other, which takes five times the time if other programs use the cores
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # parsed by hand, since errors of command lines that click rejects need this format, too
    form = "--json" if form == "--sarif" and name != "check" else form
    try:
        mistaken = swapped_arguments_diagnostic(arguments)
        if mistaken is not None:
            _fail(name, [mistaken], form)
            return 2
        # documents name the command that made them
        line = shlex.join(["lawdsl", *arguments])
        code = cli.main(arguments, prog_name="lawdsl", standalone_mode=False, obj=line)
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except SystemExit:  # Click raises it for a broken pipe
        if _reader_has_closed():
            return 0
        raise
    except click.UsageError as error:
        error = advised(error, arguments)
        if form:
            _fail(name, [Diagnostic("C0001", error.format_message())], form)
        else:
            error.show()
        return 2
    except (KeyboardInterrupt, click.Abort):
        print("interrupted", file=sys.stderr)
        return 130
    except LawdslError as error:
        _fail(name, list(error.diagnostics), form)
        return 3
    except OSError:
        raise
    except MemoryError:
        message = "the command needs more memory than there is"
        help = "give it fewer rows, labels or claims at once, or a machine with more memory"
        _fail(name, [Diagnostic("C0006", message, help=help)], form)
        return 3
    except Exception:
        _fail(name, [_fault()], form)
        return 5


def _repair_streams() -> None:
    """Open closed standard streams on the null device, and escape characters that their encoding
    lacks.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        with suppress(AttributeError):  # tests replace the streams
            getattr(sys, name).reconfigure(errors="backslashreplace")


def _reader_has_closed() -> bool:
    """Whether the reader of the output has closed its end of the pipe; the rest is then discarded."""
    gone = False
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # a stream without a file descriptor
            poll = select.poll()
            poll.register(stream.fileno(), 0)
            if any(event & select.POLLERR for _, event in poll.poll(0)):
                gone = True
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, stream.fileno())
                os.close(null)
    return gone


def _exit_output_lost(error: OSError) -> NoReturn:
    """Exit when the output cannot be written, for example to a full disk."""
    message = f"the output cannot be written: {error.strerror}"
    help = "free some space, or write elsewhere"
    with suppress(OSError):
        _fail("lawdsl", [Diagnostic("C0003", message, help=help)], "")
    os._exit(3)  # exit without flushing, which would fail again


def _fail(name: str, diagnostics: list[Diagnostic], form: str) -> None:
    """Print the error of a command: as a document in the requested format, or as text."""
    if form == "--sarif":
        from lawdsl.reporting.sarif import sarif

        print(sarif((), diagnostics, __version__, complete=False))
    elif form == "--json":
        from lawdsl.reporting.json_document import document

        print(document(name, None, diagnostics, ok=False))
    else:
        from lawdsl.reporting.terminal import print_diagnostics

        print_diagnostics(diagnostics)


def _fault() -> Diagnostic:
    """The message for an internal error; the details are written to a file."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="lawdsl-fault-", suffix=".txt", delete=False, encoding="utf-8"
    ) as report:
        report.write(f"lawdsl {__version__}, Python {sys.version}\n")
        report.write(f"arguments: {sys.argv[1:]!r}\n\n{traceback.format_exc()}")
    message = "this is a fault of lawdsl, not of your input"
    return Diagnostic("C0005", message, help=f"please report it with the file {report.name}")


def _exit_on_signal(number: int, frame: FrameType | None) -> None:
    """Exit at once: since files are written atomically, nothing needs cleaning up.

    An exception might be suppressed by a library that is being imported.
    """
    with suppress(RuntimeError, OSError, ValueError):  # the stream may be in use
        for say in INTERRUPT_HANDLERS:
            say()
        sys.stdout.flush()
    os.write(2, b"interrupted\n" if number == signal.SIGINT else b"terminated\n")
    os._exit(128 + number)
