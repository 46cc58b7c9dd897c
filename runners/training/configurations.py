"""The configuration of a model -> an object of transformers, without entries that run code.

A configuration is untrusted: it must not load code, files or kernels, and training has no
randomness unless it was requested.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers import AutoConfig
from transformers.configuration_utils import PretrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.files import read_json
from lawdsl.language.keywords import did_you_mean

from ..spec import canonical_json
from .distributed import out_of_memory

CONFIG = "config.json"
LOADED = {
    "auto_map": "names code of its own (auto_map), which is never run",
    "quantization_config": "has quantized weights (quantization_config), which are not trained",
    "compression_config": "has compressed weights (compression_config), which are not trained",
    "transformers_weights": "names its weights itself (transformers_weights), which is not read",
}
"""Keys, at any depth, that would make transformers run code or read other files."""
KERNELS = re.compile(r"_?(attn|experts)_implementation(_internal)?")
"""Keys that select kernels, possibly from a hub; the runner selects its own."""
RANDOM = re.compile(r"drop|jitter")
HEADS = re.compile(r"classifier|summary")  # heads that a language model does not have

Source = str | Mapping[str, Any]


def configuration(source: Source) -> PretrainedConfig:
    """The configuration of a folder, or of plain data, as an object of transformers.

    Raises:
        LawdslError: no such folder (R0301), or a configuration that cannot be read, is unknown to
            transformers, or would run code or read other files (R0302).
    """
    plain = plain_of(source)
    for part in _parts(plain):
        for key in LOADED.keys() & part.keys():
            if part[key]:
                help = "use a model that transformers itself knows, saved whole in float weights"
                raise refused("R0302", source, f"its configuration {LOADED[key]}", help=help)
        for key in [key for key in part if KERNELS.fullmatch(key)]:
            del part[key]
    kind = plain.pop("model_type", None)
    if kind not in CONFIG_MAPPING_NAMES:
        why = f"transformers knows no model_type `{kind}`" if kind else "it has no model_type"
        help = did_you_mean(
            str(kind), tuple(CONFIG_MAPPING_NAMES), "such as qwen2, llama or gpt_neox"
        )
        raise refused("R0302", source, why, help=help)
    with understood(source, "R0302"):
        return AutoConfig.for_model(kind, **plain)


def check_numbers(source: Source) -> None:
    """Raise an error for a configuration with inconsistent numbers of heads or of experts.

    transformers accepts it, and the first pass fails with an error about shapes. Not every family
    uses each of these numbers, so this is called only for models whose pass has failed.

    Args:
        source: the folder of the model, or its configuration as plain data.

    Raises:
        LawdslError: with the names of the entries, R0302.
    """
    config = configuration(source).get_text_config()

    def number(name: str) -> int:
        value = getattr(config, name, None)
        return value if isinstance(value, int) else 0

    heads, groups = number("num_attention_heads"), number("num_key_value_heads")
    if heads and groups and heads % groups:
        why = f"num_attention_heads = {heads} is not a multiple of num_key_value_heads = {groups}"
        help = f"num_key_value_heads = {heads}, or a divisor of it, in the configuration"
        raise refused("R0302", source, why, help=help)
    used = number("num_experts_per_tok")
    for name in ("num_experts", "num_local_experts", "n_routed_experts"):
        if 0 < number(name) < used:
            why = f"num_experts_per_tok = {used} is more than {name} = {number(name)}"
            help = f"num_experts_per_tok = {number(name)} at most in the configuration"
            raise refused("R0302", source, why, help=help)


def plain_of(source: Source) -> dict[str, Any]:
    """A configuration as a copy of plain data, which the caller may modify.

    Raises:
        LawdslError: see `configuration`.
    """
    plain = _read(Path(source)) if isinstance(source, str) else source
    return {key: _copied(value) for key, value in plain.items()}


def inside(folder: Path, name: str) -> Path | None:
    """Return a file of a model's folder, if it is a regular file in it.

    A link may lead to another place in the folder, or to where the cache of Hugging Face keeps what
    a folder of it (`models--…/snapshots/COMMIT`) links to (`models--…/blobs`).

    Args:
        folder: the folder of the model.
        name: the name of the file, from an untrusted source.

    Returns:
        Its path; None where it is not a file, or is outside the folder.
    """
    try:
        home, path = folder.resolve(), (folder / name).resolve()
        regular = path.is_file()
    except (OSError, ValueError, RuntimeError):  # a name with a zero byte; circular links
        return None
    rooms = [home]
    if home.parent.name == "snapshots":
        rooms.append(home.parent.parent / "blobs")
    return folder / name if regular and any(path.is_relative_to(room) for room in rooms) else None


def without_randomness(config: PretrainedConfig, source: Source) -> dict[str, float]:
    """Set the dropout and jitter of a configuration to 0, unless they were requested.

    The entries of a configuration given as plain data are considered requested; those of a folder,
    and the defaults of transformers, are not.

    Args:
        config: changed in place.
        source: its folder, or its plain data.

    Returns:
        Name -> previous value of each entry that was set to 0.
    """
    requested: set[str] = set()
    if not isinstance(source, str):
        requested = {key for part in _parts(plain_of(source)) for key in part}
    before: dict[str, float] = {}
    for part in _objects(config):
        values = part if isinstance(part, dict) else vars(part)
        # a copy, because values are set in the loop
        for name, value in list(values.items()):
            acts = RANDOM.search(str(name)) and not HEADS.search(str(name))
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if acts and number and value > 0 and name not in requested:
                before[name] = float(value)
                values[name] = type(value)(0)
    return before


@contextmanager
def understood(source: Source, code: str) -> Iterator[None]:
    """Convert every error of transformers about a model into one message.

    Args:
        source: the model.
        code: the code of the message.

    Returns:
        A context manager.

    Raises:
        LawdslError: with that code; lack of memory is raised unchanged.
    """
    try:
        yield
    except LawdslError:
        raise
    except Exception as error:
        if out_of_memory(error):
            raise
        message = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise refused(code, source, f"transformers does not take it: {message}") from error


def refused(code: str, source: Source, why: str, help: str | None = None) -> LawdslError:
    """Create the error for a model that cannot be used.

    Args:
        code: the code of the message.
        source: the model.
        why: the cause.
        help: what to do.

    Returns:
        The error.
    """
    name = (
        source if isinstance(source, str) else f"configuration {canonical_json(dict(source))[:80]}"
    )
    return LawdslError(Diagnostic(code, f"the model {name} cannot be used: {why}", help=help))


def _read(folder: Path) -> dict[str, Any]:
    if not (folder / CONFIG).exists():
        raise LawdslError(
            Diagnostic(
                "R0301",
                f"{folder} is not a model's folder: it has no {CONFIG}",
                help="give the folder of a Hugging Face model on this machine, or a configuration",
            )
        )
    path = inside(folder, CONFIG)
    if path is None:
        raise refused("R0302", str(folder), f"its {CONFIG} is not a file of this folder")
    try:
        document = read_json(path)
    except (OSError, ValueError) as error:
        raise refused("R0302", str(folder), f"{CONFIG} cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise refused("R0302", str(folder), f"{CONFIG} is not an object")
    return document


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(v) for key, v in value.items()}
    return [_copied(v) for v in value] if isinstance(value, (list, tuple)) else value


def _parts(plain: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A configuration and its nested configurations."""
    yield plain
    for value in plain.values():
        if isinstance(value, dict):
            yield from _parts(value)


def _objects(config: Any) -> Iterator[Any]:
    """A configuration and its nested ones, as objects or as plain data."""
    yield config
    values = config if isinstance(config, dict) else vars(config)
    for value in values.values():
        if isinstance(value, (dict, PretrainedConfig)):
            yield from _objects(value)
