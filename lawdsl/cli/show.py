"""`lawdsl show`: a law, question or pipeline -> its formula and derivatives, or its inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lawdsl.cli.options import as_json, changes, finish

if TYPE_CHECKING:
    from lawdsl.language.law_changes import LawChanges


@click.command("show")
@click.argument("law")
@click.option("--latex", is_flag=True, help="Print only the law, as LaTeX.")
@changes
@as_json
def show(
    law: str,
    latex: bool,
    changes: LawChanges,
    as_json: bool,
) -> int:
    """Print a law with its exact derivatives, or a question or pipeline with its inputs.

    LAW is the name of a shipped law, question or pipeline, or a file.
    """
    from lawdsl.language import library

    section = library.section_of(library.locate(law))
    if section in ("question", "pipeline") and (latex or changes):
        raise click.UsageError(f"a {section} is shown as it is written")
    if section == "pipeline":
        from lawdsl.cli.pipeline import print_pipeline

        pipeline, pipeline_warnings = library.pipeline(law)
        return print_pipeline(pipeline, "show", pipeline_warnings, name=law, as_json=as_json)
    if section == "question":
        from lawdsl.cli.solve import print_inputs

        question, question_warnings = library.question(law)
        return print_inputs(question, "show", question_warnings, name=law, as_json=as_json)
    from lawdsl.law.functions import without_impulses
    from lawdsl.law.law import load
    from lawdsl.law.text import text
    from lawdsl.proof.identifiability import findings, freedom
    from lawdsl.reporting.terminal import console, show_law

    shown_law = changes.apply(load(law))
    unidentifiable = freedom(shown_law)
    quantities = (*shown_law.variables, *shown_law.parameters)
    result = {
        "name": shown_law.name,
        "title": shown_law.title,
        "sources": list(shown_law.sources),
        "notes": list(shown_law.notes),
        "text": shown_law.declarations.text.text,
        "latex": shown_law.latex(),
        "output": shown_law.output,
        "domains": {q.name: q.domain for q in quantities},
        "derivatives": {
            q.name: text(without_impulses(shown_law.derivative(q.name))) for q in quantities
        },
        "symmetries": [symmetry.to_json() for symmetry in unidentifiable.symmetries],
        "priors": [prior.text for prior in shown_law.declarations.priors.values()],
        "digest": shown_law.digest,
    }

    def print_law() -> None:
        if latex:
            click.echo(shown_law.latex())
        else:
            show_law(shown_law, console())

    warnings = (
        [] if latex else findings(shown_law, unidentifiable, text=shown_law.declarations.text)
    )
    return finish("show", result, warnings, ok=True, as_json=as_json, show=print_law)


COMMANDS = (show,)
