#!/bin/bash
# Train the masked language model and VHRED on a GPU machine without a network, with what papers/masked_lm.py prepared.
#   HERE=FOLDER [PY=python3] papers/pretraining_gpu.sh SECONDS OUTPUT masked|masked-all|vhred|hred...
# The named trainings run side by side. HERE has dialogues.json.xz, minilm.npz.xz and wheels/ of msgspec and ijson.
# Checkpoints are in out/, from which a later call resumes. OUTPUT gets a log and a tar file in parts of 15 MB for each:
# cat OUTPUT/NAME.tar.* | tar x
set -eu
cd "$(dirname "$0")/.."
LIMIT=$1 TO=$2 PY=${PY:-python3}
shift 2
. papers/gpu.sh
mkdir -p out "$TO"
one() {
  case $1 in
    masked) "$PY" papers/masked_lm.py train "$HERE" -o "out/$1" --work "out/$1.work" --seconds "$LIMIT" ${MASKED:-} ;;
    masked-all)
      "$PY" papers/masked_lm.py train "$HERE" -o "out/$1" --work "out/$1.work" --seconds "$LIMIT" --corpora all ${MASKED:-} ;;
    vhred | hred)
      "$PY" papers/pretraining.py train "$HERE/dialogues.json.xz" "$1" -o "out/$1" --half --encoder \
        --set batch=128 --set at_once=128 --set every=250 --set patience=4 --set anneal=1500 \
        --seconds "$LIMIT" ${PRETRAINING:-} ;;
    *) echo "there is no training $1" >&2; return 2 ;;
  esac
  tar c -C out "$1" | split -b 15000000 - "$TO/$1.tar."
}
for name in "$@"; do one "$name" 2>&1 | tee "out/$name.log" & done
wait
