"""ENIGMA's released off-policy data (Jiang et al. 2021): a folder for each target, with `data.json` in it.

A line's `dialog` is e1, a1, a1', e2, a2, a2', ...: what the person said, what the logging agent replied,
what the target would have replied. The target's replies become `alternatives` under the folder's name. In
the AirDialogue part `reward_ref` rates the logged dialogue, and `reward` is the score of the decision
that the TARGET would take on it: it becomes the last alternative's `relabelled`. In the ConvAI2 part there
is only `reward`, and it is people's rating of the logged dialogue. The synthetic part has three lists
in place of `dialog`. A folder of targets is read as one log: the same dialogue with several targets is
one dialogue.

The files do not name the logging agents, and `ope` needs them for its calibration. But every agent is a target too, and
its replies were made again for its own dialogues, where they had to be those of the log
(`generate_ope_data.py` of the released code). So in a folder of targets the agent of a dialogue is the one target that
says all that was logged; it stays `unknown` if there is none or there are several. Of the four settings that the README
lists read `opedata`: it has all dialogues with all targets, and `ope --fraction .5`, `--fraction .1` and
`--challenging 15` make the other three from it. `opedata_hard` lacks each target's own dialogues.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from turnwise.errors import DataError, Problem
from turnwise.logs.checks import (
    RuleError,
    each,
    mapping,
    name,
    number,
    optional,
    others,
    record,
    required,
    shown,
    text,
    wrong,
)
from turnwise.logs.dialogue import UNNAMED, other_entries
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, dialogues
from turnwise.types import Dialogue, DimensionScores, Rating, Reply, Turn, digest

SILENCE = ("", "__SILENCE__")  # the agent began: nothing was said before
SPEAKERS = ("human_evaluator", "model", "tgt_model")  # words for the roles, which follow from the place too
LISTS = ("ref_customer_response", "ref_agent_response", "gen_agent_response")
RECORD = frozenset({"id", "agent", "dialog", "reward", "reward_ref", *LISTS})

Act = tuple[str, dict[str, Any]]  # a text, and the other keys beside it
Exchange = tuple[Act, Act, Act]  # e, a, a'

_scores = mapping(number)
_texts = each(text)


def recognises(sample: Sample) -> bool:
    """Whether a folder has a `data.json` in a folder, or the first record three lists, or a `reward` and a `dialog`.

    A `dialog` is a flat list whose length is a multiple of three.
    """
    values = sample.first
    if sample.form == "folder":
        return any(name.endswith("/data.json") for name in sample.names)
    return set(LISTS) <= values.keys() or (
        "reward" in values and isinstance(values.get("dialog"), list) and len(values["dialog"]) % 3 == 0
    )


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """The dialogues of one target's file, or of all `data.json` under a folder as one log."""
    options = options or Options()
    if not Path(path).is_dir():
        return _log(path, options)
    logs = sorted(Path(path).glob("**/data.json"))
    if not logs:
        raise DataError(Problem(path, None, "", "has no data.json in it; expected a folder for each target"))
    return _joined(map(str, logs), options)


def _log(path: str, options: Options) -> Iterator[Dialogue]:
    """The dialogues of one target's file; the target is called after the folder of a `data.json`, else after
    the file.
    """
    place = Path(path)
    target = place.parent.name if place.stem == "data" and place.parent.name else place.stem

    def dialogue(value: Any, default_id: str) -> Dialogue:
        """One record of this target as a dialogue."""
        return _dialogue(value, default_id, target=target, options=options)

    return dialogues(path, dialogue)


def _joined(paths: Iterable[str], options: Options) -> Iterator[Dialogue]:
    """The logs of several targets as one, each dialogue once with the alternatives of all targets.

    Dialogues are the same if texts and ratings are equal; equal dialogues in one file are told apart by their
    count.
    """
    joined: dict[str, Dialogue] = {}
    for path in paths:
        copies: Counter[str] = Counter()
        for dialogue in _log(path, options):
            same = _identity(dialogue)
            copies[same] += 1
            key = same if copies[same] == 1 else f"{same}-{copies[same]}"
            before = joined.get(key, replace(dialogue, id=key))
            joined[key] = replace(before, turns=tuple(map(_both, before.turns, dialogue.turns)))
    return map(_with_agent, joined.values())


