#!/bin/bash
# On a GPU machine without a network: a guard that is taught with the frauds of five metrics, attacks on guarded metrics,
# the rows of the masked language model, its frauds, and for ADEM a character encoder (tweet2vec) and candidates.
# They need many processor cores and little of the GPU.
#   HERE=FOLDER MINILM=FOLDER SMOLLM2=FILE [TIME=500] [JOBS=12] [PY=python3] papers/probing_more_gpu.sh OUTPUT [JOB...]
# HERE is what papers/probing_carry.sh made. JOBS of the jobs run at a time, as long as the TIME seconds are not over; a later call goes
# on with those that are not done. OUTPUT gets one file; here:
#   tar xJf OUTPUT/probing-more.tar.xz -C DIR
#   python -m papers.guarded merge DIR/guarded-*.json
#   python -m papers.probing keep DIR/table
#   cp DIR/{learned,probing,fbd_encoders,adem,adem_candidates,guard_taught}.json papers, where they have not changed since
set -u
cd "$(dirname "$0")/.."
TO=$1 PY=${PY:-python3} TIME=${TIME:-500} JOBS=${JOBS:-12} WORK=$PWD/out/probing-more
shift
. papers/gpu.sh
END=$(($(date +%s) + TIME))
export HERE PY WORK TIME JOBS END HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1
mkdir -p "$WORK" "$TO"
"$PY" -m papers.probing_gpu models "$HERE" "$WORK/cache" --minilm "$MINILM" --smollm2 "$SMOLLM2" || exit 1
if [ $# = 0 ]; then
  set -- teach candidates ${MORE_ENCODERS:-}
  for corpus in dailydialog personachat empathetic; do set -- "$@" "guarded/usr-full/$corpus" "guarded/usr-mlm/$corpus"; done
  set -- "$@" rows guarded/{usr-full,adem-c,usr-mlm}/agreement
  for corpus in dailydialog personachat empathetic; do
    for metric in maude adem-c turnwise att usr-ret; do set -- "$@" "guarded/$metric/$corpus"; done
  done
  set -- "$@" guarded/{maude,att,usr-ret,turnwise}/agreement table/{dailydialog,personachat,empathetic}
fi
spec() {  # of a metric, with the floor towards which a guard lowers it
  case $1 in
    turnwise) echo turnwise=turnwise:floor=-2 ;;
    usr-full) echo usr-full=usr-full:floor=-2 ;;
    usr-mlm) echo usr-mlm=usr-mlm:floor=-10 ;;
    adem-c) echo "adem-c=adem-c[trained=$HERE/adem-c]:floor=1" ;;
    *) echo "$1=$1" ;;
  esac
}
t2v() {
  "$PY" papers/pretraining.py train "$HERE/dialogues.json.xz" characters -o "$WORK/t2v" --half --seconds $((TIME / 3)) \
    --set batch=256 --set at_once=256 --set every=250 --set patience=4 || return
  "$PY" papers/adem.py replies "$HERE/data" --encoder "$WORK/t2v"
}
candidates() {
  local some="--half --set every=250 --set patience=4" seconds=${CANDIDATES:-180} kind
  for kind in dual:256 hred:128; do
    [ -d "$WORK/${kind%:*}" ] || "$PY" papers/pretraining.py train "$HERE/dialogues.json.xz" "${kind%:*}" \
      -o "$WORK/${kind%:*}" --seconds "$seconds" $some --set "batch=${kind#*:}" --set "at_once=${kind#*:}" || return
  done
  [ -d "$WORK/tfidf" ] ||
    "$PY" -m turnwise train tfidf "$HERE/data/dailydialog.jsonl.gz" --where meta.split=train -o "$WORK/tfidf" || return
  local adem=$HERE/adem
  if [ ! -d "$adem" ]; then
    adem=$WORK/adem
    "$PY" -m turnwise train adem "$HERE/data/fbd.jsonl.gz" --dimension overall --where meta.corpus=dailyz -o "$adem" || return
  fi
  "$PY" -m papers.adem_candidates "$HERE/data" "$adem" tfidf="$WORK/tfidf" dual="$WORK/dual" hred="$WORK/hred"
}
rows() {  # with large batches
  "$PY" -c "import runpy, sys; from papers.probing_gpu import large_batches; large_batches(); sys.argv[0] = 'learned'
runpy.run_module('papers.learned', run_name='__main__')" "$HERE/data" masked usr-full-masked
}
export -f spec t2v candidates rows
one() {
  local job=$1 name=${1//\//-} metric corpus left=$((END - $(date +%s))) pairs=() options=()
  if [ $left -lt 30 ] || [ -e "$WORK/$name.done" ]; then return; fi
  export TURNWISE_CACHE="$WORK/cache-$name"
  mkdir -p "$TURNWISE_CACHE"
  ln -sfn "$WORK/cache/models" "$TURNWISE_CACHE/models"
  IFS=/ read -r _ metric corpus <<< "$job"
  case $job in
    t2v | candidates | rows) set -- bash -c "$job" ;;
    teach)
      for metric in usr-ret att maude adem-c usr-full; do pairs+=("$(spec $metric)"); done
      set -- "$PY" -m papers.guarded teach "$HERE/data" "${pairs[@]}" --learn-from "$HERE/learn.jsonl.gz" --rounds 2 \
        --jobs "${TEACHERS:-2}" -o "$WORK/teach" ${TEACH:-} ;;
    copies)
      set -- "$PY" -m papers.probing copies "$HERE/data" loglik=loglik usr-full=usr-full usr-mlm=usr-mlm \
        "usr-ret, random negatives=usr-ret[trained=$HERE/ret-random]" ;;
    encoders/*) set -- "$PY" -m papers.fbd_encoders "$HERE/data" "$metric=${ENCODERS:-$HERE}/$metric" ;;
    table/*)
      set -- "$PY" -m papers.probing table "$HERE/data" usr-mlm=usr-mlm --corpora "$metric" --no-perturb \
        -o "$WORK/table" ${TABLE:-} ;;
    guarded/*)
      options=(--results "$WORK/$name.json" -o "$WORK/guarded" ${GUARDED:-})
      if [ -e "$WORK/teach.done" ]; then options+=(--trained "$WORK/teach/model-2"); fi
      case " ${ONLY_AFTER:-} " in *" $metric "*) options+=(--when after) ;; esac  # before: measured elsewhere
      if [ "$corpus" = agreement ]; then options+=(--corpora ""); else options+=(--corpora "$corpus" --no-agreement); fi
      set -- "$PY" -m papers.guarded "$HERE/data" "$(spec "$metric")" "${options[@]}" ;;
    *) echo "there is no job $job"; return 2 ;;
  esac
  timeout "$left" "$@" > "$WORK/$name.log" 2>&1
  local code=$?
  [ $code != 0 ] || touch "$WORK/$name.done"
  echo "$job ended with $code after $((TIME - END + $(date +%s))) s"
}
export -f one
# What teaches comes first, since other jobs use its guard; candidates are made beside it.
case " $* " in *" candidates "*) one candidates & ;; esac
case " $* " in *" teach "*) one teach ;; esac
printf '%s\n' "$@" | grep -vx 'teach\|candidates' | xargs -P "$JOBS" -I{} bash -c 'one {}'
wait
cp papers/{learned,probing,fbd_encoders,adem,adem_candidates,guard_taught}.json "$WORK" 2> /dev/null
for folder in t2v dual hred; do cp "$WORK/$folder/card.json" "$WORK/$folder-card.json" 2> /dev/null; done
(cd "$WORK" && tar cJf "$TO/probing-more.tar.xz" -- *.json *.log $(ls -d table/*.json table/*/results.json \
  guarded/*/results.json teach/*/round-*.json teach/model-* 2> /dev/null))
ls -la "$TO"
