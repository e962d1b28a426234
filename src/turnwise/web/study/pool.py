"""Which tasks still want raters: the shared ones, which everybody gets, and the others, which get N each."""

from collections import defaultdict

from turnwise.web.study.chance import ordered
from turnwise.web.study.definition import Study
from turnwise.web.study.tasks import Task

Key = tuple[str, ...]  # the agents that a task judges


class Pool:
    def __init__(self, study: Study, tasks: tuple[Task, ...]) -> None:
        self._wanted = study.per_task
        clusters = ordered({task.cluster for task in tasks}, study.seed, "shared", key=str)
        everyone = set(clusters[: study.quality.shared]) if study.mode not in ("write", "chat") else set()
        shared = [task for task in tasks if task.cluster in everyone]
        # One a group, as nobody meets a group twice: of three agents' pairs everybody judges the same one.
        chosen = {task.group: task for task in ordered(shared, study.seed, "pair", key=lambda task: task.id)}
        self.shared = tuple(task for task in shared if chosen[task.group] is task)
        self.others = tuple(task for task in tasks if task.cluster not in everyone)
        self._taken: dict[str, int] = {}
        self.given: dict[Key, int] = {}
        # agents -> raters so far -> the tasks, in an order of chance; dicts because a task moves between them
        self._open: dict[Key, dict[int, dict[str, Task]]] = defaultdict(lambda: defaultdict(dict))
        for task in ordered(self.others, study.seed, "order", key=lambda task: task.id):
            self._taken[task.id] = 0
            self.given.setdefault(task.agents, 0)
            self._open[task.agents][0][task.id] = task

    @property
    def left(self) -> int:
        """Places that are still to be given."""
        return len(self.others) * self._wanted - sum(min(n, self._wanted) for n in self._taken.values())

    def wants(self, task: Task, *, without: int) -> bool:
        """Whether the task wants another rater if `without` of those who have it do not count."""
        return self._taken[task.id] - without < self._wanted

    def take(self, task: Task) -> None:
        """One more rater has it."""
        count = self._taken[task.id]
        self._taken[task.id] = count + 1
        self.given[task.agents] += 1
        self._open[task.agents][count].pop(task.id)
        self._open[task.agents][count + 1][task.id] = task

    def release(self, task: Task) -> None:
        """One rater less has it: somebody who is not to be relied on."""
        count = self._taken[task.id]
        self._taken[task.id] = count - 1
        self.given[task.agents] -= 1
        self._open[task.agents][count].pop(task.id)
        self._open[task.agents][count - 1][task.id] = task

    def pick(self, met: set[str], judged: dict[Key, int]) -> Task | None:
        """A task for somebody who has met these groups: of the agents judged least, by them and then by all.

        A task that others have begun comes first: so that tasks get all their raters one after the other, and a
        study that ends early has few that are half done.
        """
        for agents in sorted(self.given, key=lambda key: (judged.get(key, 0), self.given[key], key)):
            places = self._open[agents]
            for count in sorted((n for n, some in places.items() if some and n < self._wanted), reverse=True):
                for task in places[count].values():
                    if task.group not in met:
                        return task
        return None
