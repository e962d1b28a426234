"""A finished run that is compared with another: what was changed since it was written is an error, not a result."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import corpus
from turnwise.cli.common.group import run
from turnwise.errors import DataError
from turnwise.metrics.rating import rating_metric
from turnwise.run.resume.finished_run import no_blocks, read_run, restored_rating


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    data = str(corpus(tmp_path / "logs.jsonl", 4))
    assert (
        run(["score", data, "-m", "length,bleu-2", "--draws", "100", "-q", "-o", str(tmp_path / "out")]) == 0
    )
    return tmp_path / "out"


def test_changed_items_are_an_error(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = finished / "items.jsonl"
    items.write_bytes(items.read_bytes().replace(b"good", b"goof", 1))
    with pytest.raises(DataError, match="another checksum"):
        read_run(finished)
    capsys.readouterr()
    assert run(["compare", str(finished), str(finished), "--agents", "good,poor"]) == 2
    assert "items.jsonl has another checksum than when it was written" in capsys.readouterr().err


def test_damaged_rows_are_an_error(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = finished / "rows.bin"
    content = bytearray(rows.read_bytes())
    content[-9] ^= 4
    rows.write_bytes(content)
    capsys.readouterr()
    assert run(["compare", str(finished), str(finished), "--agents", "good,poor"]) == 2
    assert "rows.bin lacks rows of" in capsys.readouterr().err


def test_a_run_of_an_earlier_version_has_no_checksum_and_is_read(finished: Path) -> None:
    parts = json.loads((finished / "rows.json").read_text())
    for part in parts.values():
        assert len(part.pop("items")) == 64
    (finished / "rows.json").write_text(json.dumps(parts))
    assert set(read_run(finished).parts) == {"length", "bleu-2"}


@pytest.mark.parametrize("stored", [True, False])
def test_which_ratings_are_good_is_stored_and_read_from_the_signature_only_in_runs_of_earlier_versions(
    stored: bool,
) -> None:
    rude: Any = rating_metric("rude", direction="lower")
    (part,) = no_blocks({"rating:rude": rude}).values()
    assert part.better == "lower"
    if stored:
        part.signature = "in other words"
    else:
        part.better = None
    restored: Any = restored_rating("rating:rude", part)
    assert restored.higher_is_better is False


def test_runs_in_which_nothing_was_scored_are_compared_with_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The only reply has no context, which the metric needs."""
    (tmp_path / "logs.jsonl").write_text('{"messages": [{"role": "assistant", "content": "Hello."}]}\n')
    out = str(tmp_path / "out")
    assert run(["score", str(tmp_path / "logs.jsonl"), "-m", "repeat-external-2", "-q", "-o", out]) == 3
    capsys.readouterr()
    assert run(["compare", out, out]) == 3
    assert "skipped: " in capsys.readouterr().err
