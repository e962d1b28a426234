"""Generated small talk that a small model can learn: every question has a fixed answer."""

import numpy as np

from turnwise.types import Dialogue, Turn

PAIRS = (
    ("hello there", "hi , how are you today ?"),
    ("what is your favourite food", "i like pizza with cheese"),
    ("do you play music", "yes , i play the piano isn't it fun ?"),
    ("where do you live", "in a small town by the sea"),
    ("what about the weather", "it is cold and it rains"),
)
TINY = {
    "vocabulary": 120,
    "embedding": 12,
    "utterance": 16,
    "context": 16,
    "decoder": 16,
    "batch": 8,
    "at_once": 8,
    "max_turns": 6,
    "max_tokens": 16,
    "learning_rate": 0.01,
    "held_out": 0.2,
    "device": "cpu",
}


def small_talk(count: int = 40, *, seed: int = 0) -> list[Dialogue]:
    """Dialogues of two exchanges each."""
    rng = np.random.default_rng(seed)
    dialogues = []
    for number in range(count):
        pairs = [PAIRS[place] for place in rng.permutation(len(PAIRS))[:2]]
        turns = [
            Turn(role, text) for pair in pairs for role, text in zip(("user", "assistant"), pair, strict=True)
        ]
        dialogues.append(Dialogue(f"talk{number}", "human", tuple(turns)))
    return dialogues
