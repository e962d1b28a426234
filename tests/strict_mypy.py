"""Run mypy in strict mode on files of a user, as if the package were installed."""

import subprocess
import sys
from pathlib import Path

import turnwise

SOURCE = Path(turnwise.__file__).parents[1]
# Packages whose types a user of turnwise does not see; reading them takes most of mypy's time.
UNSEEN = (
    "torch",
    "transformers",
    "ray",
    "scipy",
    "huggingface_hub",
    "polars",
    "matplotlib",
    "hypothesis",
    "fastapi",
    "pydantic",
)


def errors(folder: Path, *files: str) -> list[str]:
    """The errors in these files of `folder`; a second call is quick, because the package is in the folder's cache."""
    # The package is found as an installed one is, and its own errors are not reported.
    unseen = ",".join(f"{name}.*" for name in UNSEEN)
    (folder / "mypy.ini").write_text(
        f"[mypy]\nmypy_path = {SOURCE}\n[mypy-turnwise.*]\nfollow_imports = silent\n"
        f"[mypy-{unseen}]\nfollow_imports = skip\nfollow_imports_for_stubs = true\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", *files]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=540)
    return [line for line in done.stdout.splitlines() if ": error: " in line] + done.stderr.splitlines()
