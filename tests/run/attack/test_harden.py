"""A retrieval metric that a parrot fools is taught not to be, and says what that cost."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tests.attacks.planted import CLEAN, scorer, talks
from turnwise.attacks.attack import attack
from turnwise.attacks.context import split_contexts
from turnwise.attacks.target import Target
from turnwise.cli.common.group import run
from turnwise.encode.models.folder import load
from turnwise.errors import DataError
from turnwise.records import AttackedFile, HardeningRound
from turnwise.run.attack import harden as hardening
from turnwise.run.attack.fraud_training_data import prefix_digest, training_dialogues
from turnwise.types import Item

pytest.importorskip("torch")


def write(path: Path, count: int, seed: int, *, rated: bool = False) -> str:
    with path.open("w") as file:
        for place, context in enumerate(talks(count, seed)):
            turns = [{"role": turn.role, "content": turn.text} for turn in context.item.turns]
            ratings = (
                [{"dimension": "overall", "value": place % 5, "turn": 3, "scale": [0, 4]}] if rated else []
            )
            line = {"id": f"{path.stem}{place}", "agent": "human", "messages": turns, "ratings": ratings}
            file.write(json.dumps(line) + "\n")
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    return {
        "learn": write(tmp_path / "learn.jsonl", 160, 1),
        "contexts": write(tmp_path / "dialogues.jsonl", 80, 2),
        "rated": write(tmp_path / "rated.jsonl", 40, 3, rated=True),
        "model": str(tmp_path / "ret"),
        "out": str(tmp_path / "out"),
    }


def trained(files: dict[str, str], *settings: str) -> int:
    arguments = [part for setting in settings for part in ("--set", setting)]
    return run(
        ["train", "usr-ret", files["learn"], "-o", files["model"], "--model", "hashing", *arguments, "-q"]
    )


@pytest.mark.slow
def test_hardening_trains_on_the_frauds_that_were_found(capsys, parroted: dict[str, str]) -> None:
    files = parroted
    code = run(
        ["attack", f"usr-ret[trained={files['model']}]", "--contexts", files["contexts"], "--harden", "--rounds", "2",
         "--budget", "3000", "--count", "80", "--learn-from", files["learn"], "--agree-with", files["rated"],
         "--model", "hashing", "--no-perturb", "-o", files["out"], "--format", "json"]
    )  # fmt: skip
    assert code == 0
    document = json.loads(capsys.readouterr().out)
    first, last = document["rounds"][0], document["rounds"][-1]
    assert first["attacked"][0]["gain"] > 0
    assert last["attacked"][0]["gain"] < first["attacked"][0]["gain"]
    assert document["hardened"] != f"usr-ret[trained={files['model']}]"
    assert {"before", "after", "fell"} <= set(document["agreement"][0])
    with gzip.open(Path(files["out"]) / "lesson-1.jsonl.gz", "rt", encoding="utf-8") as file:
        lesson = [json.loads(line) for line in file]
    assert any("fraud" in message.get("alternatives", {}) for one in lesson for message in one["messages"])


def hardened(capsys, files: dict[str, str], *more: str, contexts: tuple[str, ...] = ()) -> tuple[int, dict]:
    given = [part for path in contexts or (files["contexts"],) for part in ("--contexts", path)]
    code = run(
        ["attack", f"usr-ret[trained={files['model']}]", *given, "--harden", "--learn-from", files["learn"],
         "--count", "40", "--taught", "100", "--rounds", "1", "--model", "hashing", "--no-perturb",
         "-o", files["out"], "--format", "json", *more]
    )  # fmt: skip
    out = capsys.readouterr().out
    return code, json.loads(out) if out else {}


@pytest.fixture(scope="module")
def parrot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that a parrot fools, trained once."""
    folder = tmp_path_factory.mktemp("parrot")
    files = {"learn": write(folder / "learn.jsonl", 160, 1), "model": str(folder / "ret")}
    assert trained(files, "negatives=random+random+random+random", "epochs=4") == 0
    return folder / "ret"


@pytest.fixture
def parroted(files: dict[str, str], parrot: Path) -> dict[str, str]:
    shutil.copytree(parrot, files["model"])
    return files


