"""The loss in chunks is that of the full logits, and so are its gradients; the logits never exist."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from lawdsl.runners.training import losses
from lawdsl.runners.training.losses import chunked_loss, default_chunk, token_losses

ROWS, TOKENS, WIDTH, VOCABULARY = 3, 7, 5, 11
N = ROWS * TOKENS
ORDER = 1e-6
"""Of float32: chunks of other sizes, compiled and distributed code go through other kernels, which
add up in another order. Only the same call on the same shapes is the same bit for bit."""


def problem(
    dtype: torch.dtype = torch.float64, scale: float = 1.0, ignored: tuple[int, ...] = (3, 20)
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Hidden states, head, its bias and targets."""
    g = torch.Generator().manual_seed(1)
    hidden = torch.randn(ROWS, TOKENS, WIDTH, generator=g, dtype=torch.float64) * scale
    weight = torch.randn(VOCABULARY, WIDTH, generator=g, dtype=torch.float64)
    bias = torch.randn(VOCABULARY, generator=g, dtype=torch.float64)
    targets = torch.randint(0, VOCABULARY, (N,), generator=g)
    targets[list(ignored)] = -100
    return *(t.to(dtype).requires_grad_() for t in (hidden, weight, bias)), targets


def full(hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor) -> Tensor:
    """The same with all logits at once."""
    logits = F.linear(hidden, weight, bias).flatten(0, -2)
    return F.cross_entropy(logits, targets.flatten(), reduction="sum")


CHUNKS = [1, 4, 7, N, 1000, None]


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_loss_and_gradients_are_those_of_the_full_logits(
    chunk: int | None, biased: bool, scale: float
):
    hidden, weight, b, targets = problem(scale=scale)
    bias, leaves = (b, [hidden, weight, b]) if biased else (None, [hidden, weight])
    expected = full(hidden, weight, bias, targets)
    found = chunked_loss(hidden, weight, targets, chunk=chunk, bias=bias)

    assert torch.allclose(found, expected, rtol=1e-12, atol=1e-12)  # sums in another order
    for ours, theirs in zip(
        torch.autograd.grad(found / 19, leaves),
        torch.autograd.grad(expected / 19, leaves),
        strict=True,
    ):
        assert torch.allclose(ours, theirs, rtol=1e-12, atol=1e-14 * scale)


@pytest.mark.parametrize("chunk", [4, N])
@pytest.mark.parametrize("biased", [False, True])
def test_gradients_are_those_of_finite_differences(chunk: int, biased: bool):
    hidden, weight, bias, targets = problem()

    assert torch.autograd.gradcheck(
        lambda h, w, b: chunked_loss(h, w, targets, chunk=chunk, bias=b),
        (hidden, weight, bias if biased else None),
    )


def test_float32_is_the_full_logits_to_rounding():
    """The rounding of float32 is 6e-8; sums of some thousand products cost one digit more."""
    g = torch.Generator().manual_seed(2)
    hidden = torch.randn(300, 64, generator=g).requires_grad_()
    weight = (torch.randn(500, 64, generator=g) / 8).requires_grad_()
    targets = torch.randint(0, 500, (300,), generator=g)
    exact = full(hidden.double(), weight.double(), None, targets)
    found = chunked_loss(hidden, weight, targets, chunk=77)

    assert found.dtype == torch.float32
    assert abs(found.item() / exact.item() - 1) < 3e-7
    for ours, theirs in zip(
        torch.autograd.grad(found, [hidden, weight]),
        torch.autograd.grad(exact, [hidden, weight]),
        strict=True,
    ):
        assert (ours - theirs).abs().max() < 1e-6 * theirs.abs().max()


def test_rows_of_targets_and_one_row_of_both_give_the_same():
    hidden, weight, _, targets = problem(torch.float32)

    together = chunked_loss(hidden, weight, targets.view(ROWS, TOKENS), chunk=4)
    flat = chunked_loss(hidden.flatten(0, 1), weight, targets, chunk=4)

    assert torch.allclose(together, flat, rtol=ORDER)


