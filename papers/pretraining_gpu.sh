#!/bin/bash
# Train the masked language model and VHRED on a GPU machine without a network, with what papers/masked_lm.py prepared.
#   HERE=FOLDER [PY=python3] papers/pretraining_gpu.sh OUTPUT NAME:SECONDS...     see `one`
# The named trainings run side by side. HERE has dialogues.json.xz, minilm.npz.xz and wheels/ of msgspec and ijson.
# Checkpoints are in out/, from which a later call resumes. OUTPUT gets for each a tar file in parts of 15 MB:
# cat OUTPUT/NAME.tar.* | tar x
set -u
cd "$(dirname "$0")/.."
TO=$1 PY=${PY:-python3}
shift
. papers/gpu.sh
set -e
mkdir -p out "$TO"
one() {
  local name=$1 seconds=$2
  case $name in
    masked) set -- papers/masked_lm.py train "$HERE" --work "out/$name.work" ${MASKED:-} ;;
    masked-all) set -- papers/masked_lm.py train "$HERE" --work "out/$name.work" --corpora all ${MASKED:-} ;;
    vhred | hred)
      set -- papers/pretraining.py train "$HERE/dialogues.json.xz" "$name" --half --encoder --set batch=128 \
        --set at_once=128 --set every=250 --set patience=4 --set anneal=1500 ${PRETRAINING:-} ;;
    characters | dual)
      set -- papers/pretraining.py train "$HERE/dialogues.json.xz" "$name" --half --set batch=256 --set at_once=256 \
        --set every=250 --set patience=4 ${PRETRAINING:-} ;;
    *) echo "there is no training $name" >&2; return 2 ;;
  esac
  "$PY" "$@" -o "out/$name" --seconds "$seconds"
  tar c -C out "$name" | split -b 15000000 - "$TO/$name.tar."
}
for pair in "$@"; do one "${pair%:*}" "${pair#*:}" & done
wait
