"""The first pass over files: counts, checksums, ids."""

import gzip
import hashlib
import json
import tracemalloc
from pathlib import Path

import pytest

from turnwise.errors import DataError
from turnwise.logs import ids as ids_module
from turnwise.logs import native
from turnwise.logs.ids import FileIds, IdSet
from turnwise.logs.scan import scan, survey


def written(path: Path, *records: dict[str, object]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def record(identity: str, **more: object) -> dict[str, object]:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]
    return {"id": identity, "agent": "bot", "messages": messages, **more}


def test_a_census_counts_what_is_there(tmp_path: Path) -> None:
    rated = [
        {"dimension": "overall", "value": 1, "rater": "r1", "turn": 1, "scale": [1, 5]},
        {"dimension": "overall", "value": 2, "rater": "r2", "scale": [1, 5]},
        {"dimension": "rude", "value": 2, "direction": "lower"},
    ]
    spoken = [
        {
            "role": "assistant",
            "content": "a",
            "references": ["b"],
            "alternatives": {"x": "c", "y": ["d", "e"]},
        }
    ]
    first = written(tmp_path / "a.jsonl", record("1", ratings=rated), record("2", agent="other"))
    second = written(tmp_path / "b.jsonl", record("3", messages=spoken))
    census = scan([first, second])
    assert (census.n_dialogues, census.n_messages) == (3, 5)
    assert list(census.agents.items()) == [("bot", 2), ("other", 1)]
    overall, rude = census.dimensions["overall"], census.dimensions["rude"]
    assert (overall.n_turn, overall.n_dialogue, list(overall.raters)) == (1, 1, ["r1", "r2"])
    assert (overall.scale, rude.scale) == ((1.0, 5.0), None)
    assert list(rude.directions) == ["lower"]
    assert census.turn_rated == frozenset({"overall"})
    assert census.has_references
    assert list(census.alternatives) == ["x", "y"]
    assert [(source.n_dialogues, source.turn_rated) for source in census.files] == [
        (2, frozenset({"overall"})),
        (1, frozenset()),
    ]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_the_checksum_is_of_the_bytes_as_stored(tmp_path: Path, name: str) -> None:
    source = written(tmp_path / "source", *(record(str(i)) for i in range(5000)))
    path = tmp_path / name
    native.write(native.read(source), str(path))
    assert scan([str(path)]).sha256 == {str(path): hashlib.sha256(path.read_bytes()).hexdigest()}


def test_the_same_id_in_two_files_is_an_error_that_names_both(tmp_path: Path) -> None:
    first, second = (
        written(tmp_path / "a.jsonl", record("1")),
        written(tmp_path / "b.jsonl", record("0"), record("1")),
    )
    with pytest.raises(DataError, match=r'b\.jsonl:2: \$\.id is "1", which is in .*a\.jsonl already'):
        scan([first, second])


def test_files_that_are_kept_apart_may_have_the_same_ids(tmp_path: Path) -> None:
    rated = record("1", ratings=[{"dimension": "o", "value": 1, "turn": 0}])
    paths = [written(tmp_path / "a.jsonl", rated, anonymous()), written(tmp_path / "b.jsonl", rated)]
    census = scan(paths, apart=True)
    assert (census.n_dialogues, census.apart) == (3, True)
    found = list(native.read_all(paths, apart=True))
    assert [dialogue.id for dialogue in found] == ["a:1", "a:2", "b:1"]
    assert [dialogue.ratings[0].item for dialogue in (found[0], found[2])] == ["a:1#0", "b:1#0"]
    with pytest.raises(DataError, match=r'"a:1", which is in .*a\.jsonl already; expected ids that differ$'):
        scan([written(tmp_path / "a.jsonl", record("1"), record("1")), paths[1]], apart=True)


def anonymous(**more: object) -> dict[str, object]:
    return {"messages": [{"role": "assistant", "content": "hi"}], **more}


def test_lines_without_an_id_are_told_apart_by_their_file(tmp_path: Path) -> None:
    rated = anonymous(ratings=[{"dimension": "o", "value": 1, "turn": 0}])
    paths = [
        written(tmp_path / "a.jsonl", rated, record("z")),
        written(tmp_path / "b.v2.jsonl", anonymous(), anonymous(id="x")),
    ]
    assert scan(paths).n_dialogues == 4
    found = list(native.read_all(paths))
    assert [dialogue.id for dialogue in found] == ["a:1", "z", "b.v2:1", "x"]
    assert found[0].ratings[0].item == "a:1#0"
    assert [dialogue.id for dialogue in native.read_all(paths[:1])] == ["1", "z"]  # alone: the line's number


