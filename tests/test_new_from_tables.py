"""`lawdsl new NAME --from TABLE`: the proposed law checks, its commands run, guesses are named."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path

import commands
import numpy as np
import pytest
from quick import some

import lawdsl
from lawdsl.data.drafts.column_names import read_name
from lawdsl.data.drafts.draft_law import draft_law
from lawdsl.data.read import read_table

E, A, ALPHA, B, BETA = 1.7, 400.0, 0.34, 410.0, 0.28
SIZES, TOKENS = (7e7, 1.6e8, 4.1e8, 1e9, 2.8e9), (1e9, 5e9, 2e10, 1e11)
RUNS = [(n, d) for n in SIZES for d in TOKENS]


def run(*arguments: str):
    """Run a command in the folder that a test has entered."""
    return commands.run(*arguments, cwd=Path.cwd())


def loss(n: float, d: float) -> float:
    return E + A / n**ALPHA + B / d**BETA


def table_of(**columns: list[float] | list[str]):
    return read_table({name: np.array(values) for name, values in columns.items()})


def draft(bound=None, **columns):
    return draft_law("mine", table_of(**columns), bound or {})


def losses() -> list[float]:
    return [loss(n, d) for n, d in RUNS]


def used(found) -> dict[str, str]:
    return {c.variable: c.binding for c in found.columns if c.variable}


def reasons(found) -> dict[str, str]:
    return {c.name: c.reason for c in found.columns if c.reason}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("N", ("N", "", "", False)),
        ("n_params", ("N", "", "", False)),
        ("params_m", ("N", "M", "", False)),
        ("NumParamsBillions", ("N", "G", "", False)),
        ("model_size", ("N", "", "", False)),
        ("tokens (B)", ("D", "G", "", False)),
        ("training tokens", ("D", "", "", False)),
        ("log10_flops", ("C", "", "10", False)),
        ("log_N", ("N", "", "?", False)),
        ("ln tokens", ("D", "", "e", False)),
        ("code_pct", ("r", "", "", True)),
        ("val_loss", ("L", "", "", False)),
        ("loss_on_c4", ("L", "", "", False)),
        ("se_loss", ("ignored", "", "", False)),
        ("ppl", ("perplexity", "", "", False)),
        ("width", ("", "", "", False)),
        ("B", ("", "", "", False)),
        ("", ("", "", "", False)),
    ],
)
def test_names_of_columns(name: str, says: tuple[str, str, str, bool]):
    read = read_name(name)
    assert (read.quantity, read.prefix, read.logarithm, read.percent) == says


def written(folder: Path, header: str, rows: list[tuple[float, ...]]) -> Path:
    path = folder / "runs.csv"
    lines = [header, *(",".join(f"{value:.12g}" for value in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("header", "row"),
    some(
        [
            (
                "log10_N,ln_tokens,ppl",
                lambda n, d: (math.log10(n), math.log(d), math.exp(loss(n, d))),
            ),
            ("N,D,L", lambda n, d: (n, d, loss(n, d))),
            ("params_m,tokens_B,val_loss", lambda n, d: (n / 1e6, d / 1e9, loss(n, d))),
            ("size [Mparam],tokens [Gtoken],loss", lambda n, d: (n / 1e6, d / 1e9, loss(n, d))),
            ("params,tokens,loss", lambda n, d: (n / 1e6, d / 1e9, loss(n, d))),
            ("log_N,tokens,loss", lambda n, d: (math.log(n), d, loss(n, d))),
            ("n_params,flops,loss", lambda n, d: (n, 6 * n * d, loss(n, d))),
        ],
        3,
    ),
)
def test_the_proposed_commands_run_and_find_the_law(tmp_path, monkeypatch, header, row):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, header, [row(n, d) for n, d in RUNS])
    proposed = run("new", "mine", "--from", "runs.csv", "--json")
    assert proposed.returncode == 0, proposed.stdout
    check, fit, report = json.loads(proposed.stdout)["result"]["next"]
    assert run(*shlex.split(check)[1:]).returncode == 0
    fitted = run(*shlex.split(fit)[1:])
    assert fitted.returncode == 0, fitted.stdout
    found = lawdsl.load_fit("mine.json")
    for name, value in {"E": E, "A": A, "alpha": ALPHA, "B": B, "beta": BETA}.items():
        assert found.parameters[name].value == pytest.approx(value, rel=2e-2), name
    assert shlex.split(report) == ["lawdsl", "report", "mine.json"]


def test_a_guess_of_a_unit_is_said_with_the_numbers_that_it_gives():
    found = draft(params=[n / 1e6 for n, _ in RUNS], D=[d for _, d in RUNS], L=losses())
    (warning,) = found.warnings
    assert warning.code == "D0140"
    assert warning.message == (
        "N is read as `params [Mparam]` in Mparam, 70 to 2800: a guess by the numbers"
    )
    assert "params [Mparam]" in warning.help


def test_what_names_or_headers_say_is_no_guess():
    found = draft(params_m=[n / 1e6 for n, _ in RUNS], D=[d for _, d in RUNS], L=losses())
    assert not found.warnings
    assert used(found) == {"N": "params_m [Mparam]", "D": "D", "L": "L"}


def test_columns_that_others_determine_are_left_out():
    found = draft(
        N=[n for n, _ in RUNS],
        D=[d for _, d in RUNS],
        C=[6 * n * d for n, d in RUNS],
        lr=[1e-3 * (n / 7e7) ** -0.5 for n, _ in RUNS],
        L=losses(),
    )
    assert used(found).keys() == {"N", "D", "L"}
    assert reasons(found) == {
        "C": "follows from N and D",
        "lr": "is determined by N and D in every row",
    }


def test_constant_text_and_run_columns_are_left_out():
    found = draft(
        N=[n for n, _ in RUNS],
        D=[d for _, d in RUNS],
        seed=list(range(20)),
        epochs=[1.0] * 20,
        corpus=["code", "law"] * 10,
        vocab=[5e4, 1e5] * 10,
        L=losses(),
    )
    assert reasons(found) == {
        "seed": "describes the run, not what the loss depends on",
        "epochs": "has the same value in every row",
        "corpus": 'text, 2 values: select rows with --where "corpus = code"',
        "vocab": "has 2 values, too few for an exponent",
    }


def test_an_unknown_column_gets_a_term_that_rises_or_falls_as_the_loss_does():
    values = [float(10 * (1 + i % 7)) for i in range(20)]
    rising = draft(
        N=[n for n, _ in RUNS],
        depth=values,
        L=[loss(n, 1e9) + v / 100 for (n, _), v in zip(RUNS, values, strict=True)],
    )
    assert "K1*depth^kappa1" in rising.text
    falling = draft(
        N=[n for n, _ in RUNS],
        depth=values,
        L=[loss(n, 1e9) - v / 100 for (n, _), v in zip(RUNS, values, strict=True)],
    )
    assert "K1/depth^kappa1" in falling.text


def test_many_unknown_columns_are_named_and_left_out():
    rng = np.random.default_rng(1)
    unknown = {f"x{i}": list(rng.uniform(1, 2, 20)) for i in range(6)}
    found = draft(N=[n for n, _ in RUNS], **unknown, L=losses())
    assert used(found).keys() == {"N", "L"}
    assert reasons(found)["x0"] == "unknown meaning: x0=x0 uses it"
    chosen = draft({"x0": "x0"}, N=[n for n, _ in RUNS], **unknown, L=losses())
    assert used(chosen).keys() == {"N", "x0", "L"}


def test_shares_of_a_mixture_become_an_index_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    shares = rng.dirichlet((2, 2, 2), 30)
    rows = [(*s, 2 + math.exp(-s[0]), 2.5 + math.exp(-s[1])) for s in shares]
    written(tmp_path, "web_share,code_share,law_share,loss_web,loss_code", rows)
    proposed = run("new", "mine", "--from", "runs.csv", "--json")
    result = json.loads(proposed.stdout)["result"]
    assert result["bindings"] == ["r=*_share", "L=loss_*"]
    assert "sum(t[i, j]*r[j] for j)" in Path("mine.law").read_text()
    fitted = run(*shlex.split(result["next"][1])[1:])
    assert fitted.returncode in (0, 1), fitted.stdout
    assert sorted(json.loads(Path("mine.json").read_text())["labels"]["validation"]) == [
        "code",
        "web",
    ]


def test_steps_batch_and_length_are_tokens():
    found = draft(
        steps=[1000.0, 2000.0, 4000.0, 1000.0, 4000.0, 4000.0],
        batch=[512.0, 512.0, 512.0, 512.0, 512.0, 256.0],
        seq_len=[2048.0] * 6,
        params=[7e7, 7e7, 7e7, 1.6e8, 1.6e8, 4.1e8],
        loss=[3.9, 3.7, 3.5, 3.7, 3.3, 3.2],
    )
    assert used(found) == {"D": "steps*batch*seq_len", "N": "params", "L": "loss"}
    assert reasons(found) == {"batch": "is part of D", "seq_len": "is part of D"}
    (tokens,) = [column for column in found.columns if column.variable == "D"]
    assert (tokens.lowest, tokens.highest) == (1000 * 512 * 2048, 4000 * 512 * 2048)


def test_a_share_in_percent_is_divided_by_a_hundred():
    shares = [5.0, 10.0, 20.0, 40.0, 60.0, 80.0, 95.0]
    found = draft(code_pct=shares, loss=[2 + 1 / (s + 10) for s in shares])
    assert used(found) == {"r": "code_pct/100", "L": "loss"}
    assert "F/(r + r0)^gamma" in found.text
    rises = draft(share=[s / 100 for s in shares], loss=[2 + s / 500 for s in shares])
    assert "F/(1 - r + r0)^gamma" in rises.text


def refusal(*arguments: str) -> dict:
    result = run("new", "mine", *arguments, "--json")
    assert result.returncode == 3, result.stdout
    (diagnostic,) = json.loads(result.stdout)["diagnostics"]
    return diagnostic


def test_refusals_say_which_columns_there_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "N,D,quality", [(n, d, loss(n, d)) for n, d in RUNS])
    found = refusal("--from", "runs.csv")
    assert found["code"] == "D0138"
    assert found["help"] == "name it, L=COLUMN; columns of numbers: N, D, quality"
    assert refusal("--from", "runs.csv", "L=qualty")["code"] == "D0104"
    turned = refusal("--from", "runs.csv", "quality=L")
    assert turned["help"] == "the variable comes first: write L=quality"
    assert run("new", "mine", "--from", "runs.csv", "L=quality").returncode == 0
    assert (
        run("new", "mine", "--from", "runs.csv", "L=quality").returncode == 3
    )  # never overwritten
    written(tmp_path, "seed,L", [(i, 2 + i / 10) for i in range(5)])
    Path("mine.law").unlink()
    assert refusal("--from", "runs.csv")["code"] == "D0139"
    assert run("new", "mine", "L=loss").returncode == 2
    assert run("new", "mine", "--question", "--from", "runs.csv").returncode == 2


@pytest.mark.parametrize(
    "header",
    [
        'N"; x,D,L',
        "N\\n,D\tD,L",
        "require,law,L",
        "ﬁ N,D̈,L",
        "sum,exp,L",
        "N [xyz],D [param],L",
        "lambda,for,L",
    ],
)
def test_no_header_breaks_the_law_that_is_written(tmp_path, monkeypatch, header: str):
    monkeypatch.chdir(tmp_path)
    written(
        tmp_path,
        header.replace('"', '""') if '"' in header else header,
        [(n, d, loss(n, d)) for n, d in RUNS],
    )
    result = run("new", "mine", "--from", "runs.csv", "--json")
    assert result.returncode in (0, 3), result.stdout
    if result.returncode == 0:
        assert run("check", "mine.law").returncode in (0, 1)


@pytest.mark.parametrize("seed", some(range(40), 8, dear=(10, 20)))
def test_a_proposal_of_any_table_checks_or_is_refused(tmp_path, monkeypatch, seed: int):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(seed)
    names = [
        "N",
        "params",
        "tokens_B",
        "D",
        "lr",
        "share",
        "r_a",
        "r_b",
        "width",
        "loss",
        "L_x",
        "flops",
        "steps",
        "log_N",
    ]
    chosen = list(rng.choice(names, rng.integers(2, 9), replace=False))
    scale = 10.0 ** rng.uniform(-4, 12, len(chosen))
    rows = rng.lognormal(0, 1, (12, len(chosen))) * scale
    for j, name in enumerate(chosen):
        if name in ("share", "r_a", "r_b"):
            rows[:, j] = rng.uniform(0, 1, 12)
        if rng.random() < 0.1:
            rows[:, j] = rows[0, j]
    written(tmp_path, ",".join(chosen), [tuple(row) for row in rows])
    result = run("new", "mine", "--from", "runs.csv", "--json")
    document = json.loads(result.stdout)
    if result.returncode == 0:
        checked = run("check", "mine.law", "--json")
        assert checked.returncode == 0, checked.stdout
        fitted = run(*shlex.split(document["result"]["next"][1])[1:], "--starts", "1", "--json")
        assert json.loads(fitted.stdout)["diagnostics"] is not None
        codes = {d["code"] for d in json.loads(fitted.stdout)["diagnostics"]}
        assert not codes & {"D0104", "D0106", "D0112", "D0116"}, codes
    else:
        assert document["diagnostics"][0]["code"] in ("D0138", "D0139")
