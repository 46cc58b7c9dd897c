"""Domains of a mixture and what there is of each."""

from __future__ import annotations

from fractions import Fraction

import pytest
from test_mixtures import codes

from lawdsl import LawdslError
from lawdsl.designing.domains import grid_steps, read_domains


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (dict(pairs=["a=3.2T", "b=400G", "c=1e11"], target="1T"), ("1", "2/5", "1/10")),
        (dict(pairs=["a=0.8Ttokens", "b=.2T"], target="1e12", epochs="4"), ("1", "4/5")),
        (dict(pairs=["a", "b=300M"], target="0.9G"), ("1", "1/3")),
        (dict(pairs=["a", "b", "c"], caps=["c=1/8", "b=0.1"]), ("1", "1/10", "1/8")),
        (dict(pairs=["a", "b=200G"], target="1T", caps=["b=0.5"]), ("1", "1/5")),
        (dict(pairs=["größe", "stack.v2-dedup_1"]), ("1", "1")),
    ],
)
def test_a_cap_is_what_the_supply_lasts_for(arguments: dict, found: tuple[str, ...]):
    assert tuple(d.cap for d in read_domains(**arguments)) == tuple(map(Fraction, found))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (dict(pairs=["a=1T", "b=2T"]), "M0101", "a, b"),
        (dict(pairs=["a"]), "M0101", "two domains"),
        (dict(pairs=["a", "a"]), "M0101", "twice"),
        (dict(pairs=["a", "b,c", "d"]), "M0101", "`b,c`"),
        (dict(pairs=["a", "b=x", "c"], target="1T"), "M0101", "`x`"),
        (dict(pairs=["a", "b=0", "c"], target="1T"), "M0101", "`0`"),
        (dict(pairs=["a", "b=1B"], target="1T"), "M0101", "`1B`"),
        (dict(pairs=["a", "b=1e999999999"], target="1T"), "M0101", "1e999999999"),
        (dict(pairs=["a", "b=-1"], target="1T"), "M0101", "`-1`"),
        (dict(pairs=["a", "b=1/0"], target="1T"), "M0101", "`1/0`"),
        (dict(pairs=["a", "b"], target="nan"), "M0101", "--target"),
        (dict(pairs=["a", "b"], epochs="0"), "M0101", "--epochs"),
        (dict(pairs=["code", "b"], caps=["cod=0.1"]), "M0101", "`cod`"),
        (dict(pairs=["a", "b"], caps=["b=2"]), "M0101", "no share is above 1"),
        (dict(pairs=["a", "b"], caps=["b"]), "M0101", "b: ``"),
        (dict(pairs=["a=0.2T", "b=0.3T"], target="1T"), "M0102", "0.5"),
        (dict(pairs=["a", "b"], caps=["a=0.2", "b=0.3"]), "M0102", "0.5"),
    ],
)
def test_what_is_no_domain_is_refused(arguments: dict, code: str, message: str):
    with pytest.raises(LawdslError, match=message.replace("(", r"\(")) as error:
        read_domains(**arguments)

    assert codes(error) == [code]
    assert error.value.diagnostics[0].help


def test_all_mistakes_are_told_at_once():
    with pytest.raises(LawdslError) as error:
        read_domains(["a=1T", "b=x", "b!"], target="?", caps=["c=0.1"])

    assert len(error.value.diagnostics) == 4


def test_the_help_against_short_supplies_does_help():
    given = ["a=0.1237T", "b=0.3111T", "c=0.2T"]
    with pytest.raises(LawdslError) as error:
        read_domains(given, target="1T")
    help = error.value.diagnostics[0].help
    epochs = help.partition("--epochs ")[2].partition(";")[0]
    target = help.partition("--target ")[2].partition(";")[0].replace("+", "")

    for asked in (dict(target="1T", epochs=epochs), dict(target=target)):
        assert 1 <= sum(d.cap for d in read_domains(given, **asked)) < 1.02


@pytest.mark.parametrize(("grid", "found"), [("1/16", 16), ("0.05", 20), ("1", 1), ("1/3", 3)])
def test_a_grid_is_a_fraction_or_a_decimal(grid: str, found: int):
    assert grid_steps(grid) == found
