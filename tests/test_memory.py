"""The memory estimate against allocations that are counted, and what is chosen by it."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from lawdsl.runners.run.memory import (
    MemoryProfile,
    Placement,
    StepPlan,
    checkpoint_copy_bytes,
    even_micro_batch,
    head_bytes,
    highest_lines,
    plan_step,
    step_bytes,
)

GB = 10**9
# a billion parameters, a row takes 10 GB, or 1 GB checkpointed, and what the head takes
PLAIN = MemoryProfile(
    parameters=GB,
    largest_block=10**8,
    outside=10**8,
    sequence=128,
    vocabulary=64,
    hidden=8,
    first=((0, 10 * GB),),
    further=((0, 9 * GB),),
    at_head=((0, GB), (0, GB)),
)
CHECKPOINTED = replace(PLAIN, first=((0, GB),), further=((0, GB),), at_head=((0, 0), (0, 0)))
PROFILES = {False: PLAIN, True: CHECKPOINTED}
GPU, CPU = Placement("cuda", "bfloat16"), Placement("cpu", "float32")


def test_the_highest_lines_are_those_of_the_maximum_at_every_number_of_rows():
    draw = random.Random(1)
    for _ in range(200):
        lines = [(draw.randint(-50, 50), draw.randint(0, 20)) for _ in range(draw.randint(1, 30))]
        highest = highest_lines(lines)
        assert set(highest) <= set(lines)
        for rows in range(1, 200):
            at = [constant + slope * rows for constant, slope in lines]
            assert max(constant + slope * rows for constant, slope in highest) == max(at)


@pytest.mark.parametrize(
    ("rows", "most", "micro"), [(64, 40, 32), (64, 64, 64), (64, 1, 1), (7, 6, 1), (12, 5, 4)]
)
def test_a_micro_batch_divides_the_rows_evenly(rows: int, most: int, micro: int):
    assert even_micro_batch(rows, most) == micro


@pytest.mark.parametrize(
    ("available", "expected"),
    [
        # 12 GB of weights and moments; several pieces have 4 of gradients beside the passes
        (None, (8, False)),
        (93 * GB, (8, False)),
        (53 * GB, (4, False)),
        (35 * GB, (2, False)),
        (26 * GB, (1, False)),
        (24.5 * GB, (8, True)),
        (18.5 * GB, (2, True)),
        (16.9 * GB, (1, True)),
    ],
)
def test_as_many_rows_as_fit_and_checkpoints_where_not_one_does(
    available: float | None, expected: tuple[int, bool]
):
    plan = plan_step(PROFILES, 8, GPU, available and int(available))
    assert (plan.micro, plan.checkpointed) == expected
    # the last has no way to fit, and is the plan that takes least
    assert available is None or (plan.bytes <= available) == (available > 17 * GB)


def test_the_choices_of_the_user_stand():
    small = 17 * GB
    assert plan_step(PROFILES, 8, GPU, small, checkpoint=False).checkpointed is False
    assert plan_step(PROFILES, 8, GPU, 100 * GB, checkpoint=True).checkpointed is True
    assert plan_step(PROFILES, 8, GPU, small, micro=4, checkpoint=False).micro == 4
    assert plan_step(PROFILES, 8, CPU, small).checkpointed is False


def test_processes_share_the_state_only_where_it_is_sharded():
    one = step_bytes(PLAIN, 2, 2, GPU)
    copied = step_bytes(PLAIN, 2, 2, replace(GPU, processes=4))
    sharded = step_bytes(PLAIN, 2, 2, replace(GPU, processes=4, sharded=True))
    assert copied == one + 4 * GB  # the buckets of DDP
    # a quarter of 16 bytes a parameter, three tenths of all parameters whole, with gradients
    assert sharded == 4 * GB + int(8 * 0.3 * GB) + 2 * 9 * GB


def test_gradients_of_earlier_rows_lie_beside_the_passes():
    assert step_bytes(PLAIN, 4, 2, GPU) - step_bytes(PLAIN, 2, 2, GPU) == 4 * GB - 2 * GB


def test_the_head_takes_two_arrays_of_logits_and_the_gradient_of_its_weights():
    shape = replace(PLAIN, sequence=2048, vocabulary=151_936, hidden=1024)
    # 8 rows are 16,384 tokens; 1 GiB of float32 logits, as much again for their slopes or half
    assert 2.7 * GB < head_bytes(shape, 8, Placement("cuda", "float32")) < 2.8 * GB
    assert 2.5 * GB < head_bytes(shape, 8, GPU) < 2.6 * GB


def test_a_checkpoint_is_written_from_a_copy():
    assert checkpoint_copy_bytes(GB) == 12 * GB


@pytest.mark.parametrize(
    ("most", "checkpoints_from", "fixed", "auto", "expected", "tried"),
    [
        (8, None, False, True, (8, False), 1),
        (3, None, False, True, (2, False), 3),
        (0, 4, False, True, (4, True), 6),
        (0, 4, False, False, None, 4),
        (0, 8, True, True, (8, True), 2),
        (3, None, True, False, None, 1),
    ],
)
def test_a_step_is_made_smaller_until_it_fits(
    most: int,
    checkpoints_from: int | None,
    fixed: bool,
    auto: bool,
    expected: tuple[int, bool] | None,
    tried: int,
):
    from lawdsl.runners.training.micro_batch import fitted_step

    attempts = []

    def fits(plan: StepPlan) -> bool:
        attempts.append(plan)
        return plan.micro <= ((checkpoints_from or 0) if plan.checkpointed else most)

    plan = fitted_step(StepPlan(8, False, 0), 8, fits, fixed=fixed, auto=auto)
    assert (plan and (plan.micro, plan.checkpointed)) == expected
    assert len(attempts) == tried


# --- against allocations


def configurations() -> dict[str, dict[str, Any]]:
    """Small models of several architectures."""
    common = {
        "vocab_size": 2048,
        "hidden_size": 64,
        "intermediate_size": 176,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "max_position_embeddings": 256,
    }
    grouped = common | {"num_key_value_heads": 2, "head_dim": 16}
    return {
        "llama": grouped | {"model_type": "llama"},
        "qwen2": grouped | {"model_type": "qwen2", "tie_word_embeddings": True},
        "mistral, sliding": grouped | {"model_type": "mistral", "sliding_window": 64},
        "gpt_neox": common | {"model_type": "gpt_neox"},
        "phi": common | {"model_type": "phi"},
        "gpt2": {
            "model_type": "gpt2",
            "vocab_size": 2048,
            "n_embd": 64,
            "n_layer": 3,
            "n_head": 4,
            "n_positions": 256,
            "bos_token_id": 0,
            "eos_token_id": 0,
        },
    }


def allocated(
    plain: dict[str, Any], rows: int, low: bool, checkpointed: bool, further: bool
) -> int:
    """Most bytes beside what was there before, by the events of torch's CPU allocator."""
    import torch

    from lawdsl.runners.training import models
    from lawdsl.runners.training.activation_checkpointing import checkpoint_activations

    model = models.load(plain, "transformers", 0).train()
    loss = models.LanguageModelLoss(model)
    if checkpointed:
        checkpoint_activations(loss)
    tokens = torch.randint(0, 2048, (rows, 257))

    def passes() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=low):
            value = loss(tokens)
        value.backward()

    passes()  # what is set up once
    if not further:
        loss.zero_grad()
    kinds = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=kinds, profile_memory=True) as profiler:
        passes()
    events = profiler.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    total = most = 0
    for _, change in changes:
        total += change
        most = max(most, total)
    return most


