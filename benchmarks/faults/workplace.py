"""The commands of the matrix, small data for them, and how one is run in a process of its own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.corpus import corpus
from tests.small_talk import TINY, small_talk
from tests.small_world import held
from turnwise.logs import native

# A metric and an agent of a user that take their time: a kill then falls into their work.
SLOW = """
def _work(text):
    for _ in range(300):
        sum(ord(letter) for letter in text)
def length(records):
    for record in records:
        _work(record["response"])
    return [len(record["response"]) for record in records]
def reply(turns, rng):
    _work(turns[-1]["content"] * 40)
    return f"{rng.random():.6f}"
"""
SETTINGS = " ".join(f"--set {key}={value}" for key, value in TINY.items() if key != "device")


@dataclass(frozen=True, slots=True)
class Command:
    """A command line without its output, and the name of the output."""

    words: str
    output: str = "out"  # a folder, or a file if it has an ending
    kept: tuple[str, ...] = ()  # patterns of the files from which it resumes, beside or in its output

    def line(self) -> list[str]:
        """The words of the command line."""
        return [*self.words.split(), "-o", self.output]


COMMANDS: Mapping[str, Command] = {
    "score": Command(
        "score logs.jsonl -m bleu-2,distinct-1,slow:length --draws 100 -q", kept=("out/rows.bin",)
    ),
    "meta": Command("meta logs.jsonl -m bleu-2,slow:length --draws 100 -q", kept=("out/rows.bin",)),
    "compare": Command(
        "compare logs.jsonl -m bleu-2,slow:length --agents good,poor --draws 100 -q", kept=("out/rows.bin",)
    ),
    "ope": Command(
        "ope world.jsonl --all --model hashing --estimator robust,fqe,direct,nearest -q", kept=("out/unfinished/*",)
    ),
    "ope --stream": Command("ope world.jsonl --all --model hashing --stream -q", kept=("out/unfinished/*",)),
    "attack": Command(
        "attack slow:length --contexts logs.jsonl --count 80 --budget 1500 --draws 100 -q", kept=("out/calls.jsonl",)
    ),
    "train": Command(
        f"train hred talk.jsonl {SETTINGS} --set updates=100 --set every=1 --device cpu -q",
        output="model",
        kept=(".model.training/*.safetensors",),
    ),
    "respond": Command(
        "respond logs.jsonl --agent slow:reply --name bot -q", output="out.jsonl", kept=(".out.jsonl.*",)
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Done:
    """How a process ended."""

    code: int
    out: str
    err: str
    cpu: float  # seconds


@dataclass(frozen=True, slots=True)
class Workplace:
    """A folder with the data of all commands; every run has a copy of its own."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def make(cls, folder: Path) -> "Workplace":
        """Write the data."""
        folder.mkdir(parents=True, exist_ok=True)
        corpus(folder / "logs.jsonl", 60)
        native.write(held(agents=6, dialogues=20), str(folder / "world.jsonl"))
        native.write(small_talk(80), str(folder / "talk.jsonl"))
        (folder / "slow.py").write_text(SLOW)
        return cls(folder)

    def copy(self, name: str) -> "Workplace":
        """A new empty folder beside this one, with links to its data."""
        place = self.folder.parent / name
        place.mkdir()
        for file in self.folder.iterdir():
            (place / file.name).symlink_to(file)
        return Workplace(place, self.environment)

    def start(self, words: list[str], **environment: str) -> subprocess.Popen[str]:
        """Start `turnwise` with these words."""
        # No git is found, so that the results do not name a commit; it might not answer in time.
        pinned = {**os.environ, "PATH": str(self.folder), "TURNWISE_CACHE": str(self.folder / "cache")}
        pinned |= {"OMP_NUM_THREADS": "1", **self.environment, **environment}
        return subprocess.Popen(
            [sys.executable, "-m", "turnwise", *words],
            cwd=self.folder, env=pinned, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, words: list[str], **environment: str) -> Done:
        """Run `turnwise` to its end."""
        return ended(self.start(words, **environment))


def ended(process: subprocess.Popen[str]) -> Done:
    """Wait for a process; its CPU time is that of all children that have ended, so runs must not overlap."""
    before = os.times()
    out, err = process.communicate()
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return Done(process.returncode, out, err, spent)


def killed_at(process: subprocess.Popen[str], cpu: float) -> bool:
    """Kill the process with SIGKILL once it has used so much CPU time; False if it ended before."""
    ticks = os.sysconf("SC_CLK_TCK")
    stat = Path(f"/proc/{process.pid}/stat")
    while process.poll() is None:
        with contextlib.suppress(OSError, IndexError):
            used = stat.read_text().rpartition(")")[2].split()
            if (int(used[11]) + int(used[12])) / ticks >= cpu:
                process.send_signal(signal.SIGKILL)
                break
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.005)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def written(place: Workplace, command: Command, *, rows: bool = True) -> dict[str, bytes]:
    """The bytes of all files of the command's output; without `rows`, rows.bin is left out."""
    output = place.folder / command.output
    files = [output] if output.is_file() else sorted(path for path in output.rglob("*") if path.is_file())
    return {
        str(path.relative_to(place.folder)): path.read_bytes()
        for path in files
        if rows or path.name != "rows.bin"
    }


def kept_files(place: Workplace, command: Command) -> list[Path]:
    """The files from which the command resumes, without locks and empty files."""
    found = [path for pattern in command.kept for path in place.folder.glob(pattern) if path.is_file()]
    return sorted(path for path in found if path.name != "lock" and path.stat().st_size)


def is_clear(done: Done) -> bool:
    """Whether a failure is told in words: a code of the documented ones, a message, and no traceback."""
    return (
        done.code in (1, 2, 3, 4)
        and bool(done.err.strip() or done.out.strip())
        and "Traceback" not in done.err
    )


def numbers(document: str) -> object:
    """The results of a document, without where they come from."""
    found = json.loads(document)
    return {key: value for key, value in found.items() if key != "origin"}
