"""From a fit to an answer: its intervals and sensitivities are the same in any unit of goal and unknowns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lawdsl
from lawdsl.solving.result import Answer

LAW = """law plain
variable N, D > 0
parameter E, A, B, alpha, beta > 0
L = E + A/N^alpha + B/D^beta
minimize huber(log(L), 0.001)
"""
QUESTION = """question cost
uses   loss : plain
given  L1 > 0
given  q >= 0
choose N, D > 0
minimize GOAL*(6*(SIZE*N)*(SIZE*D) + 2*(SIZE*N)*q)
subject to loss(N = SIZE*N, D = SIZE*D) <= L1 "loss"
"""
GIVEN = {"L1": 2.6, "q": 2e11}
OTHERS = {
    "the goal times 1e-21": ("1e-21", "1"),
    "unknowns in units of 1e9": ("1", "1e9"),
    "both": ("1e-21", "1e9"),
    "both the other way": ("1e21", "1e-9"),
}


@pytest.fixture(scope="module")
def fit(tmp_path_factory: pytest.TempPathFactory) -> lawdsl.Fit:
    """A fit to 36 simulated losses."""
    path = tmp_path_factory.mktemp("law") / "plain.law"
    path.write_text(LAW, encoding="utf-8")
    N, D = (a.ravel() for a in np.meshgrid(np.geomspace(5e7, 8e9, 6), np.geomspace(1e9, 3e11, 6)))
    noise = np.exp(np.random.default_rng(7).normal(0, 0.003, 36))
    table = {"N": N, "D": D, "L": (1.69 + 406.4 / N**0.34 + 410.7 / D**0.28) * noise}
    made = lawdsl.fit(path, table, claims=False)
    assert isinstance(made, lawdsl.Fit) and made.verdict == "trusted"
    return made


def answer(goal: str, size: str, fit: lawdsl.Fit, folder: Path, **changed: float) -> Answer:
    path = folder / "cost.law"
    (folder / "plain.law").write_text(LAW, encoding="utf-8")
    path.write_text(QUESTION.replace("GOAL", goal).replace("SIZE", size), encoding="utf-8")
    return lawdsl.solve(path, loss=fit, **(GIVEN | changed))


def numbers(found: Answer, scale: float, size: float) -> dict[str, float]:
    """All that an answer says in numbers, with the goal in FLOP, N in parameters, D in tokens."""
    assert found.ok and found.goal is not None
    made = {"goal": found.goal.value / scale}
    for unknown in found.unknowns:
        assert unknown.ends is not None
        made[unknown.name] = unknown.value * size
        made |= {f"{unknown.name}, end {i}": x * size for i, x in enumerate(unknown.ends)}
    for s in found.sensitivities:
        made[f"{s.name} moves the goal"] = s.goal / scale
        made |= {f"{s.name} moves {n}": x * size for n, x in s.unknowns.items()}
    return made


@pytest.mark.parametrize("other", OTHERS)
def test_an_answer_from_a_fit_is_the_same_in_other_units(
    other: str, fit: lawdsl.Fit, tmp_path: Path
):
    goal, size = OTHERS[other]

    plain = numbers(answer("1", "1", fit, tmp_path), 1.0, 1.0)
    scaled = numbers(answer(goal, size, fit, tmp_path), float(goal), float(size))

    assert len(plain) == 1 + 2 * 3 + 2 * 3
    assert scaled == pytest.approx(plain, rel=1e-5)


def test_its_sensitivities_are_those_of_solving_again(fit: lawdsl.Fit, tmp_path: Path):
    here = {s.name: s for s in answer("1", "1", fit, tmp_path).sensitivities}
    for name, value in GIVEN.items():
        step = 1e-4 * value
        ahead, behind = (
            answer("1", "1", fit, tmp_path, **{name: value + s}) for s in (step, -step)
        )
        for unknown in ("N", "D"):
            slope = (ahead[unknown] - behind[unknown]) / (2 * step)
            assert here[name].unknowns[unknown] == pytest.approx(slope, rel=1e-4)
