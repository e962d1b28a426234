"""What is published: a wheel and a source archive. `tools/test_installs.py` installs the wheel and tries it."""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import turnwise

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("release")]  # one build for all processes


def ran(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive."""
    folder = tmp_path_factory.mktemp("dist")
    ran(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=ROOT)
    return folder


def test_the_version_is_the_same_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert turnwise.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {version} (" in (ROOT / "CHANGELOG.md").read_text()


def test_the_wheel_contains_only_the_package_and_its_data(built: Path):
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "turnwise/data/demo.jsonl" in names
    assert "turnwise/py.typed" in names
    assert any(name.startswith("turnwise/data/models/") for name in names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"turnwise"}
    assert wheel.stat().st_size < 30e6


def test_the_source_archive_builds_the_same_package(built: Path, tmp_path: Path):
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    ran(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "again", cwd=folder)
    first, again = (zipfile.ZipFile(next(place.glob("*.whl"))) for place in (built, tmp_path / "again"))
    assert first.namelist() == again.namelist()
