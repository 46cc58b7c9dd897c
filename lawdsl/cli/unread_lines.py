"""A command line with too many words, or without an option that it needs -> what to write."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

import click

from lawdsl.cli.misplaced_words import misplaced_file
from lawdsl.cli.unknown_choices import meant_choice
from lawdsl.core.enumerations import disjunction
from lawdsl.data.formats import FORMATS

EXTRA = re.compile(r"Got unexpected extra arguments? \((?P<words>.*)\)", re.DOTALL)

EXAMPLES: Mapping[tuple[str, str], str] = {
    (
        "collect",
        "output",
    ): f"-o runs.csv; the ending is {disjunction(form.written[0] for form in FORMATS if form.written)}",
    ("import", "name"): "--name my_law, the name of the law",
    ("export", "target"): "--to python, or latex, numpy, torch, jax, javascript, json",
    ("design", "candidates"): "--candidates sweep.toml, or a table of possible runs",
    ("design", "budget"): "--budget 1e21, what all runs together may cost",
    ("tokenizer", "output"): "-o tokenizer.json",
    ("tokenizer", "vocabulary"): "--vocabulary 2048",
    ("corpus", "output"): "-o corpora/web, a folder to be written",
    ("corpus", "tokenizer"): "--tokenizer tokenizer.json, or the folder of a model",
    ("validation", "output"): "-o validation, a folder to be written",
}
"""Command and parameter that it needs -> an example, and what it says."""


def missing_option(error: click.MissingParameter, arguments: Sequence[str]) -> str:
    """The message about an option that a command needs, with an example; empty if none is known.

    Args:
        error: the error.
        arguments: the command line, without the name of the program.
    """
    if error.ctx is None or error.param is None or not isinstance(error.param, click.Option):
        return ""
    example = EXAMPLES.get((error.ctx.info_name or "", error.param.name or ""))
    if isinstance(error.param.type, click.Choice):
        option = max(error.param.opts, key=len)
        choices = [str(choice) for choice in error.param.type.choices]
        words = [word for word in arguments[2:] if word.isalnum()]
        meant = next((meant_choice(option, word, choices) for word in words), None)
        bare = next((word for word in arguments[1:] if word.lower() in choices), None)
        written = f"{option} {bare.lower()}" if bare else meant
        if written or example:
            return f"Missing option '{option}': write {written or example}"
    if example is None:
        return ""
    return f"{error.format_message().rstrip('.')}: write {example}"


def extra_words(words: Sequence[str], context: click.Context, arguments: Sequence[str]) -> str:
    """The message about words that a command has no place for; empty if it is not known.

    Args:
        words: the words.
        context: the command.
        arguments: the command line, without the name of the program.
    """
    if context.info_name == "import":
        return _unquoted_formula(context, arguments)
    for word in words:
        file = misplaced_file(word, context)
        if file:
            return file
        option = next((o for o, choices in _choices(context) if word.lower() in choices), None)
        if option is not None:
            return f"`{word}` has no place here: write {option} {word.lower()}"
    return ""


def _choices(context: click.Context) -> list[tuple[str, Sequence[str]]]:
    return [
        (max(p.opts, key=len), [str(c) for c in p.type.choices])
        for p in context.command.params
        if isinstance(p, click.Option) and isinstance(p.type, click.Choice)
    ]


def _unquoted_formula(context: click.Context, arguments: Sequence[str]) -> str:
    """The message about a formula that the shell has split into words."""
    valued = [
        opt
        for p in context.command.params
        if isinstance(p, click.Option) and not p.is_flag
        for opt in p.opts
    ]
    formula, options = [], []
    words = iter(arguments[1:])
    for word in words:
        if word in valued:
            options += [word, next(words, "")]
        elif word.startswith("--") and len(word) > 2:
            options.append(word)
        elif word != "--":
            formula.append(word)
    quoted = "'" + " ".join(formula).replace("'", "") + "'"
    line = " ".join(["lawdsl import", quoted, shlex.join(options)]).strip()
    return f"write the formula in quotes: {line}"
