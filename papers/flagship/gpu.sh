#!/bin/bash
# The trainings of `turnwise`, second edition, side by side on one GPU. Started again, a part goes on from its checkpoints.
#   W=DIR [LM=50] [LARGE=300] [LABEL=170] [STUDENT=150] [RANK=32] [VARIANTS="0 1 2 free-0"] [PY=python3] \
#     papers/flagship/gpu.sh PART...
# PART is `large` (language model, its replies, kinds of replies), `label` (columns of rated items, of frauds and of the
# students' training pairs), `students` or `soup`. W holds corpus.npz.xz (papers.flagship.prepare), smollm2.gguf,
# minilm/ and, if they were made before, samples.npz. Results in W: large-*.npz, student-*.npz (weights),
# *-rated.npz and *-frauds.npz.
set -u
cd "$(dirname "$0")/../.."
W=${W:?} PY=${PY:-python3} LM=${LM:-50} LARGE=${LARGE:-300} LABEL=${LABEL:-170} STUDENT=${STUDENT:-150}
VARIANTS=${VARIANTS:-0 1 2 free-0} # seeds; free: trained on text that is free for commercial use alone
export PYTHONPATH=src:.:$W/site OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false PYTHONUNBUFFERED=1
if command -v nvidia-cuda-mps-control > /dev/null; then  # small kernels of several processes run at once
  export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps-log
  mkdir -p /tmp/mps /tmp/mps-log
  nvidia-cuda-mps-control -d 2> /dev/null
fi
on_text() { local module=$1; shift; "$PY" -m "papers.flagship.$module" "$@" --text "$W" --out "$W" --workers 3; }
large() { on_text train_large discriminate --base "$W/smollm2.gguf" --rank "${RANK:-32}" --seconds "$LARGE" "$@"; }
label() { on_text train_student label --base "$W/smollm2.gguf" --seconds "$LABEL" "$@"; }
student() { on_text train_student train --student "$W/minilm" --seconds "$STUDENT" "$@"; }
each() {  # a function, for every variant
  local variant
  for variant in $VARIANTS; do
    case $variant in
      free-*) "$@" --free --seed "${variant#free-}" ;;
      *) "$@" --seed "$variant" ;;
    esac >> "$W/log-$variant" 2>&1 &
  done
  wait
}
for part in "$@"; do
  case $part in
    large)
      # The free variant starts from the base itself, and has no sampled replies.
      case " $VARIANTS" in *" "[0-9]*) ;; *) each large; continue ;; esac
      [ -f "$W/lm.npz" ] || on_text train_large lm --base "$W/smollm2.gguf" --seconds "$LM" || exit 1
      [ -f "$W/samples.npz" ] ||
        on_text train_large sample --base "$W/smollm2.gguf" || exit 1
      each large ;;
    label) each label ;;
    students) each student ;;
    soup)
      case " $VARIANTS" in *" "[0-9]*) set_of= ;; *) set_of=--free ;; esac
      on_text train_large soup --base "$W/smollm2.gguf" --rank "${RANK:-32}" $set_of ;;
  esac
done
tail -qn 3 "$W"/log-*
