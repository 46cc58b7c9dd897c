"""A folder of many `.law` files that name each other, as an editor opens it, beside files of other kinds.

Teams have a folder each, with a law `base`. Some laws are built on it in a chain, others all on it alone;
questions and a pipeline use them. Every file has names such as N and E, which are those of `base` only in a
law that is built on it. One file in ten is by itself, one in twenty has mistakes, one in twenty has 200 lines.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

TEAM = 64  # files of a folder by default
TOGETHER = 55  # laws that one question uses
CHAIN = 10  # laws each built on the one before
LONG = 200  # lines
ACROSS = 5  # laws built on one in another folder
HUGE = 2_000_000  # bytes of a file that is too large to be read
BASE = """law base "Law of team {team}"
variable  N > 0  unit param  "model size"
variable  D > 0  unit token  "training tokens"

parameter E > 0         "entropy of the text"
parameter A, alpha > 0  "the price of a finite model"

L = E + A/N^alpha  unit nat/token  "loss"

require   L > E
require   ∂L/∂N < 0
"""


def write_workspace(
    folder: Path, files: int = 500, others: int = 20_000, team: int = TEAM, seed: int = 1
) -> Path:
    """Write a workspace.

    Args:
        folder: where to; it must be empty.
        files: how many `.law` files, of which one is too large to be read.
        others: how many files of other kinds, 100 in a folder, with a symbolic link back to the workspace.
        team: how many files are in the folder of a team.
        seed: the texts follow from it.

    Returns:
        The law `base` of the first team.
    """
    chosen = random.Random(seed)
    texts = across(chosen)
    for number in range(1 + files // team):
        named = team_texts(number, team, chosen)
        if number == 0:
            named = {"together": together(named), **named}
        texts |= {f"team{number:03}/{name}": text for name, text in named.items()}
    for name, text in list(texts.items())[: files - 1]:
        path = folder / f"{name}.law"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "huge.law").write_text("law huge\n" + "# N and E\n" * (HUGE // 10), encoding="utf-8")
    for number in range(0, others, 100):
        path = folder / "runs" / f"group{number // 2000:02}" / f"run{number:05}"
        path.mkdir(parents=True)
        for each in range(100):
            (path / f"step{each:02}.txt").touch()
    if others:
        (folder / "runs" / "again").symlink_to(folder)
    return folder / "team000" / "base.law"


def team_texts(team: int, files: int, chosen: random.Random) -> dict[str, str]:
    """Name -> text of the files of one team, the base first.

    Args:
        team: its number.
        files: how many.
        chosen: what decides the details.
    """
    texts = {"base": BASE.format(team=team)}
    before = "base"
    for number in range(CHAIN):
        name = f"chain{number}"
        texts[name] = _built(name, before, f"c{number}", chosen)
        before = name
    for number in range(5):
        texts[f"ask{number}"] = (
            f"question ask{number}\nuses      loss : {chosen.choice(['base', 'chain3', before])}\n"
            "given     C > 0  unit FLOP\nsetting   k = 6  unit FLOP/param/token\n"
            "choose    N, D > 0\n\nminimize  loss(N, D)\nsubject to k*N*D = C\n"
        )
    texts["line"] = "pipeline line\nstep      fan0  by N\n"
    for number in range(5):
        texts[f"alone{number}"] = BASE.format(team=team).replace("law base", f"law alone{number}")
    for number in range(3):
        texts[f"broken{number}"] = (
            f"law broken{number}\nextends base\nL = base + (N*\nrequire E >\n"
        )
    for number in range(2):
        law = _built(f"long{number}", "base", "b", chosen)
        terms = "".join(f"parameter p{k} > 0\n" for k in range(40))
        claims = "".join(f"require   L + p{k % 40}*N > E - {k}\n" for k in range(LONG - 50))
        texts[f"long{number}"] = law + terms + claims
    for number in range(files - len(texts)):
        name = f"fan{number}"
        texts[name] = _built(name, "base", "f", chosen)
    return texts


def together(texts: Mapping[str, str]) -> str:
    """A question that uses the laws of a team, among them those that are built on each other.

    Args:
        texts: name -> text of the files of the team.
    """
    names = [n for n, text in texts.items() if text.startswith("law") and "broken" not in n][
        :TOGETHER
    ]
    uses = "".join(f"uses      m{k} : {name}\n" for k, name in enumerate(names))
    total = " + ".join(f"m{k}(N, D)" for k in range(len(names)))
    return (
        f"question together\n{uses}choose    N, D > 0\n\nminimize  {total}\nsubject to N*D = 1e20\n"
    )


def across(chosen: random.Random) -> dict[str, str]:
    """Path without its ending -> text of a law in a folder and of laws built on it from outside.

    Args:
        chosen: what decides the details.
    """
    common = BASE.format(team="all").replace("law base", "law shared.common")
    laws = {f"own{k}": _built(f"own{k}", "shared.common", "c", chosen) for k in range(ACROSS)}
    return {"shared/common": common, **laws}


def _built(name: str, on: str, parameter: str, chosen: random.Random) -> str:
    return (
        f"law {name}\nextends   {on}\n\nparameter {parameter} > 0\n\n"
        f"L = {on} + {parameter}/D^{chosen.randint(1, 9)}  unit nat/token\n\n"
        f"require   L > E\nrequire   ∂L/∂N < 0\n"
    )
