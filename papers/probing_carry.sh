#!/bin/bash
# Make the folder that papers/probing_gpu.sh needs on a GPU machine without a network.
#   DATA=DIR of the corpora [TO=out/probing-gpu] [PY=python3] [VERSION=3.12 of Python over there] papers/probing_carry.sh
# It holds contexts, the small files of the models, a retrieval metric that is trained on random negatives, wheels, and
# for papers/probing_more_gpu.sh the corpora and ADEM without a reference.
set -eu
cd "$(dirname "$0")/.."
TO=${TO:-out/probing-gpu} PY=${PY:-python3} VERSION=${VERSION:-3.12}
export PYTHONPATH="src:.:${PYTHONPATH:-}"
mkdir -p "$TO/wheels"
"$PY" -m papers.probing_gpu prepare "$DATA" "$TO"
if [ ! -d "$TO/ret-random" ]; then
  [ -f out/learn.jsonl.gz ] || "$PY" -m papers.probing text "$DATA" out/learn.jsonl.gz
  "$PY" -m turnwise train usr-ret out/learn.jsonl.gz -o "$TO/ret-random" --set negatives=random+random+random+random
fi
if [ ! -f "$TO/dialogues.json.xz" ]; then
  TURNWISE_DATA=$DATA "$PY" papers/pretraining.py prepare out/pretraining.json.gz
  gzip -dc out/pretraining.json.gz | xz > "$TO/dialogues.json.xz"
fi
[ -f "$TO/learn.jsonl.gz" ] || "$PY" -m papers.guarded learn "$DATA" "$TO/learn.jsonl.gz"
mkdir -p "$TO/data"
for file in dailydialog.jsonl.gz personachat.jsonl.gz empathetic_contexts.jsonl.gz usr_persona.jsonl grade.jsonl.gz \
  fed_turn.jsonl.gz engage.jsonl holistic.jsonl fbd.jsonl.gz dailydialog_multiref.jsonl.gz; do cp -f "$DATA/$file" "$TO/data"; done
if [ ! -d "$TO/adem-c" ]; then
  # One corpus, so that the agreement on the others is that of a metric that has not seen their ratings.
  "$PY" -m turnwise train adem-c "$DATA/usr_persona.jsonl" --dimension overall -o "$TO/adem-c"
fi
"$PY" -m pip download -q --no-deps --only-binary=:all: --python-version "$VERSION" -d "$TO/wheels" \
  msgspec rapidfuzz click rich jinja2 markupsafe ijson gguf threadpoolctl
du -sh "$TO"
