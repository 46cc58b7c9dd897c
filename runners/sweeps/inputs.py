"""The folders of a sweep -> their facts, checked for consistency; torch is not loaded.

Everything that can be checked is checked before any run starts.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.optional_packages import missing, needs

from ..corpora.corpus import mixed_tokenizers, open_corpus
from ..run.memory import MemoryProfile
from ..run.model_facts import Experts, ModelFacts
from .machine import Machine, resolved_precision
from .sweep import Sweep

INSPECT_SECONDS = 600.0  # per model: one of 4 billion parameters takes 30 on an idle machine
# -P: a file of the working directory must not be imported in place of a module
INSPECT = (sys.executable, "-P", "-m", "lawdsl.runners.sweeps.inspecting")

Source = str | Mapping[str, Any]  # the folder of a model, or a configuration


@dataclass(frozen=True)
class CorpusFacts:
    """Facts about a corpus, obtained without reading its tokens.

    Attributes:
        folder: the folder of the corpus.
        fingerprint: the fingerprint of its tokens.
        tokens: number of tokens.
        vocabulary: size of the vocabulary.
        tokenizer: SHA-256 of the tokenizer.
    """

    folder: str
    fingerprint: str
    tokens: int
    vocabulary: int
    tokenizer: str

    def windows(self, sequence: int) -> int:
        """The number of rows of `sequence` tokens, each with the token after it."""
        return max(0, (self.tokens - 1) // sequence)


@dataclass(frozen=True)
class SweepInputs:
    """The facts of a sweep's corpora, validation sets and models, each name -> facts."""

    corpora: Mapping[str, CorpusFacts]
    validation: Mapping[str, CorpusFacts]
    models: Mapping[str, ModelFacts]


def inputs_of(
    sweep: Sweep,
    inspect: Callable[[Sequence[Source]], list[ModelFacts]] | None = None,
    machine: Machine | None = None,
) -> SweepInputs:
    """Inspect all corpora and models of a sweep.

    Args:
        sweep: the sweep.
        inspect: returns the facts of models; by default in a process that loads torch.
        machine: the machine of the runs; None if their memory need not be estimated.

    Returns:
        The facts.

    Raises:
        LawdslError: with everything that is missing, unusable or inconsistent; where corpora are, the
            models are not inspected.
    """
    problems: list[Diagnostic] = []
    folders = {name: corpus.folder for name, corpus in sweep.corpora.items()}
    corpora = _corpora(sweep, "corpora", folders, problems)
    validation = _corpora(sweep, "validation", sweep.validation, problems)
    problems += _trained_on(sweep, corpora, validation)
    problems += _missing_packages(sweep)
    if problems and inspect is None:  # models take seconds to inspect
        raise LawdslError(problems)
    sources: list[Source] = [m.folder or m.config or {} for m in sweep.models.values()]
    try:
        passes = [_passes(sweep, name, machine) for name in sweep.models]
        facts = inspect(sources) if inspect else describe(sources, passes)
        models = dict(zip(sweep.models, facts, strict=True))
    except LawdslError as error:
        problems += (replace(d, place=f"{sweep.path}: {d.place}") for d in error.diagnostics)
        models = {}
    named = {**_corpus_kinds("validation", validation), **_corpus_kinds("corpora", corpora)}
    if mixed := mixed_tokenizers((name, corpus.tokenizer) for name, corpus in named.items()):
        problems.append(mixed)
    for name, model in models.items():
        problems += _check_fits_corpora(sweep, name, model, corpora, validation)
    problems += _long_rows(sweep, models)
    if problems:
        raise LawdslError(problems)
    return SweepInputs(corpora, validation, models)


def _missing_packages(sweep: Sweep) -> Iterator[Diagnostic]:
    """The missing packages of the requested logs."""
    if any("wandb" in (how.log or ()) for how in sweep.how.values()) and missing("wandb"):
        help = "pip install 'lawdsl[wandb]', or leave wandb out of `log`"
        place = f"{sweep.path}: run.log"
        yield Diagnostic("R0101", "wandb cannot be imported", place=place, help=help)


def _passes(sweep: Sweep, model: str, machine: Machine | None) -> dict[str, Any] | None:
    """The settings that determine the memory of a model's passes; None if not requested."""
    if machine is None:
        return None
    training, how = sweep.training[model], sweep.how[model]
    fields = {"sequence", "precision", "dropout"} | training.model_fields_set & {"router_loss"}
    passes = resolved_precision(training, how, machine).model_dump(include=fields)
    return passes | {"shards": how.processes if how.sharded else 1}


