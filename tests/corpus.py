"""Small generated dialogues with references and ratings."""

import json
from pathlib import Path
from typing import Any

import numpy as np

WORDS = [f"{word}{end}" for word in ("cat", "dog", "mat", "log", "sat", "ran") for end in ("", "s", "ing")]


def dialogue(
    number: int, agent: str, rng: np.random.Generator, *, exchanges: int = 2, **more: Any
) -> dict[str, Any]:
    """A dialogue; the better the agent, the more words its replies share with their references."""
    skill = {"good": 0.8, "fair": 0.5, "poor": 0.2}.get(agent, 0.5)
    messages: list[dict[str, Any]] = []
    ratings: list[dict[str, Any]] = []
    for _ in range(exchanges):
        messages.append({"role": "user", "content": f"question {number} {' '.join(rng.choice(WORDS, 4))}"})
        reference = rng.choice(WORDS, rng.integers(6, 11))
        reply = np.where(rng.random(len(reference)) < skill, reference, rng.choice(WORDS, len(reference)))
        messages.append(
            {"role": "assistant", "content": " ".join(reply), "references": [" ".join(reference)]}
        )
        agreement = float(np.mean(reply == reference))
        for rater in ("ann", "ben", "cho"):
            value = round(float(np.clip(1 + 4 * agreement + rng.normal(0, 0.7), 1, 5)))
            ratings.append(
                {
                    "dimension": "overall",
                    "value": value,
                    "rater": rater,
                    "turn": len(messages) - 1,
                    "scale": [1, 5],
                }
            )
    record = {"id": f"{number}-{agent}", "agent": agent, "messages": messages, "ratings": ratings}
    return {**record, "meta": {"number": number}, **more}


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def corpus(
    path: Path, n: int = 12, *, agents: tuple[str, ...] = ("good", "fair", "poor"), seed: int = 0
) -> Path:
    """Write n dialogues of each agent."""
    rng = np.random.default_rng(seed)
    return write(path, [dialogue(number, agent, rng) for number in range(n) for agent in agents])
