"""A trained customer of the booking world (ENIGMA, appendix C): a transformer that writes the customer's turns.

It knows what it wants as tokens, and sees values of its own by the names of their slots (`worlds/booking/tokens.py`).
It was shown how customers talked, and follows no rules: whether it answers a question, accepts an offer or leaves is
what the network finds most likely.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from turnwise.agents.trained_speaker import MOST, TrainedSpeaker, Words
from turnwise.networks.transformer import Example
from turnwise.types import Dialogue, Turn
from turnwise.worlds.booking.customer import MAX_REPLIES
from turnwise.worlds.booking.other_customer import SceneWithOtherCustomer
from turnwise.worlds.booking.tokens import customer_pieces, goal_pieces, own_values, written
from turnwise.worlds.booking.wording import LEAVING
from turnwise.worlds.booking.world import Scene


@dataclass(frozen=True, eq=False)
class TrainedCustomer(TrainedSpeaker):
    """A customer that a network makes; called with a scene it takes the place of the scene's own customer."""

    def __call__(self, scene: Scene, /) -> SceneWithOtherCustomer:
        """The scene with this customer in place of its own."""
        return SceneWithOtherCustomer(scene, self)

    def first_message(self, scene: Scene, rng: np.random.Generator, /) -> str:
        """The customer's first turn, by the network."""
        return self.message(scene.goal, ())

    def next_message(self, scene: Scene, turns: Sequence[Turn], rng: np.random.Generator, /) -> str:
        """The customer's next turn, by the network; at the largest number of replies it also asks to finish."""
        said = self.message(scene.goal, [turn for turn in turns if turn.role != "system"])
        replies = sum(turn.role == "assistant" for turn in turns)
        over = replies >= MAX_REPLIES - 1 and not said.endswith(LEAVING)
        return f"{said} {LEAVING[0]}" if over else said

    def message(self, goal: Mapping[str, Any], turns: Sequence[Turn]) -> str:
        """What a customer with this goal says after `turns`, which may be empty."""
        said = self.reader.text(customer_context(goal, turns, self.words), self.words["<end>"], MOST)
        values = {f"OWN{slot}": value for slot, value in own_values(goal).items()}
        return written([self.words.all[number] for number in said], values)


def customer_context(goal: Mapping[str, Any], turns: Sequence[Turn], words: Words) -> list[int]:
    """The tokens of a dialogue up to the customer's next turn, the mark of which is last."""
    found = words.numbers(goal_pieces(goal))
    for turn in turns:
        pieces = words.numbers(customer_pieces(turn.text, goal))
        if turn.role == "user":
            found += [words["<user>"], *pieces, words["<end>"]]
        elif turn.role == "assistant":
            found += [words["<seller>"], *pieces]
    return [*found, words["<user>"]]


def customer_example(dialogue: Dialogue, words: Words) -> Example:
    """A logged dialogue as a training text: the customer's words are predicted."""
    goal = dialogue.goal or {}
    tokens: list[int] = []
    predicted: list[bool] = []
    for index, turn in enumerate(dialogue.turns):
        if turn.role == "user":
            before = customer_context(goal, dialogue.turns[:index], words)
            said = [*words.numbers(customer_pieces(turn.text, goal)), words["<end>"]]
            predicted += [False] * (len(before) - len(tokens))
            tokens = [*before, *said]
            predicted += [True] * len(said)
    return Example(tokens, predicted)
