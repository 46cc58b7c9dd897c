#!/bin/sh
# Which checkpoints does a fit need, and what does the perplexity filter change? Appendices F.1 and I of D-CPT (Que et
# al. (2024), arXiv:2406.01375) on models of some ten thousand parameters, from nothing but Python's own files.
#
#     sh runners/recipes/checkpoints/make.sh [FOLDER]
#
# in a checkout, after `make test` or `pip install -e '.[runner]'`. It resumes where it was interrupted.
set -eu
recipe=$(cd "$(dirname "$0")" && pwd)
PATH="$recipe/../../../.venv/bin:$PATH"
made=${1:-runs/checkpoints}
mkdir -p "$made"
for name in base.toml sweep.toml; do
    [ -e "$made/$name" ] || cp "$recipe/$name" "$made"  # yours to change
done
cd "$made"

[ -e text/code.jsonl ] || python -m lawdsl.runners.recipes.checkpoints.collect_text text
[ -e tokenizer.json ] || lawdsl tokenizer text/general.jsonl text/code.jsonl --vocabulary 512 -o tokenizer.json
for domain in general code; do
    [ -e corpora/$domain-validation ] ||
        lawdsl corpus text/$domain.jsonl --tokenizer tokenizer.json -o corpora --force \
            --split $domain-base=0.25,$domain=0.6,$domain-validation=0.15
done
lawdsl run base.toml --reuse-workers

# Samples of the validation sets, without those in the tenth of the highest perplexity under all models. All others are
# kept, so the sets `code` and `unfiltered` differ by the dropped samples alone.
for set in general code unfiltered; do
    case $set in
        unfiltered) from=code models= ;;
        *) from=$set models="--model models/5k --model models/20k --model models/80k" ;;
    esac
    # shellcheck disable=SC2086  # several words
    [ -e validation/$set ] || lawdsl validation corpora/$from-validation -o validation/$set \
        --samples 48 --keep all --length 32 --shortest 16 $models
done

lawdsl run sweep.toml --reuse-workers
for method in M1 M2 M3 M4; do
    lawdsl collect sweep.toml --sample $method -o $method.csv
done
python -m lawdsl.runners.recipes.checkpoints.held_out M1.csv M2.csv M3.csv M4.csv