def _with_agent(dialogue: Dialogue) -> Dialogue:
    """The dialogue with the one target that says all logged replies as its agent, unless the record names an agent.

    `meta` has `agent_inferred` then. Nothing is inferred from one target only: its file may lack its own dialogues, and
    short dialogues of similar agents agree by chance.
    """
    replies = [turn for turn in dialogue.turns if turn.role == "assistant"]
    targets = {name for turn in replies for name in turn.alternatives}
    same = [
        target
        for target in targets
        if all(
            [one.content for one in turn.alternatives.get(target, ())] == [turn.content] for turn in replies
        )
    ]
    if dialogue.agent != UNNAMED or len(targets) < 2 or len(same) != 1:
        return dialogue
    return replace(dialogue, agent=same[0], meta={**dialogue.meta, "agent_inferred": True})


def _identity(dialogue: Dialogue) -> str:
    """A digest of a dialogue's roles, texts and ratings, which is equal for the same dialogue in another
    target's file.
    """
    said = [part for turn in dialogue.turns for part in (turn.role, turn.text)]
    return digest(*said, *(f"{rating.dimension} {rating.value}" for rating in dialogue.ratings))


def _both(turn: Turn, other: Turn) -> Turn:
    """The first turn with the alternatives of both."""
    return replace(turn, alternatives={**turn.alternatives, **other.alternatives})


def _dialogue(value: Any, default_id: str, *, target: str, options: Options) -> Dialogue:
    """One record as a dialogue with the alternatives of `target`; what these say in other keys than the logged replies
    is counted as dropped.

    With `reward_ref`, that rates the dialogue and `reward` is the target's relabelled score; else `reward`
    rates the dialogue.
    """
    values = record(value)
    exchanges = _exchanges(values)
    reward = optional(values, "reward", _rewards, default=None)
    rated = optional(values, "reward_ref", _rewards, default=None)
    identity = optional(values, "id", name, default=default_id)
    if lost := sum(
        key not in logged or logged[key] != one
        for _, (_, logged), (_, more) in exchanges
        for key, one in more.items()
    ):
        options.dropped["other keys of the target's replies"] += lost
    return Dialogue(
        id=identity,
        agent=optional(values, "agent", name, default=UNNAMED),
        turns=tuple(_turns(exchanges, target, reward if rated is not None else None)),
        ratings=_ratings(identity, reward if rated is None else rated),
        meta=others(values, RECORD),
    )


def _exchanges(values: dict[str, Any]) -> list[Exchange]:
    """The triples of what the person, the agent and the target said; raises `RuleError` if there are none or
    one is incomplete.
    """
    if "dialog" in values:
        said = required(values, "dialog", each(_said))
        parts, place = [said[speaker::3] for speaker in range(3)], "dialog"
    elif not any(key in values for key in LISTS):
        expected = "expected those of an ENIGMA record, `dialog` and `reward`"
        raise RuleError(f"has the keys {shown(list(values))}; {expected}")
    else:
        listed = [required(values, key, _texts) for key in LISTS]
        parts, place = [tuple((one, dict[str, Any]()) for one in several) for several in listed], LISTS[-1]
    if not parts[0] or len({len(part) for part in parts}) > 1:
        lengths = " and ".join(str(len(part)) for part in parts)
        expected = "one exchange or more, each of a person's, the agent's and the target's words"
        raise wrong(values[place], f"{expected} (there are {lengths})").inside(place)
    return list(zip(*parts, strict=True))


def _said(value: Any) -> Act:
    """The text of one act, and its other keys."""
    values = record(value)
    known = {"text"} if values.get("speaker") not in SPEAKERS else {"text", "speaker"}
    return required(values, "text", text), other_entries(values, frozenset(known))


def _rewards(value: Any) -> DimensionScores:
    """Dimension -> score; a single number has the dimension `reward`."""
    return _scores(value) if isinstance(value, dict) else {"reward": number(value)}


def _turns(exchanges: list[Exchange], target: str, relabelled: DimensionScores | None) -> Iterator[Turn]:
    """The turns of the exchanges, without the person's first message if it is empty or `__SILENCE__`; `relabelled`
    goes to the target's last reply.
    """
    last = len(exchanges) - 1
    for place, ((person, of_person), (agent, of_agent), (instead, _)) in enumerate(exchanges):
        if place > 0 or person not in SILENCE:
            yield Turn("user", person, extra=of_person)
        reply = Reply(instead, relabelled=relabelled if place == last else None)
        yield Turn("assistant", agent, alternatives={target: (reply,)}, extra=of_agent)


def _ratings(dialogue: str, scores: DimensionScores | None) -> tuple[Rating, ...]:
    """The scores as ratings of the whole dialogue, on the scale 0 to 1 if they lie on it; none for None."""
    return tuple(
        Rating(dialogue, dimension, value, scale=(0.0, 1.0) if 0 <= value <= 1 else None)
        for dimension, value in (scores or {}).items()
    )
