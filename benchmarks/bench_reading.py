"""Lines of the native format a second: our reader, against two others.

One is the checker that explains errors, which is still there for the lines that the structs refuse. The other is the
reader of the commit before the structs (`EARLIER`): the same checker, which built dataclasses and not structs.
`decoding alone` is `msgspec.json.decode` of the same lines into dicts and lists, which checks nothing: no reader that
decodes every value is faster than about that.

The corpora are those of `../shared/data`, 1,000 to 2,000 lines of each at equal distances, or all lines of a smaller
one. Each version runs in processes of its own, in turn, and the fastest time counts. The last line is one run of
`turnwise meta` by each version.
"""

import json
import os
import resource
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.harness import Line
from turnwise.logs import native
from turnwise.logs.dialogue import from_record
from turnwise.logs.files import lines
from turnwise.logs.readers.source import decoded

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
EARLIER = "2487a7e"  # the last commit whose reader was the explaining checker
ROUNDS = 3  # processes of each version
GOAL, GOAL_OF_CHECKER = 5.0, 2.0  # the checker of today shares the structs with the reader
COPIES = 20  # of `grade`, for `meta`
META = ("-m", "rouge-l,length,chrf", "--draws", "100", "--no-differences", "-q")

Times = dict[str, dict[str, float]]  # corpus -> lines, and seconds by way of reading


def bench() -> Iterator[Line]:
    paths = sorted(map(str, DATA.glob("*.jsonl*")))
    for path in paths:
        check_equal(path)
    with TemporaryDirectory() as folder:
        earlier = unpack_earlier(Path(folder))
        ours, theirs = times_of(ROOT / "src", paths), times_of(earlier, paths)
        for _ in range(ROUNDS - 1):
            ours = fastest(ours, times_of(ROOT / "src", paths))
            theirs = fastest(theirs, times_of(earlier, paths))
        for corpus, found in ours.items():
            yield compared(corpus, [found], "explain", [found], goal=GOAL_OF_CHECKER)
            yield compared(corpus, [found], "read", [theirs[corpus]], goal=GOAL)
        every, before = [*ours.values()], [*theirs.values()]
        yield compared("all corpora", every, "explain", every, goal=GOAL_OF_CHECKER)
        yield compared("all corpora", every, "read", before, goal=GOAL)
        yield compared("all corpora, decoding alone", every, "read", before, goal=GOAL, ours_is="decode")
        yield meta_line(Path(folder), earlier)


def check_equal(path: str) -> None:
    """Raise an `AssertionError` if the reader and the explaining checker read a line of the file differently."""
    for number, line in lines(path):
        read = native.parse(line, file="", line_number=number)
        if read != from_record(decoded(line), default_id=str(number)):
            raise AssertionError(f"{path}:{number}: the two readers disagree")


def unpack_earlier(folder: Path) -> Path:
    """The source of the earlier commit, unpacked into the folder; needs the repository's history."""
    packed = subprocess.run(["git", "archive", EARLIER, "src"], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def times_of(source: Path, paths: Sequence[str]) -> Times:
    """The times of one process that reads with the version whose source this is."""
    command = [sys.executable, str(ROOT / "benchmarks" / "reading_times.py"), *paths]
    done = subprocess.run(command, env=environment(source), check=True, capture_output=True, text=True)
    found: Times = json.loads(done.stdout)
    return found


def environment(source: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(source)}


def fastest(one: Times, other: Times) -> Times:
    return {
        corpus: {key: min(value, other[corpus][key]) for key, value in found.items()}
        for corpus, found in one.items()
    }


def compared(
    name: str,
    ours: Sequence[Mapping[str, float]],
    way: str,
    theirs: Sequence[Mapping[str, float]],
    *,
    goal: float,
    ours_is: str = "read",
) -> Line:
    """Lines a second of our reader (or of another way, `ours_is`), and of the other reader."""
    count = sum(found["lines"] for found in ours)
    peer = "explaining checker" if way == "explain" else f"reader of {EARLIER}"
    rates = [count / sum(found[key] for found in each) for each, key in ((ours, ours_is), (theirs, way))]
    return Line(f"{name}, {count:,.0f} lines", *rates, peer, goal, "lines/s", rate=True)


def meta_line(folder: Path, earlier: Path) -> Line:
    """Processor seconds of `turnwise meta` on `grade`, copied 20 times under new ids."""
    data = folder / "grade.jsonl"
    with data.open("w", encoding="utf-8") as file:
        for _, line in lines(str(DATA / "grade.jsonl.gz")):
            record = json.loads(line)
            for copy in range(COPIES):
                file.write(json.dumps({**record, "id": f"{record['id']}-{copy}"}) + "\n")
    times = []
    for version, source in enumerate((ROOT / "src", earlier)):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        command = ["-m", "turnwise", "meta", str(data), *META, "-o", str(folder / f"out{version}")]
        subprocess.run(
            [sys.executable, *command], env=environment(source), check=True, stdout=subprocess.DEVNULL
        )
        times.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    name = f"turnwise meta on grade x {COPIES} {' '.join(META)}: user time of the processor"
    return Line(name, *times, f"turnwise of {EARLIER}", 1.0)
