"""`turnwise view` as a command: it prints its link, serves, and ends when it is interrupted."""

import signal
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.corpus import corpus

pytest.importorskip("uvicorn", reason="the extra `web` is absent")


def test_the_viewer_serves_until_it_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TURNWISE_CACHE", str(tmp_path / "cache"))
    corpus(tmp_path / "logs.jsonl", 4)
    command = [sys.executable, "-m", "turnwise", "view", "logs.jsonl", "--port", "0", "--no-open"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            link = server.stdout.readline().strip()
            with urlopen(link) as answer:
                assert "12 of 12 dialogues" in answer.read().decode()
            with pytest.raises(HTTPError, match="404"):
                urlopen(link[:-1])
        finally:
            server.send_signal(signal.SIGINT)
        _, said = server.communicate()
    assert server.returncode == 0
    assert said == "12 dialogues; Ctrl-C ends\n"
