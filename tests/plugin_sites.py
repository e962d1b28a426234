"""Packages of plugins that tests install into a folder, and commands that are run with them."""

import os
import subprocess
import sys
from pathlib import Path

import turnwise
from tests.warm_start import warm_path


def install(site: Path, package: str, points: str, *, version: str = "1.0") -> None:
    """Write the metadata of a package with these entry points."""
    info = site / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(points)


def run(site: Path, *args: str, warm: bool = True) -> tuple[int, str, list[str]]:
    """The exit code, standard output and the lines of standard error of one command.

    With `warm` it is forked from a process that has imported torch already.
    """
    paths = [str(site), str(Path(turnwise.__file__).parent.parent)]
    done = subprocess.run(
        [Path((warm_path() if warm else None) or Path(sys.executable).parent) / "turnwise", *args],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        cwd=site,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr.splitlines()
