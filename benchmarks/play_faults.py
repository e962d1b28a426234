"""Planted faults of simulated users: how many are found, and what else is: `python -m benchmarks.play_faults DATA`.

Clean messages are those of the rules of two worlds and of people in MultiWOZ, each with the facts that its user has.
A fault is planted in a clean dialogue at a place where it can be: 50 of each of eight kinds. Words of planted messages
come from other dialogues or from lists; half of the leaks recite the instructions, and the others talk about them.
Messages of people in small talk (ji2022) are counted apart.

The rules were adjusted on the first half of the dialogues (--half tune), with their own lists. The second half is
reported, with lists that were written afterwards and avoid the words of the rules.

`moved`: the mean reward of eight sellers of the booking world with a user who commits a fault at one message in eight,
where its faults count as the sellers' and where they are tried again and set apart.
"""

import argparse
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from benchmarks.play_realism import plain_turns, scenario_of
from turnwise.commands.play import Play
from turnwise.logs.native import read
from turnwise.run.play.command import play
from turnwise.scenarios.scenario import Scenario
from turnwise.stats.interval import wilson
from turnwise.types import Signature, Turn, digest
from turnwise.users.faults import KINDS, Kind, fault
from turnwise.users.model import INSTRUCTIONS, parsed
from turnwise.users.rules import RuleUser
from turnwise.users.user import Stage, UserMessage
from turnwise.worlds import named

RESULT = Path(__file__).parent / "results" / "play_faults.json"
EACH, CLEAN = 50, 400
_FOR_A_FACT = re.compile(r"\b(?:what|when|where|which|how many|how long)\b[^.?!]*\?\s*$", re.IGNORECASE)
MANNERS = ("Well, ", "So, ", "Hm, ", "Okay then, ", "")
LEAKS = (
    "Since I am the customer in this conversation, I will ask about the opening hours.",
    "The prompt tells me to be short. Fine.",
    "I have to pretend that I do not know the price.",
    "Let me think about what the person would say here: sounds good.",
    "Persona: busy mother. Message: do you have a room?",
    "It says here that I want a table for four.",
    "According to what I was given, the budget is low.",
    "Sure! Here's what the user might say: I would like to book it.",
    "I am not allowed to tell you all the facts at once.",
    "The information provided says nothing about that.",
    "My character would be annoyed by now.",
    "I'm simulating somebody who needs a taxi.",
    "Output: yes please.",
    "As instructed, I keep my message short: ok.",
    "As the person in this exercise I would now ask about the price.",
    "My instructions say that I should be brief, so: yes.",
    "I was told to act as a customer who is in a hurry.",
    "According to my persona I prefer something cheap.",
    "The user wants to know whether there is parking.",
    "(Note: I am simulating a customer here.) What do you have?",
    "I should not reveal the goal yet, so I will only say hello.",
    "Here is the next message of the person: do you have anything in the centre?",
    "You take the part of a person who writes to an assistant. You are the person, never the assistant.",
    "My goal in this conversation is to get a reservation.",
    "As a simulated user, I cannot answer that.",
    "I have been given the following details: four people, Friday.",
    "I'm supposed to be an impatient visitor, so hurry up please.",
    "In this role-play I would agree to that.",
    "Answer what the assistant asks, and only that. I will do so.",
    "The assistant should now offer me a room.",
)
# Other words for the half that is reported, written after the rules.
NEW_LEAKS = (
    "Okay, I need to respond as Maria, who is impatient: hurry up please.",
    "I will continue the conversation as the traveller. Do you have a cheaper one?",
    "Based on the background information, I only have 20 pounds.",
    "Per the guidelines I answer with one sentence: a table for two.",
    "My assigned objective is to find a hotel in the north.",
    "I can't say that because my description does not mention it.",
    "Acting as a tourist, I ask for a museum.",
    "The setup says I leave on Monday.",
    "Let's stay with the storyline: I am angry about the refund.",
    "Customer: I want to change my flight. (end of customer turn)",
    "I must not break the rules I have been set, so just yes.",
    "Next I will ask for the phone number, as described in my profile.",
    "User response: four people at seven.",
    "For the purposes of this dialogue, assume that I have paid.",
)
NEW_ENDS = (
    "Cheers, bye bye.",
    "Thanks so much, that's it from me!",
    "Lovely, have a good one.",
    "Okay thank you, goodbye!",
)
ENDS = (
    "Thanks, that's all I needed!", "Great, bye!", "Perfect, thank you. Goodbye.",
    "That is everything, have a nice day!",
    "Okay, thanks a lot, see you.",
)  # fmt: skip
NOTHING = ("", "...", "[silence]", "(waits)", "*nods*", "-", "\u2026", "[no response]", "()", "* *")
INVENTED = ("ZX4471", "#88231", "Q-7731B", "5550192", "RB90017", "K7-1182", "4402-1187", "W93310")


