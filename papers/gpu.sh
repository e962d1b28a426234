# Sourced by the scripts that run many small trainings side by side on one GPU: packages, and a GPU that they share.
# Needs HERE, the folder of papers/lava_carry.sh, and PY. Without wheels there, the packages of PY are used.
if [ -d "$HERE/wheels" ]; then
  SITE=$HERE/site-$("$PY" -c 'import sys; print(sys.version_info.minor)')
  if [ ! -d "$SITE" ]; then
    for wheel in "$HERE"/wheels/*.whl; do "$PY" -m zipfile -e "$wheel" "$SITE"; done
  fi
  export PYTHONPATH="src:$SITE:${PYTHONPATH:-}"
else
  export PYTHONPATH="src:${PYTHONPATH:-}"
fi
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false PYTHONUNBUFFERED=1
# With NVIDIA's multi-process service the small kernels of several processes run at once; without it they take turns.
if command -v nvidia-cuda-mps-control > /dev/null; then
  export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps-log
  mkdir -p /tmp/mps /tmp/mps-log
  nvidia-cuda-mps-control -d 2> /dev/null
  if timeout 60 "$PY" -c 'import torch; print(float(torch.ones(2, 2).cuda().sum()))' > /dev/null 2>&1; then
    echo "the processes share the GPU by MPS"
  else
    echo quit | timeout 10 nvidia-cuda-mps-control; unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    echo "MPS does not work here: the processes take turns"
  fi
else
  echo "there is no MPS: the processes take turns"
fi
