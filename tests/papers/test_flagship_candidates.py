"""Echoes and bundles among the wrong replies that the readers are trained with, and sentences of policies."""

import json
from pathlib import Path

import numpy as np
import torch

from papers.flagship.candidates import KINDS, Candidates, Mined, Template
from papers.flagship.corpus import Corpus
from papers.flagship.train_large import Trainer, sentences

TURNS = (
    "i am fond of my old red car",
    "we drove to the lake on sunday",
    "do you swim there in winter",
    "my sister does and i wait with tea",
)


def corpus() -> Corpus:
    """Twenty copies of a dialogue of four turns; a word for each number."""
    words = sorted({*" ".join(TURNS).split(), "you", "your", "are"})
    number = {word: at for at, word in enumerate(words)}
    said = [[number[word] for word in turn.split()] for turn in TURNS] * 20
    arrays = {
        "flat": np.array([word for turn in said for word in turn]),
        "turn_ends": np.cumsum([len(turn) for turn in said]),
        "dialogues": np.array([(4 * at, 4 * at + 4, 0) for at in range(20)]),
        "extra": np.zeros((0, 3), np.int64),
    }
    return Corpus(arrays, words)


def pool(mined: Mined | None = None) -> Candidates:
    return Candidates(
        corpus(),
        sources=frozenset({0}),
        samples={},
        weights={"echo": 1.0, "random": 1.0, "machine": 1.0},
        mined=mined,
    )


def test_an_echo_has_words_of_the_context_and_then_a_whole_turn() -> None:
    made, rng = pool(), np.random.default_rng(0)
    context = [made.corpus.turn(0)]
    for _ in range(50):
        said = made.corpus.text(made.filled(made.echo(rng), context, rng))
        assert said.endswith(TURNS)
        assert not said.startswith(tuple(f"{turn} " for turn in TURNS[1:]))


def test_a_span_of_the_last_turn_has_its_persons_exchanged() -> None:
    made, rng = pool(), np.random.default_rng(1)
    nothing = np.zeros(0, np.int64)
    spans = {
        made.corpus.text(made.filled(Template(nothing, "span", nothing), [made.corpus.turn(0)], rng))
        for _ in range(99)
    }
    assert any("you are" in one for one in spans)
    assert not any(word in one.split() for one in spans for word in ("i", "am", "my"))


def test_an_echo_counts_as_a_generic_reply() -> None:
    made, rng = pool(), np.random.default_rng(2)
    kinds = [kind for number in range(40) for kind in made.draw(number, rng).kinds]
    assert kinds.count(KINDS.index("generic")) > 10


def test_a_bundle_has_several_turns_and_counts_as_a_generic_reply() -> None:
    made, rng = pool(), np.random.default_rng(4)
    for _ in range(50):
        said = made.corpus.text(made.bundle(rng))
        assert 2 <= sum(said.count(turn) for turn in TURNS) <= 4
        assert said.startswith(TURNS)
    made.weights = {"bundle": 1.0, "machine": 1.0}
    drawn = made.draw(0, rng)
    assert drawn.kinds[1:] == [KINDS.index("generic")]


def test_what_fooled_a_model_follows_echoes_too() -> None:
    fooled = np.array([0, 1, 2])
    made, rng = pool(Mined([fooled], [])), np.random.default_rng(3)
    assert any(np.array_equal(made.sentence(rng), fooled) for _ in range(20))


def test_sentences_of_policies_are_the_parts_between_marks(tmp_path: Path) -> None:
    said = {"policies": [{"replies": ["Yes, I love it! So  do you?", "Yes."]}]}
    (tmp_path / "turnwise.json").write_text(json.dumps(said))
    assert [one for one in sentences(tmp_path / "turnwise.json") if one] == ["i love it", "so do you", "yes"]


def test_a_step_whose_gradient_is_not_finite_changes_no_weight(tmp_path: Path) -> None:
    class Model:
        weight = torch.nn.Parameter(torch.ones(3))

        def trainable(self) -> dict[str, torch.nn.Parameter]:
            return {"weight": self.weight}

    model = Model()
    trainer = Trainer(model, 0.1, 100.0, tmp_path / "kept.pt")  # type: ignore[arg-type]
    trainer.used = 50.0  # past the warm-up
    trainer.update((model.weight * torch.tensor([1.0, float("nan"), 1.0])).sum())
    assert model.weight.tolist() == [1.0, 1.0, 1.0]
    assert (trainer.skipped, trainer.step) == (1, 1)
    trainer.update(model.weight.sum())
    assert max(model.weight.tolist()) < 1.0


def test_a_training_goes_on_from_the_small_form_of_a_checkpoint(tmp_path: Path) -> None:
    class Model:
        def __init__(self) -> None:
            self.weight = torch.nn.Parameter(torch.linspace(-1, 1, 60).reshape(20, 3))

        def trainable(self) -> dict[str, torch.nn.Parameter]:
            return {"weight": self.weight}

    first = Trainer(Model(), 0.1, 100.0, tmp_path / "large-0.pt", 8)  # type: ignore[arg-type]
    first.used, first.step = 40.0, 6
    assert first.share == 0.75
    first.save()
    (tmp_path / "large-0.pt").unlink()  # the machine was lost, and the small file sent
    again = Model()
    again.weight.data.zero_()
    second = Trainer(again, 0.1, 100.0, tmp_path / "large-0.pt")  # type: ignore[arg-type]
    assert (second.used, second.step) == (40.0, 6)
    assert torch.allclose(again.weight, Model().weight, atol=0.01)
