"""Groups of settings: what they select, and what of them results record."""

from importlib import import_module
from inspect import get_annotations
from pathlib import Path
from typing import Any

import turnwise as tw
from turnwise.commands import COMMANDS
from turnwise.commands.calibrate import Calibrate
from turnwise.commands.compare import Compare
from turnwise.commands.meta import MetaEvaluate
from turnwise.commands.power import PlanStudy
from turnwise.logs.items.items import Selection
from turnwise.settings.option import Option, as_text, settings

DEMO = str(Path(tw.__file__).parent / "data" / "demo.jsonl")


def test_settings_are_recorded_under_the_names_of_results_json() -> None:
    alone = Compare(data=DEMO, as_agents="good,dull", pair="none", lower_is_better="rude")
    assert alone.options == (("agents", ("good", "dull")), ("independent", True), ("lower", ("rude",)))
    assert alone.selection.pair is None
    assert Compare(data=DEMO).options == (("agents", ()),)
    assert [name for name, _ in MetaEvaluate(data=DEMO).options] == [
        "differences", "dimension", "intervals", "level", "lower", "precision", "rescale", "screen", "stable_raters",
        "statistics",
    ]  # fmt: skip
    assert [name for name, _ in Calibrate(data=DEMO, metrics="length", labels="random").options] == [
        "fit", "labels", "level", "rescale", "to",
    ]  # fmt: skip
    assert [name for name, _ in PlanStudy(sd=1, difference=0.3).options] == [
        "agents", "agreement", "alpha", "beside", "correlation", "cost_dialogue", "cost_judge", "cost_rating",
        "difference", "have", "icc", "level", "paired", "people", "power", "rater_icc", "rater_sd", "raters",
        "scored", "sd", "ties", "turns", "win_rate",
    ]  # fmt: skip


def test_the_selection_has_the_settings_that_a_command_has() -> None:
    asked = MetaEvaluate(data=DEMO, by=["meta.a", "file"], where={"agent": "good"}, dimension="all", limit=3)
    assert asked.selection == Selection(by="meta.a,file", where=(("agent", "good"),), limit=3)
    assert MetaEvaluate(data=DEMO, dimension="overall").selection.dimension == "overall"
    assert PlanStudy(sd=1, difference=0.3, pair="id").selection == Selection(pair="id")


def test_a_changed_command_leaves_the_other_as_it_is() -> None:
    asked = Compare(data=DEMO, metrics="length")
    assert asked.changed(metrics=("bleu-4",)).metrics == ("bleu-4",)
    assert asked.metrics == ("length",)


def test_a_path_is_a_text_and_none_stays_none() -> None:
    assert (as_text(Path("a")), as_text(None)) == ("a", None)


def test_no_setting_is_stated_twice() -> None:
    """A second statement of a setting is a group that is missing, or belongs in `restated`."""
    classes = {
        kind
        for name in COMMANDS
        for command in [import_module(f"turnwise.commands.{name}").COMMAND]
        for of in (command, command.screen_class)
        for kind in of.__mro__
    }
    stated: dict[tuple[str, str], set[Any]] = {}
    for kind in classes:
        for name, hint in get_annotations(kind).items():
            for note in getattr(hint, "__metadata__", ()):
                if isinstance(note, Option):
                    stated.setdefault((name, note.help), set()).add(id(note))
    assert {about for about, options in stated.items() if len(options) > 1} == set()


def test_a_class_says_what_an_inherited_setting_is_otherwise() -> None:
    (lower,) = (one for one in settings(Compare) if one.name == "lower_is_better")
    assert (lower.option.metavar, lower.option.record_default) == ("NAMES", False)
    (always,) = (one for one in settings(MetaEvaluate) if one.name == "lower_is_better")
    assert (always.option.metavar, always.option.record_default) == ("DIMENSIONS", True)
