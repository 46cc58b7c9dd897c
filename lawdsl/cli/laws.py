"""`lawdsl laws`: the list of the laws, questions and pipelines that ship with lawdsl."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lawdsl.cli.options import as_json, finish

if TYPE_CHECKING:
    from lawdsl.language.symbols import Declarations


@click.command("laws")
@click.option(
    "--notes",
    "only_notes",
    is_flag=True,
    help="List the notes of all of them: errors of print in their publications, and limits.",
)
@as_json
def laws(only_notes: bool, as_json: bool) -> int:
    """List the laws, questions and pipelines that ship with lawdsl."""
    from lawdsl.language.library import declarations, pipeline, question, shipped
    from lawdsl.reporting.terminal import console, show_laws, show_notes

    shipped_laws = [declarations(name)[0] for name in shipped()]
    questions = [question(name)[0] for name in shipped("question")]
    pipelines = [pipeline(name)[0] for name in shipped("pipeline")]
    notes = {law.name: law.notes for law in shipped_laws}
    notes |= {each.name: each.notes for each in questions}
    notes |= {each.name: each.notes for each in pipelines}
    notes = {name: texts for name, texts in sorted(notes.items()) if texts}

    def printed() -> None:
        if only_notes:
            show_notes(notes, console())
        else:
            titles = {each.name: each.title for each in questions}
            show_laws(shipped_laws, titles, [each.name for each in pipelines], console())

    result = {
        "laws": [_row(law) for law in shipped_laws],
        "questions": [{"name": each.name, "title": each.title} for each in questions],
        "pipelines": [each.name for each in pipelines],
        "notes": {name: list(texts) for name, texts in notes.items()},
    }
    return finish("laws", result, (), ok=True, as_json=as_json, show=printed)


def _row(law: Declarations) -> dict[str, object]:
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
