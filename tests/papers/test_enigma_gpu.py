"""The programs of ENIGMA for a GPU: an encoder on tokens that stay there, a language model that answers in batches."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from safetensors.torch import load_file

from papers.enigma_language import (
    AGENTS,
    MODELS,
    Request,
    Talk,
    everybody,
    family,
    joined,
    pack,
    pooled,
    sampled,
    share_refused,
    tidied,
    truth_document,
)
from papers.enigma_tuned import (
    TokensOnDevice,
    TunedBert,
    converged,
    ended,
    named_as_bert,
    packed,
    read_weights,
    trained,
    write_weights,
)
from papers.flagship.bert import BertShape
from papers.flagship.cut_vocabulary import MARKS, smaller_tokeniser
from tests import tiny_models
from tests.estimators.neural.test_neural_estimators import two_ways
from turnwise.encode.neural.dialogue import DialogueEncoder
from turnwise.estimators.neural.batches import Batches, Tuned
from turnwise.estimators.neural.training_data import gather
from turnwise.logs import native
from turnwise.networks.replies.llama import END, Llama, Shape
from turnwise.types import Dialogue, Rating, Reply, Turn
from turnwise.worlds.chat.quality import DIMENSIONS
from turnwise.worlds.chat.topics import briefing


def test_rows_on_the_device_are_those_of_the_package(tmp_path: Path) -> None:
    folder = tiny_models.write_bert(tmp_path, max_length=128)
    reader = DialogueEncoder(folder, "tiny", device="cpu")
    data = gather(two_ways(2, 5), "target")
    scripts = reader.scripts(data.dialogues)
    weights = load_file(folder / "model.safetensors")
    model = TunedBert(weights, BertShape.of(json.loads((folder / "config.json").read_text())))
    source = TokensOnDevice(packed(data, scripts), model, "cpu")
    for dialogues in (np.array([0, 1]), np.array([1, 0]), np.array([0])):
        ours, theirs = (Batches(data, one, "cpu")[dialogues] for one in (source, Tuned(reader, scripts)))
        torch.testing.assert_close(ours.rows, theirs.rows, rtol=1e-4, atol=1e-4)
        assert torch.equal(ours.target, theirs.target)
    assert all(one.requires_grad for one in source.parameters())


def test_a_training_gives_a_record_with_curves_and_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    folder = tiny_models.write_bert(tmp_path / "bert", max_length=128)
    data = gather(two_ways(2, 5), "target")
    found = packed(data, DialogueEncoder(folder, "tiny", device="cpu").scripts(data.dialogues))
    config, weights = (
        json.loads((folder / "config.json").read_text()),
        load_file(folder / "model.safetensors"),
    )

    def one(until: float) -> dict:
        model = TunedBert(weights, BertShape.of(config))
        case = {"family": "f", "target": "t", "number": 0, "truth": 0.8}
        return trained(
            case, found, model, variant="both cures", epochs=4, until=until, work=tmp_path, device="cpu"
        )

    stopped, done = one(0.0), one(float("inf"))
    assert (stopped["epochs"], done["epochs"]) == (1, 4)
    assert done["curves"]["iteration"] == [0, 1, 2, 3, 4]
    assert done["curves"]["ess"][-1] == pytest.approx(done["diagnostics"]["ess"], abs=1e-3)
    assert done["curves"]["estimate"][:2] == stopped["curves"]["estimate"]


def test_a_training_has_converged_when_neither_estimate_nor_zeta_moves_on_average() -> None:
    still = [{"estimate": 0.7, "mean_zeta": 1.0}] * 60
    swinging = [{"estimate": 0.7, "mean_zeta": 0.9 + 0.2 * (place % 2)} for place in range(60)]
    assert converged(still)
    assert converged(swinging)
    assert not converged(still[:20])
    assert not converged([*still[:-10], *[{"estimate": 0.72, "mean_zeta": 1.0}] * 10])
    assert not converged([*still[:-10], *[{"estimate": 0.7, "mean_zeta": 0.9}] * 10])


def test_an_mpnet_reads_as_in_transformers() -> None:
    from transformers import MPNetConfig, MPNetModel

    config = MPNetConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32,
        max_position_embeddings=300,
    )  # fmt: skip
    torch.manual_seed(0)
    theirs = MPNetModel(config).eval()
    ours = TunedBert(named_as_bert(theirs.state_dict()), BertShape.of(config.to_dict()))
    ids = torch.randint(3, 40, (2, 200))
    position, seen = torch.arange(200).expand(2, -1), torch.ones(2, 1, 200, 200, dtype=torch.bool)
    with torch.no_grad():
        expected = theirs(input_ids=ids).last_hidden_state
        found = ours.hidden(ids, torch.zeros_like(ids), position, seen)
        one_way = ours.hidden(ids, torch.zeros_like(ids), position, seen.tril())
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    assert not torch.allclose(one_way[:, 0], expected[:, 0], atol=1e-2)


def test_rounded_weights_come_back_within_a_twentieth_of_a_deviation(tmp_path: Path, monkeypatch) -> None:
    weights = {"a": torch.randn(30, 20), "b": torch.randn(7)}
    monkeypatch.setattr("papers.enigma_tuned.PART", 200)
    write_weights(tmp_path, "tiny", weights)
    assert len(list(tmp_path.glob("weights-tiny.*"))) > 1
    found = read_weights([tmp_path], "tiny")
    assert torch.equal(found["b"], weights["b"])
    off = (found["a"] - weights["a"]).abs() / weights["a"].std(1)[:, None]
    assert 0.01 < float(off.max()) <= 0.0501


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Llama:
    folder = tiny_models.write_llama(tmp_path_factory.mktemp("llama"))
    weights = load_file(folder / "model.safetensors")
    return Llama(weights, Shape.of(json.loads((folder / "config.json").read_text())))


def test_greedy_replies_do_not_depend_on_the_batch_or_the_cache(llama: Llama, monkeypatch) -> None:
    monkeypatch.setattr("papers.enigma_language.TOP_K", 8)
    prompts = [[5, 6, 7, 8, 9], [10, 11], [12, 13, 14]]
    found = sampled(llama, prompts, [0.0, 0.0, 0.0], torch.Generator().manual_seed(0))
    for prompt, reply in zip(prompts, found, strict=True):
        text = list(prompt)
        with torch.no_grad():
            for token in [*reply, END][:12]:
                causal = torch.ones(len(text), len(text)).tril().bool()[None, None]
                state = llama(torch.tensor([text]), torch.arange(len(text))[None], causal)[:, -1]
                assert int(llama.token_logits(state).argmax()) == token
                text.append(token)


def test_sampled_replies_follow_the_temperature(llama: Llama, monkeypatch) -> None:
    monkeypatch.setattr("papers.enigma_language.TOP_K", 8)
    generator = torch.Generator().manual_seed(0)
    cold, hot = (
        {tuple(one[:3]) for one in sampled(llama, [[5, 6, 7]] * 40, [heat] * 40, generator)}
        for heat in (0.01, 3.0)
    )
    assert len(cold) == 1
    assert len(hot) > 10


class Recorder(Talk):
    """Agents without a language model: the reply is the prompt's text."""

    def __init__(self) -> None:
        self.seen: list[list[Turn]] = []

    def _prompt(self, request, speaker, *, ignores):
        self.seen.append([*request.turns[1 : -1 if ignores else None]])
        return [5]


