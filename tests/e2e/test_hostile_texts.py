"""Control characters in every text of the data and of the command line: none reaches the terminal.

Files may hold names that clear the screen, overwrite a line or reverse the order of letters. Each command runs on such
a file; what it prints has the names as escapes, and its JSON has them unchanged.
"""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

import turnwise as tw
from tests.small_world import held
from turnwise.cli.common.group import run
from turnwise.logs import native
from turnwise.types import Dialogue, Rating, Turn

BOT, OTHER = "bot\x1b[2J", "o\rther\x07\u202e\n2"
SHOWN_BOT, SHOWN_OTHER = r"bot\x1b[2J", r"o\rther\x07\u202e\n2"
DIMENSION = "over\x1b]0;all\x07"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066\u2067\ud800-\udfff]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("hostile")
    talks = []
    for k in range(60):
        words = "so \x1b[31m" * (1 + k % 5)
        turns = (Turn("user", f"hi \x9b2J {k // 2}"), Turn("assistant", words, references=("so \x07so",)))
        ratings = tuple(
            Rating(f"d\r{k}\x07#1", DIMENSION, float(1 + (k * 7 + r) % 5), rater=f"r\x1b{r}", turn=1)
            for r in range(2)
        )
        talks.append(
            Dialogue(f"d\r{k}\x07", (BOT, OTHER)[k % 2], turns, ratings, meta={"topic\x1b": str(k // 2)})
        )
    native.write(talks, str(place / "talks.jsonl"))
    partly = [replace(one, ratings=one.ratings if k % 4 < 2 else ()) for k, one in enumerate(talks)]
    native.write(partly, str(place / "partly.jsonl"))
    names = {f"a{k}": (BOT, OTHER)[k] if k < 2 else f"a\x1b{k}" for k in range(6)}
    native.write(held(agents=6, dialogues=20), str(place / "plain.jsonl"))
    logged = list(map(json.loads, (place / "plain.jsonl").read_text().splitlines()))
    for record in logged:
        record["agent"] = names[record["agent"]]
        for message in record["messages"]:
            if "alternatives" in message:
                message["alternatives"] = {
                    names[key]: value for key, value in message["alternatives"].items()
                }
        for rating in record["ratings"]:
            rating["dimension"] = DIMENSION
    (place / "logged.jsonl").write_text("\n".join(map(json.dumps, logged)) + "\n")
    return place


def printed(capsys: pytest.CaptureFixture[str], *words: str, code: int | None = 0) -> str:
    """What a command prints on both streams, which has no character that a terminal obeys."""
    found = run([*words])
    shown = capsys.readouterr()
    assert code is None or found == code, shown.err
    assert not OBEYED.search(shown.out + shown.err)
    return shown.out + shown.err


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("validate talks.jsonl", (SHOWN_BOT, SHOWN_OTHER, r"over\x1b]0;all\x07")),
        ("score talks.jsonl -m length,rouge-l", (SHOWN_BOT, SHOWN_OTHER)),
        ("score talks.jsonl -m length --wide --by id --limit 3", (r"d\r1\x07",)),
        ("compare talks.jsonl -m length --pair META -v", (SHOWN_BOT, r"d\r1\x07#1")),
        ("compare talks.jsonl -m length --pair META", (SHOWN_OTHER,)),
        ("meta talks.jsonl -m length,rouge-l --dimension DIM", (r"over\x1b]0;all\x07",)),
        ("meta talks.jsonl --dimension DIM --screen", (r"over\x1b]0;all\x07",)),
        ("calibrate partly.jsonl -m length --to rating:DIM --labels random", (SHOWN_BOT,)),
        ("power talks.jsonl -m rating:DIM --difference 0.3 --pair META", (r"over\x1b]0;all\x07",)),
        ("ope logged.jsonl --target BOT --rating DIM --model hashing", (SHOWN_BOT,)),
        ("ope logged.jsonl --all --rating DIM --model hashing --estimator mean,robust", (SHOWN_OTHER,)),
        ("attack length --contexts talks.jsonl --count 40 --budget 600", (r"hi \x9b2J",)),
        ("convert --from native talks.jsonl out.jsonl", (SHOWN_BOT,)),
    ],
)  # fmt: skip
def test_a_command_shows_names_as_escapes(
    line: str,
    names: tuple[str, ...],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")  # so that no name is wrapped
    real = {"META": "meta.topic\x1b", "DIM": DIMENSION, "BOT": BOT, "rating:DIM": f"rating:{DIMENSION}"}
    shown = printed(capsys, *(real.get(word, word) for word in line.split()), code=None)
    for name in names:
        assert name in shown


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("score", "talks.jsonl", "-m", "le\x1b[2J"), r"le\x1b[2J"),
        (("score", "talks.jsonl", "-m", "length", "--where", "x\x1b[2J"), r"x\x1b[2J"),
        (("score", "talks.jsonl", "-m", "length", "--\u202e"), r"\u202e"),
        (("score", "no\x1b[2J.jsonl", "-m", "length"), r"no\x1b[2J.jsonl"),
        (("score", "half\udcff.jsonl", "-m", "length"), r"half\udcff.jsonl"),
        (("compare", "talks.jsonl", "-m", "length", "--agents", "a,b"), SHOWN_BOT),
        (("sc\x1bore",), r"sc\x1bore"),
        (("validate", "bad.jsonl"), r"bad.jsonl:1"),
        (("report", "talks\x1b"), r"talks\x1b"),
    ],
)
def test_an_error_shows_names_as_escapes(
    words: tuple[str, ...],
    part: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(folder)
    (folder / "bad.jsonl").write_text('{"messages": [{"role": "bo\\u001bt", "content": "\\u202e"}]}\n')
    assert part in printed(capsys, *words, code=2)


def test_a_gate_and_its_verdict_show_names_as_escapes(folder: Path, capsys: pytest.CaptureFixture[str]):
    junit = folder / "gates.xml"
    data = str(folder / "talks.jsonl")
    shown = printed(capsys, "score", data, "-m", "length", "--gate", "length >= 1", "--junit", str(junit))
    assert rf"pass  length >= 1  ({SHOWN_BOT}" in shown
    cases = [str(case.get("classname")) for case in ElementTree.parse(junit).iter("testcase")]
    assert cases == [f"turnwise.{name}, system" for name in (SHOWN_BOT, SHOWN_OTHER)]


def test_a_change_and_a_report_as_markdown_show_names_as_escapes(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    old, new, change = (str(folder / name) for name in ("old", "new", "change"))
    lines = (folder / "talks.jsonl").read_text().splitlines()
    longer = [
        line.replace('"so \\u001b[31m', '"so so so \\u001b[31m') if k % 3 else line
        for k, line in enumerate(lines)
    ]
    assert longer != lines
    (folder / "longer.jsonl").write_text("\n".join(longer) + "\n")
    printed(capsys, "score", str(folder / "talks.jsonl"), "-m", "length", "-o", old)
    printed(capsys, "score", str(folder / "longer.jsonl"), "-m", "length", "-o", new)
    shown = printed(capsys, "diff", old, new, "-o", change)
    assert SHOWN_BOT in shown
    assert re.search(r"^d\\r\d+\\x07#1: ", shown, re.MULTILINE)
    assert r"  new:     so so so \x1b[31m" in shown
    assert re.search(r"d \d+\\\\x07\\#1", printed(capsys, "report", change, "--format", "markdown"))


def test_json_has_the_names_as_they_are(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["score", str(folder / "talks.jsonl"), "-m", "length", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {record["agent"] for record in found["results"]} == {BOT, OTHER}


def test_a_result_of_the_library_prints_names_as_escapes(folder: Path):
    data = str(folder / "talks.jsonl")
    for found in (tw.score(data, metrics="length", figures=False), tw.validate(data)):
        assert SHOWN_BOT in str(found)
        assert not OBEYED.search(str(found))
    assert {record["agent"] for record in tw.score(data, metrics="length", figures=False)} == {BOT, OTHER}


def test_a_warning_that_is_logged_shows_names_as_escapes(folder: Path, tmp_path: Path):
    """In a process of its own, where nobody has set up logging."""
    (tmp_path / "noisy.py").write_text(
        "import logging\n"
        "def score(records):\n"
        "    logging.getLogger('noisy').warning('met %s', records[0]['response'])\n"
        "    return [1.0 for _ in records]\n"
    )
    command = [sys.executable, "-m", "turnwise", "score", str(folder / "talks.jsonl"), "-m", "noisy:score"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert r"met so \x1b[31m" in done.stderr.decode()
    assert not OBEYED.search((done.stdout + done.stderr).decode())
