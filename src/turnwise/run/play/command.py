"""`turnwise play`: agents talk to simulated users in scenarios, and what comes out is a log.

Each pair of an agent and a trial of a scenario is a part, and finished parts are kept in a journal. An interrupted run
goes on from there, and with seeded models writes the same bytes as one that was not, whatever the concurrency: the
seeds of a conversation depend on the run's seed, the scenario, the trial and, for the agent's replies, its name.

Dialogues that end with a fault of the simulated user or of the infrastructure are not in the log, which is scored, but
in a file beside it. What was measured (seconds, tokens, cost, discarded messages) is in another one.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import msgspec
import numpy as np

from turnwise import agents, users, worlds
from turnwise.agents.calling import CallLimits
from turnwise.agents.endpoint import EndpointAgent
from turnwise.agents.function import FunctionAgent
from turnwise.agents.http_agent import HttpAgent
from turnwise.conformance.calls import source_digest
from turnwise.errors import TooManyErrors, Unmeasured, UsageError, counted, setting
from turnwise.llm.gate import Gate
from turnwise.logs import native
from turnwise.logs.files import replacing
from turnwise.logs.items.keys import lookup
from turnwise.metrics.judge.cost import Price
from turnwise.metrics.models import text_encoder
from turnwise.protocols import agent_extras
from turnwise.records import PlayEnds, PlayRecord, RankCheck, RealismRecord, finite
from turnwise.report.documents import PlayDocument
from turnwise.run.dialogues.respond import journal_path, signature_or_agent
from turnwise.run.play.budget import Budget
from turnwise.run.play.conversation import NOT_SCORED, Held, Measured, Rules, Seeds, Stopped, hold
from turnwise.run.play.judging import rubric_holds
from turnwise.run.play.realism import Said, realism
from turnwise.run.play.toolbox import Toolbox, described, tool_functions
from turnwise.run.resume.progress_journal import Journal
from turnwise.run.scoring.tally import generator
from turnwise.run.spec import document_of, paths_of
from turnwise.run.workers.execute import progress
from turnwise.scenarios import reading
from turnwise.scenarios.scenario import Scenario
from turnwise.session_functions import HERE
from turnwise.stats.clusters import cluster_codes, cluster_sums
from turnwise.stats.correlation import kendall
from turnwise.stats.interval import interval_of_sums
from turnwise.types import AUTOMATIC, Agent, Dialogue, Floats, Rating, digest
from turnwise.users.learned import LearnedUser
from turnwise.users.model import ModelUser
from turnwise.users.rules import RuleUser
from turnwise.users.scripted import ScriptedUser
from turnwise.users.user import SimulatedUser, Stage

if TYPE_CHECKING:
    from turnwise.commands.play import Play

SUCCESS = "success"
WORLD = "world:"  # before the name of a world in place of a file
ALL = "all"  # the kind of scenarios and dialogues that name none
ENCODER = "minilm"  # of messages, for the comparison with real users
RATER = "turnwise play"
TASK, TRIAL = "task", "trial"  # keys of a record: the scenario, and which of its repeats, from 0
FAILURE = "failure"  # key of a record: what broke down outside the agent
_NAMED = re.compile(r"^(?P<name>[\w .+-]+)=(?P<spec>.+)$", re.DOTALL)
_SHARE = (0.0, 1.0)  # the scale of success
_WORLD_SCENARIOS = 20  # scenarios of `world:NAME` without --limit


class Part(NamedTuple):
    """One conversation that is to be held."""

    agent: str
    stage: Stage
    trial: int

    @property
    def identity(self) -> str:
        """The id of its dialogue."""
        return f"{self.agent}/{self.stage.scenario.id}/{self.trial}"


class Finished(msgspec.Struct, frozen=True):
    """A conversation as the journal keeps it."""

    line: str  # of the log
    end: str
    detail: str
    measured: Measured
    scores: dict[str, float]  # by dimension; without `success` where it is not known


@dataclass(frozen=True, kw_only=True)
class Cast:
    """Who talks to whom, with what."""

    agents: Mapping[str, Agent]
    user: SimulatedUser
    functions: Mapping[str, Callable[..., Any]]
    judge: Agent | None
    limits: CallLimits
    judge_limits: CallLimits


def play(
    spec: "Play", *, others: Mapping[str, Agent] | None = None, user: SimulatedUser | None = None
) -> PlayDocument:
    """Hold the conversations that the spec asks for, write the log and what is beside it, and return the results.

    `others` are agents by name that take the place of those of the spec, and `user` that of its user. Raises
    `Unmeasured` where no conversation can be scored, and where a limit on calls or cost ends the run.
    """
    scenarios = _scenarios(spec)
    cast = _cast(spec, scenarios, others, user)
    stages = [Stage(scenario, spec.seed) for scenario in scenarios]
    parts = [
        Part(name, stage, trial) for name in cast.agents for stage in stages for trial in range(spec.repeats)
    ]
    output = str(spec.output)
    with Journal(journal_path(output), _key(spec, scenarios, cast), reuse=not spec.restart) as journal:
        lost = _hold_all(spec, cast, parts, journal)
        finished = _Finished(parts, journal)
        if not any(one.end not in NOT_SCORED for _, one in finished):
            raise Unmeasured(
                f"none of {counted(len(parts), 'dialogue')} can be scored: {_why(finished, lost)}"
            )
        _write(output, finished)
        document = _document(spec, list(cast.agents), finished, lost)
        if spec.real is not None:
            realism, ranks = _against_real(spec, document, finished)
            document = msgspec.structs.replace(document, realism=realism, ranks=ranks)
        beside(output, "results.json").write_bytes(_encoded(document))
    return document


def beside(output: str, what: str) -> Path:
    """The path of a file beside the log: `runs.measured.jsonl` for `runs.jsonl`."""
    path = Path(output)
    return path.with_name(f"{path.name.removesuffix('.gz').removesuffix('.jsonl')}.{what}")


def _encoded(document: PlayDocument) -> bytes:
    """The results as the text of a file."""
    from turnwise.report.results import to_json

    return to_json(document)


def _scenarios(spec: "Play") -> tuple[Scenario, ...]:
    """The scenarios of the spec: of files, of a world, or values."""
    given = [spec.scenarios] if isinstance(spec.scenarios, str | Path) else spec.scenarios
    found: list[Scenario] = []
    paths, values = _files(spec), [one for one in given if not isinstance(one, str | Path)]
    for one in given:
        if isinstance(one, str | Path) and str(one).startswith(WORLD):
            found += _of_world(str(one).removeprefix(WORLD), spec.limit or _WORLD_SCENARIOS)
    found += reading.read(paths) if paths else ()
    found += reading.from_values(values) if values else ()
    kept = described(found[: spec.limit], spec.tools)
    if not kept:
        raise UsageError("there is no scenario to play")
    if spec.max_turns is not None:
        kept = tuple(msgspec.structs.replace(one, max_turns=spec.max_turns) for one in kept)
    return kept


def _files(spec: "Play") -> list[str]:
    """The files among the scenarios of the spec."""
    given = [spec.scenarios] if isinstance(spec.scenarios, str | Path) else spec.scenarios
    return [str(one) for one in given if isinstance(one, str | Path) and not str(one).startswith(WORLD)]


def _of_world(name: str, count: int) -> list[Scenario]:
    """Scenarios of a world; raises `UsageError` for an unknown one."""
    worlds.named(name)
    return [Scenario(id=f"{name}-{number:03}", kind=name, world=name) for number in range(1, count + 1)]


def _cast(
    spec: "Play",
    scenarios: Sequence[Scenario],
    others: Mapping[str, Agent] | None,
    user: SimulatedUser | None,
) -> Cast:
    """The agents, the user, the tools and the judge of the spec."""
    gates: dict[str, Gate] = {}
    speakers = dict(others or {})
    for text in map(str, spec.agents if others is None else ()):
        name, address = _named(text)
        if name in speakers:
            raise UsageError(
                f"two agents are called `{name}`: name them, as in {setting('--agent', 'NAME=AGENT')}"
            )
        speakers[name] = _gated(agents.resolve(address, **_settings(spec, name, address)), gates, spec.rate)
    limits = CallLimits(timeout=spec.timeout, **({} if spec.tries is None else {"tries": spec.tries}))
    somebody = user or users.resolve(str(spec.user), **_user_settings(spec, limits))
    judge = None
    if spec.judge:
        longest = {"longest": 16, "temperature": 0.0} if agents.is_served(str(spec.judge)) else {}
        judge = _gated(
            agents.resolve(str(spec.judge), **{**longest, **dict(spec.judge_settings or {})}),
            gates,
            spec.rate,
        )
    return Cast(
        agents=speakers,
        user=_gated_user(somebody, gates, spec.rate),
        functions=tool_functions(scenarios, spec.tools),
        judge=judge,
        limits=limits,
        judge_limits=limits,
    )


def _named(text: str) -> tuple[str, str]:
    """The name and the address of an agent, `NAME=AGENT` or `AGENT`."""
    match = _NAMED.match(text)
    return (match["name"].strip(), match["spec"]) if match else (text.removeprefix(f"{HERE}:"), text)


def _settings(spec: "Play", name: str, address: str) -> dict[str, Any]:
    """The settings of an agent: those for all, and those that begin with its name and a point."""
    given = dict(spec.settings or {})
    names = [_named(text)[0] for text in map(str, spec.agents)]
    own = {key: value for key, value in given.items() if not any(key.startswith(f"{one}.") for one in names)}
    own |= {key.removeprefix(f"{name}."): value for key, value in given.items() if key.startswith(f"{name}.")}
    if agents.is_served(address):
        own = {"timeout": spec.timeout, **({} if spec.tries is None else {"tries": spec.tries}), **own}
    return own


def _user_settings(spec: "Play", limits: CallLimits) -> dict[str, Any]:
    """The settings of the user, with the limits of its calls where it is a model."""
    own = dict(spec.user_settings or {})
    if spec.user in (users.RULES, users.SCRIPTED):
        return own
    if agents.is_served(str(spec.user)):
        own = {"timeout": spec.timeout, **({} if spec.tries is None else {"tries": spec.tries}), **own}
    return {"limits": limits, **own}


def _gated(agent: Agent, gates: dict[str, Gate], rate: float | None) -> Agent:
    """The agent behind the gate of its address, which all that ask this address share."""
    if isinstance(agent, EndpointAgent):
        gate = gates.setdefault(agent.chat.address, Gate(rate))
        return replace(agent, chat=replace(agent.chat, gate=gate))
    if isinstance(agent, HttpAgent):
        return replace(agent, gate=gates.setdefault(agent.address, Gate(rate)))
    return agent


def _gated_user(user: SimulatedUser, gates: dict[str, Gate], rate: float | None) -> SimulatedUser:
    """The user with its model behind the gate of its address."""
    if isinstance(user, ModelUser):
        return replace(user, agent=_gated(user.agent, gates, rate))
    if isinstance(user, LearnedUser) and user.model is not None:
        return replace(user, model=replace(user.model, agent=_gated(user.model.agent, gates, rate)))
    return user


def _key(spec: "Play", scenarios: Sequence[Scenario], cast: Cast) -> str:
    """What must be equal for finished conversations to be used again."""
    signatures = {
        name: str(signature_or_agent(agent)) + source_digest(agent) for name, agent in cast.agents.items()
    }
    judge = "" if cast.judge is None else str(signature_or_agent(cast.judge))
    sources = [digest(_source(function)) for _, function in sorted(cast.functions.items())]
    # msgspec encodes no subclass of text, which the name of lines in memory is.
    made = (
        msgspec.to_builtins(scenarios), signatures, str(cast.user.signature), judge, sources, spec.repeats,
        spec.seed, spec.retries, spec.check,
    )  # fmt: skip
    return digest(msgspec.json.encode(made))


def _source(function: Callable[..., Any]) -> bytes:
    """The bytes of the file that a function is in."""
    file = getattr(function, "__code__", None)
    path = Path(file.co_filename) if file is not None else None
    return path.read_bytes() if path is not None and path.is_file() else b""


def _hold_all(spec: "Play", cast: Cast, parts: Sequence[Part], journal: Journal) -> dict[int, str]:
    """Hold every conversation that the journal has not, and keep each as soon as it is over.

    Returns why there is none, by part, where the infrastructure failed at every attempt. An exception of a thread is
    raised, and so is `TooManyErrors` if more than `max_errors` conversations failed.
    """
    budget = Budget(spec.max_calls, spec.max_cost)
    for part in journal.parts:
        measured = msgspec.convert(journal.get(part), Finished).measured
        budget.add(measured.calls, measured.cost)
    waiting = iter([part for part in range(len(parts)) if part not in journal])
    done: SimpleQueue[tuple[int, Finished | BaseException | None]] = SimpleQueue()
    lock, rules = Lock(), _rules(spec, cast, budget)

    def work() -> None:
        """Hold conversations until none is left; the loop of one thread."""
        while True:
            with lock:
                index = next(waiting, None)
            if index is None:
                break
            try:
                done.put((index, _held(spec, cast, parts[index], rules[parts[index].agent])))
            except Stopped:
                break
            except BaseException as error:
                budget.stop.set()
                done.put((index, error))
                break
        done.put((-1, None))

    lost: dict[int, str] = {}
    open_threads = _threads(spec, cast)
    with progress("playing", len(parts), quiet=spec.quiet) as advance:
        advance(len(journal))
        for _ in range(open_threads):
            Thread(target=work, daemon=True).start()
        failure: BaseException | None = None
        while open_threads:
            index, result = done.get()
            if result is None:
                open_threads -= 1
            elif isinstance(result, BaseException):
                failure = failure or result
            elif result.end == "infrastructure-fault":
                lost[index] = result.detail
                if len(lost) > spec.max_errors:
                    budget.stop.set()
            else:
                journal.put(index, msgspec.to_builtins(result))
                advance(1)
    if failure is not None:
        raise failure
    if len(lost) > spec.max_errors:
        raise TooManyErrors(
            f"the infrastructure failed in {counted(len(lost), 'dialogue')}, more than "
            f"{setting('--max-errors', spec.max_errors)} allows; the last: {list(lost.values())[-1]}. Run the same "
            "command again to retry them"
        )
    if len(journal) + len(lost) < len(parts):
        raise Unmeasured(
            f"{budget.reached} ended the run after {len(journal)} of {counted(len(parts), 'dialogue')} and "
            f"{counted(budget.calls, 'call')}; the same command with a higher limit goes on from there"
        )
    return lost


def _threads(spec: "Play", cast: Cast) -> int:
    """The number of conversations at once."""
    if spec.concurrency is not None:
        return spec.concurrency
    waits = [agent_extras(agent).concurrent for agent in cast.agents.values()]
    return 8 if any(waits) or (_is_model(cast.user) and cast.user.concurrent) else 1


def _is_model(user: SimulatedUser) -> bool:
    """Whether a model speaks for the user, or somebody whom we do not know."""
    learned = isinstance(user, LearnedUser) and user.model is None
    return not (learned or isinstance(user, RuleUser | ScriptedUser))


def _rules(spec: "Play", cast: Cast, budget: Budget) -> dict[str, Rules]:
    """The limits of the conversations of each agent, with the locks of what only one thread may call at a time."""
    price = None if spec.price is None else Price.parse(spec.price)
    user_price = price if spec.user_price is None else Price.parse(spec.user_price)
    user_lock = None if cast.user.concurrent else Lock()
    common = Rules(
        limits=cast.limits,
        retries=spec.retries,
        check=spec.check and not isinstance(cast.user, RuleUser),  # whose rules have no faults
        user_calls=_is_model(cast.user),
        spend_agent=budget.spender(price),
        spend_user=budget.spender(user_price),
        before_call=budget.before_call,
        user_lock=user_lock,
    )
    return {
        # Whoever asks for several conversations at once says that the function may be called so.
        name: replace(
            common,
            agent_lock=None
            if agent_extras(agent).concurrent or (spec.concurrency and isinstance(agent, FunctionAgent))
            else Lock(),
        )
        for name, agent in cast.agents.items()
    }


def _held(spec: "Play", cast: Cast, part: Part, rules: Rules) -> Finished:
    """One conversation, held again where the infrastructure failed, with its scores."""
    seeds = Seeds(spec.seed, part.agent, part.stage.scenario.id, part.trial)
    took = Measured()
    for _ in range(spec.retries + 1):
        toolbox = Toolbox.of(part.stage.scenario, cast.functions)
        held = hold(
            part.stage, cast.agents[part.agent], cast.user, toolbox=toolbox, seeds=seeds,
            session=str(uuid4()), rules=rules,
        )  # fmt: skip
        held.measured.add_attempt(took)
        took = held.measured
        if held.end != "infrastructure-fault":
            break
    scores = dict(held.scores)
    success = _success(cast, part, held, seeds, rules)
    if success is not None:
        scores[SUCCESS] = success
    dialogue = _dialogue(part, held, toolbox, scores)
    return Finished(native.dump(dialogue).decode(), held.end, held.detail, held.measured, scores)


def _success(cast: Cast, part: Part, held: Held, seeds: Seeds, rules: Rules) -> float | None:
    """1 if all holds that the scenario asks for, 0 if something does not, None where nobody knows.

    Without a judge nobody knows of any dialogue with a rubric: those that fail for another reason would be all that is
    known.
    """
    success = part.stage.scenario.success
    if held.end in NOT_SCORED or not (success.is_checked or success.judge):
        return None
    if success.judge and cast.judge is None:
        return None
    if held.unmet or held.end == "agent-fault":
        return 0.0
    if cast.judge is None or not success.judge:
        return 1.0
    rules.before_call()
    held.measured.calls += 1
    verdict, reply = rubric_holds(
        cast.judge, success.judge, held.turns, seed=seeds.of_user(-1, 0), limits=cast.judge_limits
    )
    if reply is not None:
        held.measured.count(rules.spend_agent, reply.tokens_in, reply.tokens_out, reply.cost)
    return None if verdict is None else float(verdict)


def _dialogue(part: Part, held: Held, toolbox: Toolbox, scores: Mapping[str, float]) -> Dialogue:
    """The conversation as a line of the log."""
    scenario = part.stage.scenario
    meta: dict[str, Any] = {"kind": scenario.kind, "end": held.end}
    meta |= {"why": held.detail} if held.detail else {}
    meta |= {"unmet": held.unmet} if held.unmet else {}
    if part.stage.world is not None:
        meta["world"] = part.stage.world.name
    if briefing := [turn.text for turn in part.stage.briefing]:
        meta["briefing"] = "\n".join(briefing)
    ratings = tuple(
        Rating(
            part.identity, name, value, rater=RATER, scale=held.scales.get(name, _SHARE if name == SUCCESS else None),
            extra={AUTOMATIC: True},
        )
        for name, value in scores.items()
    )  # fmt: skip
    extra: dict[str, Any] = {TASK: scenario.id, TRIAL: part.trial}
    if held.end in NOT_SCORED:
        extra[FAILURE] = f"{held.end}: {held.detail}"
    if toolbox.tools:
        extra["tools"] = list(toolbox.definitions)
    goal = part.stage.goal or None
    return Dialogue(part.identity, part.agent, tuple(held.turns), ratings, goal=goal, meta=meta, extra=extra)


class _Finished:
    """The finished conversations in the order of the parts, read from the journal each time."""

    def __init__(self, parts: Sequence[Part], journal: Journal) -> None:
        self.parts, self._journal = parts, journal

    def __iter__(self) -> Iterator[tuple[Part, Finished]]:
        for index, part in enumerate(self.parts):
            if index in self._journal:
                yield part, msgspec.convert(self._journal.get(index), Finished)


def _why(finished: _Finished, lost: Mapping[int, str]) -> str:
    """Why dialogues are not scored, each reason once."""
    reasons = Counter(f"{one.end}: {one.detail}" for _, one in finished)
    reasons.update(f"infrastructure-fault: {reason}" for reason in lost.values())
    return "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common(3))


def _write(output: str, finished: _Finished) -> None:
    """The log, the dialogues that are not scored, and what was measured; each whole or not at all."""
    encode = msgspec.json.Encoder().encode
    with (
        replacing(output) as log,
        replacing(str(beside(output, "faults.jsonl"))) as faults,
        replacing(str(beside(output, "measured.jsonl"))) as measured,
    ):
        for part, one in finished:
            (faults if one.end in NOT_SCORED else log).write(one.line.encode() + b"\n")
            took = {"id": part.identity, "end": one.end, **msgspec.to_builtins(one.measured)}
            measured.write(encode(took) + b"\n")


def _document(
    spec: "Play", names: Sequence[str], finished: _Finished, lost: Mapping[int, str]
) -> PlayDocument:
    """The results: scores of each agent, and how its dialogues ended."""
    values: dict[tuple[str, str], list[tuple[str, float]]] = {}
    unjudged: Counter[str] = Counter()
    ends: dict[str, Counter[str]] = {name: Counter() for name in names}
    faults: dict[str, Counter[str]] = {name: Counter() for name in names}
    discarded: dict[str, Counter[str]] = {name: Counter() for name in names}
    calls: Counter[str] = Counter()
    costs: dict[str, float] = {}
    for part, one in finished:
        name = part.agent
        ends[name][one.end] += 1
        if one.end == "simulator-fault":
            faults[name][one.detail] += 1
        discarded[name].update(each.kind for each in one.measured.discarded)
        calls[name] += one.measured.calls
        if one.measured.cost is not None:
            costs[name] = costs.get(name, 0.0) + one.measured.cost
        for dimension, value in one.scores.items():
            values.setdefault((dimension, name), []).append((part.stage.scenario.id, value))
        if SUCCESS not in one.scores and one.end not in NOT_SCORED and part.stage.scenario.success.judge:
            unjudged[name] += 1
    for index in lost:
        ends[finished.parts[index].agent]["infrastructure-fault"] += 1
    records = [
        _record(spec, name, dimension, found)
        for (dimension, name), found in sorted(
            values.items(), key=lambda item: (item[0][0] != SUCCESS, item[0][0])
        )
    ]
    told = tuple(
        PlayEnds(
            agent=name, dialogues=sum(ends[name].values()), ends=dict(sorted(ends[name].items())),
            simulator_faults=dict(sorted(faults[name].items())), discarded=dict(sorted(discarded[name].items())),
            calls=calls[name], cost=costs.get(name), unjudged=unjudged[name],
        )
        for name in names
    )  # fmt: skip
    return document_of(
        PlayDocument, spec, records, {}, ends=told, left_out=dict(reading.left_out(_files(spec)))
    )


def _against_real(
    spec: "Play", document: PlayDocument, finished: _Finished
) -> tuple[tuple[RealismRecord, ...], tuple[RankCheck, ...]]:
    """How real the users' messages are, by kind, and whether real ratings order the agents as the scores do."""
    said: dict[str, list[Said]] = {}
    for part, one in finished:
        if one.end not in NOT_SCORED:
            messages = _own_messages(part, one)
            said.setdefault(part.stage.scenario.kind, []).extend(
                Said(part.identity, text) for text in messages
            )
    if not any(said.values()):
        return (), ()
    real: dict[str, list[Said]] = {}
    ratings: dict[str, dict[str, list[float]]] = {}  # dimension -> agent -> ratings
    for dialogue in native.read_all(paths_of(spec.real)):
        texts = [turn.text for turn in dialogue.turns if turn.role == "user"]
        kind = lookup(dialogue, spec.real_kind) or ALL
        cluster = lookup(dialogue, TASK) or dialogue.id
        real.setdefault(kind, []).extend(Said(cluster, text) for text in texts)
        for rating in dialogue.ratings:
            sign = -1.0 if rating.direction == "lower" else 1.0
            by_agent = ratings.setdefault(rating.dimension, {})
            by_agent.setdefault(dialogue.agent, []).append(sign * rating.value)
    if real.keys() <= {ALL} or said.keys() <= {ALL}:  # one of the two has no kinds
        said = {ALL: [one for messages in said.values() for one in messages]}
        real = {ALL: [one for messages in real.values() for one in messages]}
    encoder = text_encoder(str(spec.model or ENCODER))
    records = [
        record
        for kind, messages in said.items()
        for record in realism(messages, real.get(kind, []), encoder=encoder, kind=kind, seed=spec.seed)
    ]
    return tuple(records), tuple(_rank_checks(document, ratings))


