"""Causal language models from a local folder or a configuration, and what they count.

Weights are read from safetensors alone; nothing is fetched, no code of a model's folder is run.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
from transformers.utils import logging as transformers_logging

from lawdsl.diagnostics import Diagnostic, LawdslError
from lawdsl.language.words import nearest

from .facts import ModelFacts
from .losses import chunked_loss, token_losses
from .place import out_of_memory
from .spec import canonical

transformers_logging.disable_progress_bar()

CONFIG = "config.json"
PICKLES = ("pytorch_model*.bin", "pytorch_model*.json", "model*.pt", "*.pth", "*.ckpt")
UNIMPORTANT = ("transformers_version", "_name_or_path", "dtype", "torch_dtype", "architectures")
TOLERANCE = 1e-3  # nats: how far the losses may be from those of the model's own logits
LARGE = 100.0  # what the logits are multiplied with to see whether they are capped


class Loss(nn.Module):
    """The sum of a batch's losses in nats, or each token's, without ever holding all logits."""

    def __init__(self, model: PreTrainedModel, chunk: int | None = None) -> None:
        super().__init__()
        self.body = model.base_model
        self.head = model.get_output_embeddings()
        self.chunk = chunk

    def forward(self, tokens: Tensor, each: bool = False) -> Tensor:
        """The loss of rows of T + 1 tokens, (rows, T + 1).

        Args:
            each: every prediction's, (rows, T), without a gradient; else the sum over all.
        """
        hidden = self.body(input_ids=tokens[:, :-1], use_cache=False).last_hidden_state
        targets = tokens[:, 1:].reshape(-1)
        weight, bias = self.head.weight, self.head.bias
        if each:
            return token_losses(hidden, weight, targets, chunk=self.chunk, bias=bias).view(
                len(tokens), -1
            )
        return chunked_loss(hidden, weight, targets, chunk=self.chunk, bias=bias)


def inspect(source: str | Mapping[str, Any]) -> ModelFacts:
    """What a model's folder, or its configuration as plain data, says of it.

    Raises:
        LawdslError: no such folder (R0301), a configuration that transformers does not know or that
            would run code of its own (R0302), weights only as a pickle (R0303).
    """
    config, files = _configuration(source), _weights(source)
    with _understood(source, "R0302"), torch.device("meta"):
        model = _from_config(config)
    embedding = model.get_input_embeddings().weight
    head = model.get_output_embeddings()
    if head is None:
        raise _refused("R0302", source, "the model has no head that predicts the next token")
    total = sum(p.numel() for p in model.parameters())
    apart = 0 if head.weight is embedding else head.weight.numel()
    text = config.get_text_config()
    return ModelFacts(
        fingerprint=_fingerprint(source, files),
        weights=bool(files),
        parameters=total,
        non_embedding=total - embedding.numel() - apart,
        embedding=embedding.numel(),
        layers=text.num_hidden_layers,
        hidden=text.hidden_size,
        vocabulary=embedding.shape[0],
        positions=getattr(text, "max_position_embeddings", None),
    )


def load(source: str | Mapping[str, Any], initialization: str, seed: int) -> PreTrainedModel:
    """The model in float32 on the CPU, ready to be trained.

    Args:
        source: its folder, or its configuration as plain data.
        initialization: `loaded`; else the weights are drawn: `width-scaled` with standard deviation
            1/sqrt(hidden size), which models narrower than some hundred need lest larger ones learn
            worse, or `transformers` as that library does.
        seed: of the weights that are drawn.

    Raises:
        LawdslError: as `inspect`; or a model whose loss is not that of its last hidden states
            under its head alone (R0304).
    """
    config, files = _configuration(source), _weights(source)
    if initialization == "loaded":
        if not files:
            raise _refused("R0303", source, "the folder holds no weights")
        model = _from_weights(source)
    else:
        text = config.get_text_config()
        if initialization == "width-scaled":
            text.initializer_range = text.hidden_size**-0.5
        torch.manual_seed(seed)
        model = _from_config(config)
    _check_head(model, source)
    return model


def fingerprint(source: str | Mapping[str, Any]) -> str:
    """The fingerprint of a model, as `inspect` gives it."""
    return _fingerprint(source, _weights(source))


def _from_config(config: Any) -> PreTrainedModel:
    # attention is torch's own (SDPA), by default, in all families that can have it
    return AutoModelForCausalLM.from_config(config, trust_remote_code=False, dtype=torch.float32)


def _from_weights(source: Any) -> PreTrainedModel:
    with _understood(source, "R0303"):
        model, said = AutoModelForCausalLM.from_pretrained(
            source,
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
            dtype=torch.float32,
            output_loading_info=True,
        )
    if missing := sorted(said["missing_keys"]):
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise _refused("R0303", source, f"its files lack the weights {missing[0]}{more}")
    return model


@contextmanager
def _understood(source: Any, code: str) -> Iterator[None]:
    """Whatever transformers makes of a configuration or of weights that are wrong, in one message."""
    try:
        yield
    except Exception as error:
        if out_of_memory(error):
            raise
        said = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise _refused(code, source, f"transformers does not take it: {said}") from error


def _configuration(source: str | Mapping[str, Any]) -> Any:
    """The configuration, an object of transformers."""
    plain = _plain(source)
    if "auto_map" in plain:
        raise _refused(
            "R0302",
            source,
            "its configuration names code of its own (auto_map), which is never run",
            help="use a model that transformers itself knows",
        )
    kind = plain.pop("model_type", None)
    if kind not in CONFIG_MAPPING_NAMES:
        alike = nearest(str(kind), tuple(CONFIG_MAPPING_NAMES))
        why = f"transformers knows no model_type `{kind}`" if kind else "it has no model_type"
        help = f"did you mean `{alike}`?" if alike else "such as qwen2, llama or gpt_neox"
        raise _refused("R0302", source, why, help=help)
    with _understood(source, "R0302"):
        return AutoConfig.for_model(kind, **plain)


def _plain(source: str | Mapping[str, Any]) -> dict[str, Any]:
    return _read_configuration(Path(source)) if isinstance(source, str) else dict(source)


def _read_configuration(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LawdslError(
            Diagnostic(
                "R0301",
                f"{folder} is no model's folder: it has no {CONFIG}",
                help="give the folder of a Hugging Face model on this machine, or a configuration",
            )
        ) from None
    except (OSError, ValueError) as error:
        raise _refused("R0302", str(folder), f"{CONFIG} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise _refused("R0302", str(folder), f"{CONFIG} is no object")
    return found


def _weights(source: str | Mapping[str, Any]) -> list[Path]:
    """The files of the weights, safetensors all; none where there are only configurations."""
    if not isinstance(source, str):
        return []
    files = sorted(Path(source).glob("*.safetensors"))
    pickles = [path.name for like in PICKLES for path in sorted(Path(source).glob(like))]
    if pickles and not files:
        raise _refused(
            "R0303",
            source,
            f"its weights are only in {pickles[0]}, a pickle, which can run any code when it is read",
            help="convert it where you trust it: model.save_pretrained(folder), which writes safetensors",
        )
    return files


def _fingerprint(source: str | Mapping[str, Any], files: list[Path]) -> str:
    """A hash of what the weights are, or would be drawn from."""
    digest = hashlib.blake2b(digest_size=16)
    plain = {name: value for name, value in _plain(source).items() if name not in UNIMPORTANT}
    digest.update(canonical(plain).encode())
    for path in files:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


@torch.no_grad()
def _check_head(model: PreTrainedModel, source: Any) -> None:
    """Refuse a model that does more to its logits than a product with the head.

    Some families scale or cap them; their losses would be silently wrong here. A cap hardly changes
    the small logits of a model that is not trained, so they are made large for this.
    """
    vocabulary = model.get_input_embeddings().weight.shape[0]
    tokens = (torch.arange(2 * 9).view(2, 9) * 7919 + 1) % vocabulary
    training = model.training
    model.eval()
    enlarged = model.get_output_embeddings().register_forward_hook(lambda *call: call[-1] * LARGE)
    try:
        with _understood(source, "R0302"):
            logits = model(input_ids=tokens[:, :-1], use_cache=False).logits.float() / LARGE
            ours = Loss(model)(tokens, each=True).flatten()
    finally:
        enlarged.remove()
    model.train(training)
    own = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
    if not ours.isfinite().all():
        raise _refused("R0303", source, "with its weights its losses are no numbers")
    if not torch.allclose(own, ours, rtol=0, atol=TOLERANCE):
        worst = float((own - ours).abs().max())
        raise _refused(
            "R0304",
            source,
            f"its losses differ by {worst:.3g} nats from those of its hidden states under its head",
            help="this family scales or caps its logits, which the runner does not do; use another",
        )


def _refused(code: str, source: Any, why: str, help: str | None = None) -> LawdslError:
    name = source if isinstance(source, str) else f"configuration {canonical(dict(source))[:80]}"
    return LawdslError(Diagnostic(code, f"the model {name} cannot be used: {why}", help=help))
