"""The names that a user may rely on."""

from __future__ import annotations

import inspect

import pytest

import lawdsl


def test_every_public_name_exists_and_is_documented():
    for name in lawdsl.__all__:
        assert inspect.getdoc(getattr(lawdsl, name)), name


def test_public_names_are_sorted_and_are_what_dir_shows():
    assert lawdsl.__all__ == sorted(lawdsl.__all__)
    assert set(dir(lawdsl)) == {*lawdsl.__all__, "__version__"}


def test_few_names():
    assert len(lawdsl.__all__) <= 27


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        lawdsl.nothing  # noqa: B018
