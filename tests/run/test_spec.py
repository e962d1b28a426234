"""A spec records its own settings under the names and in the order that results.json and resumed work have."""

from turnwise.run.spec import (
    AttackSpec,
    CompareSpec,
    HardenSpec,
    MetaSpec,
    OpeSpec,
    ScoreSpec,
    TrainSpec,
    origin,
)

GIVEN = {"data": ("logs.jsonl",), "metrics": ("length",)}


def test_settings_of_a_command_are_recorded_by_name():
    assert ScoreSpec(**GIVEN).options == ()
    assert CompareSpec(**GIVEN, agents=("a", "b")).options == (("agents", ("a", "b")),)
    recorded = [name for name, _ in AttackSpec(**GIVEN).options]
    assert recorded == sorted(recorded)
    assert {"rounds", "learn_from", "taught", "agree_with"} == set(dict(HardenSpec(**GIVEN).options)) - {
        *recorded
    }


def test_settings_that_older_results_lack_are_recorded_only_when_they_are_used():
    assert "seeds" not in dict(OpeSpec(**GIVEN).options)
    assert dict(OpeSpec(**GIVEN, seeds=3).options)["seeds"] == 3
    assert not {"length_bias", "normalised"} & set(dict(MetaSpec(**GIVEN).options))
    assert dict(MetaSpec(**GIVEN, length_bias=True).options)["length_bias"] is True


def test_training_records_the_trainer_settings_alone():
    spec = TrainSpec(**GIVEN, settings={"epochs": 3}, dimension="overall", device="cpu")
    assert spec.options == (("settings", {"epochs": 3}),)


def test_an_origin_has_the_common_settings_in_their_order_and_the_options_last():
    settings = origin(CompareSpec(**GIVEN, agents=("a", "b")), {"logs.jsonl": "0"})["settings"]
    names = ["metrics", "selection", "real", "model", "db", "seed", "draws", "options"]
    assert list(settings) == names
    assert settings["options"] == {"agents": ("a", "b")}
