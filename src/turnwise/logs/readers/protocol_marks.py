"""Marks by which a simulated user tells the program something, such as `###STOP###`: they are no part of what was said.

A message keeps its text with the marks under `source_content`; one that was nothing but marks has an empty text.
"""

import re
from typing import Any

from turnwise.logs.readers import openai

MARK = re.compile(r"\s*###(?:STOP|TRANSFER|OUT-OF-SCOPE)###\s*")
WHOLE = "source_content"  # the key of a message that has its text with the marks


def without_marks(native: dict[str, Any]) -> dict[str, Any]:
    """The native message of a user without marks in its text; any other message is unchanged."""
    content = native.get("content")
    if native.get("role") != "user" or not isinstance(content, str) or not MARK.search(content):
        return native
    return {**native, "content": MARK.sub(" ", content).strip(), WHOLE: content}


def message(value: Any) -> dict[str, Any]:
    """A message in OpenAI's form in native form, without marks."""
    return without_marks(openai.message(value))
