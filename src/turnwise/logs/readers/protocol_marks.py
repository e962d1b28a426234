"""Marks by which a simulated user tells the program something, such as `###STOP###`: they are no part of what was said.

A message keeps its marks under `protocol`; one that was nothing but marks has an empty text.
"""

import re
from typing import Any

from turnwise.logs.readers import openai

MARK = re.compile(r"\s*###(?:STOP|TRANSFER|OUT-OF-SCOPE)###\s*")
PROTOCOL = "protocol"  # the key of a message that has its marks


def without_marks(native: dict[str, Any]) -> dict[str, Any]:
    """The native message of a user without marks in its text; any other message is unchanged."""
    content = native.get("content")
    if native.get("role") != "user" or not isinstance(content, str) or not MARK.search(content):
        return native
    marks = [mark.strip() for mark in MARK.findall(content)]
    return {**native, "content": MARK.sub(" ", content).strip(), PROTOCOL: marks}


def message(value: Any) -> dict[str, Any]:
    """A message in OpenAI's form in native form, without marks."""
    return without_marks(openai.message(value))
