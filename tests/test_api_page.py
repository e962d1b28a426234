"""docs/api.md lists the public names, with what their signatures and docstrings say."""

import inspect

import turnwise as tw
from tools import make_api


def test_the_api_page_matches_the_docstrings():
    assert make_api.PAGE.read_text() == make_api.page(), "run `python -m tools.make_api`"


def test_every_function_and_parameter_is_explained():
    functions = [value for value in make_api.public("turnwise").values() if inspect.isfunction(value)]
    assert len(functions) >= 12
    for function in functions:
        assert make_api.summary(function)
        explained = make_api.parameters(function)
        assert set(explained) == set(inspect.signature(function).parameters), function
        assert all(explained.values()), function


def test_every_result_is_explained():
    results = [value for value in make_api.public("turnwise").values() if inspect.isclass(value)]
    assert all(
        make_api.summary(value) for value in results if value.__module__.startswith("turnwise.library")
    )


def test_the_public_names_are_these():
    """A name is added here when it is made public, and removed one minor version after it was deprecated."""
    assert dir(tw) == sorted(tw.__all__)
    assert tw.__all__ == [
        "Agreement", "Attack", "Calibration", "Comparison", "Converted", "DataError", "Dialogue", "Estimates",
        "Finding", "Hardened", "MissingExtra", "Rating", "Refused", "Replies", "Reply", "Report", "Result", "Scores",
        "Simulated", "Trained", "Turn", "TurnwiseError", "Unmeasured", "UsageError", "Validation", "__version__",
        "attack", "calibrate", "compare", "convert", "harden", "make_report", "meta_evaluate", "ope", "respond",
        "score", "simulate", "train", "validate",
    ]  # fmt: skip
    assert sorted(make_api.public("turnwise.plugins")) == [
        "Agent", "AgentExtras", "Card", "Curved", "DataError", "Dialogue", "Episodes", "Estimate", "EstimatesMany",
        "Estimator", "EstimatorExtras", "Finding", "Fitted", "Floats", "Folder", "GROUPS", "Guarded", "Ints", "Item",
        "Kind", "KnowsTraining", "Learns", "Level", "Mean", "Merged", "Metric", "MetricExtras", "Need", "Options",
        "PluginError", "Preference", "Priced", "Problem", "Rating", "Ratings", "Ratio", "ReadsPlaceholders", "Refused",
        "Reply", "Role", "Rows", "Said", "Scene", "Scores", "Signature", "Summed", "Sums", "TakesMetrics", "Trained",
        "TrainerExtras", "TrainingTask", "Turn", "UsageError", "World", "WorldExtras", "load_model",
    ]  # fmt: skip
    assert sorted(make_api.public("turnwise.testing")) == [
        "ContractError", "check_agent", "check_estimator", "check_metric", "check_reader", "check_trainer",
        "check_world", "dialogue_items", "dialogues", "episodes", "training_task", "turn_items",
    ]  # fmt: skip
    assert all(getattr(tw, name) is not None for name in tw.__all__)
