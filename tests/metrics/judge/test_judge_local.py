"""A language model on this machine as a judge: the probabilities of verdicts, on a tiny model."""

import math
from pathlib import Path

import numpy as np
import pytest

from turnwise.errors import UsageError
from turnwise.metrics import resolve
from turnwise.metrics.judge.metric import Judge
from turnwise.metrics.judge.pairwise import PairVerdict, pair_verdicts
from turnwise.types import Item, Turn

pytest.importorskip("transformers")

ITEM = Item(
    "d#1", "d", "bot", (Turn("user", "i love my cat"), Turn("assistant", "you play a song")), 1, "d", "d"
)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.tiny_models import write_llama

    return write_llama(tmp_path_factory.mktemp("m") / "llama", chat=True)


def local(llama: Path, **settings: object) -> Judge:
    judge = resolve("judge", address="local", model=str(llama), cache=False, **settings)
    assert isinstance(judge, Judge)
    return judge


def test_the_score_is_the_mean_of_the_scale_by_the_probabilities_of_its_values(llama: Path) -> None:
    from turnwise.encode import TextInContext, load_lm

    judge = local(llama, scale="1-3")
    (question,) = judge.questions(ITEM)
    turns = tuple(Turn(one["role"], one["content"]) for one in question.messages)
    lines = [TextInContext(f"VERDICT {question.code}: {value}", turns, "assistant") for value in (1, 2, 3)]
    chances = np.exp(load_lm(str(llama)).score(lines)[:, 0])
    expected = float(chances @ np.array([1.0, 2.0, 3.0]) / chances.sum())
    assert judge.rows([ITEM])[0, 0] == pytest.approx(expected, abs=1e-6)
    (said,) = judge.explanations([ITEM])
    assert said is not None
    assert "reason" not in said
    assert said["score"] == pytest.approx(expected, abs=1e-6)


def test_a_checklist_has_the_most_probable_answers_and_costs_nothing(llama: Path) -> None:
    judge = local(llama, rubric="safe")
    score = float(judge.rows([ITEM])[0, 0])
    (said,) = judge.explanations([ITEM])
    assert said is not None
    answers = list(said["criteria"].values())
    assert set(answers) <= {"yes", "no", "n/a"}
    applying = [one for one in answers if one != "n/a"]
    assert math.isnan(score) if not applying else score == applying.count("yes") / len(applying)
    assert judge.cost([ITEM]).requests == 0


def test_pairs_are_asked_about_in_both_orders(llama: Path) -> None:
    other = Item("e#1", "e", "other", (*ITEM.turns[:1], Turn("assistant", "i like the piano")), 1, "d", "d")
    (verdict,) = pair_verdicts(local(llama), [(ITEM, other)])
    (swapped,) = pair_verdicts(local(llama), [(other, ITEM)])
    assert isinstance(verdict, PairVerdict)
    assert isinstance(swapped, PairVerdict)
    assert verdict.share_a is not None
    assert swapped.share_a == 1 - verdict.share_a
    assert swapped.first_share == verdict.first_share


def test_a_local_judge_takes_one_sample_and_its_signature_names_the_weights(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TURNWISE_JUDGE_MODEL", raising=False)
    with pytest.raises(UsageError, match="more than one sample would be equal"):
        local(llama, samples=3, temperature=1.0)
    assert "[" in str(local(llama).signature)
    assert resolve("judge", address="local").model == "smollm2"  # type: ignore[union-attr]
