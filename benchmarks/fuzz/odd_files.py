"""Small odd files of dialogues: each is valid for the most part, and unusual in a few ways at once.

The ways are chosen once for a file, so that most files pass the reader and reach the statistics: no agent, one dialogue
an agent, empty contents, equal ratings, ratings near the limits of a float, one rater, alternatives that are missing in
places, integers beyond 64 bits in unknown keys.
"""

import gzip
import json
import random
from codecs import BOM_UTF8
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WORDS = "the a cat dog sat ran mat log yes no why i you it is was red blue hello thanks sure maybe never seven".split()
ODD_TEXTS = (
    "", " ", "\n", "nan", "NaN", "inf", "-Infinity", "null", "None", "0", "-0", "1e999", "[]", '{"role": "user"}',
    "?", "...", "é", "e\u0301", "日本語のテキスト", "مرحبا بالعالم", "👩‍👩‍👧‍👦",
    "\u200b", "\ufeff", "\u2028", "\x00", "\x1b[31mred",
    "a" * 300, "word " * 120, "<b>&amp;</b>", "% s {} {0} %(x)s", "\\", '"', "'", "I have booked flight 1012 for Ann.",
    "ß", "İ", "\U0001f1e9\U0001f1ea", "\u00a0", "x,y", "$1", "[restaurant_name] has [restaurant_phone] .",
)  # fmt: skip
ODD_NAMES = (
    "good", "poor", "human", "unknown", "a b", "a,b", "A", "é", "日本", "0", "1", "nan", "@alternatives", "x=y", "a:b",
    "none", "all", "mean", "a/b", "..", "[x]", "x" * 70, "<i>", "\u202e", "overall", "robust", "file", "meta.k", "-",
)  # fmt: skip
DIMENSIONS = ("overall", "fluent", "rude", "é", "all", "a b", "x,y", "nan", "overall[1-5]", "length")
META_KEYS = ("corpus", "k", "year", "é", "a.b", "weight", "")
HUGE = (2**63, 2**64, -(2**63) - 1, 10**30, 10**400, 10**4200, 2**53 + 1)
EXTREMES = (1e50, -1e50, 1e49, 5e-324, -5e-324, 1e-300, 1e16, 2**53 + 1, 2**63, 10**30, 1e25, -1e25, 0, -0.0)
GOAL = {"restaurant": {"info": {"food": "indian", "pricerange": "cheap"}, "reqt": ["phone"]}}
STATE = {"restaurant": {"food": "indian", "pricerange": "cheap"}}


@dataclass
class Names:
    """The names that occur in the files of a scene, from which option values are drawn."""

    agents: list[str] = field(default_factory=list)
    alternatives: list[str] = field(default_factory=list)
    dimensions: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


