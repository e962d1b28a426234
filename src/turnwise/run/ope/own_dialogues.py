"""The road `dialogues` of `turnwise ope`: targets estimated from their own unrated dialogues.

The ratings of a target itself, if it has any, are never used to fit, to choose or to scale anything: with --all they
are what its estimate is compared with. A target with some ratings gets a second row in which they are pooled with the
prediction, by the method of `turnwise calibrate`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from turnwise.encode import TextEncoder
from turnwise.encode.models.catalogue import NotFetched
from turnwise.encode.sides import said
from turnwise.errors import DataError, MissingExtra, Refused, UsageError, counted, setting
from turnwise.estimators.calibration import standard_errors
from turnwise.estimators.dialogues.estimate import DialoguesEstimate, Panel
from turnwise.estimators.dialogues.pooled import Pooled, pooled
from turnwise.estimators.dialogues.table import Blocks, table
from turnwise.estimators.vectors import encoder
from turnwise.metrics.learned.reactions import known_dialogues
from turnwise.metrics.learned.trained import load_trained
from turnwise.records import AgentDifference, EstimateDiagnostics, KnownMeans, Withheld, finite
from turnwise.report.documents import OpeDocument
from turnwise.run.ope.critic import critics_among
from turnwise.run.ope.differences import compared
from turnwise.run.ope.estimate import TargetEstimate, within_scale
from turnwise.run.ope.logged_data import METRIC, check_scale, requested_ratings
from turnwise.run.ope.reward import computed
from turnwise.run.ope.truth import Truth, least_means, target_record, validation, write_figures
from turnwise.run.scoring.tally import generator
from turnwise.run.spec import finish
from turnwise.run.workers.execute import progress
from turnwise.settings.option import as_text
from turnwise.types import Dialogue, Floats, Ints, Signature

if TYPE_CHECKING:
    from turnwise.commands.ope import Ope, Road
    from turnwise.logs.scan import Census, Dimension

NAME = "dialogues"
POOLED = "dialogues+ratings"
BOTH = "both"
REPLIES = "replies"
ENCODER = "minilm"
REACTIONS = "reactions"  # the metric of users' reactions that ships with the package
TOOLS = ("tool-errors", "tool-retries")


@dataclass(frozen=True, slots=True, eq=False)
class OwnDialogues:
    """The dialogues of all agents on one rating, described by features."""

    rating: str
    scale: tuple[float, float] | None
    agents: tuple[str, ...]
    agent: Ints  # (n,)
    reward: Floats  # (n,) NaN where nobody rated a dialogue
    blocks: Blocks
    scores: Mapping[str, Floats]  # (n,) scores of dialogues that may be chosen
    encoder: Signature | None = None
    notes: tuple[str, ...] = ()
    others: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # road -> agent -> raw estimate

    def means(self) -> dict[str, float]:
        """Agent -> its mean rating, for agents with a rated dialogue."""
        return {name: float(own.mean()) for name, own in self._rated()}

    def errors(self) -> dict[str, float]:
        """Agent -> the standard error of its mean rating."""
        return standard_errors(
            {name: (len(own), float(np.sum((own - own.mean()) ** 2))) for name, own in self._rated()}
        )

    def known(self) -> KnownMeans:
        """What is known of the rated agents, for conclusions."""
        freedom = sum(len(own) - 1 for _, own in self._rated())
        squares = sum(float(np.sum((own - own.mean()) ** 2)) for _, own in self._rated())
        spread = float(np.sqrt(squares / freedom)) if freedom else None
        return KnownMeans(rating=self.rating, scale=self.scale, spread=spread, means=dict(self.means()))

    def _rated(self) -> list[tuple[str, Floats]]:
        """Each agent with rated dialogues, and their ratings."""
        found = []
        for index, name in enumerate(self.agents):
            own = self.reward[(self.agent == index) & np.isfinite(self.reward)]
            if len(own):
                found.append((name, own))
        return found

    def panel(self, target: str) -> Panel:
        """The table in which the target's own ratings are hidden."""
        mine = self.agent == self.agents.index(target)
        scores = dict(self.scores)
        for road, raw in self.others.items():
            scores[road] = np.array([raw.get(name, np.nan) for name in self.agents])[self.agent]
        hidden = np.where(mine, np.nan, self.reward)
        return Panel(table(self.agents, self.agent, hidden, self.blocks, scores))


def held(dialogues: Sequence[Dialogue], targets: Sequence[str]) -> list[Dialogue]:
    """The dialogues in which both sides say something; a `DataError` if a target has none of these."""
    both = [one for one in dialogues if said(one.turns, "user") and said(one.turns, "assistant")]
    there = {one.agent for one in both}
    for target in targets:
        if target not in there:
            raise DataError(
                f"no dialogue of `{target}` in which both sides speak: give a file with its own dialogues, or with "
                f"what it would have said ({setting('--road', 'replies')}; `turnwise respond` fills that in)"
            )
    return both


