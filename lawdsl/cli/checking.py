"""The command check."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from lawdsl.cli.options import as_json, changed_law, finish, quiet, settings, without

if TYPE_CHECKING:
    from lawdsl.diagnostics import Diagnostic
    from lawdsl.law import Law
    from lawdsl.proof.verdicts import Check, Verdict


@click.command("check")
@click.argument("laws", nargs=-1, required=True, metavar="LAW...")
@click.option(
    "--syntax", is_flag=True, help="Only read the file: names, domains, units; no proofs."
)
@click.option(
    "--time-limit",
    default=1.0,
    show_default=True,
    type=click.FloatRange(min=0.01),
    metavar="SECONDS",
    help="For one claim; one that takes longer is undecided.",
)
@settings
@without
@quiet
@as_json
def check(
    laws: tuple[str, ...],
    syntax: bool,
    time_limit: float,
    settings: tuple[str, ...],
    without: tuple[str, ...],
    quiet: bool,
    as_json: bool,
) -> int:
    """Prove or refute what laws claim. LAW is the name of a shipped law or a file.

    Exits with 1 where a verdict is not the one that the file expects (`expect`, else proved).
    """
    from lawdsl.library import declarations

    warnings: list[Diagnostic] = []
    for name in laws:
        warnings += declarations(name)[1]
    if syntax:
        result = {"laws": [{"law": name, "ok": True} for name in laws], "claims": []}
        return finish(
            "check",
            result,
            warnings,
            ok=True,
            as_json=as_json,
            show=lambda: click.echo("\n".join(f"{name}: no mistakes" for name in laws)),
        )
    from lawdsl import proof

    checks: list[Check] = []
    for name in laws:
        law = changed_law(name, settings, without)
        on_verdict = None if as_json else _printer(law, proofs=not quiet)
        found = proof.check(law, seconds=time_limit, on_verdict=on_verdict)
        checks.append(found)
        warnings += found.warnings
    claims = [{"law": c.law, **v.to_json()} for c in checks for v in c.claims]
    summary = [{"law": c.law, "digest": c.digest, "ok": c.ok} for c in checks]
    return finish(
        "check",
        {"laws": summary, "claims": claims},
        warnings,
        ok=all(c.ok for c in checks),
        as_json=as_json,
        show=lambda: None,
    )


def _printer(law: Law, *, proofs: bool) -> Callable[[Verdict], None]:
    """Prints each verdict as soon as it is reached, so that an interruption leaves those so far."""
    from lawdsl.proof.claims import claim_text
    from lawdsl.reporting.terminal import console, show_verdict

    out = console()
    out.print(law.name, style="bold")
    width = max((len(claim_text(claim)) for claim in law.claims), default=0)
    return lambda verdict: show_verdict(verdict, out, width=width, proofs=proofs)


COMMANDS = (check,)
