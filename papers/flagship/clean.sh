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
  LABEL=80 STUDENT=240 BATCH= LM_BATCH= STUDENT_BATCH=
  if [ -n "${TINY:-}" ]; then
    LM=8 SAMPLED=200 ROUND0=12 ROUND1=10 ROUND2=10 RESAMPLED=100 MINED=60 LABEL=6 STUDENT=10
    BATCH=1500 LM_BATCH=4 STUDENT_BATCH=16
  fi
}
program() { timeout -k 10 1500 "$PY" -m papers.flagship."$@"; }
log() { echo "$(date +%T) $*" >> "$K/logs/campaign"; }

large() { # STAGE NAME-OF-LOG ...
  local stage=$1 name=$2
  shift 2
  program train_large "$stage" --text "$K/text" --base "$K/smollm2" --workers 2 "$@" >> "$K/logs/$name" 2>&1
}
student() {
  local stage=$1 name=$2
  shift 2
  program train_student "$stage" --text "$K/text" --student "$K/minilm" --out "$K/s" --workers 2 "$@" \
    >> "$K/logs/$name" 2>&1
}
wait_for() { # FILE
  [ -e "$1" ] || log "waits for $1"
  until [ -e "$1" ]; do sleep 1; done
}

# The readers of a round, and their mean.
round() {
  local n=$1 R=$K/r$1 start= seconds steps rate=3e-4 seed jobs=
  [ -f "$R/soup.npz" ] && return 0
  mkdir -p "$R"
  if [ "$n" = 0 ]; then
    wait_for "$K/smollm2/model.safetensors"
    if [ ! -f "$R/lm.npz" ]; then
      log "language model"
      large lm lm --out "$R" --seconds "$LM" ${LM_BATCH:+--batch $LM_BATCH} || return 1
    fi
    if [ ! -f "$R/samples.npz" ]; then
      log "its replies"
      large sample sample-0 --out "$R" --count "$SAMPLED" || return 1
    fi
    rate=5e-4
  else
    round $((n - 1)) || return 1
    start="--start $K/r$((n - 1))/soup.npz"
    if [ ! -f "$R/samples.npz" ] || [ ! -f "$R/mined.npz" ]; then
      log "round $n: replies, and those that the reader is fooled by"
      large sample "sample-$n" $start --out "$R" --count "$RESAMPLED" &
      large mine "mine-$n" $start --out "$R" --seed "$n" --count "$MINED" &
      wait
      [ -f "$R/samples.npz" ] && [ -f "$R/mined.npz" ] || return 1
    fi
    start="$start --mined $R/mined.npz"
  fi
  . "$K/settings"
  seconds=ROUND$n steps=STEPS$n
  log "round $n: three readers, ${!seconds} s or ${!steps} steps"
  for seed in 0 1 2; do
    [ -f "$R/large-$seed-rated.npz" ] ||
      large discriminate "large-$n-$seed" $start --out "$R" --seed $seed --rate $rate --seconds "${!seconds}" \
        --steps "${!steps}" ${BATCH:+--batch $BATCH} &
  done
  wait
  [ "$(ls "$R"/large-[012]-rated.npz | wc -l)" = 3 ] || return 1
  log "round $n: their mean"
  large soup "soup-$n" --out "$R"
}

students() {
  local seed
  mkdir -p "$K/s"
  [ -f "$K/s/student-soup.npz" ] && return 0
  if ! ls "$K"/s/large-2[0-3]-labels.npz > /dev/null 2>&1; then
    . "$K/settings"
    log "labels"
    for seed in 20 21 22 23; do
      program train_student label --text "$K/text" --base "$K/smollm2" --start "$K/r2/soup.npz" --seconds "$LABEL" \
        --mined "$K/r2/mined.npz" --samples "$K/r2/samples.npz" --out "$K/s" --seed $seed >> "$K/logs/label-$seed" 2>&1 &
    done
    wait
    ls "$K"/s/large-2[0-3]-labels.npz > /dev/null || return 1
  fi
  wait_for "$K/minilm/model.safetensors"
  . "$K/settings"
  log "three students, $STUDENT s"
  for seed in 0 1 2; do
    [ -f "$K/s/student-$seed-rated.npz" ] ||
      student train "student-$seed" --seed $seed --seconds "$STUDENT" --labels "$K"/s/large-2[0-3]-labels.npz \
        ${STUDENT_BATCH:+--batch $STUDENT_BATCH} ${STUDENT_START:+--start $STUDENT_START} &
  done
  wait
  [ "$(ls "$K"/s/student-[012]-rated.npz | wc -l)" = 3 ] || return 1
  log "their mean"
  student soup student-soup
}

campaign() {
  cd "$K/code" || exit 1
  HERE=$K . papers/gpu.sh >> "$K/logs/campaign" 2>&1
  export PYTHONPATH=src:.
  defaults
  . "$K/settings"
  if round 2 && students; then log "all done"; else log "a part failed: see the other logs"; fi
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
    K=$K PY=$PY TINY=${TINY:-} setsid nohup "$K/code/papers/flagship/clean.sh" campaign > "$K/logs/shell" 2>&1 &
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
