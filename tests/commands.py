"""Commands of `lawdsl`, each in a process of its own that has everything imported already.

A server imports the package once and forks for every command, for most tests of the command line
spend more time on imports than on what they test. What a start itself loads, and the installed
program, are tested with processes proper (test_startup, test_wheel).

This file is the server's program too.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
STREAMS = ("in", "out", "err")


def run(
    *arguments: object,
    cwd: Path = ROOT,
    stdin: str = "",
    together: bool = False,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `lawdsl` as a user would.

    Args:
        *arguments: of the command line.
        cwd: the folder it runs in.
        stdin: what it may read.
        together: write errors to stdout too, in the order in which they come.
        environment: variables, beside those of this process.
    """
    request = {"words": ["lawdsl", *map(str, arguments)]}
    return _done(request, cwd, stdin, together, environment or {})


def run_program(program: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a text in Python, as `python -c` does; errors are written to stdout too."""
    return _done({"words": ["-c"], "program": program}, cwd, "", True, {})


def _done(
    request: dict[str, Any], cwd: Path, stdin: str, together: bool, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        files = {name: str(Path(folder, name)) for name in STREAMS}
        Path(files["in"]).write_text(stdin, encoding="utf-8")
        files["err"] = files["out"] if together else files["err"]
        request |= {"cwd": str(cwd), "files": files}
        request["environment"] = {**os.environ, **environment}
        server = _server()
        assert server.stdin and server.stdout
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        out, err = (Path(files[name]).read_text(encoding="utf-8") for name in ("out", "err"))
    return subprocess.CompletedProcess(request["words"], code, out, "" if together else err)


@cache
def _server() -> subprocess.Popen[str]:
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    server = subprocess.Popen(
        [sys.executable, __file__],
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(server.communicate)
    return server


def _run(request: Mapping[str, Any]) -> int:
    """Run a command in this process, its streams on files; for a process that was forked."""
    files = request["files"]
    os.dup2(os.open(files["in"], os.O_RDONLY), 0)
    for number, name in ((1, "out"), (2, "err")):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        os.dup2(os.open(files[name], flags, 0o600), number)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    sys.argv = request["words"]
    sys.path[0] = ""
    from lawdsl.cli import main

    try:
        if "program" in request:
            exec(compile(request["program"], "<string>", "exec"), {"__name__": "__main__"})
        else:
            main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


USED = (
    "altair",
    "vl_convert",
    "jinja2",
    "latex2mathml.converter",
    "narwhals._interchange.dataframe",
)
USED += ("pyarrow.csv", "rich._emoji_codes", "rich._unicode_data.unicode17-0-0")


def _preload() -> None:
    """Import what commands need, and what draws, but no torch; fit a law and decide its claims: what
    algebra and arrays prepare at their first use is there for all commands."""
    for path in sorted((ROOT / "lawdsl").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if not name.endswith(("__init__", "__main__", "regressor")):
            importlib.import_module(name)
    for name in USED:
        with contextlib.suppress(ModuleNotFoundError):  # private parts of other versions
            importlib.import_module(name)
    import lawdsl

    fit = lawdsl.fit("dcpt.share", ROOT / "laws" / "data" / "c4_share.csv")
    assert isinstance(fit, lawdsl.Fit)
    fit.predict({"r": [0.5]})
    lawdsl.check("chinchilla")
    gc.freeze()  # collections in a child copy no pages of what all share


def _serve() -> None:
    _preload()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            code = 70
            try:
                code = _run(json.loads(line))
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    _serve()
