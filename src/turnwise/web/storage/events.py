"""The events of a study, the only thing that is stored. A correction is a further event, so no data is lost.

Only two things change stored events: a rater who withdraws, and the end of the time for which identities are kept.
Their content is then removed; the events stay, and a further event says so.
"""

from typing import Any, Literal

import msgspec

Kind = Literal[
    "study",  # the first event: digest of the study and its data, and the server's secrets
    "rater",  # a rater was invited
    "joined",  # a person of a crowd joined by the common link: a rater with the parameters of that link
    "renewed",  # a rater got a new link, and the old one stopped working
    "revoked",  # a rater's link stopped working
    "consented",  # a rater agreed to take part, or did not
    "screened",  # a rater's answers to the screening questions, and whether they may take part
    "trained",  # a rater finished a round of practice tasks
    "given",  # a task was given to a rater
    "expired",  # a rater did nothing for too long: the task and the place go to others
    "returned",  # a rater whose place had expired came back and got it again
    "completed",  # a rater of a crowd finished
    "said",  # a message of a live dialogue
    "failed",  # an agent gave no reply
    "ended",  # a live dialogue ended
    "answered",  # a rater's answer, or a correction of it
    "held",  # a written reply is withheld from the export
    "released",  # a written reply is approved for the export
    "doubted",  # a rater's answers no longer count, so others get the tasks too
    "trusted",  # a rater's answers count again
    "withdrawn",  # a rater left the study: the rater's earlier events were redacted
    "forgotten",  # the identity of a rater was erased, because it was kept for long enough
    "paused",  # the study takes no answers for the time being
    "closed",  # the study takes no more answers
    "opened",  # the study takes answers again
]
REDACTED = "redacted"  # key of the body of an event whose content was removed


class Event(msgspec.Struct, frozen=True):
    """One event of a study: number and time, the rater it concerns, its kind, and a body that depends on the kind."""

    seq: int  # 1, 2, 3, ... without a gap
    at: float  # seconds since 1970, UTC
    rater: str  # the rater who acted or is concerned; "" for the server and the administrator
    kind: Kind
    body: dict[str, Any]
