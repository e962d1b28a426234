"""Dialogues as arrays: every text once, every point in its place."""

from dataclasses import replace

import numpy as np
import pytest

from tests.small_world import held
from turnwise.encode.episodes import check_alternatives, encode, kept, leave_out, single, whole
from turnwise.errors import DataError
from turnwise.logs.items.items import Selection, items
from turnwise.types import Dialogue, Episodes, Rating, Reply, Turn


@pytest.fixture
def talk() -> Dialogue:
    said = {"b": (Reply("To Rome?"), Reply("Name?"))}
    end = {"b": (Reply("Sorry.", {"reward": 0.0}), Reply("Wait.", relabelled={"reward": 0.5}))}
    return Dialogue(
        "d",
        "a",
        (
            Turn("system", "be kind"),
            Turn("assistant", "Hello."),
            Turn("user", "I go to Rome."),
            Turn("assistant", "To Rome?", alternatives=said),
            Turn("user", "Yes."),
            Turn("assistant", "Booked to Paris.", alternatives=end, outcome={"reward": 1.0, "name": 0.0}),
        ),
    )


def encoded(*talks: Dialogue, **rewards: float) -> Episodes:
    return encode(whole(talks, rewards), rating="reward")


def test_points_are_the_replies_and_know_what_they_answer(talk: Dialogue) -> None:
    found = encoded(talk, d=0.7)
    texts = np.array([*found.texts, None])
    assert list(texts[found.user]) == [None, "I go to [new].", "Yes."]
    assert list(texts[found.logged.text[:, 0]]) == ["Hello.", "To [same]?", "Booked to [new]."]
    assert list(found.first) == [0, 3]
    assert found.reward.tolist() == [0.7]


def test_ends_outcomes_and_relabelled_scores_stand_where_they_were_given(talk: Dialogue) -> None:
    found = encoded(talk, d=0.7)
    assert found.logged.end[:, 0].tolist() == [False, False, True]
    assert found.logged.outcome[2, 0] == 1.0
    assert np.isnan(found.logged.outcome[:2]).all()
    instead = found.alternatives["b"]
    assert instead.text[0].tolist() == [-1, -1]
    assert instead.end.tolist() == [[False, False], [False, False], [True, False]]
    assert instead.outcome[2, 0] == 0.0
    assert instead.relabelled[2].tolist() == [0.0, 0.5]


def test_values_may_be_kept(talk: Dialogue) -> None:
    found = encode(whole([talk], {}), rating="reward", delexicalised=False)
    assert "Booked to Paris." in found.texts
    assert np.isnan(found.reward).all()


def test_log_probabilities_are_read_from_messages(talk: Dialogue) -> None:
    turns = [
        replace(t, extra={"logprobs": {"a": -1.0, "b": -2.0}}) if t.role == "assistant" else t
        for t in talk.turns
    ]
    found = encoded(replace(talk, turns=tuple(turns)), d=1.0)
    assert found.log_probs["b"].tolist() == [-2.0, -2.0, -2.0]


def test_each_text_stands_once() -> None:
    found = encoded(*held(agents=3, dialogues=5))
    assert len(set(found.texts)) == len(found.texts)
    assert len(found.dialogues) == 15


def test_leaving_an_agent_out_leaves_its_dialogues_out_and_all_alternatives_in() -> None:
    logs = encoded(*held(agents=3, dialogues=5))
    found = leave_out(logs, {"a1"})
    assert found.agents == ("a0", "a2")
    assert set(found.alternatives) == {"a0", "a1", "a2"}
    assert len(found.user) == found.first[-1] == 30
    assert found.dialogues == tuple(
        name for name, a in zip(logs.dialogues, logs.agent, strict=True) if a != 1
    )
    assert leave_out(logs, {"nobody"}) is logs
    assert kept(logs, np.ones(15, dtype=np.bool_)).agent.tolist() == logs.agent.tolist()


def test_a_silent_agent_is_named_with_how_often(talk: Dialogue) -> None:
    logs = encoded(talk, d=1.0)
    with pytest.raises(DataError, match=r"agent `b` has no alternative at 1 of 3 turns .*`d`"):
        check_alternatives(logs, "b")
    check_alternatives(logs, "a")  # at its own dialogues nobody asks


def test_rated_replies_of_one_context_are_each_others_alternatives() -> None:
    records = [
        Dialogue(
            f"{agent}{item}",
            agent,
            (Turn("user", f"How are {item}?"), Turn("assistant", f"Fine, says {agent}")),
            (Rating(f"{agent}{item}", "overall", 3.0, turn=1),),
        )
        for item in ("we", "you")
        for agent in ("x", "y")
    ]
    chosen = Selection(items="rated", dimension="overall")
    rewards = {f"{one.id}#1": 3.0 for one in records}
    found = encode(single(items(records, chosen), rewards), rating="overall", delexicalised=False)
    assert found.first.tolist() == [0, 1, 2, 3, 4]
    assert [found.texts[place] for place in found.alternatives["y"].text[:, 0]] == ["Fine, says y"] * 4
    assert found.cluster.tolist() == [0, 0, 1, 1]
