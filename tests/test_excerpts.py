"""The excerpts of OpenAssistant and tau-bench that ship are what their rule says, and carry no personal data."""

import gzip
from pathlib import Path

import pytest

import turnwise as tw
from tests.user_variables import corpora
from tools import make_excerpts
from turnwise.logs import native
from turnwise.logs.redact import redact

DATA = make_excerpts.DATA
WILD = corpora().parent / "wild_more"
SOURCES = {"assistants": "oasst_trees.jsonl", "airline": "tau_bench_v1_airline_50x4.json.gz"}
PUBLISHED = {1: 0.420, 2: 0.273, 3: 0.220, 4: 0.200}  # pass^k of gpt-4o, tau-bench's README


def test_every_vote_is_between_two_answers_to_one_question() -> None:
    answers = {one.id: one for one in native.read(str(DATA / "assistants.jsonl.gz"))}
    votes = [(one, vote) for one in answers.values() for vote in one.preferences]
    assert (len(answers), len(votes)) == (142, 196)
    for one, vote in votes:
        assert vote.winner in ("this", "other", "tie")
        assert answers[vote.other].turns[0] == one.turns[0]
        assert answers[vote.other].turns[1] != one.turns[1]
    assert not any(redact(one).counts for one in answers.values())


def test_the_trials_of_gpt_4o_have_the_published_pass_rates() -> None:
    found = tw.reliability(DATA / "airline.jsonl.gz", metrics="rating:reward", k=[1, 2, 3, 4])
    rates = {one.k: one.estimate for one in found.findings if one.statistic == "pass^k"}
    assert rates == pytest.approx(PUBLISHED, abs=0.0005)


@pytest.mark.parametrize("name", SOURCES)
def test_the_rule_makes_the_file_that_ships(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (WILD / SOURCES[name]).is_file():
        pytest.skip("needs the published files")
    tw.convert(WILD / SOURCES[name], tmp_path / "native.jsonl", agent="gpt-4o" if name == "airline" else None)
    monkeypatch.setattr(make_excerpts, "DATA", tmp_path)
    monkeypatch.setattr("sys.argv", ["make_excerpts", name, str(tmp_path / "native.jsonl")])
    make_excerpts.main()
    ships, again = (
        gzip.decompress((folder / f"{name}.jsonl.gz").read_bytes()) for folder in (DATA, tmp_path)
    )
    assert again == ships
