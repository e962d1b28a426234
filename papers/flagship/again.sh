#!/bin/bash
# A further training of the readers of `turnwise` on one GPU, which begins with those of the package.
#   W=DIR [ROUND=1] [POLICIES=FILES] [COUNT=4000] [LARGE=215] [LABEL=70] [FIRST=170] [SECOND=165] [PY=python3] \
#     papers/flagship/again.sh
# 1. Replies are sampled, and replies and templates that the large reader is fooled by are mined (COUNT of each are
# tried), sentences of POLICIES (what papers.probing_gpu train wrote) among them; ROUND draws others. 2. Three large
# readers are taught to tell them apart (LARGE seconds), beside three students that learn from labels of the present one
# for FIRST seconds. 3. The mean of the three labels pairs (LABEL seconds), and the students learn from these for SECOND
# seconds. W holds corpus.npz.xz (papers.flagship.prepare), smollm2.gguf and minilm/. Results: W/r1/soup.npz,
# W/s2/student-soup.npz, and columns of rated replies and frauds (*-rated.npz, *-frauds.npz) beside them.
set -u
cd "$(dirname "$0")/../.."
W=${W:?} PY=${PY:-python3}
mkdir -p "$W/r1" "$W/s1" "$W/s2"
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
HERE=$W . papers/gpu.sh
export PYTHONPATH=.:$PYTHONPATH:$W/site
large() { "$PY" -m papers.flagship.train_large "$@" --text "$W" --base "$W/smollm2.gguf"; }
student() { "$PY" -m papers.flagship.train_student "$@" --text "$W"; }
label() { student label --base "$W/smollm2.gguf" --seconds "${LABEL:-70}" $TAUGHT "$@"; }
TAUGHT="--mined $W/mined.npz --samples $W/samples.npz"
large sample --start shipped --out "$W" --count 40000 > "$W/sample.log" 2>&1 &
large mine --start shipped --out "$W" --seed "${ROUND:-1}" --count "${COUNT:-4000}" ${POLICIES:+--policies $POLICIES} > "$W/mine.log" 2>&1 &
wait
(
  for n in 10 11; do label --start shipped --out "$W/s1" --seed $n > "$W/label-$n.log" 2>&1 & done
  wait
  for n in 0 1 2; do
    student train --student "$W/minilm" --start shipped --labels "$W"/s1/large-1?-labels.npz --out "$W/s1" --seed $n \
      --seconds "${FIRST:-170}" --workers 2 > "$W/first-$n.log" 2>&1 &
  done
  wait
  student soup --student "$W/minilm" --out "$W/s1"
) &
LARGE_ONES=
for n in 0 1 2; do
  large discriminate --start shipped --rate 3e-4 $TAUGHT --out "$W/r1" --seed $n --seconds "${LARGE:-215}" --workers 2 \
    > "$W/large-$n.log" 2>&1 &
  LARGE_ONES="$LARGE_ONES $!"
done
wait $LARGE_ONES
large soup --out "$W/r1"
for n in 20 21; do label --start "$W/r1/soup.npz" --out "$W/s2" --seed $n > "$W/label-$n.log" 2>&1 & done
wait  # for the labels and for the first students
for n in 0 1 2; do
  student train --student "$W/minilm" --start "$W/s1/student-soup.npz" --labels "$W"/s2/large-2?-labels.npz --out "$W/s2" \
    --seed $n --seconds "${SECOND:-165}" --workers 2 > "$W/second-$n.log" 2>&1 &
done
wait
student soup --student "$W/minilm" --out "$W/s2"
cp "$W/r1/soup.npz" "$W"/s2/student-soup*.npz "$W"  # for papers.flagship.ship
tail -qn 1 "$W"/*.log