def describe(
    sources: Sequence[Source], passes: Sequence[Mapping[str, Any] | None] | None = None
) -> list[ModelFacts]:
    """Return the facts of models, computed in a process that loads torch and ends.

    Args:
        sources: folders and configurations.
        passes: for each model, the fields of `PassSettings` for which memory is counted; a missing
            `router_loss` is taken from the configuration; None for none.

    Returns:
        The facts, in that order.

    Raises:
        LawdslError: packages are missing (R0101), or with why models cannot be used; the process
            takes longer than is allowed (R0146).
        RuntimeError: the process failed.
    """
    needs("torch", "transformers")
    requests = list(zip(sources, passes or [None] * len(sources), strict=True))
    limit = INSPECT_SECONDS * max(1, len(requests))
    try:
        done = subprocess.run(
            INSPECT, input=json.dumps(requests), capture_output=True, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        message = f"the models were not inspected within {limit:,.3g} s"
        help = "run it again when the machine is less busy; what was counted until then is kept"
        raise LawdslError(Diagnostic("R0146", message, help=help)) from None
    if done.returncode != 0:
        raise RuntimeError(f"models could not be looked at:\n{done.stderr}")
    # libraries may print as well; the answer is the last line
    answers = json.loads(done.stdout.splitlines()[-1])
    mistakes = [
        Diagnostic(
            d["code"],
            d["message"],
            place=f"models[{number}].{'folder' if isinstance(source, str) else 'config'}",
            notes=tuple(d["notes"]),
            help=d["help"],
        )
        for number, (source, answer) in enumerate(zip(sources, answers, strict=True), 1)
        for d in answer.get("mistakes", ())
    ]
    if mistakes:
        raise LawdslError(mistakes)
    return [
        _facts(answer["facts"] | {"uncounted": answer["uncounted"]}, answer["memory"])
        for answer in answers
    ]


def _facts(plain: dict[str, Any], memory: Sequence[Mapping[str, Any]] | None) -> ModelFacts:
    experts = plain.pop("experts")
    if experts is not None:
        experts = Experts(**experts | {"auxiliary": tuple(experts["auxiliary"])})
    profiles = {bool(i): MemoryProfile.from_json(each) for i, each in enumerate(memory or ())}
    return ModelFacts(**plain | {"experts": experts, "memory": profiles})


def _corpora(
    sweep: Sweep, table: str, folders: Mapping[str, str], problems: list[Diagnostic]
) -> dict[str, CorpusFacts]:
    """Open the corpora in a table; errors about unusable ones are appended to `problems`."""
    corpora = {}
    for name, folder in folders.items():
        try:
            corpus = open_corpus(folder)
        except LawdslError as error:
            named = f"{sweep.path} names it: {table}.{name}"
            problems += (replace(d, notes=(*d.notes, named)) for d in error.diagnostics)
            continue
        corpora[name] = CorpusFacts(
            folder,
            corpus.fingerprint,
            len(corpus.tokens),
            corpus.vocabulary,
            corpus.facts["sha256"]["tokenizer.json"],
        )
    return corpora


def _trained_on(
    sweep: Sweep, corpora: Mapping[str, CorpusFacts], validation: Mapping[str, CorpusFacts]
) -> Iterator[Diagnostic]:
    """Errors about validation sets that are also training corpora."""
    for name, held_out in validation.items():
        for other, corpus in corpora.items():
            if held_out.fingerprint == corpus.fingerprint:
                location = f"{sweep.path}: validation.{name}"
                message = f"the validation set {name} has the tokens of the corpus {other}"
                help = "validate on text that is held out: `lawdsl corpus --split`"
                yield Diagnostic("R0105", message, place=location, help=help)


def _corpus_kinds(table: str, corpora: Mapping[str, CorpusFacts]) -> dict[str, CorpusFacts]:
    return {f"{table}.{name}": corpus for name, corpus in corpora.items()}


def _long_rows(sweep: Sweep, models: Mapping[str, ModelFacts]) -> Iterator[Diagnostic]:
    """Errors about models with fewer positions than rows have tokens, one for each length of rows."""
    short: dict[int, dict[str, int]] = {}
    for name, model in models.items():
        sequence = sweep.training[name].sequence
        if model.positions is not None and sequence > model.positions:
            short.setdefault(sequence, {})[name] = model.positions
    for sequence, positions in short.items():
        fewest = min(positions.values())
        having = ", ".join(f"{name} has positions for {count}" for name, count in positions.items())
        shared = len(positions) > 1 or len(models) == 1
        place = "training.sequence" if shared else f"models.{next(iter(positions))}"
        message = f"rows have {sequence} tokens, {having}"
        help = f"shorten them: write `sequence = {fewest}`"
        yield Diagnostic("R0105", message, place=f"{sweep.path}: {place}", help=help)


def _check_fits_corpora(
    sweep: Sweep,
    name: str,
    model: ModelFacts,
    corpora: Mapping[str, CorpusFacts],
    validation: Mapping[str, CorpusFacts],
) -> list[Diagnostic]:
    """Check that a model can be trained on the corpora as ordered."""
    entry, sequence = sweep.models[name], sweep.training[name].sequence
    location = f"{sweep.path}: models.{name}"
    diagnostics = []
    if not model.weights and entry.initialization is None:
        message = f"the folder of {name} holds no weights: how are they drawn?"
        help = 'initialization = "width-scaled" for models narrower than some hundred, or "transformers"'
        diagnostics.append(Diagnostic("R0105", message, place=location, help=help))
    largest = max((c.vocabulary for c in (*corpora.values(), *validation.values())), default=0)
    unsaid = entry.config is not None and "vocab_size" not in entry.config
    if unsaid and model.vocabulary > largest:
        message = f"the configuration of {name} has no vocab_size; it would be {model.vocabulary:,}"
        help = f"vocab_size = {largest}: so many kinds of tokens the corpora have"
        diagnostics.append(Diagnostic("R0105", message, place=location, help=help))
    elif largest > model.vocabulary:
        message = f"the corpora have {largest:,} kinds of tokens, {name} knows {model.vocabulary:,}"
        help = "make the corpora with the model's own tokenizer"
        if entry.config is not None:  # its weights are drawn, so that it may have any size
            help = (
                f"write `vocab_size = {largest}` in the config of {name}: the corpora need so many"
            )
        diagnostics.append(Diagnostic("R0105", message, place=location, help=help))
    for kind, few in (
        _corpus_kinds("validation", validation).items() | _corpus_kinds("corpora", corpora).items()
    ):
        if few.windows(sequence) == 0:
            message = f"{few.folder} has {few.tokens} tokens, less than one row of {sequence}"
            help = "shorten training.sequence, or bring more text"
            diagnostics.append(
                Diagnostic("R0105", message, place=f"{sweep.path}: {kind}", help=help)
            )
    return diagnostics
