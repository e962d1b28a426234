"""A customer of the booking world that imitates the customers of a log, and self-play with it in a world.

It retrieves the logged customer's turn that followed the most similar seller's turn (TF-IDF), and says the same with
the facts of its own intent. So its moves are learned, and its facts are its own. It accepts or rejects an offer as
the logged customer did, whether or not the flight meets its conditions.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from turnwise.agents.tfidf import TfIdf
from turnwise.errors import DataError
from turnwise.run.dialogues.selfplay import swap_roles
from turnwise.run.scoring.tally import generator
from turnwise.types import Agent, Dialogue, Turn
from turnwise.worlds.booking import customer, wording
from turnwise.worlds.booking.other_customer import SceneWithOtherCustomer
from turnwise.worlds.booking.parsing import is_leaving, parse_facts
from turnwise.worlds.booking.world import Scene
from turnwise.worlds.play import World, simulate_turns


@dataclass(frozen=True, slots=True)
class LearnedCustomer:
    """Turns of logged customers, retrieved by the seller's last turn."""

    retrieval: TfIdf

    @classmethod
    def learn(cls, logs: Sequence[Dialogue], *, nearest: int = 1) -> "LearnedCustomer":
        """Fit the retrieval model on the customers' turns of `logs`; a turn is drawn from the `nearest` most similar.

        Raises `DataError` if no customer's turn follows a seller's.
        """
        swapped = [replace(dialogue, turns=tuple(swap_roles(dialogue.turns))) for dialogue in logs]
        if not any(turn.role == "assistant" for dialogue in swapped for turn in dialogue.turns[1:]):
            raise DataError(
                "no dialogue of the log has a customer's turn after a seller's turn: there is nothing to learn from"
            )
        return cls(TfIdf.fit(swapped, window=1, nearest=nearest, role="assistant"))

    def __call__(self, scene: Scene, /) -> SceneWithOtherCustomer:
        """The scene, with this customer in place of its own."""
        return SceneWithOtherCustomer(scene, self)

    def first_message(self, scene: Scene, rng: np.random.Generator, /) -> str:
        """The first message of the scene's own customer: it is not learned."""
        return scene.first_message(rng)

    def next_message(self, scene: Scene, turns: Sequence[Turn], rng: np.random.Generator, /) -> str:
        """What the scene's customer says after `turns`: the move of the retrieved turn, with its own facts.

        The move is to tell facts, accept, reject or wait. The customer leaves if the retrieved one left or at the limit
        of replies.
        """
        intent, text = scene.intent, self.retrieval(turns[-1:], rng).content
        facts = parse_facts(text)
        topics = [topic for topic, slots in wording.TOPICS.items() if any(slot in facts for slot in slots)]
        if topics:
            said = " ".join(customer.answer(intent, topic) for topic in topics)
        elif text.startswith(wording.AGREED):
            said = wording.AGREED[intent.wording]
        elif text.startswith(wording.REFUSED):
            said = wording.REFUSED[intent.wording]
        else:
            said = wording.WAITING[intent.wording]
        n_replies = sum(turn.role == "assistant" for turn in turns)
        is_last = is_leaving(text) or n_replies >= customer.MAX_REPLIES - 1
        return f"{said} {wording.LEAVING[intent.wording]}" if is_last else said


def play_in_world(
    world: World,
    agent: Agent,
    *,
    name: str,
    dialogues: int,
    seed: int,
    user: Callable[[Any], Any] | None = None,  # replaces the user of a scene
) -> Iterator[Dialogue]:
    """Yield `dialogues` dialogues of the agent, named `name`, in a world, with the ratings that the world computes.

    `user` replaces the user of a scene. Each dialogue has its own generator, by seed, name and number.
    """
    for number in range(dialogues):
        rng = generator(seed, "self-play", name, str(number))
        scene = world.scene(rng)
        turns = simulate_turns(scene if user is None else user(scene), world.for_dialogue(agent), rng)
        identity = f"{name}/{number}"
        ratings = scene.ratings(turns, identity, rng)
        yield Dialogue(identity, name, turns[1:], ratings, goal=scene.goal)
