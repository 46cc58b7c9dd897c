"""One record holds the options of a fit: functions and commands say what it says."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import MISSING
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest
from planted import law_of

import lawdsl
from lawdsl.cli import compare, fit, mixtures, pipeline
from lawdsl.cli.options import columns, fit_options
from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.losses import LOSSES, OVER
from lawdsl.designing.selection import select
from lawdsl.fitting.options import OPTIONS, FitOptions, option
from lawdsl.regressor import LawRegressor

# what a function says otherwise than the record, and why
OF_MANY_FITS = {"starts": 8}  # many fits: fewer starts each
FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "fit": (lawdsl.fit, {}),
    "compare": (lawdsl.compare, OF_MANY_FITS),
    "run_pipeline": (lawdsl.run_pipeline, {}),
    "select": (select, OF_MANY_FITS),
    "LawRegressor": (LawRegressor, {}),
}
COMMANDS = {
    "fit": (fit.fit, {}),
    "compare": (compare.compare, OF_MANY_FITS),
    "pipeline": (pipeline.pipeline, {}),
    "mixtures select": (mixtures.select, OF_MANY_FITS),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_the_defaults_of_the_record(name):
    function, otherwise = FUNCTIONS[name]
    parameters = inspect.signature(function).parameters
    shared = set(parameters) & set(OPTIONS) - {"columns"}
    assert len(shared) >= 3
    for each in shared:
        default = otherwise.get(each, OPTIONS[each].default)
        assert default is not MISSING
        assert parameters[each].default == default, each


def test_every_objective_that_can_be_chosen_can_be_given_its_number():
    numbers = {name for loss in LOSSES.values() for name in loss.parameters} | {OVER}
    options = {name: set(inspect.signature(f).parameters) for name, (f, _) in FUNCTIONS.items()}
    options |= {name: {p.name or "" for p in c.params} for name, (c, _) in COMMANDS.items()}

    offering = {name for name, offered in options.items() if "objective" in offered}
    assert {"fit", "select", "LawRegressor", "mixtures select"} <= offering
    for name in offering:
        assert numbers <= options[name], name


def test_the_quantile_reaches_every_fit():
    x = np.linspace(0, 1, 40)
    table = pd.DataFrame({"x": x, "L": 3 + x + 0.1 * np.random.default_rng(0).normal(size=40)})
    law = law_of("variable x\nparameter a, b\nL = a + b*x\n")
    given: dict[str, Any] = {"objective": "quantile(raw)", "quantile": 0.9, "starts": 2}

    model = LawRegressor(law, **given).fit(table[["x"]], table["L"])
    assert model.fit_.objective.name == "quantile(L, 0.9)"
    with pytest.raises(LawdslError, match="between 0 and 1"):
        select(law, table, **(given | {"quantile": 1.5}))


def test_a_fit_takes_every_option_of_the_record():
    assert set(OPTIONS) < set(inspect.signature(lawdsl.fit).parameters)


def test_the_documentation_of_a_fit_is_that_of_the_record():
    text = " ".join((lawdsl.fit.__doc__ or "").split())
    for name in OPTIONS:
        assert f"{name}: {option(name).doc}" in text, name


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_have_the_options_of_the_record(name):
    command, otherwise = COMMANDS[name]
    shared = [p for p in command.params if isinstance(p, click.Option) and p.name in OPTIONS]
    assert len(shared) >= 3
    for parameter in shared:
        assert parameter.name is not None
        meaning, default = option(parameter.name), OPTIONS[parameter.name].default
        assert meaning.help is not None
        assert parameter.opts == [f"--{parameter.name.replace('_', '-')}"]
        assert parameter.is_flag is isinstance(default, bool)
        assert parameter.multiple is isinstance(default, tuple)
        if meaning.shown:
            assert parameter.default == otherwise.get(parameter.name, default)
        if meaning.choices is not None:
            assert isinstance(parameter.type, click.Choice)
            assert tuple(parameter.type.choices) == meaning.choices


def test_the_command_fit_has_every_option_that_has_a_help():
    names = {p.name for p in fit.fit.params}
    assert {name for name in OPTIONS if option(name).help is not None} < names


LIMITED = [
    name for name in OPTIONS if option(name).limits is not None and name != "starts"
]  # what starts may be is decided where they are made


@pytest.mark.parametrize("name", LIMITED)
def test_limits_are_kept(name):
    limits = option(name).limits
    assert limits is not None
    whole = isinstance(OPTIONS[name].default, int)
    for limit, outwards in zip(limits, (-math.inf, math.inf), strict=True):
        if limit is None:
            continue
        FitOptions(**{name: limit})
        beyond = limit + (1 if outwards > 0 else -1) if whole else math.nextafter(limit, outwards)
        with pytest.raises(LawdslError):
            FitOptions(**{name: beyond})


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"intervals": "exact"}, "F0120"),
        ({"level": "0.95"}, "F0120"),
        ({"level": math.nan}, "F0120"),
        ({"resamples": 250.0}, "F0120"),
        ({"resamples": True}, "F0120"),
        ({"seed": -1}, "F0106"),
        ({"seed": 1.5}, "F0106"),
        ({"seed": False}, "F0106"),
    ],
)
def test_what_is_no_option_is_refused(options, code):
    with pytest.raises(LawdslError) as error:
        FitOptions(**options)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == code and diagnostic.help


def test_every_choice_is_taken():
    for name in OPTIONS:
        for choice in option(name).choices or ():
            assert getattr(FitOptions(**{name: choice}), name) == choice


def test_sentences_end():
    for name in OPTIONS:
        assert re.search(r"\.$", option(name).doc), name


@click.command()
@columns
@fit_options("where", "seed", seed={"default": 7})
@click.option("--start", default=1)
@fit_options("drop_bad")
def toy(options, start):
    """A command that gets the options of a fit from several lists."""
    return options, start


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {"where": (), "seed": 7, "drop_bad": False, "columns": {}}),
        (
            "L=loss --where N<3 --drop-bad --seed 2 r=share --where D>1",
            {
                "where": ("N<3", "D>1"),
                "seed": 2,
                "drop_bad": True,
                "columns": {"L": "loss", "r": "share"},
            },
        ),
    ],
)
def test_a_command_receives_the_options_of_a_fit_as_one_value(arguments, expected):
    assert toy.main(arguments.split(), standalone_mode=False) == (expected, 1)
    assert FitOptions(**expected).seed == expected["seed"]


def test_options_are_listed_in_the_order_of_the_source():
    assert [p.name for p in toy.params] == ["columns", "where", "seed", "start", "drop_bad"]


def test_columns_of_another_form_are_refused():
    with pytest.raises(click.UsageError, match="write NAME=VALUE, not 'loss'"):
        toy.main(["loss"], standalone_mode=False)
