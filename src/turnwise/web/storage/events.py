"""The events of a study, the only thing that is stored. A correction is a further event, so no data is lost."""

from typing import Any, Literal

import msgspec

Kind = Literal[
    "study",  # the first event: digest of the study and its data, and the server's secrets
    "rater",  # a rater was invited
    "given",  # a task was given to a rater
    "said",  # a message of a live dialogue
    "failed",  # an agent gave no reply
    "ended",  # a live dialogue ended
    "answered",  # a rater's answer, or a correction of it
    "held",  # a written reply is withheld from the export
    "released",  # a written reply is approved for the export
    "doubted",  # a rater's answers no longer count, so others get the tasks too
    "trusted",  # a rater's answers count again
    "closed",  # the study takes no more answers
    "opened",  # the study takes answers again
]


class Event(msgspec.Struct, frozen=True):
    """One event of a study: number and time, the rater it concerns, its kind, and a body that depends on the kind."""

    seq: int  # 1, 2, 3, ... without a gap
    at: float  # seconds since 1970, UTC
    rater: str  # the rater who acted or is concerned; "" for the server and the administrator
    kind: Kind
    body: dict[str, Any]
