"""The pages of the site, in the order of its navigation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

SECTIONS: Mapping[str, Sequence[str]] = {
    "Begin": ("tutorial", "language", "editors", "catalogue/index"),
    "Laws and fits": (
        *("claims", "trends", "fits", "intervals", "priors", "predictions", "extrapolation"),
        *("comparisons", "figures", "reports", "export"),
    ),
    "Decisions": (
        "questions",
        "mixtures",
        "many-domains",
        "pipelines",
        "critical-ratio",
        "designs",
        "closed-loop",
    ),
    "Runs": ("runs", "doctor", "corpora-and-validation", "checkpoints-and-filters"),
    "Python": ("python", "notebooks/index"),
    "How it works": ("how-it-works", "architecture", "code/index"),
    "Results": (
        "accuracy",
        "published-runs",
        "public-tables",
        "findings",
        "traps",
        "law-and-schedule",
        "results/index",
        "testing",
    ),
    "Reference": (
        *("reference/commands", "reference/messages", "reference/grammar", "reference/api"),
        *("json-and-files", "catalogue-of-laws", "contributing", "changelog"),
    ),
}
"""Caption in the navigation -> names of pages."""