class Place(NamedTuple):
    """A clean message of a user, with what was said before and after it."""

    stage: Stage
    before: tuple[Turn, ...]
    message: UserMessage
    source: str


class Words(NamedTuple):
    """The words of planted faults."""

    leaks: tuple[str, ...]
    ends: tuple[str, ...]


class Planted(NamedTuple):
    """A message that is a fault."""

    place: Place
    message: UserMessage
    kind: Kind


def world_places(name: str, count: int, *, seed: int) -> Iterator[Place]:
    """The messages of a world's user in dialogues with the agents of its first family."""
    module = named(name)
    agents = list(module.family("graded", agents=4).values())
    for number in range(count):
        stage = Stage(Scenario(id=f"{name}-{seed}-{number}", world=name), seed)
        user, turns = RuleUser(), []
        scene, agent = stage.scene, module.WORLD.for_dialogue(agents[number % len(agents)])
        if scene is None:
            continue
        rng = np.random.default_rng([seed, number])
        while True:
            message = user(stage, turns, int(rng.integers(2**62)))
            if message.text:
                yield Place(stage, tuple(turns), message, name)
            if message.leaving or not message.text:
                break
            turns = [*turns, Turn("user", message.text)]
            reply = agent([*stage.briefing, *turns], rng)
            outcome = scene.outcome([scene.briefing, *turns], reply.content)
            turns = [*turns, Turn("assistant", reply.content)]
            if outcome is not None:
                break


def corpus_places(path: Path, half: str) -> Iterator[Place]:
    """The messages of people in one half of a corpus with goals; a goodbye ends the dialogue."""
    for dialogue in read(str(path)):
        if (int(digest("faults", dialogue.id), 16) % 2 == 0) != (half == "tune"):
            continue
        stage, turns = Stage(scenario_of(dialogue), 0), plain_turns(dialogue.turns)
        for at, turn in enumerate(turns):
            if turn.role == "user" and turn.text.strip():
                yield Place(stage, tuple(turns[:at]), parsed(turn.text), path.name.partition(".")[0])


