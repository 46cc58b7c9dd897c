"""`lawdsl validation`: texts -> a validation set of random samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lawdsl.cli.options import as_json, finish, on_interrupt, option_group, print_message, quiet
from lawdsl.cli.progress import progress
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.optional_packages import needs

if TYPE_CHECKING:
    from lawdsl.runners.corpora.tokenizer import Tokenizer
    from lawdsl.runners.validation.samples import SampleSet
    from lawdsl.runners.validation.sets import Panel, SampleLosses

TOKENS = {"cpu": 4096, "cuda": 32768}
"""Default number of tokens in a forward pass, by kind of device."""


class _Part(click.ParamType):  # type: ignore[type-arg]
    """A parameter type: a fraction of at least 0 and less than 1, written 0.1 or 1/10."""

    name = "part"

    def convert(self, value: Any, param: Any, ctx: Any) -> Fraction:
        try:
            part = Fraction(value)
        except (ValueError, ZeroDivisionError):
            self.fail(f"{value!r} is not a number", param, ctx)
        if not 0 <= part < 1:
            self.fail(f"{value} is not at least 0 and less than 1", param, ctx)
        return part


class _Count(click.ParamType):  # type: ignore[type-arg]
    """A parameter type: a positive number, or `all`, which is None."""

    name = "integer"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | None:
        if value == "all":
            return None
        if isinstance(value, str) and not (value.isascii() and value.isdigit() and int(value)):
            self.fail(f"{value!r} is neither a positive number nor `all`", param, ctx)
        return int(value)

    def get_metavar(self, param: Any, ctx: Any = None) -> str:
        return "N|all"


@click.command("validation")
@click.argument("inputs", nargs=-1, required=True, metavar="TEXT...")
@click.option("-o", "--output", required=True, metavar="FOLDER", help="Folder to write the set to.")
@click.option(
    "--model",
    "--models",
    "models",
    multiple=True,
    metavar="FOLDER",
    help="Folder of a local model, with weights as safetensors and tokenizer.json. Repeatable.",
)
@click.option(
    "--tokenizer",
    metavar="FILE",
    help="Tokenizer of the set.  [default: the tokenizer of the corpus TEXT]",
)
@click.option("--end-of-text", metavar="TOKEN", help="The token that ends a document.")
@click.option("--name", help="Name of the set.  [default: the name of its folder]")
@option_group(
    "request",
    click.option(
        "--samples",
        default=5000,
        show_default=True,
        type=_Count(),
        help="Number of samples to draw.",
    ),
    click.option(
        "--keep",
        default=1000,
        show_default=True,
        type=_Count(),
        help="Number of samples to keep.",
    ),
    click.option(
        "--worst",
        default="0.1",
        show_default=True,
        type=_Part(),
        help="Fraction of the samples with the highest perplexity that count as the worst of a model.",
    ),
    click.option(
        "--length",
        default=2048,
        show_default=True,
        type=click.IntRange(2),
        help="Largest length of a sample in tokens; a model with a shorter context sees its beginning.",
    ),
    click.option(
        "--shortest",
        default=32,
        show_default=True,
        type=click.IntRange(1),
        help="Leave out samples with fewer tokens.",
    ),
    click.option("--seed", default=0, show_default=True, help="Random seed."),
)
@option_group(
    "text",
    click.option("--glob", default="*", show_default=True, help="Which files of a folder to read."),
    click.option(
        "--text-field",
        default="text",
        show_default=True,
        help="Field of JSON lines, or column of Parquet.",
    ),
)
@option_group(
    "execution",
    click.option(
        "--device",
        default="auto",
        show_default=True,
        help="Device of the models: cpu, cuda, cuda:1 or auto.",
    ),
    click.option(
        "--threads", default=1, show_default=True, type=click.IntRange(1), help="CPU threads."
    ),
    click.option(
        "--batch-tokens",
        type=click.IntRange(1),
        help=f"Tokens per batch.  [default: {TOKENS['cpu']} on a CPU, {TOKENS['cuda']} on a GPU]",
    ),
)
@click.option("--force", is_flag=True, help="Replace an existing set.")
@click.option("--dry-run", is_flag=True, help="Count samples and tokens, and time a batch.")
@quiet
@as_json
def validation(
    inputs: tuple[str, ...],
    output: str,
    models: tuple[str, ...],
    tokenizer: str | None,
    end_of_text: str | None,
    name: str | None,
    request: Mapping[str, Any],
    text: Mapping[str, str],
    execution: Mapping[str, Any],
    force: bool,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Make a validation set from random samples of text.

    TEXT is a corpus, a file or a folder of files. Samples whose perplexity is in the highest tenth
    under all models are dropped; --keep of the others are chosen at random. Make the training
    corpora afterwards with `lawdsl corpus --against FOLDER`, so that they do not contain the set.

    With --samples all --keep all --length 2048 the command filters a whole corpus, of which longer
    documents are cut; all its samples are in memory.

    Scores are stored as they are computed: an interrupted command resumes, and with --force another
    --keep or --worst, or a further model, reuses them.
    """
    needs("tokenizers", "pydantic")
    from lawdsl.reporting.terminal import console
    from lawdsl.reporting.validation import show_set
    from lawdsl.runners.validation import report, sets
    from lawdsl.runners.validation.samples import draw
    from lawdsl.runners.validation.selection import select

    folder, silent = Path(output), quiet or as_json
    options = sets.SetRequest(**request)
    options = replace(options, shortest=min(options.shortest, options.length))
    if folder.exists() and not (force or dry_run):
        help = "--force replaces it"
        raise LawdslError(Diagnostic("R0205", "the folder exists", place=output, help=help))
    text_tokenizer = _tokenizer(inputs, tokenizer, end_of_text)
    panel = _panel(models, options.length, **execution) if models else None
    with progress(silent, "bytes read") as bar:
        drawn = draw(
            inputs,
            options.samples,
            options.seed,
            tokenizer=text_tokenizer,
            length=options.length,
            shortest=options.shortest,
            progress=bar,
            **text,
        )
    if dry_run:
        return _print_forecast(drawn, sets.forecast(drawn, panel) if panel else [], as_json)
    measured = _score_samples(drawn, panel, folder, silent) if panel else sets.unmeasured(drawn)
    selection = select(measured.losses, options.worst, options.keep)
    document = report.report(drawn, measured, selection, options)
    title = name or folder.name
    corpus = sets.write_set(
        folder, title, text_tokenizer, drawn, selection, document, inputs, force
    )
    written = {"folder": output, "tokens": len(corpus.tokens), "fingerprint": corpus.fingerprint}
    return finish(
        "validation",
        document | written,
        report.warnings_of(drawn, measured, selection, options),
        ok=True,
        as_json=as_json,
        show=lambda: show_set(document | written, console()),
    )


