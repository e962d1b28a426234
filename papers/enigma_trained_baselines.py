"""The baselines of ENIGMA's Table 1 that need the agents themselves: BLEU, perplexity and self-play."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sacrebleu.metrics import BLEU

from papers.learned_customer import play_in_world
from turnwise import estimators
from turnwise.agents.customer import TrainedCustomer
from turnwise.agents.seller import TrainedSeller, seller_example
from turnwise.commands.ope import Ope
from turnwise.encode.episodes import leave_out
from turnwise.estimators.baselines.selfplay import SelfPlay
from turnwise.estimators.neural.training_data import gather
from turnwise.logs.native import read_all
from turnwise.run.dialogues.selfplay import episodes_by_agent
from turnwise.run.dialogues.trained_sellers import corpus, trained_customer
from turnwise.run.ope.logged_data import LoggedData, prepare, selected_dialogues
from turnwise.types import Agent, Dialogue, Episodes, Turn
from turnwise.worlds.booking.world import WORLD

UNSEEN = 60  # dialogues for BLEU and perplexity, which no seller learned from
UNSEEN_SEED = 5000  # added to the seed of a draw's corpus
PLAYED = 60  # self-play dialogues of each seller
ENIGMA = "enigma[allow_collapse=true]"  # a collapse is counted in the table instead of refused


def language(agent: Agent, draw: int) -> dict[str, float]:
    """BLEU of the agent's replies at the points of unseen dialogues; of a trained seller also its perplexity there.

    The perplexity is that of a token, where values are replaced by slots. A rule has no likelihood.
    """
    unseen = corpus(draw + UNSEEN_SEED, UNSEEN)
    said, logged, total, count = [], [], 0.0, 0
    for dialogue in unseen:
        turns = [Turn("system", str(dialogue.meta["briefing"])), *dialogue.turns]
        for index, turn in enumerate(turns):
            if turn.role == "assistant":
                said.append(agent(turns[:index], np.random.default_rng(0)).content)
                logged.append(turn.text)
        if isinstance(agent, TrainedSeller):
            example = seller_example(dialogue, agent.words)
            predicted = sum(example.predicted)
            total += agent.reader.network.mean_loss([example]) * predicted
            count += predicted
    bleu = {"bleu": float(BLEU().corpus_score(said, [logged]).score)}
    return {**bleu, "perplexity": float(np.exp(total / count))} if count else bleu


def self_play(
    agents: Mapping[str, Agent], logs: str, draw: int, scores: Sequence[str]
) -> dict[str, dict[str, dict[str, float]]]:
    """Method -> score -> agent -> the mean of dialogues with a trained customer.

    The customer learned from the corpus of the draw and from all logs, as in the paper. `self-play` is scored by the
    world's rules, `self-play, reward model` by a model of the scores of the other agents' logs.
    """
    logged = list(read_all([logs]))
    customer = TrainedCustomer.read(trained_customer(draw, logged))
    held: list[Dialogue] = []
    for name, agent in agents.items():
        held += play_in_world(WORLD, agent, name=name, dialogues=PLAYED, seed=draw, user=customer)
    unrated = [replace(one, ratings=()) for one in held]
    found: dict[str, dict[str, dict[str, float]]] = {"self-play": {}, "self-play, reward model": {}}
    for score in scores:
        episodes = logged_data(logs, score, list(agents)).episodes
        for method, dialogues in zip(found, (held, unrated), strict=True):
            spe = SelfPlay(played=episodes_by_agent(dialogues, score, scale=(0.0, 1.0)))
            found[method][score] = {
                name: spe.estimate(leave_out(episodes, {name}), name, rng=np.random.default_rng(0)).value
                for name in agents
            }
    return found


def logged_data(logs: str, score: str, agents: Sequence[str], **options: Any) -> LoggedData:
    """The logs as `turnwise ope --all` prepares them for one score."""
    spec = Ope(data=(logs,), all_agents=True, rating=score, **options)
    dialogues, census = selected_dialogues(spec)
    return prepare(spec, dialogues, census, rating=score, targets=agents, others=())


def enigma(
    logs: str,
    agents: Sequence[str],
    scores: Sequence[str],
    options: Mapping[str, Any],
    *,
    estimator: str = ENIGMA,
) -> dict[str, dict[str, float]]:
    """Agent -> its estimate on each score by one training of `enigma`, and the mean of zeta at last turns.

    zeta does not depend on the rewards, so the estimates on all scores are its weighted means.
    """
    data = [logged_data(logs, score, agents, delexicalise=False, **options) for score in scores]
    found = {}
    for agent in agents:
        one = estimators.resolve(estimator).estimate(
            data[0].without(agent), agent, rng=np.random.default_rng(0)
        )
        first = rewards(data[0].without(agent), agent)
        # The contribution of a dialogue is value + weight (reward - value). It does not show the weight where the
        # reward is the value, as for a seller that is always right: there the weight is taken as 1, its mean.
        apart = np.abs(first - one.value) > 1e-9
        weights = np.where(apart, (one.contributions - one.value) / np.where(apart, first - one.value, 1), 1)
        means = {
            score: float(np.average(rewards(part.without(agent), agent), weights=weights))
            for score, part in zip(scores, data, strict=True)
        }
        found[agent] = {**means, "mean_zeta": one.diagnostics["mean_zeta"], "ess": one.diagnostics["ess"]}
    return found


def rewards(episodes: Episodes, agent: str) -> Any:
    """(N,) the score of the decision that the agent would have taken at the end of each logged dialogue."""
    return gather(episodes, agent).reward


def kept_logs(folder: Path, family: str, draw: int) -> str:
    """The path of the logs of a case in the folder of logs."""
    return str(folder / f"{family}-{draw}.jsonl")
