"""A GPU with too little free memory: a large run does not fit, and two small runs are active.

The memory of the large run is measured. Then this process allocates memory until about three
quarters of that are free, and `lawdsl run --halve` executes the large run: it must end with a
smaller micro-batch. The two small runs, which are equal and started before, must continue with
equal losses.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from ..run.metrics_log import POINTS, read
from ..spec import RunOrder
from ..sweeps.run_folders import LOG
from ..training import models
from .records import CheckInput, Measurement, at_least, equal, not_measured
from .small_runs import (
    TINY,
    VARYING,
    VOCABULARY,
    RunFailed,
    TimeUp,
    configuration,
    order,
    start_run,
    wait,
    write_corpora,
)

GIB = 2**30
SHAPE = configuration(256, 4, 4, 1024)
SEQUENCE = 512
LEAST_FREE = 12 * GIB  # bytes of free memory without which the check is not done
LARGE_RUN_BYTES = (
    8 * GIB
)  # minimum bytes of the large run, unless a quarter of the free memory is less
LEFT_SHARE = 0.75  # share of its bytes that remains free for it
CONTEXT = 0.6 * GIB  # bytes of the CUDA context of a process
STEPS_LARGE, EVERY = 10, 10
STEPS_BESIDE, EVERY_BESIDE = 1_000_000, 100  # the small runs are killed at the end
LOG_LINES = 5  # last lines of each stream of a command that failed
OUT_OF_MEMORY = "memory did not suffice"  # R0507


def memory_exhaustion(check_input: CheckInput) -> Iterator[Measurement]:
    """A run that is out of memory continues with a smaller micro-batch; concurrent runs are
    unaffected.
    """
    free = _free()
    if free < LEAST_FREE:
        why = f"the GPU has {free / GIB:.1f} GiB of free memory, {LEAST_FREE / GIB:.0f} are needed"
        yield not_measured("out of memory, then a smaller micro-batch", why)
        return
    data = write_corpora(check_input.folder / "corpora")
    beside = [check_input.folder / f"beside-{number}" for number in range(2)]
    ordered = _order_beside(check_input, data)
    with start_run(beside[0], ordered) as first, start_run(beside[1], ordered) as second:

        def active() -> bool:
            return all(w.processes[0].poll() is None for w in (first, second))

        def rows() -> int:
            return min(len(_rows(folder)) for folder in beside)

        wait(check_input, lambda: rows() >= 2 or not active(), "the runs beside had begun")
        large = _rows_that_take(min(LARGE_RUN_BYTES, _free() / 4))
        taken = _peak(large)
        yield Measurement(f"memory of {large} rows at once", taken / GIB, "GiB")
        hog = _take(int(_free() - LEFT_SHARE * taken - CONTEXT))
        yield Measurement("memory left to the run", _free() / GIB, "GiB")
        status, folder = _sweep(check_input, large)
        del hog
        log = (folder / LOG).read_text(encoding="utf-8", errors="replace")
        ran_out = "yes" if OUT_OF_MEMORY in log else "no"
        yield equal(
            "out of memory at first", ran_out, "yes", "memory sufficed, so nothing is shown"
        )
        yield equal("then, with a smaller micro-batch", status, "done", "see the log of the run")
        until = rows()
        wait(check_input, lambda: rows() > until or not active(), "the runs beside had gone on")
        yield equal("runs beside it", "active" if active() else "ended", "active", "it harmed them")
    yield at_least("rows of the runs beside it", rows(), until + 1)
    parts = [json.dumps(_rows(folder)[: rows()]) for folder in beside]
    same = "equal" if parts[0] == parts[1] else "different"
    yield equal("losses of the runs beside it", same, "equal", "one of them was harmed")


def _free() -> int:
    """The free memory of the GPU, in bytes."""
    return int(torch.cuda.mem_get_info()[0])


def _take(size: int) -> Any:
    """Allocate memory of the GPU; it is freed with the result."""
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def _rows_that_take(size: float) -> int:
    """The number of rows, a power of 2, whose training step takes at least so many bytes."""
    few, more = _peak(4), _peak(8)
    rows = 8
    while few + (more - few) / 4 * (rows - 4) < size:
        rows *= 2
    return rows


def _peak(rows: int) -> int:
    """The peak memory of a training step on some rows, in bytes."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    model = models.load(SHAPE, "width-scaled", seed=0).to("cuda").train()
    tokens = torch.randint(VOCABULARY, (rows, SEQUENCE + 1), device="cuda")
    loss = models.LanguageModelLoss(model)(tokens)
    (loss / tokens.numel()).backward()
    torch.cuda.synchronize()
    moments = 8 * sum(p.numel() for p in model.parameters())
    peak = torch.cuda.max_memory_allocated() + moments
    del model, loss, tokens
    torch.cuda.empty_cache()
    return peak


