"""Shared fixtures. Real corpora are outside of the repository; tests that need them are skipped without them."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tiny_models import write_bert, write_llama

from tests import user_variables

settings.register_profile("turnwise", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("turnwise")

# Commands that tests start would compile every module again: .35 s each, a third of a short command.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

user_variables.forget()
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
CORPORA = user_variables.corpora()


@pytest.fixture
def corpora() -> Path:
    if not CORPORA.is_dir():
        pytest.skip("real corpora absent: set TURNWISE_DATA to their folder")
    return CORPORA


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The system's Chromium, driven by Playwright; tests that need it are skipped without either."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is absent: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip("no chromium is installed (Debian: chromium)")
    with playwright.sync_playwright() as driver:
        flags = ["--no-sandbox"] if os.getuid() == 0 else []
        found = driver.chromium.launch(executable_path=CHROMIUM, args=flags, timeout=180_000)
        yield found
        found.close()


@pytest.fixture(autouse=True)
def modules_of_the_test_are_removed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Remove modules that a test wrote and imported, so that another test can write one of the same name."""
    modules, path = set(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    place = str(tmp_path_factory.getbasetemp())
    for name in set(sys.modules) - modules:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(place):
            del sys.modules[name]


@pytest.fixture(scope="session")
def typed_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for scripts that mypy checks; its cache is valid in this folder only."""
    return tmp_path_factory.mktemp("typed")


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
    """The folder of an empty cache."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TURNWISE_CACHE", str(folder))
    monkeypatch.delenv("TURNWISE_WEIGHTS", raising=False)
    return folder
