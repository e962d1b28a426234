"""What happened, in order: the only thing that is stored. An edit is one more event, so nothing is ever lost."""

from typing import Any, Literal

import msgspec

Kind = Literal[
    "study",  # the first: digests of the study and its data, and the server's secrets
    "rater",  # somebody was invited
    "given",  # a task was laid before a rater
    "said",  # a message of a live conversation
    "failed",  # an agent could not answer
    "ended",  # a live conversation is over
    "answered",  # a rater's judgement, or a correction of it
    "held",  # a written reply is kept back
    "released",  # a written reply is let through
    "doubted",  # a rater's places are given to others
    "trusted",  # and taken back
    "closed",  # nobody may answer any more
    "opened",  # answers are taken again
]


class Event(msgspec.Struct, frozen=True):
    seq: int  # 1, 2, 3, ... without a gap
    at: float  # seconds since 1970, UTC
    rater: str  # whose doing, or whom it concerns; "" for the server and its administrator
    kind: Kind
    body: dict[str, Any]
