"""The guard of a hardened retrieval metric: the remainder of a reply, the contrast of contexts, and its factor."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.attacks.planted import talks
from tests.tiny_trained import tiny_trained
from turnwise.cli.common.group import run
from turnwise.encode.models.folder import load
from turnwise.errors import UsageError
from turnwise.metrics import resolve
from turnwise.metrics.learned.contrastive.head import Head
from turnwise.metrics.learned.guard.guard import ContextContrast, remainder_of
from turnwise.protocols import metric_extras

WORDS = st.lists(
    st.sampled_from("the a you river guitar like to paint bakery".split()), min_size=1, max_size=12
)


def test_the_remainder_has_no_words_of_the_context() -> None:
    said = ("why do you paint the river", "tell me about the guitar")
    assert remainder_of("you paint the river really", said) == "really"
    assert remainder_of("the bakery is closed", said) == "the bakery is closed"
    assert remainder_of("so the guitar is old", said) == "so is old"


@given(reply=WORDS, said=st.lists(WORDS, min_size=1, max_size=3))
def test_a_copy_has_an_empty_remainder_and_a_remainder_is_never_longer_than_the_reply(
    reply: list[str], said: list[list[str]]
) -> None:
    turns = [" ".join(turn) for turn in said]
    assert len(remainder_of(" ".join(reply), turns).split()) <= len(reply)
    if len(said[0]) > 1:
        assert remainder_of(turns[0], turns) == ""


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_contrast_with_other_contexts_averages_at_most_one_half(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, bias, last, reply = (
        rng.normal(scale=3, size=size).astype(np.float32) for size in ((5, 16), 5, 5, 4)
    )
    head = Head(first, bias, last, float(rng.normal()), 3, 0.5)
    contexts = rng.normal(size=(40, 4)).astype(np.float32)
    log_mean_odds = ContextContrast(head, contexts).log_mean_odds(reply)
    assert np.mean(0.5 * (np.tanh(0.5 * (head.logits(contexts, reply) - log_mean_odds)) + 1)) <= 0.5 + 1e-6


@pytest.fixture(scope="module", params=["usr-ret", "maude", "att"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def with_guard(folder: Path, kind: str) -> tuple[Path, Path]:
    """A model, and the same with a guard against parrots."""
    with (folder / "dialogues.jsonl").open("w") as file:
        for place, context in enumerate(talks(240, 5)):
            messages = [{"role": turn.role, "content": turn.text} for turn in context.item.turns]
            messages[3]["alternatives"] = {"fraud": [{"content": f"you said {context.last_turn}"}]}
            file.write(json.dumps({"id": f"d{place}", "agent": "human", "messages": messages}) + "\n")
    asked = ["train", kind, str(folder / "dialogues.jsonl"), "--model", "hashing", "-q"]
    assert run([*asked, "-o", str(folder / "plain"), "--set", "epochs=1"]) == 0
    settings = ["--set", "guard=fraud", "--set", f"start={folder / 'plain'}"]
    assert run([*asked, "-o", str(folder / "guarded"), *settings]) == 0
    return folder / "plain", folder / "guarded"


@pytest.fixture(scope="module")
def hardened(tmp_path_factory: pytest.TempPathFactory, kind: str) -> tuple[Path, Path]:
    return with_guard(tmp_path_factory.mktemp("guard"), kind)


@pytest.mark.slow
def test_training_a_guard_keeps_the_heads_and_the_signature_names_the_guard(
    hardened: tuple[Path, Path], kind: str
) -> None:
    before, after = (load(path, kind) for path in hardened)
    assert all(np.array_equal(part, after.tensors[name]) for name, part in before.tensors.items())
    plain, guarded = (resolve(f"{kind}[trained={path}]") for path in hardened)
    assert "guard" not in str(plain.signature)
    assert "guard:49signs+64contexts" in str(guarded.signature)


def test_a_guard_lowers_the_scores_of_frauds_but_not_of_people(
    hardened: tuple[Path, Path], kind: str
) -> None:
    contexts = talks(60, 9)
    people = [context.item for context in contexts]
    frauds = [context.with_reply(f"you said {context.last_turn}") for context in contexts]
    plain, guarded = (resolve(f"{kind}[trained={path}]") for path in hardened)
    assert guarded.rows(frauds)[:, 0].mean() < 0.3 * guarded.rows(people)[:, 0].mean()
    assert guarded.rows(frauds)[:, 0].mean() < plain.rows(frauds)[:, 0].mean()
    alone = np.concatenate([guarded.rows([item]) for item in people[:5]])
    assert np.array_equal(alone, guarded.rows(people)[:5])


@pytest.mark.slow
def test_a_guard_needs_frauds(
    capsys: pytest.CaptureFixture[str], hardened: tuple[Path, Path], kind: str
) -> None:
    asked = ["train", kind, str(hardened[0].parent / "dialogues.jsonl"), "--model", "hashing", "-q"]
    assert run([*asked, "-o", str(hardened[0].parent / "none"), "--set", "guard=nobody"]) == 2
    assert "nobody" in capsys.readouterr().err


OWN = """
def likes_long(records):
    return [len(one["response"]) for one in records]
