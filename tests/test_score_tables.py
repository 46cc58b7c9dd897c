"""Tables of scores: laws by protocols, groups and losses, as in the tables of papers."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import commands
import numpy as np
import pytest

import lawdsl
from lawdsl.comparing import score_table_cells
from lawdsl.comparing.result import ComparedLaw
from lawdsl.comparing.score_table import score_table
from lawdsl.comparing.score_table_result import FoldScores, ScoreCell, ScoreTable
from lawdsl.reporting.comparisons import r_squared_text

ROOT = Path(__file__).resolve().parent.parent
SHARE = ROOT / "laws" / "data" / "c4_share.csv"
LINE = "law line\nvariable r in [0, 1]\nparameter a, b\nL = a + b*r\nminimize squared(L)\n"
CURVE = LINE.replace("line", "curve").replace("a, b", "a, b, c").replace("b*r", "b*r + c*r^2")


@pytest.fixture(name="laws")
def _laws(tmp_path: Path) -> list[str]:
    for name, text in (("line", LINE), ("curve", CURVE)):
        (tmp_path / f"{name}.law").write_text(text, encoding="utf-8")
    return [str(tmp_path / f"{name}.law") for name in ("line", "curve")]


@pytest.fixture(name="runs")
def _runs(tmp_path: Path) -> Path:
    """Two domains, two losses with shares of their own, six shares of three rows each."""
    random = np.random.default_rng(5)
    lines = ["domain,r_own,r_general,L_own,L_general"]
    for domain, slope in (("law", -1.0), ("music", -0.5)):
        for share in np.repeat(np.linspace(0, 1, 6), 3):
            own = 3 + slope * share + 0.3 * share**2 + random.normal(0, 0.01)
            general = 2 - 0.2 * (1 - share) + random.normal(0, 0.01)
            lines.append(f"{domain},{share},{1 - share},{own},{general}")
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def six_domains() -> dict[str, np.ndarray]:
    """Losses of six domains that follow the cross-domain law with the coefficient K1, with noise."""
    random = np.random.default_rng(0)
    rows = []
    for domain, k1 in enumerate((2.9, 2.2, 3.1, 1.8, 2.5, 2.0)):
        grid = itertools.product((0.5, 1.8, 4.0), (0.0, 0.2, 0.5, 1.0), (0.5, 4.0, 26.0))
        for size, share, tokens in grid:
            loss = 1.2 + 0.3 / size**0.3 + 0.2 * share**1.5 / tokens**0.3
            loss += 0.25 / (share + 0.1) ** 0.4 + 0.3 * k1**0.8
            rows.append((domain, size, share, tokens, k1, loss * math.exp(random.normal(0, 0.003))))
    columns = np.array(rows).T
    table = dict(zip(("domain", "N", "r", "D", "k1", "L"), columns, strict=True))
    table["domain"] = np.array([f"domain{int(k)}" for k in table["domain"]])
    return table


def test_the_fifteen_splits_over_domains_are_one_call():
    # with some parameters fixed, for speed
    known = {"alpha": 0.3, "beta": 0.3, "eta": 1.5, "gamma": 0.4, "epsilon": 0.1}
    table = score_table(
        "dcpt.cross_k1", six_domains(), protocols="domain", starts=1, fix=known, without="C > C0"
    )
    (cell,) = table.cells

    assert table.protocols == ("leave-two-out:domain",)
    assert len(cell.folds) == len({fold.fold for fold in cell.folds}) == 15
    assert {(fold.fitted, fold.tested) for fold in cell.folds} == {(4 * 36, 2 * 36)}
    assert sorted(fold.r2 for fold in cell.folds)[7] > 0.9


def test_the_scores_are_those_of_a_comparison():
    options = {"R": "r", "starts": 2}
    laws = ["dcpt.share", "cmr.share"]
    table = score_table(laws, SHARE, protocols=["all", "leave-one-out:r"], **options)
    compared = lawdsl.compare(laws, SHARE, protocols=["all", "leave-one-out:r"], **options)

    for ranking in compared.rankings:
        for standing in ranking.standings:
            expected = standing.scores
            for score, value in (
                ("huber_sum", expected.huber.sum),
                ("huber_mean", expected.huber.mean),
                ("r2", expected.r2),
            ):
                found = table.mean(score, standing.law, ranking.protocol)
                assert found == pytest.approx(value, rel=1e-12, nan_ok=True)
    # of one row there is no variance, and so no R²
    assert math.isnan(table.mean("r2", "dcpt.share", "leave-one-out:r"))


def test_each_loss_and_group_is_fitted_by_itself(laws: list[str], runs: Path):
    table = score_table(
        laws, runs, protocols=("all", "r"), losses=("general", "own"), by="domain", starts=1
    )
    alone = lawdsl.compare(
        laws,
        runs,
        protocols="leave-two-out:r",
        where="domain = music",
        starts=1,
        L="L_own",
        r="r_own",
    )

    assert table.groups == ("law", "music") and table.losses == ("general", "own")
    assert set(table.rows.values()) == {18} and len(table.cells) == 2 * 2 * 2 * 2
    for standing in alone.rankings[0].standings:
        cell = table.cell(standing.law, "leave-two-out:r", "own", "music")
        assert len(cell.folds) == 15
        assert cell.mean("huber_mean") == pytest.approx(standing.scores.huber.mean, rel=1e-9)
    means = [
        table.cell("line", "all", "own", group).mean("huber_sum") for group in ("law", "music")
    ]
    assert table.mean("huber_sum", "line", "all", "own") == pytest.approx(sum(means) / 2)
    starred = score_table(
        laws, runs, protocols="all", losses="own", by="domain", starts=1, L="L_*", r="r_*"
    )
    assert (
        starred.cell("line", "all", "own", "law").folds
        == table.cell("line", "all", "own", "law").folds
    )


def test_finished_cells_are_kept_and_not_computed_again(
    laws: list[str], runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    kept = tmp_path / "cells.jsonl"
    arguments = {"protocols": ("all", "r"), "losses": ("general", "own"), "starts": 1}
    first = score_table(laws, runs, **arguments, resume=kept)
    # as if the process had been killed while it wrote the last cell
    kept.write_bytes(kept.read_bytes()[:-40])
    computed = []
    compute = score_table_cells.compute

    def counted(*arguments):
        computed.append(arguments)
        return compute(*arguments)

    monkeypatch.setattr(score_table_cells, "compute", counted)
    again = score_table(laws, runs, **arguments, resume=kept)
    assert again == first and len(computed) == 1
    assert score_table(laws, runs, **arguments, resume=kept) == first and len(computed) == 1
    # other starts are other cells
    score_table(laws, runs, **(arguments | {"starts": 2, "protocols": "all"}), resume=kept)
    assert len(computed) == 5


@pytest.mark.parametrize("content", [None, "my notes\n"])
def test_cells_are_not_appended_to_another_file(
    laws: list[str], runs: Path, tmp_path: Path, content: str | None
):
    path = runs
    if content is not None:
        path = tmp_path / "notes.txt"
        path.write_text(content, encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(lawdsl.LawdslError, match="other content than finished cells"):
        score_table(laws, runs, protocols="all", losses="own", starts=1, resume=path)
    assert path.read_bytes() == before


def test_several_processes_give_the_same_table(laws: list[str], runs: Path, tmp_path: Path):
    arguments = {"protocols": ("all", "r"), "losses": ("general",), "by": "domain"}
    kept = tmp_path / "cells.jsonl"
    several = score_table(laws, runs, **arguments, starts=1, processes=2, resume=kept)

    assert several == score_table(laws, runs, **arguments, starts=1)
    lines = [line for line in kept.read_text(encoding="utf-8").splitlines() if line]
    assert len(lines) == len(several.cells) == 8 and all(map(json.loads, lines))


def test_the_command_prints_the_layout_of_papers(laws: list[str], runs: Path, tmp_path: Path):
    arguments = (
        *("compare", *laws, runs, "--table", "--losses", "general,own", "--by", "domain"),
        *("--protocols", "all,r", "--starts", "1", "--resume", str(tmp_path / "cells.jsonl")),
    )
    done = commands.run(*arguments)
    lines = done.stdout.splitlines()

    assert done.returncode == 0, done.stderr
    assert "leave-two-out:r: averages over 15 folds x 2 groups, each of 6 tested rows" in lines
    headers = next(line for line in lines if "Huber sum general" in line)
    assert headers.split()[:4] == ["law", "Huber", "sum", "general"] and "R² own" in headers
    assert "comparable only between laws on the same rows" in done.stdout
    assert "leave-two-out:r, R² by domain" in lines
    latex = commands.run(*arguments, "--to", "latex").stdout
    assert latex.count("\\begin{tabular}") == latex.count("\\end{tabular}") == 8
    assert "\\begin{tabular}{llrrr}" in latex and "Huber sum general" in latex
    assert "| law | Huber sum general |" in commands.run(*arguments, "--to", "markdown").stdout
    document = json.loads(commands.run(*arguments, "--json").stdout)["result"]
    assert len(document["cells"]) == 16 and len(document["averages"]) == 8
    assert document["cells"][0]["folds"][0]["tested"] == 18


def test_a_fold_without_a_score_leaves_no_average(laws: list[str], tmp_path: Path):
    table = tmp_path / "few.csv"
    table.write_text("r,L\n.1,3\n.1,3.1\n.5,2\n.9,1.5\n", encoding="utf-8")
    done = commands.run(
        "compare", *laws, table, "--table", "--protocols", "leave-one-out:r", "--starts", "1"
    )
    row = next(line for line in done.stdout.splitlines() if line.startswith("curve "))
    assert done.returncode == 1 and "F0204" in done.stderr and "has no score" in done.stderr
    assert row.split()[1:] == ["-", "-", "-"]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("--table", "--protocol", "all"), 2, "--protocols"),
        (("--by", "domain"), 2, "add --table"),
        (("--table", "--losses", "general,onw"), 3, "D0104"),
        (("--table", "--losses", "general,own", "L=L_own"), 3, "L=L_*"),
        (("--table", "--protocols", "largest:cost", "L=L_own", "r=r_own"), 3, "F0202"),
        (("--table", "--protocols", "N", "L=L_own", "r=r_own"), 3, "F0202"),
        (("--table", "--by", "domian", "L=L_own", "r=r_own"), 3, "did you mean `domain`"),
    ],
)
def test_what_cannot_be_a_table_is_refused(
    laws: list[str], runs: Path, arguments: tuple[str, ...], code: int, text: str
):
    done = commands.run("compare", laws[0], runs, *arguments)
    assert done.returncode == code and text in done.stderr and not done.stdout


PRINTED = {
    ("general", "huber_sum"): (0.0036, 0.0040, 0.0046, 0.0027, 0.0044, 0.0092),
    ("domain", "huber_sum"): (0.0190, 0.0164, 0.0181, 0.0224, 0.0104, 0.0076),
    ("general", "r2"): (0.9977, 0.9974, 0.9971, 0.9978, 0.9971, 0.9934),
    ("domain", "r2"): (0.9783, 0.9910, 0.9853, 0.9734, 0.9915, 0.9583),
}
"""Que et al. 2024, Tables 14 and 15: the scores of the D-CPT Law (L3) for six domains."""

AVERAGES = {
    ("general", "huber_sum"): 0.0048,
    ("domain", "huber_sum"): 0.0157,
    ("general", "r2"): 0.996750,
    ("domain", "r2"): 0.979633,
}
"""Its Table 1: their averages."""


def test_the_printed_averages_of_the_paper_are_those_of_its_domains():
    domains = ("Code", "Math", "Law", "Music", "Chemistry", "Medical")
    cells = []
    for loss, (k, domain) in itertools.product(("general", "domain"), enumerate(domains)):
        huber, r2 = PRINTED[loss, "huber_sum"][k], PRINTED[loss, "r2"][k]
        fold = FoldScores("all rows", "", 5400, 5400, huber, huber / 5400, r2)
        cells.append(ScoreCell(loss, domain, "dcpt.l3", "all", (fold,)))
    rows = {(cell.loss, cell.group): 5400 for cell in cells}
    law = ComparedLaw("dcpt.l3", "", 9, {}, ())
    losses = ("general", "domain")
    names = "six domains", (), "huber(log(L), 0.001)", 1e-3
    table = ScoreTable((law,), ("all",), losses, "domain", domains, rows, *names, tuple(cells), ())

    for (loss, score), printed in AVERAGES.items():
        half = 0.5e-6 if score == "r2" else 0.5e-4
        assert abs(table.mean(score, "dcpt.l3", "all", loss) - printed) <= half * (1 + 1e-9)
    # sums: as a mean over rows, it would need errors of exp(0.0048/0.001) in L
    assert 0.0048 / table.delta > 4.5
    assert table.mean("huber_mean", "dcpt.l3", "all", "general") < 1e-6
    # "Huber < 0.02" and "R² > 0.97" hold on average only
    assert max(PRINTED["domain", "huber_sum"]) > 0.02 and min(PRINTED["domain", "r2"]) < 0.97


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5000"), (-250.0, "-250"), (-1e175, "< -1e6"), (float("nan"), "-")],
)
def test_scores_wrong_by_many_orders_are_printed_as_a_limit(value: float, text: str):
    assert r_squared_text(value) == text
