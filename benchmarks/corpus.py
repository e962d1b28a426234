"""Generated dialogues for the benches; the same for the same seed."""

from pathlib import Path

import msgspec
import numpy as np

WORDS = 5000  # in the vocabulary
MESSAGES = 10  # in a dialogue; half are the assistant's
LONGEST = 20  # largest number of words in a message


def write(path: Path, n_turns: int, *, seed: int = 0, rated: bool = False) -> None:
    """Write a native file with `n_turns` assistant turns, each with a reference that shares 60 % of its words.

    If `rated`, each has a rating, which is higher for longer replies.
    """
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, WORDS + 1)
    frequency /= frequency.sum()
    vocabulary = np.array([f"w{number}" for number in range(WORDS)])
    encode = msgspec.json.Encoder().encode
    with path.open("wb") as file:
        for number in range(2 * n_turns // MESSAGES):
            drawn = vocabulary[np.searchsorted(np.cumsum(frequency), rng.random((2, MESSAGES, LONGEST)))]
            lengths = rng.integers(4, LONGEST, size=MESSAGES)
            kept = rng.random((MESSAGES, LONGEST)) < 0.6
            messages, ratings = [], list[dict[str, object]]()
            for at, length in enumerate(lengths):
                words, other = drawn[0, at, :length], drawn[1, at, :length]
                message: dict[str, object] = {
                    "role": ("user", "assistant")[at % 2],
                    "content": " ".join(words),
                }
                if at % 2:
                    message["references"] = [" ".join(np.where(kept[at, :length], words, other))]
                if at % 2 and rated:
                    stars = 1 + int(length - 4 + rng.integers(0, LONGEST)) // 8
                    ratings.append(
                        {"dimension": "overall", "value": stars, "turn": at, "rater": f"r{number % 9}"}
                    )
                messages.append(message)
            record = {"id": f"d{number}", "agent": f"bot{number % 4}", "messages": messages}
            record |= {"ratings": ratings} if rated else {}
            file.write(encode(record) + b"\n")
