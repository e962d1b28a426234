"""Rule-based chat agents: one policy, with parameters (habits) by which agents differ.

Like the sellers of the booking world they are pure functions of the turns so far and the generator.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.types import Reply, Turn
from turnwise.worlds.chat.topics import (
    TOPICS,
    Meaning,
    Persona,
    parse,
    persona_from_briefing,
    pick,
    statement,
)

# Voice -> the first sentences of its replies.
VOICES = {
    "plain": ("I see.", "That is interesting.", "I understand."),
    "lively": ("Wow, how cool is that!", "Haha, no way!", "Oh, I like that a lot!"),
}


@dataclass(frozen=True, slots=True)
class Habits:
    """The parameters of a chat agent. A number is the probability that it happens in a turn."""

    voice: str = "plain"
    contradicts: float = 0.0  # contradicts something that it said about itself
    repeats: float = 0.0  # repeats its last reply
    ignores: float = 0.0  # replies with a polite phrase only
    strays: float = 0.0  # changes to a topic that the user did not mention
    asks: float = 0.5  # asks a question
    shares: float = 0.7  # talks about itself where it fits the topic
    garbles: float = 0.0  # says a word twice and leaves out capitals and the full stop


@dataclass(frozen=True, slots=True)
class Talker:
    """An agent that chats by rules, with the given habits."""

    habits: Habits = Habits()

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        reply = self._fluent(turns, rng)
        if self.habits.garbles and rng.random() < self.habits.garbles:
            return Reply(garble(reply.content, rng))
        return reply

    def _fluent(self, turns: Sequence[Turn], rng: np.random.Generator) -> Reply:
        """The reply in whole sentences."""
        habits, own = self.habits, persona_from_briefing(turns[0])
        repeats, ignores, strays, contradicts, shares, asks = rng.random(6).tolist()
        user = parse(turns[-1].text)
        if repeats < habits.repeats and len(turns) > 2:
            return Reply(turns[-2].text)
        parts = [pick(VOICES[habits.voice], rng)]
        if ignores < habits.ignores:
            return Reply(parts[0])
        if strays < habits.strays:
            topic = pick([topic for topic in TOPICS if topic not in user.topics], rng)
            return Reply(f"{parts[0]} {_remark(topic, pick(TOPICS[topic].things, rng))}")
        parts.append(_on_topic_sentence(user, own, shares=shares < habits.shares))
        if contradicts < habits.contradicts:
            parts += _contradiction(turns, rng)
        if asks < habits.asks:
            parts.append(TOPICS[_unused_topic(turns, rng)].asks)
        return Reply(" ".join(parts))


def garble(text: str, rng: np.random.Generator) -> str:
    """The text in lower case, without its last full stop, and with one word twice."""
    words = text.lower().rstrip(".!?").split()
    at = int(rng.integers(len(words)))
    return " ".join([*words[: at + 1], *words[at:]])


def _on_topic_sentence(user: Meaning, own: Persona, *, shares: bool) -> str:
    """A sentence on the topic that the user asks about, else on one that the user mentions, else on the agent's first.

    The agent talks about itself if it has a thing on the topic and was asked or `shares`; else it comments or evades.
    """
    topic = (*(user.asks or sorted(user.topics)), *own)[0]
    if topic in own and (user.asks or shares):
        return statement(topic, own[topic])
    thing = user.claims.get(topic)
    return _remark(topic, thing) if thing else NO_THING[topic]


def _remark(topic: str, thing: str) -> str:
    """A comment on a thing of a topic that is not the speaker's own, with a capital letter."""
    text = TOPICS[topic].comment.format(thing)
    return text[:1].upper() + text[1:]


def _contradiction(turns: Sequence[Turn], rng: np.random.Generator) -> list[str]:
    """One sentence, in a list, that contradicts an earlier claim of the agent; empty if it has claimed nothing."""
    claimed = {
        topic: thing
        for turn in turns
        if turn.role == "assistant"
        for topic, thing in parse(turn.text).claims.items()
    }
    if not claimed:
        return []
    topic = pick(list(claimed), rng)
    return [
        f"In fact {statement(topic, pick([t for t in TOPICS[topic].things if t != claimed[topic]], rng))}"
    ]


def _unused_topic(turns: Sequence[Turn], rng: np.random.Generator) -> str:
    """A topic that the user has not talked or been asked about; any topic if there is none."""
    used = {
        topic
        for turn in turns[1:]
        for topic in (parse(turn.text).claims if turn.role == "user" else parse(turn.text).asks)
    }
    return pick([topic for topic in TOPICS if topic not in used] or list(TOPICS), rng)


# Topic -> what an agent says whose persona has nothing on this topic.
NO_THING = {
    "food": "I eat whatever there is.",
    "pet": "There are no pets around here.",
    "work": "Work is just work.",
    "music": "Music is not my thing.",
    "sport": "Sport is for others.",
    "home": "It is a nice city.",
    "travel": "Travel is expensive.",
    "books": "Books are patient.",
}
