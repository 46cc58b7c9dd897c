"""Tiny models whose losses are known by construction, in folders as Hugging Face writes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, Qwen2Config

END = "<|endoftext|>"
WIDTH = 264  # the 256 bytes and the end of a text, rounded up


def byte_tokenizer(merges: tuple[str, ...] = ()) -> Tokenizer:
    """A tokenizer with a token for each byte, and some for pairs of them ("a b")."""
    pieces = [END, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    pairs = [tuple(merge.split()) for merge in merges]
    pieces += ["".join(pair) for pair in pairs]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens([END])
    return inner


def word_tokenizer() -> Tokenizer:
    """A tokenizer of another kind: one token a letter of a small alphabet, one for all others."""
    letters = {letter: i for i, letter in enumerate(["?", "</s>", *"abcdefghijklmnopqrstuvwxyz "])}
    inner = Tokenizer(models.WordLevel(vocab=letters, unk_token="?"))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    return inner


def unigram(tokenizer: Tokenizer, liked: str, odds: float = 50.0) -> NDArray[np.float64]:
    """log p of the next token: those of the characters that are liked are so much likelier."""
    weights = np.ones(WIDTH)
    for character in liked:
        weights[tokenizer.encode(character).ids] = odds
    return np.tile(np.log(weights / weights.sum()), (WIDTH, 1))


def bigram_model(
    folder: Path, table: NDArray[np.float64], tokenizer: Tokenizer | None, positions: int = 512
) -> Path:
    """A model for which log p(next | this) is what stands in a table, (this, next).

    Attention and feed-forward give 0; the last hidden state is then the embedding alone, one-hot,
    and the head is the table.
    """
    config = Qwen2Config(
        vocab_size=WIDTH,
        hidden_size=WIDTH,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=positions,
        tie_word_embeddings=False,
        rms_norm_eps=0.0,
    )
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        model.model.embed_tokens.weight.copy_(torch.eye(WIDTH))
        # the norm of the model makes sqrt(WIDTH) of the 1 in a one-hot row
        model.lm_head.weight.copy_(torch.from_numpy(table.T / WIDTH**0.5))
    model.save_pretrained(folder)
    if tokenizer is not None:
        tokenizer.save(str(folder / "tokenizer.json"))
    return folder
