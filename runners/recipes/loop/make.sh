#!/bin/sh
# From no runs at all to an answer, in 9 minutes of CPU time: text, tokenizer, corpora, base models, and the
# runs that a design asks for, until the answer is precise enough or the budget is spent.
#
#     sh runners/recipes/loop/make.sh [FOLDER]
#
# in a checkout, after `make test` or `pip install -e '.[runner]'`. It resumes where it was interrupted. Other versions
# of the packages whose docstrings it reads give other text, and so other losses.
set -eu
recipe=$(cd "$(dirname "$0")" && pwd)
PATH="$recipe/../../../.venv/bin:$PATH"
made=${1:-runs/loop}
mkdir -p "$made"
for name in base.toml sweep.toml; do
    [ -e "$made/$name" ] || cp "$recipe/$name" "$made"  # yours to change
done
cd "$made"

[ -e text/code.jsonl ] || python -m lawdsl.runners.recipes.loop.collect_text text
[ -e tokenizer.json ] || lawdsl tokenizer text/general.jsonl text/code.jsonl --vocabulary 1024 -o tokenizer.json
for domain in general code; do
    [ -e corpora/$domain-validation ] ||
        lawdsl corpus text/$domain.jsonl --tokenizer tokenizer.json -o corpora --force \
            --split $domain-base=0.58,$domain=0.38,$domain-validation=0.04 \
            --max-tokens $domain-validation=32768 --max-document-tokens $domain-validation=640
done

lawdsl run base.toml --reuse-workers
# The largest share of code with which the general loss of the largest model rises by at most 2 %.
L0=$(lawdsl collect base.toml -o base.csv > collected.txt && python - <<'END'
from lawdsl.data.read import read_table
table = read_table("base.csv")
last = (table.numbers("N") == table.numbers("N").max()) & (table.numbers("step") == table.numbers("step").max())
print(table.numbers("L_general")[last][0])
END
)
lawdsl design --loop --question dcpt.tradeoff N=189760param D=600000token L0="$L0" T=2% \
    --use "general L=L_general r=r_general" --use "domain L=L_code r=r_code" --fix E=0.5 \
    --where "phase = end" --candidates sweep.toml --budget 1e13 --stop 10% || [ $? = 1 ]
