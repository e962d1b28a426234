"""Counts the trials of each task, for a note on what is resampled and paired."""

from collections.abc import Iterable

from turnwise.errors import counted
from turnwise.types import Item

SHOWN = 3  # agents that a note names


class Trials:
    """The dialogues of each agent about each task, over items that are given in parts."""

    def __init__(self) -> None:
        self.paired = False  # whether agents are paired by task
        self._dialogues: dict[str, dict[str, set[str]]] = {}  # agent -> task -> ids

    def add(self, items: Iterable[Item]) -> None:
        """Count some more items; those without a task are left out."""
        self.count((item.agent, item.task, item.dialogue) for item in items if item.task)

    def count(self, dialogues: Iterable[tuple[str, str, str]]) -> None:
        """Count some more dialogues: agent, task and id of each."""
        for agent, task, dialogue in dialogues:
            self._dialogues.setdefault(agent, {}).setdefault(task, set()).add(dialogue)

    def notes(self) -> list[str]:
        """A line for agents with the same numbers of tasks and trials, if a task has several trials of one agent, or if
        agents are paired by task.
        """
        agents: dict[str, list[str]] = {}
        for agent, tasks in self._dialogues.items():
            if self.paired or max(map(len, tasks.values())) > 1:
                agents.setdefault(_numbers(tasks), []).append(agent)
        pairs = ", and agents are paired by task, by the mean of its items" if self.paired else ""
        return [
            f"{', '.join(names[:SHOWN])}{f' and {len(names) - SHOWN} more' if names[SHOWN:] else ''}: {numbers}; whole "
            f"tasks are resampled{pairs}"
            for numbers, names in agents.items()
        ]


def _numbers(tasks: dict[str, set[str]]) -> str:
    """How many tasks there are, and how many trials each has."""
    trials = sorted(map(len, tasks.values()))
    each = f"{trials[0]}" if trials[0] == trials[-1] else f"{trials[0]} to {trials[-1]}"
    return f"{counted(len(tasks), 'task')} with {each} trial{'' if each == '1' else 's'} each"
