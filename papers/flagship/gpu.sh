#!/bin/bash
# All trainings of `turnwise`, second edition, side by side on one GPU. Started again, it goes on from its checkpoints.
#   W=DIR with corpus.npz.xz, smollm2.gguf, tokenizer.json and minilm/ [LM=60] [LARGE=800] [LABEL=100] [STUDENT=150]
#   [PY=python3] papers/flagship/gpu.sh
# The results are $W/large-*.npz, $W/student-*.npz (weights) and *-rated.npz (columns of the rated items and frauds).
set -u
cd "$(dirname "$0")/../.."
W=${W:?} PY=${PY:-python3} LM=${LM:-60} LARGE=${LARGE:-800} LABEL=${LABEL:-100} STUDENT=${STUDENT:-150}
export PYTHONPATH=src:.:$W/site OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false PYTHONUNBUFFERED=1
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True PYTORCH_ALLOC_CONF=expandable_segments:True
large() { "$PY" -m papers.flagship.train_large "$@" --text "$W" --base "$W/smollm2.gguf" --out "$W" --workers 3; }
[ -f "$W/lm.npz" ] || large lm --seconds "$LM" || exit 1
[ -f "$W/samples.npz" ] || large sample --tokeniser "$W/tokenizer.json" || exit 1
one() {  # name, arguments
  local name=$1; shift
  [ -f "$W/large-$name.npz" ] || large discriminate --seconds "$LARGE" "$@" || return 1
  while [ ! -f "$W/minilm/model.safetensors" ]; do sleep 2; done
  [ -f "$W/student-$name-rated.npz" ] || "$PY" -m papers.flagship.train_student --text "$W" --base "$W/smollm2.gguf" \
    --student "$W/minilm" --out "$W" --label-seconds "$LABEL" --seconds "$STUDENT" --workers 3 "$@"
}
for seed in 0 1 2; do one "$seed" --seed "$seed" > "$W/log-$seed" 2>&1 & done
one free-0 --seed 0 --free > "$W/log-free" 2>&1 &
wait
echo finished
