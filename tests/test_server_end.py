"""How the language server and its worker end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from language_client import ROUGH, PlainClient

from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError

SECONDS = 30.0


def test_the_server_ends_with_its_input(tmp_path: Path) -> None:
    client = PlainClient(tmp_path)
    client.open(tmp_path / "rough.law", ROUGH)
    children = children_of(client.process.pid)
    assert client.process.stdin is not None
    client.process.stdin.close()
    client.ended()
    wait_until_gone(children)


def test_the_server_ends_with_its_input_while_it_starts_the_worker(tmp_path: Path) -> None:
    client = PlainClient(tmp_path)
    assert client.process.stdin is not None
    client.process.stdin.close()
    client.ended()


def test_the_server_and_its_worker_end_when_the_editor_is_gone(tmp_path: Path) -> None:
    editor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    client = PlainClient(tmp_path, process_id=editor.pid)
    children = children_of(client.process.pid)
    assert children
    editor.kill()
    editor.wait()
    client.ended()  # its input was open until then
    wait_until_gone(children)


@pytest.mark.slow
def test_a_worker_ends_when_the_server_is_killed(tmp_path: Path) -> None:
    client = PlainClient(tmp_path)
    children = children_of(client.process.pid)
    assert children
    client.process.send_signal(signal.SIGKILL)
    client.ended()
    wait_until_gone(children)


def children_of(process: int) -> list[int]:
    """The processes that a server has started, once there are some."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        tasks = Path(f"/proc/{process}/task")
        if not tasks.is_dir():
            pytest.skip("needs /proc")
        texts = [(t / "children").read_text(encoding="ascii") for t in tasks.iterdir()]
        if numbers := [int(number) for text in texts for number in text.split()]:
            return numbers
        time.sleep(0.02)
    return []


def wait_until_gone(processes: list[int]) -> None:
    """Wait until processes have ended."""
    until = time.monotonic() + SECONDS
    while any(runs(process) for process in processes):
        assert time.monotonic() < until, processes
        time.sleep(0.02)


def runs(process: int) -> bool:
    """Whether a process exists and is no zombie, which nobody has asked about yet."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_without_its_packages_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lawdsl.core.optional_packages.missing", lambda *names: ["pygls"])
    result = CliRunner().invoke(cli, ["lsp"], prog_name="lawdsl")
    assert isinstance(result.exception, LawdslError)
    assert "pip install 'lawdsl[lsp]'" in str(result.exception)
