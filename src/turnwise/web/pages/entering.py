"""What comes before the first task: the common link of a crowd, consent, and screening questions.

Whoever opens the common link with a parameter that names a person becomes a rater, once per person: opening it again,
on any device, leads to the same rater. Whoever knows another person's id on the platform can thus take their place, as
with every study that identifies people by the platform's parameters.
"""

from collections.abc import Mapping
from hashlib import sha256
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from turnwise.web.crowd.entry import Crowd
from turnwise.web.crowd.places import expire, places_left
from turnwise.web.pages import templates as pages
from turnwise.web.pages.rating import RaterPages
from turnwise.web.pages.security import RateLimiter, csrf_token, read_form
from turnwise.web.study.messages import texts
from turnwise.web.study.recorder import Recorder, new_token

JOIN_LIMIT = 2, 100  # people who join per second and burst of one network address
MAX_PARAMETER = 200  # most characters of a parameter of the link
PREVIEW = (
    "ASSIGNMENT_ID_NOT_AVAILABLE"  # MTurk's assignmentId while a worker looks at a task before accepting it
)


class EntryPages:
    """The handlers of requests before the first task."""

    def __init__(self, recorder: Recorder, rating: RaterPages) -> None:
        self._recorder, self._rating = recorder, rating
        self._texts = texts(recorder.ledger.study.language)
        self._limit = RateLimiter(*JOIN_LIMIT)

    async def look(self, request: Request) -> Response:
        """The page of the common link, which joins by a button; a person who has joined goes on where they were.

        Opening a link must not change anything, because mail programs and browsers open links in advance.
        """
        crowd, parameters = self._crowd(), self._parameters(request.query_params)
        person = _person(crowd, parameters)
        if person is None:
            names = ", ".join(crowd.person)
            return self._refusal(422, self._texts.fill("crowd.no_person", names=names))
        if parameters.get("assignmentId") == PREVIEW:
            return self._refusal(200, self._texts["crowd.preview"])
        if (known := self._recorder.ledger.by_person.get(person)) is not None and known.token:
            return self._rating.redirect(known)
        if self._is_full():
            return self._refusal(200, self._texts["crowd.full"])
        study = self._recorder.ledger.study
        proof = csrf_token(self._recorder.ledger.study_event["secret"], f"join:{person}")
        return pages.render(
            "join", study=study, t=self._texts, csrf_token=proof, address=f"/join?{urlencode(parameters)}"
        )

    async def join(self, request: Request) -> Response:
        """Make a rater for the person whom the link names, unless there is one, and go to the rater's page."""
        crowd, parameters = self._crowd(), self._parameters(request.query_params)
        person = _person(crowd, parameters)
        if person is None:
            raise HTTPException(404)
        self._limit.check(request.client.host if request.client else "")
        ledger = self._recorder.ledger
        await read_form(request, ledger.study_event["secret"], f"join:{person}")
        if self._recorder.write_error is not None:
            raise HTTPException(503, "error.cannot_store")
        rater = ledger.by_person.get(person)
        if rater is None or not rater.token:
            if ledger.closed or ledger.paused:
                raise HTTPException(409, "error.closed" if ledger.closed else "error.paused")
            if self._is_full():
                return self._refusal(200, self._texts["crowd.full"])
            name = _free_name(ledger.raters)
            self._recorder.record("joined", name, token=new_token(), person=person, parameters=parameters)
            rater = ledger.raters[name]
        await self._recorder.wait_until_stored()
        return self._rating.redirect(rater)

    async def consent(self, request: Request) -> Response:
        """Record whether the rater agrees to take part, with a digest of the text that was shown."""
        rater = self._rating.rater(request)
        fields = await self._rating.form(request, rater)
        if self._rating.stage(rater) == "consent" and fields.get("agreed") in ("yes", "no"):
            shown = sha256(self._recorder.ledger.study.consent.encode()).hexdigest()
            self._recorder.record("consented", rater.name, agreed=fields["agreed"] == "yes", text=shown)
            await self._recorder.wait_until_stored()
        return self._rating.redirect(rater)

    async def screen(self, request: Request) -> Response:
        """Record the answers to the screening questions; without an answer to each, the page is shown again (422)."""
        rater = self._rating.rater(request)
        fields = await self._rating.form(request, rater)
        if self._rating.stage(rater) != "screening":
            return self._rating.redirect(rater)
        asked = self._recorder.ledger.study.screening
        given = [fields.get(f"s{index}", "") for index in range(len(asked))]
        missing = [f"s{index}" for index, one in enumerate(asked) if given[index] not in one.options]
        if missing:
            problems = dict.fromkeys(missing[:1], self._texts["crowd.choose_one"])
            values = self._rating.common(rater) | {"problems": problems, "form": fields, "ahead": 0}
            return pages.render("screening", 422, **values)
        passed = all(answer in one.accepted for one, answer in zip(asked, given, strict=True))
        self._recorder.record("screened", rater.name, answers=given, passed=passed)
        await self._recorder.wait_until_stored()
        return self._rating.redirect(rater)

    def _crowd(self) -> Crowd:
        """The settings of the crowd; the error 404 if the study has none."""
        crowd = self._recorder.ledger.study.crowd
        if crowd is None:
            raise HTTPException(404)
        return crowd

    def _parameters(self, given: Mapping[str, str]) -> dict[str, str]:
        """The parameters of the link that the study keeps, cut to a sensible length."""
        crowd = self._crowd()
        names = (*crowd.person, *crowd.keep)
        return {name: given[name].replace("\0", "")[:MAX_PARAMETER] for name in names if given.get(name)}

    def _is_full(self) -> bool:
        """Whether no place is free or no task is left, after what people left undone for too long was given back."""
        ledger = self._recorder.ledger
        if self._recorder.write_error is None:
            expire(self._recorder)
        no_task = bool(ledger.open_tasks.others) and not ledger.open_tasks.raters_missing
        return places_left(ledger) == 0 or no_task

    def _refusal(self, status: int, words: str) -> Response:
        """A page that says why one cannot join."""
        return pages.render("message", status, title=self._texts["crowd.join"], message=words, t=self._texts)


def _person(crowd: Crowd, parameters: Mapping[str, str]) -> str | None:
    """The id of the person in the first parameter that names one, with the parameter's name; None without."""
    return next((f"{name}={parameters[name]}" for name in crowd.person if parameters.get(name)), None)


def _free_name(taken: Mapping[str, object]) -> str:
    """The first free name of `person-1`, `person-2`, ...; names never come from the platform."""
    number = len(taken) + 1
    while f"person-{number}" in taken:
        number += 1
    return f"person-{number}"
