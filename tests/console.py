"""Run the fenced blocks of documentation pages, in the order of the page and in one folder per page.

* ```console: each `$ ` line is run and its output compared with the page; `...` on the page matches anything.
* ```python is run; a block that defines tests is run by pytest.
* ```sh: each command is run on small replacements of a reader's data and models (stand_ins.py).
* ```json is a dialogue, ```toml the settings of a study, ```yaml a workflow.

`python -m tests.console PAGE...` updates the output of console blocks in the page. With `--check` nothing changes: it
runs console and python blocks with the packages of this Python, and ends with 1 if one prints something else.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from threading import Timer

from tests import user_variables
from tests.warm_start import warm_path
from tools.written import write

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
HEREDOC = re.compile(r"<<\s*'?(\w+)'?")
SERVER = re.compile(r"timeout -s INT \d+ (turnwise .*)")  # a command that would not end by itself
LONGEST = 300  # seconds after which a server that prints less than the page shows is killed


@dataclass(frozen=True)
class Example:
    command: str  # as typed, without the prompt
    shown: str


@dataclass(frozen=True)
class Fence:
    kind: str  # console, python, sh, ...; "" if the page names none
    text: str
    line: int  # number in the page


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def fences(page: Path) -> list[Fence]:
    text = page.read_text()
    return [Fence(one[1], one[2], text.count("\n", 0, one.start()) + 1) for one in FENCE.finditer(text)]


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


def _environment(*, warm: bool = True) -> dict[str, str]:
    """The environment of commands: the programs of this Python come first, and a terminal has 80 columns.

    `turnwise` is the one that starts quickly, unless the process itself matters.
    """
    first = [warm_path()] if warm else []
    path = os.pathsep.join([*filter(None, first), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "COLUMNS": "80"}


def run(command: str, folder: Path, **environment: str) -> tuple[int, str]:
    """Run a command; returns the exit code and the merged output of both streams."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**_environment(), **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.rstrip()


def _wait_for_answer(text: str) -> None:
    """Wait until the server whose address is in the text answers a request: it then handles interrupts itself."""
    if address := re.search(r"http://(127\.0\.0\.1:\d+)", text):
        connection = HTTPConnection(address[1], timeout=LONGEST)
        connection.request("GET", "/")
        connection.getresponse().read()
        connection.close()


def output(example: Example, folder: Path) -> str:
    """What the command prints. A server is interrupted when it has printed what the page shows, and answers."""
    server = SERVER.fullmatch(example.command)
    if server is None or not example.shown:
        return run(example.command, folder)[1]
    process = subprocess.Popen(
        ["bash", "-c", f"exec {server[1]}"],
        cwd=folder,
        env=_environment(warm=False),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        watchdog = Timer(LONGEST, process.kill)
        watchdog.start()
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in example.shown.splitlines()]
        _wait_for_answer("".join(lines))
        process.send_signal(signal.SIGINT)
        lines.append(process.stdout.read())
        watchdog.cancel()
    return "".join(lines).rstrip()


def run_python(code: str, folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Run a Python block as a script, or with pytest if it defines tests."""
    tests = "def test_" in code
    file = folder / ("test_of_the_page.py" if tests else "page.py")
    file.write_text(code)
    how = "-m pytest -q -p no:cacheprovider" if tests else "-W error"
    return run(f"python {how} {file.name}", folder, **environment)


def matches(shown: str, actual: str) -> bool:
    """Whether an output matches what a page shows."""
    pattern = ".*".join(re.escape(part) for part in shown.split("..."))
    return re.fullmatch(pattern, actual, re.DOTALL) is not None


def rewrite(page: Path) -> None:
    """Update the output of the console blocks of a page; its Python blocks are run in between."""
    with tempfile.TemporaryDirectory() as folder:

        def filled(block: re.Match[str]) -> str:
            if block[1] == "python":
                run_python(block[2], Path(folder), {})
            if block[1] != "console":
                return block[0]
            parts = []
            for example in examples(block[2]):
                actual = output(example, Path(folder))
                kept = "..." in example.shown and matches(example.shown, actual)
                parts.append(
                    "\n".join(filter(None, [f"$ {example.command}", example.shown if kept else actual]))
                )
            return "```console\n" + "\n".join(parts) + "\n```"

        write(page, FENCE.sub(filled, page.read_text()))


def differences(page: Path) -> Iterator[str]:
    """Where the console and python blocks of a page do not do what the page shows; tests need pytest here."""
    has_pytest = find_spec("pytest") is not None
    with tempfile.TemporaryDirectory() as folder:
        for fence in fences(page):
            place = f"{page.name}:{fence.line}"
            if fence.kind == "console":
                for example in examples(fence.text):
                    actual = output(example, Path(folder))
                    if not matches(example.shown, actual):
                        yield f"{place}\n$ {example.command}\n{actual}"
            elif fence.kind == "python" and (has_pytest or "def test_" not in fence.text):
                status, actual = run_python(fence.text, Path(folder), {})
                if status:
                    yield f"{place}\n{actual}"


if __name__ == "__main__":
    user_variables.forget()
    if sys.argv[1] == "--check":
        sys.exit("\n\n".join(chain.from_iterable(differences(Path(name)) for name in sys.argv[2:])) or 0)
    for name in sys.argv[1:]:
        rewrite(Path(name))
