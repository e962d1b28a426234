"""Self-play evaluation: dialogues with a user model, and a computed or learned reward."""

import json

import pytest

from turnwise import estimators
from turnwise.commands.respond import Respond
from turnwise.errors import Unmeasured, UsageError
from turnwise.estimators.baselines.selfplay import SelfPlay
from turnwise.run.dialogues.selfplay import (
    hold_dialogue,
    swap_roles,
    with_self_play,
    without_played,
    write_self_play,
)
from turnwise.types import Reply, Turn

REQUEST = Respond(data=(), agent="", name="new", output="-")


def test_each_side_sees_itself_as_the_assistant():
    turns = [Turn("system", "secret"), Turn("user", "a"), Turn("assistant", "b")]
    assert [(turn.role, turn.content) for turn in swap_roles(turns)] == [("assistant", "a"), ("user", "b")]

    def counting(seen, rng):
        assert seen[-1].role == "user"
        return Reply(f"{len(seen)} heard")

    held = hold_dialogue(counting, counting, turns[:2], request=REQUEST, replies=3, identity="d")
    assert [turn.content for turn in held.turns] == [
        "secret",
        "a",
        "2 heard",
        "2 heard",
        "4 heard",
        "4 heard",
        "6 heard",
    ]


def test_a_reply_with_an_outcome_ends_the_dialogue():
    def sells(turns, rng):
        return Reply("sold", {"reward": 1.0})

    held = hold_dialogue(sells, sells, [Turn("user", "hi")], request=REQUEST, replies=5, identity="d")
    assert [turn.content for turn in held.turns] == ["hi", "sold"]


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [
        {
            "id": f"d{number}",
            "messages": [{"role": "user", "content": f"hi {number}"}, {"role": "assistant", "content": "x"}],
        }
        for number in range(3)
    ]
    (tmp_path / "logs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "selfplaybot.py").write_text(
        "def reply(messages, rng):\n    if messages[0]['content'] == 'hi 1': raise ValueError('no')\n"
        "    return f'{len(messages)} {rng.integers(1000)}'\n"
        "def broken(messages):\n    raise ValueError('down')\n"
    )
    return tmp_path


def test_the_estimator_reads_the_written_self_play_dialogues(written):
    request = Respond(
        data=("logs.jsonl",), agent="selfplaybot:reply", name="new", output="played.jsonl", self_play=2
    )
    done = write_self_play(request)
    assert (done.n_dialogues, [failure.dialogue for failure in done.failures]) == (2, ["d1"])
    first = (written / "played.jsonl").read_bytes()
    write_self_play(request)
    assert (written / "played.jsonl").read_bytes() == first
    plain, path = without_played("spe[played=played.jsonl,ridge=2]")
    assert (plain, path) == ("spe[ridge=2]", "played.jsonl")
    estimator = with_self_play(
        estimators.resolve(plain, model="hashing"), plain, path, rating="overall", scale=(0.0, 1.0)
    )
    assert (estimator.ridge, list(estimator.played), len(estimator.played["new"].dialogues)) == (
        2,
        ["new"],
        2,
    )
    with pytest.raises(UsageError, match=r"spe\[played=FILE\]"):
        with_self_play(SelfPlay(), "spe[ridge=2]", None, rating="overall")


def test_an_agent_that_always_fails_is_an_error(written):
    request = Respond(
        data=("logs.jsonl",), agent="selfplaybot:broken", name="new", output="played.jsonl", self_play=2
    )
    with pytest.raises(Unmeasured, match="finished none of 3 dialogues"):
        write_self_play(request)
    assert not (written / "played.jsonl").exists()
