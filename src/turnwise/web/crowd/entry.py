"""What a study asks of people before their first task, and how a crowd joins it. Fields are keys of the TOML file."""

from urllib.parse import urlsplit

import msgspec


class Screening(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A question that decides who may take part."""

    text: str
    options: tuple[str, ...]
    accepted: tuple[str, ...]  # options of people who may take part

    def problem(self) -> str | None:
        """What is wrong with the question, as the end of a sentence; None if it is valid."""
        if len(set(self.options)) < 2:
            return "has fewer than two different options"
        if not self.accepted or not set(self.accepted) <= set(self.options):
            return "has `accepted` that are not among its options"
        return None


class Training(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Practice tasks with known answers, before the first task."""

    data: str  # a file of dialogues: their ratings or preferences are the right answers, `meta.feedback` says why
    pass_mark: float = 0.8  # share of right answers that is needed
    tries: int = 2  # rounds before a person is sent away
    within: float = 0.0  # largest difference from the right answer that is right

    def problem(self) -> str | None:
        """What is wrong with the settings, as the end of a sentence; None if they are valid."""
        if not 0 < self.pass_mark <= 1:
            return f"has a pass_mark of {self.pass_mark:g}; expected more than 0 and at most 1"
        return "has fewer than one try" if self.tries < 1 else None


class Crowd(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How people of a crowd-sourcing platform join by one link, and what they get at the end."""

    person: tuple[str, ...] = (
        "PROLIFIC_PID",
        "workerId",
    )  # parameters of the link that name a person; first found
    keep: tuple[str, ...] = ("STUDY_ID", "SESSION_ID", "assignmentId", "hitId")  # further parameters to store
    quota: int | None = None  # people whose answers are wanted; None: no limit
    code: str = ""  # completion code; "": a code of each person's own
    screened_out_code: str = ""  # code of people who did not agree or were screened out
    failed_code: str = ""  # code of people who failed the practice
    return_url: str = ""  # address of the platform; {code} is replaced by the code
    pay: float | None = None  # payment of a person who finished
    currency: str = ""

    def problem(self) -> str | None:
        """What is wrong with the settings, as the end of a sentence; None if they are valid."""
        if not self.person:
            return "names no parameter for `person`"
        if self.quota is not None and self.quota < 1:
            return "has a quota below 1"
        if self.return_url and urlsplit(self.return_url).scheme not in ("https", "http"):
            return "has a return_url that does not begin with https://"
        return None

    @property
    def join(self) -> str:
        """The end of the common link, for the platform's settings; Prolific fills in `{{%NAME%}}`."""
        if self.person[0] != "PROLIFIC_PID":
            return f"/join?{self.person[0]}=..."
        names = ("PROLIFIC_PID", *(name for name in self.keep if name in ("STUDY_ID", "SESSION_ID")))
        return "/join?" + "&".join(f"{name}={{{{%{name}%}}}}" for name in names)

    def link(self, code: str) -> str:
        """The address to which a person with this code returns; "" if there is none."""
        return self.return_url.replace("{code}", code) if code else ""