def described(
    spec: "Ope", dialogues: Sequence[Dialogue], census: "Census", *, rating: str, targets: Sequence[str]
) -> OwnDialogues:
    """The features of the dialogues of agents that are rated on `rating`, and of the targets."""
    check_scale(census, rating)
    both = held(dialogues, targets)
    rewards = dialogue_rewards(spec, both, rating)
    rated = {one.agent for one in both if one.id in rewards}
    if not rated - set(targets) and not spec.all_agents:
        raise DataError(
            f"no other agent has dialogues that are rated on `{rating}`; give rated dialogues of five agents or more"
        )
    kept = _share(
        [one for one in both if one.agent in targets or one.id in rewards or one.agent in rated],
        spec.fraction,
        generator(spec.seed, "fraction"),
    )
    agents = tuple(dict.fromkeys(one.agent for one in kept))
    codes = {name: index for index, name in enumerate(agents)}
    coder, note = text_encoder(spec)
    notes = [] if note is None else [note]
    # Reading texts for the first time can take minutes.
    with progress(f"reading {counted(len(kept), 'dialogue')}", None, quiet=spec.quiet):
        scores = _scores(spec, kept, census, coder, notes)
        blocks = Blocks.of(kept, coder)
    dimension = census.dimensions.get(rating)
    return OwnDialogues(
        rating=rating,
        scale=None if dimension is None else dimension.scale,
        agents=agents,
        agent=np.array([codes[one.agent] for one in kept], dtype=np.int64),
        reward=np.array([rewards.get(one.id, np.nan) for one in kept]),
        blocks=blocks,
        scores=scores,
        encoder=None if coder is None else coder.signature,
        notes=tuple(notes),
    )


def _share(dialogues: list[Dialogue], share: float, rng: np.random.Generator) -> list[Dialogue]:
    """A random share of each agent's dialogues, rounded, at least one; their order is kept."""
    if share == 1.0:
        return dialogues
    by_agent: dict[str, list[int]] = {}
    for index, one in enumerate(dialogues):
        by_agent.setdefault(one.agent, []).append(index)
    used = {
        index
        for mine in by_agent.values()
        for index in rng.permutation(mine)[: max(1, round(share * len(mine)))].tolist()
    }
    return [one for index, one in enumerate(dialogues) if index in used]


def text_encoder(spec: "Ope") -> tuple[TextEncoder | None, str | None]:
    """The encoder of --model, else the default one; None, with a note, where that is not installed or not fetched."""
    try:
        return encoder(as_text(spec.model) or ENCODER), None
    except (NotFetched, MissingExtra) as error:
        if spec.model is not None:
            raise
        return None, f"only counts of what is said are used, and no words: {error}"


def dialogue_rewards(spec: "Ope", dialogues: Sequence[Dialogue], rating: str) -> dict[str, float]:
    """Dialogue id -> its mean rating as a whole, otherwise the mean of its turns' ratings, or a metric's score."""
    if rating.startswith(METRIC):
        return computed(spec, dialogues, rating.removeprefix(METRIC))
    found = {}
    for dialogue in dialogues:
        mine = [one for one in dialogue.ratings if one.dimension == rating]
        values = [one.value for one in mine if one.turn is None] or [one.value for one in mine]
        if values:
            found[dialogue.id] = float(np.mean(values))
    return found


def _scores(
    spec: "Ope",
    dialogues: Sequence[Dialogue],
    census: "Census",
    coder: TextEncoder | None,
    notes: list[str],
) -> dict[str, Floats]:
    """Scores of dialogues that can be chosen: of metrics that --estimator names, reactions, outcomes, tool errors."""
    wanted = [name.removeprefix(METRIC) for name in spec.estimators if name.startswith(METRIC)]
    if coder is not None and as_text(spec.model) in (None, ENCODER):
        wanted += _reactions(dialogues, notes)
    if census.tool_calls:
        wanted += [name for name in TOOLS if name not in wanted]
    scores = {}
    for name in dict.fromkeys(wanted):
        try:
            numbers = computed(spec, dialogues, name, oriented=True)
        except (DataError, MissingExtra, Refused) as error:
            notes.append(f"`{name}` is not among the features: {error}")
            continue
        scores[name] = np.array([numbers.get(one.id, np.nan) for one in dialogues])
    outcomes = [_outcome(one) for one in dialogues]
    for dimension in dict.fromkeys(key for outcome in outcomes for key in outcome):
        scores[f"outcome {dimension}"] = np.array([one.get(dimension, np.nan) for one in outcomes])
    return scores


