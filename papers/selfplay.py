"""Self-play evaluation in worlds with known truth; prints a table and writes papers/selfplay.json.

    python -m papers.selfplay [--agents 16] [--dialogues 100] [--truth 2000]

Booking: each seller talks to a customer model that is trained on the other sellers' logs, and the world scores the
dialogue. Chat: each agent talks to itself, and a reward model trained on the other agents' rated dialogues predicts the
rating.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from papers.learned_customer import LearnedCustomer, play_in_world
from turnwise import worlds
from turnwise.commands.respond import Respond
from turnwise.encode.episodes import encode, leave_out, whole
from turnwise.estimators.baselines.selfplay import SelfPlay
from turnwise.run.dialogues.selfplay import episodes_by_agent, hold_dialogue
from turnwise.stats.correlation import pearson, spearman
from turnwise.types import Agent, Dialogue, Turn

RATING = {"booking": "reward", "chat": "overall"}
REPLIES = 8  # in a dialogue of an agent with itself


def logs(world: Any, agents: dict[str, Agent], count: int) -> list[Dialogue]:
    return [
        world.play(agent, np.random.default_rng([1, place, number]), identity=f"{name}/{number}", name=name)
        for place, (name, agent) in enumerate(agents.items())
        for number in range(count)
    ]


def _briefed(agent: Agent, briefing: Turn) -> Agent:
    """The agent as its own partner, with the same briefing."""
    return lambda turns, rng: agent([briefing, *turns], rng)


def alone(agent: Agent, name: str, openings: list[Dialogue]) -> list[Dialogue]:
    """Dialogues of an agent with itself, with the briefings and first turns of logged dialogues."""
    request = Respond(data=(), agent="", name=name, output="-")
    held = []
    for dialogue in openings:
        briefing = Turn("system", dialogue.meta["briefing"])
        begun = [briefing, dialogue.turns[0]]
        talked = hold_dialogue(
            agent, _briefed(agent, briefing), begun, request=request, replies=REPLIES, identity=dialogue.id
        )
        if isinstance(talked, Dialogue):
            held.append(talked)
    return held


def estimates(
    name: str, world: Any, agents: dict[str, Agent], logged: list[Dialogue], count: int
) -> list[float]:
    rating = RATING[name]
    rewards = {
        one.id: float(np.mean([r.value for r in one.ratings if r.dimension == rating])) for one in logged
    }
    scales = {r.scale for one in logged for r in one.ratings if r.dimension == rating}
    scale = scales.pop() if len(scales) == 1 else None
    episodes = encode(whole(logged, rewards), rating=rating, scale=scale)
    found = []
    for agent, speaker in agents.items():
        others = [one for one in logged if one.agent != agent]
        if name == "booking":
            customer = LearnedCustomer.learn(others)
            held = list(play_in_world(world, speaker, name=agent, dialogues=count, seed=2, user=customer))
        else:
            held = alone(speaker, agent, others[:: max(1, len(others) // count)][:count])
        estimator = SelfPlay(played=episodes_by_agent(held, rating, scale=scale))
        found.append(
            estimator.estimate(leave_out(episodes, {agent}), agent, rng=np.random.default_rng(0)).value
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--agents", type=int, default=16)
    parser.add_argument("--dialogues", type=int, default=100)
    parser.add_argument("--truth", type=int, default=2000)
    given = parser.parse_args()
    rows = []
    for name in RATING:
        package = worlds.named(name)
        column = package.WORLD.dimensions.index(RATING[name])
        for family in package.FAMILIES:
            start = time.perf_counter()
            agents = dict(package.family(family, agents=given.agents))
            logged = logs(package.WORLD, agents, given.dialogues)
            truth = [
                np.mean(
                    [
                        package.WORLD.truth(agent, np.random.default_rng([3, n]))[column]
                        for n in range(given.truth)
                    ]
                )
                for agent in agents.values()
            ]
            said = estimates(name, package.WORLD, agents, logged, given.dialogues)
            x, y = np.array(said), np.array(truth)
            rows.append({"world": name, "family": family, "agents": len(agents), "pearson": round(pearson(x, y), 3),
                         "spearman": round(spearman(x, y), 3), "mae": round(float(np.abs(x - y).mean()), 3),
                         "seconds": round(time.perf_counter() - start, 1)})  # fmt: skip
            print(rows[-1], flush=True)
    command = f"python -m papers.selfplay --agents {given.agents} --dialogues {given.dialogues} --truth {given.truth}"
    document = {"command": command, "rows": rows}
    Path(__file__).with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
