"""Self-play: dialogues of an agent with a user model, for self-play evaluation (`estimators.baselines.selfplay`).

In small talk the user model is the agent itself, as in ENIGMA's section 4.3 (Jiang et al. 2021), or any other agent: it
sees the dialogue with the roles swapped. Dialogues start with the first turns of logged ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from turnwise import estimators
from turnwise.agents import resolve
from turnwise.agents.calling import NoReply, ReplyRequest
from turnwise.conformance.calls import called
from turnwise.encode.episodes import encode, whole
from turnwise.errors import DataError, Unmeasured, UsageError, counted
from turnwise.logs import native
from turnwise.logs.scan import scan
from turnwise.protocols import TakesSelfPlay
from turnwise.run.dialogues.respond import (
    Failure,
    Responded,
    journal_path,
    selected_dialogues,
    signature_or_agent,
)
from turnwise.run.resume.progress_journal import Journal
from turnwise.run.scoring.tally import generator
from turnwise.run.workers.execute import progress
from turnwise.types import Agent, Dialogue, Episodes, Estimator, Reply, Role, Turn, digest

if TYPE_CHECKING:
    from turnwise.commands.respond import Respond

_SWAPPED: dict[Role, Role] = {"user": "assistant", "assistant": "user"}


def write_self_play(request: "Respond") -> Responded:
    """Write dialogues of the agent with itself, or with the agent `user`, that start like the dialogues of the logs.

    Each has `self_play` replies of the agent. Dialogues in which a speaker failed are left out; raises `Unmeasured` if
    more than `max_errors` or all failed, and `DataError` if no dialogue has a user turn. In the result `n_points` and
    `n_replies` count dialogues.
    """
    replies = request.self_play or 1
    census = scan(request.paths)
    agent = resolve(str(request.agent), **request.agent_settings)
    partner = agent if request.user is None else resolve(str(request.user))
    starts = [
        (dialogue, turns) for dialogue in selected_dialogues(request) if (turns := _first_turns(dialogue))
    ]
    if not starts:
        raise DataError("none of the dialogues has a user message to start with")
    # msgspec encodes no subclass of text, which the name of lines in memory is.
    identity = (
        sorted((str(path), sha256) for path, sha256 in census.sha256.items()),
        str(signature_or_agent(agent)),
        str(signature_or_agent(partner)),
        request.name,
        replies,
    )
    key = digest(msgspec.json.encode((*identity, request.seed, request.selection.where, request.limit)))
    failures: list[Failure] = []
    with (
        Journal(journal_path(str(request.output)), key, reuse=not request.restart) as journal,
        progress("talking", len(starts), quiet=request.quiet) as advance,
    ):
        for part, (dialogue, turns) in enumerate(starts):
            if part not in journal:
                played_dialogue = hold_dialogue(
                    agent, partner, turns, request=request, replies=replies, identity=dialogue.id
                )
                if isinstance(played_dialogue, NoReply):
                    failures.append(Failure(dialogue.id, len(turns), str(played_dialogue)))
                    if len(failures) > request.max_errors:
                        raise Unmeasured(
                            f"the agent failed in {counted(len(failures), 'dialogue')}: {failures[-1]}"
                        )
                    continue
                journal.put(part, native.dump(played_dialogue).decode())
            advance(1)
        if len(failures) == len(starts):
            raise Unmeasured(f"the agent finished none of {counted(len(starts), 'dialogue')}: {failures[-1]}")
        lines = (journal.get(part) for part in range(len(starts)) if part in journal)
        parsed = (native.parse(line, file=str(request.output), line_number=1) for line in lines)
        count = native.write(parsed, str(request.output))
    return Responded(count, len(starts), count, 0, tuple(failures))


def hold_dialogue(
    agent: Agent, user: Agent, first_turns: Sequence[Turn], *, request: "Respond", replies: int, identity: str
) -> Dialogue | NoReply:
    """A dialogue that continues `first_turns` by `replies` replies of the agent; one with an outcome ends it.

    `user` sees the roles swapped. `identity` is the id of the logged dialogue, which also seeds it. Returns the
    `NoReply` of the first speaker that fails.
    """
    rng = generator(request.seed, request.name, identity)
    turns = [Turn(turn.role, turn.content, extra=turn.extra) for turn in first_turns]
    for index in range(2 * replies - 1):
        agents_turn = index % 2 == 0
        reply = _reply(
            agent if agents_turn else user, turns if agents_turn else swap_roles(turns), request, rng
        )
        if isinstance(reply, NoReply):
            return reply
        turns.append(
            Turn(
                "assistant" if agents_turn else "user",
                reply.content,
                outcome=reply.outcome if agents_turn else None,
            )
        )
        if turns[-1].outcome is not None:
            break
    meta: dict[str, Any] = {"self_play": identity}
    return Dialogue(f"{request.name}/{identity}", request.name, tuple(turns), meta=meta)


def _reply(
    speaker: Agent, turns: Sequence[Turn], request: "Respond", rng: np.random.Generator
) -> Reply | NoReply:
    """The speaker's reply to `turns` within the call limits of the request, with a seed drawn from `rng`."""
    (reply,) = request.call_limits.ask(speaker, [ReplyRequest(turns, int(rng.integers(2**63)))])
    return reply


def _first_turns(dialogue: Dialogue) -> tuple[Turn, ...]:
    """The turns up to and including the first one of the user; empty if there is none."""
    for index, turn in enumerate(dialogue.turns):
        if turn.role == "user":
            return dialogue.turns[: index + 1]
    return ()


def swap_roles(turns: Sequence[Turn]) -> list[Turn]:
    """The turns with the roles of user and assistant swapped, without system turns."""
    return [replace(turn, role=_SWAPPED[turn.role]) for turn in turns if turn.role in _SWAPPED]


def without_played(name: str) -> tuple[str, str | None]:
    """The name of an estimator, such as `spe[played=FILE,ridge=1]`, without the setting `played`, and its value."""
    plain, settings = estimators.settings(name)
    path = settings.pop("played", None)
    if path is None:
        return name, None
    written = ",".join(f"{key}={value}" for key, value in settings.items())
    return (f"{plain}[{written}]" if written else plain), str(path)


def with_self_play(
    estimator: TakesSelfPlay,
    name: str,
    path: str | None,
    *,
    rating: str,
    scale: tuple[float, float] | None = None,
    delexicalised: bool = True,
) -> Estimator:
    """The estimator, called `name`, with the dialogues of the file `path` as episodes.

    `rating` is the dimension of their rewards. Raises `UsageError` without a file.
    """
    if path is None:
        raise UsageError(
            f"`{name}` needs self-play dialogues of the agents: {estimators.settings(name)[0]}[played=FILE], written "
            "by `respond --self-play`"
        )
    dialogues = list(native.read_all([path]))
    played = episodes_by_agent(dialogues, rating, scale=scale, delexicalised=delexicalised)
    return called(estimator, "with_dialogues", played)  # type: ignore[no-any-return]


def episodes_by_agent(
    dialogues: Sequence[Dialogue],
    rating: str,
    *,
    scale: tuple[float, float] | None = None,
    delexicalised: bool = True,
) -> dict[str, Episodes]:
    """The dialogues of each agent as episodes, agents in order of their first; only rated dialogues have a reward.

    `rating` is the dimension of the reward and `scale` its range.
    """
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
    """The mean rating of each dialogue, by id, on the dimension `rating`; ratings of single turns do not count."""
    return {
        dialogue.id: float(np.mean(values))
        for dialogue in dialogues
        if (values := [one.value for one in dialogue.ratings if one.dimension == rating and one.turn is None])
    }
