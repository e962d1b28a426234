"""The critic as an estimator; what the paper leaves open is a setting.

*reward*: `success` pays at the end if the goal was reached, as section 5.4 says. `one` pays always: the published
value of people, 52.68, is E[.9^(T-1)] on the test set (52.69), so this is what was run. The value is then the
discounted length alone, and saying goodbye at every turn is the best policy. `progress` pays each turn for the part of
the goal that it fulfils. `rating` pays a person's rating at the end, for open-domain logs (section 7).

*gamma*: not stated; .9 by the same inference. 1 with ratings, so that the value is a mean rating.

*pessimism*: the paper takes the minimum of K dropout passes and does not state K. A linear critic has a standard error;
this number of standard errors is subtracted from the Q of each next reply (1.5 is about the minimum of ten passes). The
subtraction accumulates over turns and favours short dialogues, so the default is 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Protocol, Self, get_args

import numpy as np

from turnwise.encode.episodes import leave_out
from turnwise.encode.models.folder import is_trained, read_config
from turnwise.errors import Refused, UsageError
from turnwise.estimators.critic.controls import TRAINED_CONTROLS
from turnwise.estimators.critic.evaluation import Evaluation, SystemValue
from turnwise.estimators.critic.features import Facts, Features
from turnwise.estimators.critic.words import RULES, WORDS, Encoding
from turnwise.protocols import CriticReward, TextForm
from turnwise.types import Card, Episodes, Estimate, Floats, Signature

REWARDS: tuple[CriticReward, ...] = get_args(CriticReward)
DISCOUNT = 0.9
ONTOLOGY = "multiwoz"
LATENT = ("lava", "plas", "lava-pg")  # kinds of trained folders whose actions are points


@dataclass(frozen=True)
class Critic:
    """The linear critic: cross-fitted fitted Q evaluation with negatives (`evaluation`), one value for each system."""

    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="Discounted return that a system's replies promise in the logged contexts: cross-fitted linear Q.",
        range="that of the reward; 0-100 with success. Above the logged value where replies are more typical than "
        "people's own",
        limits="Learns what typical replies look like more than what succeeds: the reply adds little to what the state "
        "predicts. Read it beside its controls.",
        citation="Lubis et al. 2022, Dialogue Evaluation with Offline Reinforcement Learning",
    )

    reward: CriticReward = "auto"  # auto: rating if there is one, otherwise success
    gamma: float | None = None  # None: .9, with ratings 1
    actions: str = WORDS  # or acts, semantic, the name or folder of an encoder, the folder of a LAVA model
    form: TextForm = (
        "auto"  # form of task logs' texts. `logged`: as they are, for LAVA, which knows its own placeholders
    )
    negatives: float = 0.1
    ridge: float = 0.1
    pessimism: float = 0.0
    ontology: str = ONTOLOGY  # of task logs: a .toml file, or a folder with `ontology.toml` and tables
    fewest: int = 150  # dialogues for values that are not calibrated; with fewer they are several points off
    facts: Mapping[str, Facts] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.reward not in REWARDS:
            raise UsageError(f"critic: reward is one of {', '.join(REWARDS)}, not `{self.reward}`")
        if self.form not in get_args(TextForm):
            raise UsageError(f"critic: form is auto, one or logged, not `{self.form}`")
        if self.gamma is not None and not 0 < self.gamma <= 1:
            raise UsageError(f"critic: gamma is above 0 and at most 1, not {self.gamma}")
        if self.fewest < 1:
            raise UsageError(f"critic: fewest is 1 or more, not {self.fewest}")
        if self.negatives < 0 or self.ridge <= 0 or self.pessimism < 0:
            raise UsageError("critic: negatives and pessimism are 0 or more, ridge is above 0")

    @property
    def discount(self) -> float:
        """`gamma` if it is given, otherwise 1 with ratings and .9 with the rewards of a task."""
        if self.gamma is not None:
            return float(self.gamma)
        return 1.0 if self.reward in ("auto", "rating") else DISCOUNT

    @property
    def signature(self) -> Signature:
        """The settings that change a value, with `auto` resolved, and the signature of the encoder of actions.

        The reward `auto` counts as `rating`.
        """
        settings = {
            "reward": "rating" if self.reward == "auto" else self.reward,
            "gamma": f"{self.discount:g}",
        }
        for name in ("actions", "form", "negatives", "ridge", "pessimism"):
            settings[name] = str(getattr(self, name))
        if self.ontology != ONTOLOGY:
            settings["ontology"] = self.ontology
        return Signature(
            "critic", tuple((settings | {"form": self.text_form}).items()), self._encoder_signature
        )

    @property
    def _encoder_signature(self) -> tuple[Signature, ...]:
        """The signature of the encoder of actions; none for words and for acts by rule."""
        return () if self.actions in (WORDS, *RULES) else (_encoder(self.actions).signature,)

    @property
    def text_form(self) -> TextForm:
        """`one` or `logged`: the form in which texts are read. `auto` is `logged` for LAVA actions, otherwise `one`."""
        return ("logged" if is_latent(self.actions) else "one") if self.form == "auto" else self.form

    @property
    def trained_controls(self) -> list[str]:
        """Names (without prefix) of the controls that are worth 0 by training, and so tell nothing.

        The list is empty without negatives.
        """
        return list(TRAINED_CONTROLS) if self.negatives else []

    def with_facts(self, facts: Mapping[str, Facts]) -> Self:
        """A copy with the task facts of the dialogues, by dialogue id."""
        return replace(self, facts=facts)

    def with_reward(self, reward: CriticReward) -> Self:
        """A copy with another reward."""
        return replace(self, reward=reward)

    def evaluation(self, episodes: Episodes, *, seed: int = 0) -> Evaluation:
        """The equations fitted on these dialogues, from which the value of any system on them is computed.

        `seed` determines folds and random negatives. Raises `Refused` with fewer than 30 dialogues.
        """
        if not len(episodes.dialogues):
            raise Refused("there is no dialogue to learn from", "no-dialogue")
        features = Features(episodes, self.facts, self._encoding(episodes))
        return Evaluation(
            features,
            gamma=self.discount,
            ridge=self.ridge,
            negatives=self.negatives,
            pessimism=self.pessimism,
            seed=seed,
        )

    def _encoding(self, episodes: Episodes) -> Encoding | None:
        """The encoding of replies for `actions`; None for words, which are fitted with the features."""
        if self.actions == WORDS:
            return None
        rule = RULES.get(self.actions)
        return _encoder(self.actions) if rule is None else rule(episodes.texts)

    def estimate(self, episodes: Episodes, target: str, /, *, rng: np.random.Generator) -> Estimate:
        """The critic's value of the target on the dialogues that it did not hold.

        Refused if the target has no alternatives there. `rng` is not used: folds and negatives depend on seed 0.
        """
        episodes = leave_out(episodes, {target})
        said = episodes.alternatives.get(target)
        if said is None:
            raise Refused(
                "the logs do not say what `{agent}` would have said; `turnwise respond` fills that in",
                "no-alternatives",
                agent=target,
            )
        found = self.evaluation(episodes).value(said)
        return estimate(found)


def estimate(found: SystemValue) -> Estimate:
    """The value of a system as an `Estimate`, with the Bellman error as its diagnostic `bellman_error`."""
    return Estimate(
        value=found.value, contributions=found.contributions, diagnostics={"bellman_error": found.error}
    )


def is_latent(actions: str) -> bool:
    """Whether `actions` is the folder of a LAVA model (any kind of `LATENT`), whose latent points are the actions."""
    return is_trained(Path(actions)) and read_config(Path(actions))["kind"] in LATENT


@lru_cache(maxsize=2)
def _encoder(model: str) -> "EncodingWithSignature":
    """The action encoder of a LAVA folder, or the sentence encoder of this name; the last two are kept."""
    if is_latent(model):
        from turnwise.estimators.neural.actions import LatentActions

        return LatentActions(model)
    return _Cached(model)


class EncodingWithSignature(Encoding, Protocol):
    """An encoding that has a signature, because it comes from a model."""

    signature: Signature


class _Cached:
    """A sentence encoder by name, with its vectors as float64; every text is encoded once."""

    def __init__(self, model: str) -> None:
        from turnwise.estimators.vectors import encoder

        self.model = model
        self.signature: Signature = encoder(model).signature

    def encode(self, texts: Sequence[str], /) -> Floats:
        """(m, q) the vectors of the texts; zeros for a text without a vector."""
        from turnwise.estimators.vectors import vectors

        return vectors(tuple(texts), self.model)
