"""Shards of a file are its dialogues, each once and by its name, wherever it is cut."""

import gzip
import json
from codecs import BOM_UTF8
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
    """The second has no ids, blank lines, and no end of its last line."""
    folder = tmp_path_factory.mktemp("shards")
    first, second = corpus(folder / "a.jsonl", 3), corpus(folder / "b.jsonl", 4, agents=("other",), seed=1)
    records = [json.loads(line) for line in second.read_bytes().splitlines()]
    nameless = (json.dumps({key: record[key] for key in record.keys() - {"id"}}) for record in records)
    second.write_text("\n" + "\n\n".join(nameless))
    return [str(first), str(second)]


@given(size=st.integers(1, 20_000))
def test_cut_anywhere_every_dialogue_is_read_once_in_order_and_by_its_name(
    files: list[str], size: int
) -> None:
    found = [one for shard in shards(files, size=size) for one in shard.read()]
    assert found == list(native.read_all(files))
    assert found[-1].id == f"b:{2 * sum(one.agent == 'other' for one in found)}"


@given(size=st.integers(1, 20_000))
def test_a_byte_order_mark_changes_no_dialogue(files: list[str], size: int) -> None:
    for file in files:
        marked = Path(file).with_suffix(".marked")
        marked.write_bytes(BOM_UTF8 + Path(file).read_bytes())
        found = [one for shard in shards([str(marked)], size=size) for one in shard.read()]
        assert found == list(native.read(str(marked))) == list(native.read(file))


def test_a_packed_file_is_one_shard(files: list[str], tmp_path: Path) -> None:
    packed = tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(Path(files[1]).read_bytes()))
    (shard,) = shards([str(packed)], size=10)
    assert list(shard.read()) == list(native.read(files[1]))


@pytest.mark.parametrize("size", [1, 3000, 1 << 25])
def test_a_bad_line_is_named_by_its_number(files: list[str], tmp_path: Path, size: int) -> None:
    bad, good = tmp_path / "bad.jsonl", Path(files[0]).read_bytes()
    bad.write_bytes(good + b'{"messages": 3}\n')
    number = len(good.splitlines()) + 1
    with pytest.raises(DataError, match=rf"bad\.jsonl:{number}: \$\.messages"):
        list(shards([str(bad)], size=size)[-1].read())


def test_whoever_reads_need_not_be_in_the_folder_in_which_the_file_was_named(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(files[0]).parent)
    (shard,) = shards(["a.jsonl"])
    monkeypatch.chdir(tmp_path)
    assert list(shard.read()) == list(native.read(files[0]))
    assert shard.path == "a.jsonl"


def test_a_file_that_is_gone_or_not_the_one_that_was_cut_is_said_so(tmp_path: Path) -> None:
    path = corpus(tmp_path / "a.jsonl", 3)
    cut = shards([str(path)], size=500)
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(DataError, match=r"a\.jsonl: has \d+ bytes .* when it was cut"):
        next(cut[0].read())
    path.unlink()
    with pytest.raises(DataError, match=r"a\.jsonl: cannot be read: No such file.* every worker finds"):
        next(cut[0].read())
    with pytest.raises(DataError, match=r"a\.jsonl: cannot be read: No such file"):
        shards([str(path)])
