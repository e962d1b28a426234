import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from tests.corpus import WORDS, write
from turnwise.cli.common.group import run
from turnwise.errors import Refused, UsageError
from turnwise.metrics import resolve
from turnwise.run.scoring import shards as scoring
from turnwise.run.scoring.blocks import content_key, item_scores, score
from turnwise.run.workers.execute import Local, OutOfMemory
from turnwise.types import Card, Item, Signature, Turn


def item(reply: str, *, references: tuple[str, ...] = ("a b c d",), name: str = "d#1") -> Item:
    turns = (Turn("user", "hello"), Turn("assistant", reply, references))
    return Item(name, "d", "bot", turns, 1, "d", "p")


@dataclass(frozen=True)
class Picky:
    """Fails on the word `boom`, has no number for the word `nothing`."""

    level: ClassVar = "turn"
    needs: ClassVar = frozenset({"references"})
    higher_is_better: ClassVar = True
    card: ClassVar = Card("feature", "", "", "", "")
    unscored: ClassVar = "it said nothing"

    @property
    def signature(self) -> Signature:
        return Signature("picky")

    def rows(self, items: Sequence[Item]):
        if any(one.reply == "boom" for one in items):
            raise ValueError("boom is not allowed")
        return np.array(
            [[np.nan if one.reply == "nothing" else len(one.reply), 1.0] for one in items]
        ).reshape(-1, 2)

    def reduce(self, rows):
        return float(rows[:, 0].sum() / rows[:, 1].sum())


def test_an_error_is_pinned_to_the_item_that_causes_it():
    block = score(Picky(), [item("one"), item("boom"), item("three")])
    assert block.scored.tolist() == [0, 2]
    assert [(f.position, f.status, f.reason) for f in block.failures] == [
        (1, "error", "test_blocks.Picky raised ValueError: boom is not allowed (test_blocks.py:41)")
    ]


def test_an_item_whose_needs_are_not_met_is_skipped_with_the_reason():
    block = score(Picky(), [item("one", references=()), item("two")])
    assert block.scored.tolist() == [1]
    assert [(f.position, f.status, f.reason) for f in block.failures] == [(0, "skipped", "no reference")]


def test_a_row_with_nan_is_unscored_and_never_zero():
    block = score(Picky(), [item("nothing"), item("two")])
    assert block.scored.tolist() == [1]
    assert block.failures[0].reason == "no value or NaN: it said nothing"
    assert not np.isnan(block.rows).any()


def test_when_every_item_fails_there_are_no_rows():
    block = score(Picky(), [item("boom"), item("boom")])
    assert block.rows.shape == (0, 2)
    assert len(block.failures) == 2


class Strict(Picky):
    """Raises what the reply names."""

    def rows(self, items, /):
        for one in items:
            if error := {"refuse": Refused("too few", "too-few"), "misuse": UsageError("no such layer")}.get(
                one.reply
            ):
                raise error
        return super().rows(items)


def test_a_failure_keeps_its_status_and_a_usage_error_ends_the_run():
    block = score(Strict(), [item("refuse"), item("boom"), item("fine")])
    assert [(failure.position, failure.status) for failure in block.failures] == [
        (0, "refused"),
        (1, "error"),
    ]
    assert block.scored.tolist() == [2]
    for shard in ([item("misuse")], [item("boom"), item("misuse")]):
        with pytest.raises(UsageError, match="no such layer"):
            score(Strict(), shard)


def test_a_gpu_that_is_full_is_no_failure_of_the_items_and_ends_the_run_as_want_of_memory_does() -> None:
    torch = pytest.importorskip("torch")

    class Hungry(Picky):
        most = 1  # items at a time

        def rows(self, items, /):
            if len(items) > self.most:
                raise torch.cuda.OutOfMemoryError("CUDA out of memory")
            return super().rows(items)

    class Starving(Hungry):
        most = 0

    assert score(Hungry(), [item("one"), item("three")]).scored.tolist() == [0, 1]
    for shard in ([item("one")], [item("one"), item("three")]):
        with pytest.raises(OutOfMemory, match=r"memory ran out \(CUDA out of memory\)"):
            list(Local().in_order(score, Starving(), [shard]))


def test_the_key_changes_with_what_a_metric_may_see_and_not_with_the_name():
    assert content_key([item("one")]) == content_key([item("one", name="other#1")])
    assert content_key([item("one")]) != content_key([item("two")])
    assert content_key([item("one")]) != content_key([item("one", references=("other",))])
    assert content_key([item("one"), item("two")]) != content_key([item("two"), item("one")])
    assert content_key([item("one")]) != content_key([replace(item("one"), group="b")])
    assert content_key([item("one")]) != content_key([replace(item("one"), missing="no reply")])


def test_the_key_covers_integers_beyond_64_bits() -> None:
    huge, other = ({"number": number} for number in (-(2**63) - 1, 2**64))
    assert content_key([replace(item("one"), meta=huge)]) != content_key([replace(item("one"), meta=other)])


def test_a_shard_that_two_groups_have_in_common_is_held_against_the_real_side_of_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same replies of a bot, a whole shard of them, beside other replies of people."""
    shard, rng = 60, np.random.default_rng(0)
    monkeypatch.setattr(scoring, "SHARD", shard)

    def said(number: int, agent: str, words: Sequence[str]) -> dict[str, object]:
        reply = {"role": "assistant", "content": " ".join(rng.choice(words, 5))}
        asked = {"role": "user", "content": " ".join(rng.choice(WORDS, 4))}
        return {"id": f"{agent}{number}", "agent": agent, "messages": [asked, reply]}

    bots = [said(number, "bot", WORDS) for number in range(shard)]
    people = {"a": WORDS[:9], "b": WORDS[6:]}
    files = [
        str(write(tmp_path / f"{name}.jsonl", [*bots, *(said(n, "human", words) for n in range(shard))]))
        for name, words in people.items()
    ]
    command = [
        "score",
        *files,
        "--by",
        "file",
        "-m",
        "fbd[model=hashing]",
        "--draws",
        "100",
        "--format",
        "json",
    ]
    found = []
    for more in ((), ("-o", str(tmp_path / "out")), ("-o", str(tmp_path / "out"))):  # the last from the store
        assert run([*command, "-q", *more]) == 0
        results = json.loads(capsys.readouterr().out)["results"]
        found.append({one["group"]: one["estimate"] for one in results if one["agent"] == "bot"})
    assert found[0]["a"] != pytest.approx(found[0]["b"], rel=0.05)
    assert found[1] == found[2] == found[0]


def test_item_scores_are_the_reduction_of_single_rows():
    metric = resolve("bleu-4")
    rows = metric.rows([item("a b c d"), item("a b x y"), item("")])
    alone = [metric.reduce(rows[at : at + 1]) for at in range(3)]
    np.testing.assert_allclose(item_scores(metric, rows), alone)
