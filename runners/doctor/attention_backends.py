"""Names of operators and kernels -> the backends of attention that ran; loads no torch."""

from __future__ import annotations

import re
from collections.abc import Iterable

# ATen operators and CUDA kernels -> backend of scaled_dot_product_attention
PATTERNS = (
    ("cuDNN", r"scaled_dot_product_cudnn_attention|cudnn\w*(sdpa|attention|mha)"),
    ("flash", r"scaled_dot_product_flash_attention|flash_(fwd|bwd|attn)|pytorch_flash"),
    ("memory-efficient", r"scaled_dot_product_efficient_attention|fmha_cutlass"),
    ("math", r"scaled_dot_product_attention_math"),
)
KERNEL = re.compile(r"flash|fmha|sdpa|cudnn\w*attention", re.I)


def backends(names: Iterable[str]) -> list[str]:
    """Name the backends of attention among operators and kernels.

    Args:
        names: the names of operators and kernels in the profiler.

    Returns:
        The backends that ran, out of flash, cuDNN, memory-efficient and math.
    """
    text = "\n".join(names)
    return [backend for backend, pattern in PATTERNS if re.search(pattern, text, re.I)]
