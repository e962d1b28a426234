"""DICE in closed form beside the same by gradients, on the same dialogues: time of all targets, and error.

Graded sellers of the booking world, each left out in turn; the truth is the mean of many conversations of each. Both
sides find their vectors in memory, and time is that of this process. `dice-linear` reads copy-delexicalised texts and
`enigma` plain ones, as is the rule of each.
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

AGENTS, DIALOGUES, TRUTH = 6, 40, 500


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


def measured(answers: Callable[[], dict[str, float]]) -> tuple[float, float]:
    """Seconds of this process, and the mean absolute error."""
    begun = time.process_time()
    found = answers()
    took = time.process_time() - begun
    truth = true_means()
    return took, float(np.mean([abs(found[name] - value) for name, value in truth.items()]))


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

    in_closed_form(coded), by_gradients(Enigma(epochs=1))  # reads every text
    # Equal episodes, but not the same: what the closed form keeps of those it has seen does not help it.
    ours, error = measured(lambda: in_closed_form(again))
    peer, peer_error = measured(lambda: by_gradients(game))
    what = f"{AGENTS} sellers x {DIALOGUES} dialogues, each left out"
    yield Line(f"DICE in closed form, {what}", ours, peer, "enigma, quick preset", goal=100)
    yield Line(
        "mean absolute error of the same", error, peer_error, "enigma", goal=1, unit="reward", at_most=True
    )
