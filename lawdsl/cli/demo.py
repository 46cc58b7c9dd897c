"""`lawdsl demo`: a shipped law -> its claims, fits, held-out losses, and an answer."""

from __future__ import annotations

import click

from lawdsl.cli.options import as_json, finish


@click.command("demo")
@as_json
def demo(as_json: bool) -> int:
    """Show a law, its claims proved and measured, fits, losses held out, and a question answered."""
    from lawdsl.cli.demo_steps import run
    from lawdsl.reporting.terminal import console

    out = None if as_json else console()
    result, ok = run(out)
    return finish("demo", result, (), ok=ok, as_json=as_json, show=lambda: None)


COMMANDS = (demo,)