@pytest.mark.slow
def test_hardening_a_guarded_metric_teaches_its_guard_and_leaves_the_metric(
    capsys, parroted: dict[str, str], tmp_path: Path
) -> None:
    assert hardened(capsys, parroted, "--budget", "1500")[0] == 0
    first = Path(parroted["out"]) / "model-1"
    worn = f"guarded[metric=relatedness[model=hashing],floor=0,trained={first}]"
    code = run(
        ["attack", worn, "--contexts", parroted["contexts"], "--harden", "--learn-from", parroted["learn"],
         "--count", "40", "--taught", "100", "--rounds", "1", "--budget", "1500", "--model", "hashing", "--no-perturb",
         "-o", str(tmp_path / "worn"), "--format", "json"]
    )  # fmt: skip
    assert code == 0
    document = json.loads(capsys.readouterr().out)
    taught = tmp_path / "worn" / "model-1"
    assert document["hardened"] == f"guarded[metric=relatedness[model=hashing],floor=0,trained={taught}]"
    before, after = (one["attacked"][0] for one in document["rounds"])
    assert after["gain"] <= before["gain"]
    old, new = (load(path, "usr-ret").tensors for path in (first, taught))
    assert all(np.array_equal(part, new[name]) for name, part in old.items() if name.startswith("several."))
    assert not np.array_equal(old["guard.several.first"], new["guard.several.first"])


@pytest.mark.slow
def test_a_model_of_other_settings_in_the_same_folder_is_not_reused(capsys, parroted: dict[str, str]) -> None:
    model = Path(parroted["out"]) / "model-1"

    def lesson() -> str:
        card = json.loads((model / "card.json").read_bytes())
        return card["data"]["files"][0]["sha256"] + card["command"]

    asked = ("--budget", "1500")
    assert hardened(capsys, parroted, *asked)[0] == 0
    first = lesson()
    assert hardened(capsys, parroted, *asked, "--seed", "7")[0] == 0
    other = lesson()
    assert other != first
    assert "--seed 7" in other
    assert hardened(capsys, parroted, *asked)[0] == 0
    assert lesson() == first


def test_killed_hardening_resumes_without_training_again(
    capsys, parroted: dict[str, str], monkeypatch
) -> None:
    asked = ("--budget", "1500")
    with monkeypatch.context() as patched:
        patched.setattr(hardening, "_agreement", interrupted)
        assert hardened(capsys, parroted, *asked, "--agree-with", parroted["rated"])[0] == 130
    taught = []
    monkeypatch.setattr(hardening, "train", lambda *told, **given: taught.append(told))
    code, document = hardened(capsys, parroted, *asked, "--agree-with", parroted["rated"])
    assert (code, taught) == (0, [])
    assert len(document["rounds"]) == 2


def test_the_same_model_in_another_folder_is_attacked_in_the_same_way(
    capsys, parroted: dict[str, str], tmp_path: Path
) -> None:
    found = []
    for place in ("here", "there"):
        shutil.copytree(parroted["model"], tmp_path / place)
        given = ["--contexts", parroted["contexts"], "--budget", "1500", "--count", "40", "--format", "json"]
        assert run(["attack", f"usr-ret[trained={tmp_path / place}]", *given]) == 0
        results = json.loads(capsys.readouterr().out)["results"]
        found.append([{**row, "metric": "usr-ret"} for row in results])
    assert found[0] == found[1]


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_metric_that_was_not_searched_is_never_called_robust(capsys, parroted: dict[str, str]) -> None:
    """Two files of one name that share ids, and a budget that does for judging alone."""
    contexts = []
    for place in range(2):
        folder = Path(parroted["out"]).parent / str(place)
        folder.mkdir()
        contexts.append(write(folder / "dialogues.jsonl", 60, 2 + place))
    code, document = hardened(capsys, parroted, "--budget", "860", "--gate", contexts=tuple(contexts))
    assert code == 1
    assert not document["robust"]
    last = document["rounds"][-1]["attacked"]
    assert [one["contexts"] for one in last] == contexts
    assert all("--budget" in one["unsearched"] for one in last)
    assert not document["summary"].startswith("nothing found")
    assert all(row["n_items"] == row["n_clusters"] == 20 for row in document["results"])


def attacked(score: Callable[[Item], float]) -> AttackedFile:
    search_on, test_on = split_contexts(talks(80))
    texts = [one.human for one in search_on]
    found = attack(Target(scorer(score), 3000), search_on, test_on, texts=texts, rng=np.random.default_rng(0),
                   draws=100)  # fmt: skip
    return hardening.attacked_file("dialogues", hardening.AttackRun(found, [], [], "human", 1, ()))


