"""sweep.toml is read strictly, says all its mistakes at once, and names its runs by their content."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
import sweeps
from sweeps import TEXT, made, sweep_in

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.runners.spec import ExecutionConfig, RunOrder, read_order, write_order
from lawdsl.runners.sweeps import inputs, workers
from lawdsl.runners.sweeps.file_errors import SCHEDULES
from lawdsl.runners.sweeps.grid import folder_of, orders_of
from lawdsl.runners.sweeps.inputs import describe, inputs_of
from lawdsl.runners.sweeps.sweep import Sweep, read_sweep

ROOT = Path(__file__).resolve().parent.parent
RUNNERS = ROOT / "runners"


def orders(folder: Path, text: str = TEXT) -> dict[str, RunOrder]:
    """Label -> order, of a sweep in a folder."""
    return {order.label: order for order in orders_of(*sweep_in(folder, text))}


def test_the_page_of_runs_has_all_keys():
    page = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
    runs = page.partition("## Keys of [run]")[2].partition("\n## ")[0]
    assert [key for key in ExecutionConfig.model_fields if f"`{key}`" not in runs] == []
    evaluations = page.partition("## Evaluations")[2].partition("\n## ")[0]
    for name, kind in SCHEDULES.items():
        (line,) = [x for x in evaluations.splitlines() if f'`schedule = "{name}"`' in x]
        assert [key for key in kind.model_fields if f"`{key} = " not in line] == []


def test_an_inspection_of_models_has_a_time_limit(monkeypatch: pytest.MonkeyPatch):
    sleeping = (sys.executable, "-c", "import time; time.sleep(60)")
    monkeypatch.setattr(inputs, "INSPECT", sleeping)
    monkeypatch.setattr(inputs, "INSPECT_SECONDS", 0.1)
    with pytest.raises(LawdslError) as error:
        describe([{}, {}])
    (found,) = error.value.diagnostics
    assert found.code == "R0146" and "within 0.2 s" in found.message and "less busy" in found.help


@pytest.fixture
def misleading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory with files that have the names of modules."""
    (tmp_path / "runners").mkdir()
    for name in ("json.py", "subprocess.py", "runners/__init__.py"):
        (tmp_path / name).write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)


def test_files_of_the_working_directory_are_not_imported_in_place_of_modules(misleading: None):
    assert describe([]) == []


@pytest.mark.slow
def test_nor_are_they_by_the_processes_of_runs_and_checks(misleading: None):
    from lawdsl.runners.doctor import execution
    from lawdsl.runners.training import memory_profiles

    for command in (workers.WORKER, execution.WORKER, memory_profiles.COMMAND):
        done = subprocess.run([*command, "--help"], stdin=subprocess.DEVNULL, capture_output=True)
        assert done.returncode != 9, done.stderr


def test_a_log_whose_package_is_missing_is_an_error_before_runs_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    text = sweeps.with_lines(TEXT, run='log = ["wandb"]')
    monkeypatch.setattr(inputs, "missing", lambda *names: list(names))
    with pytest.raises(LawdslError) as error:
        sweep_in(tmp_path, text)
    (found,) = error.value.diagnostics
    assert found.code == "R0101" and found.place.endswith("run.log") and "[wandb]" in found.help
    monkeypatch.setattr(inputs, "missing", lambda *names: [])
    assert sweep_in(tmp_path, text)


def test_the_grid_is_every_model_with_every_mixture_and_seed(tmp_path: Path):
    found = orders(tmp_path, TEXT.replace("seeds = [1]", "seeds = [1, 2]"))
    assert len(found) == 2 * 3 * 2
    run = found["small_code=0.3333_seed=2"].run
    assert {n: s.fraction for n, s in run.corpora.items()} == {
        "code": Fraction(1, 3),
        "general": Fraction(2, 3),
    }
    assert run.seed == 2 and run.evaluate == (0, 5, 10, 15, 20)


def test_further_runs_are_added_and_none_is_there_twice(tmp_path: Path):
    also = '[[also]]\nmodels = ["small"]\nshares = [{code = 1}, {code = 0.5}]\nseeds = [1, 2]\n'
    before = orders(tmp_path)
    after = orders(tmp_path, TEXT.replace("[training]", also + "[training]"))
    new = ["small_code=0.5_seed=1", "small_code=0.5_seed=2", "small_code=1_seed=2"]
    assert sorted(after.keys() - before.keys()) == new
    assert all(after[label] == before[label] for label in before)


def test_several_domains_share_what_is_not_general(tmp_path: Path):
    text = TEXT.replace(
        'code = "corpora/code"\n', 'code = "corpora/code"\nmath = "corpora/math"\n', 1
    )
    text = text.replace('{code = "1/3"}', "{code = 0.1, math = 0.2}")
    sweeps.corpus(tmp_path / "corpora" / "math")
    found = orders(tmp_path, text)["small_code=0.1_math=0.2_seed=1"].run
    assert {n: s.fraction for n, s in found.corpora.items()} == {
        "code": Fraction(1, 10),
        "general": Fraction(7, 10),
        "math": Fraction(1, 5),
    }


