"""`lawdsl laws`: the list of the laws, questions and pipelines that ship with lawdsl."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lawdsl.cli.options import as_json, finish

if TYPE_CHECKING:
    from lawdsl.language.symbols import Declarations


@click.command("laws")
@as_json
def laws(as_json: bool) -> int:
    """List the laws, questions and pipelines that ship with lawdsl."""
    from lawdsl.language.library import declarations, question, shipped
    from lawdsl.language.printer import print_formula
    from lawdsl.reporting.terminal import console, show_laws

    shipped_laws = [declarations(name)[0] for name in shipped()]
    pipelines = list(shipped("pipeline"))
    questions = {name: question(name)[0].title for name in shipped("question")}

    def row(law: Declarations) -> dict[str, object]:
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


COMMANDS = (laws,)
