"""`lawdsl tokenizer`, `corpus`, `corpora`: texts -> a tokenizer, folders of tokens, a report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lawdsl.cli.options import as_json, finish, option_group, print_message, write
from lawdsl.cli.progress import Bar, progress
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.optional_packages import needs

if TYPE_CHECKING:
    from lawdsl.runners.corpora.build import CorpusPart
    from lawdsl.runners.corpora.corpus import Corpus

NAME = re.compile(r"\w[\w.-]*")
MEGABYTE = 1_000_000

texts = click.argument("files", nargs=-1, required=True, metavar="FILE...")
text_source = option_group(
    "text",
    click.option(
        "--text-field",
        default="text",
        show_default=True,
        metavar="NAME",
        help="Field of JSON lines, or column of Parquet, with the text (for `corpus` also tokens).",
    ),
    click.option(
        "--glob",
        default="*",
        metavar="PATTERN",
        help="Which files of a folder to read: --glob '*.py'.",
    ),
)
force = click.option("--force", is_flag=True, help="Replace existing output.")
quiet = click.option("-q", "--quiet", is_flag=True, help="Print no progress.")


@click.command("tokenizer")
@texts
@click.option(
    "--vocabulary",
    required=True,
    type=click.IntRange(257, 1 << 20),
    help="Vocabulary size, including 256 bytes and the token that ends a document.",
)
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to write it.")
@click.option(
    "--characters",
    default=8_000_000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Train on this many characters of each FILE or folder, sampled from all of it.",
)
@text_source
@force
@quiet
@as_json
def tokenizer(
    files: tuple[str, ...],
    vocabulary: int,
    output: str,
    characters: int,
    text: Mapping[str, str],
    force: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Train a byte-level BPE tokenizer on text.

    FILE is text or JSON lines (.jsonl), also compressed (.gz, .zst), Parquet, or a folder of such
    files.
    """
    needs("tokenizers", "pydantic")
    from lawdsl.runners.corpora.tokenizer import load_tokenizer, sample, train_tokenizer

    path = Path(output)
    # before files are read for hours
    if path.exists() and not force:
        help = "choose another name, or replace it with --force"
        raise LawdslError(Diagnostic("R0205", "the file exists", place=output, help=help))
    _make_folder(path.parent)
    with progress(quiet or as_json, "MB read") as bar:
        documents = sample(files, characters, progress=_in_megabytes(bar), **text)
        write(path, train_tokenizer(documents, vocabulary))
    token_count = load_tokenizer(path).vocabulary
    warnings = []
    if token_count < vocabulary:
        message = f"the text gives {token_count:,} tokens, not the {vocabulary:,} asked for"
        help = "give more text, or raise --characters"
        warnings.append(Diagnostic("R0214", message, "warning", place=output, help=help))
    return finish(
        "tokenizer",
        {"path": output, "vocabulary": token_count},
        warnings,
        ok=True,
        as_json=as_json,
        show=lambda: print_message(f"wrote {output}, {token_count:,} tokens"),
    )


