"""`lawdsl run` on clusters: runs on several nodes, and Slurm job arrays."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from lawdsl.cli.options import finish, print_message
from lawdsl.core.diagnostics import Diagnostic, LawdslError

if TYPE_CHECKING:
    import socket

    from lawdsl.runners.sweeps import local, nodes, ray
    from lawdsl.runners.sweeps.machine import Machine
    from lawdsl.runners.sweeps.plan import Plan
    from lawdsl.runners.sweeps.scheduler import Policy, StopRequest
    from lawdsl.runners.sweeps.slurm import JobArray
    from lawdsl.runners.sweeps.sweep import Sweep


def check_combination(
    *, slurm: bool, options: Sequence[str], address: str | None, reuse_workers: bool
) -> None:
    """Raise an error for options that exclude each other."""
    if options and not slurm:
        raise click.UsageError("--sbatch needs --slurm")
    for name, is_set in (("--ray", address is not None), ("--reuse-workers", reuse_workers)):
        if slurm and is_set:
            raise click.UsageError(f"--slurm and {name} exclude each other")
    if reuse_workers and address is not None:
        raise click.UsageError("--reuse-workers and --ray exclude each other")


def node_of(sweep: Sweep, address: str | None) -> nodes.NodeAddress | None:
    """The rank and address of this node if several nodes share a run; None if each run uses one
    node.

    Args:
        sweep: the sweep.
        address: the address of a Ray cluster; None for none.

    Raises:
        LawdslError: R0141, the environment does not define them, or a Ray cluster is requested.
    """
    from lawdsl.runners.sweeps.nodes import this_node

    number = _node_count(sweep)
    if number == 1:
        return None
    if address is not None:
        message = f"a run needs {number} nodes together, and on a Ray cluster each run has one node"
        help = "start `lawdsl run` on each node without --ray, or use --slurm"
        raise LawdslError(Diagnostic("R0141", message, help=help))
    return this_node(os.environ, number)


def _node_count(sweep: Sweep) -> int:
    """The largest number of nodes that share a run."""
    return max(how.nodes for how in sweep.how.values())


def follow_first_node(node: nodes.NodeAddress, policy: Policy, as_json: bool) -> int:
    """Run the processes that node 0 requests on this node; return the exit code."""
    from lawdsl.runners.sweeps import local, machine, workers
    from lawdsl.runners.sweeps.nodes import follow
    from lawdsl.runners.sweeps.scheduler import StopRequest

    def announce() -> None:
        print_message("node 0 decides when to stop; a second signal kills the processes here")

    engine = local.LocalEngine(machine.this_machine(), 1, policy, workers.WORKER)
    with StopRequest(announce) as stop:
        follow(node, engine, stop)
    result = {"node": node.number}
    code = finish("run", result, (), ok=True, as_json=as_json, show=lambda: None)
    return stop.code if stop.count else code


def submit_runs(
    sweep: Sweep,
    plan: Plan,
    policy: Policy,
    jobs: int | None,
    options: Sequence[str],
    *,
    as_json: bool,
) -> int:
    """Write and submit job arrays for the runs that are not done; return the exit code.

    Raises:
        LawdslError: an array cannot be written (R0107), or Slurm refuses it (R0143).
    """
    from lawdsl.runners.sweeps.branches import can_begin
    from lawdsl.runners.sweeps.slurm import write_arrays

    locked = {run.folder for run in plan.to_do if run.state.held_by}
    # if the stable run of a branch were active in another process, the branch would train all steps
    # itself
    free = [
        run
        for run in plan.to_do
        if run.folder not in locked and can_begin(run.folder, run.order, locked)
    ]
    arrays = _submitted(write_arrays(sweep, free, policy, jobs=jobs, options=options))
    result = {"plan": plan.to_json(), "arrays": [_array_json(array) for array in arrays]}
    overrides_output = any(option.partition("=")[0] in ("--output", "-o") for option in options)

    def show() -> None:
        if arrays and not arrays[0].job:
            click.echo("nothing was submitted: sbatch is not on this machine; where it is, run")
        for array in arrays:
            runs = f"{array.runs} runs" if array.runs > 1 else "1 run"
            if array.job:
                click.echo(f"submitted {runs} as job {array.job}: {array.script}")
                if not overrides_output:
                    click.echo(f"logs: {array.logs}")
            else:
                click.echo(f"sbatch {shlex.quote(str(array.script))}   # {runs}")
        if arrays:
            click.echo(f"state of the runs: lawdsl run {shlex.quote(str(sweep.path))} --dry-run")
        else:
            why = (
                "other processes execute the runs that are left"
                if plan.to_do
                else "nothing is left to do"
            )
            click.echo(f"nothing was submitted: {why}")

    diagnostics = plan.warnings if as_json else ()
    return finish("run", result, diagnostics, ok=True, as_json=as_json, show=show)


def _submitted(written: Sequence[JobArray]) -> list[JobArray]:
    """Submit all arrays; an error names those that Slurm had already accepted."""
    from lawdsl.runners.sweeps.slurm import submit

    arrays: list[JobArray] = []
    for array in written:
        try:
            arrays.append(submit(array))
        except LawdslError as error:
            notes = tuple(f"submitted as job {other.job}: {other.script}" for other in arrays)
            raise LawdslError(
                replace(diagnostic, notes=(*diagnostic.notes, *notes))
                for diagnostic in error.diagnostics
            ) from None
    return arrays


def _array_json(array: JobArray) -> dict[str, Any]:
    return {"script": str(array.script), "runs": array.runs, "job": array.job or None}


@contextmanager
def listening(sweep: Sweep, node: nodes.NodeAddress | None) -> Iterator[socket.socket | None]:
    """On node 0, the socket to which the other nodes connect; None if each run uses one node."""
    from lawdsl.runners.sweeps.nodes import listen

    if node is None:
        yield None
        return
    with listen(node, _node_count(sweep)) as listener:
        yield listener


@contextmanager
def all_nodes(
    sweep: Sweep,
    engine: local.LocalEngine | ray.RayEngine,
    node: nodes.NodeAddress | None,
    listener: socket.socket | None,
    stop: StopRequest,
    *,
    idle: bool,
) -> Iterator[local.LocalEngine | ray.RayEngine | nodes.NodesEngine]:
    """The engine itself, or the engine of all nodes, after they have joined, if several nodes share
    runs.

    If there is nothing to do (`idle`), the nodes that have joined are released, and no others are
    waited for.
    """
    from lawdsl.runners.sweeps import local
    from lawdsl.runners.sweeps.nodes import dismiss_joining, lead

    if node is None or listener is None or not isinstance(engine, local.LocalEngine):
        yield engine
        return
    if idle:
        dismiss_joining(listener)
        yield engine
        return
    together = lead(listener, node, _node_count(sweep), engine, stop)
    try:
        yield together
    finally:
        together.dismiss()


@contextmanager
def slurm_machine(
    sweep: Sweep, jobs: int | None
) -> Iterator[tuple[Machine, int, local.LocalEngine]]:
    """This machine, for the plan only; in an unlimited array all runs may be active at once."""
    from lawdsl.runners.sweeps import local, machine

    here = machine.this_machine()
    # the memory of the nodes is not known here
    nodes = replace(here, gpu_bytes={}, host_bytes=None)
    runs = sum(len(sweep.stages_of(cell)) for cell in sweep.cells)
    yield nodes, min(jobs or runs, runs), local.LocalEngine(here, 1)


def unseen_gpus(sweep: Sweep, plan: Plan, here: Machine) -> Iterator[Diagnostic]:
    """Warn about models whose precision was chosen on a machine without visible GPUs.

    Args:
        sweep: the sweep.
        plan: its runs.
        here: the machine that submits them.

    Returns:
        Warnings, R0144.
    """
    begun = {run.order.run.model.name for run in plan.runs if run.state.status != "new"}
    precisions = {run.order.run.model.name: run.order.run.training.precision for run in plan.runs}
    for name, how in sweep.how.items():
        is_chosen = sweep.training[name].precision == "auto" and name not in begun
        if is_chosen and how.device != "cpu" and not here.gpus:
            message = f"{name} is trained in {precisions[name]}: no GPU is seen on this machine"
            help = 'precision = "bfloat16" in [training] where the GPUs of the nodes have it'
            location = f"{sweep.path}: models.{name}"
            yield Diagnostic("R0144", message, "warning", place=location, help=help)
