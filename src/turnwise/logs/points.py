"""What other agents would have said: an item reworded with their alternatives, in their names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from turnwise.types import Item, Reply, Turn

EVERYONE = "@alternatives"  # stands for all agents that have alternatives


@dataclass(frozen=True, slots=True)
class Point:
    """An item as it was logged, and the places in its turns where other agents may speak instead."""

    item: Item
    places: tuple[int, ...]

    @property
    def open(self) -> tuple[int, ...]:
        return tuple(place for place in self.places if self.item.turns[place].alternatives)

    @property
    def speakers(self) -> dict[str, None]:
        return {agent: None for place in self.open for agent in self.item.turns[place].alternatives}

    def spoken_by(self, agents: Sequence[str]) -> Iterator[Item]:
        """The item in each agent's words, an item a sample; none where the agent is silent at some place."""
        turns, places = self.item.turns, self.open
        for agent in self.speakers if EVERYONE in agents else dict.fromkeys(agents):
            samples = {place: turns[place].alternatives.get(agent, ()) for place in places}
            if not samples or not all(samples.values()):
                continue
            count = max(map(len, samples.values()))
            for k in range(count):
                said = {place: replies[k % len(replies)] for place, replies in samples.items()}
                yield replace(
                    self.item,
                    id=f"{self.item.id}@{agent}" + (f"~{k}" if count > 1 else ""),
                    agent=agent,
                    turns=tuple(
                        self._reworded(turn, said[place]) if place in said else turn
                        for place, turn in enumerate(turns)
                    ),
                    weight=1 / count,
                )

    def _reworded(self, turn: Turn, reply: Reply) -> Turn:
        """The turn with another reply; what a person said there is a reference, if there is no other.

        The logged acts and tool calls go, as they belong to the logged reply; the state, which is of the
        user's last message, stays.
        """
        spoken = (turn.text,) if self.item.agent == "human" else ()
        references = turn.references or spoken
        return Turn(turn.role, reply.content, references, outcome=reply.outcome, state=turn.state)
