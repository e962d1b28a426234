import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from turnwise.errors import UsageError
from turnwise.run.resume.block_store import BlockStore
from turnwise.run.scoring.blocks import Block, Failure


def block(value: float, *, status: str = "skipped") -> Block:
    return Block(np.array([0, 2]), np.array([[value, 1.0], [2.0, 1.0]]), (Failure(1, status, "because"),))


def same(a: Block, b: Block) -> bool:
    return np.array_equal(a.scored, b.scored) and np.array_equal(a.rows, b.rows) and a.failures == b.failures


def test_a_block_is_read_as_it_was_written(tmp_path):
    with BlockStore(tmp_path) as store:
        store.put("k", block(1.5))
    with BlockStore(tmp_path) as store:
        assert same(store.get("k"), block(1.5))
        assert store.get("other") is None


def test_sparse_rows_are_read_as_they_were_written(tmp_path):
    rows = csr_array((np.ones(2), (np.array([0, 1]), np.array([7, 2**60]))), shape=(2, 2**61))
    with BlockStore(tmp_path) as store:
        store.put("k", Block(np.array([0, 1]), rows, ()))
        found = store.get("k").rows
    assert found.shape == rows.shape
    assert np.array_equal(found.indices, rows.indices)
    assert np.array_equal(found.data, rows.data)


@pytest.mark.parametrize("cut", [1, 5, 16, 40])
def test_an_incomplete_record_at_the_end_is_cut_off_and_the_rest_kept(tmp_path, cut):
    with BlockStore(tmp_path) as store:
        store.put("first", block(1.0))
    whole = (tmp_path / "rows.bin").read_bytes()
    with BlockStore(tmp_path) as store:
        store.put("second", block(2.0))
    torn = (tmp_path / "rows.bin").read_bytes()[:-cut]
    (tmp_path / "rows.bin").write_bytes(torn)
    with BlockStore(tmp_path) as store:
        assert "first" in store
        assert "second" not in store
        store.put("second", block(2.0))
    with BlockStore(tmp_path) as store:
        assert same(store.get("second"), block(2.0))
    assert (tmp_path / "rows.bin").read_bytes()[: len(whole)] == whole


def test_a_record_with_a_flipped_bit_is_ignored(tmp_path):
    with BlockStore(tmp_path) as store:
        store.put("k", block(1.0))
    data = bytearray((tmp_path / "rows.bin").read_bytes())
    data[-3] ^= 1
    (tmp_path / "rows.bin").write_bytes(bytes(data))
    with BlockStore(tmp_path) as store:
        assert "k" not in store


def test_a_block_with_an_error_can_be_read_but_does_not_count_as_stored(tmp_path):
    with BlockStore(tmp_path) as store:
        store.put("k", block(1.0, status="error"))
        assert "k" not in store
        assert same(store.get("k"), block(1.0, status="error"))
        store.put("k", block(3.0))
        assert "k" in store
    with BlockStore(tmp_path) as store:
        assert same(store.get("k"), block(3.0))


def test_two_runs_cannot_write_one_folder(tmp_path):
    with BlockStore(tmp_path), pytest.raises(UsageError, match="in use by another run"):
        BlockStore(tmp_path)


def test_without_reuse_the_store_is_emptied(tmp_path):
    with BlockStore(tmp_path) as store:
        store.put("k", block(1.0))
    with BlockStore(tmp_path, reuse=False) as store:
        assert "k" not in store


def test_without_a_folder_nothing_is_stored():
    with BlockStore(None) as store:
        store.put("k", block(1.0))
        assert "k" not in store


@settings(max_examples=100)
@given(data=st.data())
def test_a_flipped_bit_costs_one_block_and_changes_none(tmp_path_factory, data):
    """Wherever the bit is: in the magic number, the length, the checksum or the rows."""
    folder = tmp_path_factory.mktemp("flipped")
    blocks = {f"k{number}": block(float(number)) for number in range(5)}
    with BlockStore(folder) as store:
        for key, one in blocks.items():
            store.put(key, one)
    path = folder / "rows.bin"
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    with BlockStore(folder) as store:
        lost = [key for key in blocks if key not in store]
        assert len(lost) == 1
        assert store.get(lost[0]) is None
        store.put(lost[0], blocks[lost[0]])
    with BlockStore(folder, write=False) as store:
        assert all(same(store.get(key), one) for key, one in blocks.items())


def test_a_record_with_an_absurd_length_is_passed_over(tmp_path):
    with BlockStore(tmp_path) as store:
        store.put("first", block(1.0))
        store.put("second", block(2.0))
    content = bytearray((tmp_path / "rows.bin").read_bytes())
    content[4:12] = b"\xff" * 8  # of the first record, after its magic number
    (tmp_path / "rows.bin").write_bytes(content)
    with BlockStore(tmp_path) as store:
        assert "first" not in store
        assert same(store.get("second"), block(2.0))


def test_a_block_that_is_damaged_while_the_store_is_open_is_not_used(tmp_path):
    with BlockStore(tmp_path) as store:
        store.put("k", block(1.0))
        content = bytearray((tmp_path / "rows.bin").read_bytes())
        content[-3] ^= 1
        (tmp_path / "rows.bin").write_bytes(content)
        assert store.get("k") is None
