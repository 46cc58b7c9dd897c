"""Claims that a law inherits: what is said of one that fails names the law that makes it."""

from __future__ import annotations

from pathlib import Path

import commands
import pytest

import lawdsl
from lawdsl.core.diagnostics import Text
from lawdsl.editing.claims import claim_key
from lawdsl.editing.document import read_document
from lawdsl.editing.positions import Positions
from lawdsl.proof.check_cache import plain_verdict, verdict_of
from lawdsl.reporting.sarif import verdict_message
from lawdsl.server.conversions import verdict_diagnostics
from lawdsl.server.verdict_memory import ClaimStates

BASE = "law base\nvariable N > 0\nparameter E > 0\nL = E + 1/N\nrequire L > E\nrequire L -> E as N -> oo\n"
MIDDLE = "law middle\nextends base\nL = base\n"
HIGHER = "law higher\nextends {}\nL = {} + 1\nrequire L < 0\n"
FAILING = "L -> E as N -> oo"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("base", BASE), ("middle", MIDDLE)):
        (tmp_path / f"{name}.law").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("extended", ["base", "middle"])
def test_an_inherited_claim_names_the_law_that_makes_it(extended: str, folder: Path):
    path = folder / "higher.law"
    path.write_text(HIGHER.format(extended, extended), encoding="utf-8")
    of_claim = {v.claim: v for v in lawdsl.check(path).claims}
    inherited, made = of_claim[FAILING], of_claim["L < 0"]
    assert (inherited.inherited_from, made.inherited_from) == ("base", "")
    assert "inherited from base" in verdict_message(inherited)
    assert "inherited" not in verdict_message(made)
    assert verdict_of(plain_verdict(inherited)) == inherited  # as the cache keeps it


def test_check_prints_the_place_of_an_inherited_claim_that_fails(folder: Path):
    path = folder / "higher.law"
    path.write_text(HIGHER.format("base", "base"), encoding="utf-8")
    for _ in range(2):  # decided, then from the cache
        printed = commands.run("check", path, "-q").stdout
        assert f"inherited from base, {folder / 'base.law'}:6" in printed
        assert printed.count("inherited") == 1  # that `L > E` holds needs no place


def test_an_editor_shows_the_claim_in_the_other_file(folder: Path):
    path = folder / "higher.law"
    path.write_text(HIGHER.format("base", "base"), encoding="utf-8")
    document = read_document(path.read_text(encoding="utf-8"), path)
    law = document.declarations
    assert law is not None
    verdicts = {claim_key(c): v for c, v in zip(law.claims, lawdsl.check(path).claims, strict=True)}
    states = ClaimStates(verdicts=verdicts, current=set(verdicts))
    states.lines["require L < 0"] = claim_key(law.claims[-1])
    found = verdict_diagnostics(states, document, Positions(document.text))
    (inherited,) = [d for d in found if FAILING in d.message]
    assert inherited.range.start.line == 0
    (related,) = inherited.related_information or ()
    assert related.location.uri == (folder / "base.law").as_uri()
    assert related.location.range.start.line == 5
    assert FAILING in related.message
    (made,) = [d for d in found if "L < 0" in d.message]
    assert made.related_information is None


def test_the_text_of_a_claim_is_that_of_its_file(folder: Path):
    law = lawdsl.load(folder / "middle.law")
    assert {claim.text for claim in law.claims} == {Text(str(folder / "base.law"), BASE)}
