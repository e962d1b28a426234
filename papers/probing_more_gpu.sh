#!/bin/bash
# On a GPU machine without a network: attacks on guarded metrics, the rows of the masked language model, copies of
# contexts, FBD by layer, the search for frauds of `usr-mlm`, and for ADEM a character encoder (tweet2vec) and candidates.
# They need many processor cores and little of the GPU.
#   HERE=FOLDER MINILM=FOLDER SMOLLM2=FILE [TIME=500] [JOBS=12] [PY=python3] papers/probing_more_gpu.sh OUTPUT [JOB...]
# HERE is what papers/probing_carry.sh made. A job that is not done after TIME seconds is ended, and a later call goes on
# with it. OUTPUT gets one file; here: tar xJf OUTPUT/probing-more.tar.xz -C DIR, then
#   python -m papers.guarded merge DIR/guarded-*.json
#   python -m papers.probing keep DIR/table
#   cp DIR/{learned,probing,fbd_encoders,adem,adem_candidates}.json papers, where they have not changed since
set -u
cd "$(dirname "$0")/.."
TO=$1 PY=${PY:-python3} TIME=${TIME:-500} WORK=$PWD/out/probing-more
shift
. papers/gpu.sh
export HERE PY WORK TIME HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1
export RANDOM_NEGATIVES="usr-ret, random negatives=usr-ret[trained=$HERE/ret-random]"
mkdir -p "$WORK" "$TO"
"$PY" -m papers.probing_gpu models "$HERE" "$WORK/cache" --minilm "$MINILM" --smollm2 "$SMOLLM2" || exit 1
if [ $# = 0 ]; then
  set -- t2v candidates rows copies encoders
  for corpus in dailydialog personachat empathetic; do set -- "$@" "table/$corpus"; done
  for metric in usr-full usr-mlm turnwise maude att usr-ret adem-c; do
    for corpus in dailydialog personachat empathetic agreement; do set -- "$@" "guarded/$metric/$corpus"; done
  done
fi
t2v() {
  "$PY" papers/pretraining.py train "$HERE/dialogues.json.xz" characters -o "$WORK/t2v" --half --seconds $((TIME / 3)) \
    --set batch=256 --set at_once=256 --set every=250 --set patience=4 || return
  "$PY" papers/adem.py replies "$HERE/data" --encoder "$WORK/t2v"
}
candidates() {
  local some="--half --set every=250 --set patience=4"
  "$PY" papers/pretraining.py train "$HERE/dialogues.json.xz" dual -o "$WORK/dual" --seconds $((TIME / 2)) $some \
    --set batch=256 --set at_once=256 &
  "$PY" papers/pretraining.py train "$HERE/dialogues.json.xz" hred -o "$WORK/hred" --seconds $((TIME / 2)) $some \
    --set batch=128 --set at_once=128 &
  "$PY" -m turnwise train tfidf "$HERE/data/dailydialog.jsonl.gz" --where meta.split=train -o "$WORK/tfidf"
  "$PY" -m turnwise train adem "$HERE/data/fbd.jsonl.gz" --dimension overall --by meta.corpus -o "$WORK/adem"
  wait
  "$PY" -m papers.adem_candidates "$HERE/data" "$WORK/adem" tfidf="$WORK/tfidf" dual="$WORK/dual" hred="$WORK/hred"
}
export -f t2v candidates
one() {
  local job=$1 name=${1//\//-} metric corpus spec
  export TURNWISE_CACHE="$WORK/cache-$name"
  mkdir -p "$TURNWISE_CACHE"
  ln -sfn "$WORK/cache/models" "$TURNWISE_CACHE/models"
  IFS=/ read -r _ metric corpus <<< "$job/"
  case $job in
    t2v | candidates) set -- -c "$job" ;;
    rows) set -- -m papers.learned "$HERE/data" masked usr-full-masked ;;
    copies)
      set -- -m papers.probing copies "$HERE/data" loglik=loglik usr-full=usr-full usr-mlm=usr-mlm "$RANDOM_NEGATIVES" ;;
    encoders) set -- -m papers.fbd_encoders "$HERE/data" minilm=minilm smollm2=smollm2 ;;
    table/*)
      set -- -m papers.probing table "$HERE/data" usr-mlm=usr-mlm --corpora "$metric" --no-perturb -o "$WORK/table" ;;
    guarded/*)
      corpus=${corpus%/}
      case $metric in
        turnwise) spec=turnwise=turnwise:floor=-2 ;;
        usr-full) spec=usr-full=usr-full:floor=-2 ;;
        usr-mlm) spec=usr-mlm=usr-mlm:floor=-10 ;;
        adem-c) spec="adem-c=adem-c[trained=$HERE/adem-c]:floor=1" ;;
        *) spec=$metric=$metric ;;
      esac
      set -- -m papers.guarded "$HERE/data" "$spec" --results "$WORK/$name.json" -o "$WORK/guarded" ${GUARDED:-}
      if [ "$corpus" = agreement ]; then set -- "$@" --corpora ""; else set -- "$@" --corpora "$corpus" --no-agreement; fi ;;
    *) echo "there is no job $job"; return 2 ;;
  esac
  if [ "$1" = -c ]; then timeout "$TIME" bash "$@"; else timeout "$TIME" "$PY" "$@"; fi > "$WORK/$name.log" 2>&1
  echo "$job ended with $? after $SECONDS s"
}
export -f one
printf '%s\n' "$@" | xargs -P "${JOBS:-12}" -I{} bash -c 'one {}'
cp papers/{learned,probing,fbd_encoders,adem,adem_candidates}.json "$WORK"
for folder in t2v dual hred; do cp "$WORK/$folder/card.json" "$WORK/$folder-card.json"; done
(cd "$WORK" && tar cJf "$TO/probing-more.tar.xz" -- *.json *.log $(ls -d table/*.json guarded/*/results.json 2> /dev/null))
ls -la "$TO"
