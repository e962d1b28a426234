"""Shards of a file are its conversations, each once, wherever it is cut."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.corpus import corpus
from turnwise.errors import DataError
from turnwise.logs import native
from turnwise.logs.shards import shards


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("shards")
    first, second = corpus(folder / "a.jsonl", 3), corpus(folder / "b.jsonl", 4, agents=("other",), seed=1)
    second.write_bytes(
        b"\n" + second.read_bytes().replace(b"\n", b"\n\n").rstrip()
    )  # blank lines, no last end
    return [str(first), str(second)]


@given(size=st.integers(1, 20_000))
def test_cut_anywhere_every_conversation_is_read_once_and_in_order(files: list[str], size: int) -> None:
    found = [one for shard in shards(files, size=size) for one in shard.read()]
    assert found == list(native.read_all(files))


def test_a_packed_file_is_one_shard(files: list[str], tmp_path: Path) -> None:
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(Path(files[0]).read_bytes()))
    (shard,) = shards([str(packed)], size=10)
    assert list(shard.read()) == list(native.read(files[0]))


def test_a_bad_line_is_named(files: list[str], tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(Path(files[0]).read_bytes() + b'{"messages": 3}\n')
    with pytest.raises(DataError, match=r"bad\.jsonl.*messages"):
        list(shards([str(bad)])[-1].read())
