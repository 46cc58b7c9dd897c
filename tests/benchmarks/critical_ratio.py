"""How often the interval of the critical mixture ratio contains its true value.

    python tests/benchmarks/critical_ratio.py --worlds 300

Each world is the curves of one model size on several mixtures. The general loss rises and falls as in
equation 6 of Gu et al. (2024), with the turning points that the fits of their Table 5 have; its
other coefficients are not published, and chosen here: it rises by 0.05 + 0.3 R nat/token, with the
powers 0.5 and 1.2. Evaluations have independent noise of 0.1 to 0.3 %.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

import lawdsl

# Gu et al. 2024, Table 5 (v2): R = alpha4*T^s4 + beta3
SIZES = {
    "460M": (0.22524761, 0.26944345, -0.48139982),
    "940M": (0.7520627, 0.13720245, -1.06581937),
    "1.6B": (-2.36384831, -0.15125569, 1.59223649),
    "3.1B": (-2.5368197, -0.42071423, 0.84375368),
}
NOISES = (0.001, 0.002, 0.003)
RATIOS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
T_MAX, TOLERANCE = 100.0, 0.3
LOW, HIGH = 0.5, 1.2  # powers of the general loss


def turning_point(size: str, ratio: float) -> float:
    """When the general loss of a mixture turns, by the published fit."""
    alpha, s, beta = SIZES[size]
    return float(((ratio - beta) / alpha) ** (1 / s))


def runs(
    size: str,
    noise: float,
    rng: np.random.Generator,
    ratios: Sequence[float] = RATIOS,
    evaluations: int = 100,
) -> dict[str, list[float]]:
    """The losses of runs of one size on several mixtures, and of the base model at T = 0."""
    times = np.linspace(T_MAX / evaluations, T_MAX, evaluations)
    table: dict[str, list[float]] = {"R": [], "T": [], "dL_general": [], "dL_domain": []}
    for ratio in ratios:
        peak, rise = turning_point(size, ratio), 0.05 + 0.3 * ratio
        x = times / peak
        general = 2.5 + rise * (HIGH * x**LOW - LOW * x**HIGH) / (HIGH - LOW)
        domain = 2.0 - 0.15 * (ratio * times) ** 0.2
        factors = np.exp(noise * rng.normal(size=(2, evaluations)))
        table["R"] += [ratio] * (evaluations + 1)
        table["T"] += [0.0, *times.tolist()]
        table["dL_general"] += [2.5, *(general * factors[0]).tolist()]
        table["dL_domain"] += [2.0, *(domain * factors[1]).tolist()]
    return table


def main() -> None:
    """Simulate worlds, and print how many intervals contain the true ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=300)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    inside: dict[str, list[bool]] = defaultdict(list)
    widths: dict[str, list[float]] = defaultdict(list)
    too_high = too_low = none = 0
    start = time.process_time()
    for world in range(options.worlds):
        size = list(SIZES)[world % 4]
        noise = NOISES[world // 4 % 3]
        rng = np.random.default_rng([options.seed, world])
        result = lawdsl.run_pipeline(
            "cmr.critical",
            runs(size, noise, rng),
            settings={"T_max": T_MAX, "tolerance": TOLERANCE},
            draws=options.draws,
            seed=world,
        )
        alpha, s, beta = SIZES[size]
        truth = alpha * T_MAX**s + beta
        (answer,) = result.step("cmr.critical_ratio").groups
        if "R" not in answer.ends:
            none += 1
            continue
        low, high = answer.ends["R"]
        too_high, too_low = too_high + (truth < low), too_low + (truth > high)
        for key in ("all", size, f"noise {100 * noise:.1f} %"):
            inside[key].append(low <= truth <= high)
            widths[key].append(high - low)
        if world % 20 == 19 or world == options.worlds - 1:
            print(
                f"{world + 1} worlds, {time.process_time() - start:.0f} s CPU, {none} without an "
                f"interval, {too_high} too high, {too_low} too low"
            )
            for key in sorted(inside):
                share, count = np.mean(inside[key]), len(inside[key])
                print(
                    f"  {key}: {share:.1%} of {count}, median width {np.median(widths[key]):.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
