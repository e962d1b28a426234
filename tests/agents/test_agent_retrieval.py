"""TF-IDF retrieval finds the reply to the most similar context, by the formula of its paper."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.agents import resolve
from turnwise.agents.calling import ReplyRequest
from turnwise.agents.tfidf import TfIdf, draw_nearest
from turnwise.encode.models import folder
from turnwise.errors import DataError, TooFewItems, UsageError
from turnwise.types import Dialogue, Reply, Turn

PAIRS = (
    ("do you like jazz music", "I love it."),
    ("where is the station", "Down the road."),
    ("do you like cold weather", "Only with snow."),
    ("what is the time", "It is noon."),
)


def dialogues(pairs=PAIRS) -> list[Dialogue]:
    return [
        Dialogue(str(number), "a", (Turn("user", question), Turn("assistant", answer)))
        for number, (question, answer) in enumerate(pairs)
    ]


def ask(agent, text: str, seed: int = 0) -> str:
    (answer,) = agent.replies([ReplyRequest((Turn("user", text),), seed)])
    return answer.content


WORDS = st.lists(st.sampled_from("red green blue black white grey".split()), min_size=1, max_size=6)


@settings(max_examples=30)
@given(st.lists(WORDS, min_size=2, max_size=8), WORDS)
def test_the_similarity_is_the_cosine_of_counts_times_log_n_over_df(contexts, query):
    texts = [" ".join(words) for words in contexts]
    agent = TfIdf.fit(dialogues([(text, str(index)) for index, text in enumerate(texts)]))
    vocabulary = sorted({word for words in contexts for word in words})
    idf = [np.log(len(contexts) / sum(word in words for words in contexts)) for word in vocabulary]

    def row(words):
        vector = np.array([words.count(word) for word in vocabulary]) * idf
        return vector / np.linalg.norm(vector) if vector.any() else vector

    scores = np.array([row(query) @ row(words) for words in contexts])
    chosen = int(ask(agent, " ".join(query)))
    assert scores[chosen] == pytest.approx(scores.max(), abs=1e-9)


def test_a_known_context_gets_its_own_reply():
    agent = TfIdf.fit(dialogues())
    assert [ask(agent, question) for question, _ in PAIRS] == [answer for _, answer in PAIRS]


def test_nearest_above_one_draws_among_the_best_contexts():
    agent = TfIdf.fit(dialogues(), nearest=2)
    known_replies = {ask(agent, "do you like music", seed) for seed in range(40)}
    assert known_replies == {"I love it.", "Only with snow."}


def test_a_context_without_a_known_word_gets_a_random_reply():
    agent = TfIdf.fit(dialogues())
    assert len({ask(agent, "zzz", seed) for seed in range(60)}) == len(PAIRS)


@settings(max_examples=30)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=9), st.integers(1, 9), st.integers(0, 99))
def test_the_drawn_index_is_among_the_highest_scores(scores, nearest, seed):
    values = np.array(scores)
    index = draw_nearest(values, nearest, np.random.default_rng(seed))
    assert values[index] >= np.sort(values)[::-1][min(nearest, len(scores)) - 1]


def test_role_restricts_the_replies_to_one_role():
    turns = (Turn("assistant", "hello there"), Turn("user", "hi you"), Turn("assistant", "how are things"))
    agent = TfIdf.fit([Dialogue("1", "a", turns)], role="user")
    assert agent.known_replies == ("hi you",)


def test_an_agent_read_from_its_folder_is_unchanged(tmp_path):
    agent = TfIdf.fit(dialogues(), window=1)
    tensors, config = agent.parts()
    folder.save(tmp_path / "model", kind="tfidf", tensors=tensors, config=config, card={})
    again = resolve(str(tmp_path / "model"))
    assert [ask(again, question) for question, _ in PAIRS] == [answer for _, answer in PAIRS]
    with pytest.raises(UsageError, match=r"no setting `temperature`; it has: nearest"):
        resolve(str(tmp_path / "model"), temperature=1.0)


def test_a_damaged_folder_is_an_error(tmp_path):
    tensors, config = TfIdf.fit(dialogues()).parts()
    short = {**config, "replies": config["replies"][:-1]}
    folder.save(tmp_path / "model", kind="tfidf", tensors=tensors, config=short, card={})
    with pytest.raises(DataError, match="is damaged"):
        resolve(str(tmp_path / "model"))


def test_dialogues_without_a_reply_are_an_error():
    with pytest.raises(TooFewItems):
        TfIdf.fit([Dialogue("1", "a", (Turn("assistant", "alone"),))])


def test_a_single_call_returns_a_reply():
    assert TfIdf.fit(dialogues())((Turn("user", "the station"),), np.random.default_rng(0)) == Reply(
        "Down the road."
    )
