"""`lawdsl laws --family | --about | --for`: what ships, by family, by words, by the columns of a table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run

from lawdsl.cli.laws import laws_of_family


def listed(*arguments: object) -> dict[str, list[dict[str, str]]]:
    printed = run("laws", *arguments, "--json").stdout
    result: dict[str, list[dict[str, str]]] = json.loads(printed)["result"]
    return result


def test_a_family_has_its_laws_and_questions():
    result = listed("--family", "moe")
    assert {row["name"].partition(".")[0] for row in result["laws"]} == {"moe"}
    assert {"moe.experts", "moe.granularity"} <= {row["name"] for row in result["questions"]}


def test_an_unknown_family_names_the_ones_that_exist():
    failed = run("laws", "--family", "moee")
    assert failed.returncode == 2
    assert "did you mean moe" in failed.stderr and "precision" in failed.stderr


def test_words_are_searched_in_titles_notes_and_descriptions():
    names = {row["name"] for row in listed("--about", "learning rate")["laws"]}
    assert {"lr.step", "lr.basin", "schedule.annealing"} <= names
    assert not names & {"chinchilla", "dcpt.l3"}


@pytest.mark.parametrize(
    ("header", "commands"),
    [
        ("N,D,L", {"chinchilla": "lawdsl fit chinchilla {}"}),
        (
            "params_M,tokens_B,val_loss",
            {"chinchilla": "lawdsl fit chinchilla {} 'N=params_M [Mparam]' 'D=tokens_B [Gtoken]'"},
        ),
        ("S1,S2,L", {"schedule.annealing": "lawdsl fit schedule.annealing {}"}),
        ("k,c", {"testtime.coverage": "lawdsl fit testtime.coverage {}"}),
        ("N,D,r,L", {"dcpt.l3": "lawdsl fit dcpt.l3 {}", "chinchilla": "lawdsl fit chinchilla {}"}),
    ],
)
def test_laws_that_columns_can_feed(header: str, commands: dict[str, str], tmp_path: Path):
    path = tmp_path / "runs.csv"
    names = header.split(",")
    rows = [[f"{(k + 2) * 10**i}" for i, _ in enumerate(names)] for k in range(6)]
    if "r" in names:
        for k, row in enumerate(rows):
            row[names.index("r")] = f"{k / 10}"
    path.write_text("\n".join([header, *map(",".join, rows)]) + "\n")
    fed = {row["law"]: row["command"] for row in listed("--for", path)["fed"]}
    for law, command in commands.items():
        assert fed[law].startswith(command.format(path)), fed[law]
    assert "mixing.m4" not in fed


def test_a_family_is_compared_where_the_table_has_its_names(tmp_path: Path):
    path = tmp_path / "runs.csv"
    path.write_text("N,D,r,L\n1,1,0.1,3\n2,2,0.2,2\n")
    names = laws_of_family("dcpt", str(path))
    assert {"dcpt.l1", "dcpt.l2", "dcpt.l3", "dcpt.l4", "dcpt.l5"} <= set(names)
    path.write_text("share,size,L\n0.1,1,3\n0.2,2,2\n")
    assert "mixing.two_domain" in laws_of_family("mixing", str(path), {"r": "share"})
    path.write_text("r_web,r_code,L\n0.1,0.9,3\n0.2,0.8,2\n")
    assert laws_of_family("mixing", str(path), {"r": "r_*"}) == ["mixing.implicit"]
    path.write_text("R,T,dL_general,dL_domain\n0.1,1,3,1\n0.2,2,2,3\n")
    failed = run("compare", "--family", "cmr", path)
    assert failed.returncode == 2
    assert "predict different columns: dL_domain by cmr.domain; dL_general by" in failed.stderr
    failed = run("compare", "--family", "moe", path)
    assert failed.returncode == 2 and "no law of the family moe" in failed.stderr
