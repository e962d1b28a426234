#!/bin/bash
# LAVA, PLAS and policy gradient, three seeds each, on one GPU: every result is under $OUT/lava as soon as it is there.
#   OUT=DIR [SIZE=full|tiny|small] [SEEDS="0 1 2"] [PY=python3] [SITE=DIR of msgspec and rapidfuzz] [MODELS=DIR] papers/lava.sh
# SIZE=small is for a machine without a GPU: the joint objective and what follows it, one thing after the other.
set -u
cd "$(dirname "$0")/.."
SIZE=${SIZE:-full} SEEDS=${SEEDS:-"0 1 2"} PY=${PY:-python3} LIMIT=${LIMIT:-166}
HERE=out/lava-gpu
RESULTS=${OUT:-$HERE/results}/lava
WORK=$(mktemp -d) MODELS=${MODELS:-$WORK}
[ -n "${SITE:-}" ] || { SITE=$WORK/site; mkdir "$SITE"; tar -xzf $HERE/site.tar.gz -C "$SITE"; }  # for Python 3.12
export PYTHONPATH="src:$SITE:${PYTHONPATH:-}" OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
mkdir -p "$RESULTS"
START=$(date +%s.%N)
echo "start $(date)"; nvidia-smi --query-gpu=name,utilization.gpu,memory.used --format=csv,noheader 2>/dev/null
stage() {
  "$@" papers/lava.py "$stage" --seed "$seed" --size "$SIZE" --data $HERE --tables $HERE/multiwoz_db \
    --work "$MODELS" --output "$RESULTS" --start "$START" > "$RESULTS/$stage-$seed.txt" 2>&1
}
for seed in $SEEDS; do
  if [ "$SIZE" = small ]; then stage=joint stage "$PY"; continue; fi
  for stage in joint alternate kl; do
    stage timeout -k 3 "$LIMIT" "$PY" &  # ends the whole group: a stage starts others of its own
  done
done
wait
echo "done after $(echo "$(date +%s.%N) - $START" | bc 2>/dev/null || date) s"
grep -h "test [0-9]" "$RESULTS"/*.txt
tail -qn 2 "$RESULTS"/*.txt
rm -rf "$WORK"
