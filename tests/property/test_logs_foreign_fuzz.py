"""Whatever stands in a file, it is named or left to the native reader, and sniffing never fails."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.errors import DataError, Problem, UsageError
from turnwise.logs.foreign import foreign, recognised
from turnwise.logs.readers import READERS

KEYS = (
    "messages", "conversation", "conversations", "turns", "dialog", "dialogue_id", "utterance", "mapping", "events",
    "sender_id", "role", "content", "type", "text", "chosen", "rejected", "simulations", "info", "traj", "results",
    "attributes", "context", "responses", "fact", "annotations", "system", "input", "output", "id", "data", "object",
)  # fmt: skip
values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4) | st.sampled_from(KEYS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def named(path: Path) -> None:
    """The file is recognised, or the user is told what it is."""
    problem = foreign(str(path))
    assert problem is None or isinstance(problem, Problem)
    try:
        found = recognised(str(path), str(path))
    except (DataError, UsageError) as error:
        found = str(error).partition(":")[0]
    assert found in (*READERS, str(path))


@given(
    records=st.lists(values, min_size=1, max_size=3), indent=st.sampled_from([None, 1]), is_list=st.booleans()
)
@settings(deadline=None, max_examples=150)
def test_json_with_the_keys_of_readers(
    folder: Path, records: list[Any], indent: int | None, is_list: bool
) -> None:
    path = folder / "in.json"
    lines = "\n".join(json.dumps(one, indent=indent) for one in records)
    path.write_text(json.dumps(records, indent=indent) if is_list else lines)
    named(path)


@given(content=st.binary(max_size=60) | st.text(alphabet='id,;|\t\n"{}[]:a1 \\', max_size=60).map(str.encode))
@settings(deadline=None, max_examples=150)
def test_any_bytes(folder: Path, content: bytes) -> None:
    path = folder / "in.txt"
    path.write_bytes(content)
    named(path)
