"""Files as other tools wrote them, beside the corpora; tests that need them are skipped where they are absent."""

from pathlib import Path

import pytest

from tests.conftest import CORPORA
from turnwise.logs import native
from turnwise.logs.conversion import Converted, convert
from turnwise.logs.readers.source import Options

WILD = CORPORA.parent / "wild"
needs_wild = pytest.mark.skipif(
    not WILD.is_dir(), reason="real log files absent: they lie beside the corpora"
)


def converted(name: str, tmp_path: Path, options: Options | None = None) -> Converted:
    """The conversion of a file, whose target has as many dialogues as it says."""
    out = tmp_path / "out.jsonl"
    found = convert(None, str(WILD / name), str(out), options)
    assert sum(1 for _ in native.read(str(out))) == found.n_dialogues
    return found
