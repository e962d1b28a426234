"""`train`, `respond` and `simulate`: models, replies and dialogues."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from turnwise.errors import UsageError
from turnwise.library.arguments import (
    Count,
    Names,
    Natural,
    PathLike,
    Positive,
    check_place,
    checked,
    optional_path,
    split_names,
)
from turnwise.library.data import Data, Where, files, pairs, selected
from turnwise.library.reading import MappingLike
from turnwise.library.results import Trained, result
from turnwise.library.written import Replies, Simulated
from turnwise.run.spec import Judgements, Place, TrainSpec
from turnwise.settings.groups import ScoredRole
from turnwise.terminal import say


@checked
def train(
    metric: str,
    data: Data,
    *,
    reader: str | None = None,
    mapping: MappingLike | None = None,
    output: PathLike,
    on: Judgements = "ratings",
    dimension: str | None = None,
    lower_is_better: Names = (),
    settings: Mapping[str, Any] | None = None,
    where: Where | None = None,
    by: Names | None = None,
    role: ScoredRole = "assistant",
    limit: Count | None = None,
    model: PathLike | None = None,
    device: str = "auto",
    seed: Natural = 0,
    restart: bool = False,
    progress: bool = False,
) -> Trained:
    """Train a metric, or an agent, on dialogues, ratings or preferences, and write the folder of a model.

    The results are of replies that the model was not trained on. `score(..., metrics="NAME[trained=FOLDER]")` uses it.

    Parameters:
        metric: The name of a trainer: turnwise, usr-ret, usr-full, maude, att, adem, hred, ...
        data: As in `score`.
        reader: The format of the files where it is not the native one, as `turnwise ls readers` lists it.
        mapping: As in `score`.
        output: The folder to write; an interrupted run resumes.
        on: What a trainer learns from that can learn from either: `turnwise`.
        dimension: What people rated or chose by. Default: overall, else the only one.
        lower_is_better: Dimensions on which a high rating is bad, where the data does not say so itself.
        settings: Settings of the trainer, such as {"epochs": 10}; docs/train.md lists them.
        where: Only dialogues with these values, such as {"meta.corpus": "dailyz"}.
        by: Standardise ratings within each value of this key, such as `meta.corpus`.
        role: Whose messages are scored.
        limit: Only the first dialogues.
        model: The encoder, language model or trained folder to build on.
        device: `auto`, `cpu` or `cuda`.
        seed: Seed of everything random.
        restart: Ignore the checkpoints of an interrupted run.
        progress: Report progress on standard error.
    """
    with files(data, reader=reader, mapping=mapping) as given:
        from turnwise.run.train.command import train as run

        spec = TrainSpec(
            data=given.paths,
            names=given.names,
            metrics=(metric,),
            selection=selected(
                items=None, role=role, where=where, by=by, pair=None, cluster=None, limit=limit
            ),
            source=on,
            settings=dict(settings or {}),
            dimension=dimension,
            lower=split_names(lower_is_better),
            device=device,
            restart=restart,
            model=optional_path(model),
            seed=seed,
            output=Path(output),
            quiet=not progress,
        )
        outcome = run(spec, say=lambda line: say(line, err=True) if progress else None)
        return result(Trained, spec.command, outcome, None, figures=False)


@checked
def respond(
    data: Data,
    *,
    reader: str | None = None,
    mapping: MappingLike | None = None,
    agent: str,
    name: str,
    output: PathLike,
    samples: Count = 1,
    settings: Mapping[str, Any] | None = None,
    self_play: Count | None = None,
    user: str | None = None,
    where: Where | None = None,
    limit: Count | None = None,
    again: bool = False,
    concurrency: Count | None = None,
    timeout: Positive = 120.0,
    tries: Count | None = None,
    max_errors: Natural = 20,
    seed: Natural = 0,
    restart: bool = False,
    progress: bool = False,
) -> Replies:
    """Ask an agent for its reply at each assistant message of the logs, and write the logs with these replies.

    The agent is given the logged context of each point. Its replies stand under `alternatives`, where `ope` and
    `score(as_agents=...)` read them.

    Parameters:
        data: As in `score`.
        reader: The format of the files where it is not the native one, as `turnwise ls readers` lists it.
        mapping: As in `score`.
        agent: An OpenAI-compatible address, `module:function`, a folder of `train`, or a language model.
        name: The name under which the replies stand.
        output: The file to write; an interrupted run resumes.
        samples: Replies at each point.
        settings: Settings of the agent, such as {"temperature": 0.7}; docs/respond.md lists them.
        self_play: Instead, write dialogues of this many replies of the agent with itself.
        user: With `self_play`: the agent that plays the user.
        where: Only dialogues with these values, such as {"meta.corpus": "dailyz"}.
        limit: Only the first dialogues.
        again: Replace replies that the logs have under this name.
        concurrency: Requests or calls at once. Default: 8 for an address, 1 for a function.
        timeout: Seconds that one reply of an address or a function may take.
        tries: Attempts at a point. Default: 4 for an address, 2 for a function.
        max_errors: Stop when the agent has failed at more points than this.
        seed: Seed of the replies.
        restart: Ignore what an interrupted run has done.
        progress: Show a progress bar on standard error.
    """
    if user and not self_play:
        raise UsageError(
            "--user plays the user in --self-play; without --self-play the user's turns are the logged ones"
        )
    with files(data, reader=reader, mapping=mapping) as given:
        from turnwise.agents.calling import CallLimits
        from turnwise.run.dialogues.respond import Request
        from turnwise.run.dialogues.respond import respond as run

        asked = {"concurrency": concurrency, "tries": tries}
        chosen = {key: value for key, value in asked.items() if value is not None}
        own = dict(settings or {})
        if agent.startswith(("http://", "https://")):
            own = {**chosen, "timeout": timeout, **own}
        request = Request(
            data=given.paths,
            agent=agent,
            name=name,
            output=str(output),
            settings=own,
            samples=samples,
            seed=seed,
            where=pairs(where),
            limit=limit,
            again=again,
            call_limits=CallLimits(timeout=timeout, **chosen),
            max_errors=max_errors,
            restart=restart,
            quiet=not progress,
        )
        if self_play:
            from turnwise.run.dialogues.selfplay import write_self_play

            done = write_self_play(request, replies=self_play, user=user)
        else:
            done = run(request)
    return Replies(
        path=str(output),
        n_dialogues=done.n_dialogues,
        n_points=done.n_points,
        n_replies=done.n_replies,
        n_there=done.n_existing,
        failures=tuple(map(str, done.failures)),
    )


@checked
def simulate(
    world: str,
    *,
    output: PathLike,
    family: str | None = None,
    agents: Count = 16,
    dialogues: Count = 100,
    samples: Count = 4,
    truth: Natural = 5000,
    outsiders: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    db: PathLike | None = None,
    goals: PathLike | None = None,
    user: str | None = None,
    delexicalised: bool = False,
    draw: Natural | None = None,
    seed: Natural = 0,
    jobs: Count | None = None,
    on: Place = "local",
    address: str | None = None,
    progress: bool = False,
) -> Simulated:
    """Simulate dialogues of agents whose true quality is known.

    Parameters:
        world: `booking`, `chat`, `task`, or a world of a plugin.
        output: A .jsonl or .jsonl.gz file; the truth of x.jsonl is written to x.truth.json.
        family: The set of agents. Default: the world's first.
        agents: How many agents of the family.
        dialogues: Dialogues of each agent.
        samples: Replies of every agent at each point.
        truth: Unlogged dialogues behind an agent's true mean; 0 for no truth.
        outsiders: Agents beside the family, name -> address, as in `respond`.
        db: `task`: the folder of the venue tables. Default: the tables of an invented town.
        goals: `task`: a file of dialogues whose goals the users have. Default: goals drawn from the tables.
        user: `task`: `module:function` that makes a user with the interface of ConvLab-3's simulators. `booking`: the
            folder of a trained customer.
        delexicalised: `task`: write placeholders for values, and what each system believed.
        draw: Draw the agents at random with this seed. Default: the family's fixed list.
        seed: Seed of everything else that is random.
        jobs: Worker processes.
        on: Where the work is done: this machine or a Ray cluster.
        address: Address of a running Ray cluster.
        progress: Show a progress bar on standard error.
    """
    check_place(on, address)
    from turnwise import worlds
    from turnwise.run.dialogues.simulate import Simulation, truth_path
    from turnwise.run.dialogues.simulate import simulate as run
    from turnwise.run.workers.execute import executor

    simulation = Simulation(
        world=world,
        family=family or next(iter(worlds.named(world).FAMILIES)),
        agents=agents,
        dialogues=dialogues,
        samples=samples,
        truth=truth,
        seed=seed,
        draw=draw,
        outsiders=pairs(outsiders),
        db=optional_path(db),
        goals=optional_path(goals),
        delexicalised=delexicalised,
        user=user,
    )
    workers = executor(jobs, on=on, address=address)
    document = run(simulation, str(output), workers=workers, quiet=not progress)
    return Simulated(
        path=str(output),
        truth_path=truth_path(str(output)) if document["agents"] else None,
        n_dialogues=(agents + len(simulation.outsiders)) * dialogues,
        truth=document,
    )
