#!/bin/bash
# Train policies against every metric of the probing paper on a GPU machine without a network (papers/probing_gpu.py).
#   HERE=FOLDER MINILM=FOLDER SMOLLM2=FILE [TIME=420] [AT_ONCE=8] [PY=python3] [TRAIN=OPTIONS] papers/probing_gpu.sh \
#     OUTPUT [NAME...]
# HERE is what papers/probing_carry.sh made; MINILM has model.safetensors, SMOLLM2 is the GGUF file. One process for each
# named metric (without names all of them) trains; NAME@CORPUS has a process for one corpus. AT_ONCE run at a time, and
# all end after TIME seconds. Checkpoints are in out/probing-rl, from which a later call resumes. OUTPUT gets one file:
# tar xJf OUTPUT/probing-rl.tar.xz
set -u
cd "$(dirname "$0")/.."
TO=$1 PY=${PY:-python3} TIME=${TIME:-420} WORK=$PWD/out/probing-rl
shift
[ $# -gt 0 ] || set -- usr-ret-random usr-ret turnwise usr-mlm usr-full maude att loglik
. papers/gpu.sh
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1
mkdir -p "$WORK" "$TO"
"$PY" -m papers.probing_gpu models "$HERE" "$WORK/cache" --minilm "$MINILM" --smollm2 "$SMOLLM2" || exit 1
one() {
  local name=${1%%=*} metric=${1%%@*}
  case $1 in
    *=*) metric=${1#*=} ;; # a model that was trained elsewhere: NAME=METRIC
    usr-ret-random*) metric="usr-ret[trained=$HERE/ret-random]" ;;
  esac
  # Each process has vectors of its own: many writers to one file would wait for each other.
  mkdir -p "$WORK/cache-$name"
  ln -sfn "$WORK/cache/models" "$WORK/cache-$name/models"
  local option code left
  # A process that ends with an error starts again from its checkpoint: where the GPU's memory was full after a pause,
  # else without a CUDA graph.
  for option in "" "" "" --no-graph; do
    if [ "$option" = --no-graph ] && tail -n 20 "$WORK/$name.log" | grep -q "out of memory"; then option=; fi
    left=$((TIME - SECONDS))
    [ $left -gt "${LEAST:-60}" ] || break
    TURNWISE_CACHE="$WORK/cache-$name" timeout $((left + 100)) "$PY" -m papers.probing_gpu train "$HERE" "$name=$metric" \
      -o "$WORK" --seconds "$left" ${TRAIN:-} $option >> "$WORK/$name.log" 2>&1
    code=$?
    if [ $code = 0 ] || [ $code = 124 ]; then break; fi
    echo "$name ended with $code: $(tail -n 1 "$WORK/$name.log")"
    sleep 15
  done
  grep -v '^minilm\|^smollm2' "$WORK/$name.log" | tail -n 3
}
for name in "$@"; do
  while [ "$(jobs -rp | wc -l)" -ge "${AT_ONCE:-8}" ]; do sleep 1; done
  one "$name" &
done
wait
(cd "$WORK" && tar cJf "$TO/probing-rl.tar.xz" -- *.json *.log)
ls -la "$TO"