def drawn(places: Sequence[Place], count: int, rng: np.random.Generator) -> list[Place]:
    """Some of the places, as many of each source."""
    sources = sorted({place.source for place in places})
    chosen: list[Place] = []
    for source in sources:
        mine = [place for place in places if place.source == source]
        taken = rng.permutation(len(mine))[: count // len(sources) + 1]
        chosen += [mine[at] for at in taken]
    return [chosen[at] for at in rng.permutation(len(chosen))[:count]]


def planted(kind: Kind, places: Sequence[Place], words: "Words", rng: np.random.Generator) -> Planted | None:
    """A fault at one of the places, drawn at random; None if it cannot be there."""
    place = places[int(rng.integers(len(places)))]
    other = places[int(rng.integers(len(places)))]
    text = _faulty(kind, place, other, words, rng)
    if text is None:
        return None
    return Planted(place, UserMessage(text, "goal" if kind == "early-end" else None), kind)


def _faulty(kind: Kind, place: Place, other: Place, words: "Words", rng: np.random.Generator) -> str | None:
    """The text of a fault; None if it cannot be at this place."""
    replies = [turn.text for turn in place.before if turn.role == "assistant" and turn.text.strip()]
    mine = [turn.text for turn in place.before if turn.role == "user"]
    if kind == "empty":
        return str(rng.choice(NOTHING))
    if kind == "echo":
        long = [text for text in replies if len(text.split()) >= 6]
        return str(rng.choice(MANNERS)) + long[-1] if long else None
    if kind == "repeat":
        long = [text for text in mine if len(text.split()) >= 6]
        return str(rng.choice(MANNERS)) + long[-1] if long and len(replies) > 1 else None
    if kind == "role-swap":
        said = [
            turn.text for turn in other.before if turn.role == "assistant" and len(turn.text.split()) >= 6
        ]
        return str(rng.choice(said)) if said and other.stage is not place.stage else None
    if kind == "leak":
        if rng.random() < 0.5:
            return str(rng.choice(words.leaks))
        told = INSTRUCTIONS.split()
        start = int(rng.integers(len(told) - 12))
        return " ".join(told[start : start + 12])
    if kind == "early-end":
        last = replies[-1].rstrip() if replies else ""
        asked = last.endswith("?") and " else" not in last and " more" not in last
        asked = asked and place.message.leaving is None
        return str(rng.choice(words.ends)) if not replies or asked else None
    values = [value for name, value in place.stage.facts.items() if len(value) > 1 and "reqt" not in name]
    if kind == "unasked":
        asked = bool(replies) and _FOR_A_FACT.search(replies[-1]) is not None
        told = {value for value in values if value.lower() in place.message.text.lower()}
        others = [value for value in values if value not in told]
        return f"It is {rng.choice(others)}." if asked and told and others else None
    return f"My number is {rng.choice(INVENTED)}." if values else None


class FaultyUser:
    """The user of the booking world, which commits one kind of fault at one message in eight."""

    concurrent: ClassVar[bool] = True

    def __init__(self, kind: Kind | None) -> None:
        self.kind, self.rules = kind, RuleUser()

    @property
    def signature(self) -> Signature:
        """The kind of fault."""
        return Signature("faulty", (("kind", str(self.kind)),))

    def __call__(self, stage: Stage, turns: Sequence[Turn], seed: int, /) -> UserMessage:
        """The message of the rules, or a fault."""
        message = self.rules(stage, turns, seed)
        rng = np.random.default_rng([seed, 2])
        if self.kind is None or message.leaving or rng.random() >= 1 / 8:
            return message
        place = Place(stage, tuple(turns), message, "booking")
        text = _faulty(self.kind, place, place, Words(NEW_LEAKS, NEW_ENDS), rng)
        if self.kind == "role-swap":
            text = "What is your budget, and when would you like to leave?"
        if text is None:
            return message
        return UserMessage(text, "goal" if self.kind == "early-end" else None)


def moved() -> dict[str, Any]:
    """The mean reward of eight sellers with a user who commits a fault now and then: counted, and tried again."""
    sellers = named("booking").family("behaviour", agents=8)
    means: dict[str, Any] = {}
    for kind in (None, *KINDS):
        for check in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                spec = Play(
                    scenarios="world:booking", agents=list(sellers), output=f"{folder}/runs.jsonl", user="rules",
                    limit=40, check=check, draws=100, max_errors=1000,
                )  # fmt: skip
                document = play(spec, others=sellers, user=FaultyUser(kind))
            rewards = [one.value for one in document.results if one.dimension == "reward"]
            row = means.setdefault(str(kind), {})
            row["set_apart" if check else "counted"] = float(np.mean(rewards))
            if check:
                row["dialogues_set_apart"] = sum(one.ends.get("simulator-fault", 0) for one in document.ends)
                row["messages_tried_again"] = sum(sum(one.discarded.values()) for one in document.ends)
    return means


def main() -> None:
    """Plant, look, and write the counts."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", type=Path, help="the folder of the corpora")
    options.add_argument("--half", choices=("tune", "report"), default="report")
    options.add_argument(
        "--show", action="store_true", help="print what is missed, and what is found falsely"
    )
    given = options.parse_args()
    seed = 0 if given.half == "tune" else 1
    rng = np.random.default_rng(seed)
    words = Words(LEAKS, ENDS) if given.half == "tune" else Words(NEW_LEAKS, NEW_ENDS)
    places = [
        *world_places("booking", 60, seed=seed), *world_places("task", 60, seed=seed),
        *corpus_places(given.data / "multiwoz_valtest.jsonl.gz", given.half),
    ]  # fmt: skip
    clean = drawn(places, CLEAN, rng)
    false = [(place, found) for place in clean if (found := fault(place.message, place.stage, place.before))]
    if given.show:
        for place, found in false:
            print(
                "FALSE",
                place.source,
                found,
                repr(place.message.text),
                "|",
                place.before[-1].text if place.before else "",
            )
    talk = drawn(list(corpus_places(given.data / "ji2022.jsonl.gz", given.half)), CLEAN, rng)
    named_in_talk = Counter(
        found.kind for place in talk if (found := fault(place.message, place.stage, place.before))
    )
    result: dict[str, Any] = {
        "small_talk": {
            "clean": len(talk),
            "false": sum(named_in_talk.values()),
            "false_by_kind": dict(named_in_talk),
        },
        "half": given.half,
        "clean": len(clean),
        "false": len(false),
        "false_by_source": dict(Counter(place.source for place, _ in false)),
        "false_by_kind": dict(Counter(found.kind for _, found in false)),
        "clean_by_source": dict(Counter(place.source for place in clean)),
        "kinds": {},
    }
    for kind in KINDS:
        made: list[Planted] = []
        for _ in range(EACH * 4000):
            if len(made) == EACH:
                break
            if (one := planted(kind, drawn_source(places, rng), words, rng)) is not None:
                made.append(one)
        looked = [fault(one.message, one.place.stage, one.place.before) for one in made]
        hits = sum(found is not None for found in looked)
        named_right = sum(found is not None and found.kind == kind for found in looked)
        if given.show:
            for one, found in zip(made, looked, strict=True):
                if found is None:
                    before = one.place.before[-1].text if one.place.before else ""
                    print("MISSED", kind, one.place.source, repr(one.message.text), "|", before)
        if kind == "leak":
            recited = [one.message.text in " ".join(INSTRUCTIONS.split()) for one in made]
            result["leaks"] = {
                "recited": sum(recited),
                "recited_found": sum(
                    found is not None for found, is_one in zip(looked, recited, strict=True) if is_one
                ),
                "reworded_found": sum(
                    found is not None for found, is_one in zip(looked, recited, strict=True) if not is_one
                ),
            }
        result["kinds"][kind] = {
            "planted": len(made), "found": hits, "recall": hits / max(1, len(made)),
            "recall_interval": wilson(hits, len(made)), "named_right": named_right,
            "precision": named_right / max(1, named_right + result["false_by_kind"].get(kind, 0)),
        }  # fmt: skip
    found = sum(one["found"] for one in result["kinds"].values())
    total = sum(one["planted"] for one in result["kinds"].values())
    result["recall"] = found / total
    result["precision"] = found / (found + len(false))
    result["false_share"] = len(false) / len(clean)
    if given.half == "report":
        result["moved"] = moved()
    print(json.dumps(result, indent=1))
    if given.half == "report":
        RESULT.write_text(json.dumps(result, indent=1) + "\n")


def drawn_source(places: Sequence[Place], rng: np.random.Generator) -> list[Place]:
    """The places of one source, drawn at random, so that each source has as many faults."""
    sources = sorted({place.source for place in places})
    source = sources[int(rng.integers(len(sources)))]
    return _BY_SOURCE.setdefault(source, [place for place in places if place.source == source])


_BY_SOURCE: dict[str, list[Place]] = {}


if __name__ == "__main__":
    main()