@pytest.mark.parametrize("chunk", CHUNKS)
def test_the_losses_of_tokens_are_those_of_the_full_logits(chunk: int | None):
    hidden, weight, bias, targets = problem(torch.float32)
    logits = F.linear(hidden.double(), weight.double(), bias.double()).flatten(0, 1)
    expected = F.cross_entropy(logits, targets, reduction="none")
    found = token_losses(hidden, weight, targets, chunk, bias=bias)

    assert found.dtype == torch.float32
    assert not found.requires_grad
    assert found[3] == found[20] == 0
    assert torch.allclose(found.double(), expected, rtol=3e-7, atol=3e-7)
    summed = chunked_loss_without_gradient(hidden, weight, targets, bias)
    assert torch.allclose(found.sum(), summed, rtol=ORDER)


def chunked_loss_without_gradient(
    hidden: Tensor, weight: Tensor, targets: Tensor, bias: Tensor
) -> Tensor:
    with torch.no_grad():
        loss = chunked_loss(hidden, weight, targets, bias=bias)
    assert not loss.requires_grad
    return loss


@pytest.mark.parametrize("chunk", [4, N])
def test_what_is_not_counted_has_no_gradient(chunk: int):
    hidden, weight, _, targets = problem(ignored=tuple(range(1, N)))

    chunked_loss(hidden, weight, targets, chunk=chunk).backward()
    alone, head = hidden.detach()[0, :1].requires_grad_(), weight.detach().requires_grad_()
    chunked_loss(alone, head, targets[:1]).backward()

    assert hidden.grad.flatten(0, 1)[1:].abs().max() == 0
    assert torch.allclose(weight.grad, head.grad, rtol=1e-12, atol=1e-13)


def test_nothing_that_counts_is_no_loss():
    hidden, weight, _, targets = problem(ignored=tuple(range(N)))
    loss = chunked_loss(hidden, weight, targets, chunk=4)
    loss.backward()

    assert loss == 0
    assert hidden.grad.abs().max() == weight.grad.abs().max() == 0


LOGITS = [
    ([0.0, 0.0, 0.0], 1),
    ([5.0, -3.0, 0.0], 0),
    ([5.0, -3.0, 0.0], 1),
    ([1e4, -1e4, 0.0], 1),
    ([-1e4, -1e4 + 1, -1e4], 2),
    ([200.0, 0.0, 0.0], 0),
    ([200.0, 0.0, 0.0], 2),
]


@pytest.mark.parametrize("way", [losses._slopes, losses._slopes_in_place])
@pytest.mark.parametrize(("logits", "target"), LOGITS)
def test_both_ways_to_the_slopes_of_extreme_logits(way: Any, logits: list[float], target: int):
    """Differences of 20,000 nats, all equal, far from 0; the kernels of a GPU are one way."""
    given = torch.tensor([logits], dtype=torch.float32)
    exact = given.double().log_softmax(1)
    slopes_expected = exact.exp() - F.one_hot(torch.tensor([target]), 3)
    loss, slopes = way(given.clone(), torch.tensor([[target]]), torch.float32)

    assert torch.allclose(loss.double(), -exact[:, target], rtol=3e-7, atol=2e-7)
    assert torch.allclose(slopes.double(), slopes_expected, rtol=1e-6, atol=2e-7)


def test_a_state_that_is_no_number_makes_a_loss_that_is_none():
    hidden, weight, _, targets = problem()
    broken = hidden.detach().clone()
    broken[0, 0, 0] = float("nan")

    assert chunked_loss(broken.requires_grad_(), weight, targets).isnan()


def test_a_target_outside_the_vocabulary_is_an_error():
    hidden, weight, _, targets = problem()

    with pytest.raises((RuntimeError, IndexError)):
        chunked_loss(hidden, weight, targets.clamp_min(VOCABULARY), chunk=4)


