"""Let people rate dialogues, or chat with agents and rate them."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from turnwise.commands.calibrate import check_labels
from turnwise.commands.function import function
from turnwise.commands.opening import opened
from turnwise.commands.screen import Quiet
from turnwise.errors import MissingExtra, UsageError, counted, setting
from turnwise.logs.items.selection import ItemChoice, Selection
from turnwise.settings.groups import (
    AsAgents,
    PortOption,
    Reading,
    Restated,
    Resumption,
    ScoredRole,
    Selecting,
    Serving,
)
from turnwise.settings.option import (
    Count,
    Names,
    Natural,
    Option,
    PathLike,
    Paths,
    settings,
    split_names,
    split_paths,
)
from turnwise.terminal import say

if TYPE_CHECKING:
    from turnwise.types import Agent, Dialogue
    from turnwise.web.study.definition import Study
    from turnwise.web.study.drawing import Drawing
    from turnwise.web.study.ledger import Ledger
    from turnwise.web.study.recorder import Recorder

Mode = Literal["reply", "dialogue", "pairwise", "write", "chat"]
Addresses: TypeAlias = (
    str | Sequence[str] | Mapping[str, str]
)  # addresses, or NAME=ADDRESS, or name -> address
MOST_RATERS = 10_000


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
    apart: Mapping[str, int] = field(default_factory=dict)  # why ratings were set apart -> their number

    def __str__(self) -> str:
        from turnwise.library.notes import apart_in_words

        written = f"{self.path}: {counted(self.n_dialogues, 'dialogue')} written"
        if self.apart:
            written += f"\nnote: set apart, so that metrics do not use them: {apart_in_words(self.apart)}"
        if not self.n_unrated:
            return written
        return (
            f"{written}\nnote: {self.n_unrated} of the {self.n_drawn} drawn dialogues have no rating yet; the weights "
            "hold when all are rated"
        )


@dataclass(frozen=True, kw_only=True)
class Exporting:
    """What is exported beside the ratings, or left out."""

    everything: Annotated[
        bool, Option("With --export, also attention checks and ratings that were set apart.")
    ] = False  # fmt: skip
    anonymous: Annotated[
        bool, Option("With --export, pseudonyms instead of raters' names, and no times.")
    ] = False  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Rating(Exporting, Quiet):
    """Settings of the command line of `rate`."""

    restated: ClassVar[Restated] = {"quiet": {"help": "Only the links."}}
    export: Annotated[
        str | None, Option("Write the ratings so far as native JSONL, and end.", metavar="OUT")
    ] = None  # fmt: skip

    def announce(self, links: RatingLinks) -> None:
        """Print the links of a study, and where its ratings are stored."""
        say(str(links))
        if not self.quiet:
            say(f"ratings are stored in {links.store}; Ctrl-C ends, and the same command continues", err=True)
            if links.note:
                say(f"note: {links.note}", err=True)


@dataclass(frozen=True, kw_only=True)
class Studying(AsAgents, Selecting, Reading):
    """The settings of a study: what is rated, and how."""

    command: ClassVar[str] = "rate"
    resumption: ClassVar[Resumption] = "never"

    data: Annotated[Paths, Option("Files of dialogues.", flags="DATA...")] = field(kw_only=False)
    study: Annotated[
        PathLike | None,
        Option("A TOML file of questions, wording, scales and quality control.", metavar="FILE.toml"),
    ] = None
    mode: Annotated[Mode | None, Option("What raters do. Default: the study's, else reply.")] = None
    store: Annotated[
        str | None,
        Option(
            "Where ratings are stored: a file, or postgresql://... Default: the data's name with .ratings.db.",
            metavar="FILE|URL",
        ),
    ] = None
    per_task: Annotated[
        Count | None, Option("Raters for each task. Default: the study's, else 3.", metavar="N")
    ] = None  # fmt: skip
    whole: Annotated[
        bool | None,
        Option("With --mode pairwise, compare whole dialogues; --pair is the key that pairs them."),
    ] = None
    agents: Annotated[
        Addresses,
        Option(
            "With --mode chat, the agent to chat with; settings in brackets; NAME=... gives it a name. Repeatable; in "
            "Python also name -> address.",
            flags="--agent", metavar="URL|module:function|DIR|MODEL", repeatable=True,
        ),
    ] = ()  # fmt: skip
    seed: Annotated[
        Natural | None,
        Option("Seed of the order, the assignment and the draw. Default: the study's.", metavar="N"),
    ] = None
    as_agents: Annotated[
        Names,
        Option(
            "Show raters what these agents would have said at the logged points.",
            flags="--as", metavar="NAMES|@alternatives",
        ),
    ] = ()  # fmt: skip
    items: Annotated[
        ItemChoice | None,
        Option(
            "Which replies are rated. Default: the rated turns where the data has turn ratings, else all."
        ),
    ] = None
    role: Annotated[ScoredRole, Option("Whose messages are rated.")] = "assistant"
    by: Annotated[
        Names | None,
        Option(
            "Pair items only within each value of KEYS, e.g. meta.corpus,meta.year; `file` is the file.",
            metavar="KEYS",
        ),
    ] = None
    cluster: Annotated[
        str | None,
        Option(
            "The key of tasks that all raters share, and that are resampled, together. Default: the task of a trial, "
            "else the dialogue.",
            metavar="KEY",
        ),
    ] = None

    @property
    def changes(self) -> dict[str, Any]:
        """The settings that replace those of the study where they are not None."""
        return {name: getattr(self, name) for name in ("mode", "seed", "per_task", "whole")}


@dataclass(frozen=True, kw_only=True)
class ExportRatings(Exporting, Studying):
    """Write the dialogues with the ratings that `rate` has collected so far: the command `turnwise rate --export`.

    The other parameters must be those of the study.
    """

    function: ClassVar[str] = "export_ratings"

    output: Annotated[PathLike, Option("The file to write, in the native format.", flags="--export")] = field(
        kw_only=False
    )

    def run(self) -> ExportedRatings:
        """Write them."""
        from turnwise.logs import native
        from turnwise.logs.scan import reasons_apart
        from turnwise.web.crowd.privacy import without_identities, without_times
        from turnwise.web.study.export import export_dialogues
        from turnwise.web.study.open_study import read_ledger

        described = _described(self, None)
        ledger = read_ledger(described.store, described.ledger)
        exported = export_dialogues(
            without_identities(ledger) if self.anonymous else ledger,
            described.dialogues,
            everything=self.everything,
        )
        drawn = set(described.drawing.drawn) if described.drawing else set()
        counts: Counter[bool] = Counter()
        apart: Counter[str] = Counter()

        def counting() -> Iterator["Dialogue"]:
            """The exported dialogues; counts the drawn ones by whether they have a rating."""
            for dialogue in exported:
                if dialogue.id in drawn:
                    counts[bool(dialogue.ratings)] += 1
                apart.update(reasons_apart(dialogue))
                yield without_times(dialogue) if self.anonymous else dialogue

        n_dialogues = native.write(counting(), str(self.output))
        return ExportedRatings(
            path=str(self.output),
            n_dialogues=n_dialogues,
            n_drawn=counts.total(),
            n_unrated=counts[False],
            apart=dict(apart.most_common()),
        )

    def show(self, exported: ExportedRatings, _: Rating) -> None:
        """Say what was written."""
        say(str(exported), err=True)


@dataclass(frozen=True, kw_only=True)
class Rate(Serving, Studying):
    """Let people rate dialogues, or chat with agents and rate them.

    Prints a link for each rater and one for the administrator, and serves until it is interrupted; the same
    command goes on where it stopped. Nothing leaves this machine.

    \b
      turnwise rate logs.jsonl --raters anna,ben,carl
      turnwise rate logs.jsonl --mode pairwise --as @alternatives
      turnwise rate goals.jsonl --mode chat --agent bots:first --agent bots:second
      turnwise rate logs.jsonl --choose 50 -m length --labels random
      turnwise rate logs.jsonl --export rated.jsonl
    """

    screen_class = Rating

    raters: Annotated[
        int | Names | None,
        Option(
            "Raters to invite: a number, or names separated by commas. More can be invited later. Default: 3; none if "
            "the study has a [crowd], which joins by a common link.",
            metavar="N|NAMES",
        ),
    ] = None
    port: PortOption = 8765
    url: Annotated[
        str | None,
        Option("The address of this server for raters, where it is behind a proxy.", metavar="URL"),
    ] = None
    choose: Annotated[
        Count | None,
        Option(
            "Draw N dialogues and rate only these: those whose ratings narrow what calibrate estimates. The export has "
            "all dialogues, with weights.",
            metavar="N",
        ),
    ] = None
    metric: Annotated[
        str | None,
        Option(
            "With --choose, the metric whose expected error decides what is drawn. Not needed where nothing is rated "
            "yet.",
            flags="-m --metric", metavar="NAME",
        ),
    ] = None  # fmt: skip
    to: Annotated[
        str | None,
        Option(
            "With --choose, what people rated. Default: rating:overall, else the only one.",
            metavar="rating:DIMENSION",
        ),
    ] = None
    labels: Annotated[
        str | None,
        Option(
            "With --choose, how the dialogues that are rated already were drawn.",
            metavar="random|weights:KEY",
        ),
    ] = None
    announce: Annotated[
        Callable[[RatingLinks], None],
        Option("Called once with the links, before the server starts.", only_python=True, checked=False),
    ] = print

    @classmethod
    def on_command_line(cls, screen: Rating, given: dict[str, Any]) -> int:
        """As in `Command`; the links are printed as soon as there are some. With --export, ratings are written."""
        if screen.export is None:
            for name in ("everything", "anonymous"):
                if getattr(screen, name):
                    raise UsageError(f"--{name} is an option of --export")
            return super().on_command_line(screen, {**given, "announce": screen.announce})
        # What was drawn is in the store.
        shared = {setting.name for setting in settings(ExportRatings)}
        chosen = {name: value for name, value in given.items() if name in shared}
        export = ExportRatings(
            output=screen.export, everything=screen.everything, anonymous=screen.anonymous, **chosen
        )
        export.show(export.run(), screen)
        return 0

    def run(self) -> None:
        """Serve until it is interrupted."""
        from turnwise.web.crowd.privacy import forget, forget_when_due
        from turnwise.web.storage.log import without_credentials
        from turnwise.web.study.open_study import open_study

        described = _described(self, _choosing(self.choose, self.metric, self.to, self.labels))
        try:
            from turnwise.web.pages.app import app
            from turnwise.web.pages.serving import linked_host, open_socket, serve
        except ModuleNotFoundError:
            raise MissingExtra("the rating app", "web") from None
        talking = {name: _agent(address) for name, address in described.agents.items()}
        base = _base_url(self.url)
        crowd = described.ledger.study.crowd
        wanted = _raters((0 if crowd is not None else 3) if self.raters is None else self.raters)
        with (
            open_socket(self.host, self.port) as sock,
            closing(open_study(described.store, described.ledger, drawing=described.drawing)) as recorder,
        ):
            forget(recorder)
            _invite(recorder, wanted)
            recorder.flush()
            links = _links(
                recorder,
                base or f"http://{linked_host(self.host)}:{sock.getsockname()[1]}",
                without_credentials(described.store),
            )
            if base is None and self.host not in ("127.0.0.1", "localhost", "::1"):
                links = replace(links, note=_readable())
            with suppress(KeyboardInterrupt):  # from the announcement on, an interrupt is the way to end
                self.announce(links)
                served = app(recorder, described.dialogues, talking, url=base)
                serve(
                    served,
                    sock,
                    behind_proxy=base is not None,
                    meanwhile=lambda: forget_when_due(recorder),
                )

    def show(self, _: None, __: Rating) -> None:
        """Nothing: the links have been printed."""


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
            drawn_by = f"{setting('--metric')}, {setting('--to')} and {setting('--labels')}"
            raise UsageError(f"{drawn_by} are options of {setting('--choose')}, which draws what is rated")
        return None
    if labels is not None:
        check_labels(labels)
    if labels == "unknown":
        raise UsageError(
            f"{setting('--choose')} adds to labels whose draw is known: {setting('--labels', 'random')} or weights:KEY"
        )
    return _Choosing(choose, metric, to, labels)


def _described(asked: Studying, choosing: _Choosing | None) -> _Described:
    """The study that the settings ask for."""
    from turnwise.web.study.definition import read_study
    from turnwise.web.study.drawing import check_asked, stored_drawing
    from turnwise.web.study.open_study import new_ledger, read_dialogues

    data, selection = split_paths(asked.data), asked.selection
    if not data:
        raise UsageError("name the files whose dialogues are rated")
    study = read_study(None if asked.study is None else str(asked.study), **asked.changes)
    named = _agents(asked.agents, study.mode)
    stem = data[0].rstrip("/").removesuffix(".gz").removesuffix(".jsonl")
    if asked.reader is not None or asked.mapping is not None:
        stem = os.path.splitext(stem)[0]
    place = asked.store or f"{stem}.ratings.db"
    begun, drawing = stored_drawing(place)
    with opened(asked) as ready:
        dialogues = read_dialogues(ready.paths)
        if choosing is not None and begun:
            check_asked(place, drawing, asdict(choosing))
        elif choosing is not None:
            drawing = _drawn(ready.paths, study, selection, choosing)
    rated: Sequence[Dialogue] = dialogues
    if drawing is not None:
        drawn = set(drawing.drawn)
        rated = [dialogue for dialogue in dialogues if dialogue.id in drawn]
        judged = cast("ItemChoice | None", drawing.judged)
        selection = replace(selection, items=selection.items or judged, where=(), limit=None)
    ledger = new_ledger(study, rated, selection, agents=list(named))
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
            f"{setting('--choose')} draws logged dialogues: use {setting('--mode', 'reply')} or dialogue, without "
            f"{setting('--as')} and {setting('--by')}"
        )
    metrics = (choosing.metric,) if choosing.metric else ()
    drawing = Calibrate(
        data=tuple(data), metrics=metrics or "none", labels=choosing.labels or "unknown", to=choosing.to,
        plan=choosing.count, seed=study.seed, items=selection.items, role=cast("ScoredRole", selection.role),
        where=selection.where, cluster=selection.cluster, limit=selection.limit,
    )  # fmt: skip
    # A first draw needs no metric.
    found = choose(drawing.changed(metrics=metrics))
    if found.rating is not None:
        names = [question.name for question in study.questions]
        if found.rating not in names:
            raise UsageError(
                f"the study asks for {', '.join(names)}, and dialogues are drawn for rating:{found.rating}; add a "
                f"[[question]] of that name to {setting('--study')}, or name another rating with {setting('--to')}"
            )
        if (study.mode == "reply") != (found.level == "turn"):
            raise UsageError(
                f"{setting('--mode', study.mode)}: the data has ratings of "
                f"{'replies' if found.level == 'turn' else 'dialogues'}; choose "
                f"{setting('--mode', 'reply' if found.level == 'turn' else 'dialogue')}"
            )
    return Drawing(
        asked=asdict(choosing),
        drawn=tuple(one.id for one in found.draw.dialogues if one.id in found.draw.drawn),
        weights={one.id: one.meta[WEIGHT] for one in found.draw.dialogues},
        judged=found.judged,
    )


def _agents(given: Addresses, mode: str) -> dict[str, str]:
    """Name -> address of each agent; without `NAME=` the address is the name.

    Agents without the mode chat, the reverse, or a name twice raise `UsageError`.
    """
    if (mode == "chat") != bool(given):
        raise UsageError(
            f"{setting('--agent')} and {setting('--mode', 'chat')} need each other: name the agents to chat with, or "
            "choose another mode"
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


def _readable() -> str:
    """What the organiser has to know about links that others can read."""
    return (
        "these links use http: everyone on the way can read the links, texts and answers. On an open network put an "
        f"https proxy in front and give {setting('--url')} (docs/rate-serve.md)"
    )


def _base_url(url: str | None) -> str | None:
    """The address that raters open, without a final slash; None if none is given.

    Anything but http(s)://HOST[:PORT] raises `UsageError`; a path too, because links begin at the root of the host.
    """
    if url is None:
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/") or parts.query:
        raise UsageError(
            f"{setting('--url', url)}: expected https://HOST or http://HOST, with a port or without"
        )
    return f"{parts.scheme}://{parts.netloc}"


def _raters(raters: int | Names) -> int | list[str]:
    """The number of raters, or their distinct names; a number above 10,000 or an unusable name raises `UsageError`."""
    if isinstance(raters, str) and raters.isascii() and raters.isdigit():
        raters = int(raters)
    if isinstance(raters, int):
        if not 0 <= raters <= MOST_RATERS:
            raise UsageError(f"{setting('--raters', raters)}: at most {MOST_RATERS}")
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


COMMAND = Rate
rate = function(Rate)
export_ratings = function(ExportRatings)
__all__ = ["ExportedRatings", "RatingLinks", "export_ratings", "rate"]
