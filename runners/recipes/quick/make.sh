#!/bin/sh
# The whole way in two minutes, from nothing but Python's own files: English from its language
# reference, code from its library, models of some ten thousand parameters, a table of losses.
#
#     sh runners/recipes/quick/make.sh [FOLDER]
#
# in a checkout, after `make test` or `pip install -e '.[runner]'`.
set -eu
recipe=$(cd "$(dirname "$0")" && pwd)
PATH="$recipe/../../../.venv/bin:$PATH"
made=${1:-runs/quick}
mkdir -p "$made"
[ -e "$made/sweep.toml" ] || cp "$recipe/sweep.toml" "$made"  # yours to change
cd "$made"

library=$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
if [ ! -e english.jsonl ]; then
    python -c '
import json, pydoc_data.topics
for text in pydoc_data.topics.topics.values():
    print(json.dumps({"text": text}))' > english.part
    mv english.part english.jsonl  # whole or not there
fi
[ -e tokenizer.json ] ||
    lawdsl tokenizer english.jsonl "$library"/email/*.py --vocabulary 512 -o tokenizer.json
[ -e corpora/code-validation ] ||
    lawdsl corpus "$library"/asyncio/*.py "$library"/email/*.py "$library"/http/*.py \
        --tokenizer tokenizer.json -o corpora --force \
        --split code=0.8,code-validation=0.2 --max-document-tokens code-validation=1000
[ -e corpora/general-validation ] ||
    lawdsl corpus english.jsonl --tokenizer tokenizer.json -o corpora --force \
        --split general=0.8,general-validation=0.2 --max-document-tokens general-validation=1000

lawdsl run sweep.toml
lawdsl collect sweep.toml -o runs.csv
