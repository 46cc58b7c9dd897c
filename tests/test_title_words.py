"""What titles of figures say of a series of values."""

import math

import numpy as np
import pytest

from lawdsl.figures.course import course_of
from lawdsl.figures.measured_rows import median_distance
from lawdsl.reporting.documents.blocks import Paragraph
from lawdsl.reporting.documents.render_markdown import markdown_of

NAN = math.nan


@pytest.mark.parametrize(
    ("values", "intervals", "words"),
    [
        ([1, 2, 3], (), "rises from 1 to 3"),
        ([3, 2, 2], (), "falls from 3 to 2"),
        ([3, 3, 3], (), "stays 3"),
        ([1, 50, 1], (), "is between 1 and 50"),
        ([1, 2, 3], [(0, 2), (1, 4)], "is between 1 and 3"),
        ([1, 2, 3], [(0, 1.5), (2, 4)], "rises from 1 to 3"),
        ([1, 2, 3], [(None, None), (2, 4)], "rises from 1 to 3"),
        ([NAN, 1, 4], (), "is between 1 and 4, without a value at 1 of 3 points,"),
        ([NAN, NAN], (), "has no value at any of 2 points"),
    ],
)
def test_a_title_says_no_more_than_the_values_show(values, intervals, words):
    assert course_of(values, intervals, "{:g}".format) == words


def test_a_row_that_is_zero_in_both_is_not_off():
    assert median_distance(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0])) == 0


@pytest.mark.parametrize(
    ("text", "markdown"),
    [("1. first", r"1\. first"), ("- x", r"\- x"), ("=====", r"\====="), ("&lt;", r"\&lt;")],
)
def test_markdown_shows_a_text_as_it_is(text, markdown):
    assert markdown_of([Paragraph(text)]) == markdown
