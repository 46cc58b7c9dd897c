"""`lawdsl lsp`: the language server, which editors start."""

from __future__ import annotations

import click

from lawdsl.core.optional_packages import needs


@click.command("lsp")
@click.option("--stdio", is_flag=True, help="Use standard input and output (the default).")
@click.option(
    "--tcp",
    "port",
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="Listen on this local port for one editor.",
)
def lsp(stdio: bool, port: int | None) -> int:
    """Start the language server, which an editor does for `.law` files.

    It speaks the Language Server Protocol 3.17 on standard input and output: messages while typing,
    the verdicts on claims beside their lines, corrections, hover, completion, renaming, formatting.
    Proofs run in a second process and never delay an answer. Set up an editor as docs/editors.md
    describes. The server needs more packages: pip install 'lawdsl[lsp]'.
    """
    if stdio and port is not None:
        raise click.UsageError("give --stdio or --tcp, not both")
    needs("pygls", "lsprotocol", extra="lsp")
    from lawdsl.server.start import serve_stdio, serve_tcp

    return serve_stdio() if port is None else serve_tcp(port)


COMMANDS = (lsp,)
