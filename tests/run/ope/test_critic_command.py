"""`turnwise ope --estimator critic` as a user runs it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from turnwise.cli.common.group import run
from turnwise.estimators.critic.controls import CONTROLS
from turnwise.logs import native
from turnwise.metrics.task.ontology import load as ontology_of
from turnwise.run.ope import task_log
from turnwise.run.train.policy_evaluation import PolicyEvaluator
from turnwise.stats.correlation import spearman
from turnwise.types import Dialogue, Rating, Reply, Turn
from turnwise.worlds import task
from turnwise.worlds.task.goal import draw_goal

# One agent holds most of these logs, so that values are raw.
OPTIONS = ("--estimator", "critic", "--format", "json", "-q", "--no-calibrate")
RAW = ("--no-calibrate", "--format", "json", "-q")
FOODS = ("indian", "chinese", "italian", "thai")


def dinner(place: int, rng: np.random.Generator) -> Dialogue:
    """A restaurant is found, and its phone told if the clerk is not careless."""
    food = FOODS[int(rng.integers(4))]
    careless = rng.random() < 0.3
    state = {"restaurant": {"food": food}}
    found = f"[restaurant_name] serves {food} food . shall i book ?"
    phone = "i do not have that ." if careless else "the phone number is [restaurant_phone] ."
    turns = (
        Turn("user", f"i want {food} food"),
        Turn("assistant", found, state=state, alternatives=_said(found, "[value_name] is a nice place .")),
        Turn("user", "what is the phone number ?"),
        Turn("assistant", phone, state=state, alternatives=_said("it is [value_phone] .", "good bye .")),
    )
    goal = {"restaurant": {"info": {"food": food}, "reqt": ["phone"]}}
    return Dialogue(f"d{place}", "clerk", turns, goal=goal)


def _said(good: str, poor: str) -> dict[str, tuple[Reply, ...]]:
    return {"good": (Reply(good),), "poor": (Reply(poor),)}


@pytest.fixture(scope="module")
def dinners() -> list[Dialogue]:
    rng = np.random.default_rng(0)
    return [dinner(place, rng) for place in range(160)]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("db")
    rows = [
        {"id": str(n), "name": f"place {n}", "food": food, "area": "centre"} for n, food in enumerate(FOODS)
    ]
    for table in ("restaurant", "hotel", "attraction"):
        (folder / f"{table}_db.json").write_text(json.dumps(rows))
    (folder / "train_db.json").write_text(json.dumps([{"trainID": "TR1", "day": "monday"}]))
    return str(folder)


def written(folder: Path, dialogues: list[Dialogue]) -> str:
    native.write(dialogues, str(folder / "logs.jsonl"))
    return str(folder / "logs.jsonl")


def answer(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> dict:
    assert run(["ope", *OPTIONS, *args]) == code
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *args: str, code: int) -> str:
    assert run(["ope", *OPTIONS, *args]) == code
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return said.out + said.err


def test_systems_stand_beside_the_logged_agent_controls_and_baselines(
    capsys, dinners: list[Dialogue], tables: str, tmp_path: Path
) -> None:
    logs = written(tmp_path, dinners)
    found = answer(capsys, logs, "--target", "@alternatives", "--db", tables, "-o", str(tmp_path / "out"))
    rows = {row["target"]: row for row in found["results"]}
    assert [row["kind"] for row in found["results"]] == ["logged", "system", "system", *["control"] * 6]
    assert rows["clerk"]["estimate"] == pytest.approx(rows["clerk"]["logged"], abs=1.0)
    assert rows["clerk"]["success"] == pytest.approx(100 * np.mean([not _careless(one) for one in dinners]))
    assert rows["good"]["difference"] == pytest.approx(rows["good"]["estimate"] - rows["clerk"]["estimate"])
    assert (
        rows["good"]["difference_interval"][0]
        <= rows["good"]["difference"]
        <= rows["good"]["difference_interval"][1]
    )
    assert rows["good"]["success"] == 100.0
    assert rows["poor"]["success"] == 0.0
    assert rows["poor"]["length"] < rows["good"]["length"]
    about = found["critics"]["critic"]
    assert about["fooled_by"] == rows["good"]["fooled_by"]
    assert about["fooled"] == any(value >= rows["poor"]["estimate"] for value in about["controls"].values())
    turns = [json.loads(line) for line in (tmp_path / "out" / "critic.turns.jsonl").read_text().splitlines()]
    assert len(turns) == 320
    assert set(turns[0]["q"]) == set(turns[0]["replies"]) == {"clerk", "good", "poor"}
    firsts = [turn["q"]["good"] for turn in turns if turn["turn"] == 1]
    assert np.mean(firsts) == pytest.approx(rows["good"]["estimate"])


def _careless(dialogue: Dialogue) -> bool:
    return "not have" in dialogue.turns[3].text


def test_the_same_command_gives_the_same_numbers(
    capsys, dinners: list[Dialogue], tables: str, tmp_path: Path
) -> None:
    logs = written(tmp_path, dinners)
    once = answer(capsys, logs, "--target", "good", "--db", tables)
    assert once["results"] == answer(capsys, logs, "--target", "good", "--db", tables)["results"]


def test_the_table_says_whether_a_control_fools_the_critic(
    capsys, dinners: list[Dialogue], tables: str, tmp_path: Path
) -> None:
    logs = written(tmp_path, dinners)
    names = "critic[reward=one],critic[reward=success]"
    command = ["ope", logs, "--target", "good,poor", "--db", tables, "--estimator", names]
    assert run([*command, "-q", "--no-calibrate"]) == 0
    said = capsys.readouterr().out
    for name in names.split(","):
        line = next(line for line in said.splitlines() if line.startswith((f"{name}:", f"{name} IS")))
        assert "IS FOOLED by" in line or "every control is below" in line
        assert "; trained to be 0: random " in line


def test_a_system_that_cannot_be_valued_has_a_refused_row_and_the_others_theirs(
    capsys, dinners: list[Dialogue], tables: str, tmp_path: Path
) -> None:
    # Without those of `good`, too few dialogues are left to learn of it.
    held = [replace(one, agent="good" if place < 140 else "clerk") for place, one in enumerate(dinners)]
    logs = written(tmp_path, held)
    out = tmp_path / "out"
    found = answer(capsys, logs, "--target", "good,poor", "--db", tables, "-o", str(out))
    rows = {row["target"]: row for row in found["results"]}
    assert [row["kind"] for row in found["results"]] == ["logged", "system", "system", *["control"] * 6]
    assert (rows["good"]["status"], rows["good"]["estimate"]) == ("refused", None)
    assert "30 dialogues" in rows["good"]["reason"]
    assert np.isfinite([row["estimate"] for name, row in rows.items() if name != "good"]).all()
    assert found["critics"]["critic"]["worst_system"] in ("poor", "logged")
    turns = [json.loads(line) for line in (out / "critic.turns.jsonl").read_text().splitlines()]
    assert set(turns[0]["q"]) == {"logged", "poor"}
    alone = answer(capsys, logs, "--target", "good", "--db", tables, code=4)
    assert alone["critics"]["critic"]["worst_system"] == "logged"


def test_values_from_few_dialogues_are_refused_unless_fewer_are_asked_for(
    capsys, dinners: list[Dialogue], tables: str, tmp_path: Path
) -> None:
    logs = written(tmp_path, dinners[:149])
    said = refused(capsys, logs, "--target", "good", "--db", tables, code=4)
    assert "with 149 dialogues a critic's values are off by several points, and 150 are needed" in said
    named = ("--target", "good", "--db", tables, "--estimator", "critic[fewest=149]", "-q", "--no-calibrate")
    assert run(["ope", logs, *named]) == 0


def test_values_from_the_logs_of_one_agent_are_refused_unless_raw_ones_are_asked_for(
    capsys, dinners: list[Dialogue], tables: str, tmp_path: Path
) -> None:
    logs = written(tmp_path, dinners)
    said = refused(capsys, logs, "--target", "good", "--db", tables, "--calibrate", code=4)
    assert "1 other agent held these dialogues" in said
    assert "--no-calibrate shows raw values" in said


def test_a_setting_with_a_path_does_not_make_a_folder_of_the_file_of_turns(
    capsys, dinners: list[Dialogue], tables: str, tmp_path: Path
) -> None:
    logs, out = written(tmp_path, dinners), tmp_path / "out"
    own = Path(tables) / "ontology.toml"
    own.write_text(
        '[domains.restaurant]\ntable = "restaurant_db.json"\noffer = "name"\nrequestable = ["phone"]\n'
        '[placeholders]\nknown = ["name", "food", "phone"]\n'
    )
    answer(capsys, logs, "--target", "good", "--estimator", f"critic[ontology={tables}]", "-o", str(out))
    assert [one.name.endswith("].turns.jsonl") for one in out.iterdir() if one.is_file()].count(True) == 1


def test_options_of_estimators_of_ratings_are_refused_and_not_ignored(
    capsys, dinners: list[Dialogue], tables: str, tmp_path: Path
) -> None:
    logs = written(tmp_path, dinners)
    said = refused(capsys, logs, "--target", "good", "--db", tables, "--fraction", "0.5", code=2)
    assert "--fraction: for estimators of ratings" in said


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Logs of six graded systems of the task world."""
    logs = str(tmp_path_factory.mktemp("town") / "logs.jsonl")
    made = ("--agents", "6", "--dialogues", "25", "--samples", "1", "--truth", "0", "--delexicalised")
    assert run(["simulate", "task", *made, "-o", logs, "-q"]) == 0
    return logs


