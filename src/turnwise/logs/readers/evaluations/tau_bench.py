"""Results of tau-bench (v1): a JSON list of `{"task_id", "trial", "reward", "info", "traj"}`.

`traj` holds OpenAI messages with tool calls. The reward becomes a rating of the whole dialogue on the dimension
`reward`; its rater is `tau-bench`. The task is the goal. The file does not name the agent: `--agent` does.

A run that raised an error has no messages, a reward of 0 and `info.error`. Its error is the record's `failure`, its
reward is in `meta`, because it says nothing of the agent, and an empty message of the user stands for the messages.
"""

from collections.abc import Iterator
from typing import Any

from turnwise.logs.checks import each, number, optional, others, record, required
from turnwise.logs.dialogue import from_record
from turnwise.logs.readers.messages import NOTHING_SAID, inner, present, rating, text_at, trial_of
from turnwise.logs.readers.protocol_marks import message
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, dialogues
from turnwise.types import Dialogue

RECORD = frozenset({"traj", "reward", "info"})


def recognises(sample: Sample) -> bool:
    """Whether the first record has `traj`, `reward` and `task_id`."""
    return sample.has("traj", "reward", "task_id")


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a trial of a task."""
    return dialogues(path, dialogue, skip=(options or Options()).records_to_skip())


def dialogue(value: Any, default_id: str) -> Dialogue:
    """One result as a dialogue with the id `TASK-TRIAL`, or `default_id` without a task."""
    values = record(value)
    given = optional(values, "reward", number, default=None)
    info = optional(values, "info", record, default={})
    task = inner(info, "task")
    place = f"{values['task_id']}-{values.get('trial', 0)}" if "task_id" in values else default_id
    failure = text_at(info, "error")
    reward = None if failure else given
    native = {
        "id": place,
        "messages": list(required(values, "traj", each(message)))
        or ([dict(NOTHING_SAID)] if failure else []),
        "ratings": []
        if reward is None
        else [rating("reward", reward, rater="tau-bench", scale=(0, 1), automatic=True)],
        "goal": task if isinstance(task, dict) else None,
        "meta": {
            **others(values, RECORD),
            **present({"reward": given if failure else None}),
            "info": {key: one for key, one in info.items() if key != "task"},
        },
        **trial_of(values.get("task_id"), values.get("trial", 0), failure),
    }
    return from_record(native, default_id=default_id)