def test_faults_happen_about_as_often_as_they_should(monkeypatch) -> None:
    talk = Recorder()
    talk.batch, talk.generator = 1000, None
    words = SimpleNamespace(decode=lambda ids: "One two three four five six. And so")
    talk.readers = {name: SimpleNamespace(model=None, tokeniser=words) for name in MODELS}
    monkeypatch.setattr(
        "papers.enigma_language.sampled", lambda model, prompts, heat, rng: [[5]] * len(prompts)
    )
    turns = (
        briefing({"pet": "dog"}),
        Turn("user", "Hello!"),
        Turn("assistant", "Earlier words."),
        Turn("user", "And you?"),
    )

    def replies(agent: str) -> list[str]:
        return talk.replies([Request(agent, turns, np.random.default_rng([7, n])) for n in range(400)])

    assert set(replies("t0.7")) == {"One two three four five six."}
    assert np.mean([text == "Earlier words." for text in replies("repeats")]) == pytest.approx(0.5, abs=0.08)
    assert np.mean([text == "One two three" for text in replies("cut-off")]) == pytest.approx(0.7, abs=0.08)
    assert np.mean(["One" in text for text in replies("generic")]) == pytest.approx(0.4, abs=0.08)
    talk.seen.clear()
    replies("ignores")
    assert np.mean([len(turns) == 2 for turns in talk.seen]) == pytest.approx(0.7, abs=0.08)


def test_every_agent_is_answered_by_its_own_language_model(monkeypatch) -> None:
    talk = Recorder()
    talk.batch, talk.generator = 2, None
    talk.readers = {
        name: SimpleNamespace(model=name, tokeniser=SimpleNamespace(decode=lambda ids: ids[0]))
        for name in MODELS
    }
    monkeypatch.setattr(
        "papers.enigma_language.sampled",
        lambda model, prompts, heat, rng: [[f"{model} {t:g}."] for t in heat],
    )
    agents = ["qwen-t1.0", "t0.3", "greedy", "qwen-greedy", "t1.3", "qwen-no-persona"]
    turns = (briefing({"pet": "dog"}), Turn("user", "Hello!"))
    found = talk.replies([Request(agent, turns, np.random.default_rng(0)) for agent in agents])
    assert found == ["qwen 1.", "smollm2 0.3.", "smollm2 0.", "qwen 0.", "smollm2 1.3.", "qwen 0.7."]
    assert (family(agents), family(list(AGENTS)[:12])) == ("smollm2+qwen", "smollm2")


