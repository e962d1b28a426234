"""The tasks of a study, and those that still need raters. One `Task` is one page, which never names the agents.

Shared tasks are given to every rater, and each other task to N raters. Orders are random and depend only on the seed.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from typing import TypeVar

from turnwise.errors import DataError
from turnwise.logs.items.items import Selection, items
from turnwise.types import Dialogue, Item, Turn, digest
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
    expected: dict[str, float] = field(default_factory=dict)  # dimension -> right answer of a check
    password: str = ""  # word that a written attention check asks for
    feedback: str = ""  # why the right answer of a practice task is right

    @property
    def about(self) -> Dialogue | Item | None:
        """The dialogue or item whose goal and `meta` can be shown beside the task; None for an attention check."""
        return self.source or (self.items[0] if self.items else None)

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
        found = tuple((_beside_tasks if study.chat.beside else _chat_tasks)(dialogues, agents))
        if not found:
            raise DataError("chat.beside needs two agents: --agent A --agent B")
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
    """A task for each dialogue (its goal) and each agent."""
    for one in dialogues:
        for agent in agents:
            name = f"{one.id}@{agent}"
            yield Task(name, (agent,), one.id, _opening(one), group=name, source=one)


def _beside_tasks(dialogues: Sequence[Dialogue], agents: Sequence[str]) -> Iterator[Task]:
    """A task for each dialogue (its goal) and each two agents, who are talked to side by side."""
    for one in dialogues:
        for pair in combinations(agents, 2):
            yield Task(f"{one.id}@{pair[0]}|{pair[1]}", pair, one.id, _opening(one), group=one.id, source=one)


def _opening(one: Dialogue) -> tuple[Turn, ...]:
    """The turns with which a chat begins: those of role `system`."""
    return tuple(replace(turn, alternatives={}) for turn in one.turns if turn.role == "system")


T = TypeVar("T")


def uniform(seed: int, *names: object) -> float:
    """A uniform number in [0, 1) that depends only on the seed and the names (a hash)."""
    return int(digest(str(seed), *map(str, names)), 16) / 2**64


def shuffled(values: Iterable[T], seed: int, *names: object, key: Callable[[T], str]) -> list[T]:
    """The values in a random order that depends only on the seed, the names and the values' keys."""
    return sorted(values, key=lambda value: uniform(seed, *names, key(value)))


Key = tuple[str, ...]  # the agents whose replies a task shows


class OpenTasks:
    """Counts the raters of every task, and chooses the task that a rater gets next."""

    def __init__(self, study: Study, tasks: tuple[Task, ...]) -> None:
        self._raters_per_task = study.per_task
        clusters = shuffled({task.cluster for task in tasks}, study.seed, "shared", key=str)
        everyone = set(clusters[: study.quality.shared]) if study.mode not in ("write", "chat") else set()
        shared = [task for task in tasks if task.cluster in everyone]
        # One task per group, as a rater gets a group once: of the pairs of three agents, all raters get the same one.
        chosen = {task.group: task for task in shuffled(shared, study.seed, "pair", key=lambda task: task.id)}
        self.shared = tuple(task for task in shared if chosen[task.group] is task)
        self.others = tuple(task for task in tasks if task.cluster not in everyone)
        self._n_raters: dict[str, int] = {}  # task -> number of raters who have it
        self.given: dict[Key, int] = {}  # agents -> number of times their tasks were given
        # Agents -> number of raters so far -> the tasks, shuffled; dicts, because a task moves between them.
        self._by_agents: dict[Key, dict[int, dict[str, Task]]] = defaultdict(lambda: defaultdict(dict))
        for task in shuffled(self.others, study.seed, "order", key=lambda task: task.id):
            self._n_raters[task.id] = 0
            self.given.setdefault(task.agents, 0)
            self._by_agents[task.agents][0][task.id] = task

    @property
    def raters_missing(self) -> int:
        """The number of raters that the tasks still need, summed over tasks; shared tasks are not counted."""
        return len(self.others) * self._raters_per_task - sum(
            min(n, self._raters_per_task) for n in self._n_raters.values()
        )

    def add_rater(self, task: Task) -> None:
        """Count one more rater of the task, which must not be a shared one."""
        count = self._n_raters[task.id]
        self._n_raters[task.id] = count + 1
        self.given[task.agents] += 1
        self._move(task, count, count + 1)

    def remove_rater(self, task: Task) -> None:
        """Count one rater less of the task, because a rater turned out to be unreliable."""
        count = self._n_raters[task.id]
        self._n_raters[task.id] = count - 1
        self.given[task.agents] -= 1
        self._move(task, count, count - 1)

    def _move(self, task: Task, count: int, new_count: int) -> None:
        """Put a task among those with another number of raters."""
        by_count = self._by_agents[task.agents]
        del by_count[count][task.id]
        if not by_count[count]:
            del by_count[count]
        by_count[new_count][task.id] = task

    def choose(self, groups_seen: set[str], rated: dict[Key, int]) -> Task | None:
        """The next task of a rater who has had `groups_seen` and rated each agent `rated` times; None if none is left.

        Agents that the rater has rated least come first, then those that all raters have rated least. Among their tasks
        those with the most raters come first, so that a study that ends early has few incomplete tasks.
        """
        for agents in sorted(self.given, key=lambda key: (rated.get(key, 0), self.given[key], key)):
            by_count = self._by_agents[agents]
            for count in sorted(by_count, reverse=True):
                if count >= self._raters_per_task:
                    continue
                for task in by_count[count].values():
                    if task.group not in groups_seen:
                        return task
        return None
