"""The tasks of a study: one `Task` is one page. A page never names the agents."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations

from turnwise.errors import DataError
from turnwise.logs.items.items import Selection, items
from turnwise.types import Dialogue, Item, Turn
from turnwise.web.study.definition import Study


@dataclass(frozen=True, slots=True)
class Task:
    """What a rater sees and rates on one page."""

    id: str
    agents: tuple[str, ...]  # whose replies are rated; assignment balances them
    cluster: str  # tasks of the same context have the same cluster
    context: tuple[Turn, ...]  # turns that are shown, but not rated
    # What is rated: one reply, or two side by side, each one turn or a whole dialogue. Empty if the context itself is
    # rated, and in the modes `write` and `chat`.
    replies: tuple[tuple[Turn, ...], ...] = ()
    items: tuple[Item, ...] = ()  # what the ratings belong to
    group: str = ""  # a rater gets one task of each group
    source: Dialogue | None = None  # mode `chat`: the dialogue that has the goal
    expected: dict[str, float] = field(default_factory=dict)  # of an attention check: dimension -> answer
    password: str = ""  # of an attention check in which people write

    @property
    def visible_turns(self) -> tuple[Turn, ...]:
        """All turns on the page: the context, then the replies."""
        return (*self.context, *chain.from_iterable(self.replies))


def make_tasks(
    study: Study, dialogues: Sequence[Dialogue], selection: Selection, *, agents: Sequence[str] = ()
) -> tuple[Task, ...]:
    """The tasks of a study without those that have an incomplete item, so there may be none.

    They are in the order of the data; in the mode `write` dialogues that end with a user's turn come first. `agents`
    are those of live chats. Raises `DataError` in the mode `pairwise` if no context has replies of two agents.
    """
    if study.mode == "chat":
        found = tuple(_chat_tasks(dialogues, agents))
    elif study.mode == "write":
        found = tuple(_writing_tasks(dialogues, selection))
    elif study.mode == "pairwise":
        found = tuple(_pairwise_tasks(items(dialogues, selection, whole=study.whole)))
        if not found:
            raise DataError(
                "no context has replies of two agents; --as @alternatives or --pair KEY may pair them"
            )
    else:
        found = tuple(
            _single_task(item) for item in items(dialogues, selection, whole=study.mode == "dialogue")
        )
    return tuple(task for task in found if not any(item.missing for item in task.items))


def _single_task(item: Item) -> Task:
    """The task to rate one reply or one dialogue."""
    replies = () if item.turn is None else (item.turns[-1:],)
    return Task(item.id, (item.agent,), item.cluster, item.context, replies, (item,), group=item.id)


def _pairwise_tasks(found: Iterable[Item]) -> Iterator[Task]:
    """The tasks to compare each two agents in each context; only the first sample of an agent is used."""
    by_pair: dict[str, dict[str, Item]] = {}
    for item in found:
        by_pair.setdefault(item.pair, {}).setdefault(item.agent, item)
    for pair, by_agent in by_pair.items():
        for a, b in combinations(by_agent.values(), 2):
            yield Task(
                id=f"{a.id}|{b.id}",
                agents=(a.agent, b.agent),
                cluster=a.cluster,
                context=() if a.turn is None else a.context,
                replies=(_rated_turns(a), _rated_turns(b)),
                items=(a, b),
                group=pair,
            )


def _rated_turns(item: Item) -> tuple[Turn, ...]:
    """The turns that are rated: the reply, or the whole dialogue."""
    return item.turns if item.turn is None else item.turns[-1:]


def _writing_tasks(dialogues: Sequence[Dialogue], selection: Selection) -> Iterator[Task]:
    """The tasks to write a reply: to each dialogue that ends with a user's turn, and to each context in the others.

    A context that several agents replied to gives one task.
    """
    open_ended = [one for one in dialogues if one.turns[-1].role == "user"]
    for one in open_ended:
        turns = (*one.turns, Turn("assistant", ""))
        item = Item(f"{one.id}#{len(one.turns)}", one.id, "human", turns, len(one.turns), one.id, one.id)
        yield Task(item.id, (), item.cluster, one.turns, (), (item,), group=item.id)
    answered = [one for one in dialogues if one.turns[-1].role != "user"]
    seen: set[str] = set()
    for item in items(answered, selection) if answered else ():
        if item.pair not in seen and item.context:
            seen.add(item.pair)
            yield Task(item.id, (), item.cluster, item.context, (), (item,), group=item.pair)


def _chat_tasks(dialogues: Sequence[Dialogue], agents: Sequence[str]) -> Iterator[Task]:
    """A task for each dialogue (its goal) and each agent; the chat begins with all turns of role `system`."""
    for one in dialogues:
        opening = tuple(replace(turn, alternatives={}) for turn in one.turns if turn.role == "system")
        for agent in agents:
            name = f"{one.id}@{agent}"
            yield Task(name, (agent,), one.id, opening, group=name, source=one)
