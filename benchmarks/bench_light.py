"""What small networks cost, against the code of version 0.2 in the same run: time, memory and size on disk.

Each command is a new process on one core, with an empty cache of vectors and no variable that chooses threads; its
processor time counts, imports included. Version 0.2 is the last commit before 0.3, from this repository's history, with
its own weights and the packages of this environment. Texts are the replies of `grade` (DATA), each with its context.
Downloads are what pip fetches with constraints.txt, where torch is the build for processors alone.
"""

import io
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

from packaging.requirements import Requirement

from benchmarks.harness import Line
from turnwise.encode.models.catalogue import cache_home

ROOT = Path(__file__).parents[1]
BEFORE = "57f2e279"  # the last commit of version 0.2
DATA = Path(os.environ.get("TURNWISE_DATA", ROOT.parent / "shared" / "data"))
REPLIES = 1000
REPEATS = 3  # runs, of which the fastest counts: other work on the machine disturbs it least
# Runs a command of turnwise; the last line says its processor time and its peak memory.
RUN = """
import re, resource, sys
from turnwise.cli import main
try:
    main()
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]
    print(used.ru_utime + used.ru_stime, int(peak) / 1024, file=sys.stderr)
"""
VECTORS = """
import re, resource, sys
from turnwise.encode import load
load("minilm").encode(open(sys.argv[1]).read().splitlines())
used = resource.getrusage(resource.RUSAGE_SELF)
peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]
print(used.ru_utime + used.ru_stime, int(peak) / 1024, file=sys.stderr)
"""
# The same, without what libraries take to load.
LOADED = """
import sys, time
import LIBRARIES
import turnwise
from turnwise.cli.common.group import run
start = time.process_time()
run(sys.argv[1:])
print(time.process_time() - start, 0, file=sys.stderr)
"""
OURS, THEIRS = (
    "onnxruntime, tokenizers, safetensors",
    "torch, transformers",
)  # what a reader of ours and theirs loads
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process used."""

    seconds: float  # of the processor
    memory: float  # MiB at its peak


def measured(source: Path, code: str, arguments: Sequence[str], repeats: int = 1) -> Cost:
    """The least of some cold runs of a program with the code in `source`."""
    costs = [_run(source, code, arguments) for _ in range(repeats)]
    return Cost(min(cost.seconds for cost in costs), min(cost.memory for cost in costs))


def _run(source: Path, code: str, arguments: Sequence[str]) -> Cost:
    """One run on one core, with weights and no vectors in its cache."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "models").symlink_to((cache_home() / "models").absolute())
        variables = {name: value for name, value in os.environ.items() if name not in THREADS}
        variables |= {"TURNWISE_CACHE": folder, "PYTHONPATH": str(source)}
        core = min(os.sched_getaffinity(0))
        done = subprocess.run(
            ["taskset", "-c", str(core), sys.executable, "-W", "ignore", "-c", code, *arguments],
            capture_output=True, text=True, env=variables, cwd=folder,
        )  # fmt: skip
    if done.returncode not in (0, 1):  # 1 is the verdict of an attack
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr}")
    seconds, memory = done.stderr.splitlines()[-1].split()
    return Cost(float(seconds), float(memory))


