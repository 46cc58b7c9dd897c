#!/bin/sh
# The data set that ships, made from nothing: text, tokenizer, corpora, base models, runs, table.
#
#     sh runners/recipes/debian/make.sh
#
# in a checkout, after `make test` or `pip install -e '.[runner]'`, on a Debian machine that has its
# manual pages and /usr/share/doc (slim images do not), and a Python with its own tests: one of pyenv
# or python.org, or Debian's with libpython3-testsuite. It takes hours, writes to runs/debian, and
# resumes where it was interrupted. Other packages on the machine give other text, and so other
# losses: only on the same machine are they the same.
set -eu
cd "$(dirname "$0")/../../.."
PATH="$PWD/.venv/bin:$PATH"

recipe=runners/recipes/debian
out=runs/debian

[ -e $out/text/collected.json ] ||
    python -m lawdsl.runners.recipes.debian.collect_text $out/text

[ -e $out/tokenizer.json ] ||
    lawdsl tokenizer $out/text/general.jsonl $out/text/code.jsonl \
        --vocabulary 1024 -o $out/tokenizer.json

# the base models and the runs are trained on different documents of the same distribution
[ -e $out/corpora/code-validation ] ||
    lawdsl corpus $out/text/code.jsonl --tokenizer $out/tokenizer.json -o $out/corpora --force \
        --split code-base=0.58,code=0.34,code-validation=0.08 \
        --max-tokens code-validation=65536 --max-document-tokens code-validation=640

[ -e $out/corpora/general-validation ] ||
    lawdsl corpus $out/text/general.jsonl --tokenizer $out/tokenizer.json -o $out/corpora --force \
        --split general-base=0.6,general=0.34,general-validation=0.06 \
        --max-tokens general-validation=65536 --max-document-tokens general-validation=640 \
        --against $out/corpora/code --against $out/corpora/code-base \
        --against $out/corpora/code-validation

lawdsl run $recipe/base.toml
lawdsl run $recipe/cpt.toml
lawdsl collect $recipe/cpt.toml -o $out/code_and_english.csv \
    --note "Five small Qwen2 models, trained on English manuals and Python, then on other mixtures of them." \
    --note "general: manual pages and /usr/share/doc of a Debian machine; code: Python's library." \
    --note "Made by runners/recipes/debian/make.sh on a CPU core; base.toml, cpt.toml say how."
