"""The strategy that a tuned policy has converged to (a row of the paper's Table 4), as candidates for the test.

Where the thresholds of Appendix B.2 are not conclusive, the authors inspected the replies and took the most frequent
one. Here the metric decides: if the most frequent reply, given in every context, scores at least as high as the policy,
the strategy is that fixed reply; otherwise it stays `not conclusive`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from turnwise.attacks.context import Context
from turnwise.attacks.strategy import Candidate, Kind
from turnwise.attacks.strategy_inference import InferredKind, Measures, infer_strategy
from turnwise.attacks.target import Target


@dataclass(frozen=True, slots=True)
class ConvergedStrategy:
    """The strategy behind a policy's replies, with the measures that it was inferred from.

    `inferred` is by the paper's thresholds, `final` after the check of the most frequent reply; both rewards are mean
    scores.
    """

    reward: float  # mean score of the policy's replies
    measures: Measures
    inferred: InferredKind  # by the thresholds of the paper
    final: InferredKind  # after the check of the most frequent reply
    description: str
    most_frequent: str
    fixed_reward: float  # mean score of the most frequent reply, given in every context


def converged_strategy(
    contexts: Sequence[Context], replies: dict[str, str], target: Target
) -> ConvergedStrategy:
    """Infer the strategy behind a policy's replies in these contexts; `replies` are by id of the context."""
    said = [replies[context.item.id] for context in contexts]
    found = infer_strategy([context.full_text for context in contexts], said)
    most, _ = Counter(said).most_common(1)[0]
    own = target.mean(list(zip(contexts, said, strict=True)))
    always = target.mean([(context, most) for context in contexts])
    final, description = found.strategy, found.description
    if final == "not conclusive" and always >= own:
        final, description = "fixed", f"always replies “{most}”"
    return ConvergedStrategy(own, found.measures, found.strategy, final, description, most, always)


def policy_candidates(found: ConvergedStrategy, replies: dict[str, str]) -> list[Candidate]:
    """The policy's replies as a candidate; if it converged to a fixed reply, that reply as a second candidate.

    `replies` has the policy's reply by id of the context, for all test contexts.
    """
    kinds: dict[InferredKind, Kind] = {"fixed": "fixed", "parrot": "parrot", "pattern": "pattern"}
    kind = kinds.get(found.final, "other")
    policy = Candidate(
        "rl: policy", kind, f"a tuned policy: {found.description}", lambda context: replies[context.item.id]
    )
    if found.final != "fixed":
        return [policy]
    fixed = Candidate(
        "rl: fixed", "fixed", f"always replies “{found.most_frequent}”", lambda _: found.most_frequent
    )
    return [policy, fixed]
