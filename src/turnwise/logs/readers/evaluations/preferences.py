"""Files of preferences between two replies: Arena, HH-RLHF, AlpacaEval, UltraFeedback and their like.

Each compared reply is a dialogue of its own, `ID-a` and `ID-b`; the choice stands on the first, as docs/format.md has
it.

* Arena, LMSYS: `conversation_a`, `conversation_b`, `model_a`, `model_b`, `winner` (model_a, model_b, tie, tie
  (bothbad));
* HH-RLHF: `chosen` and `rejected`, each a text of `Human:` and `Assistant:` turns;
* DPO and binarised UltraFeedback: `chosen` and `rejected` as lists of messages, or as replies to a `prompt`;
* AlpacaEval: `instruction`, `output_1`, `output_2`, `generator_1`, `generator_2`, `preference` from 1 to 2, 1.5 a tie;
* UltraFeedback: `instruction` and `completions`, each with a model, a response and scores: ratings, not preferences.

Which reply was shown first is kept where the file says it. Arena shows the first one first. AlpacaEval shows the
outputs in random order, and calls the first one `m` and the second one `M`: the annotator's answer beside the
preference says which output was `m`. HH-RLHF and DPO files do not say it, and do not name the models.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from turnwise.logs.checks import (
    RuleError,
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
from turnwise.logs.readers.messages import beside_rating, inner, present, rating
from turnwise.logs.readers.openai import message
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, records
from turnwise.types import Dialogue

ARENA = {
    "model_a": "this",
    "model_b": "other",
    "tie": "tie",
    "tie (bothbad)": "both_bad",
    "both_bad": "both_bad",
}
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
    """Whether the first record has the keys of a known form."""
    return _form(sample.first) is not None


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """Two dialogues a pair, or one a completion of UltraFeedback."""
    options = options or Options()
    for value, place, located in records(path):
        with located():
            values = record(value)
            form = _form(values)
            if form is None:
                raise wrong(
                    sorted(values), "the keys of Arena, HH-RLHF, AlpacaEval, UltraFeedback or a DPO file"
                )
            if form is _alpaca and values["preference"] is None:
                options.dropped["preferences that are null; the replies are kept"] += 1
            for native in form(values, place):
                yield from_record(native, default_id=str(native["id"]))


def _form(values: Any) -> Callable[[Record, str], Sequence[Record]] | None:
    """The function that makes native records of a record with these keys and of its place; None if no form fits."""
    keys = values.keys() if isinstance(values, dict) else set()
    if {"conversation_a", "conversation_b", "winner"} <= keys:
        return _arena
    if {"chosen", "rejected"} <= keys:
        return _chosen
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


def _rater(value: Any) -> str | None:
    """A text or number as a rater's name; None for anything else."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def _chosen(values: Record, place: str) -> list[Record]:
    """The chosen dialogue, which won, and the rejected one; `score_chosen` and `score_rejected` rate the last
    replies.
    """
    sides = [{"messages": _side(values, key)} for key in ("chosen", "rejected")]
    kept = others(values, frozenset({"chosen", "rejected", "prompt", "messages"}))
    identity = str(values.get("id") or values.get("prompt_id") or place)
    made = _pair(identity, sides, "this", meta=kept)
    for side, key in zip(made, ("score_chosen", "score_rejected"), strict=True):
        score = optional(values, key, number, default=None)
        if score is not None:
            side["ratings"] = [rating("score", score, turn=len(side["messages"]) - 1)]
    return made


def _side(values: Record, key: str) -> list[Record]:
    """The messages of one side: a list as it is, a text of `Human:` and `Assistant:` turns, or a reply to `prompt`."""
    value = values[key]
    if isinstance(value, list):
        return list(required(values, key, each(message)))
    said = required(values, key, text)
    pieces = SPOKEN.split(said)
    if len(pieces) >= 3 and not pieces[0].strip():
        spoken = zip(pieces[1::2], pieces[2::2], strict=True)
        return [
            {"role": "user" if who == "Human" else "assistant", "content": one.strip()} for who, one in spoken
        ]
    prompt = values.get("prompt")
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}, {"role": "assistant", "content": said}]
    if isinstance(prompt, list):
        return [*required(values, "prompt", each(message)), {"role": "assistant", "content": said}]
    raise wrong(said, "turns that begin with `Human:` and `Assistant:`, or a `prompt` beside it").inside(key)


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
    return _pair(place, sides, winner, shown=shown, rater=rater, meta=meta, **{**more, "value": preference})


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
    for number_, one in enumerate(required(values, "completions", each(record))):
        marks = []
        for dimension, score in (
            ("overall_score", one.get("overall_score")),
            ("fine-grained_score", one.get("fine-grained_score")),
        ):
            if isinstance(score, int | float) and not isinstance(score, bool):
                marks.append(rating(dimension, score, turn=1))
        unrated = {}
        for dimension, about in optional(one, "annotations", record, default={}).items():
            found = about.get("Rating") if isinstance(about, dict) else None
            if isinstance(found, str) and found.replace(".", "", 1).isdecimal():
                more = {**beside_rating(about, ANNOTATION), "reason": about.get("Rationale")}
                marks.append(rating(dimension, float(found), scale=(1, 5), turn=1, **more))
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
