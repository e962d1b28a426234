#!/bin/bash
# The readers of `turnwise`, trained from their bases on the text of papers.flagship.prepare: on one GPU, in several calls
# to a machine without a network, which may be lost between two of them.
#   K=DIR papers/flagship/clean.sh take FOLDER...               pieces of papers.flagship.carry, or a state that was sent
#   K=DIR OUT=DIR papers/flagship/clean.sh go SECONDS [NAME=VALUE...]    goes on for so long, then sends its state to OUT
#   K=DIR OUT=DIR papers/flagship/clean.sh send labels          the students' training pairs, which `go` does not send
#   K=DIR papers/flagship/clean.sh stop
# K keeps everything while the machine is there. `go` starts the campaign in a session of its own, so it runs on between
# calls; started again, it goes on from its checkpoints, or from a state that another machine sent. NAME=VALUE changes a
# setting for the steps to come. With TINY=1 the models are cut to one layer after unpacking: a rehearsal on a CPU.
# 1. Language model, its replies. 2. Round 0: three large readers from the language model, and their mean. 3. Rounds 1
# and 2: the mean of the last round writes replies and looks for replies that it is fooled by; three readers learn to tell
# these apart too; their mean. 4. The last mean labels pairs. 5. Three students learn from them; their mean.
# Results: r2/soup.npz, s/student-soup.npz, and columns of rated replies beside them, for papers.flagship.ship and fit.
set -u
REPOSITORY=$(cd "$(dirname "$0")/../.." && pwd)
K=${K:?} PY=${PY:-python3}
K=$(mkdir -p "$K/logs" && cd "$K" && pwd)
touch "$K/settings"
defaults() {
  LM=60 SAMPLED=64000 ROUND0=280 ROUND1=190 ROUND2=190 STEPS0=1600 STEPS1=1100 STEPS2=1100 RESAMPLED=40000 MINED=6000
  LABEL=70 PAIRS='20 21 22 23' STUDENT=240 BATCH= LM_BATCH= STUDENT_BATCH=
  if [ -n "${TINY:-}" ]; then
    LM=8 SAMPLED=200 ROUND0=12 ROUND1=10 ROUND2=10 RESAMPLED=100 MINED=60 LABEL=6 STUDENT=10
    PAIRS=20 BATCH=1500 LM_BATCH=4 STUDENT_BATCH=16
  fi
}
log() { echo "$(date +%T) $*" >> "$K/logs/campaign"; }
program() { # LOG MODULE STAGE ...
  local name=$1
  shift
  timeout -k 10 1500 "$PY" -m papers.flagship."$@" --text "$K/text" --wait >> "$K/logs/$name" 2>&1 || touch "$K/failed"
}
# All programs of a round are started at once: each loads what it needs, and then waits for the files of those before it.
large() { local name=$1; shift; program "$name" train_large "$@" --base "$K/smollm2" --workers 2 & }
student() { local name=$1; shift; program "$name" train_student "$@" --student "$K/minilm" --out "$K/s" --workers 2 & }
there() { # FILE...: waits for them; if a program failed, ends the others
  local file
  for file; do
    [ -e "$file" ] || log "waits for ${file#"$K/"}"
    until [ -e "$file" ]; do
      if [ -e "$K/failed" ]; then
        log "a part failed: see the other logs"
        kill $(ps -o pid= -s $$ | grep -vw $$)
        exit 1
      fi
      sleep 0.5
    done
  done
}

# The readers of a round, and their mean.
round() {
  local n=$1 R=$K/r$1 start= seconds=ROUND$1 steps=STEPS$1 rate=3e-4 seed
  [ -f "$R/soup.npz" ] && return
  mkdir -p "$R"
  if [ "$n" = 0 ]; then
    rate=5e-4
    [ -f "$R/lm.npz" ] || large lm lm --out "$R" --seconds "$LM" ${LM_BATCH:+--batch $LM_BATCH}
    [ -f "$R/samples.npz" ] || large sample-0 sample --out "$R" --count "$SAMPLED"
  else
    round $((n - 1))
    start="--start $K/r$((n - 1))/soup.npz"
    [ -f "$R/samples.npz" ] || large "sample-$n" sample $start --out "$R" --count "$RESAMPLED"
    [ -f "$R/mined.npz" ] || large "mine-$n" mine $start --out "$R" --seed "$n" --count "$MINED"
    start="$start --mined $R/mined.npz"
  fi
  . "$K/settings"
  log "round $n: three readers, ${!seconds} s or ${!steps} steps"
  for seed in 0 1 2; do
    [ -f "$R/large-$seed-rated.npz" ] ||
      large "large-$n-$seed" discriminate $start --out "$R" --seed $seed --rate $rate --seconds "${!seconds}" \
        --steps "${!steps}" ${BATCH:+--batch $BATCH}
  done
  large "soup-$n" soup --out "$R"
  [ "$n" = 2 ] && label
  there "$R"/large-{0,1,2}.npz "$R/soup.npz"
}

