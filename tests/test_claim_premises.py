"""Which verdicts an edit leaves current: those of claims whose premises it does not touch."""

from __future__ import annotations

from pathlib import Path

import pytest
from language_client import PlainClient
from marked_texts import SHIPPED

from lawdsl.core.diagnostics import LawdslError
from lawdsl.editing.claims import claim_key, claimed_lines, premises
from lawdsl.editing.document import Document, read_document
from lawdsl.language.library import OpenFiles
from lawdsl.law.law import Law
from lawdsl.proof.check import check

LAW = """law rough
variable  N, D > 0
parameter E, A, k > 0
parameter B > 0
let part = A/N^k
let other = B/D
L = E + part
require ∂L/∂N < 0
require L > E
require other > 0
minimize huber(log(L), 1e-3)
"""


def changed(before: str, after: str, path: Path = Path("rough.law")) -> set[str]:
    """The claims, without `require`, whose premises differ between two versions."""
    first = read_document(before, path)
    second = read_document(after, path, last=first)
    old, new = premises(first, OpenFiles()), premises(second, OpenFiles())
    return {words.removeprefix("require ") for words in old if new.get(words) != old[words]}


@pytest.mark.parametrize(
    ("written", "instead", "outdated"),
    [
        ("law rough", "# why\nlaw rough", set()),
        ("law rough\n", "law rough\nparam\n", set()),
        ("law rough\n", "law rough\nparameter F >\n", set()),
        ("law rough\n", "law rough\nparameter F > B +\n", {"other > 0"}),
        ("law rough\n", "law rough\nlet half = A*\n", set()),
        ("law rough\n", "law rough\nfix A =\n", {"∂ L / ∂ N < 0", "L > E"}),
        ("law rough\n", "law rough\ntie C = part\n", {"∂ L / ∂ N < 0", "L > E"}),
        ("parameter B > 0", "parameter B >", {"other > 0"}),
        ("parameter B > 0", "paramter B > 0", {"other > 0"}),
        ("let part = A/N^k", "let part = A/N^", {"∂ L / ∂ N < 0", "L > E"}),
        ("L = E + part", "L = E + + part", {"∂ L / ∂ N < 0", "L > E"}),
        ("L = E + part", "", {"∂ L / ∂ N < 0", "L > E"}),
        ("require L > E", "require L >", {"L > E"}),
        ("1e-3)", "1e-3", set()),
        ("law rough\n", "law rough\nextends chin\n", {"∂ L / ∂ N < 0", "L > E", "other > 0"}),
    ],
)
def test_an_edit_outdates_the_claims_that_it_may_affect(
    written: str, instead: str, outdated: set[str]
):
    claims = changed(LAW, LAW.replace(written, instead, 1))
    assert {" ".join(words.split()) for words in claims} == outdated


def test_bounds_by_way_of_a_let_count(tmp_path: Path):
    law = "law x\nvariable N > 0\nparameter A, C > 0\nlet c = A^2\nL = A*N\nrequire L > 0\n"
    assert changed(law, law.replace("let c", "parameter F > c\nlet c"), tmp_path / "x.law")


def test_the_text_of_an_extended_law_counts(tmp_path: Path):
    base = tmp_path / "base.law"
    base.write_text("law base\nvariable N > 0\nparameter E > 0\nL = E/N\n", encoding="utf-8")
    text = "law x\nextends base\nparameter F > 0\nL = base + F\nrequire L > 0\n"
    path = tmp_path / "x.law"
    good = read_document(text, path)
    assert good.declarations is not None
    broken = read_document(text + "parameter G >\n", path, last=good)
    before = premises(good, OpenFiles())
    assert premises(broken, OpenFiles()) == before
    edited = OpenFiles({base.resolve(): base.read_text(encoding="utf-8").replace("E/N", "-E/N")})
    assert premises(broken, edited) != before


def verdicts(document: Document) -> dict[str, tuple[str, object]]:
    """Words of a line -> digest and verdict; empty for a text with errors or without claims."""
    law = document.declarations
    if law is None or not law.claims:
        return {}
    try:
        decided = check(Law(law)).claims
    except LawdslError:
        return {}
    by_key = {claim_key(c): v for c, v in zip(law.claims, decided, strict=True)}
    digests = premises(document, OpenFiles())
    return {
        words: (digests[words], (by_key[key].verdict, by_key[key].condition))
        for words, key in claimed_lines(document).items()
    }


@pytest.mark.parametrize(
    "name",
    [
        "chinchilla",
        "dcpt.l3",
        "kaplan",
        *(
            pytest.param(n, marks=pytest.mark.slow)
            for n in (
                "precision.biased",
                "repeated",
                "moe.joint",
                "mixing.joint",
                "dcpt.cross_k3",
                "family.broken2",
            )
        ),
    ],
)
def test_claims_with_the_same_premises_have_the_same_verdict(name: str):
    """Each line left out, or with other signs: where a digest stays, the verdict does too."""
    path = SHIPPED[name]
    text = path.read_text(encoding="utf-8")
    before = verdicts(read_document(text, path))
    lines = text.split("\n")
    compared = different = 0
    for number, line in enumerate(lines):
        if line.startswith(("#", "require", "source", "note", "law", "start")) or not line:
            continue
        for instead in ("", line.replace("> 0", "< 0").replace(" + ", " - ")):
            changed_text = "\n".join([*lines[:number], instead, *lines[number + 1 :]])
            if changed_text == text:
                continue
            for words, (digest, verdict) in verdicts(read_document(changed_text, path)).items():
                if before[words][0] == digest:
                    assert before[words][1] == verdict, (line, words)
                    compared += 1
                else:
                    different += 1
    assert compared and different


def test_verdicts_far_from_a_half_written_line_stay(tmp_path: Path):
    client = PlainClient(tmp_path)
    path = tmp_path / "rough.law"
    client.open(path, LAW)
    assert client.decided(path) == ["proved"] * 3
    client.change(path, 2, {"text": LAW.replace("parameter B > 0", "parameter B >")})
    assert client.hints(path) == ["proved", "proved", "proved (before the last edit)"]
    client.change(path, 3, {"text": LAW.replace("law rough\n", "law rough\nvari\n")})
    assert client.hints(path) == ["proved"] * 3
    client.change(path, 4, {"text": LAW.replace("parameter B > 0", "parameter B > 1")})
    assert client.decided(path) == ["proved"] * 3
    assert client.end() == 0