def summary(made: AttackedFile) -> str:
    last = HardeningRound(round=1, robust=made.robust, attacked=(made,), metric="usr-ret", taught=0)
    return hardening._summary(last)


def test_a_metric_that_nothing_found_beats_is_called_robust() -> None:
    made = attacked(CLEAN["oracle"])
    assert made.robust
    assert made.unsearched is None
    assert summary(made) == "nothing found scores above people; a larger --budget may find more"


def test_edits_of_peoples_own_replies_that_score_above_people_make_a_metric_gameable() -> None:
    made = attacked(lambda item: float(item.reply.count(item.references[0])))
    assert made.edits == ("repeated",)
    assert not made.gameable
    assert made.gain < 0
    assert not made.robust
    assert summary(made) == "STILL GAMEABLE after the last round"


def test_a_metric_that_nothing_beats_is_not_robust_if_the_search_was_cut_short() -> None:
    made = replace(attacked(CLEAN["oracle"]), unsearched="the calls were too few: raise --budget")
    assert made.gain < 0
    assert not made.gameable
    assert not made.robust
    assert (
        summary(made) == "not shown to be gameable, nor to be robust: the calls were too few: raise --budget"
    )


def test_a_fraud_with_a_gain_that_is_not_significant_is_neither_gameable_nor_robust() -> None:
    made = replace(attacked(CLEAN["oracle"]), gain=0.01, gain_interval=(-0.1, 0.12))
    assert not made.robust
    assert "GAMEABLE" not in summary(made)
    assert "not shown to be gameable, nor to be robust" in summary(made)


def test_no_attacked_dialogue_is_used_for_training_under_any_id(files: dict[str, str]) -> None:
    heard = talks(80, 2)[:5]
    apart = {prefix_digest(context.item.turns) for context in heard}
    rng = np.random.default_rng(0)
    data = [files["contexts"], files["learn"]]
    made = list(training_dialogues(data, ["so {last}"], apart, 200, rng))
    assert len(made) == 80 + 160 - 5
    assert len({dialogue.id for dialogue in made}) == len(made)
    assert not apart & {prefix_digest(dialogue.turns) for dialogue in made}
    with pytest.raises(DataError, match="--learn-from"):
        list(
            training_dialogues(
                [files["contexts"]], [], {prefix_digest(c.item.turns) for c in talks(80, 2)}, 200, rng
            )
        )


@pytest.mark.parametrize(
    ("before", "after", "fell"), [(0.0, 0.25, -0.25), (None, 0.1, None), (0.3, None, None), (0.3, 0.0, 0.3)]
)
def test_the_decrease_is_none_only_if_an_agreement_is_missing(before, after, fell) -> None:
    assert hardening._decrease(before, after) == fell


def test_the_card_of_a_trained_model_lists_the_frauds(capsys, files: dict[str, str]) -> None:
    assert trained(files, "negatives=random+random+random+random", "epochs=4") == 0
    asked = ["attack", f"usr-ret[trained={files['model']}]", "--contexts", files["contexts"], "--budget", "3000",
             "--count", "80", "--no-perturb", "--card", "--format", "json"]  # fmt: skip
    capsys.readouterr()
    assert run(asked) == 0
    works = [row for row in json.loads(capsys.readouterr().out)["results"] if row["significant"]]
    card = json.loads((Path(files["model"]) / "card.json").read_bytes())
    known, found = ([one for one in card["attacks"] if isinstance(one, of)] for of in (str, dict))
    assert known  # what is known of this kind of model, from its training
    assert [one["strategy"] for one in found] == [row["strategy"] for row in works]
    assert {one["contexts"] for one in found} == {"dialogues"}
    assert run(["attack", "length", "--contexts", files["contexts"], "--card"]) == 2


@pytest.mark.parametrize(
    ("metric", "more", "words"),
    [
        ("length", ("-o", "x"), "cannot be hardened"),
        ("usr-ret", (), "give its folder with -o"),
        ("usr-ret", ("-o", "x", "--stages", "baselines"), "must have `search`"),
    ],
)
def test_a_metric_that_cannot_be_hardened_is_refused_with_the_reason(
    capsys, files: dict[str, str], metric, more, words: str
) -> None:
    assert run(["attack", metric, "--contexts", files["contexts"], "--harden", *more]) == 2
    assert words in capsys.readouterr().err


def test_training_a_guard_needs_frauds_in_the_data(capsys, files: dict[str, str]) -> None:
    assert trained(files, "wrong=nobody") == 2
    assert "nobody" in capsys.readouterr().err
