"""The journal of a run in parts: what is whole survives, what is torn does not, and another run's is not taken up."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.errors import DataError, UsageError
from turnwise.run.resume.progress_journal import Journal


def interrupted(path: Path, key: str, values: dict[int, object]) -> None:
    with suppress(KeyboardInterrupt), Journal(path, key) as journal:
        for part, value in values.items():
            journal.put(part, value)
        raise KeyboardInterrupt


def read(path: Path, key: str) -> dict[int, object]:
    found = {}
    with suppress(KeyboardInterrupt), Journal(path, key) as journal:
        found = {part: journal.get(part) for part in range(10) if part in journal}
        raise KeyboardInterrupt
    return found


def test_parts_are_kept_after_an_interruption_and_the_last_value_of_a_part_counts(tmp_path):
    path = tmp_path / "j"
    interrupted(path, "k", {0: ["a"], 1: {"b": 2}})
    interrupted(path, "k", {1: "again"})
    assert read(path, "k") == {0: ["a"], 1: "again"}


def test_the_journal_is_deleted_when_a_run_completes(tmp_path):
    with Journal(tmp_path / "j", "k") as journal:
        journal.put(0, 1)
        assert journal.get(0) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_parts_of_another_run_are_not_reused(tmp_path):
    interrupted(tmp_path / "j", "k", {0: "mine"})
    assert read(tmp_path / "j", "other") == {}


def test_without_a_path_parts_are_kept_in_memory(tmp_path):
    with Journal(None, "k") as journal:
        journal.put(3, "x")
        assert (3 in journal, journal.get(3), len(journal)) == (True, "x", 1)


def test_two_runs_cannot_write_one_journal(tmp_path):
    with Journal(tmp_path / "j", "k"), pytest.raises(UsageError, match="in use by another run"):
        Journal(tmp_path / "j", "k")


@settings(max_examples=30)
@given(cut=st.integers(0, 200))
def test_a_journal_cut_at_any_byte_keeps_exactly_the_complete_parts(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("cut") / "j"
    values = {part: f"value {part} é" for part in range(4)}
    interrupted(path, "k", values)
    data = path.read_bytes()[:cut]
    path.write_bytes(data)
    whole = max(0, data.count(b"\n") - 1)  # of which the first is the key
    assert read(path, "k") == {part: values[part] for part in range(whole)}


@settings(max_examples=60)
@given(data=st.data())
def test_a_flipped_bit_costs_the_parts_that_it_damages_and_no_other(tmp_path_factory, data):
    """Wherever the bit is: in a value, a number, a checksum, a line end or the first line."""
    path = tmp_path_factory.mktemp("flipped") / "j"
    values = {part: {"said": f"reply {part}", "score": part / 7} for part in range(6)}
    interrupted(path, "k", values)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    found = read(path, "k")
    assert found == {
        part: values[part] for part in found
    }  # a value that is found is the one that was written
    assert len(found) >= 4  # a flipped line end damages two lines
    interrupted(path, "k", {part: value for part, value in values.items() if part not in found})
    assert read(path, "k") == values


def test_a_journal_without_checksums_starts_empty(tmp_path):
    path = tmp_path / "j"
    path.write_text('{"key":"k"}\n{"part":0,"value":"old"}\n')
    assert read(path, "k") == {}
    interrupted(path, "k", {0: "new"})
    assert read(path, "k") == {0: "new"}


def test_a_part_that_is_damaged_while_the_journal_is_open_is_an_error(tmp_path):
    path = tmp_path / "j"
    with suppress(KeyboardInterrupt), Journal(path, "k") as journal:
        journal.put(0, "reply")
        path.write_bytes(path.read_bytes().replace(b"reply", b"repli"))
        with pytest.raises(DataError, match="damaged during the run"):
            journal.get(0)
        raise KeyboardInterrupt


def test_new_parts_do_not_replace_those_after_a_damaged_one(tmp_path):
    path = tmp_path / "j"
    interrupted(path, "k", {0: "a", 1: "b", 2: "c"})
    path.write_bytes(path.read_bytes().replace(b'"b"', b'"x"'))
    with suppress(KeyboardInterrupt), Journal(path, "k") as journal:
        assert journal.parts == [0, 2]
        raise KeyboardInterrupt
