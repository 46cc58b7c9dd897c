"""`lawdsl explain`: code of a message -> its meaning, with an example."""

from __future__ import annotations

import click

from lawdsl.cli.options import as_json, finish


@click.command("explain")
@click.argument("code")
@as_json
def explain(code: str, as_json: bool) -> int:
    """Explain a message, with an example.

    CODE is the code in the brackets of the message, such as L0301.
    """
    from lawdsl.language.keywords import nearest
    from lawdsl.messages.table import MESSAGES

    message = MESSAGES.get(code.upper())
    if message is None:
        alike = nearest(code.upper(), MESSAGES)
        raise click.UsageError(f"unknown message code {code}" + (f"; {alike}?" if alike else ""))
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


COMMANDS = (explain,)
