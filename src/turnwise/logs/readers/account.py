"""What a conversion understood: counts by role with an example each, agents, ratings, preferences, tools, images."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from turnwise.errors import counted
from turnwise.logs.dialogue import UNNAMED, is_reply
from turnwise.types import ROLES, Dialogue, Role

EXAMPLE = 60  # characters of an example
NAMED = 5  # names that a line lists


@dataclass(slots=True)
class Account:
    """Counts over the dialogues that were read."""

    dialogues: int = 0
    messages: Counter[Role] = field(default_factory=Counter)
    examples: dict[Role, str] = field(default_factory=dict)  # the first text of each role
    agents: Counter[str] = field(default_factory=Counter)  # dialogues of each
    unnamed: int = 0  # dialogues with messages of an agent that has no name
    replies: int = 0  # messages of the agents that are replies
    rated_replies: int = 0  # replies that are rated by themselves
    has_rated_turns: bool = False
    ratings: Counter[str] = field(default_factory=Counter)  # by dimension
    preferences: Counter[str] = field(default_factory=Counter)  # by dimension
    tool_calls: int = 0
    parts: Counter[str] = field(default_factory=Counter)  # content parts that are no text, by type

    @property
    def judged(self) -> int:
        """How many replies `score` judges: the rated ones if turns are rated, else all."""
        return self.rated_replies if self.has_rated_turns else self.replies

    def add(self, dialogue: Dialogue) -> None:
        """Count one dialogue."""
        self.dialogues += 1
        self.agents[dialogue.agent] += 1
        if dialogue.agent == UNNAMED and any(turn.role == "assistant" for turn in dialogue.turns):
            self.unnamed += 1
        rated = {rating.turn for rating in dialogue.ratings} - {None} if dialogue.ratings else ()
        self.has_rated_turns |= bool(rated)
        for place, turn in enumerate(dialogue.turns):
            role = turn.role
            self.messages[role] += 1
            if turn.content and role not in self.examples:
                self.examples[role] = turn.content
            if role == "assistant" and is_reply(turn):
                self.replies += 1
                self.rated_replies += place in rated
            if turn.extra:
                self.tool_calls += len(turn.tool_calls)
            if turn.parts:
                self.parts.update(str(part["type"]) for part in turn.parts if "text" not in part)
        if dialogue.ratings:
            self.ratings.update(rating.dimension for rating in dialogue.ratings)
        if dialogue.preferences:
            self.preferences.update(preference.dimension for preference in dialogue.preferences)

    def lines(self) -> Iterator[str]:
        """The account as indented lines: messages by role with an example, the five most frequent agents, other
        counts, and advice if agents have no name.
        """
        for role in ROLES:
            if count := self.messages[role]:
                text = " ".join(self.examples.get(role, "").split())
                cut = text if len(text) <= EXAMPLE else text[: EXAMPLE - 3] + "..."
                yield f"  {role:<10} {counted(count, 'message')}" + (
                    f', e.g. "{cut}"' if cut else ", no text"
                )
        named = [f"{name} ({counted(count, 'dialogue')})" for name, count in self.agents.most_common(NAMED)]
        more = [f"{len(self.agents) - NAMED} more"] if len(self.agents) > NAMED else []
        yield f"  agents: {', '.join([*named, *more])}"
        others = f" that are rated, of {self.replies} (--items all takes all)"
        yield (
            f"  scored replies: {self.judged}{others if self.judged < self.replies else ''}; "
            f"ratings: {_by_name(self.ratings)}; "
            f"preferences: {_by_name(self.preferences)}; tool calls: {self.tool_calls}; "
            f"images, audio and files: {_by_name(self.parts)}"
        )
        if unnamed := self.unnamed:
            some = f"{unnamed} of {counted(self.dialogues, 'dialogue')}"
            which = "the records" if unnamed == self.dialogues else some
            yield f"  {which} name no agent: give it with --agent NAME"


def _by_name(counts: Counter[str]) -> str:
    """`3 reward, 1 pass`, the most frequent first; `none` if there are no counts."""
    return ", ".join(f"{count} {name}" for name, count in counts.most_common()) or "none"
