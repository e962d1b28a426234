"""What other agents would have said: an item reworded with their alternatives, in their names."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from turnwise.types import Item, Reply, Turn

REFERENCE_ACTS = "reference_acts"  # key of a turn's `extra`: dialogue acts of its reference
SILENT = "no alternative of this agent"  # why an item has nothing to score


@dataclass(frozen=True, slots=True)
class Point:
    """An item as it was logged, and the indices of its selected turns, where other agents may speak instead."""

    item: Item
    indices: tuple[int, ...]

    @property
    def open(self) -> tuple[int, ...]:
        """The indices of the selected turns that have alternatives of some agent."""
        return tuple(index for index in self.indices if self.item.turns[index].alternatives)

    @property
    def speakers(self) -> dict[str, None]:
        """The agents that have alternatives at some selected turn, in order of appearance; a dict serves as an
        ordered set.
        """
        return {agent: None for index in self.open for agent in self.item.turns[index].alternatives}

    def spoken_by(self, agents: Sequence[str]) -> Iterator[Item]:
        """The item in each agent's words, one item a sample, with weights that add up to 1 for an agent.

        An agent without an alternative at one of the open turns has one item with `missing` set, so that agents
        are compared on the same items. No items if no selected turn has alternatives.
        """
        indices = self.open
        for agent in dict.fromkeys(agents) if indices else ():
            samples = {index: self.item.turns[index].alternatives.get(agent, ()) for index in indices}
            # Ratings are of the logged reply, not of the alternatives.
            named = replace(self.item, id=f"{self.item.id}@{agent}", agent=agent, ratings=())
            if not all(samples.values()):
                yield replace(named, turns=self._reworded(dict.fromkeys(indices)), missing=SILENT)
                continue
            count = max(map(len, samples.values()))
            for k in range(count):
                said = {index: replies[k % len(replies)] for index, replies in samples.items()}
                identity = named.id + (f"~{k}" if count > 1 else "")
                yield replace(named, id=identity, turns=self._reworded(said), weight=1 / count)

    def _reworded(self, said: Mapping[int, Reply | None]) -> tuple[Turn, ...]:
        """The turns of the item with those at the keys of `said` replaced; None leaves a turn without content."""
        return tuple(
            self._instead(turn, said[index]) if index in said else turn
            for index, turn in enumerate(self.item.turns)
        )

    def _instead(self, turn: Turn, reply: Reply | None) -> Turn:
        """The turn with the words of `reply`, or without content if there is none.

        If a person said the logged words, they are the reference of a turn that has no other. Logged acts and
        tool calls go, because they belong to the logged reply; acts of a person's reply are kept as those of
        the reference. The state, which is of the user's last message, stays.
        """
        spoken = (turn.text,) if self.item.agent == "human" else ()
        references = turn.references or spoken
        extra = {REFERENCE_ACTS: turn.acts} if turn.acts and references == spoken else {}
        if reply is None:  # and not the logged words, which are another's
            return Turn(turn.role, None, references, state=turn.state, extra=extra)
        return Turn(
            turn.role, reply.content, references, outcome=reply.outcome, state=turn.state, extra=extra
        )
