"""No input ends in a fault: files that once did, each answered with a verdict or a message.

The first lines of each file say how it is run, the exit code and the codes of the messages.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lawdsl import cli

FILES = sorted((Path(__file__).resolve().parent / "fixtures" / "faults").glob("*.law"))
HEAD = re.compile(r"# run: (.*)\n# exit: (\d)\n# codes:(.*)\n")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_file_that_once_ended_in_a_fault_is_answered(
    path: Path, capsys: pytest.CaptureFixture[str]
):
    head = HEAD.match(path.read_text(encoding="utf-8"))
    assert head is not None
    command, *options = head[1].split()
    with pytest.raises(SystemExit) as left:
        cli.main([command, str(path), *options, "--json"])
    said = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [d["code"] for d in said] == head[3].split()
    assert left.value.code == int(head[2])
