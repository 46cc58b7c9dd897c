"""sweep.toml -> the runs it specifies; all mistakes in the file are reported together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.language.keywords import did_you_mean

from ..run.evaluation_steps import ListedSteps
from ..spec import ExecutionConfig, Training
from .file import Also, Columns, CorpusEntry, Grid, ModelEntry
from .file_errors import (
    Problems,
    model_sections,
    raise_mistakes,
    read_toml,
    selection,
    sweep_diagnostic,
    valid_sections,
)
from .meant_values import meant_runs
from .settings import setting_errors
from .stages import TrainingStage, doubly_specified, stages_of

Shares = Mapping[str, Fraction]
Written = Mapping[str, str]  # shares as text


@dataclass(frozen=True)
class GridRun:
    """One run of the grid.

    Attributes:
        model: the name of the model.
        shares: the shares as written, which are part of the label.
        mixture: corpus -> share, without zeros: unused corpora are not part of a run, so that
            further ones may be added to a sweep.
        seed: the seed of the run.
    """

    model: str
    shares: Shares
    mixture: Shares
    seed: int

    @property
    def label(self) -> str:
        """What people call the run: `0.2M_code=0.3_seed=1`."""
        shares = [f"{name}={float(share):.4g}" for name, share in self.shares.items()]
        return "_".join((self.model, *shares, f"seed={self.seed}"))


@dataclass(frozen=True)
class Sweep:
    """A self-consistent sweep, before its folders are inspected.

    Attributes:
        path: the path of the file.
        name: the name of the sweep.
        folder: the folder of its runs.
        corpora, validation, models: name -> entry, with absolute folders.
        cells: the distinct runs, in the order of the file.
        training, how: model -> the settings of its runs.
        stages: model -> the runs of each of its cells, a stable run before its branches.
        domain, general: the corpora named in the table's columns `domain` and `general`.
        dlc: the run that determines k1, k2 and k3, and their unit in steps.
        export: folder of trained models, with {model} for the name.
        is_selection: whether it has some of the runs of a larger sweep, in whose folder they are.
        wanted: label of a cell -> the suffixes of its branches that are selected; all where it has
            no entry.
    """

    path: Path
    name: str
    folder: Path
    corpora: Mapping[str, CorpusEntry]
    validation: Mapping[str, str]
    models: Mapping[str, ModelEntry]
    cells: tuple[GridRun, ...]
    training: Mapping[str, Training]
    how: Mapping[str, ExecutionConfig]
    stages: Mapping[str, tuple[TrainingStage, ...]]
    domain: str | None
    general: str | None
    dlc: tuple[GridRun, int] | None
    export: str | None
    is_selection: bool = False
    wanted: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def stages_of(self, cell: GridRun) -> tuple[TrainingStage, ...]:
        """The runs of a cell: all, or its stable run and the branches that are selected."""
        stages, wanted = self.stages[cell.model], self.wanted.get(cell.label)
        if wanted is None:
            return stages
        return tuple(s for s in stages if s.branch_steps or s.suffix in wanted)

    def pause_of(self, cell: GridRun) -> int | None:
        """The step after which the stable run of a cell is paused; None where it goes on to its end."""
        stages = self.stages_of(cell)
        if len(stages) == len(self.stages[cell.model]):
            return None
        last = max(stage.begins for stage in stages)
        return None if last == stages[0].training.steps else last


def read_sweep(path: Path) -> Sweep:
    """Read a sweep from its file.

    Raises:
        LawdslError: the file cannot be read or is not TOML (R0103); every mistake in its content
            (R0102), and every undefined name in it (R0104).
    """
    raw = read_toml(path)
    if "extends" in raw:
        return _selected(path, raw)
    file, problems = valid_sections(raw)
    training, how, more = model_sections(raw)
    problems += more
    problems += _models(file, how)
    problems += setting_errors(raw, training, how)
    problems += _names(raw)
    problems += doubly_specified(raw)
    stages, more = _stages(file, training)
    # a grid can be checked only if its names and tables are valid
    raise_mistakes(path, problems + more)
    cells, problems = _grid_runs(file)
    table: Columns = file["table"]
    domain, general = _domains(file, table)
    dlc, more = _reference(table, file["grid"], cells)
    problems += more
    problems += _exports(file["export"], cells, how, stages)
    raise_mistakes(path, problems)
    return Sweep(
        path=path,
        name=file["name"],
        folder=Path(_relative_path(path, file["folder"])),
        corpora={
            name: corpus.model_copy(update={"folder": _relative_path(path, corpus.folder)})
            for name, corpus in file["corpora"].items()
        },
        validation={
            name: _relative_path(path, folder) for name, folder in file["validation"].items()
        },
        models={
            m.name: m.model_copy(update={"folder": m.folder and _relative_path(path, m.folder)})
            for m in file["models"]
        },
        cells=cells,
        training=training,
        how=how,
        stages=stages,
        domain=domain,
        general=general,
        dlc=dlc,
        export=file["export"] and _relative_path(path, file["export"]),
    )


def _selected(path: Path, raw: Mapping[str, Any]) -> Sweep:
    """The sweep that a file extends, with the runs alone that it selects."""
    chosen = selection(path, raw)
    base = Path(_relative_path(path, chosen.extends))
    if "extends" in read_toml(base):
        message = f"extends: {chosen.extends} selects runs of a third file"
        help = "extend the sweep that has the grid"
        raise_mistakes(path, [sweep_diagnostic("extends", message, help)])
    sweep = read_sweep(base)
    cells = {cell.label: cell for cell in sweep.cells}
    branches = {
        cell.label + stage.suffix: (cell.label, stage.suffix)
        for cell in sweep.cells
        for stage in sweep.stages[cell.model]
        if stage.begins
    }
    unknown = [label for label in chosen.only if label not in cells and label not in branches]
    raise_mistakes(
        path,
        [
            sweep_diagnostic(
                "only",
                f"unknown run `{label}`",
                meant_runs(label, (*cells, *branches))
                or did_you_mean(
                    label,
                    (*cells, *branches),
                    f"`lawdsl run {chosen.extends} --dry-run --json` lists them",
                ),
                "R0104",
            )
            for label in unknown
        ],
    )
    wanted: dict[str, set[str]] = {}
    for label in chosen.only:
        cell, suffix = branches.get(label, (label, ""))
        wanted.setdefault(cell, set()).add(suffix)
    return replace(
        sweep,
        path=path,
        cells=tuple(cells[label] for label in wanted),
        is_selection=True,
        wanted={c: frozenset(suffixes) for c, suffixes in wanted.items() if "" not in suffixes},
    )


def _relative_path(path: Path, folder: str) -> str:
    """The path of a folder, relative to that of the file."""
    # abspath, not resolve: symbolic links are preserved
    return os.path.abspath(path.parent / os.path.expanduser(folder))


def _models(file: Mapping[str, Any], how: Mapping[str, ExecutionConfig]) -> Problems:
    """Check that each model is either a folder or a configuration with random weights."""
    problems: Problems = []
    for number, model in enumerate(file.get("models", ()), 1):
        location = f"models[{number}]"
        if (model.folder is None) == (model.config is None):
            help = "give the folder of a model, or a configuration whose weights are drawn"
            problems.append(
                sweep_diagnostic(location, f"{location} has one of `folder` and `config`", help)
            )
        elif model.config is not None and model.initialization is None:
            help = 'width-scaled for models narrower than some hundred, else "transformers"'
            message = f"{location}.initialization is missing: how are the weights drawn?"
            problems.append(sweep_diagnostic(location, message, help))
    return problems


def _names(raw: Mapping[str, Any]) -> Problems:
    """Errors about undefined names of corpora and models, in all tables of the file."""
    corpora = tuple(_table(raw.get("corpora")))
    models = tuple(m["name"] for m in _tables(raw.get("models")) if isinstance(m.get("name"), str))
    grid, table = _table(raw.get("grid")), _table(raw.get("table"))
    dlc = _table(table.get("dlc"))
    more_grids = [(f"also[{i}]", entry) for i, entry in enumerate(_tables(raw.get("also")), 1)]
    used: list[tuple[str, Any, tuple[str, ...], str]] = [
        ("grid.rest", grid.get("rest"), corpora, "corpus"),
        ("table.domain", table.get("domain"), corpora, "corpus"),
        ("table.general", table.get("general"), corpora, "corpus"),
        ("table.dlc.model", dlc.get("model"), models, "model"),
    ]
    used += [("table.dlc.shares", name, corpora, "corpus") for name in _table(dlc.get("shares"))]
    for location, entry in [("grid", grid), *more_grids]:
        for i, shares in enumerate(_tables(entry.get("shares")), 1):
            used += [(f"{location}.shares[{i}]", name, corpora, "corpus") for name in shares]
        if isinstance(entry.get("models"), list):
            used += [(f"{location}.models", name, models, "model") for name in entry["models"]]
    problems = []
    for location, name, valid_names, kind in used:
        if valid_names and isinstance(name, str) and name not in valid_names:
            help = did_you_mean(name, valid_names, f"there are {', '.join(valid_names)}")
            problems.append(sweep_diagnostic(location, f"unknown {kind} `{name}`", help, "R0104"))
    return problems


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _tables(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _stages(
    file: Mapping[str, Any], training: Mapping[str, Training]
) -> tuple[dict[str, tuple[TrainingStage, ...]], Problems]:
    """Model -> the runs of each of its cells; empty if the required tables are invalid."""
    by_model: dict[str, tuple[TrainingStage, ...]] = {}
    problems: Problems = []
    for model, requested in training.items():
        # the schedule of [training] is checked even if another table is invalid
        evaluation = file.get("evaluation", ListedSteps(steps=()))
        branching = file.get("schedule") if "evaluation" in file else None
        by_model[model], more = stages_of(requested, evaluation, branching)
        problems += more
    return by_model, problems


def _grid_runs(file: Mapping[str, Any]) -> tuple[tuple[GridRun, ...], Problems]:
    """The distinct runs of the grid and of the further tables."""
    grid: Grid = file["grid"]
    problems: Problems = []
    incomplete: list[tuple[str, Written]] = []
    for location, written in _mixtures(file):
        if why := _not_a_mixture(written, grid.rest):
            problems.append(sweep_diagnostic(location, f"{location}: {why}"))
        elif grid.rest is None and _total(written) < 1:
            incomplete.append((location, written))
    if incomplete:
        problems.append(_without_rest(incomplete, file["corpora"]))
    if problems:
        return (), problems
    everyone = tuple(model.name for model in file["models"])
    cells: dict[tuple[object, ...], GridRun] = {}
    for part in (Also(), *file["also"]):
        for name in part.models or everyone:
            for written in part.shares or grid.shares:
                for seed in part.seeds or grid.seeds:
                    cell = _grid_run(name, written, grid.rest, seed)
                    # by mixture, not by the shares as written, which may omit the rest
                    key = (name, frozenset(cell.mixture.items()), seed)
                    cells.setdefault(key, cell)
    return tuple(cells.values()), []


def _mixtures(file: Mapping[str, Any]) -> Iterator[tuple[str, Written]]:
    """Every mixture in the file, with its location."""
    more_grids = ((f"also[{number}]", entry) for number, entry in enumerate(file["also"], 1))
    for location, entry in (("grid", file["grid"]), *more_grids):
        for number, shares in enumerate(entry.shares or (), 1):
            yield f"{location}.shares[{number}]", shares
    if file["table"].dlc:
        yield "table.dlc.shares", file["table"].dlc.shares


def _not_a_mixture(written: Written, rest: str | None) -> str:
    """Why shares are not a valid mixture; empty if they are."""
    total = _total(written)
    if rest in written:
        return f"{rest} has the rest, and so no share of its own"
    if total > 1:
        return f"the shares add up to {total}, more than 1"
    return ""


def _total(written: Written) -> Fraction:
    return sum((Fraction(share) for share in written.values()), Fraction(0))


def _without_rest(incomplete: Sequence[tuple[str, Written]], corpora: Iterable[str]) -> Diagnostic:
    """The message about mixtures whose shares add up to less than 1, with no corpus for the rest."""
    location, written = incomplete[0]
    more = f" and {len(incomplete) - 1} more" if len(incomplete) > 1 else ""
    message = (
        f"the shares of {location}{more} add up to {_total(written)}, not 1, "
        "and no `rest` says which corpus has the rest"
    )
    used = {name for _, shares in incomplete for name in shares}
    left = [name for name in corpora if name not in used]
    help = f'write `rest = "{left[0] if len(left) == 1 else "…"}"` into [grid]'
    if len(left) != 1:
        help += f", one of {', '.join(left or corpora)}"
    return sweep_diagnostic(location, message, help)


def _grid_run(model: str, written: Written, rest: str | None, seed: int) -> GridRun:
    # exact: 0.1 + 0.2 + 0.7 is 1
    shares = {name: Fraction(share) for name, share in written.items()}
    mixture = dict(shares)
    if rest is not None:
        mixture[rest] = 1 - sum(shares.values(), Fraction(0))
    return GridRun(
        model, shares, {name: mixture[name] for name in sorted(mixture) if mixture[name]}, seed
    )


def _domains(file: Mapping[str, Any], table: Columns) -> tuple[str | None, str | None]:
    """The domain and the general corpus: the corpus with the remaining share is the general one,
    the other is the domain."""
    general = table.general or file["grid"].rest
    others = [name for name in file["corpora"] if name != general]
    domain = others[0] if general and len(others) == 1 else None
    return table.domain or domain, general


def _reference(
    table: Columns, grid: Grid, cells: Sequence[GridRun]
) -> tuple[tuple[GridRun, int] | None, Problems]:
    """The run that determines k1, k2 and k3, which must be part of the sweep."""
    dlc = table.dlc
    if dlc is None:
        return None, []
    reference = _grid_run(dlc.model, dlc.shares, grid.rest, dlc.seed or 0)
    for cell in cells:
        same = cell.model == reference.model and cell.mixture == reference.mixture
        if same and dlc.seed in (None, cell.seed):
            return (cell, dlc.steps), []
    help = "name one that the grid has"
    return None, [
        sweep_diagnostic("table.dlc", "no run of the grid has that model, mixture and seed", help)
    ]


def _exports(
    export: str | None,
    cells: Sequence[GridRun],
    how: Mapping[str, ExecutionConfig],
    stages: Mapping[str, Sequence[TrainingStage]],
) -> Problems:
    """Check that every exported model has a folder of its own."""
    if export is None:
        return []
    problems = []
    # the model of a stable run, which serves its branches only, is not exported
    models = [c.model for c in cells for stage in stages[c.model] if not stage.branch_steps]
    if len({export.replace("{model}", model) for model in models}) < len(models):
        help = "export from a sweep with one run a model, to a folder with {model} in its name"
        problems.append(
            sweep_diagnostic("export", "several runs would put their models into one folder", help)
        )
    for model in dict.fromkeys(models):
        if not how[model].save_final:
            message = f"the runs of {model} do not keep their model"
            problems.append(sweep_diagnostic("export", message, "leave out save_final = false"))
    return problems
