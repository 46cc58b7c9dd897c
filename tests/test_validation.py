"""Validation sets: which samples are drawn, what models make of them, which are kept."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from tiny_models import END, WIDTH, bigram_model, byte_tokenizer, unigram
from validation_cases import (
    GOOD,
    LETTERS,
    babble,
    documents,
    drawn_from,
    make_selection,
    models,
    run,
    text_and_models,
    texts,
)

from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.corpora.build import write_corpus
from lawdsl.runners.corpora.corpus import open_corpus, paragraph_keys
from lawdsl.runners.corpora.deduplication import key as paragraph_key
from lawdsl.runners.spec import ExecutionConfig
from lawdsl.runners.training.distributed import join
from lawdsl.runners.validation import sets
from lawdsl.runners.validation.perplexities import encode
from lawdsl.runners.validation.selection import select

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def place() -> Any:
    return join(ExecutionConfig(device="cpu"))


world = pytest.fixture(scope="module")(text_and_models)


# ---- which samples are drawn


def test_samples_do_not_depend_on_the_order_of_documents(world: Path, tmp_path: Path):
    lines = (world / "text.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "a.jsonl").write_text("\n".join(reversed(lines[:15])), encoding="utf-8")
    (tmp_path / "b.jsonl").write_text("\n".join(lines[15:]), encoding="utf-8")

    one = drawn_from(world, count=12)
    other = drawn_from(world, tmp_path / "b.jsonl", tmp_path / "a.jsonl", count=12)

    assert [s.text for s in one.samples] == [s.text for s in other.samples]
    assert one.identity == other.identity
    assert one.documents == other.documents == GOOD + 4


def test_a_larger_draw_has_the_smaller_one_and_another_seed_another(world: Path):
    few, many = drawn_from(world, count=10), drawn_from(world, count=30)
    other = drawn_from(world, count=10, seed=1)

    assert many.samples[:10] == few.samples
    assert {s.text for s in other.samples} != {s.text for s in few.samples}


def test_draws_are_fair(world: Path):
    """A document is drawn under a quarter of 400 seeds when ten of forty are."""
    counts = dict.fromkeys(texts(), 0)
    for seed in range(400):
        for sample in drawn_from(world, count=10, seed=seed).samples:
            counts[sample.text] += 1

    spread = np.array(list(counts.values()))
    assert spread.sum() == 4000
    # binomial with sd 8.66; the chance of one beyond 4 sd among forty is under 3 in 1,000
    assert np.abs(spread - 100).max() < 4 * 8.66


def test_copies_fall_together_and_are_counted(world: Path, tmp_path: Path):
    again = json.dumps({"text": texts()[0]}) + "\n"
    (tmp_path / "again.jsonl").write_text(again * 3, encoding="utf-8")

    drawn = drawn_from(world, world / "text.jsonl", tmp_path / "again.jsonl")

    assert (drawn.documents, len(drawn.samples), drawn.duplicates) == (GOOD + 7, GOOD + 4, 3)


def test_short_documents_are_left_out_and_counted(world: Path):
    drawn = drawn_from(world, shortest=61)

    long = [text for text in texts() if len(text) >= 61]
    assert {s.text for s in drawn.samples} == set(long)
    assert drawn.short == len(texts()) - len(long)


def test_of_long_documents_a_piece_is_taken_from_anywhere(world: Path, tmp_path: Path):
    long = [f"{i:03d}" + "".join(f"{j:05d}" for j in range(3000)) for i in range(60)]
    lines = [json.dumps({"text": text}) for text in long]
    (tmp_path / "long.jsonl").write_text("\n".join(lines), encoding="utf-8")

    drawn = drawn_from(world, tmp_path / "long.jsonl", length=50)

    at = []
    for sample in drawn.samples:
        source = long[int(sample.source.rpartition(":")[2]) - 1]
        assert len(sample.text) == 50 and sample.cut
        at.append(source.index(sample.text) / len(source))
    # uniform: the mean of sixty is off by .037 at one sd
    assert abs(np.mean(at) - 0.5) < 0.12 and min(at) < 0.1 and max(at) > 0.85


def test_paragraphs_that_a_piece_cuts_are_kept_from_training(world: Path, tmp_path: Path):
    parts = [babble(i, LETTERS, 400) for i in range(100)]
    (tmp_path / "long.txt").write_text("\n\n".join(parts), encoding="utf-8")

    (sample,) = drawn_from(world, tmp_path / "long.txt", length=100).samples

    whole = [part for part in parts if sample.text[:40] in part or sample.text[-40:] in part]
    assert whole and {paragraph_key(part) for part in whole} <= set(sample.paragraphs)


def test_text_that_is_no_utf8_in_json_is_mended(world: Path, tmp_path: Path):
    (tmp_path / "odd.jsonl").write_text('{"text": "%s\\ud800"}' % ("a" * 40), encoding="utf-8")

    (sample,) = drawn_from(world, tmp_path / "odd.jsonl").samples

    assert sample.text == "a" * 40 + "\ufffd"


# ---- what models make of them


def test_losses_are_those_of_the_table(world: Path, tmp_path: Path, place: Any):
    """Of a bigram model every loss is known; rows of a batch have different lengths."""
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(WIDTH, WIDTH))
    table = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    tokenizer = byte_tokenizer()
    model = bigram_model(tmp_path / "model", table, tokenizer)
    drawn = drawn_from(world)

    (judge,) = sets.judges_of([model], 2048, place)
    measured = sets.measure(drawn, sets.Panel([judge], place, 512), tmp_path / "set")

    for sample, loss, tokens in zip(
        drawn.samples, measured.losses[0], measured.tokens[0], strict=True
    ):
        ids = [tokenizer.token_to_id(END), *tokenizer.encode(sample.text).ids]
        expected = -np.mean([table[a, b] for a, b in zip(ids[:-1], ids[1:], strict=True)])
        assert loss == pytest.approx(expected, rel=1e-5)
        assert tokens == len(ids) - 1


FAMILIES = {
    "qwen2": {"intermediate_size": 48, "num_key_value_heads": 2},
    "llama": {"intermediate_size": 48, "num_key_value_heads": 2},
    "gpt_neox": {"intermediate_size": 48},
    "gpt2": {},
}


@pytest.fixture
def drawn_model(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A model of a family with random weights, large enough for it to attend to something."""
    from transformers import AutoConfig, AutoModelForCausalLM, set_seed

    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = AutoConfig.for_model(
        request.param, vocab_size=WIDTH, initializer_range=0.3, **sizes, **FAMILIES[request.param]
    )
    set_seed(1)
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / "model")
    byte_tokenizer().save(str(tmp_path / "model" / "tokenizer.json"))
    return tmp_path / "model"


