"""WhatsApp's exported chat: a text file with a message a line, `DATE, TIME - NAME: text` or `[DATE, TIME] NAME: text`.

Lines that begin with no date go on with the message before. Lines with a date and no name are notices of WhatsApp, and
media that were left out of the export have no text: both are counted. A pause of more than `--each HOURS` hours (24
if not given) begins a new dialogue. Who is the agent is not in an export: `--roles 'NAME=assistant,*=user'` says it.
"""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from turnwise.errors import DataError, Problem, UsageError, convert_option
from turnwise.logs.dialogue import from_record
from turnwise.logs.files import content
from turnwise.logs.readers import speakers
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options
from turnwise.types import Dialogue

START = re.compile(
    r"^[\u200e\u200f\ufeff]*\[?(?P<date>\d{1,4}[./-]\d{1,2}[./-]\d{1,4}),? "
    r"(?P<time>\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:[\s\u202f]?[AaPp]\.?[Mm]\.?)?)\]?(?: - |: | )(?P<rest>.*)$"
)
NAME = re.compile(r"(?P<name>[^:]{1,80}?): ?(?P<text>.*)$", re.DOTALL)
LEFT_OUT = re.compile(
    r"^[\u200e]*(<.*(omitted|weggelassen|omitido|omis|attached).*>|(image|video|audio|sticker|GIF|document) omitted)$",
    re.IGNORECASE,
)
PAUSE = 24.0  # hours without a message that end a dialogue


class _Message(NamedTuple):
    """One message: its time, its speaker's name and its text."""

    at: datetime
    name: str
    text: str


def recognises(sample: Sample) -> bool:
    """Whether half of the first lines or more begin with a date and a time."""
    lines = [line for line in sample.text.splitlines()[:20] if line.strip()]
    return sample.form in ("text", "table") and sum(bool(START.match(line)) for line in lines) >= max(
        1, len(lines) // 2
    )


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """Dialogues numbered from 1, split at long pauses; the agent's name is known only if one speaker is an assistant.

    Needs `options.roles`.
    """
    options = options or Options()
    said = list(_messages(path, options))
    if not said:
        raise DataError(Problem(path, None, "", "has no message; expected lines `DATE, TIME - NAME: text`"))
    roles = speakers.roles(Counter(one.name for one in said), options, file=path)
    agents = list(dict.fromkeys(one.name for one in said if roles[one.name] == "assistant"))
    for number, part in enumerate(_parts(said, _pause(options)), 1):
        native = {
            "id": str(number),
            "agent": agents[0] if len(agents) == 1 else None,
            "messages": [
                {"role": roles[one.name], "content": one.text, "name": one.name, "time": one.at.isoformat()}
                for one in part
            ],
        }
        yield from_record(native, default_id=str(number))


def _pause(options: Options) -> timedelta:
    """The pause that ends a dialogue: `--each` in hours, or 24 hours; anything but a number raises `UsageError`."""
    try:
        return timedelta(hours=float(options.each) if options.each else PAUSE)
    except ValueError:
        raise UsageError(
            f"{convert_option('--each', options.each)}: expected the hours of a pause that ends a dialogue"
        ) from None


def _parts(said: list[_Message], pause: timedelta) -> Iterator[list[_Message]]:
    """The messages split wherever more than `pause` lies between two of them; `said` must not be empty."""
    part = [said[0]]
    for one in said[1:]:
        if one.at - part[-1].at > pause:
            yield part
            part = []
        part.append(one)
    yield part


def _messages(path: str, options: Options) -> Iterator[_Message]:
    """The messages of a file in its order; text before the first date raises `DataError`."""
    lines = content(path).decode("utf-8-sig", errors="replace").splitlines()
    order = _order([match["date"] for line in lines if (match := START.match(line))])
    current: list[str] = []
    begun: tuple[datetime, int] | None = None
    for number, line in enumerate(lines, 1):
        match = START.match(line)
        if match is None:
            if begun is not None:
                current.append(line)
            elif line.strip():
                raise DataError(
                    Problem(
                        path,
                        number,
                        "",
                        "stands before the first message; expected `DATE, TIME - NAME: text`",
                    )
                )
            continue
        if begun is not None:
            yield from _said(begun[0], current, options)
        begun, current = (_time(match["date"], match["time"], order, path, number), number), [match["rest"]]
    if begun is not None:
        yield from _said(begun[0], current, options)


def _said(at: datetime, lines: list[str], options: Options) -> Iterator[_Message]:
    """The message that its lines make, as an iterator of one; of none for notices and left-out media, which are
    counted as dropped.
    """
    match = NAME.match("\n".join(lines).strip("\n"))
    if match is None:
        options.dropped["notices of WhatsApp"] += 1
    elif LEFT_OUT.match(match["text"].strip()) or not match["text"].strip():
        options.dropped["media that the export left out"] += 1
    else:
        yield _Message(at, match["name"].strip("\u200e\u200f "), match["text"].strip())


def _order(dates: list[str]) -> str:
    """The order of day, month and year as `dmy`, `mdy` or `ymd`, by a number above 12 somewhere in the file;
    day first if nothing decides.
    """
    numbers = [tuple(map(int, re.split(r"[./-]", date))) for date in dates]
    if any(one[0] > 31 for one in numbers):
        return "ymd"
    if any(one[0] > 12 for one in numbers):
        return "dmy"
    return "mdy" if any(one[1] > 12 for one in numbers) else "dmy"


def _time(date: str, time: str, order: str, path: str, line: int) -> datetime:
    """The time of a message, with two-digit years in the 2000s; an impossible date raises `DataError` with
    `path` and `line`.
    """
    parts = dict(zip(order, map(int, re.split(r"[./-]", date)), strict=True))
    clock = re.match(r"(\d+)[:.](\d+)(?:[:.](\d+))?\s*([AaPp])?", time.replace("\u202f", " "))
    hours, minutes, seconds = (int(clock[place] or 0) for place in (1, 2, 3)) if clock else (0, 0, 0)
    if clock and clock[4]:
        hours = hours % 12 + (12 if clock[4] in "Pp" else 0)
    year = parts["y"] + (2000 if parts["y"] < 100 else 0)
    try:
        return datetime(year, parts["m"], parts["d"], hours, minutes, seconds)
    except ValueError as error:
        raise DataError(
            Problem(path, line, "", f"has the time {date} {time}, which is none: {error}")
        ) from None
