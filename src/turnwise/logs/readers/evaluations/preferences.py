"""Files of preferences between two replies: Arena, HH-RLHF, AlpacaEval, UltraFeedback and their like.

Each compared reply is a dialogue of its own, `ID-a` and `ID-b`; the choice stands on the first, as docs/format.md has
it.

* HelpSteer: `response_1` and `response_2` to a `prompt` with `preference_strength`, and HelpSteer 3;
* MT-bench's votes: as Arena, many votes on the `turn` of the same two answers, each of which is one dialogue;
* Arena, LMSYS: `conversation_a`, `conversation_b`, `model_a`, `model_b`, `winner` (model_a, model_b, tie, tie
  (bothbad));
* LMSYS as CSV: `prompt`, `response_a` and `response_b` are JSON lists of turns, one of `winner_model_a`,
  `winner_model_b` and `winner_tie` is 1;
* HH-RLHF: `chosen` and `rejected`, each a text of `Human:` and `Assistant:` turns;
* DPO and binarised UltraFeedback: `chosen` and `rejected` as lists of messages, or as replies, after a `prompt` (or
  `question`) that is a text or a list of messages, and `system`; a prompt that the lists repeat is read once;
* AlpacaEval: `instruction`, `output_1`, `output_2`, `generator_1`, `generator_2`, `preference` from 1 to 2, 1.5 a tie;
* UltraFeedback: `instruction` and `completions`, each with a model, a response and scores: ratings, not preferences.

Which reply was shown first is kept where the file says it. Arena shows the first one first. AlpacaEval shows the
outputs in random order, and calls the first one `m` and the second one `M`: the annotator's answer beside the
preference says which output was `m`. HH-RLHF and DPO files do not say it, and do not name the models.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from turnwise.logs.checks import (
    RuleError,
    array,
    each,
    name,
    number,
    optional,
    others,
    record,
    required,
    text,
    wrong,
)
from turnwise.logs.dialogue import from_record
from turnwise.logs.files import opened
from turnwise.logs.memory import NamedLines
from turnwise.logs.readers import csv_table
from turnwise.logs.readers.messages import beside_rating, inner, present, rating, text_at
from turnwise.logs.readers.openai import message
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, decoded, placed, records
from turnwise.types import AUTOMATIC, Dialogue

SIDES = ("conversation", "model")  # keys of an Arena record that both sides have
MACHINES = ("gpt", "claude", "gemini")  # how the names of judges begin that are models
STRENGTH = frozenset({"prompt", "response_1", "response_2", "preference_strength"})
OVERALL = frozenset({"context", "response1", "response2", "overall_preference"})
ARENA = {
    "model_a": "this",
    "model_b": "other",
    "tie": "tie",
    "tie (bothbad)": "both_bad",
    "both_bad": "both_bad",
}
PROMPTS = ("prompt", "question")  # keys under which a DPO file has the prompt
WINNERS = {"winner_model_a": "this", "winner_model_b": "other", "winner_tie": "tie"}
LMSYS = frozenset({"model_a", "model_b", "prompt", "response_a", "response_b", *WINNERS})
SPOKEN = re.compile(r"\n\n(Human|Assistant): ?")  # begins a turn of HH-RLHF
EVEN = 1.5  # AlpacaEval's preference for neither
SHOWN_FIRST, SHOWN_SECOND = "m", "M"  # what AlpacaEval's annotator calls the outputs
# Keys that are kept elsewhere in a dialogue.
ALPACA = frozenset(
    {
        "instruction",
        "output_1",
        "output_2",
        "generator_1",
        "generator_2",
        "preference",
        "annotator",
        "dataset",
    }
)
INSTRUCTION = frozenset({"instruction", "completions"})
COMPLETION = frozenset({"model", "response", "overall_score", "fine-grained_score", "annotations"})
ANNOTATION = frozenset({"Rating", "Rationale"})
CHOICE = frozenset({"other", "winner", "dimension", "rater", "turn", "shown", "identity", "sides", "meta"})
Record = dict[str, Any]


def recognises(sample: Sample) -> bool:
    """Whether the first record has the keys of a known form, or a table the columns of LMSYS."""
    return _form(sample.first) is not None or (sample.form == "table" and set(sample.header) >= LMSYS)


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """Two dialogues a pair, or one a completion of UltraFeedback."""
    options = options or Options()
    votes = _Votes()
    for value, place, located in _rows(path, options) if _is_table(path) else records(path):
        with located():
            values = record(value)
            if _is_vote(values):
                votes.add(values)
                continue
            form = _form(values)
            if form is None:
                raise wrong(
                    sorted(values), "the keys of Arena, HH-RLHF, AlpacaEval, UltraFeedback or a DPO file"
                )
            if form is _alpaca and values["preference"] is None:
                options.dropped["preferences that are null; the replies are kept"] += 1
            for native in form(values, place):
                yield from_record(native, default_id=str(native["id"]))

    yield from votes.dialogues()


def _is_vote(values: Record) -> bool:
    """Whether a record is a vote of MT-bench on one turn of two answers, which many votes share."""
    return (
        "conversation_a" in values
        and type(values.get("question_id")) is int
        and type(values.get("turn")) is int
    )


@dataclass(slots=True)
class _Votes:
    """Votes on the answers of models to numbered questions; each answer is one dialogue with all votes on it."""

    sides: dict[str, Record] = field(default_factory=dict)  # id -> dialogue

    def add(self, values: Record) -> None:
        """Add a vote; an unknown winner, or another answer of the same model to the question, raises `RuleError`."""
        first, second = _arena(values, str(values["question_id"]))
        (chosen,) = first.pop("preferences")
        ids = []
        for side in (first, second):
            side["id"] = identity = f"{values['question_id']}-{side['agent']}"
            side["meta"] = {"question": values["question_id"]}
            there = self.sides.setdefault(identity, {**side, "preferences": []})
            if there["messages"] != side["messages"]:
                raise wrong(side["agent"], "the same answer of this model in all votes on the question")
            ids.append(identity)
        judge = str(values.get("judge") or "")
        replies = [place for place, one in enumerate(first["messages"]) if one.get("role") == "assistant"]
        if not 1 <= values["turn"] <= len(replies):
            raise wrong(values["turn"], f"the number of a reply, 1 to {len(replies)}").inside("turn")
        known = {
            "question_id",
            "turn",
            "winner",
            "judge",
            *(f"{key}_{side}" for key in SIDES for side in "ab"),
        }
        self.sides[ids[0]]["preferences"].append(
            {
                **chosen,
                "other": ids[1],
                "turn": replies[values["turn"] - 1],
                **({AUTOMATIC: True} if judge.startswith(MACHINES) else {}),
                **others(values, frozenset(known)),
            }
        )

    def dialogues(self) -> Iterator[Dialogue]:
        """The answers, each with the votes in which it was the first of the two."""
        for native in self.sides.values():
            yield from_record(native, default_id=str(native["id"]))


def _is_table(path: str) -> bool:
    """Whether a file is no JSON; False for stdin, which is read once, and for what is no file."""
    if isinstance(path, NamedLines) or not os.path.isfile(path):
        return False
    with opened(path) as stream:
        return not stream.read(64).lstrip().startswith((b"{", b"["))


def _rows(
    path: str, options: Options
) -> Iterator[tuple[Any, str, Callable[[], AbstractContextManager[None]]]]:
    """The rows of a table as `records` yields records: each with its number from 1 and its place."""
    for number_, row in enumerate(csv_table.rows(path, options), 1):
        yield dict(row.values), str(number_), partial(placed, path, row.number, None)


def _form(values: Any) -> Callable[[Record, str], Sequence[Record]] | None:
    """The function that makes native records of a record with these keys and of its place; None if no form fits."""
    keys = values.keys() if isinstance(values, dict) else set()
    if {"conversation_a", "conversation_b", "winner"} <= keys:
        return _arena
    if keys >= LMSYS:
        return _lmsys
    if {"chosen", "rejected"} <= keys:
        return _chosen
    if keys >= STRENGTH or keys >= OVERALL:
        return _strength
    if {"instruction", "output_1", "output_2", "preference"} <= keys:
        return _alpaca
    if {"instruction", "completions"} <= keys:
        return _completions
    return None


def _arena(values: Record, place: str) -> list[Record]:
    """The two dialogues of an Arena record; an unknown winner raises `RuleError`."""
    winner = required(values, "winner", text)
    if winner not in ARENA:
        raise wrong(winner, f"one of {', '.join(ARENA)}").inside("winner")
    sides = []
    for side in "ab":
        messages = list(required(values, f"conversation_{side}", each(message)))
        sides.append({"agent": required(values, f"model_{side}", name), "messages": messages})
    judge = values.get("judge") or values.get("judge_hash")
    kept = others(
        values,
        frozenset({f"{key}_{side}" for key in ("conversation", "model") for side in "ab"} | {"winner"}),
    )
    identity = str(values.get("question_id") or values.get("conversation_id") or place)
    return _pair(identity, sides, ARENA[winner], shown="first", rater=_rater(judge), meta=kept)


def _lmsys(values: Record, place: str) -> list[Record]:
    """The two dialogues of a row of LMSYS's table; anything but one winner raises `RuleError`."""
    marks = {key: str(values[key]).strip().removesuffix(".0") for key in WINNERS}
    won = [key for key, mark in marks.items() if mark == "1"]
    if len(won) != 1 or not {*marks.values()} <= {"0", "1"}:
        raise wrong(marks, "1 in one of the three columns and 0 in the others")
    asked = _listed(values, "prompt")
    sides = []
    for side in "ab":
        replies = _listed(values, f"response_{side}")
        if len(replies) != len(asked):
            raise wrong(values[f"response_{side}"], f"as many turns as the prompt has, {len(asked)}").inside(
                f"response_{side}"
            )
        messages = [
            {"role": role, "content": one}
            for pair in zip(asked, replies, strict=True)
            for role, one in zip(("user", "assistant"), pair, strict=True)
        ]
        sides.append({"agent": required(values, f"model_{side}", name), "messages": messages})
    identity = str(values.get("id") or place)
    kept = others(values, LMSYS | {"id"})
    return _pair(identity, sides, WINNERS[won[0]], shown="first", meta=kept)


