"""Option name -> its meaning, limits and command-line form: the options of a fit as one record.

It contains names and numbers only, so commands can show their help before NumPy is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, TypeGuard

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import disjunction
from lawdsl.core.losses import LOSSES

Progress = Callable[[int, int], None]

OBJECTIVES = tuple(f"{name}({scale})" for name in LOSSES for scale in ("log", "raw"))
SHORT = {name: f"{name}({row.scale})" for name, row in LOSSES.items()}
"""Objectives by their loss alone."""

METHODS: Mapping[str, str] = {
    "delta": "lawdsl.fitting.intervals.delta",
    "profile": "lawdsl.fitting.intervals.profile",
    "bootstrap": "lawdsl.fitting.intervals.bootstrap",
}
"""Methods of intervals -> the modules that have them as METHOD, loaded when asked for."""

_WITH_DELTA = [name for name, row in LOSSES.items() if "delta" in row.parameters]
_DELTA = (
    f"{_WITH_DELTA[0].capitalize()}'s delta"
    if len(_WITH_DELTA) == 1
    else f"The delta of {disjunction(_WITH_DELTA)}"
)

AUTO = "auto"

LARGEST_HORIZON = 10_000
"""Multiples of the largest fitted compute, up to which a trust horizon is sought."""

LEARNED = "learned"
"""An error of the law that the rolled check of a table widens."""

LEVELS = (0.5, 0.999)
"""Of intervals: the lowest and the highest."""

MOST_STARTS = 100_000
FEWEST_RESAMPLES, MOST_RESAMPLES = 100, 1_000_000


@dataclass(frozen=True)
class Option:
    """The description of an option of a fit, in addition to its name, type and default.

    Attributes:
        doc: for the documentation of functions.
        help: for the help of commands; None for an option without a command-line form.
        metavar: how its value is shown in that help; None for what its type says.
        choices: the permitted texts; None where any value of the type is permitted.
        limits: the smallest and the largest permitted number; None for no limits.
        kind: the type of its value, where the default does not determine it.
        shown: whether the help shows the default.
    """

    doc: str
    help: str | None = None
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    limits: tuple[float | None, float | None] | None = None
    kind: type | None = None
    shown: bool = False


def _option(default: Any, doc: str, help: str | None = None, **more: Any) -> Any:
    return field(default=default, metadata={"option": Option(doc, help, **more)})


@dataclass(frozen=True)
class FitOptions:
    """How a law is fitted. Changes of the law itself are not among these options.

    The fields document themselves: see `option`.

    Raises:
        LawdslError: an option outside its limits; F0106 for the seed, F0120 for intervals.
    """

    starts: Any = _option(
        AUTO,
        'the number of random starts; `"auto"` adds starts until several agree; `"declared"` uses '
        "those of the law's file; a mapping parameter -> value is a single start.",
        "Number of starting points; auto: add starts until several agree; declared: use the `start` lines "
        "of the law.",
        metavar="auto|N|declared",
        limits=(1, MOST_STARTS),
        shown=True,
    )
    objective: str | None = _option(
        None,
        "a loss and the scale of its residuals that replace the law's own: huber(log), "
        "squared(raw), absolute(log), quantile(log) and so on.",
        "Loss and scale of the residuals, instead of the law's `minimize` line.",
        choices=(*OBJECTIVES, *SHORT),
    )
    delta: float | None = _option(
        None,
        f"{_DELTA}, replacing the law's own.",
        f"{_DELTA}, instead of the law's.",
        kind=float,
    )
    quantile: float | None = _option(
        None,
        "the share of rows below the fit under a quantile loss, replacing the law's own.",
        "For the loss `quantile`: the share of measurements below the fit.",
        kind=float,
    )
    over: float | None = _option(
        None,
        "how many times an over-estimate counts, predicted above measured, relative to an "
        "under-estimate, replacing the law's own; 1 for equal sides.",
        "Factor by which the loss of over-estimates (predicted above measured) is multiplied.",
        metavar="FACTOR",
        kind=float,
    )
    where: tuple[str, ...] = _option(
        (),
        'one condition that rows must satisfy, `"size = 70M"`, or several.',
        'Use only rows that satisfy it: "size = 70M".',
        metavar="CONDITION",
    )
    weights: Any = _option(
        None,
        "the column with the weight of each row (the number of rows that it represents), or an "
        "array of weights, shape (rows of the table,); rows of weight 0 are excluded.",
        "Weights: the number of rows that each row stands for; 0 drops a row.",
        metavar="COLUMN",
        kind=str,
    )
    run: tuple[str, ...] = _option(
        (),
        "the column that identifies the training run of a row, or several. By default `run`, "
        "`run_id` or `run_name`, if the law does not use it and its runs have several rows; "
        '"none" for independent rows.',
        "Column that identifies the training run of a row (repeat for several columns); by default run,"
        " run_id or run_name. none: rows are independent.",
        metavar="COLUMN",
    )
    drop_bad: bool = _option(
        False,
        "exclude bad rows, and count them, instead of refusing the table.",
        "Drop invalid rows and report their number, instead of refusing the table.",
    )
    enforce: bool = _option(
        False,
        "if a claim fails at the fitted values, fit again under bounds that enforce it.",
        "If a claim fails at the fitted values, refit under bounds that guarantee it.",
    )
    claims: bool = _option(
        True,
        "whether to decide the claims at the fitted values; can be disabled for speed.",
    )
    rolled_check: bool = _option(
        True,
        "whether to predict the larger runs of the table from its smaller ones, and to compute "
        "the trust horizon; can be disabled for speed.",
    )
    horizon: float | None = _option(
        None,
        "the multiple of the largest fitted compute, such as 10, up to which predictions are "
        "needed within 2 %; the fit warns (F0141) if they are less precise.",
        "Warn unless predictions are known within 2 % up to this multiple of the largest compute.",
        metavar="TIMES",
        limits=(1, LARGEST_HORIZON),
        kind=float,
    )
    intervals: str = _option(
        AUTO,
        "the method of intervals: `delta`, from the Jacobian at the fit; `profile`, from the "
        "profile of the objective; or `bootstrap`, from fits to resampled rows or runs; "
        '`"auto"` is `delta`, or `profile` if a parameter lies on or near a bound, or if the law is '
        "far from linear in its parameters.",
        "Method for the intervals of the parameters; auto: delta, or profile where that is wrong.",
        choices=(AUTO, *METHODS),
        shown=True,
    )
    level: float = _option(
        0.95,
        "the confidence level of the intervals.",
        "Confidence level.",
        limits=LEVELS,
        shown=True,
    )
    resamples: int = _option(
        1000,
        "the number of fits of a bootstrap.",
        "Number of bootstrap resamples.",
        limits=(FEWEST_RESAMPLES, MOST_RESAMPLES),
        shown=True,
    )
    seed: int = _option(
        0,
        "the random seed of the starts and the resamples; the same seed gives the same fit.",
        "Random seed.",
        limits=(0, None),
        shown=True,
    )
    progress: Progress | None = _option(
        None, "called with the number of starts, or resamples, done, and their total."
    )
    columns: Mapping[str, str] = field(
        default_factory=dict,
        metadata={
            "option": Option(
                "variable or output of the law -> column, where the names differ; for a law with "
                'index sets also set -> column of labels, and patterns of columns: {"r": "r_*"}.'
            )
        },
    )

    def __post_init__(self) -> None:
        check_seed(self.seed)
        # NumPy's integers cannot be written as JSON
        object.__setattr__(self, "seed", int(self.seed))
        if self.intervals not in (AUTO, *METHODS):
            message = f"`{self.intervals}` is not a kind of interval"
            help = f"give one of {', '.join((AUTO, *METHODS))}"
            raise LawdslError(Diagnostic("F0120", message, help=help))
        check_level(self.level)
        check_horizon(self.horizon)
        if not (is_whole(self.resamples) and FEWEST_RESAMPLES <= self.resamples <= MOST_RESAMPLES):
            message = f"`{self.resamples}` is not a valid number of resamples"
            help = f"give a whole number from {FEWEST_RESAMPLES} to {MOST_RESAMPLES:,}"
            raise LawdslError(Diagnostic("F0120", message, help=help))


OPTIONS: dict[str, Field[Any]] = {each.name: each for each in fields(FitOptions)}
"""The fields of the options by name."""


def option(name: str) -> Option:
    """The meaning, limits and help of an option, by its name."""
    meaning = OPTIONS[name].metadata["option"]
    assert isinstance(meaning, Option)
    return meaning


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether a value is a whole number; True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_level(level: Any) -> None:
    """Refuse a level of intervals outside its limits.

    Raises:
        LawdslError: not a number from 0.5 to 0.999; F0120.
    """
    if not (isinstance(level, Real) and LEVELS[0] <= float(level) <= LEVELS[1]):
        help = f"give a number from {LEVELS[0]:g} to {LEVELS[1]:g}, such as 0.95"
        if isinstance(level, Real) and 50 <= float(level) <= 99.9:
            help = f"write {float(level) / 100:g} for {float(level):g} %"
        raise LawdslError(
            Diagnostic("F0120", f"`{level}` is not the level of an interval", help=help)
        )


def check_horizon(times: Any) -> None:
    """Refuse a required horizon that is not a multiple of the largest fitted compute.

    Raises:
        LawdslError: neither None nor a number from 1 to 10,000; F0141.
    """
    if times is None:
        return
    if isinstance(times, bool) or not (
        isinstance(times, Real) and 1 <= float(times) <= LARGEST_HORIZON
    ):
        message = (
            f"the horizon is a multiple of the largest fitted compute, from 1 to {LARGEST_HORIZON:,}, "
            f"not `{times}`"
        )
        help = "give 10 for predictions at 10 times the largest compute"
        raise LawdslError(Diagnostic("F0141", message, help=help))


def percentage_or_learned(amplitude: float | str) -> str:
    """An error of the law as `--wrong` takes it: `5%`, or `learned`."""
    return amplitude if isinstance(amplitude, str) else f"{100 * amplitude:.15g}%"


def check_amplitude(amplitude: Any) -> None:
    """Refuse an amplitude of the discrepancy outside its limits.

    Raises:
        LawdslError: neither a number from 0 to 1 nor `learned`; F0133.
    """
    if isinstance(amplitude, str) and amplitude == LEARNED:
        return
    if isinstance(amplitude, bool) or not (
        isinstance(amplitude, Real) and 0 <= float(amplitude) <= 1
    ):
        message = f"the discrepancy must be a number from 0 to 1, not `{amplitude}`"
        help = "give 0.02 for a law that is wrong by 2 % per decade, 0 for one that is right, or learned"
        raise LawdslError(Diagnostic("F0133", message, help=help))


def check_numeric_amplitude(amplitude: Any) -> None:
    """Refuse an amplitude of the discrepancy that is not a number from 0 to 1.

    Raises:
        LawdslError: F0133.
    """
    check_amplitude(amplitude)
    if isinstance(amplitude, str):
        message = f"the discrepancy is a number here, not `{amplitude}`"
        help = "give 0.02 for a law that is wrong by 2 % per decade, 0 for one that is right"
        raise LawdslError(Diagnostic("F0133", message, help=help))


def check_seed(seed: Any) -> None:
    """Refuse a seed that is not a non-negative whole number.

    Raises:
        LawdslError: F0106.
    """
    if not is_whole(seed) or seed < 0:
        message = f"the seed is a whole number from 0, not `{seed}`"
        help = "a variable that is called `seed` is bound by columns={'seed': 'COLUMN'}"
        raise LawdslError(Diagnostic("F0106", message, help=help))
