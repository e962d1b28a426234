"""`turnwise ope` as a user runs it: answers, checks, refusals."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.made_runs import made_run
from tests.small_world import held
from turnwise.cli.common.group import run
from turnwise.commands.ope import below_table
from turnwise.commands.screen import Gating
from turnwise.logs import native
from turnwise.types import Dialogue, Rating, Turn

OPTIONS = ("--model", "hashing", "--format", "json", "-q")


@pytest.fixture(scope="module")
def talks() -> list[Dialogue]:
    return held(agents=8, dialogues=30)


@pytest.fixture(scope="module")
def logs(talks: list[Dialogue], tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("ope") / "logs.jsonl", talks)


def written(path: Path, talks: list[Dialogue]) -> str:
    native.write(talks, str(path))
    return str(path)


def answer(capsys, *args: str, code: int = 0) -> dict:
    assert run(["ope", *args, *OPTIONS]) == code
    return json.loads(capsys.readouterr().out)


def _ran(capsys, *args: str) -> str:
    """What is printed, whether or not there is an answer."""
    assert run(["ope", *args, *OPTIONS]) in (0, 4)
    return capsys.readouterr().out


def refused(capsys, *args: str, code: int) -> str:
    assert run(["ope", *args, *OPTIONS]) == code
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return said.out + said.err


def test_leaving_each_agent_out_ranks_them_and_covers_the_truth(capsys, logs: str, tmp_path: Path) -> None:
    found = answer(capsys, logs, "--all", "-o", str(tmp_path))
    checks = {row["estimator"]: row for row in found["validation"]}
    assert checks["robust"]["pearson"] > 0.9
    assert checks["robust"]["coverage"] >= 0.8
    assert checks["robust"]["n_agents"] == 8
    assert checks["mean"]["refused"] == 8  # it cannot rank, and says so
    for row in found["results"]:
        assert row["refused"] == (row["estimate"] is None) == (row["reason"] is not None)
        assert (
            row["estimate"] is None or 0 <= row["interval"][0] <= row["estimate"] <= row["interval"][1] <= 1
        )
    assert "<svg" in (tmp_path / "reward" / "robust.svg").read_text()
    assert json.loads((tmp_path / "results.json").read_text())["validation"] == found["validation"]


def test_the_estimate_of_a_target_equals_its_leave_one_out_estimate(capsys, logs: str) -> None:
    alone = answer(capsys, logs, "--target", "a3", "--estimator", "robust")["results"]
    among = answer(capsys, logs, "--all", "--estimator", "robust")["results"]
    assert alone[0]["estimate"] == pytest.approx(next(r for r in among if r["target"] == "a3")["estimate"])


@pytest.mark.parametrize("estimator", ["robust", "nearest", "metric:length", "features"])
def test_a_targets_own_dialogues_are_used_for_truth_only(
    capsys, talks: list[Dialogue], tmp_path: Path, estimator: str
) -> None:
    without = written(tmp_path / "new.jsonl", [talk for talk in talks if talk.agent != "a3"])
    spoilt = [_rated(talk, 0.5) if talk.agent == "a3" else talk for talk in talks]
    asked = ("--target", "a3", "--estimator", estimator)
    both = (without, written(tmp_path / "o.jsonl", spoilt))
    new, old = (json.loads(_ran(capsys, path, *asked))["results"][0] for path in both)
    assert new["raw"] == pytest.approx(old["raw"], abs=1e-12)
    if new["estimate"] is not None:
        assert new["estimate"] == pytest.approx(old["estimate"], abs=1e-12)
    assert (new["logged"], old["logged"]) == (None, 0.5)


def test_the_number_of_jobs_does_not_change_the_result(capsys, logs: str) -> None:
    one = answer(capsys, logs, "--all", "--estimator", "robust,mean-relabelled")
    two = answer(capsys, logs, "--all", "--estimator", "robust,mean-relabelled", "--jobs", "2")
    assert one["results"] == two["results"]


def test_truth_fraction_and_selected_agents(capsys, logs: str, tmp_path: Path) -> None:
    truth = {"agents": {f"a{place}": {"reward": {"mean": (place + 1) / 8}} for place in range(8)}}
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    options = ("--all", "--estimator", "robust", "--truth", str(tmp_path / "truth.json"))
    found = answer(capsys, logs, *options, "--min-truth", ".5", "--fraction", ".5")
    assert [row["target"] for row in found["results"]] == ["a3", "a4", "a5", "a6", "a7"]
    assert all(row["n_items"] == 7 * 15 for row in found["results"])
    assert "that mean is not known" in refused(capsys, logs, *options, "--min-truth", "charm=.5", code=2)


def test_the_challenging_setting_leaves_out_dialogues_similar_to_the_target(capsys, logs: str) -> None:
    usual = answer(capsys, logs, "--target", "a5", "--estimator", "mean", "--no-calibrate")["results"][0]
    hard = answer(
        capsys, logs, "--target", "a5", "--estimator", "mean", "--no-calibrate", "--challenging", "15"
    )["results"][0]
    assert hard["n_items"] < usual["n_items"]


def test_uncalibrated_estimates_are_marked(capsys, logs: str) -> None:
    row = answer(capsys, logs, "--target", "a5", "--estimator", "robust", "--no-calibrate")["results"][0]
    assert row["diagnostics"]["calibrated"] is False
    assert row["method"].startswith("uncalibrated")
    run(["ope", logs, "--target", "a5", "--estimator", "robust", "--no-calibrate", "--model", "hashing",
         "--rating", "reward"])  # fmt: skip
    assert "NOT CALIBRATED" in capsys.readouterr().out


def test_a_metric_can_be_the_rating_and_the_estimator(capsys, logs: str) -> None:
    found = answer(
        capsys, logs, "--target", "a5", "--rating", "metric:length", "--estimator", "metric:length,robust"
    )
    assert [row["estimator"] for row in found["results"]] == ["metric:length", "robust"]
    assert found["results"][0]["rating"] == "metric:length"


def test_a_refused_metric_does_not_stop_the_other_estimators(capsys, logs: str) -> None:
    names = "metric:fbd[model=hashing],robust"
    distance, robust = answer(capsys, logs, "--target", "a5", "--estimator", names)["results"]
    assert "give references" in distance["reason"]
    assert robust["estimate"] is not None


def test_one_agent_only_is_refused(capsys, talks: list[Dialogue], tmp_path: Path) -> None:
    alone = written(tmp_path / "one.jsonl", [talk for talk in talks if talk.agent == "a0"])
    assert "log more agents" in refused(capsys, alone, "--all", code=4)


def test_too_few_dialogues_are_refused(capsys, talks: list[Dialogue], tmp_path: Path) -> None:
    few = written(tmp_path / "few.jsonl", talks[::15])
    assert "rate more dialogues" in refused(capsys, few, "--target", "a5", code=4)


def test_agents_that_cannot_be_ranked_are_refused(capsys, talks: list[Dialogue], tmp_path: Path) -> None:
    chance = [_rated(talk, float(place % 7 % 2)) for place, talk in enumerate(talks)]
    said = refused(capsys, written(tmp_path / "chance.jsonl", chance), "--target", "a5", code=4)
    assert "are not ranked" in said


def test_agents_that_all_have_the_same_mean_are_refused(
    capsys, talks: list[Dialogue], tmp_path: Path
) -> None:
    seen: Counter[str] = Counter()
    same = []
    for talk in talks:
        seen[talk.agent] += 1
        same.append(_rated(talk, float(seen[talk.agent] % 2)))
    assert not any(count % 2 for count in seen.values())
    asked = ("--all", "--estimator", "robust,fqe")
    said = refused(capsys, written(tmp_path / "same.jsonl", same), *asked, code=4)
    assert "all known agents have the same mean rating" in said


def test_ratings_that_are_all_equal_are_refused(capsys, talks: list[Dialogue], tmp_path: Path) -> None:
    logs = written(tmp_path / "equal.jsonl", [_rated(talk, 0.5) for talk in talks])
    for asked in (("--all",), ("--target", "a5", "--no-calibrate")):
        said = refused(capsys, logs, *asked, "--estimator", "robust,fqe", code=4)
        assert "rated dialogues of other agents have the same rating, 0.5" in said


def test_a_target_unlike_all_others_is_refused(capsys, talks: list[Dialogue], tmp_path: Path) -> None:
    odd = [_saying(talk, "a5", "zzz qqq xxx vvv") for talk in talks]
    said = refused(capsys, written(tmp_path / "odd.jsonl", odd), "--target", "a5", code=4)
    assert "says what nobody logged says" in said


def test_dialogues_with_missing_alternatives_are_left_out_and_counted(
    capsys, talks: list[Dialogue], tmp_path: Path
) -> None:
    missing = [_silent(talk, "a5") if place == 3 else talk for place, talk in enumerate(talks)]
    path = written(tmp_path / "m.jsonl", missing)
    assert run(["ope", path, "--target", "a5", "--model", "hashing", "--estimator", "robust"]) == 0
    said = capsys.readouterr()
    assert "1 item left out: not every agent has a reply there" in said.out + said.err


def test_an_agent_without_any_alternative_names_the_turns(
    capsys, talks: list[Dialogue], tmp_path: Path
) -> None:
    missing = [_silent(talk, "a5") for talk in talks]
    said = refused(
        capsys, written(tmp_path / "m.jsonl", missing), "--target", "a5", "--road", "replies", code=2
    )
    assert "agent `a5` has no alternative at 630 of 630 turns" in said


def test_mixed_scales_are_an_error(capsys, talks: list[Dialogue], tmp_path: Path) -> None:
    mixed = [
        *talks[:-1],
        replace(talks[-1], ratings=(Rating(talks[-1].id, "reward", 1.0, scale=(1.0, 5.0)),)),
    ]
    said = refused(capsys, written(tmp_path / "mixed.jsonl", mixed), "--all", code=2)
    assert "0 to 1, 1 to 5" in said


def test_logs_without_alternatives_of_the_target_are_an_error(capsys, logs: str) -> None:
    assert "there are neither dialogues of `nobody` nor replies of it" in refused(
        capsys, logs, "--target", "nobody", code=2
    )
    assert "--all" in refused(capsys, logs, code=2)


def test_dialogues_longer_than_any_bin_are_handled(capsys, talks: list[Dialogue], tmp_path: Path) -> None:
    long = [_lengthened(talk, 70) if place % 60 == 0 else talk for place, talk in enumerate(talks)]
    found = answer(
        capsys, written(tmp_path / "l.jsonl", long), "--target", "a5", "--estimator", "robust,dice-linear,fqe"
    )
    assert all(row["estimate"] is not None for row in found["results"])


def test_records_that_answer_the_same_context_are_paired_without_alternatives(capsys, tmp_path: Path) -> None:
    """Agent k says something good k times in 8; the good reply is rated 5 and the bad one 1."""
    records = []
    for item in range(24):
        for agent in range(8):
            good = (item * 5 + agent * 3) % 8 <= agent
            turns = (
                Turn("user", f"Question {chr(97 + item)}?"),
                Turn("assistant", "What a nice idea." if good else "No."),
            )
            name = f"i{item}-{agent}"
            rating = Rating(name, "overall", 5.0 if good else 1.0, turn=1, scale=(1.0, 5.0))
            records.append(Dialogue(name, f"a{agent}", turns, (rating,)))
    found = answer(capsys, written(tmp_path / "p.jsonl", records), "--all", "--estimator", "robust,direct")
    assert all(row["pearson"] > 0.9 for row in found["validation"])
    lonely = written(
        tmp_path / "q.jsonl",
        [replace(one, turns=one.turns[1:], ratings=(replace(one.ratings[0], turn=0),)) for one in records],
    )
    assert "--pair KEY" in refused(capsys, lonely, "--all", code=2)


def _rated(talk: Dialogue, value: float) -> Dialogue:
    last = replace(talk.turns[-1], outcome=None)
    return replace(talk, ratings=(replace(talk.ratings[0], value=value),), turns=(*talk.turns[:-1], last))


def _saying(talk: Dialogue, agent: str, content: str) -> Dialogue:
    def instead(turn: Turn) -> Turn:
        if turn.role != "assistant":
            return turn
        said = {
            name: (replace(r[0], content=content),) if name == agent else r
            for name, r in turn.alternatives.items()
        }
        return replace(turn, alternatives=said)

    return replace(talk, turns=tuple(map(instead, talk.turns)))


def _silent(talk: Dialogue, agent: str) -> Dialogue:
    def without(turn: Turn) -> Turn:
        return replace(turn, alternatives={name: r for name, r in turn.alternatives.items() if name != agent})

    return replace(talk, turns=tuple(map(without, talk.turns)))


def _lengthened(talk: Dialogue, times: int) -> Dialogue:
    return replace(talk, turns=(talk.turns[0], *(talk.turns[1:3] * times), *talk.turns[3:]))


def test_a_row_without_an_estimate_has_its_reason_in_a_note(capsys, logs: str) -> None:
    assert run(["ope", logs, "--target", "a3", "--model", "hashing"]) == 0
    said = capsys.readouterr().err
    assert "note: a3 reward mean: refused: all known agents get the same estimate" in said


def test_estimators_that_disagree_with_the_first_are_named_in_a_sentence() -> None:
    diagnostics = {"calibrated": True, "disagrees": ["nearest", "direct"]}
    row = {"target": "noise-07", "rating": "reward", "estimator": "robust", "estimate": 0.3}
    said = below_table(made_run("ope", {**row, "diagnostics": diagnostics}).document, Gating())
    assert said == "\nnote: noise-07: the mean reward by nearest, direct is outside the interval of robust"
