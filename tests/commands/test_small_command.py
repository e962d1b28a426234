"""A command is one module: what it declares is run, explained, encoded, reported and gated without a line elsewhere."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "fixtures" / "small_command"
# The folder of the commands with the modules of two more in it.
BEGIN = f"""
import sys
import turnwise.commands as commands
commands.__path__.append({str(FOLDER)!r})
commands.COMMANDS += ("sizes", "tally")
"""
COMMAND = f"{BEGIN}\nfrom turnwise.cli.common.group import run\nsys.exit(run(sys.argv[1:]))"


def python(code: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and with the finished run of the command."""
    made = tmp_path_factory.mktemp("sizes")
    lengths = {"brief": (2, 3, 4), "rambling": (6, 8, 12)}
    dialogues = [
        {"agent": agent, "id": f"{agent}-{number}", "messages": [{"role": "user", "content": "Hi."}] * number}
        for agent, numbers in lengths.items()
        for number in numbers
    ]
    (made / "logs.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in dialogues))
    done = python(COMMAND, "sizes", "logs.jsonl", "-o", "out", "--gate", "messages >= 100", cwd=made)
    assert done.returncode == 1, done.stderr
    assert "FAIL  messages >= 100  (brief)" in done.stderr
    (made / "printed.txt").write_text(done.stdout)
    return made


def test_its_table_has_the_columns_of_its_record(folder: Path):
    head = (folder / "printed.txt").read_text().splitlines()[0].split()
    assert [name for name in head if name != "metric"][:3] == ["agent", "estimate", "interval"]
    assert {"longest", "n_items"} <= set(head)


def test_its_results_are_read_again_with_their_types_and_settings(folder: Path):
    document = json.loads((folder / "out" / "results.json").read_text())
    assert document["command"] == "sizes"
    assert document["origin"]["settings"]["options"] == {"shortest": 1}
    code = "from turnwise.report.documents import decoded\ndata = open('out/results.json', 'rb').read()\n"
    code += "print(type(decoded(data).results[0]))"
    done = python(BEGIN + code, cwd=folder)
    assert done.stdout.strip() == "<class 'turnwise.commands.sizes.SizeRecord'>", done.stderr


def test_a_report_has_a_section_with_its_question_claim_and_estimates(folder: Path):
    done = python(COMMAND, "report", "out", "-o", "report.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    (section,) = json.loads((folder / "report.json").read_text())["sections"]
    assert section["title"] == "How long are the dialogues?"
    assert section["claims"][0]["run"].endswith("out")
    (figure,) = section["figures"]
    document = json.loads((folder / "out" / "results.json").read_text())
    assert [row[:2] for row in figure["rows"]] == [
        [record["agent"], record["estimate"]] for record in document["results"]
    ]


def test_a_comment_on_a_pull_request_has_its_table(folder: Path):
    done = python(COMMAND, "report", "out", "--format", "markdown", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "| agent | estimate | interval |" in done.stdout


def test_its_help_and_its_function_have_the_same_settings(folder: Path):
    shown = python(COMMAND, "sizes", "--help", cwd=folder).stdout
    code = "import inspect\nfrom turnwise.commands.sizes import sizes\nprint(*inspect.signature(sizes).parameters)"
    parameters = python(BEGIN + code, cwd=folder).stdout.split()
    assert {"data", "shortest", "output"} <= set(parameters)
    assert all(f"--{name}" in shown for name in ("shortest", "output", "gate"))


def test_its_schema_is_among_those_of_all_commands(folder: Path):
    code = "import json\nfrom turnwise.report.schema import schema\nprint(json.dumps(schema()))"
    made = json.loads(python(BEGIN + code, cwd=folder).stdout)
    assert {"longest", "agent"} <= set(made["$defs"]["SizeRecord"]["properties"])
    assert "SizesDocument" in made["$defs"]


def test_a_command_that_counts_has_an_answer_without_estimates(folder: Path):
    done = python(COMMAND, "tally", "logs.jsonl", "-o", "counted", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert [line.split() for line in done.stdout.splitlines()[2:]] == [["brief", "3"], ["rambling", "3"]]
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is absent: pip install jsonschema")
    code = "import json\nfrom turnwise.report.schema import schema\nprint(json.dumps(schema()))"
    made = json.loads(python(BEGIN + code, cwd=folder).stdout)
    document = json.loads((folder / "counted" / "results.json").read_text())
    jsonschema.Draft202012Validator(made).validate(document)
    assert [record["estimate"] for record in document["results"]] == [None, None]
