"""Causal attention by the flag of torch's SDPA, eager and compiled, without a mask.

SDPA uses its flash kernels (Dao et al. (2022), arXiv:2205.14135) only without a mask. Under
torch.compile, transformers passes a mask nevertheless, because it cannot inspect the positions,
which might be those of several packed texts. Here rows are neither packed nor padded, so a mask is
created only if a layer needs a non-causal one.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask
from transformers.utils import logging

CAUSAL_ATTENTION = "lawdsl_causal"
HIDDEN_STATE_RTOL = 1e-4  # relative tolerance for the equality of hidden states
HIDDEN_STATE_ATOL = 1e-5  # absolute tolerance


def causal_mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int | Tensor = 0,
    kv_offset: int = 0,
    *,
    attention_mask: Tensor | None = None,
    local_size: int | None = None,
    use_vmap: bool = False,
    **rest: Any,
) -> Tensor | None:
    """Return None if every token attends to itself and all earlier tokens, else a mask.

    Args:
        batch_size, q_length, kv_length, q_offset, kv_offset: see
            `transformers.masking_utils.sdpa_mask`.
        attention_mask: the attention mask of padded rows; None for none.
        local_size: the window of a layer with sliding attention; None for none.
        use_vmap: whether a layer modifies the pattern.
        rest: further arguments of `sdpa_mask`.

    Returns:
        The mask, shape (batch, 1, queries, keys), or None.
    """
    is_full_sequence = (
        isinstance(q_offset, int) and q_offset == kv_offset == 0 and q_length == kv_length
    )
    near = local_size is not None and kv_length >= local_size
    if is_full_sequence and attention_mask is None and not near and not use_vmap:
        return None
    return sdpa_mask(
        batch_size=batch_size,
        q_length=q_length,
        kv_length=kv_length,
        q_offset=q_offset,
        kv_offset=kv_offset,
        attention_mask=attention_mask,
        local_size=local_size,
        use_vmap=use_vmap,
        **rest,
    )


AttentionInterface.register(CAUSAL_ATTENTION, sdpa_attention_forward)
AttentionMaskInterface.register(CAUSAL_ATTENTION, causal_mask)


def use_causal_attention(model: PreTrainedModel) -> None:
    """Switch a model to this attention, if this does not change its hidden states.

    Model families with their own attention code are unchanged.
    """
    if model.config._attn_implementation != "sdpa" or model.device.type == "meta":
        return
    if isinstance(next(model.parameters()), FakeTensor):  # there are no values to compare
        set_attention(model, CAUSAL_ATTENTION)
        return
    tokens = probe_tokens(model)
    training = model.training
    # dropout would make any two passes differ
    model.eval()
    reference = _hidden_states(model, tokens)
    try:
        set_attention(model, CAUSAL_ATTENTION)
        # equal_nan: a model with NaN in both cases is rejected later, with a specific message
        is_equal = torch.allclose(
            _hidden_states(model, tokens),
            reference,
            HIDDEN_STATE_RTOL,
            HIDDEN_STATE_ATOL,
            equal_nan=True,
        )
    except Exception:  # a family that requires a mask may raise any error
        is_equal = False
    if not is_equal:
        set_attention(model, "sdpa")
    model.train(training)


def depends_on_later_tokens(model: PreTrainedModel) -> bool:
    """Whether a hidden state of a model in evaluation mode depends on later tokens."""
    tokens = probe_tokens(model)
    changed = tokens.clone()
    changed[:, -1] = torch.where(tokens[:, -1] == 0, 1, 0)
    before, after = (_hidden_states(model, each)[:, :-1] for each in (tokens, changed))
    return not torch.allclose(before, after, HIDDEN_STATE_RTOL, HIDDEN_STATE_ATOL)


def probe_tokens(model: PreTrainedModel) -> Tensor:
    """Tokens for testing the attention of a model, shape (2, 9)."""
    vocabulary = model.get_input_embeddings().weight.shape[0]
    return (torch.arange(2 * 9, device=model.device).view(2, 9) * 7919 + 1) % vocabulary


@torch.no_grad()
def _hidden_states(model: PreTrainedModel, tokens: Tensor) -> Tensor:
    states: Tensor = model.base_model(input_ids=tokens, use_cache=False).last_hidden_state
    return states.float()


def set_attention(model: PreTrainedModel, name: str) -> None:
    """Switch a model to another implementation of attention, without a test.

    Args:
        model: is changed in place.
        name: the name of the implementation in transformers.
    """
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()  # its warning does not apply here
    try:
        model.set_attn_implementation(name)
    finally:
        logging.set_verbosity(verbosity)
