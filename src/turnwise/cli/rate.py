"""`turnwise rate`."""

import sys
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from turnwise.cli import options
from turnwise.errors import MissingExtra, UsageError, counted

if TYPE_CHECKING:
    from turnwise.types import Agent
    from turnwise.web.study.recorder import Recorder

MOST_RATERS = 10_000


@click.command(name="rate")
@options.config
@options.data
@click.option(
    "--study", "study_file", metavar="FILE.toml", help="Questions, wording, scales, quality control."
)
@click.option(
    "--mode", type=click.Choice(["reply", "dialogue", "pairwise", "write", "chat"]),
    help="What raters do. Default: the study's, else reply.",
)  # fmt: skip
@click.option(
    "--store", metavar="FILE|URL",
    help="Where ratings are stored: a file, or postgresql://... Default: DATA's name with .ratings.db.",
)  # fmt: skip
@click.option(
    "--raters", default="3", show_default=True, metavar="N|NAMES",
    help="Raters to invite: a number, or names separated by commas. More can be invited later.",
)  # fmt: skip
@click.option(
    "--per-task", type=click.IntRange(min=1), metavar="N",
    help="Raters for each task. Default: the study's, else 3.",
)  # fmt: skip
@click.option(
    "--whole", is_flag=True, default=None,
    help="With --mode pairwise, compare whole dialogues; --pair is the key that pairs them.",
)  # fmt: skip
@click.option(
    "--agent", "agents", multiple=True, metavar="URL|module:function|DIR|MODEL",
    help="With --mode chat, the agent to chat with; settings in brackets; NAME=... gives it a name. Repeatable.",
)  # fmt: skip
@click.option("--export", metavar="OUT", help="Write the ratings so far as native JSONL, and end.")
@click.option(
    "--everything", is_flag=True, help="With --export, also attention checks and ratings that were set apart."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535))
@click.option(
    "--url", metavar="URL", help="The address of this server for raters, where it is behind a proxy."
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="Seed of the order and the assignment. Default: the study's."
)
@options.as_agents
@options.selecting
@click.option("-q", "--quiet", is_flag=True, help="Only the links.")
def command(**given: Any) -> int:
    """Let people rate dialogues, or chat with agents and rate them.

    Prints a link for each rater and one for the administrator, and serves until it is interrupted; the same
    command goes on where it stopped. Nothing leaves this machine.

    \b
      turnwise rate logs.jsonl --raters anna,ben,carl
      turnwise rate logs.jsonl --study study.toml --mode pairwise --as @alternatives
      turnwise rate goals.jsonl --mode chat --agent bots:first --agent bots:second
      turnwise rate logs.jsonl --export rated.jsonl
    """
    from turnwise.logs import native
    from turnwise.logs.items.items import Selection
    from turnwise.web.storage.log import without_credentials
    from turnwise.web.study.definition import read_study
    from turnwise.web.study.export import export_dialogues
    from turnwise.web.study.open_study import new_ledger, open_study, read_dialogues, read_ledger

    if given["everything"] and not given["export"]:
        raise UsageError("--everything is an option of --export")
    changes = {key: given[key] for key in ("mode", "seed", "per_task", "whole")}
    asked = read_study(given["study_file"], **changes)
    given["judged"] = given["items"]
    chosen = {slot: given[slot] for slot in Selection.__slots__ if given.get(slot) is not None}
    names = _agents(given["agents"], asked.mode)
    dialogues = read_dialogues(given["data"])
    ledger = new_ledger(asked, dialogues, Selection(**chosen), agents=list(names))
    place = given["store"] or f"{given['data'][0].removesuffix('.gz').removesuffix('.jsonl')}.ratings.db"
    if given["export"]:
        found = export_dialogues(read_ledger(place, ledger), dialogues, everything=given["everything"])
        count = native.write(found, given["export"])
        click.echo(f"{given['export']}: {counted(count, 'dialogue')} written", err=True)
        return 0
    try:
        from turnwise.web.pages.serving import open_socket, serve
    except ModuleNotFoundError:
        raise MissingExtra("the rating app", "web") from None
    talking = {name: _agent(address) for name, address in names.items()}
    url = _base_url(given["url"])
    wanted = _rater_names(given["raters"])
    with open_socket(given["host"], given["port"]) as sock, closing(open_study(place, ledger)) as recorder:
        _invite(recorder, wanted)
        recorder.flush()
        base = url or f"http://{_reachable(given['host'])}:{sock.getsockname()[1]}"
        _links(recorder, base)
        if not given["quiet"]:
            click.echo(
                f"ratings are stored in {without_credentials(place)}; Ctrl-C ends, and the same command continues",
                err=True,
            )
        with suppress(KeyboardInterrupt):
            serve(recorder, dialogues, talking, sock=sock, url=url)
    return 0


def _agents(given: tuple[str, ...], mode: str) -> dict[str, str]:
    """Name -> address of each agent; without `NAME=` the address is the name.

    Agents without --mode chat, the reverse, or a name twice raise `UsageError`.
    """
    if (mode == "chat") != bool(given):
        raise UsageError(
            "--agent and --mode chat need each other: name the agents to chat with, or choose another mode"
        )
    named: dict[str, str] = {}
    for one in given:
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


def _rater_names(raters: str) -> int | list[str]:
    """The number of raters, or their distinct names; a number above 10,000 or an unusable name raises `UsageError`."""
    if raters.isascii() and raters.isdigit():
        if int(raters) > MOST_RATERS:
            raise UsageError(f"--raters {raters}: at most {MOST_RATERS}")
        return int(raters)
    names = list(dict.fromkeys(filter(None, map(str.strip, raters.split(",")))))
    for name in names:
        if not name.isprintable() or len(name) > 100 or name in ("mean", "admin"):
            raise UsageError(f"`{name[:100]}` cannot be a rater's name")
    return names


def _invite(recorder: "Recorder", wanted: int | list[str]) -> None:
    """Invite the raters that are not there yet; a number counts those that are."""
    from turnwise.web.pages.admin import invite

    if isinstance(wanted, int):
        invite(recorder, max(0, wanted - len(recorder.ledger.raters)))
        return
    for name in wanted:
        if name not in recorder.ledger.raters:
            recorder.invite(name)


def _links(recorder: "Recorder", base: str) -> None:
    """Print the links of the administrator and of each rater."""
    width = max(map(len, ["admin", *recorder.ledger.raters]))
    click.echo(f"{'admin':<{width}}  {base}/admin/{recorder.ledger.study_event['admin']}")
    for rater in recorder.ledger.raters.values():
        click.echo(f"{rater.name:<{width}}  {base}/r/{rater.token}")
    sys.stdout.flush()


def _reachable(host: str) -> str:
    """The host as a link from this machine has it: the loopback address for "all addresses", IPv6 in brackets."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{shown}]" if ":" in shown else shown
