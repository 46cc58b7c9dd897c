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
    "mixing.critical": "test_published_mixtures.py::test_the_critical_share_of_continual_pre_training",
    "mixing.powers": "test_published_mixing.py::test_all_thirteen_losses_against_boosted_trees",
    "mixing.two_domain": "test_published.py::test_critical_proportion_of_the_mixing_law",
    "repeated": "test_published.py::test_the_law_of_repeated_data_gives_the_published_r_squared",
}
"""law -> the test that has its number."""

COMPUTED = ("kaplan", "kaplan.steps", "moe.routed", "schedule.continual")
"""Laws whose constants are printed, and no loss that follows from them: it is computed in NumPy."""

_NO_CONSTANTS = (
    "the form is published, the constants are not, and no public table here has its columns"
)

UNPRINTED = {
    **dict.fromkeys(
        [f"dcpt.cross_k{k}" for k in range(1, 5)],
        "the paper prints scores of fits alone; no public table has runs on several domains",
    ),
    **dict.fromkeys(("dcpt.forgetting", "dcpt.forgetting_base"), "this form is of no paper"),
    **dict.fromkeys(("mixing.additive", "mixing.joint"), _NO_CONSTANTS),
    "downstream.family": _NO_CONSTANTS,
    "family.saturating": "public tables have its error with noise, and it is solved for the data",
    "rl.efficiency": _NO_CONSTANTS,
}
"""law -> why its source and public tables have no number of it: it is its formula in NumPy at made-up parameters."""

REFITTED_WITH = {
    "family.broken2": "family.broken",
    "cmr.domain_by_ratio": "cmr.domain",
    "cmr.general_by_ratio": "cmr.general",
}
"""law -> the law whose test on a public table fits it, too."""
