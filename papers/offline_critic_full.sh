#!/bin/bash
# The recurrent critic at the paper's size on one GPU: papers/offline_critic_full.py for many systems side by side.
#   OUT=DIR [HERE=DIR] [MODELS=DIR] [PY=python3] [LIMIT=SECONDS] [MORE="--drawn 100000"] papers/offline_critic_full.sh PART...
# A part is `published` (words and delexicalised words, the published systems and the controls), `seeds` (two more seeds
# of some of them) or `policies` (latent actions, and the training split: the policies of MODELS). HERE is the folder
# that papers/lava_carry.sh made. A result that is there is not computed again.
set -u
cd "$(dirname "$0")/.."
PY=${PY:-python3} LIMIT=${LIMIT:-7200} HERE=${HERE:-out/lava-gpu} MORE=${MORE:-}
RESULTS=${OUT:-$HERE/results}/critic
MODELS=${MODELS:-$HERE/models}
mkdir -p "$RESULTS"
START=$(date +%s)
. papers/gpu.sh
C=control
# value KIND SEED SYSTEM...: one process
value() {
  local kind=$1 seed=$2 left=$((START + LIMIT - $(date +%s))); shift 2
  timeout -k 3 "$left" "$PY" papers/offline_critic_full.py "$kind" "$@" --seed "$seed" --data "$HERE" --models "$MODELS" \
    --output "$RESULTS" $MORE >> "$RESULTS/$kind-$1-$seed.txt" 2>&1 &
}
for part in "$@"; do
  case $part in
  published)
    for kind in delexicalised words; do
      value $kind 0 logged $C:goodbye; value $kind 0 augpt $C:random; value $kind 0 lava $C:truncated
      value $kind 0 hdsa $C:parrot; value $kind 0 ubar $C:generic; value $kind 0 damd $C:stuffed
    done ;;
  seeds)
    for seed in 1 2; do
      value delexicalised $seed logged augpt; value delexicalised $seed lava hdsa; value delexicalised $seed ubar damd
    done ;;
  policies)
    for kind in corpus corpus-latent corpus-latent-free; do
      value $kind 0 logged joint-0; value $kind 0 plas-0 gradient-0; value $kind 0 $C:goodbye $C:stuffed
    done
    for kind in latent latent-free; do
      value $kind 0 logged augpt; value $kind 0 lava hdsa; value $kind 0 plas-0 $C:goodbye
    done ;;
  *) echo "there is no part $part"; exit 2 ;;
  esac
done
wait
echo "done after $(($(date +%s) - START)) s"
cat "$RESULTS"/*.txt | grep "in [0-9]* s\|Error"