def _own_messages(part: Part, one: Finished) -> list[str]:
    """The messages of the simulated user, without those that the scenario says."""
    dialogue = native.parse(one.line, file=part.identity, line_number=1)
    said = [turn.text for turn in dialogue.turns if turn.role == "user"]
    return said[len(part.stage.scenario.turns) :]


def _rank_checks(
    document: PlayDocument, ratings: Mapping[str, Mapping[str, Sequence[float]]]
) -> Iterator[RankCheck]:
    """For each dimension of real ratings and each score, whether they order the agents that have both alike."""
    scores: dict[str, dict[str, float]] = {}
    for record in document.results:
        scores.setdefault(record.dimension, {})[record.agent] = record.value
    for dimension, by_agent in ratings.items():
        for against, simulated in scores.items():
            names = [name for name in simulated if name in by_agent]
            if len(names) < 2:
                continue
            x = np.array([simulated[name] for name in names])
            y = np.array([np.mean(by_agent[name]) for name in names])
            signs = [np.sign(x[a] - x[b]) * np.sign(y[a] - y[b]) for a in range(len(names)) for b in range(a)]
            yield RankCheck(
                dimension=dimension, against=against, agents=tuple(names), kendall=finite(kendall(x, y)),
                agreeing_pairs=sum(bool(sign > 0) for sign in signs), pairs=len(signs),
            )  # fmt: skip


def _record(spec: "Play", agent: str, dimension: str, found: Sequence[tuple[str, float]]) -> PlayRecord:
    """The mean of an agent's scores, with its interval by scenario."""
    codes, n_clusters = cluster_codes([scenario for scenario, _ in found])
    rows = np.array([(value, 1.0) for _, value in found])
    interval, method = interval_of_sums(
        cluster_sums(rows, codes, n_clusters), _mean, draws=spec.draws,
        rng=generator(spec.seed, "play", agent, dimension), bounds=_SHARE if dimension == SUCCESS else None,
    )  # fmt: skip
    return PlayRecord(
        agent=agent,
        dimension=dimension,
        estimate=float(rows[:, 0].mean()),
        interval=interval,
        n_items=len(found),
        n_clusters=n_clusters,
        method=method,
    )


def _mean(sums: Floats) -> Floats:
    """(..., 2) sums of values and counts -> (...) means."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[..., 0] / sums[..., 1])
