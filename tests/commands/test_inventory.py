"""What there is to use here: lists, installation, weights and the demo corpus."""

import json
import shutil
import tomllib
from pathlib import Path

import pytest

import turnwise as tw
from tests.tiny_trained import tiny_trained
from turnwise.cli.common.group import run
from turnwise.commands.demo import CORPORA, LICENCES
from turnwise.extras import CORE, EXTRAS
from turnwise.run.inventory import TrainerEntry
from turnwise.settings.option import split_names

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
NOT_FOR_USERS = {"docs", "test", "dev"}


def packages(requirements: list[str]) -> set[str]:
    """The names of the required packages, without versions and extras."""
    return {one.partition(">")[0].partition("[")[0].strip() for one in requirements}


def test_features_have_no_direction_and_other_metrics_have_one():
    better = {one["name"]: (one["kind"], one["better"]) for one in tw.list_available("metrics")}
    assert better["length"] == ("feature", None)
    assert (better["fbd"][1], better["bleu-4"][1]) == ("lower", "higher")
    assert all((way is None) == (kind == "feature") for kind, way in better.values())


@pytest.mark.parametrize("kind", ["estimators", "readers", "worlds", "trainers", "statistics", "weights"])
def test_every_kind_has_names_and_prints_as_a_table(kind):
    found = tw.list_available(kind)
    assert len(found) == len(found.records()) > 2
    assert str(found).splitlines()[0].startswith("name")
    assert found.problems == ()


def test_an_unknown_kind_names_those_that_there_are():
    with pytest.raises(tw.UsageError, match="`kind` must be one of 'metrics', 'estimators'"):
        tw.list_available("metric")


def test_doctor_knows_the_packages_of_every_extra():
    extras = PROJECT["optional-dependencies"]
    declared = {name: packages(extras[name]) for name in extras if name not in NOT_FOR_USERS}
    declared["core"] = packages(PROJECT["dependencies"])
    known = {name: set(contents.packages) for name, contents in {"core": CORE, **EXTRAS}.items()}
    assert known == declared


def test_doctor_says_what_is_ready_and_what_is_missing():
    found = tw.doctor()
    core = next(one for one in found.extras if one.name == "core")
    assert core.ready
    assert "core" not in found.missing
    assert found.turnwise == tw.__version__
    assert "weights here:" in str(found)


def test_the_demo_corpus_is_valid(tmp_path):
    path = tw.demo_corpus(tmp_path / "demo")
    assert path == tmp_path / "demo" / "demo.jsonl"
    found = tw.validate(path)
    assert found.ok
    assert found.records()[0]["dialogues"] == 40


def test_the_ratings_of_seven_bots_are_written_beside_it_with_their_licence(tmp_path):
    folder = tw.demo_corpus(tmp_path / "demo").parent
    assert {path.name for path in folder.iterdir()} == {*CORPORA, *LICENCES}
    assert "Copyright (c) 2024 Sierra" in (folder / "TAU-BENCH-LICENSE").read_text()
    assert "Copyright (c) 2021 TianboJi" in (folder / "JI2022-LICENSE").read_text()
    checked = tw.validate(folder / "ji2022.jsonl.gz")
    assert checked.ok
    assert checked.records()[0]["dialogues"] == 280


def test_an_unknown_model_cannot_be_fetched():
    with pytest.raises(tw.UsageError, match="minilm"):
        tw.fetch("minilmm")
    with pytest.raises(tw.UsageError, match="names nothing"):
        tw.fetch([])


def test_the_list_of_metrics_ends_with_names_that_depend_on_the_data() -> None:
    shown = str(tw.list_available("metrics"))
    assert all(
        f"\n{name} " in shown for name in ("rating:DIMENSION", "preference:DIMENSION", "module:function")
    )
    assert "DIMENSION" not in str(tw.list_available("estimators"))
    assert not any(":" in one["name"] for one in tw.list_available("metrics"))


def test_single_names_are_listed_in_the_order_they_are_given() -> None:
    assert [one["name"] for one in tw.list_available("metrics", names="fbd,bleu-4")] == ["fbd", "bleu-4"]
    with pytest.raises(tw.UsageError, match=r"there is no metric `fdb`; the nearest are .*fbd"):
        tw.list_available("metrics", names=["fdb"])
    with pytest.raises(tw.UsageError, match="has no dimension `funny`; it has: overall"):
        tw.list_available("metrics", names="turnwise[dimension=funny]")
    with pytest.raises(tw.UsageError, match="`rating:overall` depends on your data or code"):
        tw.list_available("metrics", names="rating:overall")
    with pytest.raises(tw.UsageError, match=r"there is no model `mini`; .*`turnwise ls weights` has all"):
        tw.list_available("weights", names="mini")


def test_the_command_prints_the_card_of_a_named_metric(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ls", "metrics", "rouge-l"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("rouge-l  (reference, turn level, higher is better)")
    assert "\n  limits    " in shown


def test_a_model_of_ones_own_is_listed_with_its_own_card(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"usr-full[trained={tiny_trained('usr-full')}]"
    (record,) = tw.list_available("metrics", names=[name])
    assert record["name"] == name
    assert record["guarded"] is None  # was measured with the shipped model
    (shipped,) = tw.list_available("metrics", names=["usr-full"])
    assert shipped["guarded"]
    assert run(["ls", "metrics", name]) == 0
    assert "\n  model     " in capsys.readouterr().out
    assert run(["ls", "metrics", f"usr-full[trained={tmp_path / 'nowhere'}]"]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_a_card_whose_attacks_cannot_be_read_is_named(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_trained("usr-full"), tmp_path / "mine"))
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps({**card, "attacks": [{"kind": "fixed"}]}))
    with pytest.raises(tw.DataError, match=r"mine\]: card.json of its model: .*`contexts`"):
        tw.list_available("metrics", names=[f"usr-full[trained={folder}]"])


def test_entries_are_typed_and_iterate_as_their_records() -> None:
    found = tw.list_available("trainers")
    for entry, record in zip(found.entries, found, strict=True):
        assert isinstance(entry, TrainerEntry)
        assert (entry.name, entry.learns) == (record["name"], record["learns from"])


def test_a_card_tells_agreement_and_text_and_does_not_lend_attacks_to_other_settings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    large, free, fluent = tw.list_available(
        "metrics", names=["turnwise-large", "turnwise-large[trained=free]", "turnwise[dimension=fluent]"]
    )
    assert large["attacks"]
    assert len(large["agreement"]) == len(free["agreement"]) == 9
    assert not all(large["text"].values())
    assert all(free["text"].values())
    for one in (free, fluent):
        assert not one["attacks"]
        assert one["plain"]
    assert fluent["name"] == "turnwise[dimension=fluent]"
    assert run(["ls", "metrics", "turnwise-large[trained=free]", "usr-ret[trained=hardened]"]) == 0
    first, second = capsys.readouterr().out.split("\n\n")
    assert "all published under free licences" in first
    assert "without a stated licence" in first
    assert "no other dimension" in first
    assert "not attacked with these settings" in first
    assert "not attacked" not in second


def test_names_inside_names_are_not_split() -> None:
    nested = "guarded[metric=usr-full[trained=a,b=c],floor=-2]"
    assert split_names(f"bleu-4, {nested},fbd,") == ("bleu-4", nested, "fbd")
    assert split_names("length[") == ("length[",)
