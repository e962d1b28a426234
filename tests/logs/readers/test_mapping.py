"""A mapping file has the options of a conversion, and is replaced as a whole or not at all."""

from pathlib import Path

import pytest

from turnwise.errors import UsageError
from turnwise.logs.readers.mapping import load, save

OPTIONS = {"from": "csv", "map": "id=case,rating:ok[0-1]=“ok”", "roles": "Bot=assistant,*=user"}


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    path = str(tmp_path / "team.toml")
    save(path, OPTIONS)
    assert load(path) == OPTIONS


def test_a_mapping_that_cannot_be_written_leaves_the_last_one_and_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "no space left on device")

    path = tmp_path / "team.toml"
    save(str(path), OPTIONS)
    monkeypatch.setattr("turnwise.logs.files.os.fsync", full)
    with pytest.raises(UsageError, match=r"cannot write .*team\.toml: no space"):
        save(str(path), {"from": "jsonl"})
    assert [one.name for one in tmp_path.iterdir()] == ["team.toml"]
    assert load(str(path)) == OPTIONS
