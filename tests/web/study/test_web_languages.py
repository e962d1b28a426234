"""Message files: every language has every text; attention checks, numbers and words follow the language."""

from importlib.resources import files

import pytest

from tests.studies import PLAIN, Starting, exported, ratings
from tests.visitor import Visitor
from turnwise.errors import DataError
from turnwise.web.pages.answers import count_words
from turnwise.web.study.definition import read_study
from turnwise.web.study.messages import SHIPPED, texts


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "ratings.db")


def english() -> str:
    return (files("turnwise.web") / "messages" / "en.toml").read_text("utf-8")


@pytest.mark.parametrize("language", SHIPPED)
def test_a_study_can_be_done_in_every_language(start: Starting, language: str):
    t = texts(language)
    study = start(language=language, quality={"shared": 0, "checks": 2, "repeats": 0})
    visitor = study.visitor()
    assert f'<html lang="{language}" dir="{t.direction}">' in visitor.html
    assert t["page.title"] in visitor.text
    visitor.send()
    checks = {t["check.give_low"]: "1", t["check.give_high"]: "5"}
    met = 0
    while visitor.is_asked:
        asked = [value for sentence, value in checks.items() if sentence in visitor.text]
        met += len(asked)
        visitor.send({"q0": asked[0] if asked else "3"})
    assert met == 2
    assert not study.recorder.ledger.raters["anna"].failed_check
    assert t["page.thanks"] in visitor.text
    assert len(ratings(exported(study.admin()))) == 12
    assert t["error.not_found"] in Visitor(study.client, "/r/none").text


@pytest.mark.parametrize("language", SHIPPED)
def test_written_checks_are_passed_in_every_language(start: Starting, language: str):
    t = texts(language)
    study = start(mode="write", language=language, quality={"shared": 0, "checks": 4, "repeats": 0})
    visitor = study.visitor().send()
    while visitor.is_asked:
        asked = [t[f"check.words_{k}"] for k in range(1, 5) if t[f"check.words_{k}"] in visitor.text]
        visitor.send({"text": asked[0] if asked else "one two three"})
        assert visitor.status == 200
    assert not study.recorder.ledger.raters["anna"].failed_check


def test_texts_differ_between_languages_and_english_words_do_not_remain():
    english_texts = texts("en")
    for language in SHIPPED[1:]:
        t = texts(language)
        same = [key for key in english_texts._texts if len(t[key]) > 12 and t[key] == english_texts[key]]
        assert same == []


def test_numbers_are_written_as_the_language_does():
    assert texts("en").number(1234.5) == "1,234.5"
    assert texts("de").number(1234.5) == "1.234,5"
    assert texts("fr").number(12345) == "12 345"
    assert (
        texts("de").fill("question.too_long", n=12345, most=10000).startswith("Der Text hat 12.345 Zeichen")
    )


def test_a_language_can_be_added_by_one_file(start: Starting, tmp_path):
    (tmp_path / "it.toml").write_text(
        english().replace('language = "en"', 'language = "it"').replace('"Save"', '"Salva"')
    )
    (tmp_path / "study.toml").write_text('language = "it.toml"\n')
    study = start(file=str(tmp_path / "study.toml"), **PLAIN)
    visitor = study.visitor().send()
    assert '<html lang="it"' in visitor.html
    assert "Salva" in visitor.text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('save = "Save"\n', ""), r"page\.save is missing"),
        (('save = "Save"\n', 'save = "Save"\nsaave = "x"\n'), r"page\.saave is unknown"),
        (('"Task {n}"', '"Task {m}"'), r"page\.task has the places \['m'\]; expected \['n'\]"),
        (('direction = "ltr"', 'direction = "up"'), "expected ltr or rtl"),
    ],
)
def test_an_incomplete_message_file_is_refused(tmp_path, change, words):
    (tmp_path / "xx.toml").write_text(english().replace(*change, 1))
    (tmp_path / "study.toml").write_text('language = "xx.toml"\n')
    with pytest.raises(DataError, match=words):
        read_study(str(tmp_path / "study.toml"))


def test_words_of_scripts_without_spaces_are_counted_by_characters():
    assert count_words("what would you say") == 4
    assert count_words("我会先查一下。") == 7
    assert count_words("ok 好的") == 3
