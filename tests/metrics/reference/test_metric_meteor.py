"""METEOR: a worked example, its matching stages, the table of synonyms and the user's paraphrases."""

import gzip
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import pytest

from turnwise.errors import DataError, UsageError
from turnwise.metrics import resolve
from turnwise.metrics.reference.alignment import align
from turnwise.metrics.reference.meteor import Meteor
from turnwise.metrics.reference.porter import stem
from turnwise.metrics.reference.wordnet import PARTS, synsets


def words(text: str) -> list[str]:
    return text.split()


def score(reply: str, reference: str, metric: Meteor | None = None) -> float:
    return (metric or Meteor()).meteor(reply.split(), reference.split())


def synonyms(one: str, other: str) -> bool:
    return not synsets(one).isdisjoint(synsets(other))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "paraphrases.tsv"
    path.write_text("A lot of\tmany\n\nkick the bucket\tdie\nkick the bucket\tpass away\nbike\tcycle\n")
    return path


def test_meteor_of_a_worked_example() -> None:
    # 3 matches in 2 chunks (the cat | mat): P = 3/4, R = 3/5.
    precision, recall = 3 / 4, 3 / 5
    f = precision * recall / (0.9 * precision + 0.1 * recall)
    value = f * (1 - 0.5 * (2 / 3) ** 3)
    assert score("the cat and mat", "the cat sat on mat") == pytest.approx(value, abs=1e-15)


def test_no_common_word_and_an_empty_reply_score_zero() -> None:
    assert score("seven trees", "yellow music") == 0
    assert score("", "yellow music") == 0


@pytest.mark.parametrize(
    ("reply", "reference", "expected"),
    [
        ("the dog", "the dog", (2, 1)),
        ("connected rivers", "connecting river", (2, 1)),  # by stem
        ("my car", "my automobile", (2, 1)),  # by synonym
        ("bought cars", "purchased an automobile", (2, 2)),  # by synonym of the base form
        ("dog the", "the dog", (2, 2)),
        # The exact match comes first, though the stem would make one chunk of two.
        ("my cars and car", "my car", (2, 2)),
        # Where the number of matches is the same, the words go where they make fewer chunks.
        ("a b", "a x a b", (2, 1)),
        ("is is was", "was is been", (3, 2)),
        ("", "the dog", (0, 0)),
        ("the dog", "", (0, 0)),
    ],
)
def test_alignments_of_short_texts(reply: str, reference: str, expected: tuple[int, int]) -> None:
    assert align(words(reply), words(reference)) == expected


def test_very_repetitive_texts_are_aligned_well_in_limited_time() -> None:
    start = time.process_time()
    assert align(["again"] * 150, ["again"] * 120) == (120, 1)
    assert align(words("no way") * 60, words("way no") * 60) == (120, 2)
    assert time.process_time() - start < 5  # measured 0.4


def test_words_of_two_letters_are_not_stemmed() -> None:
    assert [stem(word) for word in ("is", "as", "i", "a")] == ["is", "as", "i", "a"]


def test_words_are_synonyms_through_any_synset_and_base_form() -> None:
    assert synonyms("car", "automobile")
    assert synonyms("went", "travels")
    assert synonyms("mice", "mouse")
    assert synonyms("happier", "glad")
    assert synonyms("men", "man")
    assert not synonyms("car", "banana")
    assert not synonyms("xyzzy", "xyzzy")


def test_closed_class_words_have_no_synonyms() -> None:
    for word, other in [
        ("as", "arsenic"),
        ("me", "maine"),
        ("i", "one"),
        ("can", "toilet"),
        ("was", "washington"),
    ]:
        assert not synonyms(word, other)


def test_the_wordnet_table_is_small_complete_and_has_a_licence() -> None:
    packed = files("turnwise.data").joinpath("wordnet.txt.gz").read_bytes()
    assert len(packed) < 600_000
    assert packed[4:8] == bytes(4)  # no time: the same input gives the same bytes
    heads = [line for line in gzip.decompress(packed).decode("ascii").splitlines() if line.startswith("= ")]
    assert heads == [f"= {kind}{part}" for part in PARTS for kind in ("", "irregular ")]
    licence = files("turnwise.data").joinpath("WORDNET-LICENSE").read_text("ascii")
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in licence
    assert "permission to use, copy, modify and distribute" in " ".join(licence.lower().split())


def test_the_wordnet_table_is_read_once_on_first_use_in_under_half_a_second() -> None:
    code = (
        "import time, turnwise.metrics.reference.meteor as m, turnwise.metrics.reference.wordnet as w;"
        "m.Meteor(); assert w.parts.cache_info().misses == 0;"
        "start = time.process_time(); w.synsets('car'); w.synsets('dog');"
        "assert w.parts.cache_info().misses == 1; print(time.process_time() - start)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(run.stdout) < 0.5


def test_a_paraphrase_is_one_match_that_counts_its_words_on_each_side(table: Path) -> None:
    metric = Meteor(table)
    # Matched: 5 of 5 and 3 of 3 words, in one chunk of (5 + 3) / 2 words.
    assert score("a lot of good friends", "many good friends", metric) == pytest.approx(
        1 - 0.5 * (1 / 4) ** 3
    )
    assert score("many good friends", "a lot of good friends", metric) == pytest.approx(
        1 - 0.5 * (1 / 4) ** 3
    )
    assert score("he will die", "he will pass away", metric) == score("he will die", "he will pass away")
    assert score("kick the bucket", "pass away", metric) == pytest.approx(1 - 0.5 * (2 / 5) ** 3)
    assert score("kick the bucket", "pass away") == 0


def test_a_phrase_that_occurs_in_both_texts_is_not_a_paraphrase(table: Path) -> None:
    metric = Meteor(table)
    for reply, reference in [
        ("a lot of tea", "many a lot of"),
        ("bike cycle", "cycle"),
        ("bike", "bike cycle"),
    ]:
        assert score(reply, reference, metric) == score(reply, reference)


def test_each_paraphrase_is_used_once(table: Path) -> None:
    assert score("bike bike", "cycle", Meteor(table)) == score("dog bike", "dog", Meteor(table))


def test_the_signature_contains_a_digest_of_the_paraphrases(table: Path) -> None:
    first = resolve("meteor", paraphrases=str(table)).signature
    assert str(first) != str(resolve("meteor").signature)
    table.write_text(table.read_text() + "sofa\tsettee\n")
    assert str(Meteor(table).signature) != str(first)


@pytest.mark.parametrize(
    "line", ["one phrase", "a\tb\tc", "a\t", "!\tb", "one two three four five six seven eight\tb"]
)
def test_an_invalid_line_of_paraphrases_is_an_error_with_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "bad.tsv"
    path.write_text(f"good\tfine\n{line}\n")
    with pytest.raises(DataError, match=r"bad\.tsv:2: is not two phrases of 1 to 7 words"):
        Meteor(path)


def test_a_missing_or_undecodable_file_of_paraphrases_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        Meteor(tmp_path / "none.tsv")
    (tmp_path / "latin.tsv").write_bytes("café\tbar\n".encode("latin-1"))
    with pytest.raises(UsageError, match="cannot be read"):
        Meteor(tmp_path / "latin.tsv")
