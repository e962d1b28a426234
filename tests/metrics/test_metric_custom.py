"""A user's own function as a metric."""

import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from turnwise.errors import PluginError, UsageError
from turnwise.metrics import describe, resolve
from turnwise.types import Item, Turn


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Writes `mine.py` in the current directory; gives the name of its function."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(source: str) -> str:
        (tmp_path / "mine.py").write_text(source, "utf-8")
        sys.modules.pop("mine", None)
        return "mine:score"

    return write


def items(*replies: str) -> list[Item]:
    return [
        Item(
            f"d#{place}",
            "d",
            "bot",
            (Turn("system", "Be kind."), Turn("user", "Hi"), Turn("assistant", reply, references=("Hello",))),
            2,
            cluster="d",
            pair=str(place),
        )
        for place, reply in enumerate(replies)
    ]


def test_a_function_in_the_current_directory_scores_replies(own: Callable[[str], str]) -> None:
    metric = resolve(own("def score(items):\n    return [len(item['response']) for item in items]\n"))
    rows = metric.rows(items("abc", "a"))
    assert rows.tolist() == [[3, 1], [1, 1]]
    assert metric.reduce(rows) == 2.0


def test_the_function_sees_context_response_and_references(own: Callable[[str], str]) -> None:
    metric = resolve(
        own("seen = []\ndef score(items):\n    seen.extend(items)\n    return [0] * len(items)\n")
    )
    metric.rows(items("Hey"))
    assert sys.modules["mine"].seen == [
        {
            "context": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}],
            "response": "Hey",
            "references": ["Hello"],
        }
    ]


def test_none_and_nan_are_unscored_and_never_zero(own: Callable[[str], str]) -> None:
    metric = resolve(own("def score(items):\n    return [None, float('nan'), 4]\n"))
    rows = metric.rows(items("a", "b", "c"))
    assert np.isnan(rows[:, 0]).tolist() == [True, True, False]
    assert metric.reduce(rows) == 4.0
    assert math.isnan(metric.reduce(rows[:2]))


def test_an_array_of_numbers_will_do(own: Callable[[str], str]) -> None:
    metric = resolve(own("import numpy\ndef score(items):\n    return numpy.arange(len(items))\n"))
    assert metric.rows(items("a", "b")).tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("[1.0]", r"mine:score was given 2 replies and returned 1 numbers"),
        ("[1.0, 'good']", r"mine:score returned 'good' for reply 1 of its list: not a number"),
        (
            "[1.0, -1e300]",
            r"mine:score returned -1e\+300 for reply 1 of its list: not between -1e\+50 and 1e\+50",
        ),
        ("[1.0, 10**400]", r"mine:score returned 10000.*\.\.\. for reply 1 of its list: not between"),
        ("[1.0, float('inf')]", r"mine:score returned inf for reply 1"),
        ("[1.0, [2.0]]", r"mine:score returned \[2.0\] for reply 1"),
        ("None", r"mine:score returned None instead of a list of numbers"),
        ("'ab'", r"mine:score returned 'ab' instead of a list of numbers"),
        ("7", r"mine:score returned 7 instead of a list of numbers"),
    ],
)
def test_an_answer_that_is_no_list_of_numbers_names_the_function(
    own: Callable[[str], str], body: str, message: str
) -> None:
    metric = resolve(own(f"def score(items):\n    return {body}\n"))
    with pytest.raises(PluginError, match=message):
        metric.rows(items("a", "b"))


def test_an_edited_function_is_another_metric(own: Callable[[str], str]) -> None:
    first = resolve(own("def score(items):\n    return [1] * len(items)\n")).signature
    again = resolve(own("def score(items):\n    return [1] * len(items)\n")).signature
    edited = resolve(own("def score(items):\n    return [2] * len(items)\n")).signature
    assert str(first) == str(again) != str(edited)
    assert "mine:score" in str(first)


def test_no_items_are_not_asked_about(own: Callable[[str], str]) -> None:
    metric = resolve(own("def score(items):\n    raise RuntimeError('asked')\n"))
    assert metric.rows([]).shape == (0, 2)


def test_what_cannot_be_imported_says_where_it_was_looked_for(
    own: Callable[[str], str], tmp_path: Path
) -> None:
    own("x = 1\n")
    with pytest.raises(UsageError, match=r"cannot import the metric `nothing_here:score`.*looked in"):
        resolve("nothing_here:score")
    with pytest.raises(UsageError, match=r"`mine` \(.*mine.py\) has no function `score`"):
        resolve("mine:score")
    with pytest.raises(UsageError, match=r"`mine` \(.*mine.py\) has no function `x`"):
        resolve("mine:x")
    with pytest.raises(UsageError, match=r"has no function"):
        resolve("mine:")
    with pytest.raises(UsageError, match=r"cannot import the metric `:score`"):
        resolve(":score")


def test_an_error_in_the_users_file_is_told_as_such(own: Callable[[str], str]) -> None:
    with pytest.raises(UsageError, match=r"cannot import the metric `mine:score`: .*division by zero"):
        resolve(own("1 / 0\n"))
    with pytest.raises(UsageError, match=r"cannot import the metric `mine:score`: .*mine.py, line 1"):
        resolve(own("def score(:\n"))


def test_a_file_of_the_user_cannot_stand_in_for_a_library(own: Callable[[str], str]) -> None:
    resolve(own("def score(items):\n    return []\n"))
    assert sys.path[-1] == str(Path.cwd())


def test_the_current_directory_is_looked_in_first(
    own: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "mine.py").write_text("def score(items):\n    return [0] * len(items)\n", "utf-8")
    sys.path.insert(0, str(elsewhere))
    metric = resolve(own("def score(items):\n    return [7] * len(items)\n"))
    assert metric.rows(items("a")).tolist() == [[7, 1]]


def test_a_users_metric_is_described_too(own: Callable[[str], str]) -> None:
    info = describe(own("def score(items):\n    return []\n"))
    assert (info.name, info.level, info.needs, info.fitted) == ("mine:score", "turn", frozenset(), False)