def _listed(values: Record, key: str) -> list[str]:
    """The turns of a cell that is a JSON list of texts; a null in it is an empty text."""
    try:
        found = array(decoded(required(values, key, text)))
        return ["" if one is None else text(one) for one in found]
    except RuleError as error:
        raise error if error.steps else error.inside(key) from None


def _rater(value: Any) -> str | None:
    """A text or number as a rater's name; None for anything else."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def _chosen(values: Record, place: str) -> list[Record]:
    """The chosen dialogue, which won, and the rejected one; `score_chosen` and `score_rejected` rate the last
    replies. A prompt that belongs to neither, and messages that repeat neither, go to `meta`.
    """
    asked, key = _asked(values)
    used = {"chosen", "rejected", *([key] if key else [])}
    made = [_side(values, side, asked) for side in ("chosen", "rejected")]
    if key and not any(after_prompt for _, after_prompt in made):
        used.remove(key)
    messages = [said for said, _ in made]
    if text_at(values, "system"):
        prompt = {"role": "system", "content": values["system"]}
        messages = [said if said[:1] == [prompt] else [prompt, *said] for said in messages]
        used.add("system")
    if values.get("messages") in (values["chosen"], values["rejected"]):
        used.add("messages")
    identity = str(values.get("id") or values.get("prompt_id") or place)
    pair = _pair(
        identity, [{"messages": one} for one in messages], "this", meta=others(values, frozenset(used))
    )
    for side, mark in zip(pair, ("score_chosen", "score_rejected"), strict=True):
        score = optional(values, mark, number, default=None)
        if score is not None:
            side["ratings"] = [rating("score", score, turn=len(side["messages"]) - 1)]
    return pair


def _asked(values: Record) -> tuple[list[Record], str | None]:
    """The messages of the prompt and its key; none and None if there is no prompt."""
    for key in PROMPTS:
        if isinstance(values.get(key), str):
            return [{"role": "user", "content": values[key]}], key
        if isinstance(values.get(key), list):
            return list(required(values, key, each(message))), key
    return [], None


def _side(values: Record, key: str, asked: list[Record]) -> tuple[list[Record], bool]:
    """The messages of one side, and whether the prompt `asked` is among them.

    A side is a list of messages, a text of `Human:` and `Assistant:` turns, or a reply to the prompt. A list after a
    prompt that is a list of messages continues it, unless it begins with it; after a prompt that is a text it does so
    if it has no message of the user.
    """
    if isinstance(values[key], list):
        said = list(required(values, key, each(message)))
        if _begins(said, asked):
            return said, True
        listed = any(isinstance(values.get(one), list) for one in PROMPTS)
        if asked and (listed or all(one.get("role") != "user" for one in said)):
            return [*asked, *said], True
        return said, False
    said_text = required(values, key, text)
    pieces = SPOKEN.split(said_text)
    if len(pieces) >= 3 and not pieces[0].strip():
        spoken = zip(pieces[1::2], pieces[2::2], strict=True)
        said = [
            {"role": "user" if who == "Human" else "assistant", "content": one.strip()} for who, one in spoken
        ]
        return said, _begins(said, asked)
    if asked:
        return [*asked, {"role": "assistant", "content": said_text}], True
    raise wrong(said_text, "turns that begin with `Human:` and `Assistant:`, or a `prompt` beside it").inside(
        key
    )


def _begins(said: list[Record], asked: list[Record]) -> bool:
    """Whether messages begin with those of a prompt, by roles and contents; a system prompt may stand before them."""
    keys = [[(one.get("role"), one.get("content")) for one in several] for several in (said, asked)]
    return any(keys[0][start : start + len(asked)] == keys[1] for start in (0, 1)) if asked else False


def _strength(values: Record, place: str) -> list[Record]:
    """The two dialogues of a record of HelpSteer: below 0 the first reply is better, above 0 the second.

    HelpSteer 3 has the context as messages, and each rater's preference with reasons.
    """
    third = "context" in values
    key, strength = ("context", "overall_preference") if third else ("prompt", "preference_strength")
    asked = (
        list(required(values, key, each(message)))
        if isinstance(values[key], list)
        else [{"role": "user", "content": required(values, key, text)}]
    )
    replies = ("response1", "response2") if third else ("response_1", "response_2")
    sides = [
        {"messages": [*asked, {"role": "assistant", "content": required(values, reply, text)}]}
        for reply in replies
    ]
    value = required(values, strength, number)
    winner = "tie" if value == 0 else "this" if value < 0 else "other"
    meta = others(values, frozenset({key, strength, *replies}))
    identity = str(values.get("id") or place)
    return _pair(identity, sides, winner, shown="first", meta=meta, strength=value)


def _alpaca(values: Record, place: str) -> list[Record]:
    """The two dialogues of an AlpacaEval record; below 1.5 the first won, above it the second.

    A preference of 0 is a tie, too. If it is null, the annotation failed, and there is no preference.
    """
    asked = {"role": "user", "content": required(values, "instruction", text)}
    sides = []
    for side in "12":
        reply = {"role": "assistant", "content": required(values, f"output_{side}", text)}
        agent = optional(values, f"generator_{side}", name, default=None)
        sides.append({"agent": agent, "messages": [asked, reply]})
    meta = present({"dataset": values.get("dataset")})
    preference = optional(values, "preference", number, default=None)
    if preference is None:
        made = _pair(place, sides, "tie", meta=meta | others(values, ALPACA - {"annotator"}))
        del made[0]["preferences"]
        return made
    if not 0 <= preference <= 2:
        raise wrong(values["preference"], "a number from 1 to 2 (1.5 a tie)").inside("preference")
    winner = "tie" if preference in (EVEN, 0) else "this" if preference < EVEN else "other"
    rater = optional(values, "annotator", name, default=None)
    more = {key: one for key, one in others(values, ALPACA).items() if key not in CHOICE}
    shown = _shown(values.get("raw_completion"), winner)
    chosen = {**more, "value": preference, AUTOMATIC: True}
    return _pair(place, sides, winner, shown=shown, rater=rater, meta=meta, **chosen)


def _shown(completion: Any, winner: str) -> str | None:
    """Where the first output was shown to AlpacaEval's annotator, which answered with the name of the better output.

    None for a tie, and for answers that are neither `m` nor `M`.
    """
    said = completion if isinstance(completion, str) else inner(completion, "text")
    if winner not in ("this", "other") or said not in (SHOWN_FIRST, SHOWN_SECOND):
        return None
    return "first" if (said == SHOWN_FIRST) == (winner == "this") else "second"


def _completions(values: Record, place: str) -> list[Record]:
    """One dialogue a completion, with its scores as ratings of the reply; annotations without a number go to `meta`."""
    asked = {"role": "user", "content": required(values, "instruction", text)}
    made = []
    for number_, one in enumerate(required(values, "completions", each(record)), 1):
        marks = []
        for dimension, score in (
            ("overall_score", one.get("overall_score")),
            ("fine-grained_score", one.get("fine-grained_score")),
        ):
            if isinstance(score, int | float) and not isinstance(score, bool):
                marks.append(rating(dimension, score, turn=1, automatic=True))
        unrated = {}
        for dimension, about in optional(one, "annotations", record, default={}).items():
            found = about.get("Rating") if isinstance(about, dict) else None
            if isinstance(found, str) and found.replace(".", "", 1).isdecimal():
                more = {**beside_rating(about, ANNOTATION), "reason": about.get("Rationale")}
                marks.append(rating(dimension, float(found), scale=(1, 5), turn=1, automatic=True, **more))
            else:
                unrated[dimension] = about
        made.append(
            {
                "id": f"{place}-{number_}",
                "agent": optional(one, "model", name, default=None),
                "messages": [asked, {"role": "assistant", "content": required(one, "response", text)}],
                "ratings": marks,
                "meta": {
                    **others(values, INSTRUCTION),
                    **others(one, COMPLETION),
                    **({"annotations": unrated} if unrated else {}),
                },
            }
        )
    return made


def _pair(
    identity: str,
    sides: Sequence[Record],
    winner: str,
    *,
    meta: Record,
    shown: str | None = None,
    rater: str | None = None,
    **more: Any,
) -> list[Record]:
    """Two records, the first of which holds the preference; `turn` is set if they differ in the last reply alone.

    `more` is kept beside the preference; a side without messages raises `RuleError`.
    """
    a, b = ({"id": f"{identity}-{side}", **one} for side, one in zip("ab", sides, strict=True))
    if not a["messages"] or not b["messages"]:
        raise RuleError("has no messages; expected one or more on either side")
    same = a["messages"][:-1] == b["messages"][:-1]
    turn = len(a["messages"]) - 1 if same else None
    chosen = {"other": b["id"], "winner": winner, "rater": rater, "turn": turn, "shown": shown, **more}
    a["preferences"] = [present(chosen)]
    a["meta"] = b["meta"] = {"pair": identity, **meta}
    return [a, b]
