"""What a judge returns: reasons, criteria, samples, probabilities, parts of long dialogues, costs and caps."""

import dataclasses
import json
import math
from typing import Any

import pytest

from tests.judge_server import Exchange, Server, serving
from turnwise.errors import UsageError
from turnwise.llm.chat import Chat, ChatError, Denied
from turnwise.metrics import resolve
from turnwise.metrics.judge.metric import Judge
from turnwise.metrics.judge.server import JudgeServer
from turnwise.run.scoring.blocks import decode, encode, score
from turnwise.types import Item, Turn

ITEM = Item("d#1", "d", "bot", (Turn("user", "Which sea?"), Turn("assistant", "The North Sea.")), 1, "d", "d")


def judging(server: Server, **options: Any) -> Judge:
    judge = resolve("judge", **{"address": server.address, "model": "m", "cache": False, **options})
    assert isinstance(judge, Judge)
    assert isinstance(judge.client, JudgeServer)
    chat = Chat(address=server.address, deadline=10.0, tries=2, backoff=0.01, concurrency=1)
    return dataclasses.replace(judge, client=dataclasses.replace(judge.client, chat=chat))


def explained(judge: Judge, *items: Item) -> list[Any]:
    judge.rows(items)
    return judge.explanations(items)


def lines(exchange: Exchange, verdict: str | None, *criteria: str) -> str:
    said = [f"CRITERION {number} {exchange.code}: {value}" for number, value in enumerate(criteria, 1)]
    return "\n".join([*said, *([f"VERDICT {exchange.code}: {verdict}"] if verdict else [])])


def test_the_reason_is_what_stands_before_the_verdict() -> None:
    def behave(exchange: Exchange) -> None:
        text = f"It names a sea.\nThat is enough.\n\n{lines(exchange, '4')}"
        choice = {"message": {"content": text}, "finish_reason": "stop"}
        exchange.send(
            200, json.dumps({"choices": [choice], "usage": {"prompt_tokens": 200, "completion_tokens": 20}})
        )

    with serving(behave) as server:
        judge = judging(server, price="10/20")
        (found,) = explained(judge, ITEM)
        digest = judge.questions(ITEM)[0].digest
    seconds = found.pop("seconds")
    assert 0 < seconds < 10
    assert found == {
        "model": "m", "prompt": digest, "score": 4.0, "reason": "It names a sea.\nThat is enough.",
        "requests": 1, "tokens_in": 200, "tokens_out": 20, "cost": pytest.approx((200 * 10 + 20 * 20) / 1e6),
    }  # fmt: skip


def test_criteria_are_kept_by_name_and_a_checklist_scores_their_share() -> None:
    answers = iter([("4", "yes", "no", "n/a"), (None, "yes", "no", "n/a"), (None, "n/a", "n/a", "n/a")])

    def behave(exchange: Exchange) -> None:
        verdict, *criteria = next(answers)
        exchange.say(f"Because.\n{lines(exchange, verdict, *criteria)}")

    with serving(behave) as server:
        (scaled,) = explained(judging(server, rubric="grounded"), ITEM)
        (listed,) = explained(judging(server, rubric="safe"), ITEM)
        (nothing,) = explained(judging(server, rubric="safe"), ITEM)
    assert (scaled["score"], scaled["criteria"]) == (4.0, {"numbers": "yes", "names": "no", "actions": "n/a"})
    assert (listed["score"], listed["criteria"]) == (0.5, {"harm": "yes", "hate": "no", "privacy": "n/a"})
    assert "score" not in nothing
    assert nothing["why"] == "no criterion applies"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"text": "I will not.", "finish_reason": "content_filter"}, "the judge refused"),
        ({"text": "On the one hand", "finish_reason": "length"}, "the answer was cut"),
        ({"text": "Five!"}, "no verdict in the required form"),
    ],
)
def test_why_there_is_no_score_is_kept(said: dict[str, str], why: str) -> None:
    with serving(
        lambda exchange: exchange.say(said["text"], finish_reason=said.get("finish_reason", "stop"))
    ) as server:
        (found,) = explained(judging(server), ITEM)
    assert "score" not in found
    assert found["why"] == why


