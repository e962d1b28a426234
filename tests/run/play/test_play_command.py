"""`play`: what is logged, how dialogues end, what is scored, and that interrupted runs give the same bytes."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pytest

import turnwise as tw
from tests.judge_server import Exchange, serving
from turnwise.agents.calling import NoReply
from turnwise.cli.common.group import run
from turnwise.commands.play import Play
from turnwise.errors import TooManyErrors, Unmeasured, UsageError
from turnwise.report.documents import PlayDocument
from turnwise.run.play.command import play
from turnwise.run.play.success import unmet
from turnwise.scenarios.scenario import Success
from turnwise.types import Reply, Signature, Turn
from turnwise.users.user import Stage, UserMessage
from turnwise.worlds.booking.families import family

BOTS = """
    import json

    CALL = {"id": "c", "type": "function", "function": {"name": "refund", "arguments": json.dumps({"order": "w12"})}}

    def good(messages):
        last = messages[-1]
        if last["role"] == "tool":
            return "Your money is on its way. It takes 5  Days."
        return {"content": None, "tool_calls": [CALL]} if "W12" in last["content"] else "Which order is it?"

    def rude(messages):
        return "It takes 5 days. Go away."

    def breaks(messages):
        raise RuntimeError("oh no")

    def offline(messages):
        raise ConnectionError("no route")

    def circles(messages):
        return {"content": None, "tool_calls": [CALL]}

    def silent(messages):
        return "  "

    def draws(messages, rng):
        return f"Number {rng.integers(10**6)}. What else?"