@pytest.mark.parametrize("drawn_model", FAMILIES, indirect=True)
def test_what_stands_beside_a_sample_in_a_batch_does_not_matter(
    world: Path, tmp_path: Path, place: Any, drawn_model: Path
):
    """Nor does it matter much whether products are made in bfloat16."""
    drawn = drawn_from(world)
    (judge,) = sets.judges_of([drawn_model], 2048, place)
    half = replace(judge, precision="bfloat16")

    alone = sets.measure(drawn, sets.Panel([judge], place, 1), tmp_path / "alone").losses[0]
    together = sets.measure(
        drawn, sets.Panel([judge, half], place, 4096), tmp_path / "together"
    ).losses

    assert together[0] == pytest.approx(alone, rel=1e-5)
    assert np.ptp(alone) > 0.1
    assert together[1] == pytest.approx(alone, abs=0.03) and (together[1] != alone).all()


def test_each_model_reads_with_its_own_tokenizer(world: Path, place: Any):
    judges = sets.judges_of([world / "one", world / "two", world / "words"], 2048, place)

    (one,), (two,), (words,) = (encode(judge, ["ab ab9"]) for judge in judges)

    assert len(one) == 1 + 6 and len(two) == 1 + 4 and len(words) == 1 + 6
    assert one[0] == 0 and words[0] == 1  # what ends a document stands before a text
    assert words[-1] == 0  # a letter it does not know


def test_what_a_tokenizer_puts_before_a_text_is_before_each_sample(tmp_path: Path, place: Any):
    from tokenizers import processors

    tokenizer = byte_tokenizer()
    tokenizer.add_special_tokens(["<s>"])
    begin = tokenizer.token_to_id("<s>")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"<s> $A {END}", special_tokens=[("<s>", begin), (END, 0)]
    )
    model = bigram_model(tmp_path / "model", unigram(tokenizer, "a"), tokenizer)

    (judge,) = sets.judges_of([model], 2048, place)

    assert judge.start == (begin,)
    assert encode(judge, ["aa"])[0].tolist()[0] == begin and len(encode(judge, ["aa"])[0]) == 3


