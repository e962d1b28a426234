"""Generated conversations for the benches: as many as wanted, the same for the same seed."""

from pathlib import Path

import msgspec
import numpy as np

WORDS = 5000
TURNS = 10  # of one dialogue; half are the assistant's


def write(path: Path, n_turns: int, *, seed: int = 0) -> None:
    """A native file with `n_turns` judged turns, each with one reference that shares some of its words."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, WORDS + 1)
    frequency /= frequency.sum()
    encoder = msgspec.json.Encoder()
    with path.open("wb") as file:
        for number in range(n_turns * 2 // TURNS):
            messages = []
            for turn in range(TURNS):
                ids = rng.choice(WORDS, size=int(rng.integers(4, 20)), p=frequency)
                message: dict[str, object] = {"role": ("user", "assistant")[turn % 2], "content": _text(ids)}
                if turn % 2:
                    changed = np.where(rng.random(len(ids)) < 0.4, rng.choice(WORDS, len(ids), p=frequency), ids)
                    message["references"] = [_text(changed)]
                messages.append(message)
            file.write(encoder.encode({"id": f"d{number}", "agent": f"bot{number % 4}", "messages": messages}) + b"\n")


def _text(ids: np.ndarray) -> str:
    return " ".join(f"w{i}" for i in ids)
