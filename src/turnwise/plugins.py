"""What a package needs to add a metric, an estimator, a reader, an agent, a world or a trainer to turnwise.

This module is public: its names, listed in `__all__`, stay for at least one minor version after they are deprecated.
`docs/extend.md` shows a whole package. A plugin is a named entry point of one of the groups in `GROUPS`, for example

    [project.entry-points."turnwise.metrics"]
    shouting = "example.shouting:Shouting"

`turnwise.testing` checks a plugin. A plugin that breaks its contract is reported as a `PluginError` with one line.
"""

from turnwise.encode.models.folder import Folder
from turnwise.encode.models.folder import load as load_model
from turnwise.errors import DataError, PluginError, Problem, Refused, UsageError
from turnwise.logs.readers.source import Options
from turnwise.metrics.rows import Mean, Ratio, Sums
from turnwise.networks.training.preferences import Choice, Preferences
from turnwise.networks.training.task import Ratings, TrainedModel, TrainingTask
from turnwise.protocols import (
    Abstains,
    AgentExtras,
    Asks,
    Curved,
    EstimatesMany,
    EstimatorExtras,
    Explains,
    HasRaterErrors,
    KnowsTraining,
    Learns,
    MetricExtras,
    Priced,
    ReadsPlaceholders,
    SamplesRaters,
    SumEstimator,
    Summarises,
    TakesMetrics,
    TakesSelfPlay,
    TaskCritic,
    TrainerExtras,
    WorldExtras,
)
from turnwise.records import StatisticRecord
from turnwise.registry import GROUPS
from turnwise.types import (
    Agent,
    Card,
    Dialogue,
    DimensionScores,
    Episodes,
    Estimate,
    Estimator,
    Floats,
    HasMoments,
    Ints,
    Item,
    Kind,
    Level,
    Metric,
    Need,
    NeedsFitting,
    Preference,
    Rating,
    RepliesAtPoints,
    Reply,
    Role,
    Rows,
    Signature,
    Summed,
    Turn,
)
from turnwise.worlds.play import Scene, World

__all__ = [
    "GROUPS",
    "Abstains",
    "Agent",
    "AgentExtras",
    "Asks",
    "Card",
    "Choice",
    "Curved",
    "DataError",
    "Dialogue",
    "DimensionScores",
    "Episodes",
    "Estimate",
    "EstimatesMany",
    "Estimator",
    "EstimatorExtras",
    "Explains",
    "Floats",
    "Folder",
    "HasMoments",
    "HasRaterErrors",
    "Ints",
    "Item",
    "Kind",
    "KnowsTraining",
    "Learns",
    "Level",
    "Mean",
    "Metric",
    "MetricExtras",
    "Need",
    "NeedsFitting",
    "Options",
    "PluginError",
    "Preference",
    "Preferences",
    "Priced",
    "Problem",
    "Rating",
    "Ratings",
    "Ratio",
    "ReadsPlaceholders",
    "Refused",
    "RepliesAtPoints",
    "Reply",
    "Role",
    "Rows",
    "SamplesRaters",
    "Scene",
    "Signature",
    "StatisticRecord",
    "SumEstimator",
    "Summarises",
    "Summed",
    "Sums",
    "TakesMetrics",
    "TakesSelfPlay",
    "TaskCritic",
    "TrainedModel",
    "TrainerExtras",
    "TrainingTask",
    "Turn",
    "UsageError",
    "World",
    "WorldExtras",
    "load_model",
]