def slow(names: Any) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.slow) for name in names if name != "llama"]


@pytest.mark.parametrize("low", [False, True])
@pytest.mark.parametrize("checkpointed", [False, True])
@pytest.mark.parametrize("name", slow(configurations()))
def test_the_estimate_is_within_a_twentieth_of_what_is_allocated(
    name: str, checkpointed: bool, low: bool
):
    compare(configurations()[name], checkpointed, low)


def test_the_estimate_of_a_llama_is_within_a_twentieth_of_what_is_allocated():
    compare(configurations()["llama"] | {"num_hidden_layers": 1}, checkpointed=False, low=True)


def compare(plain: dict[str, Any], checkpointed: bool, low: bool) -> None:
    from lawdsl.runners.training.memory import profile

    precision = "bfloat16" if low else "float32"
    counted = profile(plain, 256, precision, checkpointed=checkpointed)
    place, state = Placement("cpu", precision), 12 * counted.parameters
    for rows, further in ((1, False), (5, True)):
        # twice the rows are two pieces, of which the second has gradients beside it
        step = step_bytes(counted, rows * (2 if further else 1), rows, place)
        real = allocated(plain, rows, low, checkpointed, further)
        gradients = 4 * counted.parameters * further
        error = step - state - max(real + gradients, 4 * counted.parameters)
        assert abs(error) <= 0.05 * real
