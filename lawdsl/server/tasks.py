"""The tasks of the worker: plain data in, plain data out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import LawdslError, Text
from lawdsl.language.latex import formula_latex, latex_names
from lawdsl.language.library import OpenFiles, declared, read
from lawdsl.language.parse_cache import ParseCache
from lawdsl.language.symbols import Declarations
from lawdsl.language.tree import Definition
from lawdsl.law.law import Law
from lawdsl.proof.check_cache import kept_check, plain_diagnostic, plain_verdict, verdict_of
from lawdsl.proof.verdict import Check, Verdict

Task = Callable[[dict[str, Any], Callable[[dict[str, Any]], None]], dict[str, Any]]
DERIVATIVE_SECONDS = 2.0  # CPU time (s) of one derivative
MAX_CHARACTERS = 100_000  # of the texts whose syntax trees are cached
FIRST = """law first
variable N > 0
parameter E, A, k > 0
let part = A/N^k
L = E + part
require L finite
require ∂L/∂N < 0
require L > 2*E
require L convex in N
require L -> E as N -> oo
"""
PARSED = ParseCache(MAX_CHARACTERS)


def prepare() -> None:
    """Decide claims of a small law: most of what proofs need is loaded when it is first used."""
    from lawdsl.proof.whole_check import whole_check

    law = Law(declared(Text("first.law", FIRST), Path("."), OpenFiles(parsed=PARSED))[0])
    whole_check(law, (1.0, 1.0))


def law_of(request: dict[str, Any]) -> Law:
    """The law in the text of a request.

    Args:
        request: `text`, `path`, `name` of the file in messages, and `open`: path -> text.

    Raises:
        LawdslError: a text with errors.
    """
    texts = {Path(path): text for path, text in request["open"].items()}
    source = Text(request["name"], request["text"])
    opened = OpenFiles(texts, parsed=PARSED)
    return Law(declared(source, Path(request["path"]).parent, opened)[0])


def check(request: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Decide the claims of a law, each verdict sent as it is reached.

    Args:
        request: that of `law_of`, with `limits`, the CPU time (s) per claim and for all, and
            `known`, verdicts as plain data or None for each claim.
        send: sends a part of the answer.

    Returns:
        `warnings`, those that follow from the law; or `errors`, of a law that is too involved.
    """
    from lawdsl.proof.whole_check import whole_check

    seconds, total = request["limits"]
    limits = (float(seconds), None if total is None else float(total))
    law = law_of(request)
    known = [None if part is None else verdict_of(part) for part in request["known"]]
    decided = 0

    def report(verdict: Verdict) -> None:
        nonlocal decided
        send({"claim": decided, "verdict": plain_verdict(verdict)})
        decided += 1

    def answer(check: Check) -> dict[str, Any]:
        return {"warnings": [plain_diagnostic(d) for d in check.warnings]}

    cached = kept_check(law.declarations, limits)
    if cached is not None:
        for verdict in cached.claims:
            report(verdict)
        return answer(cached)
    try:
        # only what is on disk is cached, not every state of an edit
        whole = whole_check(
            law, limits, on_verdict=report, known=known, keep=_saved(request) and not any(known)
        )
    except LawdslError as error:
        return {"errors": [plain_diagnostic(d) for d in error.diagnostics]}
    return answer(whole)


def derivative(request: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The exact partial derivative of a law.

    Args:
        request: that of `law_of`, with `of`, the name with respect to which it is taken.
        send: not used.

    Returns:
        `text` in the syntax of the language and `latex`; neither, if it takes too long or the law
        has no derivative.
    """
    from lawdsl.core.time_limit import OutOfTime, time_limit
    from lawdsl.law.short_derivatives import short_derivative
    from lawdsl.law.text import text

    try:
        law = law_of(request)
        symbol = law.declarations.symbols[request["of"]]
        with time_limit(DERIVATIVE_SECONDS):
            formula = text(short_derivative(law, symbol.text))
    except (LawdslError, OutOfTime, KeyError):
        return {}
    return _shown_derivative(law.declarations, symbol.text, formula)


def _shown_derivative(law: Declarations, name: str, formula: str) -> dict[str, Any]:
    """A derivative as text and LaTeX; without LaTeX where it cannot be read again."""
    output = law.output.text
    tree, _ = PARSED.parse(f"law x\nlet x = {formula}\n")
    read = next((s.formula for s in tree.statements if isinstance(s, Definition)), None)
    latex = ""
    if read is not None:
        names = latex_names([*(s.text for s in law.symbols.values()), output])
        quotient = rf"\frac{{\partial {names(output)}}}{{\partial {names(name)}}}"
        latex = f"{quotient} = {formula_latex(read, names)}"
    return {"text": f"∂{output}/∂{name} = {formula}", "latex": latex}


def _saved(request: dict[str, Any]) -> bool:
    """Whether the text of a request is that of its file."""
    try:
        return read(Path(request["path"])).text == request["text"]
    except LawdslError:
        return False


TASKS: dict[str, Task] = {"check": check, "derivative": derivative}