def _order_beside(check_input: CheckInput, data: Path) -> RunOrder:
    """The specification of the small runs, which do not end within the time of the check."""
    return order(
        data,
        TINY,
        {"device": check_input.device, "compile": False, "deterministic": True},
        steps=STEPS_BESIDE,
        evaluate=tuple(range(0, STEPS_BESIDE + 1, EVERY_BESIDE)),
        precision="float32",
    )


def _rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of a run so far, without the fields that differ between equal runs."""
    rows = read(folder / POINTS)
    return [{k: v for k, v in row.items() if k not in VARYING} for row in rows]


def _sweep(check_input: CheckInput, rows: int) -> tuple[str, Path]:
    """Execute the large run with `lawdsl run`.

    Args:
        check_input: what the check is given.
        rows: the micro-batch, in rows.

    Returns:
        The status of the run, and its folder.

    Raises:
        RunFailed: the command has no result.
        TimeUp: it is not done at the deadline of the check.
    """
    path = check_input.folder / "sweep.toml"
    path.write_text(_sweep_file(check_input, rows), encoding="utf-8")
    command = [sys.executable, "-P", "-m", "lawdsl", "run", str(path), "--json", "--halve"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=max(1.0, check_input.remaining())
        )
    except subprocess.TimeoutExpired:
        raise TimeUp("the time of the check was up before lawdsl run was done") from None
    try:
        (outcome,) = json.loads(done.stdout)["result"]["outcomes"]
        return outcome["status"], Path(outcome["folder"])
    except (ValueError, KeyError, TypeError):
        raise RunFailed("lawdsl run failed", _last_lines(done)) from None


def _last_lines(done: subprocess.CompletedProcess[str]) -> tuple[str, ...]:
    """The last lines of both streams of `lawdsl run --json`; if one is a JSON document, its
    messages.
    """
    try:
        lines = [str(each["message"]) for each in json.loads(done.stdout)["diagnostics"]]
    except (ValueError, KeyError, TypeError):
        lines = done.stdout.splitlines()
    return (*lines[-LOG_LINES:], *done.stderr.splitlines()[-LOG_LINES:])


def _sweep_file(check_input: CheckInput, rows: int) -> str:
    """The text of sweep.toml; strings and numbers of JSON are those of TOML too."""
    corpora = check_input.folder / "corpora"
    corpus = {"folder": str(corpora / "training"), "max_epochs": 1_000_000}
    lines = ['name = "large"', f"folder = {json.dumps(str(check_input.folder / 'large'))}"]
    lines += ["[corpora]", f"text = {_inline(corpus)}"]
    lines += ["[validation]", f"text = {json.dumps(str(corpora / 'validation'))}"]
    lines += ["[[models]]", 'name = "large"', 'initialization = "width-scaled"']
    lines += [f"config = {_inline(SHAPE)}", "[grid]", "shares = [{text = 1}]"]
    lines += ["[training]", "learning_rate = 1e-3", f"steps = {STEPS_LARGE}", f"batch = {rows}"]
    lines += [f"sequence = {SEQUENCE}", 'precision = "float32"']
    lines += ["[evaluation]", 'schedule = "dense"', f"every = {EVERY}"]
    lines += [
        "[run]",
        f'device = "{check_input.device}"',
        "compile = false",
        "deterministic = true",
    ]
    # checkpointed, the run might fit at once
    lines += [f"micro_batch = {rows}", "checkpoint_activations = false"]
    return "\n".join([*lines, "save_final = false", "log = []", ""])


def _inline(value: Any) -> str:
    """A value as TOML writes it in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_inline(each)}" for key, each in value.items()) + "}"
    return json.dumps(value)
