#!/bin/bash
# LAVA, PLAS and policy gradient, five seeds each, on one GPU: every result is under $OUT/lava as soon as it is there.
#   OUT=DIR [SIZE=full|tiny|small] [SEEDS="0 1 2 3 4"] [PY=python3] [SITE=DIR of msgspec and rapidfuzz] [MODELS=DIR] [LIMIT=SECONDS]
#   [OTHER="alternate kl"] papers/lava.sh
# A stage whose result is there is not run again, so a run that was cut by LIMIT or a kill continues with the same OUT and
# MODELS. OTHER names further supervised objectives. SIZE=small is for a machine without a GPU: one process, and of PLAS
# and policy gradient only the settings that papers/lava.md reports.
set -u
cd "$(dirname "$0")/.."
SIZE=${SIZE:-full} SEEDS=${SEEDS:-"0 1 2 3 4"} PY=${PY:-python3} LIMIT=${LIMIT:-7200} OTHER=${OTHER:-}
HERE=out/lava-gpu
RESULTS=${OUT:-$HERE/results}/lava
WORK=$(mktemp -d) MODELS=${MODELS:-$WORK}
[ -n "${SITE:-}" ] || { SITE=$WORK/site; mkdir "$SITE"; tar -xzf $HERE/site.tar.gz -C "$SITE"; }  # for Python 3.12
export PYTHONPATH="src:$SITE:${PYTHONPATH:-}" OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false
mkdir -p "$RESULTS"
START=$(date +%s)
echo "start $(date)"; nvidia-smi --query-gpu=name,utilization.gpu,memory.used --format=csv,noheader 2>/dev/null
# run SEED WEIGHT FOLDER STAGE...: stages of one seed, one after the other, until LIMIT
run() {
  local seed=$1 weight=$2 folder=$3 left=$((START + LIMIT - $(date +%s))); shift 3
  [ "$left" -gt 0 ] || return 1
  mkdir -p "$RESULTS/$folder" "$MODELS/$folder"
  timeout -k 3 "$left" "$PY" papers/lava.py "$@" --seed "$seed" --size "$SIZE" --weight "$weight" --data $HERE \
    --tables $HERE/multiwoz_db --work "$MODELS/$folder" --output "$RESULTS/$folder" --start "$START" \
    >> "$RESULTS/$folder/$1-$seed.txt" 2>&1
}
# What follows the joint objective: three processes beside each other.
follow() {
  run "$1" 0.01 . plas policy-10 policy-30 policy-100 paper &
  run "$1" 0.01 . policy-10-slow policy-30-slow policy-30-penalty logged-10 logged-30 paper-wide &
  run "$1" 0.01 . gradient gradient-slow &
  wait
}
for seed in $SEEDS; do
  if [ "$SIZE" = small ]; then run "$seed" 0.01 . joint warm plas gradient; continue; fi
  (run "$seed" 0.01 . joint warm && follow "$seed") &
  for objective in $OTHER; do run "$seed" 0.01 . "$objective" & done
  # Two other weights of the KL terms, tried with the first two seeds.
  if [ "$seed" -lt 2 ]; then
    for weight in 0.05 0.2; do run "$seed" $weight weight-$weight joint warm paper paper-wide & done
  fi
done
wait
echo "done after $(($(date +%s) - START)) s"
find "$RESULTS" -name "*.txt" -exec grep -h "test [0-9]\|Error" {} +
rm -rf "$WORK"
