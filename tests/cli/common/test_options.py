"""Options from a file and from the command line: what is understood, and what is refused before any work."""

import json
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from tests.corpus import corpus
from turnwise.cli.common.group import run
from turnwise.commands.screen import typed


@pytest.fixture
def data(tmp_path: Path) -> str:
    return str(corpus(tmp_path / "logs.jsonl", 4))


@pytest.fixture
def configured(capsys, tmp_path, data):
    """(toml, command) -> exit code, document, stderr."""

    def answer(toml: str, command: str = "score", *more: str) -> SimpleNamespace:
        file = tmp_path / "turnwise.toml"
        file.write_text(toml)
        code = run([command, data, "--config", str(file), *more])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return SimpleNamespace(
            code=code, said=captured.err, document=json.loads(captured.out) if not code else {}
        )

    return answer


def test_an_option_goes_by_its_long_name_with_dashes_or_underscores(configured):
    found = configured(
        "[score]\nmetric = 'length'\nformat = 'json'\nitems = 'last'\nno-cache = true\nmax_errors = 3\n"
        "gate = ['length >= 1']\n"
    )
    assert found.code == 0
    assert {row["metric"] for row in found.document["results"]} == {"length"}
    assert found.document["origin"]["settings"]["selection"]["judged"] == "last"
    assert "pass  length >= 1" in found.said


def test_the_names_that_options_have_inside_still_work(configured):
    found = configured("[score]\nmetrics = ['length', 'bleu-1']\nstyle = 'json'\njudged = 'all'\n")
    assert {row["metric"] for row in found.document["results"]} == {"length", "bleu-1"}


def test_one_text_stands_for_a_list_of_one(configured):
    found = configured("[score]\nmetric = 'length'\nwhere = 'agent=good'\nformat = 'json'\n")
    assert [row["agent"] for row in found.document["results"]] == ["good"]


def test_names_by_comma_may_be_a_list(configured):
    toml = "[meta]\nmetric = ['length']\nstatistic = ['pearson', 'kendall']\nformat = 'json'\n"
    found = configured(toml, "meta")
    assert {row["statistic"] for row in found.document["results"]} == {"pearson", "kendall"}


@pytest.mark.parametrize(
    ("line", "stable"), [("positional-raters = true", False), ("stable_raters = true", True)]
)
def test_both_sides_of_a_switch_can_be_set(configured, line, stable):
    found = configured(f"[meta]\ndimension = 'overall'\nformat = 'json'\n{line}\n", "meta")
    assert found.document["origin"]["settings"]["options"]["stable_raters"] is stable


def test_a_common_key_need_not_be_known_to_every_command(configured):
    toml = "[common]\ndimension = 'overall'\nformat = 'json'\nmetric = 'length'\nseed = 5\n"
    assert configured(toml).document["origin"]["settings"]["seed"] == 5
    assert configured(toml, "meta").code == 0
    assert configured(toml, "compare", "--agents", "good,poor").code == 0


def test_keys_at_the_top_are_shared_as_those_of_common(configured):
    toml = "dimension = 'overall'\nformat = 'json'\nseed = 5\n[score]\nmetric = 'length'\nseed = 6\n"
    assert configured(toml).document["origin"]["settings"]["seed"] == 6
    assert configured(f"metric = 'length'\n{toml}", "meta").document["origin"]["settings"]["seed"] == 5


@pytest.mark.parametrize(("line", "value"), [("reuse = true", True), ("no-cache = true", False)])
def test_the_python_name_of_a_setting_means_the_setting_and_not_its_flag(line, value, monkeypatch, tmp_path):
    from turnwise.commands.score import COMMAND

    given = {}
    monkeypatch.setattr(
        COMMAND, "on_command_line", classmethod(lambda cls, screen, chosen: given.update(chosen) or 0)
    )
    file = tmp_path / "turnwise.toml"
    file.write_text(f"[score]\nmetric = 'length'\n{line}\n")
    assert run(["score", "logs.jsonl", "--config", str(file)]) == 0
    assert given["reuse"] is value