@pytest.mark.slow
def test_the_returns_of_several_logging_agents_calibrate_the_values_of_a_task_reward(
    capsys, town: str, tmp_path: Path
) -> None:
    capsys.readouterr()
    given = ("--all", "--calibrate", "--db", "town", "-o", str(tmp_path))
    found = answer(capsys, town, *given, "--estimator", "critic[reward=success]")
    assert [row["target"] for row in found["results"]] == [f"grade-{n:02}" for n in range(6)]
    for row in found["results"]:
        assert row["diagnostics"]["calibrated"]
        assert 0 <= row["interval"][0] <= row["estimate"] <= row["interval"][1] <= 100
        assert row["n_clusters"] == 5
        assert row["raw"] != row["estimate"]
    (check,) = found["validation"]
    assert check["n_agents"] == 6
    assert check["coverage"] >= 5 / 6
    means = found["known"][0]["means"]
    assert {row["target"]: row["logged"] for row in found["results"]} == means
    # The line is drawn through the others alone: a target's own dialogues change nothing of its estimate.
    others = [one for one in native.read_all([town]) if one.agent != "grade-02"]
    alone = answer(
        capsys,
        written(tmp_path, others),
        "--target",
        "grade-02",
        *given[1:4],
        "--estimator",
        "critic[reward=success]",
    )
    whole = next(row for row in found["results"] if row["target"] == "grade-02")
    assert alone["results"][0]["estimate"] == pytest.approx(whole["estimate"])
    assert alone["results"][0]["interval"] == pytest.approx(whole["interval"])


