#!/bin/bash
# ENIGMA's parts for a GPU machine without a network, side by side:
#   tuned    the encoder tuned until it converges          -> enigma-tuned.json
#   chat     chat agents that are language models, and their estimates -> enigma-chat.tar.xz, enigma-language-*.json
#   tables   Tables 1, 3 and 4 for every family and draw   -> FAMILY-DRAW.json
#   talkers  the ten scores of the made-up chat agents     -> chat-FAMILY-SEED.json
#   more     the six cases of `enigma.py chat`, and few other sellers -> six-FAMILY-SEED.json, few-FAMILY.json
#   [TIME=1200] [OUT=DIR] [HERE=out/enigma-gpu] [MORE=DIRS] [LM=DIR] [MINILM=DIR] [WORK=DIR] [PY=python3]
#   papers/enigma_gpu.sh tuned chat tables talkers more
# HERE holds what `python -m papers.enigma_tuned prepare HERE minilm` and `... prepare HERE MPNET` write (MORE: further
# folders with parts of the weights) and wheels/ of packages that the machine lacks. LM holds smollm2.gguf,
# tokenizer.json, and in qwen/ qwen.gguf (`papers.enigma_language cut`, joined) and its tokenizer.json; MINILM the model of `turnwise fetch minilm`. After TIME seconds all parts stop. Started again with the
# same WORK they go on (ROOT: the tree, if this file lies elsewhere). OUT gets two files: enigma-results.tar.xz with all results, and enigma-chat.tar.xz with the logs.
#   python -m papers.enigma_tuned show enigma-tuned.json; python -m papers.enigma_trained add *-*.json; ...
set -u
TOP=$(cd "$(dirname "$0")/.." && pwd)
HERE=${HERE:-out/enigma-gpu} LM=${LM:-$HERE} WORK=${WORK:-$HERE/work} PY=${PY:-python3} OUT=${OUT:-$HERE/results}
TIME=${TIME:-1200} MORE=${MORE:-} MINILM=${MINILM:-} TUNED_WORKERS=${TUNED_WORKERS:-3} CASES=${CASES:-6}
EPOCHS=${EPOCHS:-250} DIALOGUES=${DIALOGUES:-60} TRUTH=${TRUTH:-600} SHARES=${SHARES:-"1 0.5 0.25"}
DRAWS=${DRAWS:-"0 1 2"} FRESH=${FRESH:-"2000 2001 2002"}
cd "${ROOT:-$TOP}" || exit 2
START=$(date +%s) END=$(($(date +%s) + TIME - 45))
mkdir -p "$WORK" "$OUT"
. "$TOP/papers/gpu.sh"
export PYTHONPATH="$TOP:$PYTHONPATH:."
ROUND=$(ls "$WORK" | grep -c '^round-'); touch "$WORK/round-$ROUND"
left() { echo $((END - $(date +%s))); }
cache() { # a cache folder of its own for each case, with MiniLM in it
  mkdir -p "$WORK/cache/$1/models"
  if [ -n "$MINILM" ] && [ ! -e "$WORK/cache/$1/models/minilm-53aa5117" ]; then
    ln -s "$(cd "$MINILM" && pwd)" "$WORK/cache/$1/models/minilm-53aa5117"
  fi
  echo "$WORK/cache/$1"
}
limited() { # a command, stopped at the end of the time
  local most=$(left)
  [ "$most" -gt 5 ] && timeout -k 3 "$most" "$@"
}
tuned() {
  local worker
  for worker in $(seq "$TUNED_WORKERS"); do
    timeout -k 3 $(($(left) + 30)) "$PY" -m papers.enigma_tuned train "$HERE" "$WORK/tuned" --until "$END" --round "$ROUND" \
      --epochs "$EPOCHS" ${MORE:+--more $MORE} >> "$WORK/tuned-$worker.txt" 2>&1 &
  done
  wait
}
chat() {
  limited "$PY" -m papers.enigma_language generate "$LM" "$WORK/chat" --seed 0 --until $((START + TIME * 2 / 5)) \
    --dialogues "$DIALOGUES" --samples 1 --truth "$TRUTH" --batch 1024 ${MORE_CHAT:-} >> "$WORK/chat.txt" 2>&1
  "$PY" -m papers.enigma_language pack "$WORK/chat" "$WORK/enigma-chat.tar.xz" >> "$WORK/chat.txt" 2>&1
  export TURNWISE_CACHE=$(cache language)
  limited "$PY" -m papers.enigma_language encode "$WORK/enigma-chat.tar.xz" 0 --samples 1 >> "$WORK/chat.txt" 2>&1
  for score in overall,sense,listening,interesting avoids_repetition,fluent,inquisitive persona,enjoyable,human_like; do
    for share in $SHARES; do
      limited "$PY" -m papers.enigma_language run "$WORK/enigma-chat.tar.xz" 0 --samples 1 --scores "$score" \
        --share "$share" --kept "$WORK/enigma-language-${score%%,*}.json" >> "$WORK/chat.txt" 2>&1
    done &
  done
  wait
}
one() { # FAMILY DRAW of booking, or chat FAMILY SEED
  export TURNWISE_CACHE=$(cache "$(echo "$*" | tr ' ' '-')")
  if [ "$1" = chat ]; then
    KEPT=$WORK/chat-$2-$3.json limited "$PY" "$TOP/papers/enigma_chat.py" all "$2:$3" >> "$WORK/cases-$2-$3.txt" 2>&1
  elif [ "$1" = six ]; then
    KEPT=$WORK/six-$2-$3.json limited "$PY" "$TOP/papers/enigma.py" chat "$2:$3" >> "$WORK/cases-six-$2-$3.txt" 2>&1
  elif [ "$1" = few ]; then
    KEPT=$WORK/few-$2.json limited "$PY" -m papers.enigma_when few "$2" >> "$WORK/cases-few-$2.txt" 2>&1
  else
    JOBS=${JOBS:-2} limited "$PY" -m papers.enigma_trained run "$WORK/tables" "$1" "$2" >> "$WORK/cases-$1-$2.txt" 2>&1
  fi
}
cases() { # all lines of the standard input, CASES at a time
  local line
  while read -r line; do
    while [ "$(jobs -rp | wc -l)" -ge "$CASES" ]; do sleep 0.5; done
    [ "$(left)" -gt 20 ] && one $line < /dev/null &
  done
  wait
}
listed() { # the trained sellers first: they take longest
  local draw family case
  case " $* " in *" tables "*)
    for draw in $DRAWS; do echo "trained $draw"; done
    for draw in $FRESH; do for family in behaviour wordings stochastic graded; do echo "$family $draw"; done; done ;;
  esac
  case " $* " in *" talkers "*)
    for draw in 21 22 23; do for family in failings graded; do echo "chat $family $draw"; done; done ;;
  esac
  case " $* " in *" more "*)
    for family in stochastic wordings graded; do echo "few $family"; done
    for case in "failings 22" "graded 23" "failings 23"; do echo "six $case"; done ;;
  esac
}
for part in "$@"; do
  case $part in
  tuned | chat) $part & ;;
  tables | talkers | more) ;;
  *) echo "there is no part $part" >&2; exit 2 ;;
  esac
done
listed "$@" > "$WORK/list.txt"
cases < "$WORK/list.txt" &
wait
[ -d "$WORK/tuned/results" ] && "$PY" -m papers.enigma_tuned collect "$WORK/tuned" "$WORK/enigma-tuned.json"
(cd "$WORK" && tar cJf results.part $(ls -d *.json *.txt tables/*-*.json 2> /dev/null | grep -v truth)) && mv "$WORK/results.part" "$OUT/enigma-results.tar.xz"
[ -f "$WORK/enigma-chat.tar.xz" ] && cp "$WORK/enigma-chat.tar.xz" "$OUT/"
tail -qn 1 "$WORK"/*.txt
echo "done after $(($(date +%s) - START)) s"