def test_a_commands_own_section_wins_over_common_whatever_name_is_used(configured):
    found = configured("[common]\nmetrics = ['bleu-1']\n[score]\nmetric = 'length'\nformat = 'json'\n")
    assert {row["metric"] for row in found.document["results"]} == {"length"}


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[scroe]\nseed = 1\n", "no section [scroe]; the nearest are score"),
        ("sede = 1\n", "turnwise.toml has no option `sede`; the nearest are seed"),
        ("common = 3\n", "`common` is a section, [common], and not 3"),
        ("[[score]]\nseed = 1\n", "`score` is a section, [score]"),
        ("seed = 1\n[common]\nseed = 2\n", "[common] gives `seed`, which is at the top of the file, too"),
        ("[validate]\nformat = 'json'\n", "no section [validate]"),
        ("[score]\nsede = 1\n", "[score] has no option `sede`; the nearest are seed"),
        ("[score]\ndimension = 'overall'\n", "[score] has no option `dimension`"),
        ("[common]\nsede = 1\n", "[common] has no option `sede`"),
        ("[score]\nconfig = 'other.toml'\n", "has no option `config`"),
        ("[score]\nmetric = 'length'\nmetrics = 'bleu-1'\n", "gives `metrics` twice"),
        ("[score]\nmetric = 'length'\nlimit = 2.5\n", "2.5"),
        ("[score]\nmetric = 'length'\nlimit = true\n", "True"),
        ("[score]\nmetric = 'length'\nlimit = [1, 2]\n", "takes one value"),
        ("[score]\nmetric = {name = 'length'}\n", "expected a value"),
        ("[score]\nmetric = 'length'\nno-cache = 'perhaps'\n", "perhaps"),
        ("[score\n", "turnwise.toml"),
    ],
)
def test_what_is_not_understood_is_refused(configured, toml, said):
    found = configured(toml)
    assert found.code == 2
    assert said in found.said


def test_a_flag_that_prints_and_ends_is_no_setting(configured):
    assert "[play] has no option `schema`" in configured("[play]\nschema = true\n", "play").said


@pytest.mark.parametrize(
    ("toml", "place"),
    [
        (
            "[score]\nmetric = 'length'\nlimit = 0\n",
            "Invalid value for `limit` in [score] of {file}: 0 is not in",
        ),
        (
            "[common]\nmetric = 'length'\nmax-errors = -1\n",
            "Invalid value for `max-errors` in [common] of {file}: -1 is not in",
        ),
        (
            "[score]\nmetric = 'length'\nwhere = 'good'\n",
            "Invalid value for `where` in [score] of {file}: `good` is not KEY=VALUE",
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_key_and_its_file(configured, tmp_path, toml, place):
    found = configured(toml)
    assert found.code == 2
    assert place.format(file=tmp_path / "turnwise.toml") in " ".join(found.said.split())


def test_a_wrong_value_of_the_command_line_is_not_the_files(configured):
    found = configured("[score]\nmetric = 'length'\nlimit = 1\n", "score", "--limit", "0")
    assert "Invalid value for '--limit': 0 is not in" in " ".join(found.said.split())


@pytest.mark.parametrize("option", ["-m", "--as"])
@pytest.mark.parametrize("value", [",", "", " , "])
def test_an_option_that_names_nothing_is_refused(capsys, data, option, value):
    assert (
        run(
            ["score", data, "-m", "length", option, value] if option != "-m" else ["score", data, "-m", value]
        )
        == 2
    )
    assert "names nothing" in capsys.readouterr().err


@pytest.mark.parametrize("gate", ["length >= ", "length = 2", "lenght >= 2"])
def test_a_gate_that_cannot_be_checked_is_refused_before_anything_is_read(capsys, tmp_path, gate):
    assert run(["score", str(tmp_path / "absent.jsonl"), "-m", "length", "--gate", gate]) == 2
    complaint = capsys.readouterr().err
    assert gate.strip() in complaint
    assert "absent.jsonl" not in complaint


def test_a_gate_on_raters_alone_is_refused(capsys, data):
    assert run(["meta", data, "--gate", "length >= 0"]) == 2
    assert "name the metric with -m" in capsys.readouterr().err


def test_typed_tells_the_command_line_from_defaults():
    said = []

    @click.command
    @click.option("--limit", default=3)
    @click.option("--items", "choice")
    @click.option("--role", default="user")
    def command(**_):
        said.extend(typed("limit", "choice"))

    CliRunner().invoke(command, ["--items", "all", "--role", "x"], default_map={"limit": 5})
    assert said == ["--items"]
