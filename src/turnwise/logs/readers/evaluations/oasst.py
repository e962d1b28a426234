"""OpenAssistant's trees of messages, and its messages as rows, from which the trees are built again.

Each way from the prompt to a message without replies is one dialogue, which has the id of its last message. A reply
that several ways share is judged in the first of them alone. People ranked the replies to the same message (`rank`, 0
is the best): each pair of ranked replies of the assistant is a preference, a tie where the ranks are equal. Labels
(`quality`, `toxicity`, ...) are ratings from 0 to 1 of the reply by the mean of its raters. Synthetic replies have
their model as the agent, all others `human`.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from turnwise.logs.checks import array, name, optional, others, record, required, text
from turnwise.logs.dialogue import JUDGED, from_record, other_entries
from turnwise.logs.readers.messages import inner, rating, text_at
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, records
from turnwise.types import Dialogue

ROLES = {"prompter": "user", "assistant": "assistant", "system": "system"}
MESSAGE = frozenset({"text", "role", "replies", "labels"})
TREE = frozenset({"prompt", "message_tree_id"})
OF_ROW = ("message_tree_id", "tree_state")  # keys of a row that are the tree's
SCALE = (0.0, 1.0)
Record = dict[str, Any]
Way = list[Record]  # the messages from the prompt to a message


def recognises(sample: Sample) -> bool:
    """Whether the first record is a tree, or a message of one."""
    return text_at(sample.first, "prompt", "message_id") is not None or sample.has(
        "message_id", "parent_id", "text", "role", "message_tree_id"
    )


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """The dialogues of each tree; rows are gathered, and trees come in the order of their prompts."""
    options = options or Options()
    rows: list[Record] = []
    for value, place, located in records(path):
        with located():
            values = record(value)
            if "prompt" in values:
                yield from _dialogues(required(values, "prompt", record), others(values, TREE), place)
            else:
                required(values, "message_id", name)
                rows.append(values)
    children: dict[str | None, list[Record]] = {}
    known = {row.get("message_id") for row in rows}
    for row in rows:
        parent = row.get("parent_id") if row.get("parent_id") in known else None
        children.setdefault(parent, []).append(row)
    prompts, placed = children.get(None, []), 0
    for prompt in prompts:
        beside = {"tree_state": prompt["tree_state"]} if "tree_state" in prompt else {}
        tree, count = _tree(prompt, children)
        placed += count
        yield from _dialogues(tree, beside, prompt["message_id"])
    if lost := len(rows) - placed:
        options.dropped["messages that reply to each other in a circle"] += lost


def _tree(row: Record, children: Mapping[str | None, list[Record]]) -> tuple[Record, int]:
    """A row with its replies, and theirs, inside, and the number of all of them."""
    top = {**row, "replies": []}
    waiting, count = [top], 0
    while waiting:
        node = waiting.pop()
        count += 1
        node["replies"] = [{**reply, "replies": []} for reply in children.get(node.get("message_id"), [])]
        waiting += node["replies"]
    return {key: value for key, value in top.items() if key not in OF_ROW}, count


def _dialogues(prompt: Record, meta: Record, place: str) -> Iterator[Dialogue]:
    """The dialogues of one tree, with the preferences between them."""
    ways = list(_ways(prompt))
    first: dict[int, int] = {}  # identity of a message -> the first way that has it
    for number, way in enumerate(ways):
        for message in way:
            first.setdefault(id(message), number)
    names = [_id(way[-1], f"{place}-{number}") for number, way in enumerate(ways, 1)]
    for number, way in enumerate(ways):
        messages: list[Record] = []
        ratings: list[Record] = []
        preferences: list[Record] = []
        for turn, message in enumerate(way):
            is_new = first[id(message)] == number
            messages.append(_message(message, is_new=is_new))
            if is_new:
                ratings += _ratings(message, turn)
            if turn and is_new and message.get("role") == "assistant":
                for other, winner in _choices(message, way[turn - 1]):
                    chosen = {
                        "other": names[first[id(other)]],
                        "winner": winner,
                        "turn": turn,
                        "dimension": "rank",
                    }
                    preferences.append(chosen)
        last = next((message for message in reversed(way) if message.get("role") == "assistant"), {})
        agent = text_at(last, "model_name") if last.get("synthetic") else "human"
        native = {
            "id": names[number], "agent": agent if last else None, "messages": messages, "ratings": ratings,
            "preferences": preferences, "meta": {"tree": _id(prompt, place), **meta},
        }  # fmt: skip
        yield from_record(native, default_id=names[number])


def _id(message: Record, otherwise: str) -> str:
    """The id of a message."""
    return text_at(message, "message_id") or otherwise


def _ways(prompt: Record) -> Iterator[Way]:
    """The ways from the prompt to every message without replies, the replies in the order of the file."""
    waiting: list[Way] = [[prompt]]
    while waiting:
        way = waiting.pop()
        replies = [record(reply) for reply in optional(way[-1], "replies", array, default=[])]
        if not replies:
            yield way
        waiting += [[*way, reply] for reply in reversed(replies)]


def _choices(message: Record, asked: Record) -> Iterator[tuple[Record, str]]:
    """The ranked replies that stand after this one beside it, and who is better."""
    ranked = [reply for reply in asked.get("replies") or () if isinstance(reply.get("rank"), int)]
    for reply, other in combinations(ranked, 2):
        if reply is message:
            a, b = reply["rank"], other["rank"]
            yield other, "tie" if a == b else "this" if a < b else "other"


def _message(message: Record, *, is_new: bool) -> Record:
    """A message in native form; a reply that an earlier dialogue has is context."""
    role = ROLES.get(required(message, "role", text), message["role"])
    shared = {JUDGED: False} if role == "assistant" and not is_new else {}
    return {
        "role": role,
        "content": required(message, "text", text),
        **other_entries(message, MESSAGE),
        **shared,
    }


def _ratings(message: Record, turn: int) -> Sequence[Record]:
    """The labels of a message: by name with value and count, or lists of names, values and counts as rows have them."""
    labels: Any = message.get("labels")
    if isinstance(inner(labels, "name"), list) and isinstance(inner(labels, "value"), list):
        counts = inner(labels, "count") or [None] * len(labels["name"])
        named = dict(zip(labels["name"], zip(labels["value"], counts, strict=True), strict=True))
    elif isinstance(labels, dict):
        named = {label: (inner(one, "value"), inner(one, "count")) for label, one in labels.items()}
    else:
        return []
    return [
        rating(label, float(value), rater="mean", scale=SCALE, turn=turn, count=count)
        for label, (value, count) in named.items()
        if isinstance(value, int | float)
    ]
