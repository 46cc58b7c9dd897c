"""`lawdsl run`: sweep file -> trained models and their measured losses."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lawdsl.cli.options import as_json, finish, print_message
from lawdsl.cli.progress import notice
from lawdsl.cli.run_clusters import (
    all_nodes,
    check_combination,
    follow_first_node,
    listening,
    node_of,
    slurm_machine,
    submit_runs,
    unseen_gpus,
)
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.optional_packages import needs

if TYPE_CHECKING:
    import socket

    from lawdsl.runners.sweeps import local, nodes, ray
    from lawdsl.runners.sweeps.machine import Machine
    from lawdsl.runners.sweeps.plan import Plan, PlannedRun
    from lawdsl.runners.sweeps.scheduler import Outcome, Policy, Progress, Speed, StopRequest
    from lawdsl.runners.sweeps.sweep import Sweep

FINDINGS = {
    "failed": ("R0108", "error", "look at log.txt in its folder; `lawdsl run` tries it again"),
    "diverged": ("R0109", "error", "lower its learning rate; its rows until then are kept"),
    "oom": ("R0110", "error", "give it a smaller micro_batch and run the sweep again, or --halve"),
    "held": (
        "R0111",
        "warning",
        "run the sweep again when that process has ended; with --steal if its host no longer exists",
    ),
}
"""Status of a run that is not done -> code, severity and help of its diagnostic."""
INSPECTING = "inspecting {models}: sizes and memory, up to half a minute for 4 billion parameters"


@click.command("run")
@click.argument("sweep", metavar="SWEEP.toml")
@click.option(
    "--dry-run", is_flag=True, help="Print the plan with its estimated cost, and start nothing."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Number of runs in parallel.  [default: the number of cores, or of GPUs]",
)
@click.option(
    "--jobs-per-gpu",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Number of runs in parallel on each GPU; useful for small models.",
)
@click.option(
    "--retries",
    default=2,
    show_default=True,
    type=click.IntRange(min=0),
    help="How often to restart a run whose process died, from its last checkpoint.",
)
@click.option(
    "--halve",
    is_flag=True,
    help="If a run is out of memory, retry it with half the micro-batch until it fits.",
)
@click.option(
    "--steal",
    is_flag=True,
    help="Take over runs that are locked by a host that no longer exists.",
)
@click.option(
    "--ray",
    "address",
    metavar="ADDRESS",
    help="Run on a Ray cluster: auto, local, HOST:6379 or ray://HOST:10001.",
)
@click.option(
    "--reuse-workers",
    is_flag=True,
    help="Execute all runs of a model in one process, so that it is compiled once.",
)
@click.option("--slurm", is_flag=True, help="Submit the runs to Slurm, as job arrays.")
@click.option(
    "--sbatch",
    "options",
    metavar="OPTION",
    multiple=True,
    help="An option of sbatch for --slurm, such as --partition=gpu; repeatable.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print no progress, and no line for each run.")
@as_json
def run(
    sweep: str,
    dry_run: bool,
    jobs: int | None,
    jobs_per_gpu: int,
    retries: int,
    halve: bool,
    steal: bool,
    address: str | None,
    reuse_workers: bool,
    slurm: bool,
    options: Sequence[str],
    quiet: bool,
    as_json: bool,
) -> int:
    """Train every model of a sweep on every mixture, and measure the losses.

    The command first prints what remains to be done: tokens, epochs, FLOP, time, memory and disk.
    Finished runs are not repeated, interrupted runs are resumed, and the grid may be extended later.

    On SIGTERM or Ctrl-C all runs save their state (exit code 75 or 130), and the same command
    resumes them. A second signal kills them. The exit code is 1 if a run failed, diverged or is
    locked by another process.

    With `nodes = 2` in [run], start the same command on both machines, with MASTER_ADDR,
    MASTER_PORT and NODE_RANK in the environment.
    """
    needs("pydantic")
    from lawdsl.reporting.runs import show_plan
    from lawdsl.reporting.terminal import console, print_diagnostics
    from lawdsl.runners.sweeps import export
    from lawdsl.runners.sweeps.branches import record_branches, release
    from lawdsl.runners.sweeps.grid import orders_of
    from lawdsl.runners.sweeps.inputs import inputs_of
    from lawdsl.runners.sweeps.plan import plan_of
    from lawdsl.runners.sweeps.scheduler import Policy
    from lawdsl.runners.sweeps.sweep import read_sweep

    check_combination(slurm=slurm, options=options, address=address, reuse_workers=reuse_workers)
    read = read_sweep(Path(sweep))
    policy = Policy(retries, halve, steal)
    node = None if dry_run or slurm else node_of(read, address)
    if node is not None and node.number:
        return follow_first_node(node, policy, as_json)
    refusals: list[Diagnostic] = []  # of a plan that is only printed
    machines = (
        slurm_machine(read, jobs)
        if slurm
        else _machines(
            address, read, jobs, jobs_per_gpu, policy, reuse_workers, refusals if dry_run else None
        )
    )
    with listening(read, node) as listener, machines as (cluster, at_once, engine):
        with notice(quiet or as_json, INSPECTING.format(models=", ".join(read.models))):
            inputs = inputs_of(read, machine=cluster)
        orders = orders_of(read, inputs, cluster)
        plan = plan_of(read, inputs, orders, cluster, at_once, jobs_per_gpu, refuse=not dry_run)
        if slurm:
            warnings = (*plan.warnings, *unseen_gpus(read, plan, cluster))
            plan = replace(plan, warnings=warnings)
        try:
            export.refuse_overwriting(read, plan.runs)
        except LawdslError as error:
            if not dry_run:
                raise
            refusals += error.diagnostics
        planned = plan.to_json()
        if not as_json:
            show_plan(planned, console())
            sys.stdout.flush()
            if not dry_run:
                print_diagnostics(plan.warnings)
        if slurm and not dry_run:
            record_branches((run.folder, run.order) for run in plan.runs)
            release([(run.folder, run.order) for run in plan.runs])
            for finished in (r for r in plan.runs if r.state.status == "done"):
                _export_model(read, finished, as_json)
            return submit_runs(read, plan, policy, jobs, options, as_json=as_json)
        done = None if dry_run else _run_sweep(read, plan, engine, node, listener, quiet or as_json)
    if done is None:
        return _finish_plan(planned, plan.warnings, (*refusals, *plan.errors), as_json=as_json)
    return _finish(sweep, planned, plan.warnings, *done, as_json=as_json)


def _finish_plan(
    plan: dict[str, Any],
    warnings: Sequence[Diagnostic],
    errors: Sequence[Diagnostic],
    *,
    as_json: bool,
) -> int:
    """Finish a command that only prints the plan; return the exit code: 3 if the plan cannot be
    executed.
    """
    code = finish(
        "run",
        {"plan": plan},
        (*warnings, *errors),
        ok=not errors,
        as_json=as_json,
        show=lambda: None,
    )
    return 3 if errors else code


def _run_sweep(
    sweep: Sweep,
    plan: Plan,
    engine: local.LocalEngine | ray.RayEngine,
    node: nodes.NodeAddress | None,
    listener: socket.socket | None,
    silent: bool,
) -> tuple[list[Outcome], StopRequest]:
    """Execute the remaining runs of a sweep; return their outcomes, and the request to stop."""
    from lawdsl.runners.corpora.corpus import open_corpus
    from lawdsl.runners.corpora.verification import verify
    from lawdsl.runners.sweeps.branches import record_branches, release
    from lawdsl.runners.sweeps.scheduler import StopRequest, run_jobs

    record_branches((run.folder, run.order) for run in plan.runs)
    release([(run.folder, run.order) for run in plan.runs])
    if plan.to_do:
        folders = [c.folder for c in sweep.corpora.values()] + list(sweep.validation.values())
        verify(open_corpus(folder) for folder in folders)
    for run in plan.runs:
        if run.state.status == "done":
            _export_model(sweep, run, silent)
    with (
        StopRequest(_announce_stop) as stop,
        _sweep_progress(plan, silent) as (print_outcome, progress),
    ):

        def ended(outcome: Outcome) -> None:
            print_outcome(outcome)
            if outcome.status == "done":
                _export_model(sweep, outcome.run, silent)

        def retried(run: PlannedRun, why: str) -> None:
            if not silent:
                print_message(f"{run.label}: {why}")

        with all_nodes(sweep, engine, node, listener, stop, idle=not plan.to_do) as executor:
            return run_jobs(executor, plan.to_do, stop, ended, progress, retried), stop


def _announce_stop() -> None:
    print_message("stopping: the runs save themselves; a second signal kills them")


def _finish(
    path: str,
    plan: dict[str, Any],
    warnings: Sequence[Diagnostic],
    outcomes: Sequence[Outcome],
    stop: StopRequest,
    *,
    as_json: bool,
) -> int:
    """Print the outcomes of the runs of a sweep; return the exit code."""
    from lawdsl.reporting.runs import show_outcomes
    from lawdsl.reporting.terminal import console

    result = {"plan": plan, "outcomes": [outcome.to_json() for outcome in outcomes]}
    complete = all(outcome.status in ("done", "paused") for outcome in outcomes)

    def show() -> None:
        if outcomes:
            show_outcomes(result["outcomes"], console())
        if stop.signal:
            print_message("stopped; the same command resumes the runs")
        elif complete:
            click.echo(f"next: lawdsl collect {shlex.quote(path)} -o runs.parquet")

    diagnostics = (
        *(warnings if as_json else ()),
        *_findings(outcomes),
    )  # printed on the terminal already
    code = finish("run", result, diagnostics, ok=complete, as_json=as_json, show=show)
    return stop.code if stop.signal else code


def _findings(outcomes: Sequence[Outcome]) -> Iterator[Diagnostic]:
    """A diagnostic for each run that is not done."""
    for outcome in outcomes:
        if outcome.status not in FINDINGS:
            continue
        code, severity, help = FINDINGS[outcome.status]
        what = {"oom": "ran out of memory", "held": "is held by"}
        message = f"{outcome.run.label} {what.get(outcome.status, outcome.status)}"
        message += f": {outcome.message}" if outcome.message else ""
        folder = str(outcome.run.folder)
        yield Diagnostic(code, message, severity, place=folder, notes=outcome.log, help=help)
    unstarted = Counter(o.message for o in outcomes if o.status == "left" and o.message)
    for why, number in unstarted.items():
        message = f"{number} run{' was' if number == 1 else 's were'} not begun: {why}"
        help = "run the sweep again when that has changed"
        yield Diagnostic("R0116", message, "warning", help=help)


def _export_model(sweep: Sweep, run: PlannedRun, silent: bool) -> None:
    """Export the model of a finished run if the sweep has a folder for exports, and print the path."""
    from lawdsl.runners.sweeps import export

    folder = export.export(sweep, run)
    if folder is not None and not silent:
        print_message(f"wrote {folder}")


@contextmanager
def _sweep_progress(
    plan: Plan, silent: bool
) -> Iterator[tuple[Callable[[Outcome], None], Progress]]:
    """Functions that report a finished run, and the tokens so far, on a terminal as a progress bar."""
    from lawdsl.reporting.runs import at_work, outcome_line
    from lawdsl.reporting.terminal import Stream

    err = Stream(stderr=True, highlight=False, soft_wrap=True)

    def print_outcome(outcome: Outcome) -> None:
        if not silent and outcome.status not in ("stopped", "left"):
            err.print(outcome_line(outcome.to_json()))

    total = sum(run.tokens for run in plan.to_do)
    begun = sum(run.trained(run.state.tokens) for run in plan.to_do)
    if silent:
        yield print_outcome, lambda tokens, working, speed: None
        return
    if not sys.stderr.isatty():
        yield print_outcome, _log_each_tenth(begun, total)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %"))
    with Progress(
        *columns,
        TimeRemainingColumn(),
        console=err,
        transient=True,
        speed_estimate_period=1800,  # rows are minutes apart
    ) as bar:
        task = bar.add_task("", total=total, completed=begun)

        def progress(tokens: int, working: int, speed: Speed) -> None:
            description = at_work(working, speed.tokens_per_second, speed.mfu)
            bar.update(task, completed=tokens, description=description)

        yield print_outcome, progress


def _log_each_tenth(begun: int, total: int) -> Progress:
    """A function that prints a line for each tenth of the tokens, for logs."""
    from lawdsl.reporting.runs import at_work

    reported = [10 * begun // max(total, 1)]

    def progress(tokens: int, working: int, speed: Speed) -> None:
        now = 10 * tokens // max(total, 1)
        if now > reported[0]:
            reported[0] = now
            activity = at_work(working, speed.tokens_per_second, speed.mfu)
            print_message(f"{10 * now} % of {total:,} tokens, {activity}")

    return progress


@contextmanager
def _machines(
    address: str | None,
    sweep: Sweep,
    jobs: int | None,
    jobs_per_gpu: int,
    policy: Policy,
    reuse_workers: bool,
    refusals: list[Diagnostic] | None,
) -> Iterator[tuple[Machine, int, local.LocalEngine | ray.RayEngine]]:
    """The machine or the cluster, the number of runs at once, and the engine that executes them.

    Errors about this machine are added to `refusals`, or raised if that is None.
    """
    from lawdsl.runners.sweeps import local, machine, workers

    hows = set(sweep.how.values())
    if address is None:
        local_machine = machine.this_machine()
        try:
            at_once = machine.at_once(local_machine, hows, jobs, jobs_per_gpu)
        except LawdslError as error:
            if refusals is None:
                raise
            refusals += error.diagnostics
            at_once = jobs or 1
        local_engine = local.LocalEngine(
            local_machine, at_once, policy, workers.WORKER, reuse=reuse_workers
        )
        with closing(local_engine):
            yield local_machine, at_once, local_engine
        return
    needs("ray", extra="ray")
    from lawdsl.runners.sweeps import ray, ray_cluster

    with ray_cluster.joined(address):
        nodes = ray_cluster.nodes()
        cluster = ray_cluster.machine_of(nodes)
        kinds = {ray_cluster.needs_of(how, cluster, jobs_per_gpu) for how in hows}
        at_once = ray_cluster.at_once(nodes, kinds, jobs)
        engine = ray.RayEngine(cluster, jobs, jobs_per_gpu, policy, workers.WORKER)
        yield cluster, at_once, engine


COMMANDS = (run,)