def test_a_model_sees_no_more_than_it_has_positions_for(world: Path, tmp_path: Path, place: Any):
    tokenizer = byte_tokenizer()
    model = bigram_model(tmp_path / "model", unigram(tokenizer, LETTERS), tokenizer, positions=48)

    (judge,) = sets.judges_of([model], 2048, place)

    assert judge.length == 48
    assert max(map(len, encode(judge, texts()))) == 1 + 48


# ---- which are kept


def test_what_one_model_likes_is_kept_and_what_none_likes_is_dropped(world: Path, tmp_path: Path):
    """Four of forty are a model's worst: for two of the models digits and signs, for the third the
    signs and two good texts."""
    found = make_selection(
        world, tmp_path / "set", "--keep", "100", *models(world, "one", "two", "digits")
    )

    kept = documents(tmp_path / "set")
    assert {text for text in texts() if set(text) & set("%&#@$")} & set(kept) == set()
    assert {text for text in texts() if set(text) & set("0123456789")} <= set(kept)
    assert found["dropped"] == 2 and found["kept"] == len(kept) == GOOD + 2
    assert found["among_the_worst_of"] == [34, 2, 2, 2]
    assert found["worst_shared"] == [[4, 4, 2], [4, 4, 2], [2, 2, 4]]
    assert found["models"][0]["perplexity"]["median"] < found["models"][0]["threshold"]


def test_a_whole_corpus_is_filtered_by_the_word_all(world: Path, tmp_path: Path):
    given = ["--samples", "all", "--keep", "all", *models(world, "one", "two", "digits")]
    done = run(world, tmp_path / "set", *given, "--json")
    answer = json.loads(done.output)
    found = answer["result"]
    assert answer["diagnostics"] == []
    assert (found["wanted"]["samples"], found["wanted"]["keep"]) == (None, None)
    assert found["kept"] == found["left"] == found["samples"] - found["dropped"] == GOOD + 2
    assert len(documents(tmp_path / "set")) == found["kept"]

    refused = run(world, tmp_path / "other", "--keep", "most")
    assert "'most' is neither a positive number nor `all`" in str(refused.exception)


@pytest.mark.parametrize(
    ("losses", "worst", "keep", "kept", "dropped"),
    [
        ([[1, 9, 2, 8]], "1/2", 9, (0, 2), (1, 3)),
        ([[1, 9, 2, 8]], "1/2", None, (0, 2), (1, 3)),
        ([[1, 9, 2, 8], [9, 8, 1, 2]], "1/2", 9, (0, 2, 3), (1,)),
        ([[1, 9, 2, 8], [9, 8, 1, 2]], "1/2", 2, (0, 2), (1,)),
        ([[1, 9], [9, 1]], "1/2", 9, (0, 1), ()),
        ([[1, 2, 3]], "1/4", 9, (0, 1, 2), ()),  # less than one sample is none
        ([[5, 5, 5, 5]], "1/4", 9, (0, 1, 2), (3,)),  # of equals the first is the better
        ([[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]], "0.3", 9, (0, 1, 2, 3, 4, 5, 6), (7, 8, 9)),
    ],
)
def test_samples_are_dropped_that_all_models_have_among_their_worst(
    losses: list[list[float]],
    worst: str,
    keep: int | None,
    kept: tuple[int, ...],
    dropped: tuple[int, ...],
):
    selection = select(np.array(losses, dtype=float), Fraction(worst), keep)

    assert (selection.selected, selection.dropped) == (kept, dropped)


def test_without_models_nothing_is_dropped():
    selection = select(np.zeros((0, 5)), Fraction(1, 10), 3)

    assert (selection.selected, selection.dropped) == ((0, 1, 2), ())
    assert selection.worst_of == (5,) and selection.spearman == ()


def test_spearman_is_of_ranks():
    losses = np.array([[1, 2, 3, 4], [1, 8, 27, 64], [4, 3, 2, 1], [7, 7, 7, 7]], dtype=float)

    ranks = select(losses, Fraction(0), 4).spearman

    assert ranks[0][1] == pytest.approx(1) and ranks[0][2] == pytest.approx(-1)
    assert ranks[0][3] is None


# ---- the command


def test_the_same_command_gives_the_same_set(world: Path, tmp_path: Path):
    given = models(world, "one", "words")
    make_selection(world, tmp_path / "a", *given)
    make_selection(world, tmp_path / "b", *given, "--batch-tokens", "100")

    a, b = open_corpus(tmp_path / "a"), open_corpus(tmp_path / "b")
    assert a.fingerprint == b.fingerprint and a.documents.size == 21