def test_a_smaller_tokeniser_reads_frequent_words_as_before_and_spells_the_others() -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    often, seldom = "I have a dog at home and I like the dog", "Xylophones vibrate"
    whole = Tokenizer(models.BPE())
    whole.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    whole.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    marks = [*reversed(MARKS), "<|other|>"]
    trainer = trainers.BpeTrainer(special_tokens=marks, initial_alphabet=alphabet, show_progress=False)
    whole.train_from_iterator([often] * 20 + [seldom] * 10, trainer)
    text, kept = smaller_tokeniser(whole, [often] * 20 + [seldom], 290)
    found = Tokenizer.from_str(text)
    assert [found.id_to_token(at) for at in range(3)] == list(MARKS)
    assert [whole.id_to_token(old) for old in kept] == [found.id_to_token(at) for at in range(len(kept))]
    assert len(kept) <= 290 < whole.get_vocab_size()
    assert found.encode(often).tokens == whole.encode(often).tokens
    assert len(found.encode(seldom).ids) > len(whole.encode(seldom).ids)
    for other in (seldom, "Ünïcode 日本"):
        assert found.decode(found.encode(other).ids) == other


def test_replies_end_with_a_sentence_if_they_can() -> None:
    assert tidied(" I like it. And then\nmore", half=False) == "I like it."
    assert tidied("no end in sight", half=False) == "no end in sight"
    assert tidied("I like it very much.", half=True) == "I like"


def test_the_truth_has_mean_and_error_of_each_agent() -> None:
    rows = [["greedy", *[1.0] * 10], ["greedy", *[3.0] * 10], ["t0.3", *[2.0] * 10]]
    found = truth_document(rows)["agents"]
    assert set(found) == {"greedy"}  # one dialogue has no error
    assert found["greedy"]["overall"] == {"mean": 2.0, "se": pytest.approx(1.0), "n": 2}


def test_logs_of_two_seeds_become_one_file_with_the_truth_of_both(tmp_path: Path) -> None:
    turns = (
        Turn("user", "Hello!"),
        Turn("assistant", "Hi.", alternatives={"greedy": (Reply("A."), Reply("B."))}),
    )
    for seed, n in ((0, 2), (1, 6)):
        folder = tmp_path / "work" / f"seed-{seed}"
        folder.mkdir(parents=True)
        one = Dialogue("greedy/0", "greedy", turns, (Rating("greedy/0", "overall", 4.0, scale=(1.0, 5.0)),))
        (folder / "log-000000").write_bytes(native.dump(one) + b"\n")
        rows = [[agent, *[float(seed)] * 10] for agent in AGENTS for _ in range(n)]
        (folder / "truth-000000").write_text(json.dumps(rows))
    pack(tmp_path / "work", tmp_path / "chat.tar.xz")
    place = tmp_path / "place"
    place.mkdir()
    logs, truth = joined(tmp_path / "chat.tar.xz", [0, 1], 1, place)
    found = list(native.read_all([str(logs)]))
    assert [one.id for one in found] == ["0/greedy/0", "1/greedy/0"]
    assert [one.ratings[0].item for one in found] == ["0/greedy/0", "1/greedy/0"]
    assert found[0].turns[1].alternatives == {"greedy": (Reply("A."),)}
    means = json.loads(truth.read_text())["agents"]["t1.0"]["overall"]
    assert (means["mean"], means["n"]) == (0.75, 8)


def test_pooled_means_are_weighted_by_their_dialogues() -> None:
    one, two = (
        {agent: {key: {"mean": mean, "se": 0.1, "n": n} for key in DIMENSIONS} for agent in AGENTS}
        for mean, n in ((1.0, 100), (3.0, 300))
    )
    del one["qwen-greedy"], two["qwen-greedy"]
    assert "qwen-greedy" not in pooled([one, two])
    found = pooled([one, {}, two])["greedy"]["sense"]
    assert found == {"mean": 2.5, "se": pytest.approx(0.1 * np.sqrt(0.25**2 + 0.75**2)), "n": 400}


def test_agents_are_refused_where_estimates_do_not_follow_the_means() -> None:
    means = np.linspace(1, 5, 12)
    assert share_refused(means, means + 0.01 * np.cos(np.arange(12))) == 0
    assert share_refused(-means, means) == 1


def test_what_was_refused_counts_as_it_would_have_been_said() -> None:
    said = {
        name: {"estimate": None if name == "d" else value, "withheld": value if name == "d" else None}
        for name, value in zip("abcd", (1.0, 2.0, 3.0, 1.0), strict=True)
    }
    row = {"agents": said, "means": dict(zip("abcd", (1.0, 2.0, 3.0, 4.0), strict=True))}
    together, refused = everybody(row)
    assert together == pytest.approx(np.corrcoef([1, 2, 3, 1], [1, 2, 3, 4])[0, 1])
    assert refused == 3.0
    assert everybody({"means": {}})[1] is None


def test_a_training_that_never_moved_has_not_converged() -> None:
    one = {"dialogues": 270, "converged": True, "diagnostics": {"ess": 269.99995}}
    assert ended(one) == "no: it never moved"
    moved = {**one, "diagnostics": {"ess": 269.45}}
    assert (ended(moved), ended({**moved, "converged": False})) == ("yes", "no")
