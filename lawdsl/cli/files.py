"""Commands about the files of the language: laws, show, new, fmt, explain."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import click

from lawdsl.cli.options import Changes, as_json, changes, finish, tell
from lawdsl.core import files
from lawdsl.core.diagnostics import Diagnostic, LawdslError

TEMPLATE = """law {name} "What the law says, in a few words"
source    "Who, where, which equation"

variable  N > 0  unit param  "model size"
variable  D > 0  unit token  "training tokens"

parameter E, A, alpha, B, beta > 0

L = E + A/N^alpha + B/D^beta  unit nat/token  "validation loss"

require   L finite
require   ∂L/∂N < 0
require   ∂L/∂D < 0
"""

QUESTION = """question {name} "What is asked, in a few words"
source    "Who, where, which equation"

uses      loss : chinchilla
given     C > 0  unit FLOP              "compute budget"
setting   k = 6  unit FLOP/param/token  "compute of training, for each parameter and token"
choose    N > 0  unit param             "model size"
choose    D > 0  unit token             "training tokens"

minimize  loss(N, D)
subject to k*N*D = C  "compute"
"""


@click.command("laws")
@as_json
def laws(as_json: bool) -> int:
    """List the laws, questions and pipelines that ship with lawdsl."""
    from lawdsl.language.library import question, shipped
    from lawdsl.language.printer import print_formula
    from lawdsl.law.law import Law, load
    from lawdsl.reporting.terminal import console, show_laws

    shipped_laws, pipelines = [load(name) for name in shipped()], list(shipped("pipeline"))
    questions = {name: question(name)[0].title for name in shipped("question")}

    def row(law: Law) -> dict[str, object]:
        formula = law.declarations.output.formula
        assert formula is not None
        return {
            "name": law.name,
            "title": law.title,
            "formula": f"{law.declarations.output.text} = {print_formula(formula)}",
            "sources": list(law.sources),
            "variables": law.declarations.names("variable"),
            "parameters": law.declarations.names("parameter"),
        }

    return finish(
        "laws",
        {
            "laws": [row(law) for law in shipped_laws],
            "questions": [{"name": name, "title": title} for name, title in questions.items()],
            "pipelines": pipelines,
        },
        (),
        ok=True,
        as_json=as_json,
        show=lambda: show_laws(shipped_laws, questions, pipelines, console()),
    )


@click.command("show")
@click.argument("law")
@click.option("--latex", is_flag=True, help="Print the law as LaTeX only.")
@changes
@as_json
def show(
    law: str,
    latex: bool,
    changes: Changes,
    as_json: bool,
) -> int:
    """Print a law and its exact derivatives, or a question and what it is to be told.

    LAW is the name of a shipped law or question, or a file.
    """
    from lawdsl.language import library

    if library.section_of(library.locate(law)) == "question":
        if latex or changes.any:
            raise click.UsageError("a question is shown as it is written")
        from lawdsl.cli.solve import needs

        parsed, warned = library.question(law)
        return needs(parsed, "show", warned, name=law, as_json=as_json)
    from lawdsl.law.text import text
    from lawdsl.proof.identifiability import findings, freedom
    from lawdsl.reporting.terminal import console, show_law

    read = changes.law(law)
    unidentifiable = freedom(read)
    quantities = (*read.variables, *read.parameters)
    result = {
        "name": read.name,
        "title": read.title,
        "sources": list(read.sources),
        "text": read.declarations.text.text,
        "latex": read.latex(),
        "output": read.output,
        "domains": {q.name: q.domain for q in quantities},
        "derivatives": {q.name: text(read.derivative(q.name)) for q in quantities},
        "symmetries": [symmetry.to_json() for symmetry in unidentifiable.symmetries],
        "digest": read.digest,
    }

    def printed() -> None:
        if latex:
            click.echo(read.latex())
        else:
            show_law(read, console())

    warnings = [] if latex else findings(read, unidentifiable, text=read.declarations.text)
    return finish("show", result, warnings, ok=True, as_json=as_json, show=printed)


@click.command("new")
@click.argument("name")
@click.option("-o", "--output", metavar="FILE", help="Where to write it; NAME.law otherwise.")
@click.option("--question", is_flag=True, help="Start a question about a fitted law instead.")
@as_json
def new(name: str, output: str | None, question: bool, as_json: bool) -> int:
    """Start a law file from a template that checks, fits and can be changed."""
    from lawdsl.core.diagnostics import Text
    from lawdsl.language.library import declared, declared_question, shipped

    path = Path(output or f"{name.rpartition('.')[2]}.law")
    text = (QUESTION if question else TEMPLATE).format(name=name)
    read = declared_question if question else declared
    read(Text(str(path), text), path.parent)  # says what is wrong with the name
    if path.exists():
        help = "choose another name, or -o FILE"
        raise LawdslError(
            Diagnostic("L0313", "the file exists already", place=str(path), help=help)
        )
    write(path, text)
    warnings = []
    kind = "question" if question else "law"
    if name in shipped(kind):
        message = f"`{name}` is the name of a shipped {kind}, which it will hide in this folder"
        warnings.append(Diagnostic("L0313", message, "warning", place=str(path)))
    return finish(
        "new",
        {"path": str(path)},
        warnings,
        ok=True,
        as_json=as_json,
        show=lambda: click.echo(
            f"wrote {path}; next: lawdsl {'solve' if question else 'check'} {path}"
        ),
    )


@click.command("fmt")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--check", is_flag=True, help="Change nothing; exit 1 where a file would change.")
@click.option("--diff", is_flag=True, help="Print the changes instead of making them.")
@as_json
def fmt(files: tuple[str, ...], check: bool, diff: bool, as_json: bool) -> int:
    """Write files of laws, questions and pipelines in the one canonical style. FILE may be `-` for standard input."""
    from lawdsl.language.library import read
    from lawdsl.language.parser import parse
    from lawdsl.language.printer import print_document

    changed: list[str] = []
    lines: list[str] = []
    for name in files:
        before = _standard_input() if name == "-" else read(Path(name)).text
        document, mistakes = parse(before, name)
        if any(d.severity == "error" for d in mistakes):
            raise LawdslError(mistakes)
        after = print_document(document)
        if name == "-" and not (check or diff):
            click.echo(after, nl=False)
        if after == before:
            continue
        changed.append(name)
        if diff:
            pieces = before.splitlines(True), after.splitlines(True)
            lines += difflib.unified_diff(*pieces, name, name)
        elif not check and name != "-":
            write(Path(name), after)

    def printed() -> None:
        if diff:
            click.echo("".join(lines), nl=False)
        for name in changed:
            if name != "-":
                tell(f"{'would change' if check or diff else 'formatted'} {name}")

    ok = not (changed and (check or diff))
    return finish("fmt", {"changed": changed}, (), ok=ok, as_json=as_json, show=printed)


def _standard_input() -> str:
    """The text on standard input, as much of it as a file may have and one byte more.

    Raises:
        LawdslError: it is not UTF-8.
    """
    from lawdsl.language import size_limits

    try:
        return sys.stdin.buffer.read(size_limits.BYTES + 1).decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"standard input is not UTF-8 (byte {error.start})"
        raise LawdslError(Diagnostic("L0312", message, help="give UTF-8 text")) from None


@click.command("explain")
@click.argument("code")
@as_json
def explain(code: str, as_json: bool) -> int:
    """Say what a message means, with an example. CODE is what stands in its brackets: L0301."""
    from lawdsl.language.keywords import nearest
    from lawdsl.messages.table import MESSAGES

    message = MESSAGES.get(code.upper())
    if message is None:
        alike = nearest(code.upper(), MESSAGES)
        raise click.UsageError(f"there is no message {code}" + (f"; {alike}?" if alike else ""))
    result = {
        "code": code.upper(),
        "title": message.title,
        "meaning": message.meaning,
        "bad": list(message.bad[:1]),
        "good": message.good,
    }

    def printed() -> None:
        click.echo(f"{code.upper()}: {message.title}\n\n{message.meaning}")
        for heading, example in (("wrong", "".join(message.bad[:1])), ("right", message.good)):
            if example:
                click.echo(f"\n{heading}:\n")
                click.echo("".join(f"    {line}\n" for line in example.splitlines()), nl=False)

    return finish("explain", result, (), ok=True, as_json=as_json, show=printed)


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all.

    Raises:
        LawdslError: it cannot be written.
    """
    try:
        files.write(path, text)
    except OSError as error:
        message = f"the file cannot be written: {error.strerror}"
        raise LawdslError(Diagnostic("L0313", message, place=str(path))) from None


COMMANDS = (laws, show, new, fmt, explain)
