"""The draft of a conversion: a resumed one goes on from bytes that are as they were written, or begins anew."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.logs.draft import Draft, State

LINES = [f'{{"id": "{number}"}}'.encode() for number in range(20)]


def interrupted(target: str) -> None:
    """A conversion that is stopped after its journal says that all lines are written."""
    with suppress(KeyboardInterrupt), Draft(target, "k") as draft:
        for line in LINES[:12]:
            draft.write(line)
        draft.save(State("k", 12))
        for line in LINES[12:]:
            draft.write(line)
        draft.save(State("k", len(LINES), dropped={"a": 1}))
        raise KeyboardInterrupt


def kept(target: str) -> list[bytes]:
    """The lines that another conversion takes over, which is stopped in its turn."""
    found: list[bytes] = []
    with suppress(KeyboardInterrupt), Draft(target, "k") as draft:
        found = list(draft.written())
        raise KeyboardInterrupt
    return found


def test_a_draft_is_taken_over_whole(tmp_path: Path) -> None:
    interrupted(str(tmp_path / "out.jsonl"))
    assert [line.rstrip(b"\n") for line in kept(str(tmp_path / "out.jsonl"))] == LINES


@settings(max_examples=60)
@given(data=st.data())
@pytest.mark.parametrize("name", [".out.jsonl.draft", ".out.jsonl.journal"])
def test_no_flipped_bit_of_draft_or_journal_is_used(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("draft")
    interrupted(str(folder / "out.jsonl"))
    content = bytearray((folder / name).read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    (folder / name).write_bytes(content)
    assert kept(str(folder / "out.jsonl")) == []
