"""The tasks that still need raters: shared tasks, which every rater gets, and other tasks, which get N raters each."""

from collections import defaultdict

from turnwise.web.study.definition import Study
from turnwise.web.study.seeded_order import shuffled
from turnwise.web.study.tasks import Task

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

    def needs_rater(self, task: Task, *, without: int) -> bool:
        """Whether the task needs another rater if `without` of its raters do not count."""
        return self._n_raters[task.id] - without < self._raters_per_task

    def add_rater(self, task: Task) -> None:
        """Count one more rater of the task, which must not be a shared one."""
        count = self._n_raters[task.id]
        self._n_raters[task.id] = count + 1
        self.given[task.agents] += 1
        self._by_agents[task.agents][count].pop(task.id)
        self._by_agents[task.agents][count + 1][task.id] = task

    def remove_rater(self, task: Task) -> None:
        """Count one rater less of the task, because a rater turned out to be unreliable."""
        count = self._n_raters[task.id]
        self._n_raters[task.id] = count - 1
        self.given[task.agents] -= 1
        self._by_agents[task.agents][count].pop(task.id)
        self._by_agents[task.agents][count - 1][task.id] = task

    def choose(self, groups_seen: set[str], rated: dict[Key, int]) -> Task | None:
        """The next task of a rater who has had `groups_seen` and rated each agent `rated` times; None if none is left.

        Agents that the rater has rated least come first, then those that all raters have rated least. Among their tasks
        those with the most raters come first, so that a study that ends early has few incomplete tasks.
        """
        for agents in sorted(self.given, key=lambda key: (rated.get(key, 0), self.given[key], key)):
            places = self._by_agents[agents]
            for count in sorted(
                (n for n, some in places.items() if some and n < self._raters_per_task), reverse=True
            ):
                for task in places[count].values():
                    if task.group not in groups_seen:
                        return task
        return None
