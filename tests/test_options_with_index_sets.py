"""Every option of every command that takes a law or a fit, tried with index sets.

Each option stands in a line of LINES, in one of the texts of UNCONCERNED, or in NOT_TAKEN, with the
reason. A new option that stands in none of them fails the test.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click
import commands
import numpy as np
import pytest

from lawdsl.cli import cli

# commands that take neither a law nor a fit
WITHOUT_LAWS = {
    *("collect", "completion", "corpora", "corpus", "demo", "doctor", "explain", "fmt", "import"),
    *(
        "laws",
        "lsp",
        "mixtures halving",
        "mixtures spread",
        "new",
        "run",
        "tokenizer",
        "validation",
    ),
}
# options that say where output goes, or how long a command may take, whatever the law
UNCONCERNED = {
    *("--json", "--quiet", "--output", "--time-limit", "--total-time-limit", "--sarif", "--seed"),
    *("--apply-fixes", "--save-tables", "--jobs", "--loop", "--latex"),
}
# (command, option) -> why index sets do not concern it, or are refused
NOT_TAKEN = {
    ("plot", "--data"): "the figures of a label show the rows that its fit stores",
    ("plot", "--drop-bad"): "as --data",
    ("measure", "--run"): "laws with `measure` lines: tests/test_measures.py",
    ("measure", "--where"): "as --run",
    ("measure", "--drop-bad"): "as --run",
    ("measure", "--set"): "as --run",
    ("predict", "--runs"): "laws with `measure` lines: tests/test_measures.py",
    ("solve", "--curve"): "one number of an answer: tests/test_solve_command.py",
    ("design", "--stop"): "of the target: tests/test_designs.py",
    ("design", "--cost"): "of runs, whatever the law",
    ("design", "--most"): "of runs, whatever the law",
    ("design", "--no-repeats"): "of runs, whatever the law",
    ("compare", "--cost"): "of runs with sizes, whatever the law",
    ("compare", "--quantile"): "a parameter of the loss, as --delta",
    ("compare", "--wrong"): "of runs with sizes, whatever the law",
    **{
        ("compare", option): "of a table of scores: tests/test_score_tables.py"
        for option in (
            *("--table", "--protocols", "--losses", "--by", "--processes"),
            *("--resume", "--to"),
        )
    },
    ("compare", "--family"): "chooses laws by the columns: tests/test_laws_for_table.py",
    ("fit", "--ensemble"): "resamples rows, whatever the law: tests/test_ensembles.py",
    ("pipeline", "--by"): "of a pipeline, whatever its laws",
    ("pipeline", "--level"): "of a pipeline, whatever its laws",
    ("pipeline", "--plot"): "of a pipeline, whatever its laws",
    ("pipeline", "--where"): "rows of a table, whatever the laws: tests/test_run_pipeline.py",
}

B = "runs.csv 'r=r_*' 'L=L_*' -q"  # bindings of the table
FIT = f"fit ex.law {B} --starts 2"
COMPARE = f"compare ex.law mixing.m1 {B} --starts 2 --protocol all"
TARGET = "--target 'r[web]=.25 r[code]=.25'"
DESIGN = "design ex.law 'r=r_*' 'L=L_*' --runs runs.csv --candidates more.csv --budget 30 -q"
REFUSED = "error["
SLOW = ("--plot", "bootstrap", "profile", "landscape", "report", "--safe", "leave")
"""Words of lines that take a second or more."""
# a command line -> text of its output
LINES = {
    f"{FIT} --set s=2 --fix 't[en,code]=1.4' --tie 'k[en]=1.5*k[py]' --where 'mixture < 14'": "(fixed)",
    f"{FIT} --start 't[i,j]=0.1' --start 't[en,code]=1' --without 'c[en] >= 0'": "1 of 1",
    f"{FIT} --prior 't[en,code] = 1.5 +- 0.1' --enforce --horizon 10 --drop-bad": "t[en, code]",
    f"{FIT} --objective 'huber(log)' --delta 1e-2 --weights mixture --run mixture": "huber",
    f"{FIT} --objective 'quantile(log)' --quantile .5 --level .9 --intervals profile": "quantile",
    f"{FIT} --intervals bootstrap --resamples 100 --plot fit.html": "wrote fit.html",
    f"{COMPARE} --set s=2 --fix 't[en,code]=1.4' --where 'mixture < 14' --drop-bad": "en ",
    f"{COMPARE} --tie 'k[en]=k[py]'": "not fitted to the same rows",
    f"{COMPARE} --objective 'squared(log)' --over 3": "en ",
    f"{FIT} --by half --processes 1 --objective 'squared(log)' --over 3": "half",
    f"{COMPARE} --without 'c[i] >= 0' --objective 'huber(log)' --delta 1e-2 --run mixture "
    "--plot c.html": "wrote c.html",
    "check ex.law -q --set s=2 --without 'c[i] >= 0' --fix 'k[i]=1'": "PROVED",
    "check ex.law -q --fix 't[en,code]=1' --tie 'c[en]=c[py]' --plot k.html": "warning[L0324]",
    "check -q --fit fit.json": "CERTIFIED",
    "check --syntax ex.law": "ex.law",
    "show ex.law --set s=2 --without 'c[i] >= 0' --fix 't[en,code]=1' --tie 'c[en]=c[py]'": "L[i] =",
    f"trends ex.law {B} --where 'mixture < 14' --run mixture --by mixture --drop-bad --set s=2": "L",
    f"trends ex.law {B} --se se --plot t.html": "error[G0112]",
    f"measure ex.law {B.removesuffix(' -q')}": "error[D0136]",
    "predict fit.json 'r[web]=.3' 'r[code]=.3' --level .9 --wrong 2% --plot p.html": "wrote p.html",
    "predict fit.json runs.csv 'r=r_*' --intervals": "en",
    "plot fit.json --kind landscape -o f.html": "wrote f.html",
    "plot fit.json --kind profile label=py parameters='c[py]' -o f.html": "wrote f.html",
    "plot fit.json --kind residuals label=en -o f.html": "the rows of en, of 2 labels",
    "plot fit.json --kind residuals label=eng -o f.html": "did you mean `en`?",
    "plot fit.json --kind extrapolation -o f.html": "error[G0102]",
    "report fit.json --question ask.law loss=fit.json most=2 -o r.html": "wrote r.html",
    "export fit.json --to python --level .9": "t[",
    "export ex.law --to python --set s=2": "error[E0102]",
    "solve ask.law loss=fit.json most=1.3 --level .9 --safe .9 --plot s.html": "loss[py]",
    "solve mixing.best loss=fit.json --at 'r[web]=.3,r[code]=.3' --wrong 5%": "r[web]",
    "pipeline mixing.nested runs.csv 'r=r_*' 'L=L_*' -q --set S_target=1 --set N_target=1 "
    "--draws 0 --drop-bad": "error[",
    f"mixtures select ex.law {B} --count 9 --groups 2 --by mixture --starts 2 --set s=2 "
    "--where 'mixture < 14' --without 'c[en] >= 0' --fix 't[en,code]=1.4'": "mixture",
    f"mixtures select ex.law {B} --count 9 --groups 2 --by mixture --starts 2 --drop-bad "
    "--objective 'huber(log)' --delta 1e-2 --over 3 --tie 'k[en]=k[py]'": "mixture",
    f"mixtures select ex.law {B} --count 9 --groups 2 --by mixture --starts 2 "
    "--objective 'quantile(log)' --quantile .5": "mixture",
    f"{DESIGN} {TARGET} --fix 't[en,code]=1.4' --tie 'k[en]=k[py]' --where 'mixture < 200'": "target",
    f"{DESIGN} {TARGET} --set s=2 --without 'c[i] >= 0' --wrong 2% --plot d.html": "wrote d.html",
    f"{DESIGN} {TARGET} --rivals mixing.m1": REFUSED,
    "design --question ask.law --use 'loss r=r_* L=L_*' --runs runs.csv --candidates more.csv "
    "most=2 --budget 30 -q": "has a fit for each label",
}

LAW = (
    "law ex\nindex i over validation\nindex j over training\nvariable r[j] in simplex\n"
    "setting s = 1\nparameter c[i] >= 0\nparameter k[i] > 0\nparameter t[i, j]\n"
    "L[i] = c[i] + s*k[i]*exp(sum(t[i, j]*r[j] for j))\nidentify sum(t[i, j] for j) = 0\n"
    "require L[i] > c[i]\n"
)
ASK = (
    "question ask\nindex i over validation\nindex j over training\nuses loss : ex\n"
    "choose r[j] in simplex\ngiven most > 0\n"
    "minimize sum(loss[i](r[j]) for i)\nsubject to loss[py](r[j]) <= most\n"
)


def parameters() -> dict[tuple[str, str], click.Parameter]:
    """(command, option) -> the option, for all commands that take a law or a fit."""
    found: dict[tuple[str, str], click.Parameter] = {}

    def add(name: str, command: click.Command) -> None:
        if isinstance(command, click.Group):
            for part, inner in command.commands.items():
                add(f"{name} {part}", inner)
        elif name not in WITHOUT_LAWS:
            for option in command.params:
                if isinstance(option, click.Option):
                    longest = max(option.opts, key=len)
                    found[name, longest] = option

    for name, command in cli.commands.items():
        add(name, command)
    return found


def names_of_commands() -> set[str]:
    """The commands of `lawdsl --help`; those of a group one by one."""

    def names(name: str, command: click.Command) -> set[str]:
        if not isinstance(command, click.Group):
            return {name}
        parts = (names(f"{name} {part}", inner) for part, inner in command.commands.items())
        return set().union(*parts)

    return set().union(*(names(name, command) for name, command in cli.commands.items()))


def tried() -> set[tuple[str, str]]:
    """(command, option) for each option of the lines."""
    pairs = set()
    for line in LINES:
        words = shlex.split(line)
        name = " ".join(words[:2]) if words[0] == "mixtures" else words[0]
        pairs |= {(name, word) for word in words if word.startswith("-")}
    return pairs


def test_every_option_is_tried_with_index_sets_or_has_a_reason():
    known = parameters()
    lines = tried()
    short = {(name, s) for (name, _), o in known.items() for s in o.opts}
    covered = {
        (name, longest)
        for (name, longest), o in known.items()
        if any((name, s) in lines for s in o.opts)
        or longest in UNCONCERNED
        or (name, longest) in NOT_TAKEN
    }
    assert known.keys() - covered == set()
    assert lines <= short, "an option of a line is none of its command"
    assert NOT_TAKEN.keys() <= known.keys()


def test_every_command_is_tried_or_takes_no_law():
    words = [shlex.split(line)[:2] for line in LINES]
    with_lines = {" ".join(w) if w[0] == "mixtures" else w[0] for w in words}
    assert names_of_commands() == with_lines | WITHOUT_LAWS


def test_a_command_that_is_not_listed_is_found(monkeypatch):
    monkeypatch.setitem(cli.commands, "new-command", click.Command("new-command"))
    with pytest.raises(AssertionError, match="new-command"):
        test_every_command_is_tried_or_takes_no_law()


def test_an_option_that_is_not_listed_is_found(monkeypatch):
    new = click.Option(["--new-option"])
    monkeypatch.setattr(cli.commands["fit"], "params", [*cli.commands["fit"].params, new])
    with pytest.raises(AssertionError, match="new-option"):
        test_every_option_is_tried_with_index_sets_or_has_a_reason()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a law, a question, a table of 15 mixtures, candidates and a fit."""
    path = tmp_path_factory.mktemp("index_sets")
    (path / "ex.law").write_text(LAW)
    (path / "ask.law").write_text(ASK)
    rng = np.random.default_rng(0)
    rows = ["mixture,half,se,r_web,r_code,r_books,L_en,L_py"]
    candidates = ["mixture,r_web,r_code,r_books"]
    shares = [(a, b, 4 - a - b) for a in range(5) for b in range(5 - a)]
    for number, share in enumerate(shares):
        r = np.array(share) / 4
        en = 2.5 + 0.6 * np.exp(r @ [-2, 1.5, 0.5])
        py = 1.0 + 0.4 * np.exp(r @ [1, -3, 2])
        L = np.array([en, py]) * np.exp(0.002 * rng.normal(size=2))
        rows.append(f"{number},{number % 2},0.005,{r[0]},{r[1]},{r[2]},{L[0]:.6f},{L[1]:.6f}")
        mixed = (r + 1 / 3) / 2
        candidates.append(
            f"{100 + number},{mixed[0]:.6f},{mixed[1]:.6f},{1 - round(mixed[0], 6) - round(mixed[1], 6):.6f}"
        )
    (path / "runs.csv").write_text("\n".join(rows) + "\n")
    (path / "more.csv").write_text("\n".join(candidates) + "\n")
    done = commands.run(*shlex.split(f"{FIT} -o fit.json"), cwd=path)
    assert done.returncode == 0, done.stderr
    assert json.loads((path / "fit.json").read_text())["schema"] == "fits 1"
    return path


def _line(line: str) -> object:
    slow = any(word in line for word in SLOW)
    return pytest.param(line, marks=pytest.mark.slow) if slow else line


@pytest.mark.parametrize("line", [_line(line) for line in LINES])
def test_options_take_laws_with_index_sets(folder, line):
    done = commands.run(*shlex.split(line), cwd=folder, together=True)
    assert LINES[line] in done.stdout, done.stdout
    assert done.returncode != 5, done.stdout
    if not LINES[line].startswith((REFUSED, "has a fit")):
        assert "Usage:" not in done.stdout, done.stdout
