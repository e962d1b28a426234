import multiprocessing
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from turnwise.encode.cache.disk import Cache
from turnwise.encode.cache.shared import Segments
from turnwise.errors import UsageError


def vectors_of(texts: list[str]) -> list[np.ndarray]:
    """A pretend encoder: a vector that only its text can have."""
    return [
        np.random.default_rng(len(text) + sum(map(ord, text))).random(8, dtype=np.float32) for text in texts
    ]


def ask(cache: Cache, texts: list[str], calls: list[str] | None = None) -> np.ndarray:
    def make(indices: list[int]) -> list[np.ndarray]:
        chosen = [texts[index] for index in indices]
        if calls is not None:
            calls.extend(chosen)
        return vectors_of(chosen)

    return np.array(cache.remember("enc|v:1", [(text,) for text in texts], make))


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "deep" / "v.sqlite", limit=10**8)


def test_what_is_kept_is_not_made_again_and_equal_texts_are_made_once(cache: Cache) -> None:
    calls: list[str] = []
    first = ask(cache, ["b", "a", "b", "c"], calls)
    second = ask(cache, ["c", "d", "a", "b"], calls)
    assert calls == ["b", "a", "c", "d"]
    np.testing.assert_array_equal(first, vectors_of(["b", "a", "b", "c"]))
    np.testing.assert_array_equal(second, vectors_of(["c", "d", "a", "b"]))


def test_a_name_of_two_parts_is_not_their_sum(cache: Cache) -> None:
    names = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", "")]
    found = cache.remember(
        "s", names, lambda indices: [np.array([index], dtype=np.float64) for index in indices]
    )
    assert [int(row[0]) for row in found] == [0, 1, 2, 3]


def test_spaces_do_not_see_each_other(cache: Cache) -> None:
    cache.remember("one", [("a",)], lambda _: [np.zeros(2)])
    (found,) = cache.remember("two", [("a",)], lambda _: [np.ones(2)])
    assert found.tolist() == [1, 1]
    assert cache.stats().spaces == {"one": 1, "two": 1}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(5,), (3, 4), (0, 4), (0,)])
def test_arrays_come_back_as_they_went(cache: Cache, dtype: str, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).random(shape).astype(dtype)
    array[:1] = np.nan
    cache.write("s", {b"k": array})
    found = cache.read("s", [b"k"])[b"k"]
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_a_damaged_value_is_dropped_and_made_again(cache: Cache, caplog: pytest.LogCaptureFixture) -> None:
    texts = [f"text {number}" for number in range(50)]
    expected = ask(cache, texts)
    with sqlite3.connect(cache.path) as base:
        value, number = base.execute("SELECT value, id FROM entries WHERE id = 7").fetchone()
        broken = value[:20] + bytes([value[20] ^ 1]) + value[21:]
        base.execute("UPDATE entries SET value = ? WHERE id = ?", (broken, number))
    base.close()
    calls: list[str] = []
    np.testing.assert_array_equal(ask(cache, texts, calls), expected)
    assert calls == ["text 6"]
    assert "1 damaged" in caplog.text
    assert ask(cache, texts, calls).shape == (50, 8)
    assert calls == ["text 6"]


@pytest.mark.parametrize("place", ["head", "middle"])
def test_a_damaged_file_is_set_aside_and_a_new_one_begun(
    cache: Cache, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    texts = [f"text {number}" for number in range(500)]
    expected = ask(cache, texts)
    with sqlite3.connect(cache.path) as base:
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    base.close()
    data = bytearray(cache.path.read_bytes())
    if place == "head":
        data[:100] = b"x" * 100
    else:
        data[8192:] = b"\xff" * (len(data) - 8192)
    cache.path.write_bytes(data)
    np.testing.assert_array_equal(ask(cache, texts), expected)
    assert "damaged" in caplog.text
    calls: list[str] = []
    np.testing.assert_array_equal(ask(cache, texts, calls), expected)
    assert calls == []


def test_the_limit_holds_and_the_least_recently_used_space_goes_first(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "v.sqlite", limit=2_000_000)
    names = [(str(number),) for number in range(300)]

    def kilobyte(indices: list[int]) -> list[np.ndarray]:
        return [np.full(250, index, dtype=np.float32) for index in indices]

    for space in ("old", "kept"):
        cache.remember(space, names, kilobyte)
    with sqlite3.connect(cache.path) as base:
        base.execute("UPDATE spaces SET used = used - 100000 WHERE name = 'old'")
    base.close()
    for number in range(8):
        cache.remember(f"new {number}", names, kilobyte)
        assert cache.stats().size <= cache.limit
    spaces = cache.stats().spaces
    assert spaces["old"] == 0
    assert spaces["new 7"] == 300
    on_disk = cache.path.stat().st_size
    assert on_disk < 1.5 * cache.limit


def test_a_cache_that_cannot_be_written_is_a_warning_and_the_numbers_are_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "v.sqlite", limit=10**8)  # its folder is a file
    np.testing.assert_array_equal(ask(cache, ["a", "b"]), vectors_of(["a", "b"]))
    assert "is not used" in caplog.text


def _fill(path: str, start: int) -> list[float]:
    texts = [f"text {number % 400}" for number in range(start, start + 400)]
    return ask(Cache(Path(path), limit=10**8), texts).ravel().tolist()


