"""A metric at an HTTP address: it is sent replies with their contexts and answers with numbers.

The request is a POST of what a `module:function` metric is given, a JSON list of `{"context", "response",
"references"}`; the answer is a JSON list of numbers, of which null says that a reply could not be scored.
"""

import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import msgspec

from turnwise.errors import UsageError

TIMEOUT = 60.0  # seconds


def http_function(address: str) -> Callable[[list[dict[str, Any]]], list[float | None]]:
    """A function that POSTs its records to the address and returns the list of numbers that is answered.

    It raises `UsageError` if the address cannot be reached within 60 seconds or answers anything else.
    """

    def scores(records: list[dict[str, Any]]) -> list[float | None]:
        """The answered numbers, None for a record that was not scored; raises `UsageError` for any other answer."""
        data = msgspec.json.encode(records)
        request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                body: bytes = answer.read()
        except (urllib.error.URLError, TimeoutError, OSError) as error:
            raise UsageError(f"the metric at {address} cannot be asked: {error}") from error
        try:
            return msgspec.json.decode(body, type=list[float | None])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"the metric at {address} answered no list of numbers: {error}") from error

    return scores
