"""The table of all kinds of figures; it imports nothing, so that `--help` is fast."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of figure.

    Attributes:
        name: the name that the user types.
        results: the names of the records that it can be drawn for.
        module: the module that draws it.
        function: the function of that module: result, options -> `Figure`.
        shows: a short description.
    """

    name: str
    results: tuple[str, ...]
    module: str
    function: str
    shows: str


KINDS = (
    Kind(
        "fit",
        ("Fit",),
        "lawdsl.figures.kinds.fitted",
        "fit_figure",
        "measured and fitted against a variable",
    ),
    Kind(
        "fit",
        ("Fits",),
        "lawdsl.figures.kinds.fitted_by_label",
        "fits_figure",
        "measured against fitted for each label of a law with index sets",
    ),
    Kind(
        "groups",
        ("FitsByGroup",),
        "lawdsl.figures.kinds.groups",
        "groups_figure",
        "of the fits of many groups: each parameter with its interval, for each group",
    ),
    Kind(
        "residuals",
        ("Fit",),
        "lawdsl.figures.kinds.residuals",
        "residuals_figure",
        "of a fit, against prediction, variables and order, with their patterns",
    ),
    Kind(
        "residuals",
        ("Fits",),
        "lawdsl.figures.kinds.of_label",
        "residuals_of_label_figure",
        "of one label of a law with index sets, label=NAME",
    ),
    Kind(
        "profile",
        ("Fit",),
        "lawdsl.figures.kinds.profile",
        "profile_figure",
        "the objective along each parameter, or over two of them, with intervals",
    ),
    Kind(
        "profile",
        ("Fits",),
        "lawdsl.figures.kinds.of_label",
        "profile_of_label_figure",
        "of one label of a law with index sets, label=NAME",
    ),
    Kind(
        "extrapolation",
        ("Fit",),
        "lawdsl.figures.kinds.extrapolation",
        "extrapolation_figure",
        "prediction beyond the data, its interval and the trust horizon",
    ),
    Kind(
        "landscape",
        ("Fit",),
        "lawdsl.figures.kinds.landscape",
        "landscape_figure",
        "lines of equal output over two variables, the compute-optimal path",
    ),
    Kind(
        "landscape",
        ("Fits",),
        "lawdsl.figures.kinds.landscape_ternary",
        "ternary_figure",
        "of a law of mixtures: lines of equal output over three shares, in a triangle",
    ),
    Kind(
        "answer",
        ("Answer",),
        "lawdsl.figures.kinds.answer",
        "answer_figure",
        "goal and constraints along the unknowns, the answer with its intervals",
    ),
    Kind(
        "answer",
        ("Answers",),
        "lawdsl.figures.kinds.answers",
        "answers_figure",
        "the answers against the given that varies",
    ),
    Kind(
        "predictions",
        ("PredictedPoints", "Band"),
        "lawdsl.figures.kinds.predictions",
        "predictions_figure",
        "predictions with intervals against a variable, and what the intervals are made of",
    ),
    Kind(
        "pipeline",
        ("PipelineResult",),
        "lawdsl.figures.kinds.pipeline",
        "pipeline_figure",
        "what the last steps predict for each group, with intervals",
    ),
    Kind(
        "pipeline",
        ("PipelineAnswers",),
        "lawdsl.figures.kinds.pipeline_answers",
        "pipeline_answers_figure",
        "fitted curves with the answers along them, and the laws fitted to these answers",
    ),
    Kind(
        "trends",
        ("Trends",),
        "lawdsl.figures.kinds.trends",
        "trends_figure",
        "differences as claimed, too small to tell and against, and where",
    ),
    Kind(
        "comparison",
        ("Comparison",),
        "lawdsl.figures.kinds.comparison",
        "comparison_figure",
        "held-out error by law and protocol, and the differences from the best",
    ),
    Kind(
        "comparison",
        ("Comparisons",),
        "lawdsl.figures.kinds.comparison",
        "comparisons_figure",
        "held-out error by law and label",
    ),
    Kind(
        "certificate",
        ("Check", "Law"),
        "lawdsl.figures.kinds.certificate",
        "certificate_figure",
        "each claim with its verdict and proof, drawn where it fails",
    ),
    Kind(
        "design",
        ("Design",),
        "lawdsl.figures.kinds.design",
        "design_figure",
        "how the intervals of targets are expected to narrow with the runs of a batch",
    ),
    Kind(
        "sweep",
        ("Plan", "RunsTable", "Table"),
        "lawdsl.figures.kinds.sweep",
        "sweep_figure",
        "runs done and to come, their cost and losses",
    ),
)
