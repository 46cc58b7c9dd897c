"""`lawdsl` alone says where to begin, and shells complete commands, laws and files."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys

import pytest
from commands import run

from lawdsl.cli import BEGIN, cli


def test_lawdsl_alone_says_where_to_begin():
    result = run()
    assert result.returncode == 0
    assert result.stdout == BEGIN
    commands = re.findall(r"^  lawdsl (\w+)", BEGIN, re.M)
    assert set(commands) <= set(cli.commands) and "new" in commands


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_calls_lawdsl(shell: str):
    result = run("completion", shell)
    assert result.returncode == 0
    assert f"_LAWDSL_COMPLETE={shell}_complete" in result.stdout


def test_an_unknown_shell_is_refused():
    result = run("completion", "cmd")
    assert result.returncode == 2 and "bash" in result.stderr


def completed(words: str, folder) -> list[str]:
    """What bash offers for the last word of a command line."""
    words = words.split(" ")
    array = " ".join(shlex.quote(word) for word in words)
    lawdsl = f"{shlex.quote(sys.executable)} -m lawdsl"
    script = (
        f'lawdsl() {{ {lawdsl} "$@"; }}; export -f lawdsl\n'
        f'eval "$({lawdsl} completion bash)"\n'
        f"COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}\n"
        f'_lawdsl_completion "$PWD/lawdsl"; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    program = folder / "lawdsl"
    program.write_text(f'#!/bin/sh\nexec {lawdsl} "$@"\n')
    program.chmod(0o755)
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-c", script], capture_output=True, text=True, cwd=folder
    )
    return done.stdout.split()


def test_bash_completes_commands_options_laws_and_files(tmp_path):
    (tmp_path / "dcpt_mine.law").write_text("")
    assert completed("lawdsl pi", tmp_path) == ["pipeline"]
    assert "--kind" in completed("lawdsl plot --ki", tmp_path)
    offered = completed("lawdsl fit dcpt", tmp_path)
    assert "dcpt.l3" in offered and "dcpt_mine.law" in offered
