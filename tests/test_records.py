"""Records <-> plain data: read by their annotations, strictly, and each mistake with its place."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from planted import law_of

import lawdsl
from lawdsl.core.records import (
    MAY_BE_ABSENT,
    Between,
    Misplaced,
    Null,
    OneOf,
    Pairs,
    read,
    to_plain,
)


@dataclass(frozen=True)
class Leaf:
    name: str
    size: Annotated[float, Null(math.inf)]
    kind: Annotated[str | None, OneOf("a", "b")] = None


@dataclass(frozen=True)
class Tree:
    leaves: Mapping[str, Leaf]
    ends: tuple[float, float]
    counts: tuple[int, ...]
    sure: bool
    mode: Literal["fast", "slow"]
    pairs: Annotated[tuple[tuple[str, str], ...], Pairs()] = ()
    share: Annotated[float | None, Between(0, 1)] = None
    extra: Annotated[int, MAY_BE_ABSENT] = 3


TREE = Tree(
    {"x": Leaf("one", 2.5, "a"), "y": Leaf("two", math.inf)},
    (0.0, 1.5),
    (1, 2, 3),
    True,
    "slow",
    (("p", "1"), ("q", "2")),
    0.25,
    7,
)


def test_a_record_comes_back():
    content = json.loads(json.dumps(to_plain(TREE), allow_nan=False))
    assert content["leaves"]["y"] == {"name": "two", "size": None, "kind": None}
    assert content["pairs"] == {"p": "1", "q": "2"}
    assert list(content) == [
        "leaves", "ends", "counts", "sure", "mode", "pairs", "share", "extra",
    ]  # fmt: skip
    assert read(Tree, content) == TREE


def test_only_what_is_marked_may_be_absent():
    content = to_plain(TREE)
    for name in content:
        rest = {key: value for key, value in content.items() if key != name}
        if name == "extra":
            assert read(Tree, rest).extra == 3
        else:
            with pytest.raises(Misplaced, match=f"^{name}: it is missing"):
                read(Tree, rest)


DAMAGED: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "a truth as text": (("sure",), "no"),
    "a truth as number": (("sure",), 1),
    "whole numbers with a share": (("counts", 1), 2.5),
    "a whole number as text": (("counts", 1), "3"),
    "a truth as a whole number": (("counts", 0), True),
    "a range of three": (("ends",), [0, 1, 2]),
    "a range of one": (("ends",), [0]),
    "a range as text": (("ends",), "01"),
    "a number as text": (("ends", 0), "0"),
    "a number beyond floats": (("ends", 1), 10**400),
    "an infinite number": (("ends", 1), math.inf),
    "no number": (("ends", 1), None),
    "another choice": (("mode",), "quick"),
    "a choice of another type": (("mode",), 1),
    "another of the texts": (("leaves", "x", "kind"), "c"),
    "a number for a text": (("leaves", "x", "name"), 5),
    "a list for an object": (("leaves",), []),
    "text for a record": (("leaves", "x"), "leaf"),
    "a list for pairs": (("pairs",), [["p", "1"]]),
    "a number in pairs": (("pairs", "p"), 1),
    "a share above 1": (("share",), 1.5),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_what_is_of_another_type_is_refused_with_its_place(damage: str):
    path, value = DAMAGED[damage]
    content = copy.deepcopy(to_plain(TREE))
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(Misplaced) as error:
        read(Tree, content)
    assert error.value.place == ".".join(map(str, path))


@pytest.mark.parametrize("content", [None, 3, "text", [], True])
def test_what_is_no_object_is_no_record(content: Any):
    with pytest.raises(ValueError, match="not an object"):
        read(Tree, content)


LAW = law_of(
    "variable r in [0, 1]\nparameter E, C, gamma, epsilon > 0\n"
    "L = E + C/(r + epsilon)^gamma\nrequire L finite\nminimize squared(L)"
)
INFLECTION = {
    "share": "r",
    "of": "L",
    "by": "D",
    "rises": True,
    "estimate": 0.1,
    "low": 0.05,
    "high": 0.2,
    "level": 0.95,
    "noise": "repeats",
    "places": [
        {"at": "", "estimate": 0.1, "low": 0.05, "high": 0.2, "why": "", "fails": True},
    ],
}


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    """A fit as a file has it, with an inflection ratio."""
    r = np.linspace(0, 1, 12)
    L = 2.3 + 0.15 / (r + 0.1) ** 0.74 + np.random.default_rng(0).normal(0, 1e-3, 12)
    fit = lawdsl.fit(LAW, {"r": r, "L": L}, claims=False)
    assert isinstance(fit, lawdsl.Fit)
    content: dict[str, Any] = json.loads(json.dumps(fit.to_json()))
    content["data"]["inflections"] = [copy.deepcopy(INFLECTION)]
    return content


def test_a_fit_with_an_inflection_ratio_comes_back(stored: dict[str, Any], tmp_path: Path):
    (tmp_path / "fit.json").write_text(json.dumps(stored))
    assert lawdsl.load_fit(tmp_path / "fit.json").to_json() == stored


def test_a_fit_written_before_there_were_spreads_and_inflections_is_read(stored: dict[str, Any]):
    content = copy.deepcopy(stored)
    del content["spread"], content["data"]["inflections"], content["law"]["instance"]
    fit = lawdsl.Fit.of_json(content)
    assert fit.spread is None and fit.data.inflections == () and fit.law.instance is None


AT = ("data", "inflections", 0)
EDITS: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "a truth of an inflection as text": ((*AT, "rises"), "no"),
    "a level as text": ((*AT, "level"), "0.95"),
    "a number for a variable": ((*AT, "share"), 5),
    "a share above 1": ((*AT, "low"), 1.5),
    "a truth for a share": ((*AT, "high"), True),
    "whether a place fails as a number": ((*AT, "places", 0, "fails"), 0),
    "a number for a reason": ((*AT, "places", 0, "why"), 7),
    "null for a place": ((*AT, "places", 0, "at"), None),
    "numbers for names of parameters": (("spread", "names", 0), 1),
    "text for names of parameters": (("spread", "names"), "ECge"),
    "a truth for degrees of freedom": (("spread", "dof"), True),
    "text in a matrix": (("spread", "factor", 0, 0), "1"),
    "a truth for the verdict of a search": (("converged",), "no"),
    "a seed as text": (("seed",), "3"),
    "a range of three numbers": (("data", "ranges", "r"), [0, 1, 2]),
    "a number for a severity": (("diagnostics",), [{"code": "F0101", "severity": 1}]),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_damaged_file_is_refused_with_place_and_next_step(
    edit: str, stored: dict[str, Any], tmp_path: Path
):
    path, value = EDITS[edit]
    content = copy.deepcopy(stored)
    inner: Any = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    (tmp_path / "fit.json").write_text(json.dumps(content))

    with pytest.raises(lawdsl.LawdslError) as error:
        lawdsl.load_fit(tmp_path / "fit.json")

    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "F0108"
    assert diagnostic.place == str(tmp_path / "fit.json")
    assert "lawdsl fit" in (diagnostic.help or "")
    first = ".".join(map(str, path if path[0] != "spread" else path[:1]))
    assert first in diagnostic.message
