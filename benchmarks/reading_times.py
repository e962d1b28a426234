"""`python benchmarks/reading_times.py FILES`: processor seconds that reading native files takes, as JSON.

PYTHONPATH selects the version of turnwise that reads, so that `bench_reading` can time an earlier one in the same way.
The lines are in memory, so that the time is that of decoding and checking.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from turnwise.logs import native
from turnwise.logs.files import lines

FEWEST = (
    1_000  # lines of a file that are read, at equal distances; up to twice as many, or all of a smaller file
)
REPEATS = 3  # of which the fastest counts


def checker() -> Callable[[bytes, int], object] | None:
    """The checker that explains errors, where this version has one beside its reader."""
    try:
        from turnwise.logs.dialogue import from_record
        from turnwise.logs.readers.source import decoded
    except ImportError:
        return None
    return lambda line, number: from_record(decoded(line), default_id=str(number))


def main() -> None:
    ways: dict[str, Callable[[bytes, int], object] | None] = {
        "read": lambda line, number: native.parse(line, file="", line_number=number),
        "decode": lambda line, number: msgspec.json.decode(line),
        "explain": checker(),
    }
    found = {}
    for path in sys.argv[1:]:
        every = [line for _, line in lines(path)]
        held = every[:: max(1, len(every) // FEWEST)]
        times = {name: seconds(way, held) for name, way in ways.items() if way is not None}
        found[Path(path).name] = {"lines": len(held), **times}
    print(json.dumps(found))


def seconds(read: Callable[[bytes, int], object], held: list[bytes]) -> float:
    """Processor seconds to read all lines once without keeping them, as a stream does; the fastest repeat."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        for number, line in enumerate(held, 1):
            read(line, number)
        times.append(time.process_time() - start)
    return min(times)


if __name__ == "__main__":
    main()
