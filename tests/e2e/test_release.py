"""What is published: a wheel and a source archive that install into an empty environment and work there."""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import turnwise

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("release")  # one build and one environment for all processes


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


def test_the_wheel_works_without_extras_and_names_missing_ones(built: Path, tmp_path: Path):
    """Core dependencies only: those of this environment, with everything else hidden."""
    (wheel,) = built.glob("*.whl")
    site = tmp_path / "site"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--disable-pip-version-check",
    ]
    ran(*pip, "--target", site, wheel, cwd=tmp_path)
    code = """
import sys
sys.path.insert(0, sys.argv[1])
HIDDEN = ("torch", "transformers", "starlette", "ray", "pyarrow", "polars", "psycopg")
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
import turnwise as tw
from importlib.resources import files
assert tw.__file__.startswith(sys.argv[1]), tw.__file__
demo = str(files("turnwise.data") / "demo.jsonl")
print(tw.score(demo, metrics="bleu-4", draws=100))
from turnwise.cli.common.group import run
sys.exit(run(["score", demo, "-m", "bertscore"]) * 10 + run(["rate", demo]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(site)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "bleu-4" in done.stdout, done.stderr
    assert done.returncode != 0
    assert "turnwise[neural]" in done.stderr
    assert "turnwise[web]" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def empty(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment in which nothing but the wheel was asked for."""
    folder = tmp_path_factory.mktemp("empty")
    ran(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    pip = [folder / "venv" / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "-q"]
    probe = [*pip, "download", "--no-deps", "-d", folder / "probe", "-c", ROOT / "constraints.txt", "msgspec"]
    if subprocess.run([str(part) for part in probe], cwd=folder, capture_output=True, check=False).returncode:
        pytest.skip("no package registry answers")
    (wheel,) = built.glob("*.whl")
    ran(*pip, "install", "-c", ROOT / "constraints.txt", wheel, cwd=folder)
    return folder / "venv" / "bin"


def test_the_wheel_installs_into_an_empty_environment_with_its_core_alone(empty: Path, tmp_path: Path):
    there = {line.split("==")[0].lower() for line in ran(empty / "pip", "freeze", cwd=tmp_path).splitlines()}
    assert {"numpy", "scipy", "msgspec", "click", "sacrebleu", "rapidfuzz"} <= there
    assert there.isdisjoint({"torch", "transformers", "starlette", "uvicorn", "ray", "pyarrow", "pytest"})
    assert "Usage: turnwise COMMAND" in ran(empty / "turnwise", "--help", cwd=tmp_path)
    code = "import sys, turnwise; print(turnwise.__version__, 'numpy' in sys.modules)"
    assert ran(empty / "python", "-c", code, cwd=tmp_path).split()[1] == "False"
    ran(empty / "turnwise", "demo", "--corpus", "-o", "demo", cwd=tmp_path)
    assert "rouge-l" in ran(empty / "turnwise", "score", "demo/demo.jsonl", "-m", "rouge-l", cwd=tmp_path)
    assert "<svg" in ran(empty / "python", "-c", REPORT, cwd=tmp_path)


REPORT = """
import turnwise as tw
print(tw.meta_evaluate("demo/demo.jsonl", metrics="rouge-l", statistics="spearman")._repr_html_())
"""


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("score", "demo/demo.jsonl", "-m", "bertscore"), "neural"),
        (("rate", "demo/demo.jsonl"), "web"),
        (("convert", "--from", "parquet", "demo/x.parquet", "out.jsonl"), "tables"),
        (("score", "demo/demo.jsonl", "-m", "length", "--on", "ray"), "cluster"),
    ],
    ids=["neural", "web", "tables", "cluster"],
)
def test_missing_extras_are_named_in_an_empty_environment(
    empty: Path, tmp_path: Path, words: tuple[str, ...], extra: str
):
    ran(empty / "turnwise", "demo", "--corpus", "-o", "demo", cwd=tmp_path)
    (tmp_path / "demo" / "x.parquet").write_bytes(b"PAR1")
    done = subprocess.run(
        [str(empty / "turnwise"), *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert f"pip install 'turnwise[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr
