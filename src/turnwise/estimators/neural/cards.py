"""The cards of the neural estimators, by name. They are listed from here, because importing torch takes seconds."""

from typing import Final

from turnwise.types import Card

CARDS: Final[dict[str, Card]] = {
    "critic-paper": Card(
        kind="estimator",
        meaning="Discounted return by the published recurrent critic: fitted Q, least of K dropout passes.",
        range="0 to the greatest reward",
        limits="As published (reward=one) its value is discounted dialogue length: saying goodbye at every turn scores "
        "above people. No negatives: any reply looks good to it.",
        citation="Lubis et al. 2022, Dialogue Evaluation with Offline Reinforcement Learning",
    ),
    "enigma": Card(
        kind="estimator",
        meaning="Logged ratings, weighted by the ratio of the target's and the logs' stationary distributions, "
        "which a game of two small networks on an encoder finds.",
        range="that of the rating",
        limits="Needs logs that come where the target would. Raw sentence vectors do not see who failed in other "
        "words. A mean zeta at last turns far from 1 says that the training collapsed.",
        citation="Jiang et al. 2021, Towards Automatic Evaluation of Dialog Systems: "
        "A Model-Free Off-Policy Evaluation Approach",
    ),
    "fqe-neural": Card(
        kind="estimator",
        meaning="The rating to be expected from the target's first replies, by a network fitted to its own copy.",
        range="that of the rating; not clipped",
        limits="One rating at the end of a dialogue has to travel back through every turn: slow, and unstable.",
        citation="Le et al. 2019, Batch Policy Learning under Constraints; Jiang et al. 2021, figures 2 and 3",
    ),
    "lstdq-neural": Card(
        kind="estimator",
        meaning="The rating to be expected from the target's first replies, by a network of unpredictable errors.",
        range="that of the rating; not clipped",
        limits="A game that oscillates where ratings are sparse: look at its curve.",
        citation="Lagoudakis and Parr 2003, Least-Squares Policy Iteration; Jiang et al. 2021, figures 2 and 3",
    ),
}
