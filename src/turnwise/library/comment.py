"""The report as a Markdown text that fits a comment on a pull request: conclusions first, then a table for each run."""

import html
from collections.abc import Iterator, Sequence
from typing import Any

from turnwise.errors import counted
from turnwise.library import results
from turnwise.records import Record, plain
from turnwise.report.documents import DiffDocument
from turnwise.report.fitting import Layout
from turnwise.report.markdown import escape
from turnwise.report.report import Report, in_order
from turnwise.report.runs import Run
from turnwise.report.text import cell, interval, number
from turnwise.terminal import visible

MOST_BYTES = 65_536  # GitHub refuses a longer comment
CONCLUSIONS = 12  # claims that are listed
ROWS = (12, 5, 1)  # rows of a table: the first number with which the text is short enough
ITEMS = 3  # items that rose, and that fell, by each metric
NOTES = 5  # notes on what has no result, of each run
MENTION = "@\u200b"  # followed by a space without width, which no mention of a person has
LONGEST = 100  # characters of a cell
OTHERS = 2  # columns, or pairs of columns, besides names and results


def comment(made: Report, runs: Sequence[Run]) -> str:
    """The conclusions of the report and a folded table of each run, in at most 65,536 bytes.

    Tables have 12 rows, or fewer where the text would be too long; then the last runs are left out, which a line says.
    """
    known = in_order(run for run in runs if run.document.question)
    head = "\n\n".join(filter(None, [f"## {_safe(made.title)}", _tiles(made), _conclusions(made)]))
    for rows in ROWS:
        sections = [_section(run, rows) for run in known]
        text = "\n\n".join([head, *sections]) + "\n"
        if len(text.encode()) <= MOST_BYTES:
            return text
    while sections:
        sections.pop()
        left = f"{counted(len(known) - len(sections), 'run')} left out: the text would be too long for a comment."
        text = "\n\n".join([head, *sections, left]) + "\n"
        if len(text.encode()) <= MOST_BYTES:
            return text
    return text.encode()[:MOST_BYTES].decode(errors="ignore")


def _tiles(made: Report) -> str:
    """The tiles of the report as a list: question, verdict, number, evidence and badge; "" without any."""
    lines = []
    for tile in made.tiles:
        about = "; ".join(part for part in (tile.number, tile.evidence) if part)
        badge = f" ({tile.badge})" if tile.badge else ""
        verdict = f"**{_safe(tile.verdict)}**{': ' if about else ''}{_safe(about)}"
        lines.append(f"* {_safe(tile.question)} {verdict}{badge}")
    return "\n".join(lines)


def _conclusions(made: Report) -> str:
    """All claims as a folded list, at most twelve; "" if the tiles show them all."""
    if len(made.claims) <= sum(tile.badge is not None for tile in made.tiles):
        return ""
    shown = [f"* {_safe(str(claim))}" for claim in made.claims]
    more = [f"* and {len(shown) - CONCLUSIONS} more in the report"] if len(shown) > CONCLUSIONS else []
    return _folded("All claims", "\n".join([*shown[:CONCLUSIONS], *more]))


def _section(run: Run, rows: int) -> str:
    """The folded section of one run: what is the same in all rows, the table, and what has no result."""
    title = f"{run.document.question_of(run)} ({run.name}: turnwise {run.command})"
    parts = [_table(run, rows), "\n".join(_changed(run)), _missing(run.results)]
    return _folded(title, "\n\n".join(filter(None, parts)))


def _folded(summary: str, body: str) -> str:
    """A Markdown text that is folded below its summary, which is plain text."""
    shown = html.escape(visible(summary)).replace("@", MENTION)
    return f"<details><summary>{shown}</summary>\n\n{body}\n\n</details>"


def _table(run: Run, most: int) -> str:
    """The table of a run's results with at most this many rows; columns of names with one value are a line above it."""
    kind = results.result_type(run.document)
    head, rows = results.cells(
        plain(run.document)["results"], _columns(kind.columns, kind.layout), kind.layout
    )
    if not rows or not head:
        return ""
    texts = {name: [_text(row[at]) for row in rows] for at, name in enumerate(head)}
    same = [
        name
        for name in kind.layout.names[1:]
        if name in texts and len(set(texts[name])) == 1 and len(rows) > 1
    ]
    about = ", ".join(_safe(f"{name} {texts.pop(name)[0]}") for name in same)
    lines = [list(texts), ["---"] * len(texts), *zip(*texts.values(), strict=True)]
    shown = [
        f"| {' | '.join(part if at == 1 else _safe(part) for part in line)} |"
        for at, line in enumerate(lines[: most + 2])
    ]
    more = len(rows) - most
    rest = f"{counted(more, 'more row')} in results.json." if more > 0 else ""
    return "\n\n".join(filter(None, [about, "\n".join(shown), rest]))


def _changed(run: Run) -> Iterator[str]:
    """Yield a line for each change between two runs, with the items that rose and that fell most."""
    for record in run.document.results if isinstance(run.document, DiffDocument) else ():
        rises = [item for item in record.flips if (item.change or 0) > 0][:ITEMS]
        falls = [item for item in record.flips if (item.change or 0) < 0][:ITEMS]
        if record.flips:
            items = ", ".join(
                f"{_text(item.id_new)} {number(item.old)} to {number(item.new)}" for item in (*rises, *falls)
            )
            yield f"* {_safe(record.metric)} changed most at {_safe(items)}"


def _columns(columns: Sequence[str], layout: Layout) -> list[str]:
    """The columns of a small table: names, results, prose and the two most important of the others."""
    others = [name for unit in layout.units[:OTHERS] for name in unit]
    wanted = {*layout.names, *layout.results, *layout.prose, *others}
    return [name for name in columns if name in wanted]


def _text(value: Any) -> str:
    """A value as the text of a cell, cut to 100 characters; a list of two numbers is an interval."""
    if isinstance(value, (list, tuple)) and len(value) == 2:
        return "-" if None in value else interval((value[0], value[1]))
    shown = " ".join(cell(value).split())
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


def _missing(records: Sequence[Record]) -> str:
    """A list of what has no result, with the reason; "" if everything has one."""
    found = list(dict.fromkeys(_reasons(records)))
    more = [f"* and {len(found) - NOTES} more"] if len(found) > NOTES else []
    return "\n".join([*(f"* {_safe(line)}" for line in found[:NOTES]), *more])


def _reasons(records: Sequence[Record]) -> Iterator[str]:
    """Yield what each record without a result is about, with its status and reason."""
    for record in records:
        if record.status != "ok":
            about = record.named("metric", "target", "agent", "dimension", "rating", "estimator")
            yield f"{' '.join(about)}: {record.status}: {_text(record.reason)}"


def _safe(text: str) -> str:
    """The text without Markdown and HTML, and without names that GitHub would notify."""
    return escape(text).replace("@", MENTION)
