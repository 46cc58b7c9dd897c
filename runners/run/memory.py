"""What a step of training allocates -> bytes on each device, and the micro-batch that fits.

The bytes of a model's own operations come from a pass in which they are counted and not computed
(`lawdsl/runners/training/memory.py`): for each moment of the pass a number of bytes that grows
linearly with the rows of the micro-batch. What does not: the state of the optimization, and the
head, which computes its logits in chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Line = tuple[int, int]  # bytes without rows, and bytes a row

WEIGHT = GRADIENT = 4  # bytes a parameter: float32
MOMENTS = 8  # the two of AdamW
COMPILED_ARRAYS = 8
"""Arrays as wide as the hidden states, at most, beside all gradients at the end of a compiled pass."""
RUNS_PER_GPU = "LAWDSL_RUNS_PER_GPU"  # environment variable: how many runs share each GPU
RESERVE = 0.08
"""Part of a GPU's memory that is not planned with: the context of CUDA, the workspaces of its
libraries, and gaps between blocks. Not measured."""


@dataclass(frozen=True)
class PassSettings:
    """What decides the bytes that the passes of a model allocate, beside the model and the rows.

    Attributes:
        sequence: tokens of a row.
        precision: the precision of the products: float32, tf32 or bfloat16.
        dropout: whether the dropout of the configuration acts.
        router_loss: the coefficient of the router loss of a mixture of experts; 0 for none.
        shards: processes that share the state of the optimization (FSDP2); 1 for none.
    """

    sequence: int
    precision: str
    dropout: bool = False
    router_loss: float = 0.0
    shards: int = 1


@dataclass(frozen=True)
class MemoryProfile:
    """The bytes that the passes of a model allocate, beside its weights and the optimizer's state.

    Attributes:
        parameters: the number that is trained.
        local: the number of them on one process: all, or its shard.
        sequence, vocabulary, hidden: of the rows, and of the head.
        single: the passes of a step of one micro-batch, from the state without gradients: the
            highest lines, increasing in bytes a row. Sharded, with the layers that are gathered.
        several: those of a step of several micro-batches; the gradients of earlier ones exist.
        at_head: the line of each when the head begins (the last time), in this order.
        logit_arrays: arrays as large as the logits of a chunk that exist at once: the logits and
            their slopes, one more where logits are scaled, two where they are capped.
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
        """The profile from what `dataclasses.asdict` and JSON have made of it."""
        single, several, at_head = (
            tuple((int(constant), int(slope)) for constant, slope in plain[name])
            for name in ("single", "several", "at_head")
        )
        return cls(**{**plain, "single": single, "several": several, "at_head": at_head})


@dataclass(frozen=True)
class Placement:
    """Where and how a step is computed, as far as it decides memory.

    Attributes:
        device: `cpu` or `cuda`.
        precision: the precision of the products: float32, tf32 or bfloat16.
        processes: the processes that share the rows of a step.
        compiled: whether the model is compiled (torch.compile).
    """

    device: str
    precision: str
    processes: int = 1
    compiled: bool = False


def step_bytes(profile: MemoryProfile, rows: int, micro: int, placement: Placement) -> int:
    """Estimate the most bytes that a step allocates on one device.

    Compiled, the gradients of all parameters are results of one graph: they exist together, beside
    those of earlier micro-batches. Otherwise a compiled model stores less than the operations of
    transformers that are counted: the estimate is an upper bound then.

    Args:
        profile: the passes of the model, for as many shards as there are.
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
    """Bytes on the host of the copy of weights and moments from which a checkpoint is written."""
    return (WEIGHT + MOMENTS) * parameters


def head_bytes(profile: MemoryProfile, micro: int, placement: Placement) -> int:
    """Bytes that the head allocates in the pass that gives the loss and its gradients.

    They are those of `losses.chunked_loss`: the gradients of the weights and of the hidden states,
    and for a chunk of tokens the logits and their slopes.

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
    # of a chunk: logits and slopes, and three arrays as wide as the hidden states; on a GPU slopes
    # come from one kernel, in the type of the products
    per_logit = 4 * profile.logit_arrays
    if on_gpu and low:
        per_logit = max(4 + 2, per_logit - 4)
    logits = chunk * profile.vocabulary * per_logit + 3 * 4 * chunk * profile.hidden
    narrow = 2 * weight if on_gpu and low else 0
    # on a CPU the gradient is summed transposed, and copied at the end
    return results + max(logits + narrow, 0 if on_gpu else 4 * weight)


def default_chunk(tokens: int, vocabulary: int, device: str) -> int:
    """Choose how many tokens go through the head at once: a multiple of 64, in nearly even chunks.

    Their logits take up to 1 GiB on a GPU, and up to 2 MiB on a CPU, near its caches; those of
    64 tokens in any case, because products of fewer rows are slow. The number depends on shapes
    alone, never on free memory: the order in which gradients are summed decides their last bits.

    Args:
        tokens: the tokens of the batch.
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
    """The largest number of rows that divides a step's evenly, and is not more than fit.

    Pieces of one shape are compiled once.

    Args:
        rows: the rows of one process, in a step.
        most: that fit; at least 1.

    Returns:
        From 1 to `rows`.
    """
    return next(micro for micro in range(min(rows, most), 0, -1) if rows % micro == 0)


@dataclass(frozen=True)
class StepPlan:
    """How a step is computed, and what that takes.

    Attributes:
        micro: rows that go through the model at once.
        checkpointed: whether layers store their inputs alone.
        bytes: on one device, estimated; 0 where that was not done.
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

    The largest even micro-batch that fits without checkpointing; where not even one row fits, that
    with it. Where nothing fits, the plan that takes least.

    Args:
        profiles: the passes of the model, by whether activations are checkpointed.
        rows: the rows of one process, in a step.
        placement: where and how.
        available: bytes of one device; None for any number.
        micro: rows at once, where the user has chosen them.
        checkpoint: the user's choice; `auto` checkpoints on GPUs alone.

    Returns:
        The plan; its bytes exceed `available` where nothing fits.
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
    """Of lines, those that are the highest at some number of rows, 1 or more.

    Args:
        lines: bytes without rows, and bytes a row.

    Returns:
        Increasing in bytes a row.
    """
    highest: list[Line] = []
    for constant, slope in sorted(set(lines), key=lambda line: (line[1], line[0])):
        # at 1 row and ever after, a line is below a steeper one that is not lower at 1
        while highest and highest[-1][0] + highest[-1][1] <= constant + slope:
            highest.pop()
        highest.append((constant, slope))
    # what is left falls at 1 row and rises in slope; the middle of three may still be below both
    return tuple(_upper_hull(highest))


def _upper_hull(lines: Sequence[Line]) -> list[Line]:
    hull: list[Line] = []
    for line in lines:
        while len(hull) > 1 and _meet_below(hull[-2], hull[-1], line):
            hull.pop()
        hull.append(line)
    return hull


def _meet_below(low: Line, middle: Line, high: Line) -> bool:
    """Whether the middle of three lines, by slope, is nowhere above both others."""
    return (low[0] - high[0]) * (middle[1] - low[1]) <= (low[0] - middle[0]) * (high[1] - low[1])


def _passes(profile: MemoryProfile, micro: int, placement: Placement, is_single: bool) -> int:
    """Most bytes of the passes of a step of one micro-batch, or of several."""
    lines = profile.single if is_single else profile.several
    constant, slope = profile.at_head[0 if is_single else 1]
    at_head = constant + slope * micro + head_bytes(profile, micro, placement)
    return max(at_head, *(constant + slope * micro for constant, slope in lines))
