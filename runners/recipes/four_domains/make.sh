#!/bin/sh
# The data set of four domains, made from nothing: text, tokenizer, corpora, base models, runs, tables.
#
#     sh runners/recipes/four_domains/make.sh
#
# in a checkout, as runners/recipes/debian/make.sh, whose collectors it uses. It takes about an hour
# of one CPU core, is done in runs/four_domains, and goes on where it was interrupted.
set -eu
cd "$(dirname "$0")/../../.."
PATH="$PWD/.venv/bin:$PATH"

recipe=runners/recipes/four_domains
made=runs/four_domains
domains="general code c perl"

[ -e $made/text/collected.json ] ||
    python -m lawdsl.runners.recipes.debian.collect_text $made/text $domains

[ -e $made/tokenizer.json ] ||
    lawdsl tokenizer $made/text/general.jsonl $made/text/code.jsonl $made/text/c.jsonl \
        $made/text/perl.jsonl --vocabulary 1024 -o $made/tokenizer.json

# as many tokens as the runs need, of many documents, and others for validation
for domain in $domains; do
    [ -e $made/corpora/$domain-validation ] ||
        lawdsl corpus $made/text/$domain.jsonl --tokenizer $made/tokenizer.json -o $made/corpora \
            --force --split $domain-base=0.6,$domain=0.32,$domain-validation=0.08 \
            --max-tokens $domain-base=1300000 --max-tokens $domain=600000 \
            --max-tokens $domain-validation=32768 --max-document-tokens $domain-base=8192 \
            --max-document-tokens $domain=8192 --max-document-tokens $domain-validation=640
done

lawdsl run $recipe/base.toml
lawdsl run $recipe/mixtures.toml
lawdsl collect $recipe/mixtures.toml -o $made/four_domains.csv \
    --note "Two small Qwen2 models, trained on four domains alike, then on 20 mixtures of them." \
    --note "general: manual pages and /usr/share/doc; code: Python's library; c: headers; perl: modules." \
    --note "Made by runners/recipes/four_domains/make.sh on a CPU core; its .toml files say how."
for domain in code c perl; do
    lawdsl run $recipe/$domain.toml
done
lawdsl collect $recipe/code.toml $recipe/c.toml $recipe/perl.toml -o $made/cross_domain.csv --with-step-0 \
    --note "Two small Qwen2 models, trained on four domains alike, then on English with each other one." \
    --note "Made by runners/recipes/four_domains/make.sh on a CPU core; its .toml files say how."