def test_processes_that_write_at_once_lose_and_mix_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "v.sqlite")
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        results = pool.starmap(_fill, [(path, start) for start in (0, 100, 200, 0, 300, 50)], chunksize=1)
    for start, found in zip((0, 100, 200, 0, 300, 50), results, strict=True):
        expected = vectors_of([f"text {number % 400}" for number in range(start, start + 400)])
        np.testing.assert_array_equal(np.array(found, dtype=np.float32), np.ravel(expected))
    calls: list[str] = []
    ask(Cache(Path(path), limit=10**8), [f"text {number}" for number in range(400)], calls)
    assert calls == []


def test_the_stats_of_no_cache_are_nothing_and_make_none(cache: Cache) -> None:
    assert cache.stats().spaces == {}
    assert not cache.path.exists()


def test_a_limit_that_is_no_number_is_a_users_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWISE_CACHE_LIMIT", "much")
    with pytest.raises(UsageError, match="number of bytes"):
        Cache()


def _share(folder: str, number: int, start: int) -> list[float]:
    cache = Cache(Path(folder) / f"machine{number}.sqlite", 10**8, Segments(Path(folder) / "shared"))
    return ask(cache, [f"text {place % 400}" for place in range(start, start + 400)]).ravel().tolist()


def test_machines_that_share_storage_make_what_none_of_them_has_and_mix_nothing(tmp_path: Path) -> None:
    starts = (0, 100, 200, 300, 0, 350)
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        tasks = [(str(tmp_path), number, start) for number, start in enumerate(starts)]
        results = pool.starmap(_share, tasks, chunksize=1)
    for start, found in zip(starts, results, strict=True):
        expected = vectors_of([f"text {place % 400}" for place in range(start, start + 400)])
        np.testing.assert_array_equal(np.array(found, dtype=np.float32), np.ravel(expected))
    calls: list[str] = []
    fresh = Cache(tmp_path / "another.sqlite", 10**8, Segments(tmp_path / "shared"))
    ask(fresh, [f"text {number}" for number in range(400)], calls)
    assert calls == []
    alone = Cache(tmp_path / "another.sqlite", 10**8)
    ask(alone, [f"text {number}" for number in range(400)], calls)
    assert calls == []  # what was found there is kept here


def test_a_damaged_or_half_written_segment_is_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = [f"text {number}" for number in range(20)]
    shared = tmp_path / "shared"
    expected = ask(Cache(tmp_path / "a.sqlite", 10**8, Segments(shared)), texts)
    (segment,) = shared.rglob("*.seg")
    data = segment.read_bytes()
    segment.with_name("torn.tmp").write_bytes(data[:50])
    segment.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))  # the last value
    calls: list[str] = []
    np.testing.assert_array_equal(
        ask(Cache(tmp_path / "b.sqlite", 10**8, Segments(shared)), texts, calls), expected
    )
    assert calls == ["text 19"]
    segment.write_bytes(data[:40])
    np.testing.assert_array_equal(ask(Cache(tmp_path / "c.sqlite", 10**8, Segments(shared)), texts), expected)
    assert "damaged and passed over" in caplog.text


def test_what_is_known_is_read_without_looking_around_and_what_was_deleted_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = Segments(tmp_path), Segments(tmp_path)
    one.write("s", {b"a" * 16: b"A"})
    assert two.read("s", [b"a" * 16]) == {b"a" * 16: b"A"}
    looks: list[str] = []
    true = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: looks.append(str(path)) or true(path))
    assert two.read("s", [b"a" * 16]) == {b"a" * 16: b"A"}
    assert looks == []
    (segment,) = tmp_path.rglob("*.seg")
    segment.unlink()
    looks.clear()
    assert two.read("s", [b"a" * 16]) == {}
    one.write("s", {b"a" * 16: b"A"})  # by whoever made it again
    assert two.read("s", [b"a" * 16]) == {b"a" * 16: b"A"}


def test_a_shared_folder_is_named_by_the_environment_and_its_loss_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TURNWISE_SHARED_CACHE", str(tmp_path / "file" / "inside"))
    np.testing.assert_array_equal(
        ask(Cache(tmp_path / "v.sqlite", 10**8), ["a", "b"]), vectors_of(["a", "b"])
    )
    assert "is not used" in caplog.text


def test_no_flipped_bit_of_the_file_changes_a_vector(tmp_path: Path) -> None:
    """In a value, a key, a checksum, the layout, or an index that leads from a text to the vector of another."""
    cache = Cache(tmp_path / "v.sqlite", limit=2**30, shared=None)
    texts = [f"text {number}" for number in range(60)]
    expected = ask(cache, texts)
    with closing(sqlite3.connect(cache.path)) as base:
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = cache.path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(250):
        flipped = bytearray(content)
        flipped[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        for left in tmp_path.iterdir():
            left.unlink()
        cache.path.write_bytes(flipped)
        np.testing.assert_array_equal(ask(cache, texts), expected)
        assert cache.stats().limit == 2**30


def test_a_vector_is_not_found_under_the_key_of_another_text(cache: Cache) -> None:
    """As after damage to the index of the file, which leads from the key of one text to the row of another."""
    texts = ["one", "two"]
    expected = ask(cache, texts)
    with closing(sqlite3.connect(cache.path)) as base, base:
        rows = base.execute("SELECT id, value, sum FROM entries ORDER BY id").fetchall()
        for (number, _, _), (_, value, checksum) in zip(rows, reversed(rows), strict=True):
            base.execute("UPDATE entries SET value = ?, sum = ? WHERE id = ?", (value, checksum, number))
    calls: list[str] = []
    np.testing.assert_array_equal(ask(cache, texts, calls), expected)
    assert calls == texts
