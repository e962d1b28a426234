"""docs/api.md lists the public names, with what their signatures and docstrings say."""

import inspect
import re

import pytest

import turnwise as tw
from tools import make_api


def test_every_file_is_what_the_signatures_and_docstrings_give():
    changed = [path.name for path, text in make_api.pages().items() if path.read_text() != text]
    assert changed == [], "run `python -m tools.make_api`"


def test_a_public_name_that_is_a_package_is_an_error(monkeypatch: pytest.MonkeyPatch):
    make_api.check()
    monkeypatch.setattr(make_api, "names_of_commands", lambda: {"commands.sizes": "Lengths agents"})
    with pytest.raises(SystemExit, match=r"turnwise\.agents is a module: .*function: ClassVar"):
        make_api.check()


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
        make_api.summary(value)
        for value in results
        if value.__module__.startswith(("turnwise.commands", "turnwise.library", "turnwise.run"))
    )


def test_no_public_name_is_lost():
    """New names of `turnwise` are added here with a release; one is removed a minor version after it was deprecated."""
    assert dir(tw) == sorted(tw.__all__)
    promised = [
        "Agreement", "Attack", "Calibration", "Changes", "Comparison", "Converted", "DataError", "Dialogue",
        "Estimates", "ExportedRatings", "ExportedScores", "Extra", "Hardened", "Installation", "Listing",
        "MissingExtra",
        "Played", "Power", "Rating", "RatingLinks", "Record", "Refused", "Reliability", "Replies", "Reply", "Report",
        "Result", "Scores",
        "Simulated",
        "TooManyErrors", "Trained", "Turn", "TurnwiseError", "Unmeasured", "UsageError", "Validation", "ViewerLink",
        "__version__",
        "attack", "calibrate", "compare", "convert", "demo_corpus", "diff", "doctor", "export_ratings",
        "export_scores", "fetch",
        "harden", "judge", "list_available", "make_report", "meta_evaluate", "ope", "play", "power", "rate",
        "reliability", "respond", "score",
        "simulate", "train", "validate", "view",
    ]  # fmt: skip
    assert [name for name in promised if name not in tw.__all__] == []
    assert sorted(make_api.public("turnwise.plugins")) == [
        "Abstains", "Agent", "AgentExtras", "Asks", "Card", "Choice", "Curved", "DataError", "Dialogue",
        "DimensionScores", "Episodes", "Estimate", "EstimatesMany", "Estimator", "EstimatorExtras", "Explains",
        "Floats",
        "Folder", "GROUPS", "HasMoments", "HasRaterErrors", "Ints", "Item", "Kind", "KnowsTraining", "Learns", "Level",
        "Mean",
        "Metric", "MetricExtras", "Need", "NeedsFitting", "Options", "PluginError", "Preference", "Preferences",
        "Priced", "Problem", "Rating", "Ratings", "Ratio", "ReadsPlaceholders", "Refused", "RepliesAtPoints", "Reply",
        "Role", "Rows", "SamplesRaters", "Scene", "Signature", "StatisticRecord", "SumEstimator",
        "Summarises", "Summed", "Sums",
        "TakesMetrics", "TakesSelfPlay", "TaskCritic", "TrainedModel", "TrainerExtras", "TrainingTask", "Turn",
        "UsageError", "World", "WorldExtras", "load_model",
    ]  # fmt: skip
    assert sorted(make_api.public("turnwise.testing")) == [
        "ContractError", "check_agent", "check_estimator", "check_metric", "check_reader", "check_trainer",
        "check_world", "dialogue_items", "dialogues", "episodes", "training_task", "turn_items",
    ]  # fmt: skip
    assert all(getattr(tw, name) is not None for name in tw.__all__)


def test_a_name_of_two_public_modules_means_the_same_thing_in_both():
    seen: dict[str, object] = {}
    for module in make_api.MODULES:
        for name, value in make_api.public(module).items():
            assert seen.setdefault(name, value) is value, f"{name} of {module}"


def test_the_page_lists_the_fields_of_a_type_with_their_meaning():
    fields = {name: (kind, meaning) for name, kind, meaning in make_api.fields(tw.Turn)}
    assert fields["content"] == ("str | None", "None only beside tool calls")
    assert fields["alternatives"][0] == "Mapping[str, tuple[Reply, ...]] = {}"
    extras = make_api.public("turnwise.plugins")["MetricExtras"]
    assert all(meaning for _, _, meaning in make_api.fields(extras))
    assert all(" = " in kind for _, kind, _ in make_api.fields(extras))


def test_the_page_has_the_values_of_aliases_and_the_signatures_of_methods():
    page = make_api.page()
    assert "* `Need`: `context`, `references`, `dialogue`, `goal`, `state`" in page
    assert "`rows(items: Sequence[Item]) -> Rows`" in page
    assert "`estimate(episodes: Episodes, target: str, *, rng: numpy.random.Generator) -> Estimate`" in page


def test_the_page_says_which_parameters_are_keywords_and_has_whole_texts():
    page = make_api.page()
    score = page[page.index("### score\n") : page.index("### simulate\n")]
    assert "All parameters are given by name, except `data`." in score
    for name, value in make_api.public("turnwise").items():
        if inspect.isfunction(value):
            cut = [text for text in make_api.parameters(value).values() if not text.endswith((".", ")"))]
            assert not cut, (name, cut)


@pytest.mark.parametrize(
    "name",
    ["Item", "Dialogue", "Turn", "Reply", "Rating", "Preference", "Episodes", "RepliesAtPoints", "Estimate",
     "TrainingTask", "Ratings", "Preferences", "Choice", "TrainedModel", "Folder", "Options", "Problem",
     "Signature", "Card"],
)  # fmt: skip
def test_the_page_on_plugins_names_every_field_of_an_object(name: str):
    rows = (make_api.PAGE.parent / "extend.md").read_text().splitlines()
    (row,) = [one for one in rows if one.startswith(f"| `{name}`")]
    shown = set(re.findall(r"`(\w+)`", row))
    missing = {field for field, _, _ in make_api.fields(make_api.public("turnwise.plugins")[name])} - shown
    assert not missing


def test_a_misspelt_name_is_an_error_that_names_the_nearest():
    with pytest.raises(AttributeError, match=r"module `turnwise` has no `scroe`; did you mean `score`\?"):
        _ = tw.scroe
    for name in ("zzz", "count"):  # `convert` is not near
        with pytest.raises(AttributeError, match=f"has no `{name}`$"):
            getattr(tw, name)
    assert not hasattr(tw, "__path_of_nothing__")


@pytest.mark.parametrize(
    ("before", "head"),
    [
        ("# diff\n\nWhat changed.\n", "# diff\n\nWhat changed.\n\n## Options\n\n<!--"),
        ("# diff\n\n## Options\n\nAll of them:\n", "# diff\n\n## Options\n\nAll of them:\n\n<!--"),
        ("# diff\n\n## Options\n\n## More\n\nText.\n", "# diff\n\n## Options\n\n<!--"),
    ],
)
def test_a_page_gets_one_section_on_options(before: str, head: str):
    made = make_api.with_options("diff", before)
    assert made.startswith(head)
    assert made.count("## Options") == 1
    assert ("## More\n\nText.\n" in made) is ("## More" in before)
    assert make_api.with_options("diff", made) == made
