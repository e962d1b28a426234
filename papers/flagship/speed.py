"""`python -m papers.flagship.speed DATA [COUNT]`: replies a second of the two readers, on the GPU if there is one.

Reads the rated replies (or COUNT of them) with each reader, after a few to warm up; nothing is cached.
"""

import sys
import time
from pathlib import Path

from papers.rated_corpora import rated
from turnwise.metrics.learned.encoded_items import reply_and_context
from turnwise.metrics.learned.trained import load_trained
from turnwise.metrics.learned.turnwise.reader import _network

FIRST = 16  # replies to warm up


def main() -> None:
    items = [item for group in rated(Path(sys.argv[1])) for item in group.items]
    texts = [text for item in items if (text := reply_and_context(item))]
    texts = texts[: int(sys.argv[2])] if len(sys.argv) > 2 else texts
    for name in ("reader-small", "reader-large"):
        network = _network(load_trained(name, ""))
        network.read(texts[:FIRST])
        started = time.perf_counter()
        network.read(texts)
        print(
            f"{name}: {len(texts) / (time.perf_counter() - started):.0f} replies a second, {len(texts)} in all"
        )


if __name__ == "__main__":
    main()
