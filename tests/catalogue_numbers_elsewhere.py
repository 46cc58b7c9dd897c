"""Shipped laws whose printed number a test outside of the catalogue's own has, and those without one."""

from __future__ import annotations

ELSEWHERE = {
    "chinchilla": "test_published.py::test_chinchilla_refit_reaches_the_best_known_optimum",
    "cmr.ratio": "test_published.py::test_cmr_table_5_gives_the_printed_ratios",
    "cmr.share": "test_published.py::test_cmr_table_2_predicts_the_held_out_share",
    "dcpt.l1": "test_published.py::test_a_real_sweep_of_two_sizes_fits_well_and_is_not_trusted",
    "dcpt.l3": "test_published_answers.py::test_usage_3_gives_the_published_allocation",
    "dcpt.share": "test_published.py::test_c4_shares_support_the_r_term",
    "dcpt.threshold": "test_published_answers.py::test_the_supremum_of_the_contradiction_is_e_times_D_min",
    "mixing.critical": "test_published_answers.py::test_the_critical_share_of_continual_pre_training",
    "mixing.powers": "test_published_mixing.py::test_all_thirteen_losses_against_boosted_trees",
    "mixing.two_domain": "test_published.py::test_critical_proportion_of_the_mixing_law",
    "repeated": "test_published.py::test_the_law_of_repeated_data_gives_the_published_r_squared",
}
"""law -> the test that has its number."""

COMPUTED = ("kaplan", "kaplan.steps", "moe.routed")
"""Laws whose constants are printed, and no loss that follows from them: it is computed in NumPy."""

_ROWS_UNPUBLISHED = (
    "the paper prints scores of fits alone, no coefficients; its runs are not public"
)
_CURVES = "the paper prints no coefficients of its curves; they are not public"
_NO_CONSTANTS = "the form is published, the constants are not"
_SHAPE = "a shape of curves, without numbers of its own"

UNPRINTED = {
    **dict.fromkeys(("dcpt.l2", "dcpt.l4", "dcpt.l5"), _ROWS_UNPUBLISHED),
    **dict.fromkeys([f"dcpt.cross_k{k}" for k in range(1, 5)], _ROWS_UNPUBLISHED),
    "dcpt.forgetting": "this form is of no paper",
    **dict.fromkeys(
        ("cmr.domain", "cmr.general", "cmr.domain_by_ratio", "cmr.general_by_ratio"), _CURVES
    ),
    "cmr.general_apart": _CURVES,
    **dict.fromkeys(("mixing.additive", "mixing.joint", "mixing.bimix"), _NO_CONSTANTS),
    "mixing.explicit": "its printed error, .00862, is of six mixtures that are not named",
    "mixing.implicit": "its printed errors are of an ensemble of networks, not of one fit",
    "mixing.m3": "its printed errors are of a failed search; it has one parameter in effect",
    "mixing.size": "its printed error, .003, is of runs whose losses are not public",
    **dict.fromkeys(("data.atlas", "data.transferred"), _NO_CONSTANTS),
    **dict.fromkeys(
        ("downstream.capability", "downstream.family", "downstream.sigmoid"), _NO_CONSTANTS
    ),
    **dict.fromkeys(("family.broken", "family.broken2", "family.saturating"), _SHAPE),
    **dict.fromkeys(("family.gompertz", "family.logistic", "family.weibull"), _SHAPE),
    "batch.tokens": "the exponents alone were read, .383 and .462",
    "downstream.error": "its printed error, .7103 %, is of 104 models that are not in a public table here",
    "forgetting.injection": "the price of forgetting was read for no data set, B alone",
    "lr.basin": "the paper shows the bowl in figures",
    **dict.fromkeys(
        ("multimodal.mixed", "overtrain.allocation", "quality.utility", "vision.shifted"),
        _NO_CONSTANTS,
    ),
    **dict.fromkeys(("rl.efficiency", "rl.sigmoid", "testtime.coverage"), _NO_CONSTANTS),
}
"""law -> why its source and public tables have no number of it: it is its formula in NumPy at made-up parameters."""
