"""Layers whose activations are recomputed in the backward pass instead of being stored.

Chen et al. (2016), Training deep nets with sublinear memory cost, arXiv:1604.06174.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def blocks_of(loss: nn.Module) -> list[nn.Module]:
    """The layers of a model: members of module lists that are in no other module list."""
    lists = [m for m in loss.modules() if isinstance(m, nn.ModuleList)]
    inner = {id(m) for outer in lists for child in outer for m in child.modules()}
    return [block for each in lists if id(each) not in inner for block in each]


def checkpoint_activations(loss: nn.Module) -> None:
    """Make every layer of a model store only its inputs.

    Parameter names and results are unchanged: the recomputation is identical, including dropout.

    Args:
        loss: changed in place, before it is compiled or sharded.
    """
    for block in blocks_of(loss):
        # an attribute of the instance, so that hooks of FSDP2 are outside of the recomputed
        # function
        block.forward = functools.partial(_recomputed, block.forward)


def _recomputed(forward: Any, *args: Any, **kwargs: Any) -> Any:
    if not torch.is_grad_enabled():
        return forward(*args, **kwargs)
    return checkpoint(forward, *args, use_reentrant=False, **kwargs)