def test_a_model_may_have_values_of_its_own(tmp_path: Path):
    text = TEXT.replace(
        'name = "large"', 'name = "large"\nsteps = 40\nmicro_batch = 2\nclip = false'
    )
    found = orders(tmp_path, text)
    small, large = found["small_code=0_seed=1"], found["large_code=0_seed=1"]
    assert (small.run.training.learning_rate, large.run.training.learning_rate) == (1e-2, 3e-3)
    assert (small.run.training.steps, large.run.training.steps) == (20, 40)
    assert (small.how.micro_batch, large.how.micro_batch) == (None, 2)
    assert (small.run.training.clip, large.run.training.clip) == (1.0, None)
    assert large.run.evaluate[-1] == 40


SAME = [
    ("how it is run", "[run]", '[run]\nthreads = 2\nmicro_batch = 1\ndevice = "cpu"'),
    ("the table", "[run]", '[table]\ndomain = "code"\n[run]'),
    (
        "a further corpus",
        'code = "corpora/code"\n',
        'code = "corpora/code"\nmath = "corpora/code"\n',
    ),
    ("another order", '{code = 0}, {code = "1/3"}', '{code = "1/3"}, {code = 0}'),
    ("another name for the same number", '"1/3"', '"2/6"'),
    ("another name of the sweep", '"python-from-manuals"', '"again"'),
]


@pytest.mark.parametrize(("old", "new"), [c[1:] for c in SAME], ids=[c[0] for c in SAME])
def test_what_decides_no_loss_is_no_part_of_a_runs_identity(old: str, new: str, tmp_path: Path):
    before, after = orders(tmp_path), orders(tmp_path, TEXT.replace(old, new, 1))
    assert {o.run.identity() for o in before.values()} == {o.run.identity() for o in after.values()}


OTHERS = [
    ("steps", "steps = 20", "steps = 25"),
    ("learning rate", "learning_rate = 3e-3", "learning_rate = 4e-3"),
    ("evaluations", "every = 5", "every = 10"),
    ("the configuration", "hidden_size = 1000", "hidden_size = 1001"),
    (
        "how weights are drawn",
        'initialization = "width-scaled"\n[grid]',
        'initialization = "transformers"\n[grid]',
    ),
]


@pytest.mark.parametrize(("old", "new"), [c[1:] for c in OTHERS], ids=[c[0] for c in OTHERS])
def test_what_decides_losses_makes_another_run(old: str, new: str, tmp_path: Path):
    before, after = orders(tmp_path), orders(tmp_path, TEXT.replace(old, new, 1))
    label = "large_code=0_seed=1"
    assert before[label].run.identity() != after[label].run.identity()


def test_other_tokens_make_another_run_and_another_folder_does_not(tmp_path: Path):
    before = orders(tmp_path / "a")
    moved = orders(tmp_path / "b")
    assert {k: o.run.identity() for k, o in before.items()} == {
        k: o.run.identity() for k, o in moved.items()
    }
    made(tmp_path / "b")
    sweeps.corpus(tmp_path / "b" / "corpora" / "code", 2100)
    sweep = read_sweep(tmp_path / "b" / "sweep.toml")
    changed = {
        o.label: o.run.identity() for o in orders_of(sweep, inputs_of(sweep, sweeps.inspect))
    }
    same = [label for label, order in before.items() if changed[label] == order.run.identity()]
    assert same == ["small_code=0_seed=1", "large_code=0_seed=1"]


def test_a_runs_folder_is_called_by_its_label_and_its_identity(tmp_path: Path):
    sweep, inputs = sweep_in(tmp_path)
    for order in orders_of(sweep, inputs):
        assert (
            folder_of(sweep, order) == tmp_path / "runs" / f"{order.label}-{order.run.identity()}"
        )


def test_a_run_keeps_its_folder_when_its_shares_are_written_otherwise(tmp_path: Path):
    before = sweep_in(tmp_path, TEXT.replace("code = 0}, {code =", "code ="))
    for order in orders_of(*before):
        write_order(folder_of(before[0], order), order)
    text = TEXT.replace('{code = 0}, {code = "1/3"}', '{code = "1/3", general = "2/3"}')
    after = sweep_in(tmp_path, text.replace('rest = "general"\n', ""))
    labels = [order.label for order in orders_of(*after)]
    assert labels[0] == "small_code=0.3333_general=0.6667_seed=1"
    folders = [folder_of(after[0], order) for order in orders_of(*after)]
    assert folders == [folder_of(before[0], order) for order in orders_of(*before)]
    # of several what is done, then its own label
    own = folders[0].with_name(folders[0].name.replace("0.3333", "0.3333_general=0.6667"))
    write_order(own, orders_of(*after)[0])
    assert folder_of(after[0], orders_of(*after)[0]) == own
    (folders[0] / "done.json").write_text('{"status": "done"}')
    assert folder_of(after[0], orders_of(*after)[0]) == folders[0]
    # a run that was made for branches has no model
    stable = read_order(folders[0]).model_copy(update={"branch_steps": (5,)})
    write_order(folders[0], stable)
    assert folder_of(after[0], orders_of(*after)[0]) == own


