"""A command that does not exist -> the one that does what is meant."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from lawdsl.language.keywords import nearest

UNKNOWN = re.compile(r"No such command '(?P<name>[^']*)'")

OTHER_NAMES = {
    "check": "verify validate lint prove typecheck test assert claims parse compile",
    "fit": "estimate train regress regression calibrate learn curve_fit curvefit lm nls estimation",
    "solve": "optimize optimise answer minimize minimise maximize maximise allocate ask decide "
    "argmin question query",
    "plot": "graph draw figure chart visualize visualise viz fig",
    "fmt": "format reformat prettify pretty beautify tidy black",
    "laws": "ls list catalog catalogue library search",
    "show": "cat print display view info describe head law inspect",
    "new": "create init draft propose generate add template scaffold",
    "predict": "evaluate eval forecast extrapolate infer compute apply calculate prediction",
    "compare": "rank benchmark crossvalidate cross-validate cross_validate cv score versus vs",
    "export": "convert latex tex codegen to",
    "import": "from translate from-python from-latex",
    "report": "summary summarize summarise html document",
    "design": "recommend suggest next propose-runs experiments",
    "run": "sweep launch submit execute start",
    "collect": "gather aggregate merge harvest",
    "corpus": "tokenize tokenise dataset",
    "pipeline": "pipe chain workflow",
    "trends": "trend monotone monotonicity",
    "measure": "measurements features",
    "mixtures": "mixture mix mixing",
    "doctor": "diagnose env environment health",
    "demo": "tutorial example examples quickstart tour",
    "explain": "error code why message",
    "completion": "completions autocomplete",
}
"""Command -> names that other programs have for it."""
_COMMAND_OF = {other: name for name, others in OTHER_NAMES.items() for other in others.split()}

GENERAL = {"help": "--help", "version": "--version", "usage": "--help", "man": "--help"}
"""Commands of other programs that are options here."""

OF_FILES = {
    ".law": "check {}",
    ".json": "predict {} NAME=VALUE",
    ".toml": "run {} --dry-run",
    ".csv": "new my_law --from {}",
    ".parquet": "new my_law --from {}",
    ".sqlite": "new my_law --from {}",
}
"""Ending of a file -> a command that takes it."""


def unknown_command(
    name: str, arguments: Sequence[str], commands: Mapping[str, click.Command], group: str
) -> str:
    """The message about a command that does not exist.

    Args:
        name: the unknown command.
        arguments: the whole command line, without the name of the program.
        commands: the commands that there are.
        group: the name of the program or of the group of commands.
    """
    message = f"unknown command {name}"
    position = list(arguments).index(name) if name in arguments else 0
    before, rest = arguments[:position], [*arguments[position + 1 :]]
    meant = _meant(name, commands)
    if meant is not None:
        return f"{message}; did you mean `{_line(*before, meant, *rest)}`?"
    if name.lower() in GENERAL:
        topic = [word for word in rest if word in commands][:1]
        return f"{message}; write `{_line(*before, *topic, GENERAL[name.lower()])}`"
    later = next((word for word in rest if word in commands), None)
    if later is not None:
        rest.remove(later)
        return f"{message}; the command comes first: `{_line(*before, later, name, *rest)}`"
    if commands.keys() >= {"halving", "spread", "select"}:  # how mixtures are drawn comes first
        line = _line("mixtures", "spread", name, *rest)
        return f"{message}; say how the mixtures are drawn: `{line}`, or halving in place of spread"
    form = OF_FILES.get(Path(name).suffix.lower())
    if form is not None:
        example = form.format(shlex.quote(name))
        return f"{message}; a command comes first, such as `lawdsl {example}`"
    return f"{message}; `{group} --help` lists the commands"


def _meant(name: str, commands: Mapping[str, click.Command]) -> str | None:
    """The command that another name, or a misspelled one, most likely stands for."""
    word = name.lower().lstrip("-")
    if word in commands:
        return word
    other = _COMMAND_OF.get(word)
    if other in commands:
        return other
    return nearest(name, commands)


def _line(*words: str) -> str:
    return f"lawdsl {shlex.join(words)}"