class Largest(TorchDispatchMode):
    """How many numbers the largest tensor has that any operation made."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        found = func(*args, **(kwargs or {}))
        made = found if isinstance(found, tuple) else (found,)
        self.numbers = max(self.numbers, *(t.numel() if isinstance(t, Tensor) else 0 for t in made))
        return found


def sized(tokens: int, width: int, vocabulary: int) -> tuple[Tensor, Tensor, Tensor]:
    g = torch.Generator().manual_seed(3)
    hidden = torch.randn(tokens, width, generator=g)
    weight = torch.randn(vocabulary, width, generator=g)
    return hidden, weight, torch.randint(0, vocabulary, (tokens,), generator=g)


@pytest.mark.parametrize("chunk", [8, 64])
def test_nothing_larger_than_the_logits_of_a_chunk_is_ever_made(chunk: int):
    hidden, weight, targets = sized(512, 4, 300)
    with Largest() as training:
        losses._gradients(hidden, weight, None, targets, chunk, torch.float32)
    with Largest() as evaluation:
        token_losses(hidden, weight, targets, chunk)

    # hidden states are 2,048, the head 1,200, all logits 153,600
    assert training.numbers == evaluation.numbers == chunk * 300


SIZES = [
    # tokens, vocabulary, device, chunk
    (1024, 2048, "cpu", 256),
    (1000, 2048, "cpu", 256),
    (1024, 512, "cpu", 1024),
    (1025, 512, "cpu", 576),
    (64, 2048, "cpu", 64),
    (1024, 151_936, "cpu", 64),
    (16_384, 151_936, "cuda", 1664),
    (131_072, 2048, "cuda", 131_072),
    (1, 2048, "cuda", 64),
    (0, 2048, "cpu", 64),
]


@pytest.mark.parametrize(("tokens", "vocabulary", "device", "chunk"), SIZES)
def test_chunks_are_even_and_small_enough(tokens: int, vocabulary: int, device: str, chunk: int):
    assert default_chunk(tokens, vocabulary, device) == chunk
    assert chunk * vocabulary * 4 <= (2**26 if device == "cpu" else 2**30)


def test_the_same_bits_every_time():
    hidden, weight, targets = sized(300, 16, 700)
    found = []
    for _ in range(2):
        h, w = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
        loss = chunked_loss(h, w, targets, chunk=32)
        found.append([loss, *torch.autograd.grad(loss, [h, w])])

    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_autocast_on_a_cpu_takes_no_digits_away():
    """There, products in bfloat16 are rounded to it, and logits would have three digits."""
    hidden, weight, _, targets = problem(torch.float32)
    half = hidden.detach().bfloat16().requires_grad_()
    plain = chunked_loss(half.detach().float(), weight, targets)
    with torch.autocast("cpu", torch.bfloat16):
        loss = chunked_loss(half, weight, targets)
        tokens = token_losses(half, weight, targets)
    loss.backward()

    assert loss.dtype == tokens.dtype == weight.grad.dtype == torch.float32
    assert half.grad.dtype == torch.bfloat16
    assert torch.allclose(loss, plain, rtol=ORDER)
    exact = token_losses(half.float(), weight, targets)
    assert torch.allclose(tokens, exact, rtol=ORDER, atol=ORDER)


@pytest.mark.parametrize("biased", [False, True])
def test_the_operator_keeps_what_it_promises_to_torch(biased: bool):
    """Schema, shapes without numbers, autograd, and both together under AOT autograd."""
    hidden, weight, bias, targets = problem(torch.float32)
    flat = hidden.detach().flatten(0, 1).requires_grad_()
    arguments = (flat, weight, bias if biased else None, targets, 4, torch.float32)

    torch.library.opcheck(losses._with_gradients, arguments)


def test_compiled_it_gives_the_same_loss_and_gradients():
    hidden, weight, _, targets = problem(torch.float32)

    def loss(h: Tensor, w: Tensor) -> Tensor:
        return chunked_loss(h * 2, w, targets, chunk=4) / 19

    eager = loss(hidden, weight)
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)(hidden, weight)

    assert torch.allclose(eager, compiled, rtol=ORDER)
    for ours, theirs in zip(
        torch.autograd.grad(compiled, [hidden, weight]),
        torch.autograd.grad(eager, [hidden, weight]),
        strict=True,
    ):
        assert torch.allclose(ours, theirs, rtol=ORDER, atol=ORDER * float(theirs.abs().max()))


def test_a_tied_head_adds_both_gradients():
    """The weights of the input embedding are those of the head, as in most small models."""
    found = []
    tokens = torch.arange(N) % VOCABULARY
    targets = problem()[3]
    for loss in (chunked_loss, lambda h, w, t: full(h, w, None, t)):
        weight = problem()[1].detach().requires_grad_()
        loss(F.embedding(tokens, weight).tanh(), weight, targets).backward()
        found.append(weight.grad)

    assert torch.allclose(*found, rtol=1e-12, atol=1e-13)


DISTRIBUTED = """
import sys
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from lawdsl.runners.training.losses import chunked_loss

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = torch.nn.Linear(6, 5), torch.nn.Linear(5, 11, bias=False)

    def forward(self, x, targets):
        return chunked_loss(self.body(x), self.head.weight, targets, chunk=3)

