"""Preferences of one rater on two replies, for tests."""

from turnwise.meta.preferences import ComparedPair


def chosen(outcome: int, *, at: int = 0, rater: str | None = "ann") -> ComparedPair:
    """The choice of a rater in the context `at`: 1 for the first reply, -1 for the second, 0 for a tie."""
    return ComparedPair(
        agents=("a", "b"),
        items=(f"{at}-a", f"{at}-b"),
        outcome=outcome,
        both_bad=False,
        clusters=(str(at), str(at)),
        rater=rater,
        position=0,
        lengths=(1, 1),
    )
