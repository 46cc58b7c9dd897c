"""Tokens a second of the runner beside those of transformers' Trainer, and of two runs at once.

    python tests/benchmarks/bench_runner.py [--pairs 7] [--sizes 0.2M 1M 3M] [--device cpu]

The same model, batch, tokens, optimizer, schedule and precision. Each contender trains for a few
steps and for many, in a process of its own and in turn with the other; the difference is what the
steps cost, with all set-up left out. On the CPU that is processor time of one thread, which other
work on the machine disturbs less than the clock; on a GPU it is the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="PASSIVE", HF_HUB_OFFLINE="1")

import numpy as np
from runs import write_corpus

from lawdsl.reporting.terminal import console, show_rows
from lawdsl.runners.corpora.corpus import open_corpus
from lawdsl.runners.spec import (
    CorpusSpec,
    ExecutionConfig,
    ModelSpec,
    Paths,
    Run,
    RunOrder,
    Training,
    write_order,
)

SHAPES = {  # width, layers, steps
    "0.2M": (64, 4, 200),
    "1M": (128, 5, 100),
    "3M": (192, 7, 50),
    "0.5B": (1024, 24, 30),
}
VOCABULARY = {"0.5B": 151_936}
FEW = 10  # steps that are left out with the set-up


def config(size: str, sequence: int) -> dict[str, Any]:
    width, layers, _ = SHAPES[size]
    return {
        "model_type": "qwen2",
        "hidden_size": width,
        "intermediate_size": 2816 if size == "0.5B" else round(width / 6) * 16,
        "num_hidden_layers": layers,
        "num_attention_heads": max(width // 64, 2),
        "num_key_value_heads": max(width // 64, 2),
        "vocab_size": VOCABULARY.get(size, 2048),
        "max_position_embeddings": sequence,
        "tie_word_embeddings": True,
    }


def order(folder: Path, size: str, steps: int, arguments: argparse.Namespace) -> RunOrder:
    """A run on one corpus of random tokens, measured once at its beginning on a few windows."""
    from lawdsl.runners.training.models import fingerprint

    corpus = open_corpus(folder / "corpus")
    shape = config(size, arguments.sequence)
    gpu = arguments.device != "cpu"
    run = Run(
        model=ModelSpec(name=size, fingerprint=fingerprint(shape), initialization="width-scaled"),
        corpora={"text": CorpusSpec(fingerprint=corpus.fingerprint, share="1", max_epochs=1000)},
        validation={"text": open_corpus(folder / "validation").fingerprint},
        training=Training(
            steps=steps,
            batch=arguments.batch,
            sequence=arguments.sequence,
            learning_rate=1e-3,
            precision="bfloat16" if gpu else "float32",
        ),
        evaluate=(0, steps) if gpu else (0,),
    )
    paths = Paths(
        model=shape,
        corpora={"text": str(folder / "corpus")},
        validation={"text": str(folder / "validation")},
    )
    how = ExecutionConfig(device=arguments.device, checkpoint_every=10**9, save_final=False)
    return RunOrder(schema=1, label=size, run=run, paths=paths, how=how)


def ours(folder: Path, size: str, steps: int, arguments: argparse.Namespace) -> None:
    from lawdsl.runners import cpt

    with tempfile.TemporaryDirectory(dir=folder) as run:
        write_order(Path(run), order(folder, size, steps, arguments))
        begun = _now(arguments)
        assert cpt.main([run]) == 0
        _report(begun, arguments)


def trainer(folder: Path, size: str, steps: int, arguments: argparse.Namespace) -> None:
    import torch
    from transformers import Trainer, TrainingArguments

    from lawdsl.runners.run import streams
    from lawdsl.runners.training import models

    torch.set_num_threads(1)
    training = order(folder, size, steps, arguments).run.training
    corpus = open_corpus(folder / "corpus")
    windows = corpus.windows(training.sequence)
    mix = streams.mixture(
        {"text": 1}, {"text": windows}, {"text": corpus.fingerprint}, training.batch, 0
    )

    chosen = [window for step in range(steps) for _, window in streams.rows_of_step(mix, step)]

    class Rows(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return len(chosen)

        def __getitem__(self, index: int) -> dict[str, Any]:
            begin = chosen[index] * training.sequence
            ids = torch.from_numpy(
                corpus.tokens[begin : begin + training.sequence].astype(np.int64)
            )
            return {"input_ids": ids, "labels": ids}

    class InOrder(Trainer):
        def _get_train_sampler(self, *_: Any) -> Any:
            return torch.utils.data.SequentialSampler(self.train_dataset)

    model = models.load(config(size, training.sequence), "width-scaled", 0)
    with tempfile.TemporaryDirectory(dir=folder) as output:
        settings = TrainingArguments(
            output_dir=output,
            max_steps=steps,
            per_device_train_batch_size=training.batch,
            learning_rate=training.learning_rate,
            lr_scheduler_type="cosine",
            weight_decay=training.weight_decay,
            adam_beta1=training.beta1,
            adam_beta2=training.beta2,
            optim="adamw_torch_fused",
            max_grad_norm=training.clip,
            bf16=arguments.device != "cpu",
            torch_compile=arguments.device != "cpu",
            use_cpu=arguments.device == "cpu",
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            dataloader_pin_memory=arguments.device != "cpu",
        )
        begun = _now(arguments)
        InOrder(model=model, args=settings, train_dataset=Rows()).train()
        _report(begun, arguments)


CONTENDERS = {"lawdsl": ours, "Trainer": trainer}


def _now(arguments: argparse.Namespace) -> float:
    return time.process_time() if arguments.device == "cpu" else time.perf_counter()


def _report(begun: float, arguments: argparse.Namespace) -> None:
    print(json.dumps(_now(arguments) - begun))


def seconds(who: str, size: str, steps: int, folder: Path, words: list[str]) -> float:
    """What a contender needs for some steps, in a process of its own."""
    command = [sys.executable, __file__, *words, "--one", who, size, str(steps), str(folder)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(found.stdout.splitlines()[-1]))


def pairs(size: str, folder: Path, arguments: argparse.Namespace, words: list[str]) -> list[Any]:
    """Medians of tokens a second, and of the ratio of each pair, with its range."""
    many = SHAPES[size][2]
    tokens = (many - FEW) * arguments.batch * arguments.sequence
    rates: dict[str, list[float]] = {who: [] for who in CONTENDERS}
    for pair in range(arguments.pairs):
        for who in sorted(CONTENDERS, reverse=bool(pair % 2)):
            few = seconds(who, size, FEW, folder, words)
            rates[who].append(tokens / (seconds(who, size, many, folder, words) - few))
    ratios = sorted(a / b for a, b in zip(rates["lawdsl"], rates["Trainer"], strict=True))
    spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
    return [
        size,
        *(f"{median(rates[who]):,.0f}" for who in CONTENDERS),
        f"{median(ratios):.3f}",
        spread,
    ]


def at_once(size: str, folder: Path, words: list[str]) -> float:
    """How much more two runs at once do than one, by the clock, their set-up left out."""
    many = 4 * SHAPES[size][2]

    def clock(count: int, steps: int) -> float:
        command = [
            sys.executable,
            __file__,
            *words,
            "--one",
            "lawdsl",
            size,
            str(steps),
            str(folder),
        ]
        begun = time.perf_counter()
        running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(count)]
        assert not any(process.wait() for process in running)
        return time.perf_counter() - begun

    one, two = (clock(count, many) - clock(count, FEW) for count in (1, 2))
    return 2 * one / two


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--sizes", nargs="+", choices=SHAPES, default=["0.2M", "1M", "3M"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--sequence", type=int, default=256)
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        who, size, steps, folder = arguments.one
        CONTENDERS[who](Path(folder), size, int(steps), arguments)
        return
    words = [f"--{name}={getattr(arguments, name)}" for name in ("device", "batch", "sequence")]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        generator = np.random.default_rng(0)
        for name, count in (("corpus", 2_000_000), ("validation", arguments.batch * 2000)):
            write_corpus(folder / name, [generator.integers(1, 2048, count)], 2048)
        rows = [pairs(size, folder, arguments, words) for size in arguments.sizes]
        headers = ("non-embedding", *(f"{who}, tokens/s" for who in CONTENDERS), "ratio", "range")
        show_rows(headers, rows, console())
        if arguments.device == "cpu":
            ratio = at_once(arguments.sizes[-1], folder, words)
            print(f"two runs at once, one thread each: {ratio:.2f} times one")


if __name__ == "__main__":
    main()
