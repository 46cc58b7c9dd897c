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
        --vocabulary 2048 -o $made/tokenizer.json

[ -e $made/corpora/code-validation ] ||
    lawdsl corpus $made/text/code.jsonl --tokenizer $made/tokenizer.json -o $made/corpora --force \
        --split code=0.85,code-validation=0.15 \
        --max-tokens code-validation=131072 --max-document-tokens code-validation=640

[ -e $made/corpora/general-validation ] ||
    lawdsl corpus $made/text/general.jsonl --tokenizer $made/tokenizer.json -o $made/corpora --force \
        --split general-base=0.55,general=0.38,general-validation=0.07 \
        --max-tokens general-validation=131072 --max-document-tokens general-validation=640 \
        --against $made/corpora/code --against $made/corpora/code-validation

lawdsl run $recipe/base.toml
lawdsl run $recipe/cpt.toml
lawdsl collect $recipe/cpt.toml -o $made/python_from_manuals.csv \
    --note "Five small Qwen2 models, trained on English manuals, then on manuals and Python source." \
    --note "general: manual pages and /usr/share/doc of a Debian machine; code: Python's library." \
    --note "Made by runners/recipes/debian/make.sh on two CPU cores; base.toml, cpt.toml say how."
