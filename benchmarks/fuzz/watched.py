"""Runs one command line in this process and watches it: exit code, traceback, processor time and memory."""

import contextlib
import io
import json
import re
import resource
import signal
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from turnwise.cli.common.group import run

CODES = frozenset({0, 1, 2, 3, 4})  # 70 is a defect
SECONDS = 5.0  # of processor time, beyond which a command counts as hanging
MEMORY = 2**30  # bytes that a command may add to the process
_SAVED = re.compile(r"traceback: (.*)\n")
_SIZES = re.compile(rb"(VmHWM|VmRSS):\s+(\d+)")
_LITTLE = (
    2**26
)  # bytes by which the peak may be above the present memory; so much less is noticed of a command
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # what no text of a file may bring to a terminal


class Hanging(BaseException):
    """The command has used more processor time than it may."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one command line did; `problem` is empty if nothing is wrong."""

    code: int
    out: str
    err: str
    problem: str
    seconds: float
    memory: int


def watched(words: list[str], *, seconds: float = SECONDS, memory: int = MEMORY) -> Seen:
    """Run the command line.

    A problem is a traceback, a hang, memory, a warning of a library, a failure without a word, a control character
    in what is printed, or broken JSON.
    """
    out, err = io.StringIO(), io.StringIO()
    before, start = _reset_peak(), time.process_time()
    code, problem = -1, ""
    try:
        with (
            _limited(seconds),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            code = run(words)
        if caught:
            problem = f"a warning of a library at {_line(caught[0])}: {caught[0].message}"
    except Hanging as hang:
        problem = f"more than {seconds:g} s: {_place(hang)}"
    except SystemExit as leaving:
        problem = f"SystemExit {leaving.code}"
    used, added = time.process_time() - start, _peak() - before
    said = err.getvalue()
    if not problem:
        problem = _problem(words, code, out.getvalue(), said)
    if not problem and added > memory:
        problem = f"{added / 2**20:.0f} MB of memory"
    return Seen(code, out.getvalue(), said, problem, used, added)


def _problem(words: list[str], code: int, out: str, err: str) -> str:
    """What is wrong with the outcome of a command that ended by itself; empty if nothing is."""
    saved = _SAVED.search(err)
    if saved is not None:
        path = Path(saved.group(1))
        text = path.read_text(encoding="utf-8", errors="replace")
        path.unlink()
        return text
    if code not in CODES:
        return f"exit code {code}"
    if "Traceback" in err and not _of_own_code(words, err):
        return err
    if (
        code and not err.strip() and not out.strip()
    ):  # failed gates, and reasons in JSON, are on standard output
        return f"exit code {code} without a word"
    # JSON goes to a pipe as it is in a file; on a terminal it is escaped, which tests/test_terminal.py shows.
    printed = "" if {"json", "--schema"} & {*words} else out
    for name, text in (("standard output", printed), ("standard error", err)):
        found = _CONTROL.search(text)
        if found is not None:
            return f"a control character on {name}: {text[max(0, found.start() - 40) : found.end() + 20]!r}"
    if code == 0 and words[-2:-1] != ["--schema"] and "json" in words and "--format" in words:
        try:
            json.loads(out, parse_constant=_no_constant)
        except ValueError as error:
            return f"--format json is no JSON: {error}"
    return ""


def _line(warning: warnings.WarningMessage) -> str:
    """Where a warning came from, without the folder of the package."""
    return f"{re.sub(r'.*/(turnwise|site-packages)/', '', warning.filename)}:{warning.lineno}"


def _of_own_code(words: Sequence[str], err: str) -> bool:
    """Whether all tracebacks are those of the user's own function, which `-v` prints beside the error or the note."""
    blocks = err.split("Traceback (most recent call last)")[1:]
    frames = [re.findall(r'^  File "([^"]+)"', block, re.MULTILINE) for block in blocks]
    return not {"-v", "--verbose"}.isdisjoint(words) and all(
        one and one[-1].endswith("fuzz_functions.py") for one in frames
    )


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _place(error: BaseException) -> str:
    """The innermost lines of the package that the error passed through."""
    lines, trace = [], error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "/turnwise/" in file:
            lines.append(f"{file.rpartition('/turnwise/')[2]}:{trace.tb_lineno}")
        trace = trace.tb_next
    return " < ".join(reversed(lines[-4:]))


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise `Hanging` in the main thread after so much processor time, or after twelve times as long on the clock."""

    def stop(_: int, __: FrameType | None) -> None:
        raise Hanging

    old = signal.signal(signal.SIGPROF, stop), signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 12 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGPROF, old[0])
        signal.signal(signal.SIGALRM, old[1])


def _reset_peak() -> int:
    """Reset the peak of the resident memory where the system can, and return the present one in bytes.

    Resetting goes through all pages, so a peak that is little above the present memory stays.
    """
    status = _status()
    if status.get("VmHWM", 0) - status.get("VmRSS", 0) < _LITTLE:
        return _peak()
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    """The peak of the resident memory in bytes."""
    return _status().get("VmHWM", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def _status() -> dict[str, int]:
    """The present and the largest resident memory in bytes, as the kernel says; empty on another system."""
    try:
        with open("/proc/self/status", "rb") as file:
            return {name.decode(): int(size) * 1024 for name, size in _SIZES.findall(file.read())}
    except OSError:
        return {}
