#!/bin/sh
# How eta of the D-CPT Law follows from what the base model has seen, and rows in the middle of a
# cosine schedule: one size, on the corpora of runners/recipes/debian, which are made if need be.
#
#     sh runners/recipes/law_and_schedule/make.sh
#
# It takes half an hour of one CPU core, after the hours of runners/recipes/debian/make.sh, which it
# runs first if need be. It writes to runs/law_and_schedule, and resumes where it was interrupted.
set -eu
cd "$(dirname "$0")/../../.."
PATH="$PWD/.venv/bin:$PATH"

recipe=runners/recipes/law_and_schedule
out=runs/law_and_schedule
mkdir -p $out/sweeps

[ -e runs/debian/code_and_english.csv ] || sh runners/recipes/debian/make.sh

# 1,500 steps of English, and 500 of Python as often as the name says
for base in "x0 0 1500" "x0.5 1/7 1750" "x1 1/4 2000" "x2 2/5 2500" "x3 1/2 3000"; do
    set -- $base
    for file in base cpt; do
        sed -e "s|x3|$1|g" -e "s|shares = \[{code = 0.5}\]|shares = [{code = \"$2\"}]|" \
            -e "s|steps = 3000|steps = $3|" $recipe/$file.toml > $out/sweeps/$1-$file.toml
    done
    lawdsl run $out/sweeps/$1-base.toml
    lawdsl run $out/sweeps/$1-cpt.toml
done
lawdsl collect $out/cpt -o $out/exposure.csv \
    --note "Models of 24 thousand parameters that had seen x0, ... x3 times the Python of the longest run." \
    --note "Made by runners/recipes/law_and_schedule/make.sh on a CPU core; its .toml files say how."

lawdsl run $recipe/proportional.toml
lawdsl collect $recipe/proportional.toml -o $out/proportional_decays.csv \
    --note "A model of 24 thousand parameters; each decay is a fifth of D." \
    --note "Made by runners/recipes/law_and_schedule/make.sh on a CPU core; its .toml files say how."

lawdsl run $recipe/cosine.toml
lawdsl collect $recipe/cosine.toml -o $out/cosine.csv \
    --note "A model of 24 thousand parameters; cosine schedules of 250, 400, 630 and 1000 steps." \
    --note "Made by runners/recipes/law_and_schedule/make.sh on a CPU core; its .toml files say how."
