"""Which --map is named for records and tables of an unknown shape."""

from typing import Any

import pytest

from turnwise.logs.suggestion import json_options, table_options


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        (("prompt", "Response", "model"), "--map 'context=prompt,response=Response'"),
        (("conv_id", "speaker", "text"), "--map 'id=conv_id,role=speaker,content=text'"),
        (("x", "text"), "--map 'id=...,role=...,content=text'"),
        (
            ("tweet_id", "author_id", "text", "in_response_to_tweet_id"),
            "--map 'message=tweet_id,reply_to=in_response_to_tweet_id,role=author_id,content=text'",
        ),
    ],
)
def test_usual_names_of_columns_are_filled_in(columns: tuple[str, ...], options: str) -> None:
    assert table_options(columns) == options


SAID = [{"who": "ann", "say": "hi"}]


@pytest.mark.parametrize(
    ("record", "options"),
    [
        ({"log": SAID}, "--map 'messages=log,role=who,content=say'"),
        ({"run": {"log": SAID}}, "--map 'messages=run.log,role=who,content=say'"),
        ({"runs": [{"log": SAID}]}, "--each 'runs[*]' --map 'messages=log,role=who,content=say'"),
        ({"question": "a", "answer": "b", "k": 1}, "--map 'context=question,response=answer'"),
        ({"question": 1, "answer": "b"}, "--map 'messages=...,role=...,content=...'"),
        ({"a log": SAID}, "--map 'messages=...,role=...,content=...'"),
        ({"log": [1], "": SAID}, "--map 'messages=...,role=...,content=...'"),
        ([1, 2], "--map 'messages=...,role=...,content=...'"),
        (None, "--map 'messages=...,role=...,content=...'"),
    ],
)
def test_paths_to_messages_are_found(record: Any, options: str) -> None:
    assert json_options(record) == options