folder, rank = sys.argv[1], int(sys.argv[2])
torch.manual_seed(0)
model = Model()
x, targets = torch.randn(8, 7, 6), torch.randint(0, 11, (8, 7))
dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
copied = DistributedDataParallel(model)
(copied(x[rank::2], targets[rank::2]) * 2).backward()
together = [p.grad.clone() for p in model.parameters()]
model.zero_grad()
model(x, targets).backward()
for ours, theirs in zip(together, [p.grad for p in model.parameters()], strict=True):
    assert torch.allclose(ours, theirs, rtol=1e-5, atol=1e-6), (ours, theirs)
dist.destroy_process_group()
"""


HOOKED = """
import os, sys
import torch
from lawdsl.runners.training.losses import chunked_loss

torch.manual_seed(0)
hidden, targets = torch.randn(6, 7, 5), torch.randint(0, 11, (6, 7))

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(11, 5))

    def forward(self, h):
        return chunked_loss(h, self.weight, targets, chunk=4)

model = Model()
store = f"file://{sys.argv[1]}/meet"
torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
copied = torch.nn.parallel.DistributedDataParallel(model)
copied(hidden).backward()
(expected,) = torch.autograd.grad(chunked_loss(hidden, model.weight, targets, chunk=4), model.weight)
assert torch.allclose(model.weight.grad, expected, rtol=1e-5, atol=1e-6)
print("equal", flush=True)
os._exit(0)
"""


def test_the_gradients_go_through_the_hooks_of_ddp(tmp_path: Path):
    """In a process of its own, which ends without deleting the model: right behind a backward pass a
    thread of gloo may wait for the interpreter's lock while the interpreter waits for the thread."""
    command = [sys.executable, "-c", HOOKED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert done.stdout == "equal\n", done.stderr


@pytest.mark.slow
def test_two_processes_make_the_gradients_of_one(tmp_path: Path):
    """Each has half of the rows; DDP takes the mean of their gradients."""
    script = tmp_path / "script.py"
    script.write_text(DISTRIBUTED)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    both = [
        subprocess.Popen(
            [sys.executable, str(script), str(tmp_path), str(rank)],
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in (0, 1)
    ]

    said = [process.communicate()[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("chunk", [100, None])
def test_on_a_gpu_bfloat16_costs_what_rounding_the_factors_costs(chunk: int | None):
    """Logits and the gradient of the head are summed in float32."""
    hidden, weight, targets = (t.cuda() for t in sized(700, 64, 5000))
    hidden, weight = hidden.bfloat16().requires_grad_(), weight.div(8).requires_grad_()
    exact_hidden, exact_weight = hidden.detach().double(), weight.detach().bfloat16().double()
    exact_hidden.requires_grad_(), exact_weight.requires_grad_()
    exact = full(exact_hidden, exact_weight, None, targets)
    with torch.autocast("cuda", torch.bfloat16):
        loss = chunked_loss(hidden, weight, targets, chunk=chunk)
        tokens = token_losses(hidden, weight, targets, chunk)
    loss.backward()
    exact.backward()

    assert loss.dtype == tokens.dtype == weight.grad.dtype == torch.float32
    assert abs(loss.item() / exact.item() - 1) < 1e-5
    assert abs(tokens.sum().item() / exact.item() - 1) < 1e-5
    for ours, theirs in ((hidden.grad, exact_hidden.grad), (weight.grad, exact_weight.grad)):
        assert (ours - theirs).norm() < 0.01 * theirs.norm()
