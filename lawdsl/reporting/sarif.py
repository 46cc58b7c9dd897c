"""Checks -> SARIF 2.1.0, the format in which code hosts show findings beside the lines of a file.

OASIS (2020), Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.proof.verdict import Check, Verdict

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"refuted": "error", "conditional": "error", "undecided": "warning"}


def sarif(
    checks: Iterable[Check], diagnostics: Iterable[Diagnostic], version: str, *, complete: bool
) -> str:
    """Format every unexpected verdict and every diagnostic as one SARIF document.

    Args:
        checks: the checks of laws.
        diagnostics: further messages.
        version: the version of lawdsl.
        complete: whether all claims were decided; False where the work was interrupted.

    Returns:
        The document, as JSON.
    """
    results = [_verdict(v) for check in checks for v in check.claims if not v.ok]
    results += [_diagnostic(d) for d in diagnostics]
    rules = sorted({result["ruleId"] for result in results})
    driver = {"name": "lawdsl", "version": version, "rules": [{"id": rule} for rule in rules]}
    done = [{"executionSuccessful": complete}]
    runs = [{"tool": {"driver": driver}, "invocations": done, "results": results}]
    content = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": runs}
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)


def verdict_message(verdict: Verdict) -> str:
    """How an unexpected verdict differs from the expected one, and its evidence.

    Args:
        verdict: the verdict.
    """
    sentences = [f"`{verdict.claim}` is {verdict.word}, not {verdict.expect}"]
    if verdict.inherited_from:
        sentences[0] += f" (inherited from {verdict.inherited_from})"
    if verdict.condition is not None:
        sentences.append(f"it holds {'exactly ' if verdict.exact else ''}where {verdict.condition}")
    sentences += [f"declare `parameter {bound}`" for bound in verdict.remedy]
    if verdict.verdict == "refuted":
        witness = ", ".join(f"{name} = {value}" for name, value in verdict.witness)
        sentences.append(f"at {witness}: {verdict.value}" if witness else str(verdict.value))
    elif verdict.blame is not None:
        sentences.append(verdict.blame)
    return "; ".join(sentences)


def _verdict(verdict: Verdict) -> dict[str, Any]:
    level = LEVELS.get(verdict.verdict, "error")
    return _result(f"claim-{verdict.verdict}", level, verdict_message(verdict), verdict.place)


def _diagnostic(d: Diagnostic) -> dict[str, Any]:
    file_and_line = None
    if d.text is not None:
        line = d.text.position(d.span.start)[0] if d.span else 1
        file_and_line = d.text.name, line
    message = f"{d.message}; {d.help}" if d.help else d.message
    return _result(d.code, "error" if d.severity == "error" else "warning", message, file_and_line)


def _result(
    rule: str, level: str, message: str, file_and_line: tuple[str, int] | None
) -> dict[str, Any]:
    result: dict[str, Any] = {"ruleId": rule, "level": level, "message": {"text": message}}
    if file_and_line is not None:
        file, line = file_and_line
        location = {
            "artifactLocation": {"uri": quote(Path(file).as_posix())},
            "region": {"startLine": line},
        }
        result["locations"] = [{"physicalLocation": location}]
    return result
