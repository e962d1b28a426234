"""Tiny models for the whole run, and a cache folder for each test."""

from pathlib import Path

import pytest
from tiny_models import write_bert, write_llama


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    return write_bert(tmp_path_factory.mktemp("models") / "tinybert")


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    return write_llama(tmp_path_factory.mktemp("models") / "tinyllama")


@pytest.fixture(scope="session")
def chat_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    return write_llama(tmp_path_factory.mktemp("models") / "chatllama", chat=True)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of turnwise's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TURNWISE_CACHE", str(folder))
    monkeypatch.delenv("TURNWISE_WEIGHTS", raising=False)
    return folder