"""
REFUND: dict[str, Any] = {
    "id": "refund",
    "goal": "the money back for order W12",
    "facts": {"order": "W12", "reason": "it is broken"},
    "turns": ["I want my money back.", "It is order W12."],
    "success": {"calls": [{"name": "refund", "arguments": {"order": "W12"}}], "state": {"orders.w12": "refunded"},
                "says": ["5 days"], "never_says": ["go away"]},
    "tools": [{"name": "refund", "results": [{"arguments": {"order": "W12"}, "result": {"ok": True},
                                              "sets": {"orders.w12": "refunded"}}]}],
}  # fmt: skip


@pytest.fixture
def bots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"play_bots_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(textwrap.dedent(BOTS))
    monkeypatch.chdir(tmp_path)
    return name


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


class SaysInTurn:
    """A user who says prepared messages; each attempt at one takes the next."""

    concurrent = True

    def __init__(self, *messages: UserMessage | NoReply) -> None:
        self.messages, self.asked = messages, 0

    @property
    def signature(self) -> Signature:
        return Signature("in turn", (("messages", repr(self.messages)),))

    def __call__(self, stage: Stage, turns: Sequence[Turn], seed: int, /) -> UserMessage:
        message = self.messages[self.asked % len(self.messages)]
        self.asked += 1
        if isinstance(message, NoReply):
            raise message
        return message


def polite(turns: Sequence[Turn], rng: np.random.Generator) -> Reply:
    return Reply(f"Thank you. Here is step {len(turns)} of the way to your money.")


def held(user: SaysInTurn, agents: Mapping[str, Any] | None = None, **settings: Any) -> PlayDocument:
    scenario = {"id": "a", "goal": "the money back", "facts": {"order": "W12"}}
    spec = Play(scenarios=[scenario], agents="polite", output="runs.jsonl", **settings)
    return play(spec, others=agents or {"polite": polite}, user=user)


def test_a_scripted_dialogue_is_logged_with_its_tool_calls_and_scored(bots: str):
    played = tw.play(
        [REFUND], agents=[f"good={bots}:good", f"rude={bots}:rude"], output="runs.jsonl", repeats=2
    )
    first, *_, last = lines("runs.jsonl")
    assert [message["role"] for message in first["messages"]] == [
        "user", "assistant", "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert first["messages"][3]["tool_calls"][0]["function"]["name"] == "refund"
    assert first["messages"][4] == {
        "role": "tool", "content": '{"ok": true}', "tool_call_id": "c", "name": "refund",
    }  # fmt: skip
    assert (first["id"], first["agent"]) == ("good/refund/0", "good")
    assert (first["task"], first["trial"], first["meta"]["end"]) == ("refund", 0, "script")
    assert first["ratings"] == [
        {"dimension": "success", "value": 1, "rater": "turnwise play", "scale": [0, 1], "automatic": True}
    ]
    assert last["meta"]["unmet"] == [
        "no call of refund with {'order': 'W12'}", "orders.w12 is None, not 'refunded'", "`go away` was said",
    ]  # fmt: skip
    assert {one["agent"]: one["estimate"] for one in played} == {"good": 1.0, "rude": 0.0}
    assert tw.score("runs.jsonl", metrics="rating:success").records()[0]["estimate"] == 1.0


def test_state_and_tools_begin_anew_in_every_dialogue(bots: str):
    only_state = {
        **REFUND,
        "turns": ["I want my money back."],
        "success": {"state": {"orders.w12": "refunded"}},
    }
    played = tw.play(
        [{**REFUND, "id": "first"}, {**only_state, "id": "second"}],
        agents=f"good={bots}:good",
        output="runs.jsonl",
    )
    assert [one["ratings"][0]["value"] for one in lines("runs.jsonl")] == [1, 0]
    assert played.records()[0]["n_clusters"] == 2


@pytest.mark.parametrize(
    ("bot", "end", "why"),
    [
        ("breaks", "agent-fault", "raised RuntimeError: oh no"),
        ("circles", "agent-fault", "called tools 30 times"),
        ("silent", "agent-fault", "empty text"),
    ],
)
def test_a_fault_of_the_agent_ends_the_dialogue_and_counts_as_its_failure(
    bots: str, bot: str, end: str, why: str
):
    played = tw.play([{**REFUND, "turns": ["It is W12."]}], agents=f"bot={bots}:{bot}", output="runs.jsonl")
    (one,) = lines("runs.jsonl")
    assert one["meta"]["end"] == end
    assert why in one["meta"]["why"]
    assert one["ratings"][0]["value"] == 0
    assert played.records()[0]["estimate"] == 0


def test_a_dialogue_lost_to_the_infrastructure_is_tried_again_counted_and_not_scored(bots: str):
    good_and_bad = [f"good={bots}:good", f"bad={bots}:offline"]
    played = tw.play([REFUND], agents=good_and_bad, output="runs.jsonl", retries=1)
    assert [one["agent"] for one in lines("runs.jsonl")] == ["good"]
    assert {one.agent: one.ends for one in played.document.ends} == {
        "good": {"script": 1}, "bad": {"infrastructure-fault": 1},
    }  # fmt: skip
    assert "bad: not scored: 1 dialogue lost to the infrastructure" in "\n".join(played.notes())
    with pytest.raises(TooManyErrors, match="the infrastructure failed in 1 dialogue"):
        tw.play([REFUND], agents=good_and_bad, output="other.jsonl", max_errors=0)
    with pytest.raises(Unmeasured, match="none of 1 dialogue can be scored"):
        tw.play([REFUND], agents=good_and_bad[1], output="other.jsonl")


def test_a_message_with_a_fault_is_tried_again_and_the_agent_never_sees_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    user = SaysInTurn(
        UserMessage("How can I help you today?"),
        UserMessage("I want my money back."),
        UserMessage("Great, thanks!", "goal"),
    )
    document = held(user)
    (one,) = lines("runs.jsonl")
    assert [message["content"] for message in one["messages"] if message["role"] == "user"] == [
        "I want my money back.", "Great, thanks!",
    ]  # fmt: skip
    assert one["meta"]["end"] == "goal"
    assert document.ends[0].discarded == {"role-swap": 1}
    assert lines("runs.measured.jsonl")[0]["discarded"][0]["text"] == "How can I help you today?"


def test_a_dialogue_whose_user_keeps_failing_is_set_apart_and_not_scored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    swaps = SaysInTurn(UserMessage("How can I help you today?"))
    with pytest.raises(
        Unmeasured, match=r"none of 1 dialogue can be scored: simulator-fault: role-swap \(1\)"
    ):
        held(swaps, retries=1)
    assert swaps.asked == 2
    document = held(swaps, check=False, max_turns=1)
    assert document.ends[0].ends == {"limit": 1}
    mixed = SaysInTurn(UserMessage("I want my money back."), *[UserMessage("...")] * 3)
    document = held(mixed, agents={"polite": polite, "other": polite}, repeats=1, max_turns=1)
    assert [one.ends for one in document.ends] == [{"limit": 1}, {"simulator-fault": 1}]
    assert [one["agent"] for one in lines("runs.jsonl")] == ["polite"]
    assert lines("runs.faults.jsonl")[0]["failure"] == "simulator-fault: empty"


def test_a_user_without_an_answer_is_a_fault_of_the_simulator_and_one_without_a_server_of_the_infrastructure(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Unmeasured, match="simulator-fault: empty"):
        held(SaysInTurn(NoReply("refuses")))
    with pytest.raises(Unmeasured, match="infrastructure-fault: the user is away"):
        held(SaysInTurn(NoReply("is away", infrastructure=True)))


def test_two_agents_meet_the_same_users_in_the_same_scenes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sellers = family("behaviour", agents=2)
    spec = Play(scenarios="world:booking", agents=list(sellers), output="runs.jsonl", user="rules", limit=3)
    play(spec, others=sellers)
    goals: dict[str, list[Any]] = {name: [] for name in sellers}
    openings: dict[str, list[str]] = {name: [] for name in sellers}
    for one in lines("runs.jsonl"):
        goals[one["agent"]].append(one["goal"])
        openings[one["agent"]].append(one["messages"][0]["content"])
        assert {rating["dimension"] for rating in one["ratings"]} == {"reward", "name", "flight", "status"}
    first, second = sellers
    assert goals[first] == goals[second]
    assert openings[first] == openings[second]


def test_an_interrupted_run_goes_on_and_writes_the_bytes_of_a_run_that_was_not(bots: str):
    scenarios = [{**REFUND, "id": f"s{number}", "tools": [], "success": {}} for number in range(4)]
    asked = {"agents": f"bot={bots}:draws", "repeats": 3, "seed": 5}
    tw.play(scenarios, output="whole.jsonl", **asked)
    with pytest.raises(Unmeasured, match=r"max_calls=7 ended the run after 3 of 12 dialogues and 7 calls"):
        tw.play(scenarios, output="cut.jsonl", max_calls=7, **asked)
    assert not Path("cut.jsonl").exists()
    with pytest.raises(Unmeasured, match="ended the run after 6 of 12"):
        tw.play(scenarios, output="cut.jsonl", max_calls=12, **asked)
    tw.play(scenarios, output="cut.jsonl", concurrency=4, **asked)
    assert Path("cut.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
    assert not list(Path().glob(".cut*"))
    tw.play(scenarios, output="other.jsonl", **{**asked, "seed": 6})
    assert Path("other.jsonl").read_bytes() != Path("whole.jsonl").read_bytes()


def test_a_limit_on_cost_needs_a_price_and_ends_the_run(bots: str):
    with pytest.raises(UsageError, match=r"max_cost=\.\.\. needs price=\"IN/OUT\""):
        tw.play([REFUND], agents=f"{bots}:good", output="runs.jsonl", max_cost=1)


def test_tools_may_be_functions_of_the_user_with_the_state(bots: str, tmp_path: Path):
    (tmp_path / f"{bots}_tools.py").write_text(
        "def refund(order, state):\n    state['orders'] = {order: 'refunded'}\n    return 'done'\n"
    )
    scenario = {**REFUND, "tools": [{"name": "refund"}]}
    tw.play([scenario], agents=f"{bots}:good", output="runs.jsonl", tools=f"{bots}_tools")
    assert lines("runs.jsonl")[0]["ratings"][0]["value"] == 1
    with pytest.raises(UsageError, match="the tool `refund` of scenario `refund` has no `results`"):
        tw.play([scenario], agents=f"{bots}:good", output="runs.jsonl")


def test_a_rubric_is_judged_by_another_agent_or_left_open(bots: str, tmp_path: Path):
    (tmp_path / f"{bots}_judge.py").write_text(
        "def strict(messages):\n    return 'NO' if 'go away' in messages[0]['content'].lower() else 'Yes.'\n"
        "def lost(messages):\n    return 'yes and no'\n"
    )
    scenario = {"id": "a", "turns": ["Hello."], "success": {"judge": "The assistant is polite."}}
    bots_of_it = [f"good={bots}:draws", f"rude={bots}:rude"]
    judged = tw.play([scenario], agents=bots_of_it, output="runs.jsonl", judge=f"{bots}_judge:strict")
    assert {one["agent"]: one["estimate"] for one in judged} == {"good": 1.0, "rude": 0.0}
    for judge in (None, f"{bots}_judge:lost"):
        assert len(tw.play([scenario], agents=bots_of_it, output="runs.jsonl", judge=judge)) == 0


def test_without_a_judge_a_scenario_with_a_rubric_has_no_success_even_where_something_else_fails(bots: str):
    rubric = {"judge": "The assistant is polite."}
    asked = [
        {"id": "a", "turns": ["Hello."], "success": {**rubric, "says": ["days"]}},
        {"id": "b", "turns": ["Hello."], "success": {"says": ["days"]}},
    ]
    played = tw.play(asked, agents=[f"rude={bots}:rude", f"draws={bots}:draws"], output="runs.jsonl")
    assert {one.agent: (one.estimate, one.n_items) for one in played.findings} == {
        "rude": (1.0, 1),
        "draws": (0.0, 1),
    }
    told = "\n".join(played.notes())
    assert (
        "rude: success is not known of 1 dialogue: their scenarios have a rubric, which --judge AGENT" in told
    )
    assert "None" not in told


def test_a_gate_fails_the_command_and_is_written_for_the_ci(bots: str, capsys: pytest.CaptureFixture[str]):
    asked = [{"id": f"s{n}", "turns": ["Hi."], "success": {"says": ["days"]}} for n in range(12)]
    Path("s.json").write_text(json.dumps(asked))
    played = ["play", "s.json", "-o", "runs.jsonl", "-q", "--gate", "success >= 0.7", "--junit", "gates.xml"]
    assert run([*played, "--agent", f"{bots}:rude"]) == 0
    assert "pass  success >= 0.7" in capsys.readouterr().err
    assert run([*played, "--agent", f"{bots}:draws"]) == 1
    assert "FAIL  success >= 0.7" in capsys.readouterr().err
    assert 'failures="1"' in Path("gates.xml").read_text()


@pytest.mark.parametrize(
    ("words", "said", "found"),
    [
        ("10", "Open at 10.", True), ("10", "In 2010.", False), ("10", "It costs 10.50", False),
        ("10 hours", "210 hours", False), ("1,200", "about 1200 euros", True), ("days", "5 Days", True),
        ("是的", "当然是的", True), ("$5", "It is $5!", True), ("$5", "It is $50", False),
    ],
)  # fmt: skip
def test_words_that_must_be_said_are_found_with_whole_numbers(words: str, said: str, found: bool):
    asked = Success(says=[words])
    assert unmet(asked, [Turn("assistant", said)], {}) == ([] if found else [f"`{words}` was not said"])


def test_agents_and_judge_may_be_functions(bots: str):
    def bot(messages: list[dict[str, Any]]) -> str:
        return "5 days"

    async def slow(messages: list[dict[str, Any]]) -> str:
        return "hello"

    scenario = {"id": "a", "turns": ["Hi."], "success": {"says": ["5 days"], "judge": "It is polite."}}
    played = tw.play([scenario], agents=[bot, slow], output="runs.jsonl", judge=lambda messages: "yes")
    assert {one.agent: one.estimate for one in played.findings} == {"bot": 1.0, "slow": 0.0}


def test_the_judge_is_counted_among_the_calls(bots: str, tmp_path: Path):
    (tmp_path / f"{bots}_judge.py").write_text("def kind(messages):\n    return 'yes'\n")
    scenario = {"id": "a", "turns": ["Hello."], "success": {"judge": "The assistant is polite."}}
    played = tw.play([scenario], agents=f"{bots}:rude", output="runs.jsonl", judge=f"{bots}_judge:kind")
    assert played.document.ends[0].calls == 2


def test_tasks_of_tau2_get_the_functions_as_tools_and_say_what_is_not_asked(bots: str, tmp_path: Path):
    (tmp_path / f"{bots}_tools.py").write_text(
        "from json import dumps\n\n"
        "def refund(order: str, full: bool = True, *, state):\n"
        "    'Give the money back.'\n    state['orders'] = {order: 'refunded'}\n    return 'done'\n"
    )
    told = {"domain": "shop", "reason_for_call": "Money back for W12"}
    criteria = {
        "actions": [{"name": "refund", "arguments": {"order": "w12"}}],
        "env_assertions": [{"func_name": "is_refunded"}],
        "reward_basis": ["DB", "COMMUNICATE"],
    }
    task = {"id": "7", "user_scenario": {"instructions": told}, "evaluation_criteria": criteria}
    Path("tasks.json").write_text(json.dumps([task]))

    class Asks:
        signature = Signature("asks")
        concurrent = True

        def __call__(self, stage: Stage, turns: Sequence[Turn], seed: int, /) -> UserMessage:
            return (
                UserMessage("Thank you!", leaving="goal")
                if turns
                else UserMessage("It is order W12, please.")
            )

    from turnwise.commands.play import Play
    from turnwise.run.play.command import play

    spec = Play("tasks.json", agents=f"{bots}:good", output="runs.jsonl", tools=f"{bots}_tools")
    document = play(spec, user=Asks())
    (line,) = lines("runs.jsonl")
    (tool,) = line["tools"]
    assert tool["function"]["description"] == "Give the money back."
    assert tool["function"]["parameters"] == {
        "type": "object",
        "properties": {"order": {"type": "string"}, "full": {"type": "boolean"}},
        "required": ["order"],
    }
    assert document.results[0].estimate == 1.0
    assert [*document.left_out.values()] == [1, 1]
    assert "database's state" in next(iter(document.left_out))


def test_what_cannot_be_played_is_said_before_anything_is(bots: str):
    with pytest.raises(UsageError, match="two agents are called `x`"):
        tw.play([REFUND], agents=[f"x={bots}:good", f"x={bots}:rude"], output="runs.jsonl")
    with pytest.raises(UsageError, match="there is no world `nowhere`"):
        tw.play("world:nowhere", agents=f"{bots}:good", output="runs.jsonl")
    with pytest.raises(UsageError, match="scenario `a` has no `turns`, which the user `scripted` needs"):
        tw.play([{"id": "a", "goal": "x"}], agents=f"{bots}:good", output="runs.jsonl")
    with pytest.raises(UsageError, match="scenario `a` has no `world`, which the user `rules` needs"):
        tw.play([{"id": "a", "goal": "x"}], agents=f"{bots}:good", output="runs.jsonl", user="rules")


def real_logs(kinds: Sequence[str]) -> list[dict[str, Any]]:
    """Real dialogues of two agents, of which `rude` is rated lower."""
    records = []
    for number in range(24):
        agent = ("good", "rude")[number % 2]
        said = [f"i need help with parcel {number + place} please" for place in range(3)]
        messages = [one for text in said for one in (
            {"role": "user", "content": text}, {"role": "assistant", "content": "Yes."})]  # fmt: skip
        rating = {"dimension": "overall", "value": 5 - number % 2, "scale": [1, 5]}
        meta = {"kind": kinds[number % len(kinds)]} if kinds else {}
        records.append(
            {"id": f"r{number}", "agent": agent, "messages": messages, "ratings": [rating], "meta": meta}
        )
    return records


ASKING = "def user(messages, rng):\n    return f'i need help with parcel {rng.integers(99)} please'\n"


def test_simulated_users_are_compared_with_real_ones_by_kind_and_agents_in_rank(bots: str, tmp_path: Path):
    (tmp_path / f"{bots}_user.py").write_text(ASKING)
    scenarios = [
        {"id": f"s{number}", "kind": ("parcels", "cars")[number % 2], "goal": "help", "max_turns": 4,
         "success": {"never_says": ["go away"]}} for number in range(10)
    ]  # fmt: skip
    asked = {"agents": [f"good={bots}:draws", f"rude={bots}:rude"], "user": f"{bots}_user:user", "check": False,
             "model": "hashing"}  # fmt: skip
    played = tw.play(scenarios, output="runs.jsonl", real=real_logs(["parcels"]), **asked)
    by_kind = {(one.kind, one.measure): one for one in played.document.realism}
    assert by_kind["parcels", "words"].simulated == by_kind["parcels", "words"].real == 7
    assert by_kind["cars", "words"].status == "refused"
    assert "0 messages of real users in 0 dialogues of kind `cars` are too few" in "\n".join(played.notes())
    (check,) = played.document.ranks
    assert (check.agents, check.agreeing_pairs, check.pairs) == (("good", "rude"), 1, 1)
    assert "order 1 of 1 pair of agents alike" in "\n".join(played.notes())
    pooled = tw.play(scenarios, output="pooled.jsonl", real=real_logs([]), **asked)
    assert {one.kind for one in pooled.document.realism} == {"all"}
    assert "words" in pooled.realism()


def test_messages_that_the_scenario_says_are_not_taken_for_those_of_a_simulated_user(bots: str):
    played = tw.play(
        [REFUND], agents=f"{bots}:good", output="runs.jsonl", real=real_logs([]), model="hashing"
    )
    assert played.document.realism == ()
    assert "is not known: the scenarios say every message of theirs" in "\n".join(played.notes())


def test_agents_and_users_behind_one_address_share_its_gate_and_calls_and_cost_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)

    def behave(exchange: Exchange) -> None:
        is_user = exchange.body["model"] == "user"
        text = f"Where is parcel {exchange.number}?" if is_user else f"Let me see about {exchange.number}."
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        choice = {"message": {"content": text}, "finish_reason": "stop"}
        exchange.send(200, json.dumps({"choices": [choice], "usage": usage}))

    with serving(behave) as server:
        start = monotonic()
        played = tw.play(
            [{"id": "a", "goal": "a parcel", "max_turns": 3}], agents=f"bot={server.address}", user=server.address,
            settings={"model": "agent"}, user_settings={"model": "user"}, output="runs.jsonl", check=False,
            rate=60 / 0.1, price="1000/0", user_price="0/1000", repeats=2,
        )  # fmt: skip
        seconds = monotonic() - start
        assert len(server.requests) == 12
        assert seconds >= 0.95 * 11 * 0.1
        told = server.requests[0].body["messages"][0]["content"]
    assert "a parcel" in told
    (ends,) = played.document.ends
    # 6 replies of 100 tokens in at 1000 a million, and 6 messages of 10 tokens out at 1000 a million
    assert (ends.calls, ends.cost) == (12, pytest.approx(6 * 0.1 + 6 * 0.01))
    costs = tw.score("runs.jsonl", metrics="logged-cost[measured=runs.measured.jsonl]")
    assert costs.findings[0].estimate == pytest.approx(3 * 0.1)  # a dialogue of 3 replies, without the user's
    with pytest.raises(Unmeasured, match=r"max_cost=0\.15 ended the run"), serving(behave) as server:
        tw.play(
            [{"id": "b", "goal": "a parcel", "max_turns": 3}], agents=f"bot={server.address}",
            user=server.address, settings={"bot.model": "agent"}, user_settings={"model": "user"},
            output="cut.jsonl", check=False, price="1000/0", max_cost=0.15, repeats=4, concurrency=1,
        )  # fmt: skip