class Maker:
    """Makes the records of one file in the ways that `rng` chose for it; `names` has the names that it used."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.file = ""
        self.names = Names()
        some = self._some
        agents = ["good", "fair", "poor", "new", "old", "tenth"] if rng.random() < 0.6 else list(ODD_NAMES)
        count = rng.choice((0, 1, 1, 2, 2, 2, 3, 4, 5, 6))
        self.names.agents = rng.sample(agents, count)
        others = rng.sample(agents, rng.choice((0, 0, 1, 2, len(agents) // 2)))
        with_own = rng.random() < 0.6  # whether the logging agents have alternatives too
        self.names.alternatives = list(dict.fromkeys([*others, *(self.names.agents if with_own else ())]))
        if rng.random() < 0.3:
            self.names.alternatives = []
        self.names.dimensions = rng.sample(DIMENSIONS, rng.choice((0, 1, 1, 1, 1, 1, 1, 1, 2, 3)))
        if self.names.dimensions and rng.random() < 0.7:
            self.names.dimensions[0] = "overall"
        self.names.keys = rng.sample(META_KEYS, rng.choice((0, 0, 1, 2)))
        self.exchanges = some((1, 1, 2, 3, 6))
        self.roles = some(("usual",) * 8 + ("assistant", "user", "system", "assistant first", "any"))
        self.texts = some(("words",) * 4 + ("odd", "odd", "empty", "same", "one word", "long"))
        self.contexts = some(("different", "different", "shared", "shared", "same"))
        self.references = some(("none", "some", "some", "same as the reply", "odd"))
        self.missing = some((0.0, 0.0, 0.0, 0.1, 0.5))  # share of places without alternatives
        self.samples = some((1, 1, 1, 2, 4))
        self.rated = some(
            (
                "dialogues",
                "dialogues",
                "turns",
                "turns",
                "both",
                "few",
                "few",
                "few turns",
                "few turns",
                "last",
            )
        )
        self.raters = some(
            (["ann"], ["ann", "ben"], ["ann", "ben", "cho"], ["mean"], ["é", "1"], ["r1", "r1"])
        )
        self.scale = some((None, None, [1, 5], [1, 5], [0, 1], [-1e50, 1e50], [2.5, 3]))
        self.values = {
            name: some(("scale", "scale", "scale", "constant", "constant by agent", "two", "extreme", "real"))
            for name in self.names.dimensions
        }
        self.direction = some((None, None, None, "lower", "higher"))
        self.preferring = rng.random() < 0.2
        self.task = rng.random() < 0.12
        self.outcomes = rng.random() < 0.1
        self.unknown_keys = rng.random() < 0.25
        self.tools = rng.random() < 0.1
        self.parts = rng.random() < 0.1
        self.ids = some(("strings",) * 24 + ("none", "none", "odd", "odd", "repeated"))
        if rng.random() < 0.3:
            self._rate_logs_of_many()

    def _rate_logs_of_many(self) -> None:
        """Make the file one that `ope` can use: many rated agents, and what each would have said everywhere."""
        rng = self.rng
        self.names.agents = [f"agent{number}" for number in range(rng.choice((4, 5, 6)))]
        self.names.alternatives = [*self.names.agents, "target"]
        self.names.dimensions = self.names.dimensions or ["overall"]
        self.values = {name: self.values.get(name, "scale") for name in self.names.dimensions}
        self.roles, self.rated = "usual", self._some(("dialogues", "dialogues", "turns", "both", "few"))
        self.missing = self._some((0.0, 0.0, 0.0, 0.0, 0.01))
        self.exchanges = self._some((1, 2))

    def _some(self, choices: Any) -> Any:
        return self.rng.choice(choices)

    def text(self) -> str:
        """A text of this file's kind."""
        rng, kind = self.rng, self.texts
        if kind == "odd" or rng.random() < 0.03:
            return rng.choice(ODD_TEXTS)
        if kind == "empty":
            return rng.choice(("", "", " ", "x"))
        if kind == "same":
            return "the same words always"
        if kind == "one word":
            return rng.choice(WORDS)
        return " ".join(rng.choices(WORDS, k=rng.choice((1, 3, 6, 9) if kind == "words" else (200,))))

    def huge(self) -> Any:
        """A value for an unknown key: mostly an integer beyond 64 bits, or something nested."""
        deep: Any = [1]
        for _ in range(40):
            deep = {"a": deep}
        return self._some((*HUGE, 1e-320, True, None, "x", [], {}, [None, {"a": 10**30}], deep))

    def records(self, count: int, *, file: str = "") -> list[dict[str, Any]]:
        """The dialogues of a file; its name is a part of their ids, which else occur in several files."""
        self.file = file
        found = [self.record(number) for number in range(count)]
        if self.preferring and len(found) > 1:
            self._prefer(found)
        return found

    def record(self, number: int) -> dict[str, Any]:
        """One dialogue."""
        rng = self.rng
        messages = self._messages(number)
        record: dict[str, Any] = {"messages": messages}
        if self.ids != "none":
            name = {"strings": f"{self.file}{number}", "repeated": f"d{number // 2}"}.get(self.ids)
            record["id"] = name if name is not None else f"{rng.choice(ODD_NAMES)}{number}"
        agent = self.names.agents[number % len(self.names.agents)] if self.names.agents else None
        if agent is not None:
            record["agent"] = agent
        ratings = self._ratings(messages, agent)
        if ratings:
            record["ratings"] = ratings
        if self.names.keys:
            record["meta"] = {
                key: rng.choice(
                    (1, 2, "a", "b", "nan", 0.5, -1, True, None, 10**30, {"x": 1}, [1], 1e308, "é")
                )
                for key in self.names.keys
            }
        if self.task:
            record["goal"] = rng.choice(
                (GOAL, GOAL, {}, {"restaurant": {}}, {"nowhere": {"info": {"x": "y"}}})
            )
        if self.unknown_keys:
            record[rng.choice(("extra", "é", "Infinity"))] = self.huge()
        return record

    def _messages(self, number: int) -> list[dict[str, Any]]:
        """The messages of a dialogue, with references, alternatives and whatever else the file has."""
        rng = self.rng
        kinds = {
            "usual": ["user", "assistant"] * self.exchanges,
            "assistant": ["assistant"] * self.exchanges,
            "user": ["user"] * self.exchanges,
            "system": ["system"],
            "assistant first": ["assistant", "user"] * self.exchanges,
            "any": [rng.choice(("user", "assistant", "system", "tool")) for _ in range(self.exchanges + 1)],
        }
        messages: list[dict[str, Any]] = []
        shared = {"different": number, "shared": number // max(1, len(self.names.agents)), "same": 0}[
            self.contexts
        ]
        for place, role in enumerate(kinds[self.roles]):
            before = f"question {shared} {place}" if role == "user" and self.texts == "words" else None
            message: dict[str, Any] = {"role": role, "content": before or self.text()}
            if role == "assistant":
                self._annotate(message)
            if role == "tool":
                message["tool_call_id"] = "c1"
            if self.unknown_keys and rng.random() < 0.3:
                message["more"] = self.huge()
            messages.append(message)
        return messages

    def _annotate(self, message: dict[str, Any]) -> None:
        """Add what only a reply has."""
        rng = self.rng
        if self.references != "none":
            message["references"] = {
                "some": [self.text() for _ in range(rng.choice((1, 1, 2, 5)))],
                "same as the reply": [message["content"]],
                "odd": rng.choice(([], [""], [" ", ""], ["?"])),
            }[self.references]
        there = {
            name: self._alternative() for name in self.names.alternatives if rng.random() >= self.missing
        }
        if there:
            message["alternatives"] = there
        if self.outcomes and rng.random() < 0.5:
            message["outcome"] = {name: rng.choice((0, 1, 1e50)) for name in self.names.dimensions}
        if self.task:
            message["state"] = rng.choice((STATE, STATE, {}, {"restaurant": {}}, {"x": {"y": "z"}}))
            message["acts"] = rng.choice(([], [["inform", "food", "indian"]]))
        if self.tools and rng.random() < 0.5:
            call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
            message |= {"content": rng.choice((None, message["content"])), "tool_calls": [call]}
        elif self.parts and rng.random() < 0.5:
            image = {"type": "image_url", "image_url": {"url": "data:,x"}}
            message["content"] = rng.choice(([{"type": "text", "text": message["content"]}, image], [image]))

    def _alternative(self) -> Any:
        """What another agent would have said: a text, or samples."""
        rng = self.rng
        if rng.random() < 0.02:
            return rng.choice(("", [""], [" ", ""]))
        if self.samples == 1:
            return self.text()
        return [
            {"content": self.text(), "outcome": {"overall": rng.choice((0, 1, 0.5))}}
            if self.outcomes
            else self.text()
            for _ in range(rng.randint(1, self.samples))
        ]

    def _ratings(self, messages: list[dict[str, Any]], agent: str | None) -> list[dict[str, Any]]:
        """The ratings of a dialogue, of its replies, or of both."""
        rng = self.rng
        replies = [place for place, one in enumerate(messages) if one["role"] == "assistant"]
        places: list[int | None] = {
            "dialogues": [None],
            "turns": replies,
            "both": [None, *replies],
            "few": [None] if rng.random() < 0.3 else [],
            "few turns": replies if rng.random() < 0.4 else [],
            "last": replies[-1:],
        }[self.rated]
        found = []
        for name in self.names.dimensions:
            for place in places:
                for rater in self.raters:
                    rating: dict[str, Any] = {
                        "dimension": name,
                        "value": self._value(name, agent),
                        "rater": rater,
                    }
                    if place is not None:
                        rating["turn"] = place
                    if self.scale is not None:
                        rating["scale"] = list(self.scale)
                        rating["value"] = min(max(rating["value"], self.scale[0]), self.scale[1])
                    if self.direction is not None:
                        rating["direction"] = self.direction
                    found.append(rating)
        return found

    def _value(self, name: str, agent: str | None) -> float:
        """A rating on this dimension."""
        rng, kind = self.rng, self.values[name]
        if kind == "constant":
            return 3
        if kind == "constant by agent":
            return float(len(agent or "") % 5)
        if kind == "two":
            return rng.choice((0, 1))
        if kind == "extreme":
            return rng.choice(EXTREMES)
        if kind == "real":
            return rng.gauss(0, 1)
        return rng.randint(1, 5)

    def _prefer(self, records: list[dict[str, Any]]) -> None:
        """Add choices between records that have an id."""
        rng = self.rng
        named = [one for one in records if "id" in one]
        for _ in range(rng.choice((1, 3, len(records)))):
            if len(named) < 2:
                return
            this, other = rng.sample(named, 2)
            choice: dict[str, Any] = {
                "other": other["id"],
                "winner": rng.choice(("this", "other", "tie", "both_bad")),
                "dimension": rng.choice(self.names.dimensions or ["overall"]),
            }
            if rng.random() < 0.7:
                choice["rater"] = rng.choice(self.raters)
            if rng.random() < 0.5:
                choice["turn"] = len(this["messages"]) - 1
            if rng.random() < 0.3:
                choice["shown"] = rng.choice(("first", "second"))
            this.setdefault("preferences", []).append(choice)


