"""Counts of a campaign by kind of input: how many ran, on which revision, with which exit codes, and what failed."""

import json
import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.fuzz.watched import Seen

_FRAME = re.compile(r'File "[^"]*/(turnwise/[^"]+)", line (\d+)')


def signature(problem: str) -> str:
    """A short name of a failure, equal for equal places in the code."""
    frames = _FRAME.findall(problem)
    last = problem.strip().splitlines()[-1] if problem.strip() else ""
    kind = last.split(":")[0] if frames else last[:90]
    return f"{kind} at {frames[-1][0]}:{frames[-1][1]}" if frames else kind


@dataclass
class Count:
    """What the inputs of one kind did."""

    next: int = 0  # the number of the first input that has not run
    inputs: int = 0
    command_lines: int = 0
    revisions: Counter[str] = field(default_factory=Counter)  # commit -> inputs that ran on it
    codes: Counter[str] = field(default_factory=Counter)  # command and exit code -> command lines
    slowest: float = 0.0  # processor seconds of one command line
    memory: int = 0  # most bytes that one command line added to the process
    failures: Counter[str] = field(default_factory=Counter)  # place -> inputs that failed there
    failing: list[int] = field(default_factory=list)  # numbers of the inputs that failed
    mended: list[int] = field(default_factory=list)  # those of them that passed when they ran again

    def __post_init__(self) -> None:
        for name in ("revisions", "codes", "failures"):
            setattr(self, name, Counter(getattr(self, name)))

    def add(self, number: int, done: list[tuple[list[str], Seen]], revision: str) -> str:
        """Count one input; returns the name of its failure, which is empty if nothing is wrong."""
        self.next = number + 1
        self.inputs += 1
        self.revisions[revision] += 1
        for words, seen in done:
            self.command_lines += 1
            self.codes[f"{words[0]} {seen.code}"] += 1
            self.slowest, self.memory = max(self.slowest, seen.seconds), max(self.memory, seen.memory)
        if not done or not done[-1][1].problem:
            return ""
        name = signature(done[-1][1].problem)
        self.failures[name] += 1
        self.failing.append(number)
        return name


@dataclass
class Tally:
    """The counts of all kinds under one seed."""

    seed: int
    kinds: dict[str, Count] = field(default_factory=dict)
    revision: str = ""

    @classmethod
    def read(cls, path: Path | None, *, seed: int, first: int) -> "Tally":
        """The counts in the file, where there is one."""
        found = cls(seed, revision=_revision())
        if path is not None and path.exists():
            kept = json.loads(path.read_text())
            if kept["seed"] != seed or first:
                raise SystemExit(f"{path} has counts of seed {kept['seed']} from input 0 on")
            found.kinds = {name: Count(**count) for name, count in kept["kinds"].items()}
        return found

    def write(self, path: Path | None) -> None:
        """Keep the counts, where a file was named."""
        if path is None:
            return
        kinds = {
            name: {**vars(count), "slowest": round(count.slowest, 2)} for name, count in self.kinds.items()
        }
        total = sum(count.inputs for count in self.kinds.values())
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps({"seed": self.seed, "inputs": total, "kinds": kinds}, indent=1) + "\n")
        partial.replace(path)

    def failing(self) -> list[tuple[str, int]]:
        """The inputs that failed, and have not passed since."""
        return [
            (kind, number)
            for kind, count in self.kinds.items()
            for number in count.failing
            if number not in count.mended
        ]

    def __str__(self) -> str:
        lines = []
        for kind, count in self.kinds.items():
            lines += [
                f"{count.inputs} {kind}, seed {self.seed}, {count.command_lines} command lines: slowest "
                f"{count.slowest:.1f} s of processor time, most memory added {count.memory / 2**20:.0f} MB",
                "; ".join(f"{name}: {number}" for name, number in sorted(count.codes.items())),
                f"{len(count.failing)} failing in {len(count.failures)} places, {len(count.mended)} of them mended",
                *(f"  {number} {name}" for name, number in count.failures.most_common()),
            ]
        return "\n".join(lines)


def _revision() -> str:
    """The commit that the package is of, with a plus if files were changed since."""
    said = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
    )
    return said.stdout.strip() or "unknown"
