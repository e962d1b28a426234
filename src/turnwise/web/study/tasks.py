"""What raters are asked about: one `Task` is one page. Which agent made what is never on it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations

from turnwise.errors import DataError
from turnwise.logs.items.items import Selection, items
from turnwise.types import Dialogue, Item, Turn
from turnwise.web.study.definition import Study


@dataclass(frozen=True, slots=True)
class Task:
    id: str
    agents: tuple[str, ...]  # who is judged here: what assignment balances
    cluster: str  # its context
    context: tuple[Turn, ...]  # what is shown
    # What is judged: one reply, or two side by side, each a turn or a whole conversation; none where people
    # judge the context itself, write or talk.
    replies: tuple[tuple[Turn, ...], ...] = ()
    items: tuple[Item, ...] = ()  # what the answer is about
    group: str = ""  # a rater meets each group once
    source: Dialogue | None = None  # of a live conversation: its goal
    expected: dict[str, float] = field(default_factory=dict)  # of an attention check: dimension -> answer
    password: str = ""  # of an attention check in which people write

    @property
    def shown(self) -> tuple[Turn, ...]:
        """Everything that is said on the page."""
        return (*self.context, *chain.from_iterable(self.replies))


def tasks(
    study: Study, dialogues: Sequence[Dialogue], selection: Selection, *, agents: Sequence[str] = ()
) -> tuple[Task, ...]:
    """Every task of a study, in the order of the data."""
    if study.mode == "chat":
        found = tuple(_talks(dialogues, agents))
    elif study.mode == "write":
        found = tuple(_gaps(dialogues, selection))
    elif study.mode == "pairwise":
        found = tuple(_pairs(items(dialogues, selection, whole=study.whole)))
        if not found:
            raise DataError(
                "no two agents answered the same context; --as @alternatives or --pair KEY may pair them"
            )
    else:
        found = tuple(_single(item) for item in items(dialogues, selection, whole=study.mode == "dialogue"))
    return tuple(task for task in found if not any(item.missing for item in task.items))


def _single(item: Item) -> Task:
    replies = () if item.turn is None else (item.turns[-1:],)
    return Task(item.id, (item.agent,), item.cluster, item.context, replies, (item,), group=item.id)


def _pairs(found: Iterable[Item]) -> Iterator[Task]:
    """Every two agents at each context; of several samples of an agent, the first."""
    answers: dict[str, dict[str, Item]] = {}
    for item in found:
        answers.setdefault(item.pair, {}).setdefault(item.agent, item)
    for pair, by_agent in answers.items():
        for a, b in combinations(by_agent.values(), 2):
            yield Task(
                id=f"{a.id}|{b.id}",
                agents=(a.agent, b.agent),
                cluster=a.cluster,
                context=() if a.turn is None else a.context,
                replies=(_judged(a), _judged(b)),
                items=(a, b),
                group=pair,
            )


def _judged(item: Item) -> tuple[Turn, ...]:
    return item.turns if item.turn is None else item.turns[-1:]


def _gaps(dialogues: Sequence[Dialogue], selection: Selection) -> Iterator[Task]:
    """Contexts that want a reply: a dialogue that ends with the user's words, else what its judged turns answer."""
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


def _talks(dialogues: Sequence[Dialogue], agents: Sequence[str]) -> Iterator[Task]:
    """Each goal with each agent. What the system says to the agent opens the conversation."""
    for one in dialogues:
        opening = tuple(replace(turn, alternatives={}) for turn in one.turns if turn.role == "system")
        for agent in agents:
            name = f"{one.id}@{agent}"
            yield Task(name, (agent,), one.id, opening, group=name, source=one)
