"""`turnwise respond`: adds an agent's alternatives at every reply of the logs, given the logged context.

Points (replies to be given) are requested in shards, and each finished shard is saved in a journal. An interrupted
run resumes after its last shard and writes the same bytes as an uninterrupted one, because the seed of a reply depends
only on its position and a shard is always requested as a whole. Points at which the agent failed are reported and
stay without an alternative; the next run with the output as its input tries them again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from turnwise.agents import resolve
from turnwise.agents.calling import NoReply, ReplyRequest
from turnwise.conformance.calls import source_digest
from turnwise.errors import DataError, TooManyErrors, Unmeasured, counted, setting
from turnwise.logs.dialogue import CALLS, POINTER
from turnwise.logs.files import PIPE
from turnwise.logs.items.keys import lookup
from turnwise.logs.native import read_all, write
from turnwise.logs.scan import scan
from turnwise.protocols import agent_extras
from turnwise.run.resume.progress_journal import Journal
from turnwise.run.workers.execute import progress
from turnwise.types import Agent, Dialogue, Reply, Turn, digest

if TYPE_CHECKING:
    from turnwise.commands.respond import Respond

SHARD = 64  # replies per shard
_MAX_SHOWN = 5  # most reasons, and points of one reason, that an error message names


class Point(NamedTuple):
    """A turn at which the agent is asked for a reply, with its context."""

    dialogue: str
    turn: int
    before: tuple[Turn, ...]


class Failure(NamedTuple):
    """A point at which the agent gave no reply, with the reason."""

    dialogue: str
    turn: int
    reason: str

    def __str__(self) -> str:
        return f"{self.dialogue}#{self.turn}: the agent {self.reason}"


@dataclass(frozen=True, slots=True)
class Responded:
    """Counts of a finished run of `respond` or of self-play.

    For self-play points and replies are counted as dialogues.
    """

    n_dialogues: int
    n_points: int  # points at which the agent was asked
    n_replies: int
    n_existing: int  # points that already had replies under this name
    failures: tuple[Failure, ...]


class _Samples(msgspec.Struct):
    """The samples at one point, as stored in the journal; if one failed there are none, but the reason."""

    replies: list[Reply]
    reason: str | None = None


def respond(request: "Respond", *, agent: Agent | None = None) -> Responded:
    """Write the selected dialogues to the output with the agent's replies as alternatives, and return the counts.

    `agent` replaces the one that the request names. Points that failed stay without an alternative; raises `Unmeasured`
    if all failed and `TooManyErrors` if more than `max_errors` did.
    """
    census = scan(request.paths)
    speaker = agent if agent is not None else resolve(str(request.agent), **request.agent_settings)
    existing, points = _count_points(request)
    signature = str(signature_or_agent(speaker)) + source_digest(speaker)
    # msgspec encodes no subclass of text, which the name of lines in memory is.
    data = sorted((str(path), sha256) for path, sha256 in census.sha256.items())
    key = msgspec.json.encode(
        (data, signature, request.name, request.samples, request.seed, request.selection.where,
         request.limit, request.again)
    )  # fmt: skip
    with Journal(journal_path(str(request.output)), digest(key), reuse=not request.restart) as journal:
        failures = _ask_agent(request, speaker, points, journal)
        n_failed = len(failures)
        if points and n_failed == points:
            raise Unmeasured(f"the agent replied at none of {counted(points, 'point')}: {_summary(failures)}")
        count = write(_with_replies(request, journal), str(request.output))
    return Responded(count, points, (points - n_failed) * request.samples, existing, tuple(failures))


def _summary(failures: Sequence[Failure]) -> str:
    """Failures in one line: each reason once, with the points where it occurred; of both at most `_MAX_SHOWN`."""
    points: dict[str, list[str]] = {}
    for failure in failures:
        points.setdefault(failure.reason, []).append(f"{failure.dialogue}#{failure.turn}")
    parts = []
    for reason, places in islice(points.items(), _MAX_SHOWN):
        more = f" and {len(places) - _MAX_SHOWN} more" if len(places) > _MAX_SHOWN else ""
        parts.append(f"{', '.join(places[:_MAX_SHOWN])}{more}: the agent {reason}")
    return "; ".join(parts)


def signature_or_agent(agent: Agent) -> object:
    """The signature of an agent, or the agent itself if it has none."""
    return agent_extras(agent).signature or agent


def journal_path(output: str) -> Path | None:
    """The path of the journal, a hidden file next to the output file; None for a pipe."""
    return None if output == PIPE else Path(output).with_name(f".{Path(output).name}.partial")


def _count_points(request: "Respond") -> tuple[int, int]:
    """The number of points that already have replies under this name, and the number of points to ask at.

    Raises `DataError` if no dialogue is selected or none has a reply of the assistant.
    """
    open_points = n_replies = n_dialogues = 0
    for dialogue in selected_dialogues(request):
        n_dialogues += 1
        open_points += len(_open_turns(dialogue, request))
        n_replies += sum(_is_reply(turn) for turn in dialogue.turns)
    if not n_dialogues:
        chosen = " and ".join(
            setting("--where", f"{key}={value}") for key, value in request.selection.where
        ) or setting("--limit")
        raise DataError(f"{chosen} selects no dialogue")
    if not n_replies:
        raise DataError(f"there is no assistant message with text in {counted(n_dialogues, 'dialogue')}")
    return n_replies - open_points, open_points


def selected_dialogues(request: "Respond") -> Iterator[Dialogue]:
    """The first `limit` dialogues whose keys have the values of `where`, in the order of the files."""
    chosen = (
        dialogue
        for dialogue in read_all(request.paths)
        if all(lookup(dialogue, key) == value for key, value in request.selection.where)
    )
    return islice(chosen, request.limit)


def _open_turns(dialogue: Dialogue, request: "Respond") -> list[int]:
    """The indices of the replies without replies under this name, or with `again` of all replies."""
    return [
        index
        for index, turn in enumerate(dialogue.turns)
        if _is_reply(turn) and (request.again or request.name not in turn.alternatives)
    ]


def _is_reply(turn: Turn) -> bool:
    """Whether a turn is a message of the assistant with text; an empty text counts unless the message calls tools."""
    if turn.role != "assistant" or turn.content is None:
        return False
    return bool(turn.content.strip()) or not any(turn.extra.get(call) for call in CALLS)


def _points(request: "Respond") -> Iterator[Point]:
    """The points of all selected dialogues at which the agent is asked, in order."""
    for dialogue in selected_dialogues(request):
        for index in _open_turns(dialogue, request):
            yield Point(dialogue.id, index, _context(dialogue, index))


def _context(dialogue: Dialogue, index: int) -> tuple[Turn, ...]:
    """The turns before a reply as the agent sees them, without alternatives, outcomes and ratings.

    If the logged reply has a belief state, the state and the database bits are put on the last turn of the context.
    """
    turns = [Turn(turn.role, turn.content, extra=turn.extra) for turn in dialogue.turns[:index]]
    state = dialogue.turns[index].state
    if turns and state is not None:
        found: Sequence[str] = dialogue.meta.get(POINTER, ())
        number = sum(turn.role == "user" for turn in turns) - 1
        known = {POINTER: found[number]} if 0 <= number < len(found) else {}
        turns[-1] = replace(turns[-1], state=state, extra={**turns[-1].extra, **known})
    return tuple(turns)


def _ask_agent(request: "Respond", agent: Agent, total: int, journal: Journal) -> list[Failure]:
    """Ask the agent at every point without a saved reply, also where it failed before, and return all failures.

    Each shard is saved in the journal. `total` is the number of points. Raises `TooManyErrors` after a shard if more
    than `max_errors` points have failed so far, unless all `total` points have failed.
    """
    failures: list[Failure] = []
    points = _points(request)
    size = max(1, SHARD // request.samples)
    with progress("asking", total, quiet=request.quiet) as advance:
        for part, shard in enumerate(iter(lambda: list(islice(points, size)), [])):
            said = msgspec.convert(journal.get(part), list[_Samples]) if part in journal else []
            missing = [index for index in range(len(shard)) if not said or said[index].reason is not None]
            if missing:
                fresh = _request_samples(request, agent, [shard[index] for index in missing])
                said = said or [_Samples([]) for _ in shard]
                for index, samples in zip(missing, fresh, strict=True):
                    said[index] = samples
                journal.put(part, said)
            failures += [
                Failure(point.dialogue, point.turn, one.reason)
                for point, one in zip(shard, said, strict=True)
                if one.reason is not None
            ]
            if len(failures) > request.max_errors and len(failures) < total:
                raise TooManyErrors(
                    f"the agent failed at {counted(len(failures), 'point')}, more than "
                    f"{setting('--max-errors', request.max_errors)} allows; the last: {failures[-1]}. "
                    "Run the same command again to retry them"
                )
            advance(len(shard))
    return failures


def _request_samples(request: "Respond", agent: Agent, points: Sequence[Point]) -> list[_Samples]:
    """Ask for `request.samples` replies at every point; a point with a failed sample has only the reason."""
    asked = [
        ReplyRequest(point.before, _seed(request, point, sample))
        for point in points
        for sample in range(request.samples)
    ]
    results = request.call_limits.ask(agent, asked)
    found = []
    for first in range(0, len(results), request.samples):
        samples = results[first : first + request.samples]
        failed = next((one for one in samples if isinstance(one, NoReply)), None)
        replies = [one for one in samples if isinstance(one, Reply)]
        found.append(_Samples(replies) if failed is None else _Samples([], str(failed)))
    return found


def _seed(request: "Respond", point: Point, sample: int) -> int:
    """The seed of one sample, from the run's seed, the agent's name, the dialogue, the turn and its number."""
    names = (str(request.seed), request.name, point.dialogue, str(point.turn), str(sample))
    return int(digest(*names), 16)


def _with_replies(request: "Respond", journal: Journal) -> Iterator[Dialogue]:
    """The selected dialogues with the replies of the journal as alternatives; failed points are left as they were."""
    parts = (msgspec.convert(journal.get(part), list[_Samples]) for part in range(len(journal)))
    samples = (one for part in parts for one in part)
    for dialogue in selected_dialogues(request):
        turns = list(dialogue.turns)
        for index in _open_turns(dialogue, request):
            if replies := next(samples).replies:
                said = {**turns[index].alternatives, request.name: tuple(replies)}
                turns[index] = replace(turns[index], alternatives=said)
        yield replace(dialogue, turns=tuple(turns))
