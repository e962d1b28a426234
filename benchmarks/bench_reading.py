"""Lines of the native format a second: structs, against the checker that explains errors.

Every corpus of `../shared/data` that has 1,000 lines or more, and a generated file. The lines are in memory, so that
the time is that of decoding and checking. Both sides read every line, and the dialogues are compared before the times.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.corpus import write
from benchmarks.harness import Line, best_of
from turnwise.logs import native
from turnwise.logs.dialogue import from_record
from turnwise.logs.files import lines
from turnwise.logs.readers.source import decoded
from turnwise.types import Dialogue

DATA = Path(__file__).parents[2] / "shared" / "data"
FEWEST, MOST = 1_000, 5_000  # lines of a corpus
TURNS = 25_000  # of the generated file
GOAL = 2.0  # the checker shares the types that made both sides faster


def bench() -> Iterator[Line]:
    with TemporaryDirectory() as folder:
        generated = Path(folder) / "generated.jsonl"
        write(generated, TURNS)
        for path in [generated, *sorted(DATA.glob("*.jsonl*"))]:
            held = [line for _, line in islice(lines(str(path)), MOST)]
            if len(held) >= FEWEST:
                yield compared(path.name, held)


def compared(name: str, held: Sequence[bytes]) -> Line:
    if every(explained, held) != every(typed, held):
        raise AssertionError(f"{name}: the two readers disagree")
    ours, peer = best_of(lambda: run(typed, held)), best_of(lambda: run(explained, held))
    return Line(
        f"{name}, {len(held):,} lines",
        len(held) / ours,
        len(held) / peer,
        "explaining checker",
        GOAL,
        "lines/s",
        rate=True,
    )


def typed(line: bytes, number: int) -> Dialogue:
    return native.parse(line, file="", line_number=number)


def explained(line: bytes, number: int) -> Dialogue:
    return from_record(decoded(line), default_id=str(number))


def every(read: Callable[[bytes, int], Dialogue], held: Sequence[bytes]) -> list[Dialogue]:
    return [read(line, number) for number, line in enumerate(held, 1)]


def run(read: Callable[[bytes, int], Dialogue], held: Sequence[bytes]) -> None:
    """Reads without keeping, as a stream does."""
    for number, line in enumerate(held, 1):
        read(line, number)