@pytest.mark.slow
def test_a_logging_agent_needs_no_alternatives_in_its_own_dialogues(
    capsys, town: str, tmp_path: Path
) -> None:
    def without_own(one: Dialogue) -> Dialogue:
        turns = (
            replace(
                turn, alternatives={name: of for name, of in turn.alternatives.items() if name != one.agent}
            )
            for turn in one.turns
        )
        return replace(one, turns=tuple(turns))

    capsys.readouterr()
    given = (
        "--target",
        "grade-01",
        "--calibrate",
        "--estimator",
        "critic[reward=progress]",
        "-o",
    )
    before = answer(capsys, town, *given, str(tmp_path / "before"))["results"]
    logs = written(tmp_path, list(map(without_own, native.read_all([town]))))
    after = answer(capsys, logs, *given, str(tmp_path / "after"))["results"]
    assert after[0]["estimate"] == pytest.approx(before[0]["estimate"])


@pytest.mark.slow
def test_raw_values_of_agents_left_out_are_compared_with_their_returns_too(capsys, town: str) -> None:
    capsys.readouterr()
    found = answer(capsys, town, "--all", "--estimator", "critic[reward=progress]")
    assert [row["kind"] for row in found["results"]].count("control") == 6
    assert found["validation"][0]["n_agents"] == 6