"""


@pytest.fixture
def own_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "liking.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    return "liking:likes_long"


@pytest.fixture(scope="module")
def guard_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_guard(tmp_path_factory.mktemp("worn"), "usr-ret")[1]


def test_any_metric_can_wear_a_guard(guard_model: Path, own_metric: str) -> None:
    contexts = talks(60, 9)
    people = [context.item for context in contexts]
    frauds = [context.with_reply(f"you said {context.last_turn}") for context in contexts]
    plain = resolve(own_metric)
    lowered = resolve(f"guarded[metric={own_metric},trained={guard_model},floor=0]")
    abstains = resolve(f"guarded[metric={own_metric},trained={guard_model}]")
    assert lowered.rows(frauds)[:, 0].mean() < 0.5 * plain.rows(frauds)[:, 0].mean()
    assert lowered.rows(people)[:, 0].mean() > 0.9 * plain.rows(people)[:, 0].mean()
    assert np.isnan(abstains.rows(frauds)[:, 0]).mean() > 0.7
    kept = ~np.isnan(abstains.rows(people)[:, 0])
    assert kept.mean() > 0.9
    assert np.array_equal(abstains.rows(people)[kept], plain.rows(people)[kept])
    assert str(plain.signature) in str(lowered.signature)


def test_an_unscored_reply_has_the_reason_of_the_metric_or_of_the_guard(guard_model: Path) -> None:
    context = talks(1, 9)[0]
    inner = f"turnwise[trained={tiny_trained('turnwise')}]"
    found = resolve(f"guarded[metric={inner},trained={guard_model},abstain=true]")
    empty = context.with_reply("...")
    assert np.isnan(found.rows([empty])).any()
    assert found.why_unscored(empty) == resolve(inner).why_unscored(empty)
    fraud = context.with_reply(f"you said {context.last_turn}")
    assert "the guard takes" in found.why_unscored(fraud)


def test_a_guard_lowers_a_metric_with_a_range_towards_its_worst_end(guard_model: Path) -> None:
    context = talks(1, 9)[0]
    fraud = context.with_reply(f"you said {context.last_turn}")
    inner = f"usr-ret[trained={guard_model.parent / 'plain'},context=one]"
    found = resolve(f"guarded[metric={inner},trained={guard_model}]")
    assert 0 <= found.rows([fraud])[0, 0] < resolve(inner).rows([fraud])[0, 0]
    assert found.span == (0.0, 1.0)


@pytest.mark.parametrize(("kind", "floor"), [("adem-c", "1"), ("usr-full", "-2"), ("turnwise", "abstains")])
def test_a_learned_metric_without_a_lowest_score_has_a_floor_unless_the_guard_abstains(
    guard_model: Path, kind: str, floor: str
) -> None:
    metric = f"metric={kind}[trained={tiny_trained(kind)}],trained={guard_model}"
    assert f"floor:{floor}|" in str(resolve(f"guarded[{metric}]").signature)
    abstaining = resolve(f"guarded[{metric},abstain=true]")
    assert "floor:abstains|" in str(abstaining.signature)
    # A score that is left as it was has the interval of the metric.
    assert metric_extras(abstaining).half_width == metric_extras(abstaining.inner).half_width  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("guarded[metric=fbd]", "`fbd` does not score single replies"),
        ("guarded[metric=distinct-1]", "`distinct-1` does not score single replies"),
        ("guarded[metric=length,abstain=true,floor=0]", "give `abstain` or `floor`"),
    ],
)
def test_what_a_guard_cannot_do_is_said(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        resolve(name)


def test_a_model_that_is_no_guard_is_refused_with_the_right_spelling() -> None:
    mine = tiny_trained("turnwise")
    with pytest.raises(UsageError, match=re.escape(f"guarded[metric=turnwise[trained={mine}]]")):
        str(resolve(f"guarded[metric=turnwise,trained={mine}]").signature)
