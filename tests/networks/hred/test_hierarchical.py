"""The hierarchical encoder: layer-normalised LSTMs over words and turns, and what must not show in a vector."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.small_talk import TINY, small_talk  # noqa: E402
from turnwise.encode.models import folder  # noqa: E402
from turnwise.errors import DataError, UsageError  # noqa: E402
from turnwise.networks.hred import pretraining  # noqa: E402
from turnwise.networks.hred.encoder import Hierarchical  # noqa: E402
from turnwise.networks.hred.recurrent import NormalisedLSTM  # noqa: E402
from turnwise.networks.subwords import END, Subwords  # noqa: E402

CONTEXTS = [
    ["hello there", "how are you today ?", "fine"],
    ["what is your favourite food"],
    ["hello there", "a much longer turn , with many more words than all the others have in them"],
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "hred"
    settings = pretraining.Settings(**TINY, updates=2, every=2)
    trained = pretraining.train(small_talk(), settings=settings, rng=np.random.default_rng(0))
    folder.save(path, kind=trained.kind, tensors=trained.tensors, config=trained.config, card=trained.card)
    return path


@pytest.fixture(scope="module")
def encoder(model):
    return Hierarchical.load(model, device="cpu")


def test_the_recurrent_layer_computes_the_published_equations():
    torch.manual_seed(0)
    layer, inputs = NormalisedLSTM(3, 4), torch.randn(2, 5, 3)
    states = layer(inputs, [5, 3])

    def norm(x, gain, bias):
        return (x - x.mean()) / torch.sqrt(((x - x.mean()) ** 2).mean() + 1e-5) * gain + bias

    for row, length in enumerate((5, 3)):
        h = c = torch.zeros(4)
        for step in range(length):
            total = norm(
                layer.of_input.weight @ inputs[row, step], layer.norm_input.weight, layer.norm_input.bias
            )
            total = total + norm(layer.of_state.weight @ h, layer.norm_state.weight, 0)
            i, f, o, g = total.chunk(4)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(norm(c, layer.norm_cell.weight, layer.norm_cell.bias))
            torch.testing.assert_close(states[row, step], h)
        torch.testing.assert_close(states[row, -1], h)


def test_a_vector_does_not_depend_on_its_neighbours(encoder):
    together = encoder.encode(CONTEXTS)
    alone = np.concatenate([encoder.encode([context]) for context in CONTEXTS])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert together.shape == (3, encoder.dimension)


def test_a_reply_is_a_context_of_one_turn(encoder):
    said = ["fine , thanks", "no"]
    np.testing.assert_array_equal(encoder.encode(said), encoder.encode([[text] for text in said]))


def test_the_order_of_turns_and_the_words_in_them_count(encoder):
    one, turned, other = encoder.encode([["hello", "goodbye"], ["goodbye", "hello"], ["hello", "food"]])
    assert np.abs(one - turned).max() > 1e-4
    assert np.abs(one - other).max() > 1e-4


def test_a_context_without_a_turn_has_no_vector(encoder):
    vectors = encoder.encode([[], ["hello"]])
    assert np.isnan(vectors[0]).all()
    assert np.isfinite(vectors[1]).all()
    assert np.isnan(encoder.encode([[]])).all()
    assert encoder.encode([]).shape == (0, encoder.dimension)


def test_spacing_and_case_do_not_show(encoder):
    first, second = encoder.encode(["Hello , how are you ?", "hello, How are you?"])
    np.testing.assert_array_equal(first, second)


def test_turns_beyond_the_greatest_number_are_the_oldest(encoder):
    many = [f"turn number {place}" for place in range(encoder.max_turns + 3)]
    np.testing.assert_allclose(encoder.encode([many]), encoder.encode([many[3:]]), atol=1e-6)


def test_subwords_are_the_same_every_time_and_read_back_what_they_wrote():
    texts = [turn.text for dialogue in small_talk() for turn in dialogue.turns]
    learned = [Subwords.learn(texts, size=200) for _ in range(5)]
    assert all(one.stored() == learned[0].stored() for one in learned)
    again = Subwords.read(learned[0].stored())
    (tokens,) = again.encode(["Hello there, isn't it fun?"], longest=40)
    assert tokens[-1] == END
    assert again.decode(tokens) == "hello there, isn't it fun?"
    assert len(again.encode(["hello " * 50], longest=7)[0]) == 7


def test_a_folder_of_another_kind_or_with_other_weights_is_refused(model, tmp_path):
    read = folder.load(model, "hred")
    config = {**read.config, "settings": {**read.config["settings"], "context": 99}}
    folder.save(tmp_path / "odd", kind="hred", tensors=read.tensors, config=config, card={})
    with pytest.raises(DataError, match="not those that the settings describe"):
        Hierarchical.load(tmp_path / "odd")
    folder.save(tmp_path / "bare", kind="hred", tensors=read.tensors, config={}, card={})
    with pytest.raises(DataError, match="its config has no 'settings'"):
        Hierarchical.load(tmp_path / "bare")
    folder.save(tmp_path / "other", kind="adem", tensors=read.tensors, config={}, card={})
    with pytest.raises(UsageError, match="kind `adem`; expected one of hred"):
        Hierarchical.load(tmp_path / "other")
