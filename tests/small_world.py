"""A minimal booking world whose agents differ in skill, which affects their questions and their decisions."""

import numpy as np

from turnwise.encode.episodes import encode, whole
from turnwise.types import Dialogue, Episodes, Rating, Reply, Turn

QUESTIONS = ("Where do you want to go?", "What is your name?", "Any wishes?", "Hm.")


def talk(
    place: int, agent: str, skill: float, rng: np.random.Generator, others: dict[str, float]
) -> Dialogue:
    """A dialogue of two questions and a decision, which is right more often with skill and without vague questions."""
    turns = [Turn("user", "Hello, I want to book a flight.")]
    clear = 0
    for _ in range(2):
        alternatives = {name: (Reply(_question(level, rng)),) for name, level in others.items()}
        content = _question(skill, rng)
        clear += content != "Hm."
        turns.append(Turn("assistant", content, alternatives=alternatives))
        turns.append(Turn("user", f"To Rome on {place % 28 + 1} May." if content != "Hm." else "Pardon?"))
    alternatives = {name: (_decision(level, clear, rng),) for name, level in others.items()}
    last = _decision(skill, clear, rng)
    turns.append(Turn("assistant", last.content, alternatives=alternatives, outcome=last.outcome))
    scores = last.outcome or {}
    rating = Rating(f"d{place}", "reward", scores["reward"], scale=(0.0, 1.0))
    return Dialogue(f"d{place}", agent, tuple(turns), (rating,))


def _question(skill: float, rng: np.random.Generator) -> str:
    return QUESTIONS[int(rng.integers(3))] if rng.random() < skill else QUESTIONS[3]


def _decision(skill: float, clear: int, rng: np.random.Generator) -> Reply:
    right = rng.random() < skill * (0.4 + 0.3 * clear)
    return Reply("Booked." if right else "Sorry, nothing found.", {"reward": float(right)})


def held(agents: int = 8, dialogues: int = 40, seed: int = 0) -> list[Dialogue]:
    """Logged dialogues of agents with increasing skill, with the alternatives of all agents."""
    rng = np.random.default_rng(seed)
    skills = {f"a{place}": (place + 1) / agents for place in range(agents)}
    return [
        talk(place * dialogues + index, name, skill, rng, skills)
        for place, (name, skill) in enumerate(skills.items())
        for index in range(dialogues)
    ]


def world(agents: int = 8, dialogues: int = 40, seed: int = 0) -> Episodes:
    """The same dialogues as encoded episodes."""
    talks = held(agents, dialogues, seed)
    rewards = {one.id: one.ratings[0].value for one in talks}
    return encode(whole(talks, rewards), rating="reward", scale=(0.0, 1.0))
