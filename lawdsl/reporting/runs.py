"""Sweeps -> text on a terminal: their expected cost, and the outcomes of their runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from lawdsl.core.diagnostics import printable
from lawdsl.reporting.terminal import show_rows

SIZES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
STYLES = {"done": "green", "diverged": "red", "oom": "red", "failed": "red"}


def show_plan(plan: Mapping[str, Any], out: Console) -> None:
    """Print runs, tokens, passes over the corpora, FLOP, time and disk space, before a sweep
    starts.

    Args:
        plan: the output of `Plan.to_json()`.
        out: where it is printed.
    """
    runs = plan["runs"]
    unfinished = [run for run in runs if run["seconds"]]
    title = f"{plan['name']}: {counted(runs)} in {printable(plan['folder'])}"
    out.print(Text(title, style="bold"), soft_wrap=True)
    out.print(f"  {_by_status(run['status'] for run in runs)}; {plan['jobs']} at once")
    if unfinished:
        flop = size(sum(run["flop"] for run in unfinished))
        out.print(f"  {duration(plan['seconds'])} for {flop}FLOP ({plan['rate']})", soft_wrap=True)
        free = size(plan["free"])
        out.print(f"  {size(plan['disk'])}B of disk at most, {free}B are free", soft_wrap=True)
    if any(run["begins"] for run in runs):
        trained = sum(run["tokens"] for run in runs)
        separate = sum(_separate_tokens(run) for run in runs)
        out.print(
            f"  branches begin from stable runs: {size(trained).strip()} tokens instead of"
            f" {size(separate).strip()} ({trained / separate:.0%})",
            soft_wrap=True,
        )
    headers = ("model", "N", "runs", "to do", "tokens", "FLOP", "time on its own", "memory")
    show_rows(headers, (_of_model(name, runs) for name in _models(runs)), out)
    for name in _models(runs):
        if why := next((run["memory_unknown"] for run in runs if run["model"] == name), None):
            text = f"the memory of {name} is unknown, and its runs may fail: {why}"
            out.print(Text(printable(text)), soft_wrap=True)
    out.print()
    of_corpora = ("corpus", "tokens", "needed at most", "passes", "allowed")
    show_rows(of_corpora, map(_supply, plan["corpora"]), out)
    if plan["others"]:
        names = ", ".join(printable(folder.rpartition("/")[2]) for folder in plan["others"])
        out.print()
        out.print(f"not of this sweep, and left alone: {names}", soft_wrap=True)


def _separate_tokens(run: Mapping[str, Any]) -> float:
    """The tokens of a run that starts at step 0; 0 for a stable run, whose tokens are counted in
    its branches.
    """
    trained = run["steps"] - run["begins"]
    return 0 if run["stable"] else run["tokens"] * run["steps"] / trained


def _models(runs: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    return dict.fromkeys(run["model"] for run in runs)


def _of_model(name: str, runs: Iterable[Mapping[str, Any]]) -> tuple[object, ...]:
    model_runs = [run for run in runs if run["model"] == name]
    unfinished = [run for run in model_runs if run["seconds"]]
    return (
        name,
        size(model_runs[0]["N"]),
        len(model_runs),
        len(unfinished),
        size(sum(run["tokens"] for run in model_runs)),
        size(sum(run["flop"] for run in model_runs)),
        duration(sum(run["seconds"] for run in unfinished)) if unfinished else "",
        _memory(model_runs[0].get("memory")),
    )


def _memory(memory: Mapping[str, Any] | None) -> str:
    """The memory of a run as text: `20.1 GB a GPU, 32 rows at once`."""
    if memory is None:
        return "unknown"
    where = "a GPU" if memory["on"] == "gpu" else "a run"
    bound = "at most " if memory["upper_bound"] else ""
    text = f"{bound}{size(memory['bytes'])}B {where}, {_rows(memory['micro_batch'])} at once"
    return f"{text}, checkpointed" if memory["checkpoint_activations"] else text


def _rows(number: int) -> str:
    return f"{number:,} row{'' if number == 1 else 's'}"


def _supply(corpus: Mapping[str, Any]) -> tuple[object, ...]:
    tokens, needed = size(corpus["tokens"]), size(corpus["needed"])
    return corpus["corpus"], tokens, needed, f"{corpus['epochs']:.3g}", f"{corpus['allowed']:g}"


def show_outcomes(outcomes: Iterable[Mapping[str, Any]], out: Console) -> None:
    """Print the outcomes of runs: their number by status, and a table of those that are not done.

    Args:
        outcomes: the output of `Outcome.to_json()` for each run.
        out: where they are printed.
    """
    listed = list(outcomes)
    out.print(_by_status(outcome["status"] for outcome in listed))
    rest = [o for o in listed if o["status"] not in ("done", "paused", "left")]
    if rest:
        rows = [
            (o["label"], o["status"], _or_none(o["step"]), printable(o["message"])) for o in rest
        ]
        show_rows(("run", "status", "step", ""), rows, out)


def _or_none(step: int | None) -> str:
    return "" if step is None else f"{step:,}"


def outcome_line(outcome: Mapping[str, Any]) -> Text:
    """One finished run as a line: its losses, or the reason why it has none.

    Args:
        outcome: the output of `Outcome.to_json()`.

    Returns:
        The text. A stable run that is evaluated only at step 0 has provided checkpoints for
        branches.
    """
    word = Text(f"{outcome['status']:9}", style=STYLES.get(outcome["status"], ""))
    losses = ", ".join(f"{name} {loss:.4f}" for name, loss in outcome["losses"].items())
    if outcome["branches"] and not outcome["step"]:
        losses = f"checkpoints for {outcome['branches']} branches"
    return word + Text(f"{outcome['label']}  {printable(outcome['message']) or losses}")


def at_work(working: int, tokens_per_second: float, mfu: float | None) -> str:
    """The active runs and their speed: `2 at work, 117 k tokens/s, MFU 41 %`.

    Args:
        working: the number of active runs.
        tokens_per_second: the tokens per second of all together; 0 where it is not known yet.
        mfu: the mean over runs, 0 to 1; None where it is not known.

    Returns:
        The text.
    """
    parts = [f"{working} at work"]
    if tokens_per_second:
        parts.append(f"{size(tokens_per_second).rstrip()} tokens/s")
    if mfu is not None:
        parts.append(f"MFU {100 * mfu:.0f} %")
    return ", ".join(parts)


def _by_status(statuses: Iterable[str]) -> str:
    counts = Counter(statuses)
    return ", ".join(f"{number} {status}" for status, number in counts.items()) or "no run"


def counted(runs: Iterable[object]) -> str:
    """A number of runs as text: `1 run`, `2 runs`."""
    number = len(list(runs))
    return f"{number} run{'' if number == 1 else 's'}"


def size(number: float) -> str:
    """A count to three digits: 1.23M."""
    for unit, letter in SIZES:
        if number >= unit:
            return f"{number / unit:.3g} {letter}"
    return f"{number:.3g} "


def duration(seconds: float) -> str:
    """A duration as rounded text: `about 2 h 10 min`."""
    minutes = round(seconds / 60)
    if minutes < 2:
        return f"about {max(1, round(seconds))} s"
    if minutes < 120:
        return f"about {minutes} min"
    hours = minutes // 60
    return f"about {hours} h {minutes % 60} min" if hours < 48 else f"about {hours / 24:.1f} days"