label() { # pairs for the students
  local seed
  mkdir -p "$K/s"
  for seed in $PAIRS; do
    [ -f "$K/s/large-$seed-labels.npz" ] ||
      program "label-$seed" train_student label --base "$K/smollm2" --start "$K/r2/soup.npz" --seconds "$LABEL" \
        --mined "$K/r2/mined.npz" --samples "$K/r2/samples.npz" --out "$K/s" --seed "$seed" &
  done
}

students() {
  local seed
  there "$K/minilm/model.safetensors"
  . "$K/settings"
  log "three students, $STUDENT s, after the labels"
  for seed in 0 1 2; do
    [ -f "$K/s/student-$seed-rated.npz" ] ||
      student "student-$seed" train --seed $seed --seconds "$STUDENT" ${STUDENT_START:+--start $STUDENT_START} \
        --labels $(printf "$K/s/large-%s-labels.npz " $PAIRS) ${STUDENT_BATCH:+--batch $STUDENT_BATCH}
  done
  student student-soup soup
  there "$K"/s/student-{0,1,2}.npz "$K/s/student-soup.npz"
  wait
}

campaign() {
  cd "$K/code" || exit 1
  HERE=$K . papers/gpu.sh >> "$K/logs/campaign" 2>&1
  export PYTHONPATH=src:.
  defaults
  . "$K/settings"
  rm -f "$K/failed"
  there "$K/smollm2/model.safetensors"
  if [ -f "$K/r2/soup.npz" ]; then label; else round 2; fi
  [ -f "$K/s/student-soup.npz" ] || students
  there "$K/s/student-soup-rated.npz"
  log "all done"
}

take() {
  local folder
  for folder; do
    [ -d "$folder" ] || { echo "$folder is not here"; continue; }
    cp -rn "$folder/." "$K"
    [ -f "$folder/small.tar.gz" ] && tar xzf "$folder/small.tar.gz" -C "$K" --skip-old-files
    [ -f "$folder/labels.tar-00" ] && cat "$folder"/labels.tar-* | tar x -C "$K" --skip-old-files
  done
  cd "$REPOSITORY" && PYTHONPATH=src:. "$PY" -m papers.flagship.carry unpack "$K"
  if [ -n "${TINY:-}" ] && [ -d "$K/smollm2" ] && [ -d "$K/minilm" ] && [ ! -f "$K/is-tiny" ]; then
    PYTHONPATH=src:. "$PY" -m papers.flagship.carry tiny "$K" && touch "$K/is-tiny"
  fi
}

# At most 8 files, of at most 16 MiB each and 64 MiB together.
send() {
  local n=0 file part
  mkdir -p "$OUT"
  if [ "${1:-}" = labels ]; then
    (cd "$K" && tar c s/large-2?-labels.npz) | split -b 15M -d - "$OUT/labels.tar-"  # the first four may leave
    ls -l "$OUT"
    return
  fi
  (cd "$K" && tar czf "$OUT/small.tar.gz" logs settings $(ls -d r?/samples.npz r?/mined.npz r?/*-rated.npz s/*-rated.npz \
    s/*-frauds.npz 2> /dev/null))
  for n in 2 1 0; do [ -f "$K/r$n/soup.npz" ] && break; done
  local wanted="r$n/soup.npz"
  if [ -f "$K/r2/soup.npz" ]; then
    wanted="$wanted s/student-soup.npz" part=s/student
  elif [ -f "$K/r$n/soup.npz" ]; then
    part=r$((n + 1))/large
  else
    wanted=r0/lm.npz part=r0/large
  fi
  for n in 0 1 2; do
    if [ -f "$K/$part-$n.npz" ]; then wanted="$wanted $part-$n.npz"; else wanted="$wanted $part-$n-draft.npz"; fi
  done
  for file in $wanted; do
    [ -f "$K/$file" ] && mkdir -p "$OUT/$(dirname "$file")" && cp "$K/$file" "$OUT/$file"
  done
  find "$OUT" -type f -exec ls -l {} +
}

alive() { [ -f "$K/pid" ] && kill -0 "$(cat "$K/pid")" 2> /dev/null; }

go() {
  local until=$((SECONDS + $1))
  shift
  for setting; do echo "$setting" >> "$K/settings"; done
  if ! alive; then
    rm -rf "$K/code" && mkdir -p "$K/code/src"
    cp -r "$REPOSITORY/papers" "$K/code" && (cd "$REPOSITORY/src" && tar c --exclude=data turnwise) | tar x -C "$K/code/src"
    K=$K PY=$PY TINY=${TINY:-} setsid nohup "$K/code/papers/flagship/clean.sh" campaign > "$K/logs/shell" 2>&1 < /dev/null &
    echo $! > "$K/pid"
  fi
  while [ $SECONDS -lt $until ] && alive; do sleep 1; done
  cat "$K/logs/campaign" "$K/logs/shell" 2> /dev/null
  (cd "$K/logs" && tail -n 3 -v $(ls -t | head -8) 2> /dev/null)
  command -v nvidia-smi > /dev/null && nvidia-smi --query-gpu=utilization.gpu,memory.used --format=csv,noheader
  send
}

stop() { alive && kill $(ps -o pid= -s "$(cat "$K/pid")"); rm -f "$K/pid"; }

"$@"
