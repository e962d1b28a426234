"""Tables that fit the width of a terminal.

A table that is too wide first loses what can be said in a line below it: columns that have one value in every row. Then
its least important columns are left out, and the line names them. Names are shortened in the middle only where that is
not enough. Numbers are never shortened or broken.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnwise.report import text
from turnwise.terminal import columns, display_width

SHORTEST = 12  # columns that a shortened name keeps at least
PROSE = 48  # columns that all columns of prose have together, unless their texts are shorter: others make room for it
NARROWEST = 16  # columns that each of them keeps at least, if there is not even room for that
ELLIPSIS = "…"
TOGETHER = "\xa0"  # a space at which no line is broken
HINT = "records() has all columns"  # of a result in Python


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Which columns of a table matter most, for a terminal that has no room for all of them.

    A column that is in none of these is the first to be left out.
    """

    names: tuple[str, ...]  # tell the rows apart: never left out, and shortened if nothing else helps
    results: tuple[str, ...]  # never left out
    others: tuple[
        str | tuple[str, ...], ...
    ] = ()  # the most important first; a tuple is shown as a whole or not
    prose: tuple[str, ...] = ()  # never left out: sentences, in several lines where they do not fit into one
    even_empty: tuple[
        str, ...
    ] = ()  # shown although no row has a value, so that no other column is taken for them
    # Column -> keys in results.json, of which the first with a value is shown; else the key has the column's name.
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are declared, from the most to the least important."""
        return (*self.results, *self.names, *self.prose, *(name for unit in self.units for name in unit))

    @property
    def units(self) -> list[tuple[str, ...]]:
        """The other columns, those together that are shown together."""
        return [(one,) if isinstance(one, str) else one for one in self.others]

    def order(self, head: Iterable[str]) -> list[str]:
        """The columns of `head` from the most to the least important."""
        known = self.columns
        return sorted(head, key=lambda name: known.index(name) if name in known else len(known))


@dataclass(slots=True)
class _Columns:
    """The columns of a table that are still shown, and what was taken out of it."""

    texts: Mapping[str, Sequence[str]]  # column -> its cells
    widths: dict[str, int]
    shown: list[str]
    same: dict[str, str] = field(default_factory=dict)  # column with one value -> the value
    left_out: list[str] = field(default_factory=list)

    @property
    def width(self) -> int:
        """The width of the table, with two spaces between columns."""
        return sum(self.widths[name] + 2 for name in self.shown) - 2

    def vary(self, name: str) -> bool:
        """Whether the column has more than one value."""
        return len(set(self.texts[name])) > 1

    def remove(self, name: str) -> None:
        """Show the column no more: with its value if all rows have the same, else by its name; a column without any
        value is not mentioned.
        """
        self.shown.remove(name)
        if self.vary(name):
            self.left_out.append(name)
        elif (value := self.texts[name][0]) != "-":
            self.same[name] = value


def sized(
    rows: Sequence[Sequence[Any]],
    head: Sequence[str],
    layout: Layout,
    *,
    wide: bool = False,
    hint: str = HINT,
) -> str:
    """The table of these rows as wide as the terminal, or with `wide` whole.

    `hint` says how to see the columns that were left out.
    """
    return text.table(rows, head) if wide else fitted(rows, head, layout, width=columns(), hint=hint)


def fitted(
    rows: Sequence[Sequence[Any]], head: Sequence[str], layout: Layout, *, width: int, hint: str
) -> str:
    """The table of these rows in at most `width` columns, with lines on what was taken out of it.

    `hint` says how to see the columns that were left out. A table is wider only if its shortened names and its results
    do not fit.
    """
    cells = [[text.visible_cell(value) for value in row] for row in rows]
    texts = {name: [line[at] for line in cells] for at, name in enumerate(head)}
    natural = {name: max(map(display_width, (name, *column))) for name, column in texts.items()}
    prose = [name for name in layout.prose if name in texts]
    least = {
        name: min(wide, max(PROSE // len(prose), display_width(name))) if name in prose else wide
        for name, wide in natural.items()
    }
    kept = _Columns(texts, least, list(head))
    if rows:
        _choose(kept, layout, width)
    _narrow(prose, kept, width, least=NARROWEST)
    names = _narrow([name for name in layout.names if name in kept.shown], kept, width, least=SHORTEST)
    wrap = _widened(prose, kept, natural, width=width)

    def cell(name: str, value: Any) -> Any:
        """The value; a name or a word of prose that is wider than its column is shortened."""
        if not isinstance(value, str) or name not in (*names, *wrap):
            return value
        shown = text.visible_cell(value)
        if name in names:
            return _shortened(shown, names[name])
        return " ".join(_shortened(word, wrap[name]) for word in shown.split())

    shown = [
        [cell(name, value) for name, value in zip(head, row, strict=True) if name in kept.shown]
        for row in rows
    ]
    table = text.table(shown, kept.shown, wrap=wrap)
    return "\n".join([table, *_below(kept, len(rows), head, width, hint)])


def _choose(columns: _Columns, layout: Layout, width: int) -> None:
    """Take columns out until the table fits: first those with one value, then others, the least important first; at
    last those that fit after all are put back.
    """
    order = layout.order(columns.shown)
    kept = {*layout.results, *layout.prose}
    if not any(columns.vary(name) for name in layout.names[1:] if name in columns.texts):
        kept.add(layout.names[0])  # else a row would begin with a number
    for name in reversed(order):
        if columns.width <= width:
            return
        if name not in kept and not columns.vary(name):
            columns.remove(name)
    head = list(columns.shown)
    undeclared = [(name,) for name in order if name not in layout.columns]
    units = [tuple(name for name in unit if name in head) for unit in (*layout.units, *undeclared)]
    for unit in reversed(units):
        if columns.width <= width:
            break
        for name in unit:
            columns.remove(name)
    for unit in units:
        absent = [name for name in unit if name in columns.left_out]
        if absent and columns.width + sum(columns.widths[name] + 2 for name in absent) <= width:
            columns.left_out = [name for name in columns.left_out if name not in absent]
            columns.shown = [one for one in head if one in (*columns.shown, *absent)]


def _narrow(names: Sequence[str], columns: _Columns, width: int, *, least: int) -> dict[str, int]:
    """Make these columns narrower until the table fits, the widest first; returns the new width of each that was.

    No column becomes narrower than `least` or than its name.
    """
    limits: dict[str, int] = {}
    if columns.width > width:  # no column needs more than the terminal has
        limits = {name: width for name in names if columns.widths[name] > width}
        columns.widths |= limits
    while columns.width > width:
        widest = max(names, key=lambda name: columns.widths[name], default=None)
        if widest is None or columns.widths[widest] <= max(least, display_width(widest)):
            break
        columns.widths[widest] -= 1
        limits[widest] = columns.widths[widest]
    return limits


def _widened(
    prose: Sequence[str], columns: _Columns, natural: Mapping[str, int], *, width: int
) -> dict[str, int]:
    """Column of prose -> its width: the room that is left goes where most of a text does not fit."""
    limits = {name: columns.widths[name] for name in prose}
    for _ in range(width - columns.width):
        narrow = [name for name in prose if limits[name] < natural[name]]
        if not narrow:
            break
        limits[max(narrow, key=lambda name: natural[name] / limits[name])] += 1
    return limits


def _shortened(name: str, width: int) -> str:
    """The name with an ellipsis in its middle, so that it has at most `width` columns."""
    if display_width(name) <= width:
        return name
    kept = min(len(name), width)
    while True:
        kept -= 1
        begin, end = (kept + 1) // 2, kept // 2
        short = f"{name[:begin]}{ELLIPSIS}{name[len(name) - end :]}"
        if display_width(short) <= width or not kept:
            return short


def _below(columns: _Columns, n_rows: int, head: Sequence[str], width: int, hint: str) -> list[str]:
    """The lines on columns with one value and on those that were left out, in the order of `head`."""
    lines = []
    if columns.same:
        values = ", ".join(f"{name}{TOGETHER}{columns.same[name]}" for name in head if name in columns.same)
        lines.append(f"{'the same in every row' if n_rows > 1 else 'also'}: {values}")
    if columns.left_out:
        names = ", ".join(name for name in head if name in columns.left_out)
        lines.append(f"left out: {names}; {hint}")
    return [part.replace(TOGETHER, " ") for line in lines for part in text.wrapped(line, width, indent="  ")]
