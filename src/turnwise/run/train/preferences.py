"""The preferences of the data as a trainer gets them."""

from typing import TYPE_CHECKING

from turnwise.errors import DataError
from turnwise.logs.scan import Census
from turnwise.meta.pair_accuracy import one_rater
from turnwise.networks.training.preferences import Choice, Preferences
from turnwise.run.scoring.preferences import chosen_dimension, compared_pairs

if TYPE_CHECKING:
    from turnwise.commands.train import Train

OUTCOMES = {1: 1.0, 0: 0.5, -1: 0.0}


def training_preferences(spec: "Train", metric: str, census: Census) -> Preferences:
    """The choices of the selection on one dimension: that of the spec, else `overall`, else the only one.

    Raises `DataError` without preferences, and `UsageError` if the dimension is not clear or has none.
    """
    if not census.preferences:
        raise DataError(
            f"`train {metric} --on preferences` learns from choices between two replies, and the data has none; "
            "`turnwise rate --mode pairwise` collects some"
        )
    dimension = chosen_dimension(spec.dimension, census)
    groups, _ = compared_pairs(spec, census, dimension)
    pairs = [pair for mine in groups.values() for pair in mine]
    choices = tuple(Choice(*pair.items, OUTCOMES[pair.outcome], pair.rater) for pair in pairs)
    return Preferences(dimension=dimension, choices=choices, one_rater=one_rater(pairs))
