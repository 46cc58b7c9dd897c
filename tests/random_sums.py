"""Random short sums of two symbols with numbers, on open, closed and infinite ranges."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from claim_sampling import Case
from judging import claims_on

from lawdsl.core.time_limit import OutOfTime, time_limit
from lawdsl.proof.box import Box
from lawdsl.proof.domain import domain_of
from lawdsl.proof.signs.calculus import SignCalculus

RANGES = "> 0|>= 0|in [0, 1]|in (0, 1]|in [0, 1)|in (0, 2)|in [-1, 1]|< 0|>= 0.5|in [0.2, 3]|>= s"
FACTORS = "x y x^0.5 y^1.5 x^2 y^2 x^3 x*y 1/x 1/(1+y) (1+x)^0.7 (1-x) (2-y) (x-y) exp(-x) exp(x)"
FACTORS += " exp(-x*y) log(1+x) log(x) log(x)^2 tanh(y) (1-exp(-x)) exp(-1/x) exp(log(x)^2/9) s"
FACTORS += " (1-exp(-x*(2-x))) log(1+x*(2-x)) (x+y)^0.3 (1+x*y)^(-2) 2^(-x) abs(x-1) max(x,y) y^x"
SECONDS = 0.5


def sums(
    seed: int, count: int, terms: tuple[int, ...] = (2, 3, 3, 4)
) -> Iterator[tuple[Case, Box]]:
    """So many claims `L > 0` whose left side has a value on the whole domain."""
    rng = random.Random(seed)
    while count > 0:
        lines = ["law sums", "setting s = 0.5"]
        lines += [f"variable {name} {rng.choice(RANGES.split('|'))}" for name in "xy"]
        shown = [random_term(rng) for _ in range(rng.choice(terms))]
        text = "\n".join([*lines, "L = " + " + ".join(shown)])
        law, (claim,) = claims_on(text, "L > 0")
        box = domain_of(law, claim)
        if in_time(
            lambda law, box: SignCalculus(box, valued=True).finite(law.expression), law, box
        ):
            count -= 1
            yield Case(law, claim, text), box


def random_term(rng: random.Random) -> str:
    number = rng.choice(("1", "1", "-1", "0.5", "-0.5", "-2", "3"))
    if rng.random() < 0.15:
        return f"({number})"
    return f"({number})*" + "*".join(rng.sample(FACTORS.split(), rng.choice((1, 2, 2, 3))))


def in_time(way: Callable[..., Any], *arguments: Any) -> Any:
    """What is found in the time that there is, or None."""
    try:
        with time_limit(SECONDS):
            return way(*arguments)
    except OutOfTime:
        return None
