"""Users that a model plays, users learned from logs, and the stage on which they stand."""

import textwrap
from pathlib import Path

import pytest

import turnwise as tw
from turnwise import users
from turnwise.agents.calling import NoReply
from turnwise.errors import TooFewItems, UsageError
from turnwise.scenarios.scenario import Scenario
from turnwise.types import Dialogue, Turn
from turnwise.users.learned import LearnedUser, fit
from turnwise.users.model import instructions, parsed, user_request
from turnwise.users.user import Stage, UserMessage

HOTEL = Scenario(
    id="a",
    kind="hotel",
    persona="A tourist.",
    goal="I want a cheap hotel",
    facts={"area": "north", "people": 4},
)


def dialogue(identity: str, kind: str, *texts: str) -> Dialogue:
    roles = ("user", "assistant")
    turns = tuple(Turn(roles[at % 2], text) for at, text in enumerate(texts))  # type: ignore[arg-type]
    return Dialogue(identity, "bot", turns, meta={"kind": kind})


LOGS = [
    dialogue("1", "hotel", "i want a cheap hotel", "Which area?", "the north pls", "Booked.", "thanks bye"),
    dialogue(
        "2", "taxi", "need a taxi", "Which area do you leave from?", "from the station", "Done.", "ok thx"
    ),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello there", UserMessage("Hello there")),
        ("User: Thanks! [DONE]", UserMessage("Thanks!", "goal")),
        ("[ give_up ]", UserMessage("", "gave-up")),
        ("Great ###STOP###", UserMessage("Great", "goal")),
        ('"I want a room"', UserMessage("I want a room")),
        ("That's all, thank you.", UserMessage("That's all, thank you.", "goal")),
        ("Is that all you have?", UserMessage("Is that all you have?")),
    ],
)
def test_marks_and_labels_are_taken_out_of_a_message(text: str, expected: UserMessage):
    assert parsed(text) == expected


def test_a_model_is_told_the_scenario_and_sees_the_dialogue_with_the_roles_swapped():
    turns = [Turn("user", "Hi"), Turn("assistant", None, extra={"tool_calls": [{}]}), Turn("tool", "x"),
             Turn("assistant", "Which area?")]  # fmt: skip
    request = user_request(Stage(HOTEL, 0), turns, 7, ["the north pls"])
    assert [(turn.role, turn.text) for turn in request.turns[2:]] == [
        ("assistant", "Hi"),
        ("user", "Which area?"),
    ]
    told = request.turns[0].text
    for part in ("A tourist.", "I want a cheap hotel", "- area: north", "- people: 4", "- the north pls"):
        assert part in told
    assert "Who you are" not in instructions(Stage(Scenario(id="b", goal="x"), 0))


def test_a_user_of_a_world_is_told_the_goal_of_its_scene_and_meets_the_same_scene_again():
    scenario = Scenario(id="b-1", world="booking")
    first, second = Stage(scenario, 3), Stage(scenario, 3)
    assert first.goal == second.goal
    assert first.goal != Stage(scenario, 4).goal
    assert set(first.facts.values()) & set(map(str, first.goal.values()))
    assert first.briefing[0].role == "system"


def test_a_learned_user_says_what_real_users_said_in_such_a_place():
    user = fit(LOGS)
    stage = Stage(HOTEL, 0)
    one = LearnedUser(user.known, user.kinds, user.place, nearest=1)
    assert one(stage, [], 1) == UserMessage("i want a cheap hotel")
    asked = [Turn("user", "i want a cheap hotel"), Turn("assistant", "Which area?")]
    assert one(stage, asked, 1) == UserMessage("the north pls")
    booked = [*asked, Turn("user", "the north pls"), Turn("assistant", "Booked.")]
    assert one(stage, booked, 1) == UserMessage("thanks bye", "goal")
    assert user.examples(stage, asked, 1)[0] == "the north pls"


def test_messages_of_the_same_kind_come_first_where_there_are_some():
    one = fit(LOGS)
    stage = Stage(Scenario(id="b", kind="taxi", goal="a cheap hotel"), 0)
    nearest = LearnedUser(one.known, one.kinds, one.place, nearest=1)
    assert nearest(stage, [], 0).text == "need a taxi"


def test_a_user_needs_messages_to_learn_from():
    with pytest.raises(TooFewItems, match="messages of users"):
        fit([Dialogue("1", "bot", (Turn("assistant", "Hi"),))])


def test_a_trained_user_is_read_from_its_folder_and_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    Path("learned_bots.py").write_text(
        textwrap.dedent("""
            def bot(messages):
                return "Which area?"
            def model(messages):
                return "north" if "the north pls" in messages[0]["content"] else "hello"
        """)
    )
    records = [{"id": one.id, "meta": one.meta, "messages": [
        {"role": turn.role, "content": turn.text} for turn in one.turns]} for one in LOGS]  # fmt: skip
    tw.train("user", data=records, output="user")
    scenario = {"id": "a", "kind": "hotel", "goal": "a cheap hotel", "max_turns": 2}
    tw.play(
        [scenario], agents="learned_bots:bot", user="user", user_settings={"nearest": 1}, output="runs.jsonl"
    )
    said = [turn.text for turn in _turns("runs.jsonl") if turn.role == "user"]
    assert said == ["i want a cheap hotel", "the north pls"]
    tw.play(
        [scenario], agents="learned_bots:bot", user="user", user_settings={"model": "learned_bots:model"},
        output="model.jsonl",
    )  # fmt: skip
    assert [turn.text for turn in _turns("model.jsonl") if turn.role == "user"][1] == "north"
    with pytest.raises(UsageError, match="has no setting `colour` without a `model`"):
        users.resolve("user", colour=1)
    with pytest.raises(UsageError, match="1 or more, not 0"):
        users.resolve("user", nearest=0)


def _turns(path: str) -> tuple[Turn, ...]:
    from turnwise.logs.native import read

    (only,) = read(path)
    return only.turns


def test_a_model_that_does_not_answer_gives_no_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("mute_user.py").write_text("def user(messages):\n    raise ValueError('mute')\n")
    with pytest.raises(NoReply, match="mute"):
        users.resolve("mute_user:user")(Stage(HOTEL, 0), [], 0)


def test_users_of_scripts_and_rules_have_no_settings():
    with pytest.raises(UsageError, match="the user `rules` has no settings"):
        users.resolve("rules", temperature=1)
