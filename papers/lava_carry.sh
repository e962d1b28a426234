#!/bin/bash
# Make the folder that a GPU machine without a network needs for papers/lava.sh and papers/offline_critic_full.py.
#   DATA=DIR of the corpora [TO=out/lava-gpu] [PY=python3] [VERSION=3.12 of Python over there] papers/lava_carry.sh
# It holds the encoded corpus, the corpora of the critic, the venue tables, and the wheels of the packages that such a
# machine lacks beside PyTorch and SciPy; papers/gpu.sh unpacks them over there.
set -eu
cd "$(dirname "$0")/.."
TO=${TO:-out/lava-gpu} PY=${PY:-python3} VERSION=${VERSION:-3.12}
mkdir -p "$TO/wheels"
PYTHONPATH=src "$PY" papers/lava_corpus.py "$DATA/multiwoz_delex.jsonl.gz" "$DATA/multiwoz_db" "$TO"
cp "$DATA"/multiwoz_{delex,valtest}.jsonl.gz "$TO"
cp -r "$DATA/multiwoz_db" "$TO"; chmod -R u+w "$TO/multiwoz_db"
"$PY" -m pip download -q --no-deps --only-binary=:all: --python-version "$VERSION" -d "$TO/wheels" \
  msgspec rapidfuzz click rich jinja2 markupsafe sacrebleu portalocker regex tabulate colorama lxml ijson
du -sh "$TO"