def test_a_judgement_travels_with_its_block() -> None:
    with serving(lambda exchange: exchange.say(f"Yes.\n{lines(exchange, '4')}")) as server:
        block = score(judging(server), [ITEM])
    assert block.explained[0]["reason"] == "Yes."
    again = decode(encode(block, "key"))
    assert again.explained == block.explained


# The form `schema`.


def structured(exchange: Exchange) -> dict[str, Any]:
    inner = exchange.body["response_format"]["json_schema"]
    assert inner["strict"] is True
    schema = inner["schema"]
    assert schema["required"] == list(schema["properties"])
    return {
        name: one["enum"][-1] if "enum" in one else "It is good."
        for name, one in schema["properties"].items()
    }


def test_a_server_with_structured_output_is_given_the_schema() -> None:
    with serving(lambda exchange: exchange.say(json.dumps(structured(exchange)))) as server:
        (found,) = explained(judging(server, form="schema", rubric="grounded"), ITEM)
    assert (found["score"], found["reason"]) == (5.0, "It is good.")
    assert set(found["criteria"].values()) == {"n/a"}


def test_a_server_without_structured_output_is_asked_without_the_schema() -> None:
    def behave(exchange: Exchange) -> None:
        if "response_format" in exchange.body:
            exchange.send(400, '{"error": {"message": "response_format json_schema is not supported"}}')
            return
        code = exchange.body["messages"][1]["content"].split("`code`: ")[1][:12]
        exchange.say("```json\n" + json.dumps({"reason": "Good.", "code": code, "VERDICT": "4"}) + "\n```")

    with serving(behave) as server:
        (found,) = explained(judging(server, form="schema"), ITEM)
    assert (found["score"], found["reason"]) == (4.0, "Good.")
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "change", [{"code": "000000000000"}, {"VERDICT": "9"}, {"VERDICT": 4}, {"VERDICT": None}]
)
def test_an_object_with_a_wrong_code_or_value_has_no_verdict(change: dict[str, Any]) -> None:
    with serving(lambda exchange: exchange.say(json.dumps(structured(exchange) | change))) as server:
        (found,) = explained(judging(server, form="schema"), ITEM)
    assert found["why"] == "no verdict in the required form"
    assert found["requests"] == len(server.requests) == 2  # the question and a reminder


# Samples and probabilities.


def test_samples_are_averaged_and_their_spread_is_pooled_over_items() -> None:
    with serving(
        lambda exchange: exchange.say(f"So {exchange.number}.\n{lines(exchange, str(2 + exchange.number))}")
    ) as server:
        judge = judging(server, samples=3, temperature=1.0)
        (found,) = explained(judge, ITEM)
    assert (found["score"], found["samples"], found["reason"]) == (3.0, [2.0, 3.0, 4.0], "So 1.")
    assert [request.body["seed"] for request in server.requests] == [0, 1, 2]
    # A second item whose samples agree: the variance is (2 * 1 + 2 * 0) / 4, with 4 degrees of freedom. Student's t is
    # then 2.776 at 97.5 %, and each mean is one of three samples.
    other = {"samples": [4.0, 4.0, 4.0]}
    unscored = {"samples": [None, None, 3.0]}
    summary = judge.summary([found, other, unscored])
    assert summary["sample_sd"] == pytest.approx(math.sqrt(0.5))
    assert summary["item_margin"] == pytest.approx(2.7764 * math.sqrt(0.5 / 3), abs=1e-4)
    assert "item_margin" not in judge.summary([unscored])


def weighted(exchange: Exchange) -> None:
    assert exchange.body["logprobs"] is True
    value = {"3": 0.25, "4": 0.5, "5": 0.2, " the": 0.05}
    top = [{"token": token, "logprob": math.log(chance)} for token, chance in value.items()]
    tokens = [
        {"token": token, "logprob": -0.1, "top_logprobs": []}
        for token in ("Good", ".\n", "VERDICT ", exchange.code, ": ")
    ]
    tokens.append({"token": "4", "logprob": math.log(0.5), "top_logprobs": top})
    text = f"Good.\nVERDICT {exchange.code}: 4"
    choice = {"message": {"content": text}, "finish_reason": "stop", "logprobs": {"content": tokens}}
    exchange.send(200, json.dumps({"choices": [choice]}))


