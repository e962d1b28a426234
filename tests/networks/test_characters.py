"""The encoder that reads letters."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.small_talk import TINY, small_talk  # noqa: E402
from turnwise.encode.models import folder  # noqa: E402
from turnwise.networks import characters  # noqa: E402
from turnwise.networks.subwords import MARKS  # noqa: E402

SIZES = {name: TINY[name] for name in ("embedding", "batch", "held_out", "device", "learning_rate")}


@pytest.fixture(scope="module")
def trained():
    settings = characters.Settings(**SIZES, utterance=24, context=24, max_tokens=40, updates=60, every=20)
    return characters.train(small_talk(80), settings=settings, rng=np.random.default_rng(0))


@pytest.fixture(scope="module")
def encoder(trained, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "letters"
    made = folder.save(
        path, kind=trained.kind, tensors=trained.tensors, config=trained.config, card=trained.card
    )
    return characters.Characters.of(made, device="cpu")


def test_every_token_is_a_letter_or_a_mark(encoder):
    words = set(encoder.subwords.tokenizer.get_vocab()) - set(MARKS)
    assert words
    assert all(len(word) == 1 for word in words)


def test_it_learns_which_turn_follows(trained):
    first, last = trained.curve[0], trained.curve[-1]
    assert last["bound"] < first["bound"]


def test_a_vector_does_not_depend_on_its_neighbours(encoder):
    texts = ["hello there", "a", "what is your favourite food and where do you live"]
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert encoder.encode(texts) == pytest.approx(alone, abs=1e-5)


def test_a_context_is_nearer_its_last_turn_and_one_without_turns_has_no_vector(encoder):
    first, last = encoder.encode(["hello there", "where do you live"])
    both, none = encoder.encode([["hello there", "where do you live"], []])
    assert both == pytest.approx((first + 2 * last) / 3, abs=1e-5)
    assert np.isnan(none).all()