ONTOLOGY = """
[domains.library]
table = "library_db.json"
offer = "title"
requestable = ["shelf"]
[booking]
slot = "loan"
[slots]
names = { "book title" = "title" }
near = []
from = []
until = []
times = []
joined = []
digits = []
[values]
anything = ["", "any"]
same = {}
[placeholders]
names = {}
known = ["title", "subject", "shelf", "loan"]
"""


def lent(dialogue: Dialogue) -> Dialogue:
    """The dinner as a visit to a library: another domain with other slots."""
    words = {"restaurant_name": "library_title", "restaurant_phone": "library_shelf", "value_name": "library_title",
             "value_phone": "library_shelf"}  # fmt: skip

    def moved(text: str) -> str:
        for before, after in words.items():
            text = text.replace(before, after)
        return text

    turns = []
    for turn in dialogue.turns:
        state = turn.state and {"library": {"subject": turn.state["restaurant"]["food"]}}
        said = {
            name: tuple(Reply(moved(one.content)) for one in of) for name, of in turn.alternatives.items()
        }
        turns.append(replace(turn, content=moved(turn.text), state=state, alternatives=said))
    subject = dialogue.goal["restaurant"]["info"]["food"]
    goal = {"library": {"info": {"subject": subject}, "reqt": ["shelf"]}}
    return replace(dialogue, turns=tuple(turns), goal=goal)


def test_another_ontology_is_a_folder_with_its_tables(
    capsys, dinners: list[Dialogue], tables: str, tmp_path: Path
) -> None:
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "ontology.toml").write_text(ONTOLOGY)
    rows = [{"id": str(n), "title": f"book {n}", "subject": food} for n, food in enumerate(FOODS)]
    (folder / "library_db.json").write_text(json.dumps(rows))
    there = written(folder, [lent(one) for one in dinners])
    name = f"critic[ontology={folder}]"
    assert run(["ope", there, "--target", "good,poor", "--estimator", name, *RAW]) == 0
    found = {row["target"]: row for row in json.loads(capsys.readouterr().out)["results"]}
    here = answer(capsys, written(tmp_path, dinners), "--target", "good,poor", "--db", tables)
    same = {row["target"]: row for row in here["results"]}
    assert found["clerk"]["logged"] == pytest.approx(same["clerk"]["logged"])  # the same dialogues succeed
    assert found["good"]["success"] == 100.0
    assert found["poor"]["success"] == 0.0
    assert found["good"]["estimate"] > found["poor"]["estimate"]
    assert "ontology:" in found["good"]["signature"]
    judge = PolicyEvaluator([lent(one) for one in dinners], ontology=str(folder))  # that of `train lava`
    assert list(judge.logged()) == [float(not _careless(one)) for one in dinners]
    said = refused(capsys, there, "--target", "good", code=2)
    assert "the goals are about library, and ontology `multiwoz` has restaurant" in said
    assert "critic[ontology=DIR]" in said


def test_a_logged_value_far_from_the_return_is_said(capsys, tmp_path: Path) -> None:
    logs = str(tmp_path / "logs.jsonl")
    made = ("--agents", "4", "--dialogues", "10", "--samples", "1", "--truth", "0", "--delexicalised")
    assert run(["simulate", "task", *made, "-o", logs, "-q"]) == 0
    name = "critic[reward=progress,fewest=30]"
    assert run(["ope", logs, "--target", "grade-03", "--estimator", name, "--no-calibrate"]) == 0
    assert f"note: {name}: the logged agent is valued" in capsys.readouterr().err


