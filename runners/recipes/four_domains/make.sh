#!/bin/sh
# The data set of four domains, made from nothing: text, tokenizer, corpora, base models, runs, tables.
#
#     sh runners/recipes/four_domains/make.sh
#
# in a checkout, as runners/recipes/debian/make.sh, whose collectors it uses, on a machine that also
# has the headers of C (libc6-dev, linux-libc-dev and other -dev packages) and perl-modules. It takes
# about an hour of one CPU core, writes to runs/four_domains, and resumes where it was interrupted.
set -eu
cd "$(dirname "$0")/../../.."
PATH="$PWD/.venv/bin:$PATH"

recipe=runners/recipes/four_domains
out=runs/four_domains
domains="general code c perl"

[ -e $out/text/collected.json ] ||
    python -m lawdsl.runners.recipes.debian.collect_text $out/text $domains

[ -e $out/tokenizer.json ] ||
    lawdsl tokenizer $out/text/general.jsonl $out/text/code.jsonl $out/text/c.jsonl \
        $out/text/perl.jsonl --vocabulary 1024 -o $out/tokenizer.json

# as many tokens as the runs need, of many documents, and others for validation
for domain in $domains; do
    [ -e $out/corpora/$domain-validation ] ||
        lawdsl corpus $out/text/$domain.jsonl --tokenizer $out/tokenizer.json -o $out/corpora \
            --force --split $domain-base=0.6,$domain=0.32,$domain-validation=0.08 \
            --max-tokens $domain-base=1300000 --max-tokens $domain=600000 \
            --max-tokens $domain-validation=32768 --max-document-tokens $domain-base=8192 \
            --max-document-tokens $domain=8192 --max-document-tokens $domain-validation=640
done

lawdsl run $recipe/base.toml
lawdsl run $recipe/mixtures.toml
lawdsl collect $recipe/mixtures.toml -o $out/four_domains.csv \
    --note "Two small Qwen2 models, trained on four domains alike, then on 20 mixtures of them." \
    --note "general: manual pages and /usr/share/doc; code: Python's library; c: headers; perl: modules." \
    --note "Made by runners/recipes/four_domains/make.sh on a CPU core; its .toml files say how."
for domain in code c perl; do
    lawdsl run $recipe/$domain.toml
done
lawdsl collect $recipe/code.toml $recipe/c.toml $recipe/perl.toml -o $out/cross_domain.csv --with-step-0 \
    --note "Two small Qwen2 models, trained on four domains alike, then on English with each other one." \
    --note "Made by runners/recipes/four_domains/make.sh on a CPU core; its .toml files say how."
