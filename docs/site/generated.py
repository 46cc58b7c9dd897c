"""Pages that are made from the source: commands, messages, grammar, Python, laws."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

import lawdsl
from lawdsl.cli import cli
from lawdsl.language.library import pipeline, question, read, shipped
from lawdsl.language.pipeline_records import Pipeline
from lawdsl.language.questions import Question
from lawdsl.law.published_values import PUBLISHED
from lawdsl.messages.table import MESSAGES
from lawdsl.reporting.documents.render_markdown import escaped

FAMILIES: Mapping[str, str] = {
    "C": "Command line",
    "D": "Tables of measurements",
    "E": "Export and import",
    "F": "Fits and answers",
    "G": "Figures",
    "L": "Laws, questions and pipelines",
    "R": "Runs and corpora",
}
"""First letter of a code -> what its messages are about."""


def pages(root: Path, figures: Path) -> Iterator[tuple[str, str]]:
    """The generated pages: path in the site, text.

    Args:
        root: the checkout.
        figures: the folder for the figures of laws.
    """
    yield "reference/commands.md", commands_page()
    yield "reference/messages.md", messages_page()
    yield "reference/grammar.md", grammar_page(root / "grammars" / "law.lark")
    yield "reference/api.md", api_page()
    names = sorted(shipped("law"))
    questions, pipelines = sorted(shipped("question")), sorted(shipped("pipeline"))
    yield "catalogue/index.md", catalogue_page(names, questions, pipelines)
    for name in names:
        yield f"catalogue/{name}.md", law_page(name, figures)
    for name in questions:
        yield f"catalogue/{name}.md", question_page(name)
    for name in pipelines:
        yield f"catalogue/{name}.md", pipeline_page(name)


def commands_page() -> str:
    """The help text of every command."""
    parts = ["# Commands\n\nThe help of every command, as `lawdsl COMMAND --help` prints it.\n"]
    root = click.Context(cli, info_name="lawdsl")
    for name, command in sorted(cli.commands.items()):
        context = click.Context(command, info_name=name, parent=root, max_content_width=100)
        parts.append(f"## {name}\n\n{fenced(command.get_help(context), 'text')}\n")
    return "\n".join(parts)


def messages_page() -> str:
    """Every message with its examples."""
    parts = [
        "# Messages\n\n`lawdsl explain CODE` prints these texts. If a file alone can cause a message, there "
        "is an example that causes it, and one that does not.\n"
    ]
    families = sorted({code[0] for code in MESSAGES})
    for family in families:
        parts.append(f"## {FAMILIES.get(family, family)}\n")
        for code, message in sorted(MESSAGES.items()):
            if code[0] != family:
                continue
            parts.append(
                f"### {code}: {with_code(message.title)}\n\n{with_code(message.meaning)}\n"
            )
            parts += [
                f"An example that causes it:\n\n{fenced(bad.rstrip(), 'law')}\n"
                for bad in message.bad[:1]
            ]
            if message.good:
                parts.append(
                    f"An example that does not:\n\n{fenced(message.good.rstrip(), 'law')}\n"
                )
    return "\n".join(parts)


def grammar_page(path: Path) -> str:
    """The grammar with its opening comment as text."""
    lines = path.read_text(encoding="utf-8").splitlines()
    count = next(k for k, line in enumerate(lines) if not line.startswith("//"))
    comment = "\n".join(line.removeprefix("//").removeprefix(" ") for line in lines[:count])
    rules = "\n".join(lines[count:]).strip()
    return (
        "# Grammar\n\nThe grammar of law files in the notation of "
        f"[Lark](https://lark-parser.readthedocs.io), with its opening comment.\n\n{fenced(comment, 'text')}\n\n{fenced(rules, 'text')}\n"
    )


def api_page() -> str:
    """The public names of the package, from their docstrings."""
    parts = ["# Python API\n\n```{eval-rst}\n.. currentmodule:: lawdsl\n"]
    for name in lawdsl.__all__:
        value = getattr(lawdsl, name)
        home = f"{value.__module__}.{name}"
        kind = "autofunction" if not isinstance(value, type) else "autoclass"
        parts.append(f".. {kind}:: {home}")
        if kind == "autoclass" and not issubclass(value, (Exception, Warning)):
            parts.append("   :members:\n   :exclude-members: __init__")
        parts.append("")
    return "\n".join([*parts, "```\n"])


def catalogue_page(names: list[str], questions: list[str], pipelines: list[str]) -> str:
    """The list of the laws, questions and pipelines that ship."""
    titles = {
        "law": {name: lawdsl.load(name).title for name in names},
        "question": {name: question(name)[0].title for name in questions},
        "pipeline": {name: pipeline(name)[0].title for name in pipelines},
    }
    tables = [
        f"| {kind} | title |\n|---|---|\n"
        + "".join(f"| [{name}]({name}.md) | {with_code(title)} |\n" for name, title in rows.items())
        for kind, rows in titles.items()
    ]
    tree = "\n".join((*names, *questions, *pipelines))
    return (
        "# Laws and questions, one page each\n\nEach shipped law with its formula, claims, verdicts, "
        "published values, and notes on its publication; each question with the command that answers it.\n\n"
        + "\n".join(tables)
        + f"\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
    )


def question_page(name: str) -> str:
    """One question: source, notes, text, and how it is answered.

    Args:
        name: of a shipped question.
    """
    asked = question(name)[0]
    inputs = [f"{use}=FIT.json" for use in asked.uses]
    inputs += [f"{given.name}=…" for given in asked.of_kind("given")]
    fits = ", ".join(f"`{use}` is a fit of `{law.name}`" for use, law in asked.uses.items())
    command = fenced(f"lawdsl solve {name} {' '.join(inputs)}", "text")
    return _written(name, asked, "question", f"## The answer\n\n{command}\n\nHere {fits}.\n")


def pipeline_page(name: str) -> str:
    """One pipeline: source, notes, text, and how it is run.

    Args:
        name: of a shipped pipeline.
    """
    declared = pipeline(name)[0]
    givens = "".join(f" --set {given.name}=…" for given in declared.of_kind("given"))
    command = fenced(f"lawdsl pipeline {name} RUNS.csv{givens}", "text")
    return _written(name, declared, "pipeline", f"## The command\n\n{command}\n")


def _written(name: str, declared: Question | Pipeline, kind: str, use: str) -> str:
    parts = [f"# {name}: {with_code(declared.title)}\n"]
    parts += [f"Source: {with_code('; '.join(declared.sources))}.\n"] if declared.sources else []
    parts.append(f"## The file\n\n{fenced(read(shipped(kind)[name]).text.rstrip(), 'law')}\n")
    parts += [notes_section(declared.notes), use]
    return "\n".join(part for part in parts if part)


def notes_section(notes: Sequence[str]) -> str:
    """The notes of a file as a list; nothing where there are none.

    Args:
        notes: plain text each.
    """
    listed = "".join(f"- {with_code(note)}\n" for note in notes)
    return f"## Notes on the publication\n\n{listed}" if notes else ""


def law_page(name: str, figures: Path) -> str:
    """One law: formula, text, claims with verdicts, published values, figure.

    Args:
        name: of a shipped law.
        figures: the folder for its figure.
    """
    law = lawdsl.load(name)
    checked = lawdsl.check(law)
    parts = [f"# {name}: {with_code(law.title)}\n"]
    parts += [f"Source: {with_code('; '.join(law.sources))}.\n"] if law.sources else []
    parts.append(f"$$\n{law.latex()}\n$$\n")
    parts.append(f"## The file\n\n{fenced(read(shipped('law')[name]).text.rstrip(), 'law')}\n")
    parts.append(f"## Claims\n\n{claims_table(checked)}\n")
    parts += [published_values(name), notes_section(law.notes)]
    if checked.claims:
        file = f"{name}.svg"
        checked.plot().save(figures / file)
        parts.append(f"![Claims of {name} with their verdicts]({figures.name}/{file})\n")
    parts.append(
        f"`lawdsl check {name}` prints the proofs, `lawdsl show {name}` the derivatives.\n"
    )
    return "\n".join(part for part in parts if part)


def claims_table(checked: lawdsl.Check) -> str:
    """The claims of a law with their verdicts and why."""
    if not checked.claims:
        return "This law has no claims."
    rows = [
        f"| `{table_cell(verdict.claim)}` | {with_code(verdict.word)} | {with_code(first_reason(verdict))} |"
        for verdict in checked.claims
    ]
    return "\n".join(["| claim | verdict | why |", "|---|---|---|", *rows])


def first_reason(verdict: lawdsl.Verdict) -> str:
    """The condition, or the first line of the proof."""
    return verdict.condition or (str(verdict.proof[0]) if verdict.proof else "")


def published_values(name: str) -> str:
    """The values of parameters that the source prints, where the package has them."""
    published = PUBLISHED.get(name)
    if published is None:
        return ""
    rows = [
        f"| {parameter} | {value:g} | {'' if error is None else f'{error:g}'} |"
        for parameter, (value, error) in published.values.items()
    ]
    head = [
        "## Published values\n",
        f"{with_code(published.source)}. `lawdsl fit {name} … --prior published` uses them as priors.\n",
        "| parameter | value | standard error |",
        "|---|---|---|",
    ]
    return "\n".join([*head, *rows, ""])


def fenced(text: str, language: str) -> str:
    """A text in a code block that no fence in it ends."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def with_code(text: str) -> str:
    """Plain text as Markdown, code in backticks kept."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else escaped(part) for part in parts).replace(
        "\n", " "
    )


def table_cell(text: str) -> str:
    """Code in a cell of a table."""
    return text.replace("|", "\\|").replace("`", "'")
