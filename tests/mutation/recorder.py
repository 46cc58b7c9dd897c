"""A pytest plugin: which blocks of statements each test enters, and the CPU time it takes.

Loaded with `-p recorder`. Every block of the modules under the folders in LAWDSL_MUTATION_FOLDERS
begins with one set insertion, so a recorded run takes hardly longer than a plain one. The record, one
JSON object a line, is written to LAWDSL_MUTATION_RECORD.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hook
import pytest
import sites

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = tuple(os.environ["LAWDSL_MUTATION_FOLDERS"].split(":"))
RECORD = Path(os.environ["LAWDSL_MUTATION_RECORD"])
ENTERED: set[tuple[str, int]] = set()
FAILED: list[str] = []  # reports of the present test
NAME = "__lawdsl_entered__"  # in builtins, so that every instrumented module finds it


def instrument(path: str, source: bytes) -> types.CodeType | None:
    """The module with a record of each block that is entered; None for modules outside."""
    file = hook.relative(path, ROOT)
    if file is None or not file.startswith(FOLDERS):
        return None
    tree = ast.parse(source)
    for statements in list(sites.blocks(tree)):
        line = statements[0].lineno
        call = ast.parse(f"{NAME}(({file!r}, {line}))").body[0]
        for node in ast.walk(call):
            ast.copy_location(node, statements[0])
        is_docstring = isinstance(statements[0], ast.Expr) and isinstance(
            statements[0].value, ast.Constant
        )
        statements.insert(1 if is_docstring else 0, call)
    return compile(tree, path, "exec", dont_inherit=True)


setattr(builtins, NAME, ENTERED.add)
hook.install(instrument)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    ENTERED.clear()
    FAILED.clear()
    started = time.process_time()
    result = yield
    line = {
        "test": item.nodeid,
        "seconds": round(time.process_time() - started, 4),
        "blocks": sorted(ENTERED),
        "failed": bool(FAILED),
    }
    with RECORD.open("a") as file:
        file.write(json.dumps(line) + "\n")
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if not report.passed:
        FAILED.append(report.nodeid)
