"""The published schema of results.json is that of the types, and what every command writes keeps to it."""

import json
from contextlib import chdir
from pathlib import Path

import pytest

from tests.finished_runs import CORPUS, ran, write_neural
from turnwise.commands import COMMANDS
from turnwise.report import schema
from turnwise.report.documents import document_type

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is absent: pip install jsonschema")

pytestmark = pytest.mark.xdist_group("report")  # one process, so that the runs are made once


@pytest.fixture(scope="module")
def documents(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("schema")
    more = {
        "raters": ("meta", CORPUS),
        "skipped": ("score", CORPUS, "-m", "length,bertscore[model=no-such-folder/x]"),
        "runs": (
            "compare",
            str(runs / "score"),
            str(runs / "score"),
            "-m",
            "length",
            "--agents",
            "good,dull",
        ),
    }
    more["diff"] = ("diff", str(runs / "score"), str(runs / "score"))
    for name, line in more.items():
        assert ran(*line, "-o", str(folder / name)) == 0
    made = [path for place in (runs, folder) for path in sorted(place.glob("*/results.json"))]
    return {path.parent.name: json.loads(path.read_bytes()) for path in (*made, played(folder))}


def played(folder: Path) -> Path:
    """The results of two dialogues with an agent that says little."""
    (folder / "says_yes.py").write_text('def agent(messages):\n    return "Yes."\n')
    scenario = {"id": "refund", "turns": ["I want my money back."], "success": {"says": ["yes"]}}
    (folder / "scenarios.json").write_text(json.dumps([scenario]))
    with chdir(folder):
        asked = ("play", "scenarios.json", "--agent", "says_yes:agent", "--repeats", "2")
        assert ran(*asked, "-o", "played.jsonl") == 0
    return folder / "played.results.json"


def problems(validator, document: dict) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]


@pytest.fixture(scope="module")
def validator():
    found = json.loads(schema.published())
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


def test_the_published_schema_is_that_of_the_types():
    assert schema.published() == schema.text(), "write it again: python -m tools.make_schemas"


def test_the_output_of_every_command_is_valid_by_the_schema(documents: dict[str, dict], validator):
    with_documents = {name for name in COMMANDS if document_type(name)}
    run_here = {document["command"] for document in documents.values()}
    # What `train` writes is tested below, where torch is there.
    assert with_documents - run_here == {"train"}, "add a finished run to tests/finished_runs.py"
    for name, document in documents.items():
        assert document["results"], name
        assert problems(validator, document) == [], name


@pytest.mark.parametrize(
    "words",
    [
        ("adem", "--model", "hashing", "--set", "epochs=2"),
        ("usr-ret", "--model", "hashing", "--set", "epochs=1"),
        ("tfidf",),
        ("hred", *(part for size in ("embedding", "utterance", "context") for part in ("--set", f"{size}=8")),
         "--set", "updates=2"),
    ],
    ids=lambda given: given[0],
)  # fmt: skip
def test_the_output_of_training_is_valid_by_the_schema(
    validator, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
):
    pytest.importorskip("torch", reason="needs the extra `neural`")
    from turnwise.cli.common.group import run

    name, *settings = words
    given = ["train", name, CORPUS, "-o", str(tmp_path / "made"), *settings, "--format", "json", "-q"]
    assert run(given) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["command"] == "train"
    assert problems(validator, document) == []


def test_the_output_of_trained_estimators_and_policies_is_valid_by_the_schema(validator, tmp_path: Path):
    pytest.importorskip("torch", reason="needs the extra `neural`")
    for name in write_neural(tmp_path):
        document = json.loads((tmp_path / "runs" / name / "results.json").read_bytes())
        assert document["results"], name
        assert problems(validator, document) == [], name


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema_version",), 2),
        (("command",), "sing"),
        (("results", 0, "estimate"), "high"),
        (("results", 0, "interval"), [0.1]),
        (("results", 0, "n_items"), 1.5),
        (("results", 0, "status"), "fine"),
        (("origin", "inputs"), None),
    ],
)
def test_an_invalid_document_is_rejected_by_the_schema(
    documents: dict[str, dict], validator, path: tuple, value: object
):
    broken = json.loads(json.dumps(documents["score"]))
    place = broken
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert list(validator.iter_errors(broken))


def test_the_command_prints_the_schema(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    from turnwise.cli.common.group import run

    assert run(["report", "--schema"]) == 0
    assert capsys.readouterr().out == schema.published()
