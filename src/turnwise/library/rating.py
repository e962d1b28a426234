"""`rate` and `export_ratings`: people rate dialogues in a browser, and the ratings are written with the dialogues."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast
from urllib.parse import urlsplit

from turnwise.errors import MissingExtra, UsageError, counted
from turnwise.library.arguments import (
    UNCHECKED,
    Count,
    Names,
    Natural,
    PathLike,
    Range,
    checked,
    optional_path,
    paths,
    split_names,
)
from turnwise.library.data import Where, files, selected
from turnwise.library.reading import MappingLike
from turnwise.logs.items.items import ItemChoice, Selection
from turnwise.types import Role

if TYPE_CHECKING:
    from turnwise.settings.groups import ScoredRole
    from turnwise.types import Agent, Dialogue
    from turnwise.web.study.definition import Study
    from turnwise.web.study.drawing import Drawing
    from turnwise.web.study.ledger import Ledger
    from turnwise.web.study.recorder import Recorder

Mode = Literal["reply", "dialogue", "pairwise", "write", "chat"]
MOST_RATERS = 10_000
_READABLE = (
    "these links use http: everyone on the way can read the links, texts and answers. On an open network put an https "
    "proxy in front and give --url (docs/rate-serve.md)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingLinks:
    """The addresses of a running study."""

    admin: str  # page of the administrator
    raters: Mapping[str, str]  # rater -> the page on which they rate
    store: str  # where the ratings are stored, without a password
    join: str = ""  # the common link of a crowd; "" if the study has none
    note: str = ""  # what the organiser has to know about the address

    def __str__(self) -> str:
        """One line a link: `admin`, `join` if there is one, then the raters."""
        links = {"admin": self.admin, **({"join": self.join} if self.join else {}), **self.raters}
        width = max(map(len, links))
        return "\n".join(f"{name:<{width}}  {link}" for name, link in links.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedRatings:
    """What `export_ratings` wrote."""

    path: str
    n_dialogues: int
    n_drawn: int = 0  # dialogues that were drawn to be rated (`choose`)
    n_unrated: int = 0  # of these, those without a rating so far

    def __str__(self) -> str:
        written = f"{self.path}: {counted(self.n_dialogues, 'dialogue')} written"
        if not self.n_unrated:
            return written
        return (
            f"{written}\nnote: {self.n_unrated} of the {self.n_drawn} drawn dialogues have no rating yet; the weights "
            "hold when all are rated"
        )


@checked
def rate(
    data: PathLike | Sequence[PathLike],
    *,
    reader: str | None = None,
    mapping: MappingLike | None = None,
    study: PathLike | None = None,
    mode: Mode | None = None,
    store: str | None = None,
    raters: int | Names | None = None,
    per_task: Count | None = None,
    whole: bool | None = None,
    agents: str | Sequence[str] | Mapping[str, str] = (),
    host: str = "127.0.0.1",
    port: Annotated[int, Range(least=0, most=65535)] = 8765,
    url: str | None = None,
    choose: Count | None = None,
    metric: str | None = None,
    to: str | None = None,
    labels: str | None = None,
    seed: Natural | None = None,
    as_agents: Names = (),
    items: ItemChoice | None = None,
    role: Role = "assistant",
    where: Where | None = None,
    by: Names | None = None,
    pair: str | None = None,
    cluster: str | None = None,
    limit: Count | None = None,
    announce: Annotated[Callable[[RatingLinks], None], UNCHECKED] = print,
) -> None:
    """Let people rate dialogues, or chat with agents and rate them, in a browser; serves until it is interrupted.

    The same call goes on where it stopped. Nothing leaves this machine.

    Parameters:
        data: Files of dialogues.
        reader: The format of the files where it is not the native one, as `turnwise ls readers` lists it.
        mapping: As in `score`.
        study: A TOML file of questions, wording, scales and quality control.
        mode: What raters do. Default: the study's, else reply.
        store: Where ratings are stored: a file, or postgresql://... Default: the data's name with .ratings.db.
        raters: How many raters to invite, or their names. More can be invited later. Default: 3; none if the study
            has a [crowd], which joins by a common link.
        per_task: Raters for each task. Default: the study's, else 3.
        whole: With mode pairwise, compare whole dialogues; `pair` is the key that pairs them.
        agents: With mode chat, the agents to chat with, as in `respond`: name -> address, addresses, or NAME=ADDRESS.
        host: Address to listen on.
        port: Port to listen on; 0 takes a free one.
        url: The address of this server for raters, where it is behind a proxy.
        choose: Draw this many dialogues, and let people rate only these: those whose ratings narrow the estimates of
            `calibrate` most. The export has all dialogues, with weights for `labels="weights:meta.weight"`.
        metric: With `choose`, the metric whose expected error decides. Not needed where nothing is rated yet.
        to: With `choose`, the rating, as `rating:DIMENSION`. Default: overall, else the only one.
        labels: With `choose`, how the dialogues that are rated already were drawn: `random` or `weights:KEY`.
        seed: Seed of the order, the assignment and the draw. Default: the study's.
        as_agents: Show what these agents would have said at the logged points.
        items: Which replies: `rated`, `last` or `all`. Default: the rated ones where there are some, else all.
        role: Whose messages are rated.
        where: Only dialogues with these values, such as {"meta.corpus": "dailyz"}.
        by: Keys of groups, such as "meta.corpus".
        pair: The key that pairs items of different agents. Default: the same context.
        cluster: The key of what belongs together. Default: the dialogue.
        limit: Only the first dialogues.
        announce: Called once with the links, before the server starts.
    """
    from turnwise.web.crowd.privacy import forget, forget_when_due
    from turnwise.web.storage.log import without_credentials
    from turnwise.web.study.open_study import open_study

    selection = selected(
        items=items, role=role, where=where, by=by, pair=pair, cluster=cluster, limit=limit, as_agents=as_agents
    )  # fmt: skip
    changes = {"mode": mode, "seed": seed, "per_task": per_task, "whole": whole}
    choosing = _choosing(choose, metric, to, labels)
    given = _described(
        paths(data), reader, mapping, optional_path(study), store, agents, selection, changes, choosing
    )
    try:
        from turnwise.web.pages.app import app
        from turnwise.web.pages.serving import linked_host, open_socket, serve
    except ModuleNotFoundError:
        raise MissingExtra("the rating app", "web") from None
    talking = {name: _agent(address) for name, address in given.agents.items()}
    base = _base_url(url)
    crowd = given.ledger.study.crowd
    wanted = _raters((0 if crowd is not None else 3) if raters is None else raters)
    with (
        open_socket(host, port) as sock,
        closing(open_study(given.store, given.ledger, drawing=given.drawing)) as recorder,
    ):
        forget(recorder)
        _invite(recorder, wanted)
        recorder.flush()
        links = _links(
            recorder,
            base or f"http://{linked_host(host)}:{sock.getsockname()[1]}",
            without_credentials(given.store),
        )
        if base is None and host not in ("127.0.0.1", "localhost", "::1"):
            links = replace(links, note=_READABLE)
        with suppress(KeyboardInterrupt):  # from the announcement on, an interrupt is the way to end
            announce(links)
            served = app(recorder, given.dialogues, talking, url=base)
            serve(
                served,
                sock,
                behind_proxy=base is not None,
                meanwhile=lambda: forget_when_due(recorder),
            )


@checked
def export_ratings(
    data: PathLike | Sequence[PathLike],
    output: PathLike,
    *,
    reader: str | None = None,
    mapping: MappingLike | None = None,
    study: PathLike | None = None,
    mode: Mode | None = None,
    store: str | None = None,
    per_task: Count | None = None,
    whole: bool | None = None,
    agents: str | Sequence[str] | Mapping[str, str] = (),
    everything: bool = False,
    anonymous: bool = False,
    seed: Natural | None = None,
    as_agents: Names = (),
    items: ItemChoice | None = None,
    role: Role = "assistant",
    where: Where | None = None,
    by: Names | None = None,
    pair: str | None = None,
    cluster: str | None = None,
    limit: Count | None = None,
) -> ExportedRatings:
    """Write the dialogues with the ratings that `rate` has collected so far: the command `turnwise rate --export`.

    The other parameters must be those of the study.

    Parameters:
        data: As in `rate`.
        output: The file to write, in the native format.
        reader: As in `rate`.
        mapping: As in `rate`.
        study: As in `rate`.
        mode: As in `rate`.
        store: As in `rate`.
        per_task: As in `rate`.
        whole: As in `rate`.
        agents: As in `rate`.
        everything: Also attention checks and ratings that were set apart.
        anonymous: With pseudonyms instead of the raters' names, and without times.
        seed: As in `rate`.
        as_agents: As in `rate`.
        items: As in `rate`.
        role: As in `rate`.
        where: As in `rate`.
        by: As in `rate`.
        pair: As in `rate`.
        cluster: As in `rate`.
        limit: As in `rate`.
    """
    from turnwise.logs import native
    from turnwise.web.crowd.privacy import without_identities, without_times
    from turnwise.web.study.export import export_dialogues
    from turnwise.web.study.open_study import read_ledger

    selection = selected(
        items=items, role=role, where=where, by=by, pair=pair, cluster=cluster, limit=limit, as_agents=as_agents
    )  # fmt: skip
    changes = {"mode": mode, "seed": seed, "per_task": per_task, "whole": whole}
    given = _described(
        paths(data), reader, mapping, optional_path(study), store, agents, selection, changes, None
    )
    ledger = read_ledger(given.store, given.ledger)
    found = export_dialogues(
        without_identities(ledger) if anonymous else ledger, given.dialogues, everything=everything
    )
    drawn = set(given.drawing.drawn) if given.drawing else set()
    counts: Counter[bool] = Counter()

    def counting() -> Iterator["Dialogue"]:
        """The exported dialogues; counts the drawn ones by whether they have a rating."""
        for one in found:
            if one.id in drawn:
                counts[bool(one.ratings)] += 1
            yield without_times(one) if anonymous else one

    n_dialogues = native.write(counting(), str(output))
    return ExportedRatings(
        path=str(output), n_dialogues=n_dialogues, n_drawn=counts.total(), n_unrated=counts[False]
    )


@dataclass(frozen=True, slots=True)
class _Described:
    """A study as the parameters describe it, before its events are read."""

    ledger: "Ledger"
    dialogues: "Sequence[Dialogue]"  # of the data
    store: str
    agents: Mapping[str, str]  # name -> address
    drawing: "Drawing | None"  # which of the dialogues are rated; None: all


@dataclass(frozen=True, slots=True)
class _Choosing:
    """What `choose` asks for."""

    count: int
    metric: str | None
    to: str | None
    labels: str | None


def _choosing(choose: int | None, metric: str | None, to: str | None, labels: str | None) -> _Choosing | None:
    """What `choose` asks for, or None; its options without it raise `UsageError`."""
    if choose is None:
        if any((metric, to, labels)):
            raise UsageError("--metric, --to and --labels are options of --choose, which draws what is rated")
        return None
    if labels is not None:
        from turnwise.commands.calibrate import check_labels

        check_labels(labels)
    if labels == "unknown":
        raise UsageError("--choose adds to labels whose draw is known: --labels random or weights:KEY")
    return _Choosing(choose, metric, to, labels)


def _described(
    data: Sequence[str],
    reader: str | None,
    mapping: MappingLike | None,
    study: str | None,
    store: str | None,
    agents: str | Sequence[str] | Mapping[str, str],
    selection: Selection,
    changes: Mapping[str, Any],
    choosing: _Choosing | None,
) -> _Described:
    """The study of these files; `changes` replace settings of the study where they are not None."""
    from turnwise.web.study.definition import read_study
    from turnwise.web.study.drawing import check_asked, stored_drawing
    from turnwise.web.study.open_study import new_ledger, read_dialogues

    if not data:
        raise UsageError("name the files whose dialogues are rated")
    asked = read_study(study, **changes)
    named = _agents(agents, asked.mode)
    stem = data[0].rstrip("/").removesuffix(".gz").removesuffix(".jsonl")
    if reader is not None or mapping is not None:
        stem = os.path.splitext(stem)[0]
    place = store or f"{stem}.ratings.db"
    begun, drawing = stored_drawing(place)
    with files(data, reader=reader, mapping=mapping) as native:
        dialogues = read_dialogues(native.paths)
        if choosing is not None and begun:
            check_asked(place, drawing, asdict(choosing))
        elif choosing is not None:
            drawing = _drawn(native.paths, asked, selection, choosing)
    rated: Sequence[Dialogue] = dialogues
    if drawing is not None:
        drawn = set(drawing.drawn)
        rated = [one for one in dialogues if one.id in drawn]
        judged = cast("ItemChoice | None", drawing.judged)
        selection = replace(selection, items=selection.items or judged, where=(), limit=None)
    ledger = new_ledger(asked, rated, selection, agents=list(named))
    return _Described(ledger, dialogues, place, named, drawing)


def _drawn(data: Sequence[str], study: "Study", selection: Selection, choosing: _Choosing) -> "Drawing":
    """Draw the dialogues of a new study as `calibrate --plan` does.

    Raises `UsageError` where the study does not ask for the rating that the draw is for.
    """
    from turnwise.commands.calibrate import Calibrate
    from turnwise.logs.items.keys import WEIGHT
    from turnwise.run.scoring.calibrate import choose
    from turnwise.web.study.drawing import Drawing

    if study.mode not in ("reply", "dialogue") or selection.as_agents or selection.by:
        raise UsageError(
            "--choose draws logged dialogues: use --mode reply or dialogue, without --as and --by"
        )
    metrics = (choosing.metric,) if choosing.metric else ()
    spec = Calibrate(
        data=tuple(data), metrics=metrics or "none", labels=choosing.labels or "unknown", to=choosing.to,
        plan=choosing.count, seed=study.seed, items=selection.items, role=cast("ScoredRole", selection.role),
        where=selection.where, cluster=selection.cluster, limit=selection.limit,
    )  # fmt: skip
    found = choose(spec.changed(metrics=metrics))  # a first draw needs no metric
    if found.rating is not None:
        names = [question.name for question in study.questions]
        if found.rating not in names:
            raise UsageError(
                f"the study asks for {', '.join(names)}, and dialogues are drawn for rating:{found.rating}; add a "
                "[[question]] of that name to --study, or name another rating with --to"
            )
        if (study.mode == "reply") != (found.level == "turn"):
            raise UsageError(
                f"--mode {study.mode}: the data has ratings of {'replies' if found.level == 'turn' else 'dialogues'}; "
                f"choose --mode {'reply' if found.level == 'turn' else 'dialogue'}"
            )
    return Drawing(
        asked=asdict(choosing),
        drawn=tuple(one.id for one in found.draw.dialogues if one.id in found.draw.drawn),
        weights={one.id: one.meta[WEIGHT] for one in found.draw.dialogues},
        judged=found.judged,
    )


def _agents(given: str | Sequence[str] | Mapping[str, str], mode: str) -> dict[str, str]:
    """Name -> address of each agent; without `NAME=` the address is the name.

    Agents without the mode chat, the reverse, or a name twice raise `UsageError`.
    """
    if (mode == "chat") != bool(given):
        raise UsageError(
            "--agent and --mode chat need each other: name the agents to chat with, or choose another mode"
        )
    if isinstance(given, Mapping):
        return dict(given)
    named: dict[str, str] = {}
    for one in [given] if isinstance(given, str) else given:
        name, sign, address = one.partition("=")
        name, address = (name, address) if sign and not set(name) & set(":/?") else (one, one)
        if name in named:
            raise UsageError(f"two agents are called `{name}`; name them with NAME=...")
        named[name] = address
    return named


def _agent(address: str) -> "Agent":
    """The agent at an address, which may have settings in brackets."""
    from turnwise.agents import resolve
    from turnwise.metrics import settings

    plain, chosen = settings(address)
    return resolve(plain, **chosen)


def _base_url(url: str | None) -> str | None:
    """The address that raters open, without a final slash; None if none is given.

    Anything but http(s)://HOST[:PORT] raises `UsageError`; a path too, because links begin at the root of the host.
    """
    if url is None:
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/") or parts.query:
        raise UsageError(f"--url {url}: expected https://HOST or http://HOST, with a port or without")
    return f"{parts.scheme}://{parts.netloc}"


def _raters(raters: int | Names) -> int | list[str]:
    """The number of raters, or their distinct names; a number above 10,000 or an unusable name raises `UsageError`."""
    if isinstance(raters, str) and raters.isascii() and raters.isdigit():
        raters = int(raters)
    if isinstance(raters, int):
        if not 0 <= raters <= MOST_RATERS:
            raise UsageError(f"--raters {raters}: at most {MOST_RATERS}")
        return raters
    names = list(dict.fromkeys(split_names(raters)))
    for name in names:
        if not name.isprintable() or len(name) > 100 or name in ("mean", "admin", "join"):
            raise UsageError(f"`{name[:100]}` cannot be a rater's name")
    return names


def _invite(recorder: "Recorder", wanted: int | list[str]) -> None:
    """Invite the raters that are not there yet; a number counts those that are."""
    from turnwise.web.pages.admin import invite

    if isinstance(wanted, int):
        invited = sum(rater.joined is None for rater in recorder.ledger.raters.values())
        invite(recorder, max(0, wanted - invited))
        return
    for name in wanted:
        if name not in recorder.ledger.raters:
            recorder.invite(name)


def _links(recorder: "Recorder", base: str, store: str) -> RatingLinks:
    """The links of the administrator and of each rater."""
    crowd = recorder.ledger.study.crowd
    join = f"{base}{crowd.join}" if crowd is not None else ""
    invited = [rater for rater in recorder.ledger.raters.values() if rater.joined is None and rater.token]
    return RatingLinks(
        admin=f"{base}/admin/{recorder.ledger.study_event['admin']}",
        raters={rater.name: f"{base}/r/{rater.token}" for rater in invited},
        store=store,
        join=join,
    )
