#!/bin/bash
# The trainings of `turnwise`, second edition, side by side on one GPU. Started again, a part goes on from its checkpoints.
#   W=DIR [OUT=DIR for results] [LM=60] [LARGE=360] [LABEL=100] [STUDENT=150] [PY=python3] papers/flagship/gpu.sh PART...
# PART is `large` (language model, its replies, kinds of replies; seeds 0, 1, 2, and free text alone) or `students`.
# W holds corpus.npz.xz (papers.flagship.prepare), smollm2.gguf, tokenizer.json, minilm/ and, if they were made before,
# samples.npz. Results in OUT: large-*.npz, student-*.npz (weights), *-rated.npz (columns of rated items and of frauds).
set -u
cd "$(dirname "$0")/../.."
W=${W:?} PY=${PY:-python3} LM=${LM:-60} LARGE=${LARGE:-360} LABEL=${LABEL:-100} STUDENT=${STUDENT:-150} OUT=${OUT:-$W}
export PYTHONPATH=src:.:$W/site OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false PYTHONUNBUFFERED=1
if command -v nvidia-cuda-mps-control > /dev/null; then  # small kernels of several processes run at once
  export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps-log
  mkdir -p /tmp/mps /tmp/mps-log
  nvidia-cuda-mps-control -d 2> /dev/null
fi
large() { "$PY" -m papers.flagship.train_large "$@" --text "$W" --base "$W/smollm2.gguf" --out "$W" --workers 3; }
student() {
  "$PY" -m papers.flagship.train_student --text "$W" --base "$W/smollm2.gguf" --student "$W/minilm" --out "$W" \
    --label-seconds "$LABEL" --seconds "$STUDENT" --workers 3 "$@"
}
each() {  # command and its arguments, for three seeds and the free variant
  for seed in 0 1 2; do "$@" --seed "$seed" >> "$W/log-$seed" 2>&1 & done
  "$@" --seed 0 --free >> "$W/log-free-0" 2>&1 &
  wait
}
for part in "$@"; do
  case $part in
    large)
      [ -f "$W/lm.npz" ] || large lm --seconds "$LM" || exit 1
      [ -f "$W/samples.npz" ] || large sample --tokeniser "$W/tokenizer.json" || exit 1
      each large discriminate --seconds "$LARGE" ;;
    students) each student ;;
  esac
done
tail -qn 3 "$W"/log-*
[ "$OUT" = "$W" ] || cp "$W"/large-*.npz "$W"/student-*.npz "$OUT"
