"""The choice of logarithmic axes, in figures, reports and grids of values."""

LOG_SPAN = 30.0
"""A positive range with this ratio of its largest to its smallest value is drawn in the logarithm."""


def spans_decades(low: float, high: float) -> bool:
    """Whether a positive range spans more than one and a half decades."""
    return low > 0 and high > LOG_SPAN * low
