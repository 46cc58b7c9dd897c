"""Checks as SARIF 2.1.0, the format in which code hosts show findings beside the lines of a file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.proof.verdict import Check, Verdict

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"refuted": "error", "conditional": "error", "undecided": "warning"}


def sarif(
    checks: Iterable[Check], diagnostics: Iterable[Diagnostic], version: str, *, whole: bool
) -> str:
    """Every verdict that is not the expected one, and every diagnostic, as one document.

    Args:
        checks: of laws.
        diagnostics: what else there is to say.
        version: of lawdsl.
        whole: whether all claims were decided; not so where the work was interrupted.
    """
    found = [_verdict(v) for check in checks for v in check.claims if not v.ok]
    found += [_diagnostic(d) for d in diagnostics]
    rules = sorted({result["ruleId"] for result in found})
    driver = {"name": "lawdsl", "version": version, "rules": [{"id": rule} for rule in rules]}
    done = [{"executionSuccessful": whole}]
    runs = [{"tool": {"driver": driver}, "invocations": done, "results": found}]
    content = {"$schema": SCHEMA, "version": "2.1.0", "runs": runs}
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)


def _verdict(verdict: Verdict) -> dict[str, Any]:
    said = [f"`{verdict.claim}` is {verdict.word}, not {verdict.expect}"]
    if verdict.condition is not None:
        said.append(f"it holds {'exactly ' if verdict.exact else ''}where {verdict.condition}")
    said += [f"declare `parameter {bound}`" for bound in verdict.remedy]
    if verdict.verdict == "refuted":
        place = ", ".join(f"{name} = {value}" for name, value in verdict.witness)
        said.append(f"at {place}: {verdict.value}" if place else str(verdict.value))
    elif verdict.blame is not None:
        said.append(verdict.blame)
    level = LEVELS.get(verdict.verdict, "error")
    return _result(f"claim-{verdict.verdict}", level, "; ".join(said), verdict.place)


def _diagnostic(d: Diagnostic) -> dict[str, Any]:
    place = None
    if d.text is not None:
        line = d.text.position(d.span.start)[0] if d.span else 1
        place = d.text.name, line
    message = f"{d.message}; {d.help}" if d.help else d.message
    return _result(d.code, "error" if d.severity == "error" else "warning", message, place)


def _result(rule: str, level: str, message: str, place: tuple[str, int] | None) -> dict[str, Any]:
    result: dict[str, Any] = {"ruleId": rule, "level": level, "message": {"text": message}}
    if place is not None:
        file, line = place
        location = {
            "artifactLocation": {"uri": quote(Path(file).as_posix())},
            "region": {"startLine": line},
        }
        result["locations"] = [{"physicalLocation": location}]
    return result