def _reactions(dialogues: Sequence[Dialogue], notes: list[str]) -> list[str]:
    """The name of the metric `reactions`, fitted without the corpus that the dialogues are from; empty without one."""
    folder = load_trained(REACTIONS, "")
    known = known_dialogues(folder, [one.turns for one in dialogues])
    if not known:
        return [REACTIONS]
    where = ", ".join(f"{name} ({count})" for name, count in known.items())
    if len(known) > 1:
        notes.append(
            f"`{REACTIONS}` is not among the features: users say the same as in dialogues of several corpora that it "
            f"was fitted to: {where}"
        )
        return []
    (corpus,) = known
    notes.append(f"`{REACTIONS}` is that fitted without {corpus}: dialogues of it are here ({known[corpus]})")
    return [f"{REACTIONS}[without={corpus}]"]


def _outcome(dialogue: Dialogue) -> Mapping[str, float]:
    """The logged outcome of the dialogue's last reply; empty without one."""
    last = next((turn for turn in reversed(dialogue.turns) if turn.role == "assistant"), None)
    return {} if last is None or last.outcome is None else last.outcome


def dialogue_estimates(data: OwnDialogues, targets: Sequence[str], *, pool: bool) -> list[TargetEstimate]:
    """The estimate of each target, and with `pool` a second one for a target that has ratings of its own.

    Where that one is given it is the answer, and the first is shown beside it.
    """
    found = []
    for target in targets:
        panel = data.panel(target)
        index = data.agents.index(target)
        known = panel.known(index)
        rated = np.isfinite(data.reward) & np.isin(data.agent, known)
        mine = data.reward[data.agent == index]
        about = TargetEstimate(
            target=target,
            estimator=NAME,
            n_dialogues=int(rated.sum()),
            n_agents=len(known),
            own_dialogues=len(mine),
            mean_of_others=float(panel.rating[list(known)].mean()) if known else None,
        )
        made: DialoguesEstimate | None = None
        try:
            made = panel.estimate(target)
            alone = within_scale(_answered(about, made, data), data.scale)
        except Refused as error:
            alone = about.refused(error)
        n_ratings = int(np.isfinite(mine).sum())
        if not pool or not n_ratings:
            found.append(alone)
            continue
        together = _with_ratings(replace(about, own_ratings=n_ratings), made, mine, data)
        answered = together.estimate is not None
        found += [replace(alone, beside=answered), replace(together, beside=not answered)]
    return found


def _signature(name: str, data: OwnDialogues, choice: str | None) -> str:
    """What must be equal for two estimates to be comparable: the rating, the chosen features and the encoder."""
    scores = ",".join([*data.scores, *data.others])
    given = {"rating": data.rating, "choice": choice, "scores": scores}
    fields = [(key, value) for key, value in given.items() if value]
    return str(Signature(name, tuple(fields), () if data.encoder is None else (data.encoder,)))


def _answered(about: TargetEstimate, made: DialoguesEstimate, data: OwnDialogues) -> TargetEstimate:
    """The estimate with its diagnostics, or its refusal with what is withheld."""
    outside = made.inside[0]
    diagnostics = EstimateDiagnostics(
        distance=finite(outside.target),
        calibrated=made.refusal is None,
        ranking=finite(made.ranking),
        p=finite(made.p),
        choice=made.choice,
        stable=made.stable,
        left_out={name: finite(value) for name, value in made.left_out.items()},
    )
    if made.refusal is not None:
        withheld = Withheld(estimate=made.value, interval=made.interval)
        return about.refused(made.refusal, structs.replace(diagnostics, withheld=withheld))
    return replace(
        about,
        estimate=made.value,
        interval=made.interval,
        signature=_signature(NAME, data, made.choice),
        method=f"regression on its own dialogues; `{made.choice}` was chosen by leaving agents out, and interval of "
        f"the errors of {about.n_agents} agents left out in turn, the choice included",
        diagnostics=diagnostics,
    )


def _with_ratings(
    about: TargetEstimate, made: DialoguesEstimate | None, ratings: Floats, data: OwnDialogues
) -> TargetEstimate:
    """The estimate from the target's own ratings, with the prediction of its dialogues where that is given."""
    about = replace(about, estimator=POOLED)
    try:
        found: Pooled = pooled(made, ratings)
    except Refused as error:
        return about.refused(error)
    done = replace(
        about,
        estimate=found.estimate,
        interval=found.interval,
        signature=_signature(POOLED, data, None if made is None else made.choice),
        method=found.method,
        diagnostics=EstimateDiagnostics(
            of_ratings=finite(found.of_ratings), contradicted=finite(found.contradicted), calibrated=True
        ),
    )
    return within_scale(done, data.scale)


