"""Closed-form DICE (`dice-linear`) against DICE by gradients (`enigma`) on the same dialogues: time and error.

The targets are the graded sellers of the booking world, each left out in turn; the truth is each seller's mean reward
over many dialogues. Vectors are in memory on both sides, and times are processor times. `dice-linear` uses
copy-delexicalised texts and `enigma` plain ones, which are their defaults.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.harness import Line
from turnwise.encode.episodes import encode, leave_out, whole
from turnwise.estimators.linear.dice import LinearDice
from turnwise.estimators.neural.enigma import Enigma
from turnwise.types import Episodes
from turnwise.worlds import booking

AGENTS, DIALOGUES, TRUTH = 6, 40, 500  # sellers; dialogues of each; dialogues of each for the truth


def logs(*, delexicalised: bool) -> Episodes:
    sellers = booking.family("graded", agents=AGENTS)
    rng = np.random.default_rng(0)
    held = [
        booking.WORLD.play(seller, rng, identity=f"{name}-{place}", name=name, others=sellers, samples=1)
        for name, seller in sellers.items()
        for place in range(DIALOGUES)
    ]
    rewards = {one.id: next(r.value for r in one.ratings if r.dimension == "reward") for one in held}
    return encode(whole(held, rewards), rating="reward", delexicalised=delexicalised)


def true_means() -> dict[str, float]:
    sellers, reward = booking.family("graded", agents=AGENTS), booking.WORLD.dimensions.index("reward")
    scores = {
        name: [booking.WORLD.truth(seller, np.random.default_rng([1, number])) for number in range(TRUTH)]
        for name, seller in sellers.items()
    }
    return {name: float(np.mean(found, axis=0)[reward]) for name, found in scores.items()}


def measured(estimate_all: Callable[[], dict[str, float]]) -> tuple[float, float]:
    """Processor seconds to estimate all sellers, and the mean absolute error."""
    start = time.process_time()
    estimates = estimate_all()
    seconds = time.process_time() - start
    truth = true_means()
    return seconds, float(np.mean([abs(estimates[name] - value) for name, value in truth.items()]))


def bench() -> Iterator[Line]:
    rng = np.random.default_rng(0)
    coded, again, plain = logs(delexicalised=True), logs(delexicalised=True), logs(delexicalised=False)
    closed, game = LinearDice(), Enigma()

    def by_gradients(estimator: Enigma) -> dict[str, float]:
        return {
            name: estimator.estimate(leave_out(plain, {name}), name, rng=rng).value for name in plain.agents
        }

    def in_closed_form(episodes: Episodes) -> dict[str, float]:
        found = closed.estimates(episodes, episodes.agents, rng=rng)
        return {name: one.value for name, one in zip(episodes.agents, found, strict=True)}

    in_closed_form(coded), by_gradients(Enigma(epochs=1))  # fills the caches of vectors
    # `again` is an equal copy of `coded`, so that results cached for `coded` are not used.
    ours, error = measured(lambda: in_closed_form(again))
    peer, peer_error = measured(lambda: by_gradients(game))
    what = f"{AGENTS} sellers x {DIALOGUES} dialogues, each left out"
    yield Line(f"DICE in closed form, {what}", ours, peer, "enigma, quick preset", goal=100)
    yield Line(
        "mean absolute error of the same", error, peer_error, "enigma", goal=1, unit="reward", at_most=True
    )
