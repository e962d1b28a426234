"""Small data for contract checks: items with difficult texts, rated logs of simulated agents, a training task."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from turnwise import worlds
from turnwise.encode.episodes import encode, whole
from turnwise.networks.training.task import Ratings, TrainingTask
from turnwise.types import Dialogue, Episodes, Item, Turn

DIALOGUES = [
    # (user, assistant, references) turn by turn
    [
        (
            "Hi there! What do you do for fun?",
            "I like to ride my bike by the sea.",
            ["I ride my bike.", "I read."],
        ),
        ("Nice. Which sea?", "The North Sea, in Denmark. Do you ride a bike?", ["The North Sea, of course."]),
        ("No, I do not like bikes.", "I like to ride my bike by the sea every day.", ["That is a pity."]),
    ],
    [
        (
            "Wie geht's? 元気ですか",
            "元気です！ Très bien, 3.5 out of 5 — don't ask...",
            ["Très bien, merci."],
        ),
        ("ok", "ok", []),
        ("What time is it?", "", ["It is half past ten."]),
        ("Hello?", "?!", ["I am here now.", ""]),
    ],
    [("say it again", "again and again and again and again", ["again and again and again", "never again"])],
    [
        (
            "Tell me a story.",
            " ".join(f"word{place % 37}" for place in range(120)),
            ["word1 word2 word3 word4"],
        )
    ],
    [("Book a table", "The [restaurant_name] is at [value_address]. Shall I book it for 5?", [" ", "Sure"])],
]
GOAL = {"restaurant": {"info": {"food": "indian"}, "reqt": ["address"], "book": {"people": "5"}}}
STATE = {"restaurant": {"food": "indian"}}
OTHER = {"restaurant": {"food": "thai"}}
QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
TOOLS = [{"type": "function", "function": {"name": "search", "parameters": QUERY}}]


def turn_items() -> list[Item]:
    """Ten replies of five dialogues, with contexts, references, a goal, states and times; one reply is
    empty."""
    items = []
    for name, exchanges in zip("abcde", DIALOGUES, strict=True):
        turns: tuple[Turn, ...] = ()
        for user, assistant, references in exchanges:
            took = {"latency": 0.25 * (1 + len(turns))}
            reply = Turn("assistant", assistant, references=tuple(references), state=STATE, extra=took)
            turns = (*turns, Turn("user", user), reply)
            index = len(turns) - 1
            identity = f"{name}#{index}"
            items.append(Item(identity, name, "bot", turns, index, cluster=name, pair=identity, goal=GOAL))
    return items


def dialogue_items() -> list[Item]:
    """The five dialogues of `turn_items` as whole dialogues, with a tool call in each, its schema, a cost, and the
    states that the agent predicted, of which those of every second dialogue are wrong.
    """
    last = {item.dialogue: item for item in turn_items()}
    return [
        replace(
            item,
            id=name,
            turn=None,
            pair=name,
            turns=(item.turns[0], *_tool_turns(at), *item.turns[1:]),
            meta={
                "tools": TOOLS,
                "agent_cost": 0.01 * (1 + at),
                "predicted_states": {"bot": [(STATE, OTHER)[at % 2]] * (len(DIALOGUES[at]) + 1)},
            },
        )
        for at, (name, item) in enumerate(last.items())
    ]


def _tool_turns(number: int) -> tuple[Turn, Turn]:
    """A call of a tool and its result, which is an error for odd numbers."""
    arguments = f'{{"query": "sea {number + 2}"}}'
    calls = [{"id": "c", "type": "function", "function": {"name": "search", "arguments": arguments}}]
    result = '[{"name": "North Sea", "depth": 95}]' if number % 2 == 0 else "Error: no such sea"
    return (
        Turn("assistant", None, extra={"tool_calls": calls}),
        Turn("tool", result, extra={"tool_call_id": "c"}),
    )


@cache
def dialogues(*, agents: int = 7, each: int = 12, seed: int = 0) -> tuple[Dialogue, ...]:
    """Rated dialogues of a family of simulated agents, with what every agent would have said at each turn.

    Parameters:
        agents: How many agents.
        each: How many dialogues each agent holds.
        seed: Seed of the simulation.
    """
    module = worlds.named("booking")
    family = module.family("graded", agents=agents)
    return tuple(
        module.WORLD.play(
            agent,
            np.random.default_rng([seed, index, number]),
            identity=f"{name}/{number}",
            name=name,
            others=family,
            samples=1,
        )
        for index, (name, agent) in enumerate(family.items())
        for number in range(each)
    )


@cache
def episodes(*, agents: int = 7, each: int = 12, seed: int = 0) -> Episodes:
    """`dialogues` as arrays, with their reward and made-up log-probabilities.

    Parameters:
        agents: How many agents.
        each: How many dialogues each agent holds.
        seed: Seed of the simulation.
    """
    held = dialogues(agents=agents, each=each, seed=seed)
    rewards = {one.id: rating.value for one in held for rating in one.ratings if rating.dimension == "reward"}
    found = encode(whole(held, rewards), rating="reward", scale=(0.0, 1.0))
    rng = np.random.default_rng(seed)
    probs = {name: np.log(rng.uniform(0.2, 0.9, len(found.user))) for name in found.agents}
    return replace(found, log_probs=probs)


def training_task(trainer: str = "trainer", **changes: Any) -> TrainingTask:
    """A task for a trainer: 84 short dialogues, and their last replies as items with made-up ratings from 1 to 5.

    Parameters:
        trainer: Name of the trainer.
        changes: Fields of `TrainingTask` to replace, such as `settings`.
    """
    held = dialogues()
    rng = np.random.default_rng(0)
    items, values = [], {}
    for dialogue in held:
        index = max(at for at, turn in enumerate(dialogue.turns) if turn.role == "assistant")
        name = f"{dialogue.id}#{index}"
        turns = dialogue.turns[: index + 1]
        items.append(Item(name, dialogue.id, dialogue.agent, turns, index, cluster=dialogue.id, pair=name))
        values[name] = float(rng.integers(1, 6))
    ratings = Ratings(dimension="overall", values=values, scale=(1, 5), per_item=3.0, ceiling=0.8)
    task = TrainingTask(metric=trainer, dialogues=held, items=items, ratings=ratings)
    return replace(task, **changes)
