"""The schema of turnwise.toml has the keys that the command line takes from it, and no others."""

import tomllib
from importlib import import_module
from typing import Any

import pytest

from tests.console import ROOT, fences
from turnwise.cli.common.config import _configurable
from turnwise.cli.common.group import cli
from turnwise.run.inventory import listed
from turnwise.settings.option import settings

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is absent: pip install jsonschema")


def schema(name: str) -> dict[str, Any]:
    (entry,) = listed("schemas", [name])
    found: dict[str, Any] = entry["schema"]
    jsonschema.Draft202012Validator.check_schema(found)
    return found


def problems(name: str, toml: str) -> list[str]:
    validator = jsonschema.Draft202012Validator(schema(name))
    return [error.message for error in validator.iter_errors(tomllib.loads(toml))]


def test_it_has_the_keys_that_are_taken():
    with cli.make_context("turnwise", ["score"], resilient_parsing=True) as ctx:
        command = cli.get_command(ctx, "score")
        assert command is not None
        with command.make_context("score", [], parent=ctx, resilient_parsing=True) as inner:
            option = next(one for one in command.params if one.name == "config")
            known = _configurable(inner, option)
    made = schema("config")["$defs"]
    assert made.keys() - {"common", "values"} == known.keys()
    for name, keys in known.items():
        kind = import_module(f"turnwise.commands.{name}").COMMAND
        options = [*settings(kind), *settings(kind.screen_class)]
        hidden = {one.name for one in options if one.option.hidden}
        assert {key.replace("-", "_") for key in made[name]["properties"]} == keys.keys() - hidden, name


@pytest.mark.parametrize(
    "toml",
    [
        "",
        "seed = 3\ndata = ['a.jsonl', 'b.jsonl']\n[score]\nmetric = 'length'\nno-cache = true\nmax_errors = 3",
        "[score]\ngate = ['length >= 1']\nitems = 'last'\nmetrics = ['length', 'bleu-1']",
        "[common]\ndimension = 'overall'\n[meta]\nstable-raters = true\npositional_raters = false",
        "[play]\nagent = ['a=bot:a', 'b=bot:b']\nrepeats = 4\nprice = '0.15/0.6'\nmax-cost = 2.5",
    ],
)
def test_what_is_right_is_accepted(toml):
    assert problems("config", toml) == []


@pytest.mark.parametrize(
    ("toml", "complaint"),
    [
        ("[scroe]\nseed = 1", "scroe"),
        ("sede = 1", "sede"),
        ("[score]\ndimension = 'overall'", "dimension"),
        ("[score]\nlimit = 0", "minimum"),
        ("[score]\nlimit = 2.5", "integer"),
        ("[score]\nitems = 'lost'", "lost"),
        ("[score]\nno-cache = 1", "boolean"),
        ("[score]\nmetric = {name = 'length'}", "length"),
    ],
)
def test_what_is_wrong_is_named(toml, complaint):
    (problem,) = problems("config", toml)
    assert complaint in problem


def test_the_schema_of_rubrics_accepts_ours():
    from turnwise.metrics.judge.rubric import AGREEMENT

    rubrics = sorted(AGREEMENT.parent.glob("*.toml"))
    assert rubrics
    assert [problems("rubric", one.read_text()) for one in rubrics] == [[]] * len(rubrics)
    assert problems("rubric", "question = 'Is it kind?'\nlevle = 'reply'")


def test_the_schema_of_studies_knows_their_keys():
    assert problems("study", "mode = 'pairwise'\n[[question]]\nname = 'overall'\nscale = [1, 7]") == []
    assert problems("study", "mod = 'pairwise'")
    assert problems("study", "[[question]]\nnam = 'overall'")


@pytest.mark.parametrize(("page", "name"), [("judge.md", "rubric"), ("rate.md", "study")])
def test_the_schemas_accept_what_the_pages_show(page, name):
    shown = [one.text for one in fences(ROOT / "docs" / page) if one.kind == "toml"]
    assert shown
    assert [problems(name, text) for text in shown] == [[]] * len(shown)


def test_every_schema_is_one_and_is_printed(capsys: pytest.CaptureFixture[str]):
    from turnwise.cli.common.group import run

    for entry in listed("schemas"):
        assert schema(entry["name"])["title"].startswith("turnwise")
    assert run(["ls", "schemas", "rubric"]) == 0
    assert '"title": "turnwise rubric"' in capsys.readouterr().out
