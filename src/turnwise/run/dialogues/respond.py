"""`turnwise respond`: what an agent would have said at every assistant message, given the logged history.

Points are asked in shards, each of which is kept when it is done; a run that was killed resumes after its last shard
and writes the same bytes as one that was not, because a reply's chance is seeded by its place and a shard is always
asked as a whole. Points that failed are reported and left without a reply; the next run over the output asks again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from turnwise.agents import resolve
from turnwise.agents.answering import Asked, NoReply, Patience
from turnwise.errors import DataError, TooManyErrors, Unmeasured, UsageError, counted
from turnwise.logs.dialogue import CALLS, POINTER
from turnwise.logs.files import PIPE
from turnwise.logs.items.keys import lookup
from turnwise.logs.native import read_all, write
from turnwise.logs.scan import scan
from turnwise.protocols import agent_extras
from turnwise.run.progress import progress
from turnwise.run.resume.journal import Journal
from turnwise.types import Agent, Dialogue, Reply, Turn, digest

SHARD = 64  # replies asked for together
_SHOWN = 5  # failures that are named


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    data: tuple[str, ...]
    agent: str
    name: str  # under which its replies stand
    output: str  # a file, or `-`
    settings: Mapping[str, Any] = field(default_factory=dict)
    samples: int = 1
    seed: int = 0
    where: tuple[tuple[str, str], ...] = ()
    limit: int | None = None
    again: bool = False  # replace replies that are there under this name
    # What follows changes how the work is done and not what comes out, unless a point fails.
    patience: Patience = field(default_factory=Patience)
    max_errors: int = 20
    restart: bool = False
    quiet: bool = True


class Point(NamedTuple):
    dialogue: str
    turn: int
    before: tuple[Turn, ...]


class Failure(NamedTuple):
    dialogue: str
    turn: int
    reason: str

    def __str__(self) -> str:
        return f"{self.dialogue}#{self.turn}: the agent {self.reason}"


@dataclass(frozen=True, slots=True)
class Responded:
    n_dialogues: int
    n_points: int  # that were to be answered
    n_replies: int
    n_there: int  # points that had replies under this name already
    failures: tuple[Failure, ...]


class _Said(msgspec.Struct):
    """The samples at one point: replies, or why there are none."""

    replies: list[Reply]
    reason: str | None = None


def respond(request: Request, *, agent: Agent | None = None) -> Responded:
    """Write the logs with the agent's replies among their alternatives. `agent` is asked instead of the named one."""
    check(request)
    census = scan(request.data)
    speaker = agent if agent is not None else resolve(request.agent, **request.settings)
    there, points = _census(request)
    key = msgspec.json.encode(
        (sorted(census.sha256.items()), str(signature(speaker)), request.name, request.samples, request.seed,
         request.where, request.limit, request.again)
    )  # fmt: skip
    with Journal(beside(request.output), digest(key), reuse=not request.restart) as journal:
        failures = _ask(request, speaker, points, journal)
        n_failed = len(failures)
        if points and n_failed == points:
            shown = "; ".join(map(str, failures[:_SHOWN]))
            raise Unmeasured(f"the agent answered at none of {counted(points, 'point')}: {shown}")
        count = write(_filled(request, journal), request.output)
    return Responded(count, points, (points - n_failed) * request.samples, there, tuple(failures))


def check(request: Request) -> None:
    if not request.name.strip() or request.name.startswith("@"):
        raise UsageError(
            f"`{request.name}` is no name for an agent: give --name a word that does not begin with @"
        )
    if request.samples < 1:
        raise UsageError(f"an agent is asked for 1 reply or more at a point, not {request.samples}")


def signature(agent: Agent) -> object:
    return agent_extras(agent).signature or agent


def beside(output: str) -> Path | None:
    """Where work in progress is kept; a pipe has no beside."""
    return None if output == PIPE else Path(output).with_name(f".{Path(output).name}.partial")


def _census(request: Request) -> tuple[int, int]:
    """How many points have replies already, and how many are to be answered."""
    open_points = spoken = n_dialogues = 0
    for dialogue in kept(request):
        n_dialogues += 1
        open_points += len(_open(dialogue, request))
        spoken += sum(_speaks(turn) for turn in dialogue.turns)
    if not n_dialogues:
        chosen = " and ".join(f"--where {key}={value}" for key, value in request.where) or "--limit"
        raise DataError(f"{chosen} leaves no conversation")
    if not spoken:
        raise DataError(f"there is no assistant message with text in {counted(n_dialogues, 'conversation')}")
    return spoken - open_points, open_points


