"""The ```console blocks of a page: each `$ ` line is run, in one folder a page, and compared with what is shown.

`...` in what is shown stands for anything. `python -m tests.console PAGE...` writes what comes out into the page.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
HEREDOC = re.compile(r"<<\s*'?(\w+)'?")


@dataclass(frozen=True)
class Example:
    command: str  # as typed, without the prompt
    shown: str


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def examples(block: str) -> Iterator[Example]:
    lines = block.splitlines()
    at = 0
    while at < len(lines):
        command = [lines[at].removeprefix("$ ")]
        at += 1
        while command[-1].endswith("\\"):
            command.append(lines[at])
            at += 1
        if end := HEREDOC.search(command[0]):
            while command[-1] != end[1]:
                command.append(lines[at])
                at += 1
        shown = []
        while at < len(lines) and not lines[at].startswith("$ "):
            shown.append(lines[at])
            at += 1
        yield Example("\n".join(command), "\n".join(shown).rstrip())


def output(example: Example, folder: Path) -> str:
    """What a person sees: both streams, as they come."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", example.command],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout.rstrip()


def matches(shown: str, came: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in shown.split("..."))
    return re.fullmatch(pattern, came, re.DOTALL) is not None


def rewrite(page: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:

        def filled(block: re.Match[str]) -> str:
            parts = []
            for example in examples(block[1]):
                came = output(example, Path(folder))
                kept = "..." in example.shown and matches(example.shown, came)
                parts.append(
                    "\n".join(filter(None, [f"$ {example.command}", example.shown if kept else came]))
                )
            return "```console\n" + "\n".join(parts) + "\n```"

        page.write_text(BLOCK.sub(filled, page.read_text()))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite(Path(name))