def test_progress_pays_each_turn_for_what_it_fulfils(dinners: list[Dialogue]) -> None:
    careful = next(one for one in dinners if not _careless(one))
    careless = next(one for one in dinners if _careless(one))
    words = ontology_of()
    assert task_log.progress(careful, words).tolist() == [50.0, 50.0]
    assert task_log.progress(careless, words).tolist() == [50.0, 0.0]


@pytest.mark.parametrize("mix", [("taxi",), ("attraction", "restaurant", "taxi"), ("train",)])
def test_a_perfect_systems_progress_comes_to_the_whole_goal_with_a_taxi_or_a_train_too(mix) -> None:
    system = task.System(task.WORLD.tracker)
    world = replace(task.WORLD, delexicalised=True)
    rngs = (np.random.default_rng(seed) for seed in range(400))
    goals = ((rng, draw_goal(world.tables, rng)) for rng in rngs)
    rng, goal = next((rng, goal) for rng, goal in goals if tuple(wish.domain for wish in goal) == mix)
    one = replace(world, goals=(goal,)).play(system, rng, others={})
    assert set(one.goal) == set(mix)
    assert task_log.progress(one, ontology_of()).sum() == pytest.approx(100.0)


@pytest.mark.parametrize("domain", ["police", "hospital"])
def test_where_nothing_can_be_found_nothing_need_be_offered(domain) -> None:
    turns = (
        Turn("user", "what is the phone number ?"),
        Turn("assistant", f"it is [{domain}_phone] .", state={domain: {"name": "that one"}}),
    )
    one = Dialogue("d", "clerk", turns, goal={domain: {"info": {}, "reqt": ["phone"]}})
    assert task_log.progress(one, ontology_of()).tolist() == [100.0]


