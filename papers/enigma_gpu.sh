#!/bin/bash
# ENIGMA's parts that need a GPU, side by side: the tuned encoder until it converges, and chat agents that are language models.
#   [OUT=DIR] [HERE=out/enigma-gpu] [LM=DIR] [WORK=DIR] [TUNED=420] [CHAT=300] [SEEDS="0 1 2"] [WORKERS=12] [PY=python3]
#   papers/enigma_gpu.sh tuned chat
# HERE holds tuned.npz (`python -m papers.enigma_tuned prepare out/enigma-gpu`) and, for a machine that lacks them,
# wheels/ of msgspec, ijson and gguf. LM (default HERE) holds smollm2.gguf and tokenizer.json of `turnwise fetch smollm2`.
# TUNED and CHAT are the seconds after which a part stops. Started again with the same WORK, a part goes on from its
# checkpoints. Results in OUT: enigma-tuned.json (estimates and curves) and enigma-chat.tar.xz (logs and truths). Then:
#   python -m papers.enigma_tuned show OUT/enigma-tuned.json; python -m papers.enigma_language run OUT/enigma-chat.tar.xz
set -u
cd "$(dirname "$0")/.."
HERE=${HERE:-out/enigma-gpu} LM=${LM:-$HERE} WORK=${WORK:-$HERE/work} PY=${PY:-python3} OUT=${OUT:-$HERE/results}
TUNED=${TUNED:-420} CHAT=${CHAT:-300} SEEDS=${SEEDS:-"0 1 2"} WORKERS=${WORKERS:-12}
START=$(date +%s)
mkdir -p "$WORK" "$OUT"
. papers/gpu.sh
export PYTHONPATH="$PYTHONPATH:."
tuned() {
  local until=$((START + TUNED)) worker
  for worker in $(seq 0 $((WORKERS - 1))); do
    timeout -k 3 $((TUNED + 30)) "$PY" -m papers.enigma_tuned train "$HERE" "$WORK" --until "$until" --start "$worker" \
      --every "$WORKERS" ${MORE_TUNED:-} >> "$WORK/tuned-$worker.txt" 2>&1 &
  done
  wait
  "$PY" -m papers.enigma_tuned collect "$WORK" "$OUT/enigma-tuned.json"
}
chat() {
  local until=$((START + CHAT)) seed
  for seed in $SEEDS; do
    timeout -k 3 $((CHAT + 60)) "$PY" -m papers.enigma_language generate "$LM" "$WORK" --seed "$seed" --until "$until" \
      ${MORE_CHAT:-} >> "$WORK/chat-$seed.txt" 2>&1 &
  done
  wait
  "$PY" -m papers.enigma_language pack "$WORK" "$OUT/enigma-chat.tar.xz"
}
for part in "$@"; do
  case $part in
  tuned | chat) $part & ;;
  *) echo "there is no part $part" >&2; exit 2 ;;
  esac
done
wait
tail -qn 2 "$WORK"/*.txt
echo "done after $(($(date +%s) - START)) s"
