"""The contract of estimators."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from turnwise.conformance.calls import estimate_of, signature_of
from turnwise.conformance.plugins import estimator_problem
from turnwise.encode.episodes import kept, leave_out
from turnwise.errors import Refused
from turnwise.testing.data import episodes as sample_episodes
from turnwise.testing.expect import an_instance, expect, no_problem, raises, running
from turnwise.types import Episodes, Estimate, Estimator, RepliesAtPoints


@dataclass(frozen=True)
class Subject:
    """An estimator under test, and logs without the target's own dialogues."""

    estimator: Estimator
    logs: Episodes
    target: str

    def estimate(self, logs: Episodes | None = None, *, seed: int = 0) -> Estimate:
        """The estimate of the target from `logs`, or from its own logs if None; raises `PluginError` if it is
        no `Estimate`.
        """
        rng = np.random.default_rng(seed)
        return estimate_of(self.estimator, self.logs if logs is None else logs, self.target, rng=rng)


def check_estimator(
    estimator: Estimator,
    episodes: Episodes | None = None,
    target: str | None = None,
    *,
    checks: Sequence[Callable[[Subject], None]] | None = None,
) -> None:
    """Check that an estimator keeps its contract; raises `ContractError` with one sentence where it does not.

    The estimator is given the logs without the target's own dialogues, as `ope` does.

    Parameters:
        estimator: The estimator.
        episodes: Rated logs of several agents. Default: `turnwise.testing.episodes()`.
        target: One of their agents. Default: the last but one.
        checks: Some of `turnwise.testing.estimators.CHECKS`. Default: all.
    """
    subject = subject_of(estimator, episodes, target)
    for check in CHECKS if checks is None else checks:
        with running(f"the check that {(check.__doc__ or check.__name__).strip().rstrip('.').lower()}"):
            check(subject)


def subject_of(estimator: Estimator, episodes: Episodes | None = None, target: str | None = None) -> Subject:
    """The estimator with the logs less the target's own dialogues; raises `ContractError` if it is no estimator."""
    an_instance(estimator)
    no_problem(estimator_problem(estimator))
    episodes = sample_episodes() if episodes is None else episodes
    target = episodes.agents[-2] if target is None else target
    return Subject(estimator, leave_out(episodes, {target}), target)


def attributes_are_valid(subject: Subject) -> None:
    """The card is whole and the signature has a name."""
    no_problem(estimator_problem(subject.estimator))
    expect(
        signature_of(subject.estimator).name.strip(),
        "`signature.name` is empty; expected the estimator's name",
    )


def contributions_have_the_value_as_their_mean(subject: Subject) -> None:
    """The mean of the contributions is the value, and all numbers are finite."""
    found = subject.estimate()
    expect(np.isfinite(found.value), f"`value` is {found.value}; expected a finite number")
    expect(np.isfinite(found.contributions).all(), "`contributions` holds numbers that are not finite")
    mean = float(found.contributions.mean())
    expect(
        np.isclose(mean, found.value, rtol=1e-6, atol=1e-12),
        f"the mean of `contributions` is {mean}, and `value` is {found.value}",
    )
    for name, number in found.diagnostics.items():
        expect(np.isfinite(number), f"diagnostic `{name}` is {number}; expected a finite number")
    expect(np.isfinite(found.level), f"`level` is {found.level}; expected a finite number")


def the_order_of_dialogues_does_not_matter(subject: Subject) -> None:
    """The order of dialogues does not change the value."""
    logs = subject.logs
    parts = [
        kept(logs, logs.agent == index) for index in range(len(logs.agents)) if (logs.agent == index).any()
    ]
    first, second = subject.estimate().value, subject.estimate(joined(parts[::-1])).value
    expect(
        np.isclose(first, second, rtol=1e-6, atol=1e-8),
        f"the value is {first}, and {second} with the same dialogues in another order",
    )


def the_same_seed_gives_the_same_value(subject: Subject) -> None:
    """The same seed gives the same value, and the episodes are not changed."""
    before = copy.deepcopy(subject.logs)
    first, second = subject.estimate(seed=3).value, subject.estimate(seed=3).value
    expect(first == second, f"the value is {first}, and {second} with the same seed")
    for one in fields(before):
        then, now = getattr(before, one.name), getattr(subject.logs, one.name)
        if isinstance(then, np.ndarray):
            expect(np.array_equal(then, now, equal_nan=True), f"`estimate` changed `episodes.{one.name}`")


def nothing_to_learn_from_is_refused(subject: Subject) -> None:
    """Logs without any dialogue are refused."""
    empty = kept(subject.logs, np.zeros(len(subject.logs.agent), dtype=np.bool_))
    sentence = "`estimate` of logs without a dialogue must raise turnwise.plugins.Refused"
    raises(Refused, lambda: subject.estimate(empty), sentence)


def it_can_be_sent_to_a_worker(subject: Subject) -> None:
    """The estimator can be pickled, because worker processes get it so."""
    with running("pickling the estimator"):
        sent: Estimator = pickle.loads(pickle.dumps(subject.estimator))  # noqa: S301
    expect(str(sent.signature) == str(subject.estimator.signature), "the signature differs after pickling")


CHECKS: tuple[Callable[[Subject], None], ...] = (
    attributes_are_valid,
    contributions_have_the_value_as_their_mean,
    the_order_of_dialogues_does_not_matter,
    the_same_seed_gives_the_same_value,
    nothing_to_learn_from_is_refused,
    it_can_be_sent_to_a_worker,
)


def joined(parts: Sequence[Episodes]) -> Episodes:
    """Parts of one log, each of one agent, as one log in this order; they share their texts."""
    names = tuple(name for part in parts for name in part.agents)
    agent = np.concatenate([np.full(len(part.agent), names.index(part.agents[0])) for part in parts])
    lengths = np.concatenate([np.diff(part.first) for part in parts])

    def stacked(parts: Sequence[RepliesAtPoints]) -> RepliesAtPoints:
        """The arrays of these one after the other, field by field."""
        names = [one.name for one in fields(RepliesAtPoints)]
        return RepliesAtPoints(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    return replace(
        parts[0],
        agents=names,
        dialogues=tuple(name for part in parts for name in part.dialogues),
        agent=agent,
        reward=np.concatenate([part.reward for part in parts]),
        cluster=np.concatenate([part.cluster for part in parts]),
        first=np.concatenate([[0], np.cumsum(lengths)]),
        user=np.concatenate([part.user for part in parts]),
        logged=stacked([part.logged for part in parts]),
        alternatives={
            name: stacked([part.alternatives[name] for part in parts]) for name in parts[0].alternatives
        },
        log_probs={
            name: np.concatenate([part.log_probs[name] for part in parts]) for name in parts[0].log_probs
        },
    )