@click.command("corpus")
@texts
@click.option(
    "--tokenizer",
    "source",
    required=True,
    metavar="FILE",
    help="A tokenizer.json, or the folder that contains it.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FOLDER",
    help="The folder of the corpus, or with --split of its parts.",
)
@click.option(
    "--name", metavar="NAME", help="Name of the corpus.  [default: the name of the folder]"
)
@click.option(
    "--split",
    metavar="PART=SHARE,...",
    help="Split the documents into several corpora: general=0.9,test=0.1.",
)
@click.option(
    "--deduplicate",
    type=click.Choice(("paragraphs", "documents", "none")),
    default="paragraphs",
    show_default=True,
    help="Which repetitions are removed.",
)
@click.option(
    "--against",
    multiple=True,
    metavar="FOLDER",
    help="Leave out all paragraphs of this corpus (decontamination). Repeatable.",
)
@click.option(
    "--max-tokens",
    multiple=True,
    metavar="[PART=]N",
    help="Stop after this many tokens.",
)
@click.option(
    "--max-document-tokens",
    multiple=True,
    metavar="[PART=]N",
    help="Cut longer documents to a random piece of this length.",
)
@click.option("--end-of-text", metavar="TOKEN", help="The token that ends a document.")
@text_source
@force
@quiet
@as_json
def corpus(
    files: tuple[str, ...],
    source: str,
    output: str,
    name: str | None,
    split: str | None,
    deduplicate: str,
    against: tuple[str, ...],
    max_tokens: tuple[str, ...],
    max_document_tokens: tuple[str, ...],
    end_of_text: str | None,
    text: Mapping[str, str],
    force: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Tokenize text into corpora, folders of memory-mapped tokens.

    FILE is text or JSON lines (.jsonl), also compressed (.gz, .zst), Parquet, or a folder of such
    files. Text that is tokenized already is read too: a data set of Megatron (.bin beside .idx), or
    a Parquet column of lists of integers, named by --text-field.

    \b
    lawdsl corpus text.jsonl --tokenizer tokenizer.json -o corpora \\
        --split general=0.9,general-validation=0.1 --max-tokens general-validation=131072

    A hash of its text assigns each document to a part, so copies are in the same part. Paragraphs
    (of 32 letters or more) of a part with `validation` in its name are removed from all other
    parts. If the shares sum to less than 1, the remaining documents are left out.
    """
    needs("tokenizers", "pydantic")
    from lawdsl.runners.corpora.build import write_corpora
    from lawdsl.runners.corpora.tokenizer import load_tokenizer

    parts = _parts(Path(output), name, split, max_tokens, max_document_tokens)
    encoder = load_tokenizer(source, end_of_text)
    with progress(quiet or as_json, "MB read") as bar:
        written = write_corpora(
            files,
            parts,
            encoder,
            deduplicate=deduplicate,
            against=against,
            force=force,
            progress=_in_megabytes(bar),
            **text,
        )
    return _finish("corpus", written, (), as_json)


@click.command("corpora")
@click.argument("folders", nargs=-1, required=True, metavar="FOLDER...")
@as_json
def corpora(folders: tuple[str, ...], as_json: bool) -> int:
    """List corpora, and verify that their files are unchanged.

    FOLDER is a corpus, or contains corpora.
    """
    needs("pydantic")
    from lawdsl.runners.corpora.corpus import find_corpora, mixed_tokenizers, open_corpus

    listed: list[Corpus] = []
    mistakes: list[Diagnostic] = []
    for folder in (inside for folder_given in folders for inside in find_corpora(folder_given)):
        try:
            listed.append(open_corpus(folder, verify=True))
        except LawdslError as error:
            mistakes += error.diagnostics
    if mistakes:
        raise LawdslError(mistakes)
    mixed = mixed_tokenizers((corpus.name, corpus.tokenizer) for corpus in listed)
    return _finish("corpora", listed, [mixed] if mixed else [], as_json)


def _finish(
    command: str, corpus_list: Sequence[Corpus], diagnostics: Iterable[Diagnostic], as_json: bool
) -> int:
    from lawdsl.reporting.corpora import show_corpora
    from lawdsl.reporting.terminal import console

    rows: list[dict[str, Any]] = [
        corpus.facts | {"folder": str(corpus.folder), "fingerprint": corpus.fingerprint}
        for corpus in corpus_list
    ]
    return finish(
        command,
        {"corpora": rows},
        diagnostics,
        ok=True,
        as_json=as_json,
        show=lambda: show_corpora(rows, console()),
    )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message, help = f"the folder cannot be made: {error.strerror}", "choose another with -o"
        raise LawdslError(Diagnostic("R0211", message, place=str(folder), help=help)) from None


def _in_megabytes(bar: Bar | None) -> Bar | None:
    """A progress bar in MB for a reader that reports bytes."""
    return bar and (lambda done, total: bar(done // MEGABYTE, total // MEGABYTE))


def _parts(
    output: Path,
    name: str | None,
    split: str | None,
    max_tokens: Iterable[str],
    max_document_tokens: Iterable[str],
) -> dict[Path, CorpusPart]:
    """The corpora that are asked for, by folder.

    Raises:
        click.UsageError: an invalid name, share or number.
    """
    from lawdsl.runners.corpora.build import CorpusPart

    shares = _shares(split) if split is not None else {name or output.resolve().name: Fraction(1)}
    if split is not None and name is not None:
        raise click.UsageError("--name is for one corpus; --split names several")
    most = _limits(max_tokens, shares, "--max-tokens")
    longest = _limits(max_document_tokens, shares, "--max-document-tokens")
    return {
        output / part if split is not None else output: CorpusPart(
            part, share, most.get(part), longest.get(part), first="validation" in part
        )
        for part, share in shares.items()
    }


def _shares(split: str) -> dict[str, Fraction]:
    shares: dict[str, Fraction] = {}
    for pair in split.split(","):
        part, _, text = (word.strip() for word in pair.partition("="))
        try:
            share = Fraction(text)
        except (ValueError, ZeroDivisionError):
            raise click.UsageError(f"--split takes PART=SHARE,PART=SHARE, not {pair!r}") from None
        if not NAME.fullmatch(part) or part in shares:
            what = "is there twice" if part in shares else "cannot be the name of a folder"
            raise click.UsageError(f"--split: {part!r} {what}")
        if share <= 0:
            raise click.UsageError(f"--split: the share of {part} is {text}")
        shares[part] = share
    if sum(shares.values()) > 1:
        raise click.UsageError(f"--split: the shares add up to {float(sum(shares.values())):g}")
    return shares


def _limits(pairs: Iterable[str], parts: Iterable[str], option: str) -> dict[str, int]:
    """A number for each part that has one; N without a name applies to all other parts."""
    limits: dict[str, int] = {}
    for pair in sorted(pairs, key=lambda pair: "=" in pair):
        part, equals, number = (word.strip() for word in pair.rpartition("="))
        if not number.isascii() or not number.isdigit() or int(number) < 2:
            raise click.UsageError(f"{option} takes [PART=]N of 2 or more, not {pair!r}")
        if equals and part not in parts:
            raise click.UsageError(f"{option}: unknown part {part!r}")
        limits.update(dict.fromkeys([part] if equals else parts, int(number)))
    return limits


COMMANDS = (tokenizer, corpus, corpora)