def before(folder: Path) -> Path:
    """The sources of version 0.2, unpacked."""
    packed = subprocess.run(
        ["git", "archive", BEFORE, "src"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def closure(extra: str) -> set[str]:
    """The packages that an extra ("" for the core) installs, with all that they need, as this environment has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    own = [*project["dependencies"], *project["optional-dependencies"].get(extra, ())]
    wanted: list[tuple[str, str]] = [("turnwise", "")]
    found: set[tuple[str, str]] = set()
    while wanted:
        name, chosen = wanted.pop()
        if (name, chosen) in found:
            continue
        found.add((name, chosen))
        try:
            lines = own if name == "turnwise" else requires(name) or []
        except PackageNotFoundError:
            continue  # for another platform
        for line in lines:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": chosen}):
                wanted += [(requirement.name, one) for one in ("", *requirement.extras)]
    return {name for name, _ in found} - {"turnwise"}


def installed(extra: str) -> float:
    """MB on disk of the packages that an extra installs."""
    total = 0
    for name in closure(extra):
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:
            continue
        total += sum(path.stat().st_size for file in files if (path := Path(str(file.locate()))).is_file())
    return total / 1e6


def downloaded(extra: str) -> float:
    """MB that pip fetches for an extra ("" for the core), turnwise itself left out."""
    with tempfile.TemporaryDirectory() as place:
        constraints, project = str(ROOT / "constraints.txt"), f"{ROOT}[{extra}]" if extra else str(ROOT)
        command = ["download", "-q", "--disable-pip-version-check", "-c", constraints, "-d", place, project]
        subprocess.run([sys.executable, "-m", "pip", *command], check=True, capture_output=True)
        files = [path for path in Path(place).iterdir() if not path.name.startswith("turnwise")]
        return sum(path.stat().st_size for path in files) / 1e6


def sources(folder: Path) -> tuple[Path, Path, Path]:
    """A log of `REPLIES` replies, one of ten, and a file of texts."""
    from turnwise import convert
    from turnwise.logs import native

    every = folder / "grade.jsonl"
    convert([DATA / "grade.jsonl.gz"], every)
    lines = every.read_text().splitlines()
    log, short, texts = folder / "log.jsonl", folder / "short.jsonl", folder / "texts.txt"
    log.write_text("\n".join(lines[:REPLIES]) + "\n")
    short.write_text("\n".join(lines[:10]) + "\n")
    said = dict.fromkeys(" ".join(turn.text.split()) for one in native.read(str(log)) for turn in one.turns)
    texts.write_text("\n".join(said))
    return log, short, texts


def bench() -> Iterator[Line]:
    ours = ROOT / "src"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        log, short, texts = sources(folder)
        old = before(folder)
        score = ["score", "-q", "--jobs", "1"]
        asked = (
            (f"turnwise on {REPLIES:,} replies, cold", RUN, [*score, str(log), "-m", "turnwise"], 0.4, None),
            ("turnwise on ten replies, cold", RUN, [*score, str(short), "-m", "turnwise"], 1.0, None),
            (f"fbd on {REPLIES:,} replies, cold", RUN, [*score, str(log), "-m", "fbd"], 0.85, 0.7),
            (
                f"bertscore on {REPLIES:,} replies, cold",
                RUN,
                [*score, str(log), "-m", "bertscore"],
                0.85,
                0.7,
            ),
            ("MiniLM's vectors of their turns, cold", VECTORS, [str(texts)], 0.85, 0.7),
        )
        for name, code, arguments, goal, memory in asked:
            now, then = (measured(source, code, arguments, REPEATS) for source in (ours, old))
            yield Line(name, now.seconds, then.seconds, "version 0.2", goal, at_most=True)
            if memory is not None:
                yield Line(
                    f"{name}, peak memory",
                    now.memory,
                    then.memory,
                    "version 0.2",
                    memory,
                    "MiB",
                    at_most=True,
                )
        now, then = (
            measured(
                source, LOADED.replace("LIBRARIES", names), [*score, str(short), "-m", "turnwise"], REPEATS
            )
            for source, names in ((ours, OURS), (old, THEIRS))
        )
        yield Line(
            "turnwise on ten replies, libraries loaded",
            now.seconds,
            then.seconds,
            "version 0.2",
            1.0,
            at_most=True,
        )
        asked_of = ["attack", "turnwise", "--contexts", str(log), "-q"]
        now, then = (measured(source, RUN, asked_of) for source in (ours, old))
        yield Line(
            "attack turnwise, default budget", now.seconds, then.seconds, "version 0.2", 0.37, at_most=True
        )
    for what, size in (("installed", installed), ("downloaded", downloaded)):
        core, models, neural = map(size, ("", "models", "neural"))
        yield Line(
            f"packages of the extra models, {what}",
            models,
            neural,
            "those of neural",
            0.5,
            "MB",
            at_most=True,
        )
        yield Line(
            f"packages without any extra, {what}", core, models, "those of models", 1.0, "MB", at_most=True
        )
