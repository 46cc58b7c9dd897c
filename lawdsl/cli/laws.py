"""`lawdsl laws`: the list of the laws, questions and pipelines that ship with lawdsl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from lawdsl.cli.options import as_json, finish

if TYPE_CHECKING:
    from lawdsl.language.pipeline_records import Pipeline
    from lawdsl.language.questions import Question
    from lawdsl.language.symbols import Declarations

    Declared = Declarations | Question | Pipeline


@click.command("laws")
@click.option(
    "--family", metavar="NAME", help="Those of one family, the first word of a name: moe."
)
@click.option(
    "--about",
    metavar="WORDS",
    help='Those whose title, source, notes or descriptions have all these words: "learning rate".',
)
@click.option(
    "--for",
    "table",
    metavar="TABLE",
    help="The laws that the columns of a table can feed, with the command that fits each.",
)
@click.option(
    "--notes",
    "only_notes",
    is_flag=True,
    help="List the notes of all of them: errors of print in their publications, and limits.",
)
@as_json
def laws(
    family: str | None, about: str | None, table: str | None, only_notes: bool, as_json: bool
) -> int:
    """List the laws, questions and pipelines that ship with lawdsl."""
    from lawdsl.reporting.terminal import console, show_fed_laws, show_laws, show_notes

    shipped_laws, questions, pipelines = _shipped(family, (about or "").lower().split())
    notes: dict[str, Sequence[str]] = {law.name: law.notes for law in shipped_laws}
    notes |= {each.name: each.notes for each in questions}
    notes |= {each.name: each.notes for each in pipelines}
    notes = {name: texts for name, texts in sorted(notes.items()) if texts}
    result: dict[str, Any] = {
        "laws": [_row(law) for law in shipped_laws],
        "questions": [{"name": each.name, "title": each.title} for each in questions],
        "pipelines": [each.name for each in pipelines],
        "notes": {name: list(texts) for name, texts in notes.items()},
    }
    if table is not None:
        fed = _fed_by(table, shipped_laws)
        result["fed"] = fed

    def printed() -> None:
        if table is not None:
            show_fed_laws(result["fed"], table, console())
        elif only_notes:
            show_notes(notes, console())
        else:
            titles = {each.name: each.title for each in questions}
            show_laws(shipped_laws, titles, [each.name for each in pipelines], console())

    return finish("laws", result, (), ok=True, as_json=as_json, show=printed)


def _shipped(
    family: str | None, words: Sequence[str]
) -> tuple[list[Declarations], list[Question], list[Pipeline]]:
    """The laws, questions and pipelines of a family whose texts have the words."""
    from lawdsl.language.library import declarations, families, pipeline, question, shipped

    if family is not None and family not in families():
        raise click.UsageError(unknown_family(family))

    def chosen(name: str) -> bool:
        return family is None or name.partition(".")[0] == family

    def about(declared: Declared) -> bool:
        text = _searched(declared)
        return all(word in text for word in words)

    laws = [declarations(name)[0] for name in shipped() if chosen(name)]
    questions = [question(name)[0] for name in shipped("question") if chosen(name)]
    pipelines = [pipeline(name)[0] for name in shipped("pipeline") if chosen(name)]
    return (
        [law for law in laws if about(law)],
        [each for each in questions if about(each)],
        [each for each in pipelines if about(each)],
    )


def unknown_family(family: str) -> str:
    """The message for a family that does not exist.

    Args:
        family: as written.
    """
    from lawdsl.language.keywords import nearest
    from lawdsl.language.library import families

    meant = nearest(family, families())
    similar = f"did you mean {meant}? " if meant else ""
    return f"unknown family: {family}; {similar}the families are {', '.join(families())}"


def _searched(declared: Declared) -> str:
    """The text of a file that is searched for words, in lower case."""
    docs = [symbol.doc or "" for symbol in declared.symbols.values()]
    parts = (declared.name, declared.title, *declared.sources, *declared.notes, *docs)
    return " ".join(parts).lower()


def laws_of_family(family: str, path: str, given: Mapping[str, str] | None = None) -> list[str]:
    """The names of the laws of a family whose names are columns of a table, or are given.

    Args:
        family: the first word of their names.
        path: the table.
        given: name of a variable or output -> its column.

    Raises:
        click.UsageError: unknown family, none of its laws can be fed without more bindings, or they
            predict different columns.
    """
    from lawdsl.data.laws_for_table import laws_for_table
    from lawdsl.data.read import read_table

    candidates, _, _ = _shipped(family, ())
    fed = laws_for_table(read_table(path), candidates, given)
    ready = [each for each in fed if not each.bindings]
    if not ready:
        message = f"no law of the family {family} has its names as columns of {path}"
        raise click.UsageError(f"{message}; see `lawdsl laws --family {family} --for {path}`")
    by_output: dict[str, list[str]] = {}
    for each in ready:
        by_output.setdefault(each.output, []).append(each.law)
    if len(by_output) > 1:
        listed = "; ".join(f"{column} by {', '.join(names)}" for column, names in by_output.items())
        message = f"the laws of the family {family} predict different columns: {listed}"
        raise click.UsageError(f"{message}. Name those of one column instead of --family")
    return [each.law for each in ready]


def _fed_by(path: str, laws: Sequence[Declarations]) -> list[dict[str, Any]]:
    """The laws that a table can feed, each with the command that fits it."""
    import shlex

    from lawdsl.data.laws_for_table import laws_for_table
    from lawdsl.data.read import read_table

    return [
        {
            "law": fed.law,
            "title": fed.title,
            "parameters": fed.parameters,
            "by_label": fed.by_label,
            "command": shlex.join(["lawdsl", "fit", fed.law, path, *fed.bindings]),
        }
        for fed in laws_for_table(read_table(path), laws)
    ]


def _row(law: Declarations) -> Mapping[str, object]:
    from lawdsl.language.printer import print_formula

    formula = law.output.formula
    assert formula is not None
    return {
        "name": law.name,
        "title": law.title,
        "formula": f"{law.output.text} = {print_formula(formula)}",
        "sources": list(law.sources),
        "variables": law.names("variable"),
        "parameters": law.names("parameter"),
    }


COMMANDS = (laws,)