def _panel(
    models: Sequence[str], length: int, device: str, threads: int, batch_tokens: int | None
) -> Panel:
    """The models that score the samples, loaded on their device."""
    needs("torch", "transformers", "safetensors")
    from lawdsl.runners.spec import ExecutionConfig
    from lawdsl.runners.training.distributed import join
    from lawdsl.runners.validation import sets

    rank = join(ExecutionConfig(device=device, threads=threads))
    judges = sets.judges_of(models, length, rank)
    return sets.Panel(judges, rank, batch_tokens or TOKENS[rank.device.type])


def _score_samples(drawn: SampleSet, panel: Panel, folder: Path, silent: bool) -> SampleLosses:
    """The losses of all samples, with a progress bar; the message at an interruption states that
    scores are stored.
    """
    from lawdsl.runners.validation import sets

    resume_hint = "what was scored is kept; the same command goes on from there"
    with progress(silent, "tokens") as bar, on_interrupt(lambda: print_message(resume_hint)):
        return sets.measure(drawn, panel, folder, bar)


def _print_forecast(drawn: SampleSet, models: Sequence[dict[str, Any]], as_json: bool) -> int:
    """Print the expected cost of the command; nothing is scored."""
    from lawdsl.reporting.terminal import console
    from lawdsl.reporting.validation import show_forecast

    result = {
        "documents": drawn.documents,
        "samples": len(drawn.samples),
        "short": drawn.short,
        "models": models,
        "seconds": sum(model["seconds"] for model in models),
    }

    def show() -> None:
        show_forecast(result, console())

    return finish("validation", result, (), ok=True, as_json=as_json, show=show)


def _tokenizer(
    inputs: tuple[str, ...], tokenizer: str | None, end_of_text: str | None
) -> Tokenizer:
    """The tokenizer of the set: the one that was named, or that of the corpora from which samples
    are drawn.

    Raises:
        LawdslError: it cannot be read (R0206). click.UsageError: it is not named, and the corpora
        do not determine it.
    """
    from lawdsl.runners.corpora.corpus import is_corpus
    from lawdsl.runners.corpora.tokenizer import load_tokenizer
    from lawdsl.runners.validation.samples import tokenizer_of

    if tokenizer:
        return load_tokenizer(tokenizer, end_of_text)
    tokenizers = {}
    for path in inputs:
        if not is_corpus(path):
            raise click.UsageError(f"{path} is text: say with --tokenizer how it is made tokens")
        text_tokenizer = tokenizer_of(path)
        tokenizers[text_tokenizer.path.read_bytes()] = text_tokenizer
    if len(tokenizers) > 1:
        raise click.UsageError("the corpora have different tokenizers: choose with --tokenizer")
    return next(iter(tokenizers.values()))


COMMANDS = (validation,)
