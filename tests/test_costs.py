"""FLOP, peaks and sizes: the figures of papers and data sheets."""

from __future__ import annotations

import pytest

from lawdsl.runners.run.costs import (
    checkpoint_bytes,
    flops_per_token,
    has_bfloat16,
    model_flops_utilisation,
    peak_flops,
)

H100 = 989e12
VOCABULARY, SEQUENCE = 151_936, 2048


def counted(
    layers: int, hidden: int, intermediate: int, tied: bool
) -> tuple[int, int, int, int, bool]:
    """Qwen1.5: parameters and input embedding, layers, hidden, tied."""
    block = 4 * hidden**2 + 3 * hidden + 3 * hidden * intermediate + 2 * hidden
    embedding = VOCABULARY * hidden
    return (
        layers * block + hidden + embedding * (1 if tied else 2),
        embedding,
        layers,
        hidden,
        tied,
    )


QWEN = {
    # size: model, its parameters, GFLOP a token, thousand tokens a second at 30, 40 and 45 % of an
    # H100, hours of one for 200,000 steps of 64 x 2,048 tokens at 40 %
    ".5B": (counted(24, 1024, 2816, True), 463_987_712, 3.39, (88, 117, 131), 62),
    "1.8B": (counted(24, 2048, 5504, False), 1_836_828_672, 10.4, (29, 38, 43), 191),
    "4B": (counted(40, 2560, 6912, False), 3_950_369_280, 23.9, (12, 17, 19), 440),
}


def flops(size: str) -> int:
    parameters, embedding, layers, hidden, tied = QWEN[size][0]
    return flops_per_token(parameters, embedding, layers, hidden, SEQUENCE, tied=tied)


@pytest.mark.parametrize("size", QWEN)
def test_the_arithmetic_of_models_of_the_paper(size: str):
    model, parameters, giga, _, _ = QWEN[size]

    assert model[0] == parameters
    assert float(f"{flops(size) / 1e9:.3g}") == giga


@pytest.mark.parametrize("size", QWEN)
def test_the_tokens_a_second_of_an_mfu(size: str):
    rates = [part * H100 / flops(size) for part in (0.30, 0.40, 0.45)]

    assert [round(rate / 1000) for rate in rates] == list(QWEN[size][3])
    assert [model_flops_utilisation(rate, flops(size), H100) for rate in rates] == pytest.approx(
        [0.30, 0.40, 0.45]
    )


@pytest.mark.parametrize("size", QWEN)
def test_the_hours_of_a_run(size: str):
    tokens = 200_000 * 64 * SEQUENCE
    seconds = tokens * flops(size) / (0.40 * H100)

    assert abs(seconds / 3600 - QWEN[size][4]) < 1


def test_a_tied_head_is_multiplied_with_all_the_same():
    """The same model with a head of its own takes as much."""
    parameters, embedding, layers, hidden, _ = QWEN[".5B"][0]
    own = flops_per_token(parameters + embedding, embedding, layers, hidden, SEQUENCE, tied=False)

    assert own == flops(".5B")


def test_the_mfu_is_of_all_devices():
    assert model_flops_utilisation(800.0, 3.0, 4800.0, devices=2) == 0.25


def test_no_mfu_of_a_device_that_is_not_known():
    assert model_flops_utilisation(800.0, 3.0, peak_flops("cpu"), devices=2) is None


NAMES = [
    ("NVIDIA H100 80GB HBM3", 989),
    ("NVIDIA H100 PCIe", 756),
    ("NVIDIA H100 NVL", 835),
    ("NVIDIA H200", 989),
    ("NVIDIA H200 NVL", 835),
    ("NVIDIA GH200 480GB", 989),
    ("NVIDIA GH200 144G HBM3e", None),
    ("NVIDIA B200", 2250),
    ("NVIDIA GB200", 2500),
    ("NVIDIA A100-SXM4-40GB", 312),
    ("NVIDIA A100-SXM4-80GB", 312),
    ("NVIDIA A100-PCIE-40GB", 312),
    ("NVIDIA A100 80GB PCIe", 312),
    ("NVIDIA A10", 125),
    ("NVIDIA A10G", None),
    ("NVIDIA L4", 121),
    ("NVIDIA L40S", 362),
    ("Tesla V100-SXM2-16GB", 125),
    ("Tesla V100S-PCIE-32GB", 130),
    ("Tesla T4", 65),
    ("NVIDIA GeForce RTX 4090", 165.2),
    ("AMD Instinct MI300X", 1307),
    # a part, a slower one of the same name, none
    ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", None),
    ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
    ("NVIDIA GeForce RTX 4090 D", None),
    ("NVIDIA", None),
    ("cpu", None),
    ("", None),
]


@pytest.mark.parametrize(("name", "tera"), NAMES)
def test_the_dense_peak_of_a_device(name: str, tera: float | None):
    assert peak_flops(name) == (None if tera is None else tera * 1e12)


def test_the_checkpoint_of_half_a_billion_parameters():
    assert round(checkpoint_bytes(463_987_712) / 1e9, 1) == 5.6


@pytest.mark.parametrize(
    ("name", "precision", "tera"),
    [
        ("NVIDIA H200", "bfloat16", 989),
        ("NVIDIA H200", "tf32", 494.5),
        ("NVIDIA H200", "float32", 67),
        ("NVIDIA A100-SXM4-80GB", "tf32", 156),
        ("NVIDIA A100-SXM4-80GB", "float32", 19.5),
        ("Tesla V100-SXM2-16GB", "tf32", None),
        ("cpu", "float32", None),
    ],
)
def test_the_peak_is_that_of_the_precision(name: str, precision: str, tera: float | None):
    assert peak_flops(name, precision) == (None if tera is None else tera * 1e12)


@pytest.mark.parametrize(
    ("name", "has"),
    [
        *((name, True) for name in ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA A10G", "L4")),
        *((name, True) for name in ("A100-40G", "NVIDIA GeForce RTX 4090 Laptop GPU", "H200")),
        *((name, True) for name in ("NVIDIA B200", "AMD Instinct MI300X", "NVIDIA RTX A6000")),
        *((name, False) for name in ("Tesla V100-SXM2-16GB", "Tesla T4", "NVIDIA TITAN RTX")),
        *((name, False) for name in ("NVIDIA GeForce RTX 2080 Ti", "Tesla P100", "", "cpu")),
    ],
)
def test_which_devices_have_bfloat16(name: str, has: bool):
    assert has_bfloat16(name) is has
