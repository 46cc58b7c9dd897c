"""`lawdsl completion`: a shell -> the script that completes commands, options, laws and files."""

from __future__ import annotations

import glob
from pathlib import Path

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

INSTALLED = {
    "bash": 'eval "$(lawdsl completion bash)"      # in ~/.bashrc',
    "zsh": 'eval "$(lawdsl completion zsh)"       # in ~/.zshrc',
    "fish": "lawdsl completion fish | source       # in ~/.config/fish/config.fish",
}
"""Shell -> the line of its start-up file that installs the completion."""

TAKES_LAWS = frozenset(("check", "show", "fit", "trends", "compare", "solve", "pipeline", "plot"))
"""Commands whose arguments are files, or names of shipped laws, questions or pipelines."""


def _with_names_and_files(shell: type[ShellComplete]) -> type[ShellComplete]:
    """The completion class of a shell, which also completes names of shipped laws, and files."""

    class WithNamesAndFiles(shell):  # type: ignore[misc, valid-type]
        def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
            """The completions of the last, incomplete word of a command line."""
            items = list(super().get_completions(args, incomplete))
            # Click completes nothing for arguments of type text, such as names of laws and files
            if items or incomplete.startswith("-") or not args:
                return items
            names = _shipped_names(incomplete) if args[0] in TAKES_LAWS else []
            # shells add files by themselves only if nothing else matches
            return [*names, *_files(incomplete)] if names else [CompletionItem("", type="file")]

    return WithNamesAndFiles


def _shipped_names(incomplete: str) -> list[CompletionItem]:
    from lawdsl.language.library import shipped

    names = sorted({name for kind in ("law", "question", "pipeline") for name in shipped(kind)})
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _files(incomplete: str) -> list[CompletionItem]:
    paths = sorted(Path().glob(f"{glob.escape(incomplete)}*")) if incomplete[:1] != "/" else []
    return [CompletionItem(f"{path}/" if path.is_dir() else str(path)) for path in paths]


SHELLS = {
    name: add_completion_class(_with_names_and_files(shell), name)
    for name, shell in (("bash", BashComplete), ("zsh", ZshComplete), ("fish", FishComplete))
}


@click.command("completion", epilog="\b\n" + "\n".join(INSTALLED.values()))
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> int:
    """Print the script that completes commands, options, shipped laws and files in SHELL."""
    root = context.find_root().command
    click.echo(SHELLS[shell](root, {}, "lawdsl", "_LAWDSL_COMPLETE").source())
    return 0


COMMANDS = (completion,)
