"""What papers/probing_gpu.py keeps of trained policies, and the tables that it prints of it."""

import json
import lzma

import pytest

pytest.importorskip("torch")

from papers import probing_gpu

LONG = "one two three four five six seven eight nine ten eleven twelve"


def policy(
    repetition: int, replies: list[str], scores: list[float | None], rewards: list[float]
) -> dict[str, object]:
    points = range(len(rewards))
    return {
        "corpus": "dailydialog", "repetition": repetition, "best": rewards.index(max(rewards)),
        "stopped": "the reward had not risen for 8 checks at update 90", "replies": replies, "scores": scores,
        "curve": {"update": [10 * at for at in points], "reward": rewards, "lm_loss": [3.00004 for _ in points]},
        "strategy": {
            "measures": {"response_frequency": 1.0, "lexical_variety": 0.1, "bleu": 0.0, "jaccard": 0.1},
            "final": "fixed", "description": f"always replies “{LONG}”", "fixed_reward": 0.9,
        },
    }  # fmt: skip


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The results of two policies on 30 contexts: one far above people, one at their level."""
    monkeypatch.setattr(probing_gpu, "RESULTS", tmp_path / "probing_rl.json")
    people = [0.5 + 0.01 * (at % 5) for at in range(30)]
    line = {
        "metric": "usr-ret", "signature": "usr-ret|v:1", "device": "cuda", "settings": {"batch": 32}, "updates": 90,
        "seconds": 12.5, "people": {"dailydialog": people}, "ids": {"dailydialog": [str(at) for at in range(30)]},
        "policies": [
            policy(1, ["no"] * 30, [value + 0.02 * (-1) ** at for at, value in enumerate(people)], [0.2, 0.5]),
            policy(0, [LONG] * 30, [None, *(value + 0.3 for value in people[1:])], [0.2, 0.9, 0.8]),
        ],
    }  # fmt: skip
    file = tmp_path / "usr-ret.json"
    file.write_text(json.dumps(line))
    probing_gpu.keep([str(file)])
    return json.loads(probing_gpu.RESULTS.read_text())


def test_gains_are_over_the_same_contexts_and_replies_without_a_score_are_counted(kept):
    high, level = kept["usr-ret"]["policies"]
    assert [high["repetition"], level["repetition"]] == [0, 1]
    assert high["gain"] == pytest.approx(0.3)
    assert high["unscored"] == 1
    assert high["significant"]
    assert not level["significant"]
    assert level["gain_interval"][0] < 0 < level["gain_interval"][1]
    assert high["best_update"] == 10
    assert kept["usr-ret"]["updates"] == 20


def test_texts_that_may_be_of_a_corpus_are_kept_in_part_only(kept):
    high = kept["usr-ret"]["policies"][0]
    assert high["samples"] == [" ".join(LONG.split()[:10])]
    assert "twelve" not in high["description"]
    assert "twelve" not in json.dumps(kept)


def test_the_table_has_the_best_repetition_by_validation_and_all_strategies(kept, capsys):
    probing_gpu.show()
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| `usr-ret`")]
    assert len(rows) == 1
    assert "**+0.300" in rows[0]
    assert "10 of 20" in rows[0]
    assert "fixed, fixed" in rows[0]


def test_the_replies_of_policies_are_scored_by_another_metric(tmp_path, monkeypatch):
    """`length` of replies of twelve words and of one, where people say four."""
    monkeypatch.setattr(probing_gpu, "TRANSFER", tmp_path / "transfer.json")
    ids = [str(at) for at in range(30)]
    rows = [
        {"id": one, "role": "assistant", "human": "it is quite warm", "turns": [["user", "hello"]]}
        for one in ids
    ]
    contexts = {"dailydialog": {"judged": rows}}
    (tmp_path / "contexts.json.xz").write_bytes(lzma.compress(json.dumps(contexts).encode()))
    policies = [policy(0, [LONG] * 30, [1.0] * 30, [0.2]), policy(1, ["no"] * 30, [0.0] * 30, [0.2])]
    file = tmp_path / "usr-ret.json"
    file.write_text(json.dumps({"metric": "usr-ret", "ids": {"dailydialog": ids}, "policies": policies}))
    probing_gpu.transfer(tmp_path, file, ["length"])
    found = json.loads((tmp_path / "transfer.json").read_text())["usr-ret"]["length"]["policies"]
    assert [(one["people"], one["score"], one["gain"], one["significant"]) for one in found] == [
        (4.0, 12.0, 8.0, True),
        (4.0, 1.0, -3.0, False),
    ]


def test_files_of_one_metric_on_different_corpora_are_put_together() -> None:
    def line(corpus: str, updates: int, signature: str = "m|v:1") -> dict[str, object]:
        return {"metric": "m", "signature": signature, "updates": updates, "seconds": 1.0, "people": {corpus: [1.0]},
                "ids": {corpus: ["a"]}, "policies": [{"corpus": corpus}]}  # fmt: skip

    (found,) = probing_gpu.joined([line("dailydialog", 20), line("personachat", 30)])
    assert [one["corpus"] for one in found["policies"]] == ["dailydialog", "personachat"]
    assert (found["updates"], sorted(found["people"])) == (30, ["dailydialog", "personachat"])
    with pytest.raises(SystemExit, match=r"m: policies against m\|v:1 and m\|v:2"):
        probing_gpu.joined([line("dailydialog", 20), line("personachat", 30, "m|v:2")])


def test_policies_on_another_corpus_join_those_of_the_same_metric_and_replace_those_of_another_one(
    kept, tmp_path
) -> None:
    def keep(corpus: str, signature: str) -> dict[str, object]:
        people = [0.5] * 30
        file = tmp_path / f"{corpus}.json"
        file.write_text(json.dumps({
            "metric": "usr-ret", "signature": signature, "device": "cuda", "settings": {}, "updates": 10, "seconds": 3,
            "people": {corpus: people}, "ids": {corpus: [str(at) for at in range(30)]},
            "policies": [{**policy(0, ["no"] * 30, people, [0.2, 0.5]), "corpus": corpus}],
        }))  # fmt: skip
        probing_gpu.keep([str(file)])
        return json.loads(probing_gpu.RESULTS.read_text())["usr-ret"]

    joined = keep("personachat", "usr-ret|v:1")
    assert [one["corpus"] for one in joined["policies"]] == ["dailydialog", "dailydialog", "personachat"]
    assert joined["updates"] == 20  # of the longest policy that is kept
    other = keep("personachat", "usr-ret|v:2")
    assert [one["corpus"] for one in other["policies"]] == ["personachat"]
