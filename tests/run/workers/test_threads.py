"""BLAS has one thread while turnwise computes, in this process and in workers, whatever the environment says."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import turnwise
from turnwise.run.workers.execute import Local
from turnwise.run.workers.threads import limited_threads


def blas_threads() -> set[int]:
    """The numbers of threads of the BLAS libraries that are loaded."""
    np.linalg.eigvalsh(np.eye(3))
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def in_task(shared: None, task: int) -> set[int]:
    return blas_threads()


def recorded(items: list[dict[str, object]]) -> list[float]:
    """A metric whose score is the largest number of BLAS threads."""
    return [float(max(blas_threads()))] * len(items)


@pytest.fixture
def two_threads():
    """BLAS as on a machine of two cores."""
    with threadpool_limits(limits=2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS has no threads")
        yield


def test_a_block_has_one_thread_and_restores_what_was_there(two_threads, monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    with limited_threads():
        assert blas_threads() == {1}
        assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
        with limited_threads():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}
    assert "OPENBLAS_NUM_THREADS" not in os.environ
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"


def test_overlapping_blocks_are_limited_until_the_last_one_ends(two_threads):
    first, second = limited_threads(), limited_threads()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas_threads() == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == {2}


def test_workers_have_one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    with Local(2) as workers:
        assert [found for _, found in workers.in_order(in_task, None, range(3))] == [{1}] * 3


def test_a_call_of_the_library_has_one_thread(two_threads):
    dialogue = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}
    scores = turnwise.score([dialogue], metrics=f"{__name__}:recorded", figures=False)
    assert [row.estimate for row in scores.findings] == [1.0]
    assert blas_threads() == {2}


def test_a_command_has_one_thread_whatever_the_environment_says(tmp_path):
    (tmp_path / "data.jsonl").write_text(
        json.dumps({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "oh"}]})
    )
    words = ["score", str(tmp_path / "data.jsonl"), "-m", f"{__name__}:recorded", "--format", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "turnwise", *words],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "OMP_NUM_THREADS": "2",
            "OPENBLAS_NUM_THREADS": "2",
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"][0]["estimate"] == 1.0
