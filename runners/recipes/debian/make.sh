#!/bin/sh
# The data set that ships, made from nothing: text, tokenizer, corpora, base models, runs, table.
#
#     sh runners/recipes/debian/make.sh
#
# in a checkout, after `make test` or `pip install -e '.[runner]'`, on a Debian machine that has its
# manual pages and /usr/share/doc (slim images do not). It takes hours, is done in runs/debian, and
# goes on where it was interrupted. Other packages on the machine give other text, and so other
# losses: only on the same machine are they the same.
set -eu
cd "$(dirname "$0")/../../.."
PATH="$PWD/.venv/bin:$PATH"

recipe=runners/recipes/debian
made=runs/debian

[ -e $made/text/collected.json ] ||
    python -m lawdsl.runners.recipes.debian.collect_text $made/text

[ -e $made/tokenizer.json ] ||
    lawdsl tokenizer $made/text/general.jsonl $made/text/code.jsonl \
        --vocabulary 1024 -o $made/tokenizer.json

# the base models and the runs are trained on different documents of the same distribution
[ -e $made/corpora/code-validation ] ||
    lawdsl corpus $made/text/code.jsonl --tokenizer $made/tokenizer.json -o $made/corpora --force \
        --split code-base=0.58,code=0.34,code-validation=0.08 \
        --max-tokens code-validation=65536 --max-document-tokens code-validation=640

[ -e $made/corpora/general-validation ] ||
    lawdsl corpus $made/text/general.jsonl --tokenizer $made/tokenizer.json -o $made/corpora --force \
        --split general-base=0.6,general=0.34,general-validation=0.06 \
        --max-tokens general-validation=65536 --max-document-tokens general-validation=640 \
        --against $made/corpora/code --against $made/corpora/code-base \
        --against $made/corpora/code-validation

lawdsl run $recipe/base.toml
lawdsl run $recipe/cpt.toml
lawdsl collect $recipe/cpt.toml -o $made/code_and_english.csv \
    --note "Five small Qwen2 models, trained on English manuals and Python, then on other mixtures of them." \
    --note "general: manual pages and /usr/share/doc of a Debian machine; code: Python's library." \
    --note "Made by runners/recipes/debian/make.sh on a CPU core; base.toml, cpt.toml say how."
