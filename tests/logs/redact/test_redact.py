"""`turnwise.logs.redact`: each kind of personal data, stable placeholders, and nothing else changed."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import turnwise
from tests.console import run
from turnwise.logs.dialogue import as_record, from_record
from turnwise.logs.redact import NOT_COMPLETE, find, redact
from turnwise.logs.redact.patterns import has_secret, is_card, is_iban
from turnwise.types import Dialogue


def dialogue(*contents: str, **more: Any) -> Dialogue:
    roles = ("user", "assistant")
    messages = [{"role": roles[place % 2], "content": content} for place, content in enumerate(contents)]
    return from_record({"id": "1", "agent": "bot", "messages": messages, **more}, default_id="1")


def redacted(*contents: str) -> list[str]:
    return [turn.text for turn in redact(dialogue(*contents)).dialogue.turns]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My name is Zarna Bhalla.", "My name is [PERSON_1]."),
        ("my name is zarna", "my name is [PERSON_1]"),
        ("I saw Dr. van der Heyden today", "I saw Dr. [PERSON_1] today"),
        ("Hi Zarna, all well?", "Hi [PERSON_1], all well?"),
        ("See you.\n\nBest regards,\nJózef Rajtar", "See you.\n\nBest regards,\n[PERSON_1]"),
        ("I met Susan's brother", "I met [PERSON_1]'s brother"),
        ("Mail ann+x@mail.example.co.uk.", "Mail [EMAIL_1]."),
        ("Call (212) 555-0123 now", "Call [PHONE_1] now"),
        ("It is +49 89 1234567.", "It is [PHONE_1]."),
        ("their phone is 01223351241 .", "their phone is [PHONE_1] ."),
        ("card 4111-1111-1111-1111!", "card [CARD_1]!"),
        ("amex 378282246310005", "amex [CARD_1]"),
        ("to DE89 3704 0044 0532 0130 00 please", "to [IBAN_1] please"),
        ("from 192.168.7.20, twice", "from [IP_1], twice"),
        ("from 2001:db8::8a2e:370:7334 too", "from [IP_1] too"),
        ("see https://x.org/r?token=abc123def.", "see [URL_1]."),
        ("https://ann:secret@x.org/a", "[URL_1]"),
        ("key sk-proj-Abc123Abc123Abc123Abc1 leaked", "key [KEY_1] leaked"),
        ("password: hunter2hunter2", "password: [KEY_1]"),
        ("password: hunter2!", "password: [KEY_1]"),
        ("password: letmein.", "password: [KEY_1]."),
        ("my password is Tr0ub4dor&3", "my password is [KEY_1]"),
        ("pw=secret123, ok?", "pw=[KEY_1], ok?"),
        ('the passcode was "open sesame".', 'the passcode was "[KEY_1]".'),
        ("I changed my password to sEsame!", "I changed my password to [KEY_1]"),
        ("I am Nguyen Van An.", "I am [PERSON_1]."),
        ("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----", "[KEY_1]"),
    ],
)
def test_each_kind_is_replaced(text: str, expected: str):
    assert redacted(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "The password is not working.",
        "password: forgotten",
        "Your password: ********",
        "Passwords have 8 characters or more.",
        "The password is 12 characters long.",
        "A boarding pass is free, a bypass: no.",
        "An order came.",
    ],
)
def test_sentences_about_passwords_are_left(text: str):
    assert redacted(text) == [text]


def test_a_key_that_says_password_makes_any_value_one():
    call = {
        "type": "function",
        "function": {"name": "login", "arguments": '{"password": "abc", "pin": 4821}'},
    }
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    done = redact(from_record({"id": "1", "agent": "bot", "messages": [said]}, default_id="1"))
    (changed,) = done.dialogue.turns[0].tool_calls
    assert json.loads(changed["function"]["arguments"]) == {"password": "[KEY_1]", "pin": "[KEY_2]"}


@pytest.mark.parametrize(
    "text",
    [
        "It costs $1,250.00 for 3 nights in room 1204.",
        "Flight BA2490 leaves at 10:30 on 2024-10-15, 15.10.2024 or 10/15/2024.",
        "I updated to version 1.2.3.4 of the app.",
        "Your order number is 2125550123.",
        "I'm American and this is Sunday.",
        "Thank you, Sir. Good Morning, Everyone!",
        "Trinity College is on Gilbert Road.",
        "See https://www.example.com/help/contact for more.",
        "The commit is 9fceb02d0ae598e95dc970b74767f19372d61af8.",
        "std::vector and 127.0.0.1 are fine at 12:30:45.",
        "card 4111 1111 1111 1112, to DE88 3704 0044 0532 0130 00",
    ],
)
def test_ordinary_text_is_left(text: str):
    assert redacted(text) == [text]


def test_checksums_decide():
    assert is_card("4111111111111111")
    assert not is_card("4111111111111112")
    assert not is_card("0000000000000000")
    assert is_iban("GB82WEST12345698765432")
    assert not is_iban("GB83WEST12345698765432")
    assert not is_iban("GB82WEST1234569876543")
    assert has_secret("https://x.org/?X-Amz-Signature=abcdef")
    assert not has_secret("https://x.org/search?q=token")


def test_a_value_has_one_placeholder_in_all_places_of_a_dialogue():
    call = {
        "name": "find",
        "arguments": '{"first_name": "Susan", "contact": "susan@x.org", "card": 4111111111111111}',
    }
    given = from_record(
        {
            "id": "1",
            "agent": "bot",
            "messages": [
                {"role": "user", "content": "Susan here, susan@x.org", "name": "Susan Lamb"},
                {
                    "role": "assistant",
                    "content": "Hello Susan.",
                    "references": ["Dear Ms. Lamb, 4111 1111 1111 1111?"],
                    "alternatives": {
                        "b": ["Hi Susan!", {"content": "Mail SUSAN@x.org", "outcome": {"r": 1}}]
                    },
                    "tool_calls": [{"id": "c", "type": "function", "function": call}],
                },
                {"role": "user", "content": [{"type": "text", "text": "I am Susan."}]},
            ],
            "ratings": [{"dimension": "q", "value": 1, "rater": "r", "turn": 1, "comment": "rude to Susan"}],
            "meta": {"by": ["susan@x.org", 7]},
        },
        default_id="1",
    )
    done = redact(given)
    record = as_record(done.dialogue)
    user, reply, last = record["messages"]
    assert user == {"role": "user", "content": "[PERSON_1] here, [EMAIL_1]", "name": "[PERSON_1]"}
    assert reply["content"] == "Hello [PERSON_1]."
    assert list(reply["references"]) == ["Dear Ms. [PERSON_1], [CARD_1]?"]
    assert reply["alternatives"]["b"][0] == "Hi [PERSON_1]!"
    assert reply["alternatives"]["b"][1]["content"] == "Mail [EMAIL_1]"
    assert json.loads(reply["tool_calls"][0]["function"]["arguments"]) == {
        "first_name": "[PERSON_1]",
        "contact": "[EMAIL_1]",
        "card": "[CARD_1]",
    }
    assert last["content"] == [{"type": "text", "text": "I am [PERSON_1]."}]
    assert done.dialogue.turns[2].content == "I am [PERSON_1]."
    assert record["ratings"][0]["comment"] == "rude to [PERSON_1]"
    assert record["meta"] == {"by": ["[EMAIL_1]", 7]}
    assert done.counts == {"PERSON": 8, "EMAIL": 4, "CARD": 2}


def test_different_values_have_different_placeholders():
    assert redacted("I met Susan Lamb and Susan Brown, a@x.org, b@x.org") == [
        "I met [PERSON_1] and [PERSON_2], [EMAIL_1], [EMAIL_2]"
    ]


def test_numbers_start_anew_in_every_dialogue():
    assert redacted("a@x.org")[0] == redacted("b@x.org")[0] == "[EMAIL_1]"


def test_a_name_is_known_in_turns_before_the_one_that_introduces_it():
    assert redacted("Is Zarna in?", "My name is Zarna.") == ["Is [PERSON_1] in?", "My name is [PERSON_1]."]


def test_placeholders_of_the_source_keep_their_numbers():
    assert redacted("[EMAIL_1] and a@x.org") == ["[EMAIL_1] and [EMAIL_2]"]


def test_a_dialogue_without_personal_data_is_returned_as_it_is():
    given = dialogue("How much is it?", "Twelve pounds.", meta={"n": 3, "ok": True, "x": None})
    assert redact(given).dialogue is given


def test_nothing_but_texts_changes():
    given = dialogue(
        "Susan here",
        "Hello.",
        ratings=[{"dimension": "Susan", "value": 3, "rater": "Susan", "turn": 1, "scale": [1, 5]}],
        preferences=[{"other": "Susan", "winner": "tie", "rater": "Susan"}],
        goal={"n": 1.5, "nested": [{"flag": False}]},
    )
    done = redact(given)
    assert replace(done.dialogue, turns=given.turns) == given
    assert done.identifiers == 1  # the rater


def test_json_inside_a_text_stays_json_and_keeps_its_other_values():
    inner = '{"ok":true,"n":1,"mail":"a@x.org","note":"caf\\u00e9 \\"x\\""}'
    done = redact(dialogue("x", inner)).dialogue.turns[1].text
    assert json.loads(done) == {**json.loads(inner), "mail": "[EMAIL_1]"}
    assert "\\u00e9" in done
    assert ": " not in done


def test_keys_of_tool_arguments_say_what_a_value_is():
    call = {
        "name": "book",
        "arguments": '{"passenger_name": "Zarna", "phone": 5550123, "api_key": "abcdefgh"}',
    }
    messages = [{"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": call}]}]
    done = redact(from_record({"id": "1", "agent": "b", "messages": messages}, default_id="1"))
    arguments = done.dialogue.turns[0].extra["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments) == {
        "passenger_name": "[PERSON_1]",
        "phone": "[PHONE_1]",
        "api_key": "[KEY_1]",
    }


PIECES = st.sampled_from(
    [
        "Susan", "susan lamb", "My name is", "Dr.", "Zarna", "a@x.org", "4111 1111 1111 1111", "(212) 555-0123",
        "+49 89 1234567", "10.2.3.4", "https://x.org/?token=abcd1234", "DE89 3704 0044 0532 0130 00",
        "token: abc123abc", "[PERSON_1]", "[KEY_2]", "Hi", ",", ".", "\n", "Regards,\n", "7", "-", "and", "called", "_",
        '{"a": "b@x.org"}',
    ]
)  # fmt: skip
TEXTS = st.one_of(
    st.lists(st.tuples(PIECES, st.sampled_from(["", " "])), max_size=8).map(
        lambda pairs: "".join(piece + space for piece, space in pairs)
    ),
    st.text(max_size=40),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_redacting_twice_changes_nothing_more(contents: list[str]):
    once = redact(dialogue(*contents))
    twice = redact(once.dialogue)
    assert twice.dialogue == once.dialogue
    assert not twice.counts


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_spans_do_not_overlap(text: str):
    spans = sorted(find(text))
    assert all(one.end <= other.start for one, other in pairwise(spans))


def test_the_command_and_the_function_report_counts_and_that_they_are_not_complete(tmp_path: Path):
    record = {
        "messages": [
            {"role": "user", "content": "I am Susan, a@x.org"},
            {"role": "assistant", "content": "Hi."},
        ]
    }
    (tmp_path / "in.jsonl").write_text(json.dumps(record) + "\n")
    done = turnwise.convert(tmp_path / "in.jsonl", tmp_path / "out.jsonl", reader="native", redact=True)
    assert done.redacted == {"PERSON": 1, "EMAIL": 1}
    assert f"redacted: 1 PERSON, 1 EMAIL; {NOT_COMPLETE}" in str(done)
    assert "Susan" not in str(done)
    assert not re.search("Susan|a@x", (tmp_path / "out.jsonl").read_text())
    status, said = run("turnwise convert --from native --redact in.jsonl again.jsonl", tmp_path)
    assert status == 0
    assert NOT_COMPLETE in said
    assert (tmp_path / "again.jsonl").read_text() == (tmp_path / "out.jsonl").read_text()


def test_without_redact_nothing_is_replaced_or_said(tmp_path: Path):
    record = {
        "messages": [{"role": "user", "content": "I am Susan"}, {"role": "assistant", "content": "Hi."}]
    }
    (tmp_path / "in.jsonl").write_text(json.dumps(record) + "\n")
    done = turnwise.convert(tmp_path / "in.jsonl", tmp_path / "out.jsonl", reader="native")
    assert done.redacted is None
    assert "redacted:" not in str(done)
    assert "Susan" in (tmp_path / "out.jsonl").read_text()


def test_raters_that_look_like_personal_data_are_kept_and_named(tmp_path: Path):
    record = as_record(
        dialogue("Hi", "Hello", ratings=[{"dimension": "q", "value": 1, "rater": "ann@x.org"}])
    )
    (tmp_path / "in.jsonl").write_text(json.dumps(record) + "\n")
    done = turnwise.convert(tmp_path / "in.jsonl", tmp_path / "out.jsonl", reader="native", redact=True)
    assert any("not redacted" in note for note in done.notes)
    assert "ann@x.org" in (tmp_path / "out.jsonl").read_text()