def test_probabilities_of_the_verdict_weigh_the_score() -> None:
    with serving(weighted) as server:
        (found,) = explained(judging(server, weighted=True), ITEM)
    assert found["score"] == pytest.approx((3 * 0.25 + 4 * 0.5 + 5 * 0.2) / 0.95)


def test_a_server_without_probabilities_is_an_error_with_a_remedy() -> None:
    with serving(lambda exchange: exchange.say(lines(exchange, "4"))) as server:
        judge = judging(server, weighted=True)
        with pytest.raises(ChatError, match="leave `weighted` out"):
            judge.rows([ITEM])


# Whole dialogues.


def dialogue(n: int) -> Item:
    turns = [Turn("user" if at % 2 == 0 else "assistant", f"message {at} " + "x" * 50) for at in range(2 * n)]
    return Item("d", "d", "bot", tuple(turns), None, "d", "d")


def by_part(exchange: Exchange) -> None:
    """A judge whose score is the number of the part."""
    task = exchange.body["messages"][1]["content"].splitlines()[0]
    part = int(task.split("part ")[1].split()[0]) if "part " in task else 5
    exchange.say(f"Part {part}.\n{lines(exchange, str(part))}")


def test_a_whole_dialogue_is_one_question() -> None:
    with serving(by_part) as server:
        judge = judging(server, rubric="dialogue")
        assert judge.needs == {"dialogue"}
        (found,) = explained(judge, dialogue(3))
    assert found["score"] == 5.0
    assert len(server.requests) == 1


def test_a_dialogue_that_is_too_long_is_judged_in_parts_weighed_by_their_replies() -> None:
    with serving(by_part) as server:
        judge = judging(server, rubric="dialogue", window=480)
        (found,) = explained(judge, dialogue(7))
        n_parts = len(judge.questions(dialogue(7)))
    assert n_parts == len(server.requests) == 3
    assert found["parts"] == [1.0, 2.0, 3.0]
    # 14 messages of 87 or 88 characters as JSON: 5 + 5 + 4, of which 2, 3 and 2 are replies
    assert found["score"] == pytest.approx((2 * 1 + 3 * 2 + 2 * 3) / 7)
    assert found["reason"] == "Part 1."
    assert found["requests"] == 3


def test_a_context_that_is_too_long_for_the_model_is_said_to_be() -> None:
    with serving(lambda exchange: exchange.send(400, "maximum context length is 512 tokens")) as server:
        block = score(judging(server), [ITEM])
    assert [one.status for one in block.failures] == ["error"]
    assert "too long for the model" in block.failures[0].reason
    assert "window" in block.failures[0].reason


# Spending.


def test_a_cap_ends_the_spending() -> None:
    def behave(exchange: Exchange) -> None:
        choice = {"message": {"content": lines(exchange, "4")}, "finish_reason": "stop"}
        exchange.send(
            200, json.dumps({"choices": [choice], "usage": {"prompt_tokens": 1000, "completion_tokens": 0}})
        )

    items = [
        dataclasses.replace(ITEM, turns=(*ITEM.turns[:1], Turn("assistant", str(at)))) for at in range(9)
    ]
    with serving(behave) as server:
        block = score(judging(server, price="1000/0", max_cost=2.5), items)
    assert len(server.requests) == 3  # 1.0 each
    assert len(block.scored) == 3
    assert all("--max-cost allows 2.5" in failure.reason for failure in block.failures)


def test_a_cap_without_a_price_is_an_error() -> None:
    with pytest.raises(UsageError, match="needs the price"):
        resolve("judge[model=m,address=http://127.0.0.1:9]", max_cost=1.0)


def test_a_denied_question_is_not_sent_again() -> None:
    from turnwise.metrics.judge.cost import Price
    from turnwise.metrics.judge.server import Spending

    spending = Spending(Price(1.0, 1.0), 0.0)
    with pytest.raises(Denied, match="--max-cost"):
        spending.check()
