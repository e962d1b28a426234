"""What a tuned policy has converged to: a line of the paper's Table 4, and the strategy to be judged.

Where the thresholds of B.2 decide nothing, the authors looked at the replies and took the most frequent one. Here
that is done by the metric: if the most frequent reply, given always, scores at least what the policy does, the
strategy is that fixed reply; else it stays `not conclusive`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from turnwise.attacks.context import Context
from turnwise.attacks.naming import Measures, Verdict, named
from turnwise.attacks.strategy import Entry, Kind
from turnwise.attacks.target import Target


@dataclass(frozen=True, slots=True)
class Converged:
    reward: float  # mean score of the policy's replies
    measures: Measures
    inferred: Verdict  # by the thresholds
    final: Verdict
    description: str
    most_frequent: str
    fixed_reward: float  # mean score of the most frequent reply, given always


def converged(contexts: Sequence[Context], replies: dict[str, str], target: Target) -> Converged:
    """The strategy behind a policy's replies to these contexts."""
    said = [replies[context.item.id] for context in contexts]
    found = named([context.whole for context in contexts], said)
    most, _ = Counter(said).most_common(1)[0]
    own = target.mean(list(zip(contexts, said, strict=True)))
    always = target.mean([(context, most) for context in contexts])
    final, description = found.strategy, found.description
    if final == "not conclusive" and always >= own:
        final, description = "fixed", f"always answers “{most}”"
    return Converged(own, found.measures, found.strategy, final, description, most, always)


def entries(found: Converged, replies: dict[str, str]) -> list[Entry]:
    """The policy as it answers, and, where it has one, its fixed reply given always."""
    kinds: dict[Verdict, Kind] = {"fixed": "fixed", "parrot": "parrot", "pattern": "pattern"}
    kind = kinds.get(found.final, "other")
    policy = Entry(
        "rl: policy", kind, f"a tuned policy: {found.description}", lambda context: replies[context.item.id]
    )
    if found.final != "fixed":
        return [policy]
    fixed = Entry(
        "rl: fixed", "fixed", f"always answers “{found.most_frequent}”", lambda _: found.most_frequent
    )
    return [policy, fixed]
