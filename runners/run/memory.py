"""The memory allocated in a training step -> bytes per device, and the micro-batch that fits.

The bytes of a model's own operations come from a pass in which they are counted and not computed
(`lawdsl/runners/training/memory.py`): at each time in the pass the number of bytes is linear in the
rows of the micro-batch. Exceptions are the optimizer state, and the head, which computes its logits
in chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Line = tuple[int, int]  # constant bytes, and bytes per row

WEIGHT = GRADIENT = 4  # bytes per parameter: float32
MOMENTS = 8  # bytes per parameter: the two moments of AdamW
COMPILED_ARRAYS = 8
"""Maximum number of arrays of the hidden size, in addition to all gradients, at the end of a
compiled pass.
"""
RUNS_PER_GPU = "LAWDSL_RUNS_PER_GPU"  # environment variable: the number of runs that share each GPU
RESERVE = 0.08
"""Fraction of a GPU's memory excluded from planning: the CUDA context, workspaces of libraries, and
fragmentation. An assumption, not measured.
"""


@dataclass(frozen=True)
class PassSettings:
    """The settings that determine the memory of a model's passes, besides the model and the rows.

    Attributes:
        sequence: tokens per row.
        precision: the precision of the products: float32, tf32 or bfloat16.
        dropout: whether the dropout of the configuration is enabled.
        router_loss: the coefficient of the router loss of a mixture of experts; 0 for none.
        shards: processes among which the optimizer state is sharded (FSDP2); 1 for none.
    """

    sequence: int
    precision: str
    dropout: bool = False
    router_loss: float = 0.0
    shards: int = 1


@dataclass(frozen=True)
class MemoryProfile:
    """The memory allocated in the passes of a model, without its weights and the optimizer state.

    Attributes:
        parameters: number of trained parameters.
        local: number of them on one process: all, or its shard.
        sequence, vocabulary, hidden: tokens per row, vocabulary size and hidden size.
        single: the passes of a step of one micro-batch, starting without gradients: the upper
            envelope of the lines, in increasing order of bytes per row. If sharded, including the
            gathered layers.
        several: the same for a step of several micro-batches, in which the gradients of earlier
            ones exist.
        at_head: the line of each of the two at the (last) start of the head, in this order.
        logit_arrays: number of simultaneous arrays of the size of a chunk's logits: the logits and
            their gradients, one more if logits are scaled, two if they are capped.
    """

    parameters: int
    local: int
    sequence: int
    vocabulary: int
    hidden: int
    single: tuple[Line, ...]
    several: tuple[Line, ...]
    at_head: tuple[Line, Line]
    logit_arrays: int = 2

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> MemoryProfile:
        """The profile from the JSON of `dataclasses.asdict`."""
        single, several, at_head = (
            tuple((int(constant), int(slope)) for constant, slope in plain[name])
            for name in ("single", "several", "at_head")
        )
        return cls(**{**plain, "single": single, "several": several, "at_head": at_head})


@dataclass(frozen=True)
class Placement:
    """The device and the settings of a step that determine its memory.

    Attributes:
        device: `cpu` or `cuda`.
        precision: the precision of the products: float32, tf32 or bfloat16.
        processes: number of processes that share the rows of a step.
        compiled: whether the model is compiled (torch.compile).
    """

    device: str
    precision: str
    processes: int = 1
    compiled: bool = False


def step_bytes(profile: MemoryProfile, rows: int, micro: int, placement: Placement) -> int:
    """Estimate the peak memory of a step on one device.

    If compiled, the gradients of all parameters are results of one graph, so they exist together,
    in addition to those of earlier micro-batches. Apart from this, a compiled model stores less
    than the counted operations of transformers, so the estimate is an upper bound.

    Args:
        profile: the passes of the model, for the actual number of shards.
        rows: the rows of one process, in a step.
        micro: rows that go through the model at once.
        placement: where and how.

    Returns:
        Bytes.
    """
    micro = min(micro, rows)
    is_single = rows <= micro
    passes = _passes(profile, micro, placement, is_single)
    state, gradients = (WEIGHT + MOMENTS) * profile.local, GRADIENT * profile.local
    is_sharded = profile.local < profile.parameters
    # DDP reduces gradients in buckets, which are copies
    buckets = gradients if placement.processes > 1 and not is_sharded else 0
    if placement.compiled and not is_sharded:
        working = COMPILED_ARRAYS * 4 * micro * profile.sequence * profile.hidden
        gradients += working + (0 if is_single else gradients)
    return state + buckets + max(passes, gradients)


def checkpoint_copy_bytes(parameters: int) -> int:
    """The host memory of the copy of weights and moments for writing a checkpoint, in bytes."""
    return (WEIGHT + MOMENTS) * parameters


def head_bytes(profile: MemoryProfile, micro: int, placement: Placement) -> int:
    """The memory of the head in the pass that computes the loss and its gradients, in bytes.

    It consists of the arrays in `losses.chunked_loss`: the gradients with respect to the weights
    and to the hidden states, and for a chunk of tokens the logits and their gradients.

    Args:
        profile: the model.
        micro: rows that go through the model at once.
        placement: where and how.

    Returns:
        Bytes.
    """
    tokens, low = micro * profile.sequence, placement.precision == "bfloat16"
    on_gpu = placement.device != "cpu"
    chunk = min(tokens, default_chunk(tokens, profile.vocabulary, placement.device))
    weight = profile.vocabulary * profile.hidden
    results = 4 * weight + 4 * tokens * (profile.hidden + 1)
    # for a chunk: logits and their gradients, and three arrays of the hidden size; on a GPU one
    # kernel computes the gradients, in the type of the products
    per_logit = 4 * profile.logit_arrays
    if on_gpu and low:
        per_logit = max(4 + 2, per_logit - 4)
    logits = chunk * profile.vocabulary * per_logit + 3 * 4 * chunk * profile.hidden
    narrow = 2 * weight if on_gpu and low else 0
    # on a CPU the gradient is summed transposed, and copied at the end
    return results + max(logits + narrow, 0 if on_gpu else 4 * weight)


def default_chunk(tokens: int, vocabulary: int, device: str) -> int:
    """Choose the number of tokens per chunk of the head: a multiple of 64, in nearly even chunks.

    Their logits take up to 1 GiB on a GPU, and up to 2 MiB on a CPU, near its caches; at least 64
    tokens, because products of fewer rows are slow. The number depends only on shapes, never on
    free memory, because the order of summation affects the rounding of gradients.

    Args:
        tokens: number of tokens of the batch.
        vocabulary: the number of logits per token.
        device: the type of the device, `cpu` or `cuda`.

    Returns:
        Tokens per chunk.
    """
    logits = 2**19 if device == "cpu" else 2**28
    most = max(64, logits // vocabulary // 64 * 64)
    chunks = max(1, -(-tokens // most))
    return max(1, -(-tokens // (64 * chunks))) * 64


def even_micro_batch(rows: int, most: int) -> int:
    """The largest divisor of the rows of a step that does not exceed a maximum.

    Micro-batches of equal shape are compiled once.

    Args:
        rows: the rows of one process, in a step.
        most: the maximum number of rows that fit; at least 1.

    Returns:
        From 1 to `rows`.
    """
    return next(micro for micro in range(min(rows, most), 0, -1) if rows % micro == 0)


@dataclass(frozen=True)
class StepPlan:
    """The micro-batch and checkpointing of a step, and its memory.

    Attributes:
        micro: rows that go through the model at once.
        checkpointed: whether layers store only their inputs.
        bytes: estimated memory on one device; 0 if not estimated.
    """

    micro: int
    checkpointed: bool
    bytes: int = 0


def plan_step(
    profiles: Mapping[bool, MemoryProfile],
    rows: int,
    placement: Placement,
    available: int | None,
    *,
    micro: int | None = None,
    checkpoint: bool | Literal["auto"] = "auto",
) -> StepPlan:
    """Choose the micro-batch, and whether activations are checkpointed.

    The largest even micro-batch that fits without checkpointing; if not even one row fits, the
    largest with checkpointing. If nothing fits, the plan with the least memory.

    Args:
        profiles: the passes of the model, by whether activations are checkpointed.
        rows: the rows of one process, in a step.
        placement: where and how.
        available: bytes of one device; None for unlimited.
        micro: the micro-batch, if chosen by the user.
        checkpoint: the user's choice; `auto` checkpoints on GPUs only.

    Returns:
        The plan; its bytes exceed `available` if nothing fits.
    """
    chosen = [False, True] if placement.device != "cpu" else [False]
    ways = chosen if checkpoint == "auto" else [checkpoint]
    plan = StepPlan(rows, ways[0], 0)
    for checkpointed in ways:
        for size in [micro] if micro else range(rows, 0, -1):
            if micro or rows % size == 0:
                needed = step_bytes(profiles[checkpointed], rows, size, placement)
                plan = StepPlan(min(size, rows), checkpointed, needed)
                if available is None or needed <= available:
                    return plan
    return plan


def highest_lines(lines: Iterable[Line]) -> tuple[Line, ...]:
    """The upper envelope of lines for 1 or more rows.

    Args:
        lines: pairs of constant bytes and bytes per row.

    Returns:
        The lines that are the highest at some number of rows, in increasing order of bytes per row.
    """
    highest: list[Line] = []
    for constant, slope in sorted(set(lines), key=lambda line: (line[1], line[0])):
        # a line is dominated by a steeper one that is not lower at 1 row
        while highest and highest[-1][0] + highest[-1][1] <= constant + slope:
            highest.pop()
        highest.append((constant, slope))
    # the remaining lines decrease at 1 row and increase in slope; the middle one of three may still
    # be dominated
    return tuple(_upper_hull(highest))


def _upper_hull(lines: Sequence[Line]) -> list[Line]:
    hull: list[Line] = []
    for line in lines:
        while len(hull) > 1 and _meet_below(hull[-2], hull[-1], line):
            hull.pop()
        hull.append(line)
    return hull


def _meet_below(low: Line, middle: Line, high: Line) -> bool:
    """Whether the middle one of three lines, in order of slope, is nowhere above both others."""
    return (low[0] - high[0]) * (middle[1] - low[1]) <= (low[0] - middle[0]) * (high[1] - low[1])


def _passes(profile: MemoryProfile, micro: int, placement: Placement, is_single: bool) -> int:
    """The peak memory of the passes of a step of one micro-batch, or of several, in bytes."""
    lines = profile.single if is_single else profile.several
    constant, slope = profile.at_head[0 if is_single else 1]
    at_head = constant + slope * micro + head_bytes(profile, micro, placement)
    return max(at_head, *(constant + slope * micro for constant, slope in lines))