def test_files_of_the_same_name_are_told_apart_by_their_path(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
    same = [written(tmp_path / name, anonymous()) for name in ("x/a.jsonl", "y/a.json")]
    other = tmp_path / "b.jsonl.gz"
    other.write_bytes(gzip.compress(json.dumps(anonymous()).encode()))
    paths = [*same, str(other)]
    assert scan(paths).n_dialogues == 3
    assert [dialogue.id for dialogue in native.read_all(paths)] == [f"{same[0]}:1", f"{same[1]}:1", "b:1"]


def test_a_file_given_twice_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", record("1"))
    with pytest.raises(DataError, match="is given twice"):
        scan([path, path])


def test_scales_that_differ_are_no_scale(tmp_path: Path) -> None:
    ratings = [{"dimension": "o", "value": 1, "scale": [1, high]} for high in (5, 7)]
    assert scan([written(tmp_path / "a.jsonl", record("1", ratings=ratings))]).dimensions["o"].scale is None


def test_a_survey_goes_on_past_problems(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", record("1"), {}, record("2"), {"messages": 3})
    problems: list[str] = []
    census = survey([path], lambda problem: problems.append(str(problem)))
    assert census.n_dialogues == 2
    assert len(problems) == 2


def test_the_small_corpora_are_clean(corpora: Path) -> None:
    for name in (
        "usr_persona.jsonl",
        "fed_turn.jsonl.gz",
        "engage.jsonl",
        "holistic.jsonl",
        "grade.jsonl.gz",
    ):
        assert scan([str(corpora / name)]).n_dialogues > 0


def test_a_set_of_ids_forgets_none_and_invents_none() -> None:
    seen = IdSet()
    for i in range(5000):
        seen.add(f"id {i}")
        seen.add(f"id {i}")
    assert len(seen) == 5000
    assert all(f"id {i}" in seen for i in range(5000))
    assert not any(f"id {i}" in seen for i in range(5000, 10_000))


def test_the_file_that_had_an_id_first_is_known_however_many_there_are() -> None:
    seen = FileIds()
    for file in range(40):
        seen.open(f"file {file}")
        for i in range(100):
            seen.add(f"id {100 * file + i}")
    assert len(seen) == 4000
    assert all(seen.first(f"id {i}") == f"file {i // 100}" for i in range(4000))
    assert not any(seen.first(f"id {i}") for i in range(4000, 8000))


def test_more_files_are_no_more_work_for_the_same_dialogues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [record(f"{i}") for i in range(40)]
    calls: list[int] = []
    true = ids_module._slot

    def counted(table, mark):
        calls[-1] += 1
        return true(table, mark)

    monkeypatch.setattr(ids_module, "_slot", counted)
    for n_files in (1, 20):
        calls.append(0)
        paths = [written(tmp_path / f"{n_files}-{i}.jsonl", *records[i::n_files]) for i in range(n_files)]
        assert scan(paths).n_dialogues == 40
    assert calls[0] == calls[1] > 0


def test_an_id_costs_no_more_than_its_hash() -> None:
    tracemalloc.start()
    seen = IdSet()
    for i in range(40_000):
        seen.add(f"{i}")
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size < 40_000 * 32  # a set of strings takes four times as much


def test_parts_that_are_no_text_are_counted_with_the_replies_that_come_after_them(tmp_path: Path) -> None:
    image = {"type": "image_url", "image_url": {"url": "a.png"}}
    sound = {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}
    text = {"type": "text", "text": "what is this ?"}
    seen = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},  # before the image: not counted
        {"role": "user", "content": [text, image, image]},
        {"role": "assistant", "content": "a cat"},
        {"role": "user", "content": "and its colour ?"},
        {"role": "assistant", "content": [{"type": "text", "text": "listen"}, sound]},
        {"role": "assistant", "content": [sound]},  # no text: no reply that a text metric scores
    ]
    path = written(tmp_path / "a.jsonl", record("1", messages=seen), record("2"))
    unseen = scan([path]).unseen
    assert (unseen.replies, unseen.n_replies) == (2, 4)
    assert unseen.parts == {"image": 2, "audio": 2}
    assert scan([written(tmp_path / "b.jsonl", record("2"))]).unseen.section() == {}


def test_raters_are_automatic_only_where_all_ratings_of_the_dimension_are(tmp_path: Path) -> None:
    def rating(dimension: str, rater: str | None, **more: object) -> dict[str, object]:
        return {"dimension": dimension, "value": 1, "rater": rater, **more}

    ratings = [
        rating("score", "gpt-4", automatic=True), rating("score", "gpt-3.5", automatic=True),
        rating("mixed", "gpt-4", automatic=True), rating("mixed", "ann"),
        rating("rude", "ann", automatic=False),
    ]  # fmt: skip
    chosen = [
        {"other": "b", "winner": "this", "rater": "gpt-4", "automatic": True},
        {"other": "b", "winner": "tie", "dimension": "mixed", "rater": "gpt-4", "automatic": True},
        {"other": "b", "winner": "tie", "dimension": "mixed", "rater": "ann"},
    ]
    path = written(tmp_path / "x.jsonl", record("a", ratings=ratings, preferences=chosen), record("b"))
    census = scan([path])
    assert census.automatic_raters == {"rating:score": ["gpt-4", "gpt-3.5"], "preference:overall": ["gpt-4"]}
    people = scan([written(tmp_path / "y.jsonl", record("c", ratings=ratings[-1:]))])
    assert people.automatic_section() == {}