def test_torch_that_is_not_installed_is_said_where_models_judge(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    find = importlib.util.find_spec
    there = lambda name: None if name == "torch" else find(name)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", there)

    error = run(world, tmp_path / "set", *models(world, "one")).exception

    assert isinstance(error, LawdslError)
    assert [(d.code, d.help) for d in error.diagnostics] == [
        ("R0101", "pip install 'lawdsl[runner]'")
    ]
    assert run(world, tmp_path / "set").exception is None


def test_a_corpus_gives_samples_with_its_own_tokenizer(world: Path, tmp_path: Path):
    write_corpus([world / "text.jsonl"], tmp_path / "corpus", world / "tokenizer.json")

    found = make_selection(
        world, tmp_path / "set", *models(world, "one"), inputs=(str(tmp_path / "corpus"),)
    )

    assert set(documents(tmp_path / "set")) <= set(texts())
    assert found["lists"]["kept"][0]["source"].startswith(str(tmp_path / "corpus"))
    assert open_corpus(tmp_path / "set").end_of_text == 0


def test_a_corpus_made_against_the_set_has_none_of_it(world: Path, tmp_path: Path):
    make_selection(world, tmp_path / "set", *models(world, "one"))

    tokenizer = world / "tokenizer.json"
    against = [tmp_path / "set"]
    write_corpus([world / "text.jsonl"], tmp_path / "train", tokenizer, against=against)

    training, held = documents(tmp_path / "train"), documents(tmp_path / "set")
    assert len(training) == len(texts()) - 20
    assert not set(training) & set(held)
    assert len(paragraph_keys(tmp_path / "set")) == 20


@pytest.mark.parametrize(
    ("names", "said"),
    [((), "nothing is filtered"), (("one",), "only one model"), (("one", "two"), "")],
)
def test_too_few_models_are_said(world: Path, tmp_path: Path, names: tuple[str, ...], said: str):
    done = run(world, tmp_path / "set", *models(world, *names), "--samples", "40", "--json")

    answer = json.loads(done.stdout)
    found = [d["message"] for d in answer["diagnostics"] if d["code"] == "R0608"]
    assert answer["ok"] and len(found) == bool(said) and said in "".join(found)
    assert len(documents(tmp_path / "set")) == answer["result"]["kept"] == 20


def test_fewer_documents_or_samples_than_asked_are_all_taken(world: Path, tmp_path: Path):
    done = run(world, tmp_path / "set", "--keep", "39", *models(world, "one"), "--json")

    answer = json.loads(done.stdout)
    found = [d["message"] for d in answer["diagnostics"] if d["code"] == "R0607"]
    assert found[0].startswith("there are only 40 documents, not 5,000")
    assert found[1].startswith("only 36 samples are left, not 39")


def test_a_model_that_does_worse_than_guessing_is_told(world: Path, tmp_path: Path):
    tokenizer = byte_tokenizer()
    model = bigram_model(tmp_path / "model", unigram(tokenizer, "€", 1e6), tokenizer)

    done = run(world, tmp_path / "set", "--model", str(model), "--json")

    assert "R0609" in {d["code"] for d in json.loads(done.stdout)["diagnostics"]}


def test_a_dry_run_counts_and_writes_nothing(world: Path, tmp_path: Path):
    done = run(world, tmp_path / "set", *models(world, "one", "two"), "--dry-run", "--json")

    result = json.loads(done.stdout)["result"]
    assert (result["documents"], result["samples"]) == (40, 40)
    assert result["models"][0]["tokens"] == sum(map(len, texts()))
    assert list(tmp_path.iterdir()) == []


def test_results_are_also_text(world: Path, tmp_path: Path):
    done = run(world, tmp_path / "set", *models(world, "one", "digits"), "--worst", "1/4")

    assert "40 documents, 40 samples (0 cut, 0 too short left out)" in done.stdout
    assert "dropped: among the worst under 2 models" in done.stdout


@pytest.mark.parametrize("worst", ["1", "-0.1", "nan", "a", "1/0"])
def test_a_part_that_is_none_is_refused(world: Path, tmp_path: Path, worst: str):
    import click

    done = run(world, tmp_path / "set", "--worst", worst)

    assert isinstance(done.exception, click.UsageError)
