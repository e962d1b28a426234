"""`respond` as a function: replies, unchanged fields, and failures of the agent."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from turnwise.commands.respond import Respond
from turnwise.errors import DataError, TooManyErrors, Unmeasured, UsageError
from turnwise.logs.native import read
from turnwise.run.dialogues.respond import respond
from turnwise.types import Reply


def logs(path: Path, count: int = 3) -> str:
    lines = [
        {
            "id": f"d{number}",
            "agent": "old",
            "messages": [
                {"role": "system", "content": "be nice"},
                {"role": "user", "content": f"question {number}"},
                {"role": "assistant", "content": "first", "alternatives": {"other": "its own"}, "kept": [1]},
                {"role": "user", "content": "and then?"},
                {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]},
                {"role": "tool", "content": "42", "tool_call_id": "c"},
                {"role": "assistant", "content": "second", "references": ["a reference"]},
            ],
            "ratings": [{"dimension": "overall", "value": 3}],
            "meta": {"part": "ab"[number % 2]},
        }
        for number in range(count)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def echo(turns, rng):
    return Reply(f"{len(turns)} turns, {turns[-1].role} said {turns[-1].text}, {rng.integers(10**6)}")


def asked(tmp_path: Path, **settings) -> Respond:
    data = settings.pop("data", None) or logs(tmp_path / "logs.jsonl")
    chosen = {"agent": "", "name": "new", "output": str(tmp_path / "out.jsonl"), **settings}
    return Respond(data=(data,), **chosen)


def said(path: Path, name: str = "new") -> dict[tuple[str, int], tuple[Reply, ...]]:
    return {
        (dialogue.id, index): turn.alternatives[name]
        for dialogue in read(str(path))
        for index, turn in enumerate(dialogue.turns)
        if name in turn.alternatives
    }


def test_every_assistant_message_gets_a_reply_to_its_context(tmp_path):
    done = respond(asked(tmp_path), agent=echo)
    assert (done.n_dialogues, done.n_points, done.n_replies, done.n_existing) == (3, 6, 6, 0)
    found = said(tmp_path / "out.jsonl")
    assert set(found) == {(f"d{number}", index) for number in range(3) for index in (2, 6)}
    assert found["d1", 2][0].content.startswith("2 turns, user said question 1")
    assert found["d1", 6][0].content.startswith("6 turns, tool said 42")


def test_all_other_fields_are_unchanged(tmp_path):
    respond(asked(tmp_path), agent=echo)
    before = [json.loads(line) for line in (tmp_path / "logs.jsonl").read_text().splitlines()]
    after = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    for record in after:
        for message in record["messages"]:
            message.get("alternatives", {}).pop("new", None)
            if message.get("alternatives") == {}:
                del message["alternatives"]
    assert after == before


def test_the_agent_does_not_see_alternatives_of_others(tmp_path):
    def nosy(turns, rng):
        assert not any(turn.alternatives or turn.references for turn in turns)
        return Reply("I saw nothing")

    assert not respond(asked(tmp_path), agent=nosy).failures


def test_samples_differ_and_are_reproducible_with_the_seed(tmp_path):
    request = asked(tmp_path, samples=3, seed=5)
    respond(request, agent=echo)
    first = said(tmp_path / "out.jsonl")
    assert all(len(set(replies)) == 3 for replies in first.values())
    respond(request, agent=echo)
    assert said(tmp_path / "out.jsonl") == first
    respond(asked(tmp_path, samples=3, seed=6), agent=echo)
    assert said(tmp_path / "out.jsonl") != first


def test_a_reply_does_not_depend_on_the_other_points(tmp_path):
    respond(asked(tmp_path), agent=echo)
    everything = said(tmp_path / "out.jsonl")
    respond(asked(tmp_path, where=(("meta.part", "b"),)), agent=echo)
    assert said(tmp_path / "out.jsonl") == {key: everything[key] for key in everything if key[0] == "d1"}
    respond(asked(tmp_path, limit=1), agent=echo)
    assert {key[0] for key in said(tmp_path / "out.jsonl")} == {"d0"}


def test_outcomes_are_written_and_read_back(tmp_path):
    def sells(turns, rng):
        return Reply("sold", {"reward": 1.0}, {"reward": 0.5})

    respond(asked(tmp_path), agent=sells)
    sold = Reply("sold", {"reward": 1.0}, {"reward": 0.5})
    assert list(said(tmp_path / "out.jsonl").values()) == [(sold,)] * 6


def test_existing_replies_are_kept_unless_again_is_set(tmp_path):
    request = asked(tmp_path, name="other")
    done = respond(request, agent=echo)
    assert (done.n_points, done.n_existing) == (3, 3)
    assert said(tmp_path / "out.jsonl", "other")["d0", 2] == (Reply("its own"),)
    done = respond(asked(tmp_path, name="other", again=True), agent=echo)
    assert (done.n_points, done.n_existing) == (6, 0)
    assert said(tmp_path / "out.jsonl", "other")["d0", 2] != (Reply("its own"),)


def test_failures_are_reported_and_retried_by_a_run_over_the_output(tmp_path):
    def moody(turns, rng):
        if turns[-1].text == "question 1":
            raise ValueError("not that")
        return echo(turns, rng)

    done = respond(asked(tmp_path), agent=moody)
    line = moody.__code__.co_firstlineno + 2
    assert [str(failure) for failure in done.failures] == [
        f"d1#2: the agent raised ValueError: not that (test_respond.py:{line}) (2 calls)"
    ]
    assert ("d1", 2) not in said(tmp_path / "out.jsonl")
    out = str(tmp_path / "out.jsonl")
    done = respond(asked(tmp_path, data=out), agent=echo)
    assert (done.n_points, done.n_existing) == (1, 5)
    respond(asked(tmp_path, output=str(tmp_path / "whole.jsonl")), agent=echo)
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_an_agent_that_always_fails_is_an_error_without_output(tmp_path):
    def broken(turns, rng):
        raise RuntimeError("down")

    with pytest.raises(
        Unmeasured, match=r"d0#2, d0#6, d1#2, d1#6, d2#2 and 1 more: the agent raised RuntimeError: down"
    ):
        respond(asked(tmp_path), agent=broken)
    assert not (tmp_path / "out.jsonl").exists()


def test_too_many_failures_stop_the_run_and_the_same_command_resumes(tmp_path):
    data = logs(tmp_path / "logs.jsonl", 80)
    up = [False]

    def server(turns, rng):
        if not up[0] and turns[1].text.endswith(("5", "6")):
            raise OSError("down")
        return echo(turns, rng)

    request = asked(tmp_path, data=data, max_errors=5, tries=1)
    with pytest.raises(TooManyErrors, match="more than --max-errors 5 allows"):
        respond(request, agent=server)
    up[0] = True
    done = respond(request, agent=server)
    assert not done.failures
    respond(asked(tmp_path, data=data, output=str(tmp_path / "whole.jsonl")), agent=echo)
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_a_resumed_run_does_not_request_finished_shards(tmp_path):
    data = logs(tmp_path / "logs.jsonl", 80)
    calls = []

    class Counting:
        signature = "counting"
        stops = True

        def __call__(self, turns, rng):
            calls.append(1)
            return echo(turns, rng)

        def replies(self, points):
            if self.stops and len(calls) >= 64:
                raise KeyboardInterrupt
            return [self(point.turns, point.rng) for point in points]

    agent = Counting()
    with pytest.raises(KeyboardInterrupt):
        respond(asked(tmp_path, data=data), agent=agent)
    assert not (tmp_path / "out.jsonl").exists()
    agent.stops = False
    respond(asked(tmp_path, data=data), agent=agent)
    assert len(calls) == 160
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs.jsonl", "out.jsonl"]


def test_invalid_requests_are_errors(tmp_path):
    with pytest.raises(UsageError, match=r"cannot write to .*nowhere: No such file"):
        respond(asked(tmp_path, output=str(tmp_path / "nowhere" / "out.jsonl")), agent=echo)
    with pytest.raises(UsageError, match="cannot be the name of an agent"):
        respond(asked(tmp_path, name="@alternatives"), agent=echo)
    with pytest.raises(DataError, match=r"--where meta\.part=z selects no dialogue"):
        respond(asked(tmp_path, where=(("meta.part", "z"),)), agent=echo)
    (tmp_path / "mute.jsonl").write_text('{"messages":[{"role":"user","content":"hi"}]}\n')
    with pytest.raises(DataError, match="no assistant message with text in 1 dialogue"):
        respond(asked(tmp_path, data=str(tmp_path / "mute.jsonl")), agent=echo)


def test_neither_respond_nor_the_task_world_needs_the_extra_neural():
    code = (
        "import importlib.util as util\n"
        "real = util.find_spec\n"
        "util.find_spec = lambda name, *given: None if name in ('torch', 'transformers') else real(name, *given)\n"
        "import sys, turnwise.run.dialogues.respond, turnwise.worlds.task\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
