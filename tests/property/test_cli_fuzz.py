"""Whatever is typed, whatever is in the file: an answer, or a line that says why not; never a traceback."""

import contextlib
import io
import json
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.corpus import corpus
from turnwise.cli.building import command_line
from turnwise.cli.common.group import run
from turnwise.commands import COMMANDS

CODES = {0, 1, 2, 3, 4}
ENDLESS = ("demo", "rate", "view")  # minutes long; serve until they are stopped
VALUES = [
    *"bleu-4 length,distinct-2 nothing no:where , all rated user agent=good agent = meta.number meta".split(),
    *"meta.number.more 1 0 -1 1e9 x overall good,poor good,good good json table pearson pairwise,nothing".split(),
    *["turn", "system", "length >= 1", "length >=", "", "\x00", "é"],
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@cache
def flags(name: str) -> list[str]:
    """The options of a command, and one that it does not have."""
    command = import_module(f"turnwise.commands.{name}").COMMAND
    made = command_line(command)
    return [
        *(flag for one in made.params for flag in (*one.opts, *one.secondary_opts) if flag[0] == "-"),
        "--nonsense",
    ]


@st.composite
def command_lines(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A command, and words in any order: its options, values and files."""
    command = draw(st.sampled_from([name for name in COMMANDS if name not in ENDLESS]))
    word = st.one_of(
        st.sampled_from(flags(command)), st.sampled_from(VALUES), st.sampled_from(["DATA", "DATA", "nowhere"])
    )
    return command, draw(st.lists(word, max_size=7))


def outcome(arguments: list[str]) -> tuple[int, str]:
    err = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        code = run(arguments)
    return code, err.getvalue()


@settings(max_examples=150)
@example(line=("score", ["--config", "\x00"]))
@given(line=command_lines())
def test_any_command_line_gives_an_answer_or_a_reason(line):
    command, typed = line
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        data = str(corpus(Path("logs.jsonl"), 4))
        code, said = outcome([command, *(data if word == "DATA" else word for word in typed)])
        assert code in CODES
        assert "Traceback" not in said
        assert code == 0 or said, "a failure without a word"


@settings(max_examples=150)
@given(data=st.data())
def test_any_damaged_file_gives_a_result_or_a_reason(data):
    with tempfile.TemporaryDirectory() as folder:
        file = corpus(Path(folder) / "logs.jsonl", 3)
        records = [json.loads(line) for line in file.read_text().splitlines()]
        for _ in range(data.draw(st.integers(1, 3))):
            damage(records, data)
        file.write_text("".join(json.dumps(record) + "\n" for record in records))
        command = data.draw(st.sampled_from(["score", "meta", "compare"]))
        more = {"compare": ["--agents", "good,poor"]}.get(command, [])
        code, said = outcome(
            [command, str(file), "-m", "bleu-2,distinct-1,msttr-50,specificity", "--draws", "100", *more]
        )
        assert code in CODES
        assert "Traceback" not in said


def damage(value, data) -> None:
    """Put some JSON in some place of a nested list."""
    while True:
        places = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not places:
            return
        place = data.draw(st.sampled_from(places))
        if not isinstance(value[place], (dict, list)) or data.draw(st.integers(0, 3)) == 0:
            value[place] = data.draw(json_values)
            return
        value = value[place]
