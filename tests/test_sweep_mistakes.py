"""Mistakes in the file of a sweep are named, all at once, with their places."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import sweeps
from sweeps import TEXT, made

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.runners.sweeps import file as sweep_file
from lawdsl.runners.sweeps.sweep import read_sweep


def mistakes(folder: Path, text: str) -> list[Diagnostic]:
    with pytest.raises(LawdslError) as error:
        read_sweep(made(folder, text))
    return list(error.value.diagnostics)


def test_one_mistake_is_one_error(tmp_path: Path):
    """Neither one for each type that a value may have, nor one for what follows from another."""
    wrong = sweeps.with_lines(TEXT, run='checkpoint_activations = "on"')
    assert len(mistakes(tmp_path, wrong)) == 1
    wrong = TEXT.replace('initialization = "width-scaled"', 'initialization = "xavier"')
    places = [d.place.partition(": ")[2] for d in mistakes(tmp_path, wrong)]
    assert places == ["models[1].initialization", "models[2].initialization"]
    steps = TEXT.replace('[evaluation]\nschedule = "dense"\nevery = 5\n', "")
    (found,) = mistakes(tmp_path, f"evaluation = [60]\n{steps}")
    assert found.message == "evaluation must be a table, not [60]"
    assert found.help == '[evaluation] with schedule = "list" and steps = [60]'


def test_the_example_of_its_reference_is_a_sweep(tmp_path: Path):
    example = textwrap.dedent((sweep_file.__doc__ or "").partition("\n\n")[2])
    assert "[[also]]" in example and "[table]" in example
    found = read_sweep(made(tmp_path, example))
    assert [(cell.model, cell.seed) for cell in found.cells] == [
        *[("0.2M", 1)] * 3,
        ("0.2M", 2),
        ("0.2M", 3),
    ]


CASES = [
    ("no end of steps", "steps = 20", "steps = inf", "R0102", "training.steps", "steps = 16"),
    ("an unknown table", "[grid]", "[gird]", "R0102", "gird", "did you mean `grid`?"),
    (
        "an unknown key",
        "every = 5",
        "evry = 5",
        "R0102",
        "evaluation.evry",
        "did you mean `every`?",
    ),
    (
        "a key of a model",
        "learning_rate = 1e-2",
        "learning_rat = 1",
        "R0102",
        "models[1].learning_rat",
        "did you mean `learning_rate`?",
    ),
    ("a key of [training]", "batch = 4", "batches = 4", "R0102", "training.batches", "`batch`"),
    ("a missing key", "sequence = 8\n", "", "R0102", "training.sequence", "write it"),
    (
        "a missing table",
        '[evaluation]\nschedule = "dense"\nevery = 5\n',
        "",
        "R0102",
        "evaluation",
        "write it",
    ),
    ("text for a number", "steps = 20", 'steps = "20"', "R0102", "training.steps", 'not "20"'),
    (
        "a date for text",
        'name = "python-from-manuals"',
        "name = 2024-01-01",
        "R0102",
        "name",
        "name must not be a date or time: 2024-01-01",
    ),
    (
        "a time in a configuration",
        "{hidden_size = 100}",
        "{hidden_size = [7, 12:00:00]}",
        "R0102",
        "models[1].config.hidden_size[2]",
        'as text it has quotes: "12:00:00"',
    ),
    ("true for a number", "batch = 4", "batch = true", "R0102", "training.batch", "not true"),
    ("a number below 1", "batch = 4", "batch = 0", "R0102", "training.batch", "greater than 0"),
    (
        "nan",
        "learning_rate = 3e-3",
        "learning_rate = nan",
        "R0102",
        "training.learning_rate",
        "NaN",
    ),
    (
        "a model's own value",
        "learning_rate = 1e-2",
        "learning_rate = -1",
        "R0102",
        "models[1].learning_rate",
        "greater than 0",
    ),
    (
        "a choice",
        "steps = 20",
        'steps = 20\nschedule = "cosin"',
        "R0102",
        "training.schedule",
        "'cosine', 'constant' or 'warmup-stable-decay'",
    ),
    (
        "a schedule of evaluations",
        'schedule = "dense"',
        'schedule = "thick"',
        "R0102",
        "evaluation.schedule",
        "dense, sparse, sectional, exponential, list",
    ),
    ("evaluations beyond the end", "every = 5", "every = 50", "R0701", "evaluation", "of 20"),
    (
        "a warm-up longer than the run",
        "batch = 4",
        "batch = 4\nwarmup = 30",
        "R0702",
        "training",
        "",
    ),
    (
        "neither true nor a word",
        "[run]",
        '[run]\ncheckpoint_activations = "on"',
        "R0102",
        "run.checkpoint_activations",
        'must be true, false or "auto", not "on"',
    ),
    ("a device of no kind", "[run]", '[run]\ndevice = "gpu"', "R0501", "run.device", '"cuda"'),
    (
        "a batch that processes cannot share",
        "[run]",
        "[run]\nprocesses = 3",
        "R0502",
        "run.processes",
        "processes = 2, or batch = 6",
    ),
    (
        "a model whose processes cannot share a batch",
        "learning_rate = 1e-2",
        "processes = 8",
        "R0502",
        "models[1].processes",
        "8 processes cannot share a batch of 4 rows",
    ),
    (
        "a share of an unknown corpus",
        "{code = 0}",
        "{cod = 0}",
        "R0104",
        "grid.shares[1]",
        "`code`?",
    ),
    (
        "a rest that is not a corpus",
        'rest = "general"',
        'rest = "generl"',
        "R0104",
        "grid.rest",
        "`general`?",
    ),
    (
        "a share above 1",
        "{code = 1}",
        "{code = 1.5}",
        "R0102",
        "grid.shares[3].code",
        "from 0 to 1",
    ),
    ("a share below 0", "{code = 0}", "{code = -0.5}", "R0102", "grid.shares[1].code", "not -0.5"),
    ("a share that is not a number", '"1/3"', '"a third"', "R0102", "grid.shares[2].code", "1/3"),
    ("a share that divides by 0", '"1/3"', '"1/0"', "R0102", "grid.shares[2].code", "1/0"),
    (
        "a share of what has the rest",
        "{code = 0}",
        "{general = 0.5}",
        "R0102",
        "grid.shares[1]",
        "has the rest",
    ),
    (
        "shares that are no mixture",
        'rest = "general"',
        "",
        "R0102",
        "grid.shares[1]",
        "add up to 0",
    ),
    (
        "two models of one name",
        'name = "large"',
        'name = "small"',
        "R0102",
        "models[2].name",
        "called small",
    ),
    (
        "a model that is nothing",
        "config = {hidden_size = 100}\n",
        "",
        "R0102",
        "models[1]",
        "one of `folder` and `config`",
    ),
    (
        "a model that is two things",
        'name = "small"',
        'name = "small"\nfolder = "x"',
        "R0102",
        "models[1]",
        "one of `folder` and `config`",
    ),
    (
        "weights drawn in no way",
        'initialization = "width-scaled"\nlearning',
        "learning",
        "R0102",
        "models[1]",
        "how are the weights drawn",
    ),
    (
        "a name that is no folder's",
        'name = "large"',
        'name = "large/1"',
        "R0102",
        "models[2].name",
        "letters, digits",
    ),
    ("a seed below 0", "seeds = [1]", "seeds = [-1]", "R0102", "grid.seeds[1]", "not -1"),
    ("no seed", "seeds = [1]", "seeds = []", "R0102", "grid.seeds", "at least 1"),
    (
        "an unknown model besides",
        "[training]",
        '[[also]]\nmodels = ["larg"]\n[training]',
        "R0104",
        "also[1].models",
        "`large`?",
    ),
    (
        "a reference run that is not asked for",
        "[run]",
        '[table.dlc]\nsteps = 5\nmodel = "small"\nshares = {code = 0.5}\n[run]',
        "R0102",
        "table.dlc",
        "no run of the grid",
    ),
    (
        "one place for several models",
        'folder = "runs"',
        'folder = "runs"\nexport = "m/{model}"',
        "R0102",
        "export",
        "several runs",
    ),
]


@pytest.mark.parametrize(
    ("old", "new", "code", "place", "said"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_a_mistake_is_named_with_its_place(
    old: str, new: str, code: str, place: str, said: str, tmp_path: Path
):
    assert old in TEXT
    found = mistakes(tmp_path, TEXT.replace(old, new, 1))
    fitting = [d for d in found if (d.code, d.place) == (code, f"{tmp_path}/sweep.toml: {place}")]
    assert fitting, found
    assert said in f"{fitting[0].message} {fitting[0].help}"
    assert all(d.help for d in found)


def test_all_mistakes_are_said_at_once(tmp_path: Path):
    text = TEXT
    for old, new in [
        ('rest = "general"', 'rest = "genral"'),
        ("{code = 0}", "{cod = 0}"),
        ("{code = 1}", "{code = 2}"),
        ("steps = 20", "stepz = 20"),
        ("\nevery = 5", "\nevery = 0"),
        ('name = "large"', 'name = "the large"'),
        ("learning_rate = 1e-2", "learning_rate = 0"),
    ]:
        text = text.replace(old, new)
    places = [d.place.rpartition(": ")[2] for d in mistakes(tmp_path, text)]
    assert len(places) == len(set(places))
    assert set(places) == {
        "grid.rest",
        "grid.shares[1]",
        "grid.shares[3].code",
        "training.stepz",
        "evaluation.every",
        "models[2].name",
        "models[1].learning_rate",
    }


@pytest.mark.parametrize(
    ("text", "where"),
    [("name = \n", ":1:8"), (TEXT + "[grid]\n", ":33:6"), ("a = 1\nb = [1,,2]\n", ":2:8")],
)
def test_what_is_no_toml_is_named_with_line_and_column(text: str, where: str, tmp_path: Path):
    (found,) = mistakes(tmp_path, text)
    assert found.code == "R0103"
    with pytest.raises(LawdslError, match=f"sweep.toml{where}"):
        read_sweep(tmp_path / "sweep.toml")


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_refused(content: bytes | None, tmp_path: Path):
    path = tmp_path / "sweep.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(LawdslError) as error:
        read_sweep(path)
    assert [d.code for d in error.value.diagnostics] == ["R0103"]