def test_the_domain_is_what_is_not_the_rest(tmp_path: Path):
    sweep, inputs = sweep_in(tmp_path)
    assert (sweep.domain, sweep.general) == ("code", "general")
    columns = orders_of(sweep, inputs)[1].columns
    assert columns == {
        "sweep": "python-from-manuals",
        "domain": "code",
        "general": "general",
        "N": 100_000,
        "N_total": 105_000,
        "U_code": 2000,
        "U_general": 2000,
    }


def refused(sweep: Sweep) -> list[Diagnostic]:
    with pytest.raises(LawdslError) as error:
        inputs_of(sweep, sweeps.inspect)
    return list(error.value.diagnostics)


def test_all_folders_that_are_missing_are_named_at_once(tmp_path: Path):
    text = TEXT.replace('"corpora/code"', '"corpora/cod"').replace('n"\ncode', 'n"\ncode')
    text = text.replace('"corpora/general-validation"', '"nowhere"')
    found = refused(read_sweep(made(tmp_path, text)))
    assert [d.place for d in found] == [str(tmp_path / "corpora/cod"), str(tmp_path / "nowhere")]
    keys = ("corpora.code", "validation.general")
    assert [d.notes[-1] for d in found] == [f"{tmp_path}/sweep.toml names it: {k}" for k in keys]
    assert found[0].help == f"did you mean {tmp_path / 'corpora/code'}?"
    with pytest.raises(LawdslError) as error:  # models, which take seconds, are not inspected
        inputs_of(read_sweep(tmp_path / "sweep.toml"))
    assert list(error.value.diagnostics) == found


def test_rows_that_are_too_long_for_all_models_are_one_mistake(tmp_path: Path):
    (found,) = refused(read_sweep(made(tmp_path, TEXT.replace("sequence = 8", "sequence = 65"))))
    assert found.message.startswith("rows have 65 tokens, small has positions for 64, large has")
    assert found.place == f"{tmp_path}/sweep.toml: training.sequence"
    assert found.help == "shorten them: write `sequence = 64`"


def test_a_configuration_says_how_many_kinds_of_tokens_it_knows(tmp_path: Path):
    """Else a library's default for another tokenizer would make most of a small model."""
    path = made(tmp_path)
    for name in ("general", "code", "general-validation", "code-validation"):
        sweeps.corpus(tmp_path / "corpora" / name, vocabulary=40)
    found = refused(read_sweep(path))
    assert [d.message for d in found] == [
        f"the configuration of {name} has no vocab_size; it would be 50"
        for name in ("small", "large")
    ]
    assert all(d.help and d.help.startswith("vocab_size = 40") for d in found)
    path.write_text(TEXT.replace("hidden_size", "vocab_size = 50, hidden_size"))
    inputs_of(read_sweep(path), sweeps.inspect)


@pytest.mark.parametrize(
    ("changes", "text", "said"),
    [
        ({"tokenizer": "two"}, TEXT, "R0210 2 different tokenizers"),
        ({"vocabulary": 51}, TEXT, "R0105 51 kinds of tokens, small knows 50"),
        ({"tokens": 8}, TEXT, "R0105 8 tokens, less than one row of 8"),
        ({}, TEXT.replace("sequence = 8", "sequence = 65"), "R0105 small has positions for 64"),
        (
            {},
            TEXT.replace('"corpora/code-validation"', '"corpora/general"'),
            "R0105 the validation set code has the tokens of the corpus general",
        ),
        ({}, TEXT.replace("config = {hidden_size = 100}\nini", 'folder = "m"\nini'), ""),
    ],
)
def test_what_does_not_go_together_is_refused(changes: dict, text: str, said: str, tmp_path: Path):
    path = made(tmp_path, text)
    sweeps.corpus(tmp_path / "corpora" / "code", **changes)
    if not said:
        inputs_of(read_sweep(path), sweeps.inspect)
        return
    found = refused(read_sweep(path))
    code, _, words = said.partition(" ")
    assert {d.code for d in found} == {code}
    assert words in found[0].message


def test_models_that_cannot_be_used_are_named_before_anything_starts(tmp_path: Path):
    for name, content in (("pickle", {"model_type": "llama"}), ("code", {"auto_map": {}})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(content))
    (tmp_path / "pickle" / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(LawdslError) as error:
        describe([str(tmp_path / name) for name in ("pickle", "code", "nothing")])
    found = error.value.diagnostics
    assert [d.code for d in found] == ["R0303", "R0302", "R0301"]
    assert [d.place for d in found] == [f"models[{number}].folder" for number in (1, 2, 3)]


def test_no_torch_is_loaded_for_sweeps_and_tables():
    rooms = [path for room in ("sweeps", "tables") for path in (RUNNERS / room).glob("[a-z]*.py")]
    names = [f"lawdsl.runners.{path.parent.name}.{path.stem}" for path in rooms]
    names.remove("lawdsl.runners.sweeps.inspecting")  # which is a process of its own
    program = (
        f"import sys, {', '.join(names)}\n"
        "print({'torch', 'transformers', 'scipy', 'sympy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr
