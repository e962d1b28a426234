"""Sellers and customers of the booking world that were trained on dialogues."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from turnwise.agents import resolve
from turnwise.agents.booking_training import Settings, train_customer, train_seller
from turnwise.agents.customer import TrainedCustomer
from turnwise.agents.seller import TrainedSeller, action_of, seller_example
from turnwise.agents.trained_speaker import ACTIONS, Words
from turnwise.cli.common.group import run
from turnwise.encode.models import folder
from turnwise.errors import DataError, UsageError
from turnwise.logs import native
from turnwise.networks.training.task import TrainedModel
from turnwise.networks.transformer import Reader
from turnwise.run.dialogues import trained_sellers
from turnwise.run.dialogues.trained_sellers import corpus, strengths
from turnwise.worlds.booking import WORLD
from turnwise.worlds.booking.tokens import FEATURES, customer_pieces, own_values, seller_pieces, written
from turnwise.worlds.booking.wording import WORDINGS
from turnwise.worlds.play import simulate_turns

pytestmark = pytest.mark.slow

SMALL = Settings(layers=1, width=32, updates=110, batch=16)


@pytest.fixture(scope="module")
def data():
    return corpus(0, 160)


@pytest.fixture(scope="module")
def made(data) -> TrainedModel:
    return train_seller(data, SMALL, seed=0)


def seller_of(made: TrainedModel) -> TrainedSeller:
    return TrainedSeller(Reader.read(dict(made.tensors), dict(made.config)), Words(made.config["words"]))


def mean_reward(seller: TrainedSeller, dialogues: int = 40) -> float:
    return float(
        np.mean([WORLD.truth(seller, np.random.default_rng([3, number]))[0] for number in range(dialogues)])
    )


def test_texts_are_written_again_from_a_customers_tokens(data):
    for dialogue in data[:20]:
        values = {f"OWN{slot}": value for slot, value in own_values(dialogue.goal).items()}
        for turn in dialogue.turns:
            if turn.role == "user":
                assert written(customer_pieces(turn.text, dialogue.goal), values) == turn.text


def test_a_seller_sees_slots_and_not_values():
    assert seller_pieces("I leave on Jan 5, at most $300, PHX to BOS.") == [
        *("I leave on DATE , at most PRICE , AIRPORT to AIRPORT .").split()
    ]


@pytest.mark.parametrize("status", ACTIONS[2:])
def test_the_action_of_a_reply_is_what_it_decides(status):
    sentence = WORDINGS["plain"][status].format(number=1007, name="Anna Baker")
    assert action_of(sentence) == status
    assert action_of(WORDINGS["plain"]["route"]) == "talk"
    assert action_of("I found flight 1007 on Jan 5 in economy for $200. Shall I book it?") == "offer"


def test_only_the_sellers_words_are_predicted(data):
    words = Words.learn([seller_pieces(turn.text) for one in data for turn in one.turns])
    one = seller_example(data[0], words)
    spoken = [turn.text for turn in data[0].turns if turn.role == "assistant"]
    predicted = [words.all[token] for token, on in zip(one.tokens, one.predicted, strict=True) if on]
    assert predicted == [piece for text in spoken for piece in (*seller_pieces(text), "<end>")]
    assert len(one.marks) == len(spoken)
    sale = next(dialogue for dialogue in data if action_of(dialogue.turns[-1].text) == "booked")
    assert seller_example(sale, words).marks[-1].candidates.shape == (31, FEATURES)


def test_a_seller_learns_to_sell_and_one_with_less_data_sells_worse(data, made):
    strong = mean_reward(seller_of(made))
    weak = mean_reward(
        seller_of(train_seller(data, Settings(share=0.02, layers=1, width=32, updates=110), seed=0))
    )
    assert strong > 0.75
    assert weak < strong - 0.1


def test_a_training_is_repeatable_and_the_model_small(data, made):
    short = Settings(layers=1, width=16, updates=5)
    one, same, other = (train_seller(data[:40], short, seed=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(one.tensors[name], same.tensors[name]) for name in one.tensors)
    assert any(not np.array_equal(one.tensors[name], other.tensors[name]) for name in one.tensors)
    assert sum(tensor.nbytes for tensor in made.tensors.values()) < 2e6


def test_a_trained_customer_takes_the_place_of_the_worlds(data, tmp_path, capsys):
    made = train_customer(data, SMALL, seed=0)
    folder.save(tmp_path / "customer", kind="customer", tensors=made.tensors, config=made.config, card={})
    asked = ["simulate", "booking", "--agents", "2", "--dialogues", "2", "--samples", "1", "--truth", "3"]
    for name, more in (("own", []), ("other", ["--user", str(tmp_path / "customer")])):
        assert run([*asked, *more, "-q", "-o", str(tmp_path / f"{name}.jsonl")]) == 0
    own, other = (list(native.read(str(tmp_path / f"{name}.jsonl"))) for name in ("own", "other"))
    assert [one.goal for one in own] == [one.goal for one in other]  # the same customers want the same
    assert any(a.turns != b.turns for a, b in zip(own, other, strict=True))
    assert run([*asked, "--user", str(tmp_path / "nothing"), "-q", "-o", str(tmp_path / "x.jsonl")]) == 2
    assert run(["simulate", "chat", "--user", "customer", "-q", "-o", str(tmp_path / "x.jsonl")]) == 2
    assert "--user is an option of the worlds booking and task, not of chat" in capsys.readouterr().err


def test_a_customer_talks_by_itself_until_a_sale(data):
    made = train_customer(data, SMALL, seed=0)
    customer = TrainedCustomer(
        Reader.read(dict(made.tensors), dict(made.config)), Words(made.config["words"])
    )
    teacher = trained_sellers.Seller(trained_sellers.Habits())
    rewards, said = [], set()
    for number in range(30):
        rng = np.random.default_rng([4, number])
        scene = customer(WORLD.scene(rng))
        turns = simulate_turns(scene, teacher, rng)
        rewards.append(scene.truth(turns).get("reward", 0.0))
        said |= {turn.text for turn in turns if turn.role == "user"}
    assert np.mean(rewards) > 0.6
    assert len(said) > 60


def test_a_trained_folder_is_an_agent_and_the_commands_make_it(tmp_path, data, capsys):
    logs = tmp_path / "logs.jsonl"
    logs.write_bytes(b"".join(native.dump(one) + b"\n" for one in data[:40]))
    settings = ["--set", "updates=5", "--set", "width=16", "--set", "layers=1"]
    assert run(["train", "seller", str(logs), "-o", str(tmp_path / "seller"), *settings, "-q"]) == 0
    assert run(["train", "customer", str(logs), "-o", str(tmp_path / "customer"), *settings, "-q"]) == 0
    assert "perplexity" in capsys.readouterr().out
    agent = resolve(str(tmp_path / "seller"))
    reply = agent(
        [WORLD.scene(np.random.default_rng(0)).briefing, data[0].turns[0]], np.random.default_rng(0)
    )
    assert isinstance(reply.content, str)
    with pytest.raises(UsageError, match="not an agent"):
        resolve(str(tmp_path / "customer"))
    assert folder.load(tmp_path / "seller", "seller").config["settings"]["updates"] == 5


def test_a_damaged_folder_is_an_error(tmp_path, data):
    made = train_seller(data[:40], Settings(layers=1, width=16, updates=2), seed=0)
    folder.save(tmp_path / "x", kind="seller", tensors=made.tensors, config=made.config, card=made.card)
    read = folder.load(tmp_path / "x", "seller")
    with pytest.raises(DataError, match="damaged"):
        TrainedSeller.read(replace(read, tensors={}))


def test_dialogues_of_another_world_are_refused(data):
    with pytest.raises(DataError, match="`turnwise simulate booking` makes some"):
        train_seller([replace(one, meta={}) for one in data], SMALL, seed=0)
    with pytest.raises(DataError, match="`goal`"):
        train_customer([replace(one, goal=None) for one in data], SMALL, seed=0)


def test_the_family_has_graded_settings_and_at_most_sixteen_sellers():
    found = strengths(16)
    assert len(found) == 16
    assert {one.share for one in found.values()} == {1.0, 0.15, 0.05, 0.02}
    assert len({one.share for one in strengths(4).values()}) == 4
    with pytest.raises(UsageError, match="has 16 sellers"):
        strengths(17)


def test_the_family_is_simulated_from_the_cache(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TURNWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(trained_sellers, "CORPUS", 30)
    monkeypatch.setattr(trained_sellers, "UPDATES", 3)
    typed = [
        "simulate",
        "booking",
        "--family",
        "trained",
        "--agents",
        "2",
        "--dialogues",
        "2",
        "--truth",
        "3",
    ]
    assert run([*typed, "-o", str(tmp_path / "a.jsonl"), "-q"]) == 0
    assert "training seller even-100" in capsys.readouterr().err
    assert run([*typed, "-o", str(tmp_path / "b.jsonl"), "-q", "--seed", "0", "--jobs", "1"]) == 0
    assert "training" not in capsys.readouterr().err
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
