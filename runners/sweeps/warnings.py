"""Warnings in the plan of a sweep: models that are not comparable, settings without effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lawdsl.core.diagnostics import Diagnostic

from ..run.disk import bytes_text
from ..run.model_facts import ModelFacts
from ..spec import Training
from .inputs import SweepInputs
from .sweep import Sweep


def model_warnings(sweep: Sweep, inputs: SweepInputs) -> Iterator[Diagnostic]:
    """Yield warnings about models that are trained without their dropout, or whose N is ambiguous.

    Args:
        sweep: the sweep.
        inputs: the facts of its models.

    Returns:
        An iterator over diagnostics.
    """
    for name, facts in inputs.models.items():
        location = f"{sweep.path}: models.{name}"
        if facts.dropout and not sweep.training[name].dropout:
            yield _dropout(name, facts, location)
        if facts.experts is not None:
            yield _experts(name, facts, sweep.training[name], location)


def unused_settings(sweep: Sweep) -> Iterator[Diagnostic]:
    """Yield warnings about settings that have no effect.

    Args:
        sweep: the sweep.

    Returns:
        An iterator over warnings, R0145.
    """
    for name, how in sweep.how.items():
        rows = sweep.training[name].batch // how.processes
        found: list[tuple[str, str]] = []
        if how.sharded and how.processes == 1:
            found.append(("sharded = true: its runs have one process", "give them `processes`"))
        if how.micro_batch is not None and how.micro_batch > rows:
            share = "1 row" if rows == 1 else f"{rows:,} rows"
            message = f"micro_batch = {how.micro_batch}: a process has {share} of each batch"
            found.append((message, f"micro_batch = {rows}, or leave it out"))
        for log, count in Counter(how.log or ()).items():
            if count > 1:
                found.append((f"log names {log} {count} times", "name it once"))
        for message, help in found:
            location = f"{sweep.path}: models.{name}"
            message = f"a setting of {name} has no effect: {message}"
            yield Diagnostic("R0145", message, "warning", place=location, help=help)


def _dropout(name: str, facts: ModelFacts, location: str) -> Diagnostic:
    listed = ", ".join(f"{key} = {value:g}" for key, value in sorted(facts.dropout.items()))
    return Diagnostic(
        "R0117",
        f"{name} is trained without dropout; its configuration has {listed}",
        "warning",
        place=location,
        help="dropout = true in [training] trains with it; validation losses are always without",
    )


def _experts(name: str, facts: ModelFacts, training: Training, location: str) -> Diagnostic:
    experts = facts.experts
    assert experts is not None
    if experts.idle is None:
        what = "some of its experts work on a token; N and FLOP count all of them"
    else:
        what = (
            f"{experts.used} of {experts.count} experts work on a token: N ="
            f" {facts.non_embedding:,} counts all, N_active = {facts.active:,} those at work"
        )
    stated = "router_loss" in training.model_fields_set
    coefficient = training.router_loss if stated else experts.router_loss
    notes: tuple[str, ...] = ()
    if coefficient:
        notes = (
            f"the loss of its router is added in training, times {coefficient:g}; validation losses"
            " are without it",
        )
    elif experts.auxiliary:
        notes = (
            f"the router's own loss ({', '.join(experts.auxiliary)}) is not added: its load may"
            " become uneven",
        )
    return Diagnostic(
        "R0118",
        f"{name} is a mixture of experts: {what}",
        "warning",
        place=location,
        notes=notes,
        help="fit laws to dense models, or bind N=N_active and compare like with like",
    )


def disk_space_problem(needed: int, certain: int, free: int, location: str) -> Diagnostic | None:
    """Check the free space on the disk.

    Args:
        needed: bytes that the runs write at most.
        certain: bytes that they write at least.
        free: free bytes.
        location: the folder of the runs.

    Returns:
        An error if even `certain` exceeds the free space, a warning if `needed` does; else None.
    """
    if needed <= free:
        return None
    fails = certain > free
    takes = f"{bytes_text(certain)} at least" if fails else f"up to {bytes_text(needed)}"
    return Diagnostic(
        "R0119",
        f"the runs take {takes} of disk, {bytes_text(free)} are free",
        "error" if fails else "warning",
        place=location,
        help="make room, name another folder, lower --jobs, or do without models: save_final = false",
    )
