"""How far simulated users are from people, on user messages at logged places: `python -m benchmarks.play_realism DATA`.

At one user message of each dialogue, drawn at random, each simulator says what it would say there, told the goal and
the facts of the dialogue, after what was really said before. Its messages in one half of the dialogues are compared
with people's in the other half; people's messages in the first half against the second are the floor.

MultiWOZ has goals, so facts and goal are told; ji2022 has none, and the topic that it names is the goal. The learned
user is made from dialogues that are not compared. Texts are kept in --cache, and only numbers are written.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from turnwise.agents import resolve
from turnwise.agents.calling import NoReply, ReplyRequest
from turnwise.encode import load
from turnwise.logs.native import read
from turnwise.run.play.realism import Said, realism
from turnwise.scenarios.scenario import Scenario
from turnwise.types import Dialogue, Turn, digest
from turnwise.users.faults import Fault, fault
from turnwise.users.learned import LearnedUser, fit
from turnwise.users.model import ModelUser, parsed, user_request
from turnwise.users.user import Stage

RESULT = Path(__file__).parent / "results" / "play_realism.json"
OTHERS = 400  # dialogues of people that all are compared with
LEARNED = 800  # dialogues that the learned user is made from
_TAG = re.compile(r"<[^>]+>")


def scenario_of(dialogue: Dialogue) -> Scenario:
    """The scenario that the user of a logged dialogue had."""
    if dialogue.goal:
        told = " ".join(_TAG.sub("", str(line)) for line in dialogue.meta.get("goal_message", ()))
        facts: dict[str, Any] = {
            f"{domain} {slot}": value
            for domain, goal in dialogue.goal.items()
            for part in ("info", "book")
            for slot, value in (goal.get(part) or {}).items()
            if isinstance(value, str)
        }
        return Scenario(id=dialogue.id, goal=told, facts=facts, persona="A visitor of Cambridge.")
    topics = ", ".join(str(one["topic"]) for one in dialogue.meta.get("topic", ()))
    return Scenario(
        id=dialogue.id,
        goal=f"a chat about: {topics}" if topics else "a friendly chat",
        persona="Somebody who chats with a stranger to pass the time.",
    )


def places(dialogues: Sequence[Dialogue], rng: np.random.Generator) -> list[tuple[Dialogue, int]]:
    """One user message of each dialogue, drawn at random."""
    found = []
    for dialogue in dialogues:
        said = [at for at, turn in enumerate(dialogue.turns) if turn.role == "user" and turn.text.strip()]
        if said:
            found.append((dialogue, int(rng.choice(said))))
    return found


def plain_turns(turns: Sequence[Turn]) -> list[Turn]:
    """The turns without annotations."""
    return [Turn(turn.role, turn.text) for turn in turns]


def by_model(
    model: str, chosen: Sequence[tuple[Dialogue, int]], learned: LearnedUser | None = None, **settings: Any
) -> list[str]:
    """What a language model says at these places, with examples of a learned user if there is one."""
    agent: Any = resolve(model, **settings)
    asked: list[ReplyRequest] = []
    for dialogue, at in chosen:
        stage, turns = Stage(scenario_of(dialogue), 0), plain_turns(dialogue.turns[:at])
        examples = [] if learned is None else learned.examples(stage, turns, seed_of(dialogue, at))
        asked.append(user_request(stage, turns, seed_of(dialogue, at), examples))
    said: list[str] = []
    for first in range(0, len(asked), 16):
        replies = agent.replies(asked[first : first + 16])
        said += ["" if isinstance(reply, NoReply) else parsed(reply.content).text for reply in replies]
        print(f"{model}: {len(said)} of {len(asked)}", flush=True)
    return said


def seed_of(dialogue: Dialogue, at: int) -> int:
    """The seed of a message."""
    return int(digest(dialogue.id, str(at)), 16) >> 1


def by_user(user: LearnedUser | ModelUser, chosen: Sequence[tuple[Dialogue, int]]) -> list[str]:
    """What a user says at these places."""
    return [
        user(Stage(scenario_of(dialogue), 0), plain_turns(dialogue.turns[:at]), seed_of(dialogue, at)).text
        for dialogue, at in chosen
    ]


def generate(
    name: str, count: int, models: Sequence[str], *, mixed: bool, data: Path, cache: Path
) -> dict[str, Any]:
    """The messages of people and simulators at places of one corpus; generated once."""
    path = cache / f"{name}-{count}.json"
    made: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    dialogues = sorted(read(str(data / f"{name}.jsonl.gz")), key=lambda one: digest("play", one.id))
    rng = np.random.default_rng(0)
    half, other = places(dialogues[:count], rng), places(dialogues[count : count + OTHERS], rng)
    made["people"] = [dialogue.turns[at].text for dialogue, at in half]
    made["others"] = [dialogue.turns[at].text for dialogue, at in other]
    learned = fit(dialogues[count + OTHERS : count + OTHERS + LEARNED])
    made["retrieval"] = by_user(learned, half)
    path.write_text(json.dumps(made))
    for model in models:
        for key, examples in ((model, None), (f"{model}+retrieval", learned)):
            if key not in made and (examples is None or mixed):
                made[key] = by_model(model, half, examples, temperature=0.7, longest=48)
                path.write_text(json.dumps(made))
    made["faults"] = {
        key: dict(Counter(found.kind for found in _faults(half, said) if found))
        for key, said in made.items()
        if key not in ("others", "faults")
    }
    return made


def _faults(half: Sequence[tuple[Dialogue, int]], said: Sequence[str]) -> list[Fault | None]:
    """The fault of each message at its place."""
    return [
        fault(parsed(text), Stage(scenario_of(dialogue), 0), plain_turns(dialogue.turns[:at]))
        for (dialogue, at), text in zip(half, said, strict=True)
    ]


def compare(made: dict[str, dict[str, Any]], count: int) -> None:
    """Compare the messages of every simulator, and of people at the same places, with those of other people."""
    encoder = load("minilm")
    result: dict[str, Any] = {}
    for name, texts in made.items():
        others = [Said(f"other-{at}", text) for at, text in enumerate(texts["others"])]
        rows: dict[str, Any] = {}
        for simulator, said in texts.items():
            if simulator in ("others", "faults"):
                continue
            mine = [Said(f"{simulator}-{at}", text) for at, text in enumerate(said)]
            rows[simulator] = {
                "messages": len(mine),
                "faults": texts["faults"][simulator],
                "mean_words": float(np.mean([len(text.split()) for text in said])),
                **{
                    one.measure: {
                        "estimate": one.estimate, "interval": one.interval, "floor": one.floor,
                        "floor_interval": one.floor_interval, "reason": one.reason,
                    }
                    for one in realism(mine, others, encoder=encoder, kind="all")
                },
            }  # fmt: skip
        result[name] = {"count": count, "others": len(others), "learned_from": LEARNED, "simulators": rows}
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


def main() -> None:
    """Generate the messages, compare them, and write the result."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", type=Path, help="the folder of the corpora")
    options.add_argument("--corpora", nargs="+", default=["multiwoz_valtest", "ji2022"])
    options.add_argument("--count", type=int, default=48)
    options.add_argument("--models", nargs="*", default=["smollm2"])
    options.add_argument("--cache", type=Path, default=Path("out/play"))
    options.add_argument("--mixed", action="store_true", help="also models with examples of the learned user")
    options.add_argument("--only-generate", action="store_true")
    given = options.parse_args()
    given.cache.mkdir(parents=True, exist_ok=True)
    made = {
        name: generate(name, given.count, given.models, mixed=given.mixed, data=given.data, cache=given.cache)
        for name in given.corpora
    }
    if given.only_generate:
        return
    compare(made, given.count)


if __name__ == "__main__":
    main()