def test_a_call_of_a_tool_is_no_turn_of_the_critic_whatever_the_reward(
    capsys, dinners: list[Dialogue], tables: str, tmp_path: Path
) -> None:
    call = Turn("assistant", None, extra={"tool_calls": [{"function": {"name": "find_restaurant"}}]})
    called = [replace(one, turns=(one.turns[0], call, *one.turns[1:])) for one in dinners]
    words = ontology_of()
    assert [task_log.progress(one, words).tolist() for one in called] == [
        task_log.progress(one, words).tolist() for one in dinners
    ]
    logs = written(tmp_path, called)
    options = ("--target", "good", "--db", tables, "--estimator", "critic[reward=progress]")
    assert run(["ope", logs, *options, *RAW]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    assert all(row["n_items"] == 2 * len(called) for row in rows)


def test_a_systems_own_dialogues_are_not_counted_among_its_items(
    capsys, dinners: list[Dialogue], tables: str, tmp_path: Path
) -> None:
    logs = written(tmp_path, [replace(one, agent="good") if n < 30 else one for n, one in enumerate(dinners)])
    found = answer(capsys, logs, "--target", "good,poor", "--db", tables)
    counts = {row["target"]: row["n_items"] for row in found["results"]}
    assert (counts["good"], counts["poor"]) == (2 * 130, 2 * 160)


def test_a_goal_is_derived_from_the_last_state_where_none_was_logged(dinners: list[Dialogue]) -> None:
    one = replace(dinners[0], goal=None)
    wanted = task_log.goal_of(one, ontology_of())
    assert wanted["restaurant"].constraints == dinners[0].turns[1].state["restaurant"]
    assert not wanted["restaurant"].requests


def test_without_goals_success_is_no_reward_but_progress_is(
    capsys, dinners: list[Dialogue], tables: str, tmp_path: Path
) -> None:
    logs = written(tmp_path, [replace(one, goal=None) for one in dinners])
    assert "critic[reward=progress]" in refused(capsys, logs, "--target", "good", "--db", tables, code=2)
    assert run(["ope", logs, "--target", "good", "--estimator", "critic[reward=progress]", *RAW]) == 0


def test_an_unknown_domain_in_a_goal_is_named_with_its_dialogue(
    capsys, dinners: list[Dialogue], tables: str, tmp_path: Path
) -> None:
    odd = [replace(dinners[0], goal={"casino": {"info": {}}}), *dinners[1:]]
    said = refused(capsys, written(tmp_path, odd), "--target", "good", "--db", tables, code=2)
    assert "casino" in said


def test_an_unknown_slot_of_a_state_is_one_more_thing_that_is_known(
    capsys, dinners: list[Dialogue], tables: str, tmp_path: Path
) -> None:
    def odd(turn: Turn) -> Turn:
        return (
            replace(turn, state={"restaurant": {**turn.state["restaurant"], "mood": "jolly"}})
            if turn.state
            else turn
        )

    logs = written(tmp_path, [replace(one, turns=tuple(map(odd, one.turns))) for one in dinners])
    assert answer(capsys, logs, "--target", "good", "--db", tables)["results"][0]["estimate"] is not None


def test_dialogues_without_system_turns_are_left_out_and_counted(
    capsys, dinners: list[Dialogue], tables: str, tmp_path: Path
) -> None:
    mute = Dialogue("mute", "clerk", (Turn("user", "hello ?"),), goal=dinners[0].goal)
    logs = written(tmp_path, [mute, *dinners])
    found = answer(capsys, logs, "--target", "good", "--db", tables)
    assert found["notes"] == ["1 dialogue left out: no system turn"]
    assert found["results"][0]["n_clusters"] == 160


def test_no_alternatives_anywhere_is_an_error_with_a_remedy(
    capsys, dinners: list[Dialogue], tables: str, tmp_path: Path
) -> None:
    bare = [
        replace(one, turns=tuple(replace(turn, alternatives={}) for turn in one.turns)) for one in dinners
    ]
    said = refused(capsys, written(tmp_path, bare), "--target", "@alternatives", "--db", tables, code=2)
    assert "turnwise respond" in said


def test_a_missing_venue_table_is_said(capsys, dinners: list[Dialogue], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("TURNWISE_DATA", raising=False)
    said = refused(capsys, written(tmp_path, dinners), "--target", "good", code=2)
    assert "--db DIR" in said


def test_ratings_of_several_agents_calibrate_the_critic_and_controls_stand_beside_it(
    capsys, tmp_path: Path
) -> None:
    logs = written(tmp_path, _rated(agents=6, dialogues=40))
    found = answer(capsys, logs, "--all", "--calibrate", "--model", "hashing")
    assert len(found["results"]) == 6
    about = found["critics"]["critic overall"]
    assert set(about["controls"]) == {"random", "truncated", "parrot", "generic", "goodbye", "stuffed"}
    check = found["validation"][0]
    assert check["estimator"] == "critic"
    given = [row for row in found["results"] if not row["refused"]]
    assert all(row["diagnostics"]["calibrated"] for row in given)


def _rated(agents: int, dialogues: int) -> list[Dialogue]:
    """Agents that answer on topic the more often, the better they are; raters like that."""
    rng = np.random.default_rng(3)
    topics = ("music", "films", "food", "sport", "books")
    found = []
    for agent in range(agents):
        for number in range(dialogues):
            turns: list[Turn] = []
            hits = 0
            for _ in range(3):
                topic = topics[int(rng.integers(5))]
                replies = {
                    f"a{other}": (
                        Reply(f"yes , i love {topic} too" if rng.random() < (other + 1) / agents else "hm"),
                    )
                    for other in range(agents)
                }
                own = replies[f"a{agent}"][0].content
                hits += topic in own
                turns += [
                    Turn("user", f"do you like {topic} ?"),
                    Turn("assistant", own, alternatives=replies),
                ]
            name = f"{agent}-{number}"
            rating = Rating(name, "overall", 1 + hits + float(rng.random() < 0.5), scale=(1.0, 5.0))
            found.append(Dialogue(name, f"a{agent}", tuple(turns), (rating,)))
    return found


def test_the_published_critic_answers_from_the_command_line_too(
    capsys, dinners: list[Dialogue], tables: str, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    name = "critic-paper[drawn=64,hidden=8,words=8,passes=2,batch=16]"
    logs = written(tmp_path, dinners)
    command = ["ope", logs, "--target", "good", "--db", tables, "--estimator", name, *RAW]
    assert run(command) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    assert [row["target"] for row in rows][:2] == ["clerk", "good"]
    assert all(0 <= row["estimate"] <= 100 for row in rows)
    assert "reward:success|gamma:0.9" in rows[0]["signature"]


def test_rated_single_replies_have_a_critic_without_controls(capsys, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    records = []
    for number in range(40):
        topic = ("music", "films", "food")[number % 3]
        for agent in range(6):
            hit = rng.random() < (agent + 1) / 6
            turns = (
                Turn("user", f"what of {topic} number {number} ?"),
                Turn("assistant", f"i love {topic}" if hit else "hm"),
            )
            name = f"{agent}-{number}"
            rating = Rating(f"{name}#1", "overall", 4.0 * hit + rng.random(), turn=1, scale=(0.0, 5.0))
            records.append(Dialogue(name, f"a{agent}", turns, (rating,)))
    found = answer(capsys, written(tmp_path, records), "--all", "--calibrate", "--model", "hashing")
    assert found["critics"]["critic overall"]["controls"] == {}
    raw = [row["raw"] for row in found["results"]]
    assert spearman(np.array(raw), np.arange(6.0)) > 0.8


@pytest.mark.slow
def test_graded_systems_of_the_task_world_are_ranked_and_no_control_reaches_them(capsys, town: str) -> None:
    capsys.readouterr()
    found = answer(capsys, town, "--all", "--calibrate", "--rating", "success", "--model", "hashing")
    raw = [row["raw"] for row in found["results"]]  # from the best grade to the worst
    assert spearman(np.array(raw), -np.arange(6.0)) >= 0.9
    assert not found["critics"]["critic success"]["fooled"]


def test_rated_small_talk_has_a_critic_though_its_goals_are_personas(capsys, tmp_path: Path) -> None:
    logs = str(tmp_path / "logs.jsonl")
    made = ("--agents", "4", "--dialogues", "15", "--samples", "1", "--truth", "0")
    assert run(["simulate", "chat", *made, "-o", logs, "-q"]) == 0
    capsys.readouterr()
    asked = ("--target", "flaw-00,flaw-03", "--rating", "overall", "--model", "hashing", "--no-calibrate")
    found = answer(capsys, logs, *asked)
    assert all(np.isfinite(row["raw"]) for row in found["results"])
    about = found["critics"]["critic overall"]
    assert {*about["controls"], *about["unvalued"]} == set(CONTROLS)


def test_semantic_acts_are_actions_from_the_command_line(
    capsys, dinners: list[Dialogue], tables: str, tmp_path: Path
) -> None:
    logs = written(tmp_path, dinners)
    command = ["ope", logs, "--target", "good,poor", "--db", tables, *RAW]
    assert run([*command, "--estimator", "critic[actions=semantic]"]) == 0
    rows = {row["target"]: row for row in json.loads(capsys.readouterr().out)["results"]}
    assert rows["good"]["estimate"] > rows["poor"]["estimate"]
    assert "actions:semantic|form:one" in rows["good"]["signature"]


@pytest.mark.slow
def test_on_multiwoz_every_control_lies_below_every_system_and_people_get_their_return(
    capsys, corpora: Path, tmp_path: Path
) -> None:
    found = answer(capsys, str(corpora / "multiwoz_valtest.jsonl.gz"), "--target", "@alternatives")
    rows = {row["target"]: row for row in found["results"]}
    assert abs(rows["human"]["estimate"] - rows["human"]["logged"]) < 0.5
    systems = [row["estimate"] for row in found["results"] if row["kind"] == "system"]
    controls = [row["estimate"] for row in found["results"] if row["kind"] == "control"]
    assert len(systems) == 13
    assert len(controls) == 6
    assert max(controls) < min(systems)
    about = found["critics"]["critic"]
    assert not about["fooled"]
    assert about["possible"] == pytest.approx(53.5, abs=0.1)
    assert len(about["above_possible"]) == sum(value > about["possible"] for value in systems)
    assert any("systems are valued above 53.5" in note for note in found["notes"])
