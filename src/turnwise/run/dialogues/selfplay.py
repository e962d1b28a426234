"""Conversations of an agent with a stand-in for people, for self-play evaluation (`estimators.selfplay`).

In small talk the stand-in is the agent itself, as in ENIGMA's section 4.3, or any other agent: it sees the conversation
with the roles exchanged. Conversations begin as logged ones did. In a world the scene's own user reacts, or one that
was learned from logs (`run.learned_customer`), and the world scores what was achieved.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from turnwise import estimators
from turnwise.agents import resolve
from turnwise.agents.answering import Asked, NoReply
from turnwise.encode.episodes import encode, whole
from turnwise.errors import DataError, Unmeasured, UsageError, counted
from turnwise.logs import native
from turnwise.logs.scan import scan
from turnwise.protocols import TakesSelfPlay
from turnwise.run.dialogues.respond import Failure, Request, Responded, beside, check, kept, signature
from turnwise.run.progress import progress
from turnwise.run.resume.journal import Journal
from turnwise.run.scoring.tally import generator
from turnwise.types import Agent, Dialogue, Episodes, Estimator, Reply, Role, Turn, digest
from turnwise.worlds.play import World, simulate_turns

_OTHER: dict[Role, Role] = {"user": "assistant", "assistant": "user"}


def converse(request: Request, *, replies: int, user: str | None = None) -> Responded:
    """Write conversations that the agent holds with itself, or with `user`, begun as those of the request's logs."""
    check(request)
    census = scan(request.data)
    agent = resolve(request.agent, **request.settings)
    partner = agent if user is None else resolve(user)
    begun = [(dialogue, turns) for dialogue in kept(request) if (turns := _opening(dialogue))]
    if not begun:
        raise DataError("no conversation has a user message to begin with")
    told = (
        sorted(census.sha256.items()),
        str(signature(agent)),
        str(signature(partner)),
        request.name,
        replies,
    )
    key = digest(msgspec.json.encode((*told, request.seed, request.where, request.limit)))
    failures: list[Failure] = []
    with (
        Journal(beside(request.output), key, reuse=not request.restart) as journal,
        progress("talking", len(begun), quiet=request.quiet) as advance,
    ):
        for part, (dialogue, turns) in enumerate(begun):
            if part not in journal:
                held = talk(agent, partner, turns, request=request, replies=replies, identity=dialogue.id)
                if isinstance(held, NoReply):
                    failures.append(Failure(dialogue.id, len(turns), str(held)))
                    if len(failures) > request.max_errors:
                        raise Unmeasured(
                            f"the agent failed in {counted(len(failures), 'conversation')}: {failures[-1]}"
                        )
                    continue
                journal.put(part, native.dump(held).decode())
            advance(1)
        if len(failures) == len(begun):
            raise Unmeasured(f"the agent held none of {counted(len(begun), 'conversation')}: {failures[-1]}")
        lines = (journal.get(part) for part in range(len(begun)) if part in journal)
        parsed = (native.parse(line, file=request.output, line_number=1) for line in lines)
        count = native.write(parsed, request.output)
    return Responded(count, len(begun), count, 0, tuple(failures))


def talk(
    agent: Agent, user: Agent, opening: Sequence[Turn], *, request: Request, replies: int, identity: str
) -> Dialogue | NoReply:
    """A conversation of so many replies; one with an outcome ends it."""
    rng = generator(request.seed, request.name, identity)
    turns = [Turn(turn.role, turn.content, extra=turn.extra) for turn in opening]
    for place in range(2 * replies - 1):
        mine = place % 2 == 0
        answer = _said(agent if mine else user, turns if mine else exchanged(turns), request, rng)
        if isinstance(answer, NoReply):
            return answer
        turns.append(
            Turn("assistant" if mine else "user", answer.content, outcome=answer.outcome if mine else None)
        )
        if turns[-1].outcome is not None:
            break
    meta: dict[str, Any] = {"self_play": identity}
    return Dialogue(f"{request.name}/{identity}", request.name, tuple(turns), meta=meta)


def _said(
    speaker: Agent, turns: Sequence[Turn], request: Request, rng: np.random.Generator
) -> Reply | NoReply:
    (answer,) = request.patience.ask(speaker, [Asked(turns, int(rng.integers(2**63)))])
    return answer


def _opening(dialogue: Dialogue) -> tuple[Turn, ...]:
    """The turns up to the first of the user."""
    for place, turn in enumerate(dialogue.turns):
        if turn.role == "user":
            return dialogue.turns[: place + 1]
    return ()


def exchanged(turns: Sequence[Turn]) -> list[Turn]:
    """The conversation as the other side sees it; what the agent alone was told is not for the user."""
    return [replace(turn, role=_OTHER[turn.role]) for turn in turns if turn.role in _OTHER]


def play(
    world: World,
    agent: Agent,
    *,
    name: str,
    dialogues: int,
    seed: int,
    user: Callable[[Any], Any] | None = None,  # puts another user into a scene
) -> Iterator[Dialogue]:
    """Conversations in a world, whose ratings are what the world computes."""
    for number in range(dialogues):
        rng = generator(seed, "self-play", name, str(number))
        scene = world.scene(rng)
        turns = simulate_turns(scene if user is None else user(scene), world.for_dialogue(agent), rng)
        identity = f"{name}/{number}"
        ratings = scene.ratings(turns, identity, rng)
        yield Dialogue(identity, name, turns[1:], ratings, goal=scene.goal)


def spe(
    name: str,
    rating: str,
    *,
    model: str | None = None,
    scale: tuple[float, float] | None = None,
    delexicalised: bool = True,
) -> Estimator:
    """The estimator `spe[played=FILE,...]`, with the conversations of that file."""
    plain, settings = estimators.settings(name)
    path = settings.pop("played", None)
    if path is None:
        raise UsageError(
            "`spe` needs conversations of the agents: spe[played=FILE], which `respond --self-play` writes"
        )
    written = ",".join(f"{key}={value}" for key, value in settings.items())
    estimator = estimators.resolve(f"{plain}[{written}]" if written else plain, model=model)
    if not isinstance(estimator, TakesSelfPlay):
        raise UsageError(f"`{name}` is not self-play evaluation")
    held = list(native.read_all([str(path)]))
    return estimator.given(played(held, rating, scale=scale, delexicalised=delexicalised))


def played(
    dialogues: Sequence[Dialogue],
    rating: str,
    *,
    scale: tuple[float, float] | None = None,
    delexicalised: bool = True,
) -> dict[str, Episodes]:
    """Each agent's conversations as episodes of their own; a reward is there where they are rated."""
    by_agent: dict[str, list[Dialogue]] = {}
    for dialogue in dialogues:
        by_agent.setdefault(dialogue.agent, []).append(dialogue)
    return {
        agent: encode(
            whole(mine, _rewards(mine, rating)), rating=rating, scale=scale, delexicalised=delexicalised
        )
        for agent, mine in by_agent.items()
    }


def _rewards(dialogues: Sequence[Dialogue], rating: str) -> Mapping[str, float]:
    return {
        dialogue.id: float(np.mean(values))
        for dialogue in dialogues
        if (values := [one.value for one in dialogue.ratings if one.dimension == rating and one.turn is None])
    }
