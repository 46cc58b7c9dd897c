"""How often a decision keeps its tolerance where the law is only nearly right.

    python tests/benchmarks/safe_answers.py --worlds 100 --seed 1

A world has a general and a domain loss: a D-CPT law with parameters near the published ones (dcpt.l1 and dcpt.l3
in turn), times a smooth model error that no fit knows, of about 2 % per decade. Both are measured at four small
sizes with noise of 0.3 % and fitted; then dcpt.tradeoff is answered for a model 4 and 16 times as large as the largest:
the most domain data that keeps the general loss within 3 % of what it was. The true laws judge the answer of the
fitted laws and the safe one (--safe 0.95): the share of worlds whose general loss is within the tolerance, with its
95 % interval, and the domain loss in excess of that of the best decision. An answer that breaks the tolerance may
have less than the best decision. A second table says how often the 95 % interval of the answer has the best decision
in it, and the 95 % interval of the goal the true domain loss at the answer, by noise alone and with the error of
the laws.

The model error is not drawn from the Gaussian process that safe answers rely on: it is a random sum of parabolas and
products of the logarithms of size and tokens, and of waves in the share, scaled to the requested size.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import lawdsl
from lawdsl.reporting.terminal import show_rows

Array = NDArray[np.float64]

SIZES = (0.5, 1.0, 2.0, 4.0)  # Gparam
TOKENS = (0.5, 1.5, 4.0, 10.0, 26.0)  # Gtoken
SHARES = (0.0, 0.05, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 1.0)
TIMES = (4, 16)  # the largest size
REQUESTED_TOKENS = 10.0
TOLERANCE = 0.03
NOISE = 0.003
MODEL_ERROR = 0.02  # per decade

out = Console(highlight=False, width=200)


@dataclass(frozen=True)
class Surface:
    """A true loss.

    Attributes:
        law: the D-CPT law that it is near to.
        parameters: of that law.
        error: the coefficients of the model error.
        phases: of its waves in the share.
    """

    law: str
    parameters: dict[str, float]
    error: Array
    phases: Array

    @classmethod
    def drawn(cls, law: str, rng: np.random.Generator, size: float) -> Surface:
        """A surface with parameters near those published."""
        near = {"E": 1.2, "A": 0.3, "alpha": 0.5, "B": 0.2, "beta": 0.4, "gamma": 0.6}
        parameters = {name: x * rng.uniform(0.8, 1.25) for name, x in near.items()}
        parameters |= {"epsilon": 0.1 * rng.uniform(0.8, 1.25), "C": 0.4 * rng.uniform(0.8, 1.25)}
        if law == "dcpt.l3":
            parameters |= {"eta": rng.uniform(1.2, 1.8), "C": 1.6 * rng.uniform(0.9, 1.25)}
        error = size * rng.normal(size=7) / np.sqrt([1, 2, 2, 2, 2, 2, 2])
        return cls(law, parameters, error, rng.uniform(0, 2 * np.pi, 2))

    def __call__(self, N: Any, D: Any, r: Any) -> Array:
        """The true loss."""
        p = self.parameters
        shift = r ** p["eta"] if "eta" in p else 1.0
        base = p["E"] + p["A"] / N ** p["alpha"] + p["B"] * shift / D ** p["beta"]
        base = base + p["C"] / (r + p["epsilon"]) ** p["gamma"]
        # decades and half shares from the middle of what is measured
        n, d, x = np.log10(N / 1.4), np.log10(D / 4.0), (r - 0.5) / 0.5
        waves = [np.sin(2.0 * x + phase) for phase in self.phases]
        terms = [n**2 / 2, d**2 / 2, n * d, n * x / 2, d * x / 2, waves[0], n * waves[1]]
        error = sum(a * t for a, t in zip(self.error, terms, strict=True))
        return np.asarray(base * np.exp(error))

    def table(self, rng: np.random.Generator, noise: float) -> dict[str, Array]:
        """Its runs at small sizes."""
        grid = np.meshgrid(SIZES, TOKENS, SHARES, indexing="ij")
        N, D, r = (axis.ravel() for axis in grid)
        return {
            "N": N,
            "D": D,
            "r": r,
            "L": self(N, D, r) * np.exp(noise * rng.normal(size=N.size)),
        }


@dataclass(frozen=True)
class Decision:
    """An answer, as the true laws judge it.

    Attributes:
        share: of domain data; nan where there is none.
        kept: whether the general loss is within the tolerance.
        excess: the domain loss relative to that of the best decision, minus 1.
    """

    share: float
    kept: bool
    excess: float


@dataclass(frozen=True)
class Judged:
    """The answers to one question in one world.

    Attributes:
        times: the requested size, in multiples of the largest fitted.
        point, safe: the answers.
        best: the best decision.
        probability: the stated probability that the point answer keeps the tolerance.
        noise, law_error: whether the 95 % interval of the share, by noise alone and with the error
            of the laws, contains the best decision; None without an interval.
        goal_noise, goal_law_error: the same of the interval of the goal and the true domain loss at
            the answer.
    """

    times: int
    point: Decision
    safe: Decision
    best: float
    probability: float
    noise: bool | None
    law_error: bool | None
    goal_noise: bool | None
    goal_law_error: bool | None


def contains(ends: tuple[float, float] | None, value: float) -> bool | None:
    """Whether a value is in an interval; None without one."""
    return None if ends is None else bool(ends[0] <= value <= ends[1])


def world(number: int, seed: int, error: float, level: float) -> list[Judged]:
    """Answer the question in one world."""
    rng = np.random.default_rng([seed, number])
    law = ("dcpt.l1", "dcpt.l3")[number % 2]
    general, domain = (Surface.drawn(law, rng, error) for _ in range(2))
    fits = {
        use: lawdsl.fit(law, surface.table(rng, NOISE), claims=False, starts=12)
        for use, surface in (("general", general), ("domain", domain))
    }
    question = lawdsl.Asked("dcpt.tradeoff", **fits)
    judged = []
    for times in TIMES:
        N = times * max(SIZES)
        best = float(rng.uniform(0.2, 0.8))
        # the loss before training is such that this share just keeps the tolerance
        tolerated = float(general(N, REQUESTED_TOKENS, 1 - best))
        # where a model error bends the true loss, larger shares may keep it too
        shares = np.linspace(0, 1, 4001)
        keeps = general(N, REQUESTED_TOKENS, 1 - shares) <= tolerated * (1 + 1e-12)
        losses = domain(N, REQUESTED_TOKENS, shares[keeps])
        least, best = float(np.min(losses)), float(shares[keeps][np.argmin(losses)])
        givens = {"N": N, "D": REQUESTED_TOKENS, "L0": tolerated / (1 + TOLERANCE), "T": TOLERANCE}
        answer = question.answer(givens, safe=level, proofs=False)
        assert answer.safe is not None

        def decided(
            share: float, N: float = N, tolerated: float = tolerated, least: float = least
        ) -> Decision:
            if not np.isfinite(share):
                return Decision(share, True, np.nan)
            kept = float(general(N, REQUESTED_TOKENS, 1 - share)) <= tolerated
            excess = float(domain(N, REQUESTED_TOKENS, share)) / least - 1
            return Decision(share, kept, excess)

        point = answer["r_d"] if answer.unknowns else np.nan
        safe = answer.safe["r_d"] if answer.safe.ok else np.nan
        probability = answer.safe.point_probability
        ends = answer.ends("r_d") if answer.unknowns else None
        wider = answer.law_error.ends.get("r_d") if answer.law_error else None
        reached = float(domain(N, REQUESTED_TOKENS, point)) if answer.unknowns else np.nan
        judged.append(
            Judged(
                times,
                decided(point),
                decided(safe),
                best,
                np.nan if probability is None else probability,
                contains(ends, best),
                contains(wider, best),
                contains(answer.goal.ends if answer.goal else None, reached),
                contains(answer.law_error.goal if answer.law_error else None, reached),
            )
        )
    return judged


def kept_share(decisions: list[Decision]) -> tuple[int, int, float, float]:
    """How many keep the tolerance, of how many answers, and the 95 % interval of the share."""
    answered = [d for d in decisions if np.isfinite(d.share)]
    count, kept = len(answered), sum(d.kept for d in answered)
    if not count:
        return 0, 0, 0.0, 1.0
    # Wilson's interval
    z, p = 1.96, kept / count
    middle, half = p + z**2 / 2 / count, z * np.sqrt(p * (1 - p) / count + z**2 / 4 / count**2)
    scale = 1 + z**2 / count
    return kept, count, float((middle - half) / scale), float((middle + half) / scale)


def show(judged: list[Judged], level: float) -> None:
    """Print a row for each size and kind of answer."""
    rows = []
    for times in TIMES:
        of_size = [j for j in judged if j.times == times]
        for name, decisions in (
            ("fitted laws", [j.point for j in of_size]),
            (f"safe {100 * level:g} %", [j.safe for j in of_size]),
        ):
            kept, count, low, high = kept_share(decisions)
            excess = np.array([100 * d.excess for d in decisions if np.isfinite(d.excess)])
            quantiles = np.percentile(excess, [50, 95]) if len(excess) else (np.nan, np.nan)
            rows.append(
                [
                    f"{times} times",
                    name,
                    f"{count} of {len(decisions)}",
                    f"{100 * kept / max(count, 1):.0f} %",
                    f"{100 * low:.0f} to {100 * high:.0f}",
                    f"{quantiles[0]:+.2f} %",
                    f"{quantiles[1]:+.2f} %",
                ]
            )
    headers = [
        "requested size",
        "answer",
        "worlds",
        "kept",
        "interval",
        "excess, median",
        "95 % below",
    ]
    show_rows(headers, rows, out)
    out.print()
    rows = []
    for times in TIMES:
        of_size = [j for j in judged if j.times == times]
        probabilities = [j.probability for j in of_size if np.isfinite(j.probability)]
        cells = [f"{times} times"]
        for name in ("noise", "law_error", "goal_noise", "goal_law_error"):
            inside = [value for j in of_size if (value := getattr(j, name)) is not None]
            cells.append(f"{100 * np.mean(inside):.0f} % of {len(inside)}" if inside else "")
        rows.append([*cells, f"{100 * np.mean(probabilities):.0f} %"])
    headers = [
        "requested size",
        "best decision in the interval, by noise",
        "with the error of the laws",
    ]
    headers += ["true goal in its interval, by noise", "with the error of the laws"]
    show_rows([*headers, "mean stated probability of the answer"], rows, out)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--safe", type=float, default=0.95)
    parser.add_argument("--error", type=float, default=MODEL_ERROR, help="of the law, per decade")
    options = parser.parse_args()
    judged = [
        j
        for number in range(options.worlds)
        for j in world(number, options.seed, options.error, options.safe)
    ]
    show(judged, options.safe)


if __name__ == "__main__":
    main()
