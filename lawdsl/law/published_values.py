"""Published parameter values of shipped laws, as priors: `--prior published`.

They apply to the shipped files only: another law of the same name may use other units, in which the
coefficients differ.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.language import library
from lawdsl.language.keywords import ascii_name

DEFAULT_DEVIATION = 0.35  # of the logarithm, if no standard error is published: a factor of 1.4
KEYWORD = "published"
_TARGET = re.compile(r"\s*(?:log\s*\(\s*)?(\w+)")


@dataclass(frozen=True)
class Published:
    """Published values of the parameters of a law, all of them positive.

    Attributes:
        values: parameter -> (value, standard error), in the law's units; the error is None if none
            is published.
        source: the publication.
    """

    values: Mapping[str, tuple[float, float | None]]
    source: str


PUBLISHED: Mapping[str, Published] = {
    "chinchilla": Published(
        {
            "E": (1.8172, 0.03),
            "A": (482.01, 124.58),
            "B": (2085.43, 1293.23),
            "alpha": (0.3478, 0.02),
            "beta": (0.3658, 0.02),
        },
        "Besiroglu et al. 2024, arXiv:2404.10102",
    ),
    "repeated": Published(
        {
            "E": (1.86914, None),
            "A": (520.825, None),
            "B": (1487.72, None),
            "alpha": (0.3526596, None),
            "beta": (0.3526596, None),
            "R_D": (15.387756, None),
            "R_N": (5.309743, None),
        },
        "Muennighoff et al. 2023, arXiv:2305.16264",
    ),
}


def expanded(
    texts: Sequence[str], law: str, text: str, parameters: Collection[str]
) -> tuple[str, ...]:
    """Replace `published` in stated priors by the priors that it stands for.

    A prior that is also stated for a parameter replaces the published one.

    Args:
        texts: texts of priors, or `published`, or `none`.
        law: the name of the law.
        text: the text of its file.
        parameters: the fitted parameters.

    Raises:
        LawdslError: the law has no published values; F0139.
    """
    others = tuple(each for each in texts if each.strip() != KEYWORD)
    if len(others) == len(texts):
        return others
    published = PUBLISHED.get(law)
    if published is None or library.read(library.shipped()[law]).text != text:
        message = f"no values of the parameters of `{law}` are published with the shipped laws"
        help = "state the priors: --prior 'log(alpha) = log(0.35) ± 0.35', or 'E = 1.7 ± 0.2'"
        raise LawdslError(Diagnostic("F0139", message, help=help))
    stated = {ascii_name(match[1]) for each in others if (match := _TARGET.match(each))}
    chosen = [name for name in published.values if name in parameters and name not in stated]
    return (*(_prior(name, *published.values[name]) for name in chosen), *others)


def _prior(name: str, value: float, error: float | None) -> str:
    deviation = DEFAULT_DEVIATION if error is None else error / value
    return f"log({name}) = log({value:g}) ± {deviation:.3g}"
