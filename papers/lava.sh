#!/bin/bash
# LAVA, PLAS and policy gradient, five seeds each, on one GPU: every result is under $OUT/lava as soon as it is there.
#   OUT=DIR [SIZE=full|tiny|small] [SEEDS="0 1 2 3 4"] [PY=python3] [HERE=DIR] [MODELS=DIR] [LIMIT=SECONDS]
#   [AFTER="plas gradient"] [OTHER="alternate kl"] [WEIGHTS="0.05 0.2"] papers/lava.sh
# HERE is the folder that papers/lava_carry.sh made. A stage whose result is there is not run again, so a run that was
# cut by LIMIT or a kill continues with the same OUT and MODELS. AFTER are chains of stages that follow `joint` and
# `warm`, beside each other, the stages of a chain separated by commas; OTHER are further supervised objectives, WEIGHTS
# further weights of the KL, for the first two seeds. SIZE=small is for a machine without a GPU: one process.
set -u
cd "$(dirname "$0")/.."
SIZE=${SIZE:-full} SEEDS=${SEEDS:-"0 1 2 3 4"} PY=${PY:-python3} LIMIT=${LIMIT:-7200} HERE=${HERE:-out/lava-gpu}
SWEEP="plas,policy-10,policy-30,policy-100,paper gradient,gradient-slow"
SWEEP="$SWEEP policy-10-slow,policy-30-slow,policy-30-penalty,logged-10,logged-30,paper-wide"
AFTER=${AFTER-$SWEEP} OTHER=${OTHER-alternate kl} WEIGHTS=${WEIGHTS-0.05 0.2}
RESULTS=${OUT:-$HERE/results}/lava
WORK=$(mktemp -d) MODELS=${MODELS:-$WORK}
mkdir -p "$RESULTS"
START=$(date +%s)
. papers/gpu.sh
echo "start $(date)"; nvidia-smi --query-gpu=name,utilization.gpu,memory.used --format=csv,noheader 2>/dev/null
# run SEED WEIGHT FOLDER STAGE...: stages of one seed, one after the other, until LIMIT
run() {
  local seed=$1 weight=$2 folder=$3 left=$((START + LIMIT - $(date +%s))); shift 3
  [ "$left" -gt 0 ] || return 1
  mkdir -p "$RESULTS/$folder" "$MODELS/$folder"
  timeout -k 3 "$left" "$PY" papers/lava.py "$@" --seed "$seed" --size "$SIZE" --weight "$weight" --data "$HERE" \
    --tables "$HERE/multiwoz_db" --work "$MODELS/$folder" --output "$RESULTS/$folder" --start "$START" \
    >> "$RESULTS/$folder/$1-$seed.txt" 2>&1
}
# What follows the joint objective: the chains of AFTER beside each other.
follow() {
  local chain
  for chain in $AFTER; do run "$1" 0.01 . ${chain//,/ } & done
  wait
}
for seed in $SEEDS; do
  if [ "$SIZE" = small ]; then run "$seed" 0.01 . joint warm ${AFTER//,/ }; continue; fi
  (run "$seed" 0.01 . joint warm && follow "$seed") &
  for objective in $OTHER; do run "$seed" 0.01 . "$objective" & done
  if [ "$seed" -lt 2 ]; then
    for weight in $WEIGHTS; do run "$seed" "$weight" "weight-$weight" joint warm paper paper-wide & done
  fi
done
wait
echo "done after $(($(date +%s) - START)) s"
find "$RESULTS" -name "*.txt" -exec grep -h "test [0-9]\|Error" {} +
rm -rf "$WORK"
