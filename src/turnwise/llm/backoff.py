"""How long to wait before the next try, by the headers that servers send with a rate limit.

`Retry-After` (seconds or a date) and `retry-after-ms` say it directly. Otherwise the reset of a limit that is used up
counts: `x-ratelimit-reset-requests` with `x-ratelimit-remaining-requests: 0` (OpenAI: `1s`, `6m0s`, `120ms`), and
`anthropic-ratelimit-requests-reset` (a time in ISO form), likewise for tokens.
"""

import re
from datetime import datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from math import isfinite
from time import time

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_LIMITS = ("requests", "tokens", "input-tokens", "output-tokens")


def wait_asked(head: Message) -> float:
    """The seconds that a server asks to wait; 0 if it does not say, or not in a form that is known."""
    for seconds in (_number(_text(head, "retry-after-ms"), 0.001), _retry_after(_text(head, "Retry-After"))):
        if seconds is not None:
            return max(0.0, seconds)
    return max((_reset(head, limit) for limit in _LIMITS), default=0.0)


def _text(head: Message, name: str) -> str:
    """A header as text; "" if it is absent. One that is no ASCII is an object of another type."""
    return str(head.get(name, ""))


def _retry_after(value: str) -> float | None:
    """Retry-After in seconds; None if it is absent or unreadable."""
    if value[:1].isdigit() and (seconds := _number(value)) is not None:
        return seconds
    try:
        return parsedate_to_datetime(value).timestamp() - time()
    except (ValueError, OverflowError):
        return None


def _reset(head: Message, limit: str) -> float:
    """Seconds until a limit that is used up is reset; 0 if it is not used up."""
    if _number(_text(head, f"x-ratelimit-remaining-{limit}")) == 0:
        return max(0.0, _span(_text(head, f"x-ratelimit-reset-{limit}")))
    if _number(_text(head, f"anthropic-ratelimit-{limit}-remaining")) == 0:
        try:
            until = datetime.fromisoformat(_text(head, f"anthropic-ratelimit-{limit}-reset"))
        except ValueError:
            return 0.0
        return max(0.0, until.timestamp() - time())
    return 0.0


def _span(text: str) -> float:
    """A span such as `6m0s`, or a number of seconds; 0 if it is neither."""
    parts = _SPAN.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text.strip():
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    return _number(text) or 0.0


def _number(text: str, unit: float = 1.0) -> float | None:
    """A text as a number of seconds; None if it is no number."""
    try:
        value = float(text) * unit if text else None
    except ValueError:
        return None
    return value if value is not None and isfinite(value) else None
