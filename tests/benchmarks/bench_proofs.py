"""How many random problems are decided, how fast, and by whom, beside other tools in the same run.

    python tests/benchmarks/bench_proofs.py

The problems are those of `random_problems`. First the whole engine, then each of its ways by itself,
then the rivals, each on the same expression and domain, with settings at their values and SECONDS
for a claim:

SymPy      its assumptions (`is_positive`, …), the symbols as positive, real, … as the domain says
mpmath.iv  a branch and bound on natural interval extensions, the widest side cut in half; an
           infinite side is cut off at 1e-6 and 1e6, and then it proves nothing
z3         nonlinear real arithmetic: polynomials, and roots of small order
dReal      unsatisfiability of the negation, to 1e-9, numbers rounded to float64; a point it offers
           counts if the judge confirms it. Finite domains only

"can state" is the share of the problems that a tool can be asked at all; of the others it decides
none. A proof is wrong where the judge knows a verified counter-example; a refutation, where the
engine has a proof and the judge finds none. Times are of the problems that a tool can be asked.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module

import numpy as np
from claim_search import contradicted, counterexample
from proof_tools import (
    PROVED,
    REFUTED,
    SECONDS,
    Answer,
    NotStated,
    Problem,
    ask_dreal,
    ask_z3,
    assumptions,
    boxes_alone,
    branch_and_bound,
    engine,
    problem_of,
    search_alone,
    sign_by_boxes,
    signs_alone,
)
from random_problems import KINDS, problems
from rich.console import Console
from sympy.core.cache import clear_cache

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.time_limit import OutOfTime
from lawdsl.proof.verdict import Verdict
from lawdsl.reporting.terminal import show_rows

COUNT = 100  # problems of each kind
SEED = 11
WORKERS = 2


@dataclass(frozen=True)
class Tool:
    name: str
    ask: Callable[[Problem], Answer]
    needs: str | None = None  # a package

    @cached_property
    def installed(self) -> bool:
        try:
            return self.needs is None or bool(import_module(self.needs))
        except ImportError:
            return False


TOOLS = (
    Tool("lawdsl", engine),
    Tool("its signs alone", signs_alone),
    *((Tool("its boxes alone", boxes_alone),) if sign_by_boxes else ()),
    Tool("its search alone", search_alone),
    Tool("SymPy", assumptions),
    Tool("mpmath.iv", branch_and_bound),
    Tool("z3", ask_z3, "z3"),
    Tool("dReal", ask_dreal, "dreal"),
)


@dataclass(frozen=True)
class Result:
    """What a tool says of one problem; `stated` is False where it cannot be asked."""

    stated: bool
    answer: Answer
    wrong: bool
    milliseconds: float


def results(kind: str, place: int) -> dict[str, Result]:
    """All tools on one problem."""
    case = list(problems(kind, SEED + place, 1))[0]
    problem = problem_of(case)
    answers: dict[str, tuple[bool, Answer, float]] = {}
    for tool in TOOLS:
        if not tool.installed:
            continue
        stated, answer = True, None
        clear_cache()  # or SymPy remembers what it did for the tool before
        began = time.perf_counter()
        try:
            answer = tool.ask(problem)
        except NotStated:
            stated = False
        except (OutOfTime, LawdslError):
            pass
        answers[tool.name] = stated, answer, 1000 * (time.perf_counter() - began)
    false = counterexample(case) is not None
    false = false or contradicted(case, Verdict("", "proved")) is not None
    by_engine = answers["lawdsl"][1]
    wrong = {PROVED: false, REFUTED: by_engine is PROVED and not false, None: False}
    return {
        name: Result(stated, answer, wrong[answer], taken)
        for name, (stated, answer, taken) in answers.items()
    }


def row(kind: str, tool: Tool, found: list[Result]) -> tuple[object, ...]:
    if not found:
        return kind, tool.name, "not installed", "", "", "", ""
    taken = [r.milliseconds for r in found if r.stated]
    median, most = np.percentile(taken, (50, 95)) if taken else (0.0, 0.0)
    return (
        kind,
        tool.name,
        f"{sum(r.stated for r in found) / len(found):.0%}",
        f"{sum(r.answer is not None for r in found) / len(found):.0%}",
        sum(r.wrong for r in found),
        f"{median:.1f}",
        f"{most:.0f}",
    )


def main() -> None:
    out = Console(highlight=False, width=100)
    out.print(f"{COUNT} problems of each kind, {SECONDS:g} s for a claim")
    rows = []
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(WORKERS, mp_context=context) as pool:
        for kind in KINDS:
            found = list(pool.map(results, [kind] * COUNT, range(COUNT)))
            for tool in TOOLS:
                rows.append(row(kind, tool, [r[tool.name] for r in found if tool.name in r]))
    headers = ("problems", "tool", "can state", "decided", "wrong", "median ms", "95 % ms")
    show_rows(headers, rows, out)


if __name__ == "__main__":
    main()
