"""Sampled replies of a tiny language model, chosen by a planted metric."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.attacks.planted import scorer, talks
from tests.tiny_models import write_llama
from turnwise.agents.language_model import LanguageModelAgent
from turnwise.attacks.attack import attack
from turnwise.attacks.context import Context
from turnwise.attacks.fluent import fluent_candidates
from turnwise.attacks.policy import Policy
from turnwise.attacks.target import Hangs, Target
from turnwise.types import Floats, Item, digest

TALKS = talks(48)


def agent_of(folder: Path) -> LanguageModelAgent:
    return LanguageModelAgent(write_llama(folder), "tiny@1", longest=8, device="cpu", precision="fp32")


def noisy(item: Item) -> float:
    """A metric that rewards nothing but chance: another reply is another draw."""
    return int(digest(item.id, item.reply), 16) % 1000 / 1000


def test_the_best_of_several_samples_beats_people_on_a_metric_of_chance(tmp_path: Path) -> None:
    target = Target(scorer(noisy), 3000)
    agent = agent_of(tmp_path)
    found = attack(
        target, TALKS[:24], TALKS[24:], texts=(), rng=np.random.default_rng(0), draws=200, stages=("samples",),
        further=lambda: fluent_candidates(agent, target, TALKS[:24], TALKS[24:], samples=6, seed=1),
    )  # fmt: skip
    (best,) = (one for one in found.strategies if one.strategy == "best of 6")
    assert best.significant
    assert best.description == "the best of 6 replies that tiny samples, chosen by the metric"
    assert not any(one.significant for one in found.strategies if one.kind == "fixed")
    assert found.calls <= target.budget


def test_a_sampled_sentence_that_the_metric_likes_everywhere_is_found(tmp_path: Path) -> None:
    def likes_long_replies(item: Item) -> float:
        return float(len(item.reply) > 12)

    target = Target(scorer(likes_long_replies), 200)
    made = fluent_candidates(agent_of(tmp_path), target, TALKS[:24], TALKS[24:], samples=2, seed=1)
    fixed = [one for one in made if one.kind == "fixed"]
    assert fixed
    assert all(len(one.reply(context)) > 12 for one in fixed for context in TALKS)


def test_the_same_seed_samples_the_same(tmp_path: Path) -> None:
    agent = agent_of(tmp_path)
    first, again = (
        [
            one.reply(TALKS[30])
            for one in fluent_candidates(
                agent, Target(scorer(noisy), 100), TALKS[:24], TALKS[24:], samples=3, seed=4
            )
        ]
        for _ in range(2)
    )
    assert first == again


def test_a_beam_search_goes_on_with_what_the_metric_likes(tmp_path: Path) -> None:
    def likes_a_letter(item: Item) -> float:
        return float(item.reply.count("e"))

    target = Target(scorer(likes_a_letter), 100)
    made = fluent_candidates(agent_of(tmp_path), target, TALKS[:24], TALKS[24:], samples=4, seed=2)
    by_name = {one.name: one for one in made}
    best, beam = (
        np.array([by_name[name].reply(context).count("e") for context in TALKS[24:]])
        for name in ("best of 4", "beam of 4")
    )
    assert (beam >= best).all()
    assert beam.mean() > best.mean() + 0.2
    assert target.calls <= target.budget


def test_a_reply_begins_with_the_tokens_that_are_given(tmp_path: Path) -> None:
    policy = Policy(agent_of(tmp_path))
    generator = torch.Generator().manual_seed(0)
    first = policy.sample_replies(TALKS[:6], generator)
    beginnings = first.tokens[:, :3].clone()
    beginnings[0] = -1  # nothing is given
    again = policy.sample_replies(TALKS[:6], generator, beginnings=beginnings)
    assert torch.equal(again.tokens[1:, :3], first.tokens[1:, :3])
    assert not torch.equal(again.tokens, first.tokens)


def test_what_was_found_before_the_metric_stopped_responding_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, asked, scores = agent_of(tmp_path), [0], Target.scores

    def names(stop_at: int) -> list[str]:
        def until(self: Target, pairs: Sequence[tuple[Context, str]]) -> Floats:
            asked[0] += 1
            if asked[0] > stop_at:
                raise Hangs("it does not respond")
            return scores(self, pairs)

        asked[0] = 0
        monkeypatch.setattr(Target, "scores", until)
        target = Target(scorer(noisy), 100)
        return [
            one.name for one in fluent_candidates(agent, target, TALKS[:24], TALKS[24:], samples=3, seed=1)
        ]

    assert names(10**9)[-2:] == ["best of 3", "beam of 3"]
    assert names(asked[0] - 1)[-1] == "best of 3"