def chosen_road(spec: "Ope", census: "Census", targets: Sequence[str]) -> "Road":
    """The road that --road names, otherwise that of replies where there are replies of every target, else of dialogues.

    Replies are `alternatives`, or records of single rated replies, which are paired by context. A named estimator of
    replies, and settings that only that road has, choose it too; where there are no replies they are a `UsageError`.
    """
    of_replies = {
        "--stream": spec.stream,
        "--challenging": spec.challenging is not None,
        "--no-calibrate": not spec.calibrate,
    }
    wanted = [flag for flag, given in of_replies.items() if given]
    if NAME in spec.estimators:
        raise UsageError(f"`{NAME}` is a road and no estimator of replies: {setting('--road', NAME)}")
    if spec.road is not None:
        if spec.road == "dialogues" and wanted:
            raise UsageError(f"{setting(wanted[0])} is for {setting('--road', 'replies')} alone")
        return spec.road
    rated = _dimension(census, spec.rating)
    single = rated is not None and rated.n_turn > 0 and rated.n_dialogue == 0
    named = [name for name in spec.estimators if not name.startswith(METRIC)]
    there = [target for target in targets if target in census.alternatives]
    if not (there or single or spec.all_agents or critics_among(spec.estimators)) and (wanted or named):
        given = [*map(setting, wanted), *(setting("--estimator", name) for name in named)]
        raise UsageError(
            f"{', '.join(given)}: for replies at points of others' dialogues, and there are none of "
            f"{', '.join(f'`{target}`' for target in targets)}; without this, its own dialogues are taken"
        )
    return "replies" if wanted or named or single or len(there) == len(targets) else "dialogues"


def _dimension(census: "Census", rating: str | None) -> "Dimension | None":
    """How the rating was given, of the named dimension or of the only one; None where that is not clear."""
    if rating is None and len(census.dimensions) == 1:
        return next(iter(census.dimensions.values()))
    return census.dimensions.get(rating or "overall")


def ope_of_dialogues(
    spec: "Ope",
    dialogues: Sequence[Dialogue],
    census: "Census",
    sha256: Mapping[str, str],
    targets: Sequence[str],
    truths: Truth,
) -> OpeDocument:
    """The document of the road of dialogues: estimates on all requested ratings."""
    records, known, validated = [], [], []
    differences: list[AgentDifference] = []
    notes = [f"road: {NAME}, the unrated dialogues of {_and(targets, every=spec.all_agents)}"]
    for rating in requested_ratings(census, spec.rating):
        data = described(spec, dialogues, census, rating=rating, targets=targets)
        notes += [note for note in data.notes if note not in notes]
        logged = data.means()
        truth = logged | {agent: means[rating].mean for agent, means in truths.items() if rating in means}
        least = least_means(spec.least_truths, rating, truth, truths)
        chosen = [target for target in targets if least(target)]
        if not chosen:
            raise UsageError(f"{setting('--min-truth')} leaves no agent to estimate")
        estimates = dialogue_estimates(data, chosen, pool=not spec.all_agents)
        records += [
            target_record(one, rating, logged.get(one.target), truths.get(one.target, {}).get(rating))
            for one in estimates
        ]
        errors = data.errors()
        known.append(data.known())
        if spec.all_agents:
            stated = {agent for agent, means in truths.items() if rating in means}
            unsure = {agent: 0.0 if agent in stated else error for agent, error in errors.items()}
            validated += validation(rating, (NAME,), estimates, truth, unsure)
        # One number a target: with ratings of its own where it has any.
        answers = [one for one in estimates if not one.beside]
        differences += compared(spec, rating, [answers], logged, errors)
        write_figures(spec, rating, estimates, truth)
    return finish(
        OpeDocument,
        spec,
        records,
        sha256,
        known=tuple(known),
        validation=tuple(validated),
        notes=tuple(notes),
        differences=tuple(differences),
        road=NAME,
    )


def _and(names: Sequence[str], *, every: bool) -> str:
    """The targets in words."""
    return "each agent in turn" if every else ", ".join(f"`{name}`" for name in names)


def with_own_dialogues(
    spec: "Ope",
    dialogues: Sequence[Dialogue],
    census: "Census",
    rating: str,
    targets: Sequence[str],
    *,
    raw: Mapping[str, Mapping[str, float]],
) -> tuple[list[TargetEstimate], tuple[str, ...]]:
    """Estimates of targets from their own dialogues and from replies together, and notes.

    `raw` has for every target the raw estimate of each agent from its replies, relative to the level of the dialogues
    that it was made from. It is one more number of the agent, which is chosen if it carries.
    """
    data = described(spec, dialogues, census, rating=rating, targets=targets)
    found = []
    for target in targets:
        of_replies = raw.get(target, {})
        with_replies = replace(data, others={REPLIES: of_replies}) if of_replies else data
        found += [
            replace(one, estimator=BOTH if one.estimator == NAME else one.estimator)
            for one in dialogue_estimates(with_replies, [target], pool=not spec.all_agents)
        ]
    return found, data.notes
