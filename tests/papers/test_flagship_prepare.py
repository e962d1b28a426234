"""The text of the readers' training: what it leaves out, and how it travels to a machine without a network."""

import gzip
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from papers.flagship import prepare
from papers.flagship.corpus import Corpus, table_arrays
from papers.flagship.prepare import parts
from papers.flagship.sources import SOURCES
from papers.rated_corpora import GROUPS, SHARED_WORDS, RatedText
from papers.rated_dimensions import DIALOGUES
from turnwise.encode.text.normalise import plain
from turnwise.logs import native

LINES = {"personachat": 400, "more/synthetic_personachat": 150}  # of these corpora, which share most
TESTED = 1200  # lines of each tested corpus


def lines_of(path: Path, count: int) -> str:
    """The first lines of a file, which may be compressed."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return "".join(islice(file, count))


@pytest.fixture(scope="module")
def some_data(tmp_path_factory) -> Path:
    """The first dialogues of every corpus that `prepare` reads."""
    from tests.conftest import CORPORA

    if not CORPORA.is_dir():
        pytest.skip("real corpora absent: set TURNWISE_DATA to their folder")
    folder = tmp_path_factory.mktemp("data")
    wanted = {file: TESTED for file, _ in DIALOGUES.values()}
    wanted |= {file: 20 for file, _, _ in GROUPS.values() if not file.startswith(("grade", "fbd"))}
    wanted |= {"grade.jsonl.gz": 1200, "fbd.jsonl.gz": 5690}  # all of their groups
    for name in SOURCES:
        file = next(f"{name}{end}" for end in (".jsonl.gz", ".jsonl") if (CORPORA / f"{name}{end}").exists())
        wanted[file] = LINES.get(name, 40)
    for file, count in wanted.items():
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        text = lines_of(CORPORA / file, count)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return folder


def test_no_tested_corpus_is_one_of_the_text() -> None:
    assert not set(DIALOGUES) & {name.removeprefix("more/") for name in SOURCES}


def test_a_dialogue_is_cut_at_turns_of_the_tested_text() -> None:
    tested = RatedText(["hi there what do you do for a living", "i see"])
    said = ["hello", "what do you do for a living", "i paint", "what do you paint", "i see", "horses"]
    assert parts(said, tested) == [(2, 6)]
    assert parts(said[::-1], tested) == [(0, 4)]
    assert parts(said[:2], tested) == []
    assert parts([*said, said[1], *said], tested) == [(2, 6), (9, 13)]


def test_the_text_shares_no_turn_with_the_tested_corpora(some_data, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(
        prepare, "token_table", lambda name, words, prefix: table_arrays(name, [[1]] * len(words))
    )
    monkeypatch.setattr(sys, "argv", ["", str(some_data), "-o", str(tmp_path)])
    prepare.main()
    corpus = Corpus.load(tmp_path)
    ranges, extra = corpus.arrays["dialogues"], corpus.arrays["extra"]
    turns = np.concatenate([*(np.arange(start, end) for start, end, _ in ranges), extra[:, 2]])
    texts = {corpus.text(corpus.turn(turn)) for turn in turns}
    long = {text for text in texts if len(text.split()) >= SHARED_WORDS}
    said = {
        plain(turn.text)
        for file, _ in DIALOGUES.values()
        for dialogue in native.read(str(some_data / file))
        for turn in dialogue.turns
    }
    # Whole turns, and the words that every turn begins with, which few lines of a loop can look up.
    assert not long & said
    begins = {
        tuple(words[at : at + SHARED_WORDS])
        for words in map(str.split, said)
        for at in range(len(words) - SHARED_WORDS + 1)
    }
    for text in long:
        if tuple(text.split()[:SHARED_WORDS]) in begins:
            assert not any(f" {text} " in f" {one} " for one in said), text
    assert len(long) > 2000
    sizes = ranges[:, 1] - ranges[:, 0]
    assert sizes.min() >= 2
    # An extra reply belongs to a dialogue of a corpus that has such replies.
    owners = {list(SOURCES)[source] for source in ranges[np.unique(extra[:, 0]), 2]}
    assert owners <= {
        "dailydialogpp",
        "more/dailydialogpp_positives",
        "more/mutual",
        "more/commonsense_dialogues",
    }