def kept(request: Request) -> Iterator[Dialogue]:
    chosen = (
        dialogue
        for dialogue in read_all(request.data)
        if all(lookup(dialogue, key) == value for key, value in request.where)
    )
    return islice(chosen, request.limit)


def _open(dialogue: Dialogue, request: Request) -> list[int]:
    return [
        place
        for place, turn in enumerate(dialogue.turns)
        if _speaks(turn) and (request.again or request.name not in turn.alternatives)
    ]


def _speaks(turn: Turn) -> bool:
    """A message that only calls tools is no reply."""
    if turn.role != "assistant" or turn.content is None:
        return False
    return bool(turn.content.strip()) or not any(turn.extra.get(call) for call in CALLS)


def _points(request: Request) -> Iterator[Point]:
    for dialogue in kept(request):
        for place in _open(dialogue, request):
            yield Point(dialogue.id, place, _heard(dialogue, place))


def _heard(dialogue: Dialogue, place: int) -> tuple[Turn, ...]:
    """What an agent in the conversation would know: not what others would have said instead.

    Where dialogues have belief states, the one that the reply was given in stands on the turn that it answers, with
    what the database found then.
    """
    turns = [Turn(turn.role, turn.content, extra=turn.extra) for turn in dialogue.turns[:place]]
    state = dialogue.turns[place].state
    if turns and state is not None:
        found: Sequence[str] = dialogue.meta.get(POINTER, ())
        number = sum(turn.role == "user" for turn in turns) - 1
        known = {POINTER: found[number]} if 0 <= number < len(found) else {}
        turns[-1] = replace(turns[-1], state=state, extra={**turns[-1].extra, **known})
    return tuple(turns)


def _ask(request: Request, agent: Agent, total: int, journal: Journal) -> list[Failure]:
    """Every shard into the journal, and what failed."""
    failures: list[Failure] = []
    points = _points(request)
    size = max(1, SHARD // request.samples)
    with progress("asking", total, quiet=request.quiet) as advance:
        for part, shard in enumerate(iter(lambda: list(islice(points, size)), [])):
            said = msgspec.convert(journal.get(part), list[_Said]) if part in journal else []
            missing = [place for place in range(len(shard)) if not said or said[place].reason is not None]
            if missing:
                fresh = _answers(request, agent, [shard[place] for place in missing])
                said = said or [_Said([]) for _ in shard]
                for place, answer in zip(missing, fresh, strict=True):
                    said[place] = answer
                journal.put(part, said)
            failures += [
                Failure(point.dialogue, point.turn, one.reason)
                for point, one in zip(shard, said, strict=True)
                if one.reason is not None
            ]
            if len(failures) > request.max_errors and len(failures) < total:
                raise TooManyErrors(
                    f"the agent failed at {counted(len(failures), 'point')}, more than --max-errors "
                    f"{request.max_errors} allows; the last: {failures[-1]}. The same command asks again"
                )
            advance(len(shard))
    return failures


def _answers(request: Request, agent: Agent, points: Sequence[Point]) -> list[_Said]:
    asked = [
        Asked(point.before, _seed(request, point, sample))
        for point in points
        for sample in range(request.samples)
    ]
    answers = request.patience.ask(agent, asked)
    found = []
    for first in range(0, len(answers), request.samples):
        samples = answers[first : first + request.samples]
        failed = next((answer for answer in samples if isinstance(answer, NoReply)), None)
        replies = [answer for answer in samples if isinstance(answer, Reply)]
        found.append(_Said(replies) if failed is None else _Said([], str(failed)))
    return found


def _seed(request: Request, point: Point, sample: int) -> int:
    """A stream for each reply, whoever else is asked."""
    names = (str(request.seed), request.name, point.dialogue, str(point.turn), str(sample))
    return int(digest(*names), 16)


def _filled(request: Request, journal: Journal) -> Iterator[Dialogue]:
    parts = (msgspec.convert(journal.get(part), list[_Said]) for part in range(len(journal)))
    answers = (said for part in parts for said in part)
    for dialogue in kept(request):
        turns = list(dialogue.turns)
        for place in _open(dialogue, request):
            if replies := next(answers).replies:
                said = {**turns[place].alternatives, request.name: tuple(replies)}
                turns[place] = replace(turns[place], alternatives=said)
        yield replace(dialogue, turns=tuple(turns))
