"""`lawdsl fit` keeps what algebra finds out about a law: the next command fits without loading SymPy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted import law_of

from lawdsl.core.recent import Recent
from lawdsl.fitting.fixed_parameters import fixed_values
from lawdsl.fitting.preparation import prepare as preparing
from lawdsl.fitting.preparation.cached_algebra import cached_in
from lawdsl.fitting.preparation.prepare import prepare, symmetries_of
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.language.symbols import Objective
from lawdsl.law.law import Law

ROOT = Path(__file__).resolve().parent.parent
DATA = str(ROOT / "laws" / "data")
FITS = (
    ["dcpt.share", f"{DATA}/c4_share.csv"],
    ["cmr.share", f"{DATA}/cmr_table2.csv", "--by", "size", "--intervals=delta"],
    # index sets, with parameters that others determine
    ["mixing.m4", f"{DATA}/four_domains.csv", "r=r_*", "L=L_*", "--starts=2", "--intervals=delta"]
    + ["--where=phase = end", "--where=step = 400", "--where=model = 0.08M"],
)


def fitted(cache: Path | None) -> tuple[list[Any], bool]:
    """The fits of one process as plain data, and whether it loaded computer algebra."""
    code = (
        "import json, sys\n"
        "import lawdsl.cli\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    try: lawdsl.cli.main(['fit', *words, '--quiet', '--json'])\n"
        "    except SystemExit: pass\n"
        "print('sympy' in sys.modules)"
    )
    environment = {name: text for name, text in os.environ.items() if name != "LAWDSL_NO_CACHE"}
    environment |= {"LAWDSL_NO_CACHE": "1"} if cache is None else {"XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(FITS)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    documents, _, loaded = done.stdout.strip().rpartition("\n")
    decoder, found = json.JSONDecoder(), []
    while documents:
        document, end = decoder.raw_decode(documents)
        found.append(document)
        documents = documents[end:].lstrip()
    return found, loaded == "True"


def test_the_second_fit_of_a_law_loads_no_algebra_and_is_the_same_to_the_last_digit(tmp_path: Path):
    without, _ = fitted(None)
    first, first_loaded = fitted(tmp_path)
    second, second_loaded = fitted(tmp_path)

    assert len(without) == len(FITS) and all(each["ok"] for each in without)
    assert first == without and first_loaded
    assert second == without and not second_loaded


LAWS = {
    "a bound that others determine": (
        "variable x > 0\nparameter a\nparameter C0 > 0\nparameter C > C0\nlet y = C*x\n"
        "L = a + y + C0/(1 + a*x + C*x^2)"
    ),
    "a condition, a location and functions": (
        "variable x\nparameter a, b, d, s\nparameter w in (0, 1)\n"
        "L = if x < d then exp(a + b*x) else w*exp(s*log(1 + x^2) + a*x)"
    ),
    "a product, a setting and a tie": (
        "variable x > 0\nparameter A, q > 0\nparameter p > 0\nsetting k = 0.3\ntie q = 2*p + k\n"
        "L = A*x^(-q)"
    ),
    "a factor that is solved for": "variable x\nparameter S, t, c > 0\nL = c + exp(S + t*x)",
}


class Entries(dict[str, Any]):
    """A cache in memory, whose entries pass through JSON as those of files do."""

    def read(self, text: str) -> Any:
        return self.get(text)

    def keep(self, text: str, content: Any) -> None:
        self[text] = json.loads(json.dumps(content, allow_nan=False))


def asked(law: Law) -> Iterator[Any]:
    """All that a fit asks of the algebra of a law, as arrays and texts."""
    prepared: PreparedLaw = prepare(law)
    rng = np.random.default_rng(0)
    columns = rng.uniform(0.2, 2.0, (len(law.variables), 7))
    theta = rng.uniform(0.2, 0.9, (3, len(law.parameters)))
    for log in (False, True):
        problem = prepared.problem(columns, np.ones(7), Objective(log=log), None)
        yield from problem.model.slopes(theta)
        value, slopes, contract = problem.model.curvature(theta)
        yield from (value, slopes, contract(rng.uniform(size=value.shape)))
        yield problem.linear, problem.exponential
        yield [(t.name, *(side and side.at(theta) for side in t.sides)) for t in problem.transforms]
        solved = prepared.with_solved_factors(problem)
        yield None if solved is None else solved.model.value(theta)
        logs = prepared.of_logarithms(problem)
        yield None if logs is None else logs.model.value(theta)
    yield prepared.draw(columns, 5, 0, np.random.default_rng(1))
    yield prepared.linear(), sorted(prepared.coefficients()), prepared.has_logarithm()
    yield [sorted(prepared.symbols_of_slope(name)) for name in prepared.names]
    yield [sorted(prepared.symbols_of_merged_slope(name)) for name in prepared.names]
    if not problem.model.piecewise:  # of those it is uncertain, and not cached
        yield symmetries_of(law)
    yield fixed_values(law, dict(zip(prepared.names, theta[0].tolist(), strict=True)))


def results(law: Law, entries: Entries, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The same as exact texts, in a process that has not prepared the law before."""
    monkeypatch.setattr(preparing, "_prepared", Recent(1))
    monkeypatch.setattr(preparing, "_symmetries", Recent(1))
    with cached_in(entries), np.printoptions(floatmode="unique", threshold=10**6):
        return [str(each) for each in asked(law)]


def no_algebra(*arguments: Any) -> Any:
    raise AssertionError("algebra is asked for again")


@pytest.mark.parametrize("text", LAWS.values(), ids=LAWS)
def test_what_is_read_again_is_what_was_computed_even_if_parts_are_damaged(
    text: str, monkeypatch: pytest.MonkeyPatch
):
    law, entries = law_of(text), Entries()
    computed = results(law, entries, monkeypatch)
    intact = json.loads(json.dumps(entries))
    with monkeypatch.context() as patch:
        for function in ("to_sympy", "derivative"):
            patch.setattr(Law, function, no_algebra)
        assert results(load_again(law), entries, monkeypatch) == computed

    for damage in (-1, [None, 10**6, "x"]):
        for damaged in (
            Entries({each: dict.fromkeys(part, damage) for each, part in entries.items()}),
            Entries(dict.fromkeys(entries, damage)),
        ):
            assert results(load_again(law), damaged, monkeypatch) == computed
            assert all({**damaged[each], **part} == damaged[each] for each, part in intact.items())


def load_again(law: Law) -> Law:
    """The same law, of which nothing has been computed."""
    return Law(law.declarations, *(getattr(law, n) for n in ("given", "dropped", "added", "held")))