def spoil(records: list[dict[str, Any]], rng: random.Random) -> None:
    """Put another value in one place of the records, or remove what is there."""
    value: Any = records
    while True:
        places = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not places:
            return
        place = rng.choice(places)
        if not isinstance(value[place], dict | list) or not value[place] or rng.random() < 0.2:
            break
        value = value[place]
    if rng.random() < 0.4 and value is not records:
        del value[place]
    else:
        value[place] = rng.choice(
            (None, 7, -1, "x", "", [], {}, [1], {"a": 1}, True, 1e308, 10**400, "\ud800", [[[]]], 0.5)
        )


def write(path: Path, records: list[dict[str, Any]], rng: random.Random) -> None:
    """Write the records as JSON Lines, now and then with a byte order mark, blank lines or CRLF; `.gz` compresses."""
    ascii_only = rng.random() < 0.5
    end = rng.choice(("\n",) * 8 + ("\r\n", "\n\n", " \n"))
    text = "".join(json.dumps(record, ensure_ascii=ascii_only) + end for record in records)
    if rng.random() < 0.1:
        text = text.rstrip("\r\n ")
    data = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.05:
        data = BOM_UTF8 + data
    path.write_bytes(gzip.compress(data, 1) if path.suffix == ".gz" else data)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The bytes with one to three changes: a flip, a cut, a copy, or something put in."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(0, len(found))
        end = min(len(found), at + rng.choice((1, 1, 2, 5, 40)))
        kind = rng.randrange(5)
        if kind == 0 and at < len(found):
            found[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del found[at:end]
        elif kind == 2:
            found[at:at] = found[at:end]
        elif kind == 3:
            found[at:end] = rng.choice(
                (b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\n", b"\x00", b"\xff", b"null", b"NaN", b"1e999",
                 b"-", b"0", b'"\\ud800"', b"\xe2\x80\xa8", b"9" * 400, b"[" * 3000, b'{"a":' * 300)
            )  # fmt: skip
        else:
            found[at:at] = rng.randbytes(rng.randint(1, 4))
    return bytes(found)
