"""A small plotting module that writes SVG text.

A picture is 400 units wide, so that its letters can be read on a telephone and it fills half of a desktop screen.
Colours are CSS classes: the page around the picture, or the style that `standalone` adds, defines them for light and
dark screens and for print. All text is escaped here; no other module may write text into a picture.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import NamedTuple
from xml.sax.saxutils import escape

from turnwise.report import labels

WIDTH, HEIGHT = 400.0, 290.0
LEFT, RIGHT, TOP, BOTTOM = 24.0, 12.0, 10.0, 40.0  # margins; LEFT is added to the width of the tick labels
LETTER_WIDTH = 7.2  # width of a letter at font size 12 in the widest of the fonts
N_COLOURS = 8  # number of colours; further series reuse them
ROW_HEIGHT = 20.0  # height of a row in a picture with a list of names
FARTHEST = 10.0  # greatest distance of a mark from the start of its axis, in lengths of the axis
LARGEST_DRAWN = 1e300  # values beyond this size do not widen an axis: the length of their range is no number
LINE_HEIGHT = 13.0  # height of a line of text
MAX_NAME_LETTERS = 22  # letters from which on a name in such a list is broken into lines
FEWEST_LETTERS = 16  # of a line of such a name
NARROWEST = 110.0  # width that names leave for the axis, if they can
MAX_LINE_LETTERS = int((WIDTH - 12) / LETTER_WIDTH)  # of text across the picture

_PARTS = re.compile(r"[^\s_\-/:,=\[\]]*[\s_\-/:,=\[\]]?")


class Scale(NamedTuple):
    """Linear map from values to coordinates in the picture."""

    low: float
    high: float
    start: float
    end: float
    integer_ticks: bool = False

    def __call__(self, value: float) -> float:
        """The coordinate of a value, rounded to a tenth; values outside the range lie outside the picture's axis.

        Values far outside lie where those ten times the range away do, so that no coordinate overflows.
        """
        share = min(max((value - self.low) / (self.high - self.low), -FARTHEST), FARTHEST)
        return round(self.start + share * (self.end - self.start), 1)

    @property
    def step(self) -> float:
        """Distance between ticks: 1, 2 or 5 times a power of ten; at least 1 and whole on an axis of counts."""
        step = _round_step((self.high - self.low) / 5)
        return max(1.0, round(step)) if self.integer_ticks else step

    @property
    def ticks(self) -> list[float]:
        """The tick values within the range: multiples of `step`, usually four to nine."""
        step = self.step
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]

    def format_tick(self, tick: float) -> str:
        """The tick label, with the decimals that the tick distance needs; beyond six or from a million on as `.4g`."""
        digits = max(0, -math.floor(math.log10(self.step) + 1e-9))
        return f"{tick:.{digits}f}" if digits <= 6 and abs(tick) < 1e6 else f"{tick:.4g}"


def _round_step(rough: float) -> float:
    """The smallest of 1, 2, 5 or 10 times the power of ten below `rough` that is at least 0.8 of it."""
    size = 10.0 ** math.floor(math.log10(rough))
    return next(size * step for step in (1, 2, 5, 10) if size * step >= 0.8 * rough)


def padded_range(values: Iterable[float | None], *, pad: float = 0.05) -> tuple[float, float]:
    """The range of the finite values, widened on both sides by `pad` of its length; 0 to 1, widened, without values.

    Equal values get a tenth of their size, or 0.5, on both sides. Values beyond 1e300 in size are taken for infinite.
    """
    known = [value for value in values if value is not None and abs(value) <= LARGEST_DRAWN]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if high - low < 1e-9 * max(1.0, abs(high)):
        half = abs(high) * 0.1 or 0.5
        return low - half, high + half
    room = pad * (high - low)
    return low - room, high + room


def broken(text: str, letters: int = MAX_NAME_LETTERS) -> list[str]:
    """The text in lines of at most this many letters, broken after spaces and signs, or inside longer words."""
    lines = [""]
    for part in _PARTS.findall(text):
        if lines[-1] and len(lines[-1] + part.rstrip()) > letters:
            lines.append("")
        lines[-1] += part
        while len(lines[-1].rstrip()) > letters:
            lines[-1:] = [lines[-1][:letters], lines[-1][letters:]]
    return [line.rstrip() for line in lines]


@dataclass
class Panel:
    """A plotting area with two axes; later marks cover earlier ones."""

    x: Scale
    y: Scale
    width: float = WIDTH
    height: float = HEIGHT
    marks: list[str] = field(default_factory=list)

    @classmethod
    def with_axes(
        cls,
        xs: tuple[float, float],
        ys: tuple[float, float],
        *,
        height: float = HEIGHT,
        integer_ticks: bool = False,
    ) -> "Panel":
        """A panel with axes over these ranges; `integer_ticks` if x is a count."""
        down = Scale(*ys, height - BOTTOM, TOP)
        left = LEFT + LETTER_WIDTH * max((len(down.format_tick(tick)) for tick in down.ticks), default=0)
        return cls(Scale(*xs, left, WIDTH - RIGHT, integer_ticks), down, height=height)

    @classmethod
    def with_names(
        cls,
        names: Sequence[str],
        xs: tuple[float, float],
        *,
        above: float = 0.0,
        below: float = BOTTOM,
        right: float = RIGHT,
    ) -> "Panel":
        """A panel with names on the left, the i-th at y = i, and an x axis below; long names are several lines, so
        that the axis has room.
        """
        room = int((WIDTH - right - 14 - NARROWEST) / LETTER_WIDTH)
        lines = [broken(name, min(MAX_NAME_LETTERS, max(FEWEST_LETTERS, room))) for name in names]
        letters = max((len(line) for name in lines for line in name), default=1)
        row = max(ROW_HEIGHT, LINE_HEIGHT * max(map(len, lines), default=1) + 5)
        left, height = 14 + LETTER_WIDTH * letters, TOP + above + row * len(names) + below
        down = Scale(-0.5, len(names) - 0.5, TOP + above, height - below)
        panel = cls(Scale(*xs, left, WIDTH - right), down, height=height)
        for place, name in enumerate(names):
            panel.text_lines(left - 6, panel.y(place) + 4, lines[place], anchor="end", tip=name)
        return panel

    def text_lines(
        self,
        x: float,
        y: float,
        lines: Sequence[str],
        *,
        anchor: str = "start",
        style: str = "",
        tip: str = "",
    ) -> None:
        """Add lines of text around a height in picture coordinates."""
        for number, line in enumerate(lines):
            self.text(
                x,
                y + LINE_HEIGHT * (number - (len(lines) - 1) / 2),
                line,
                anchor=anchor,
                style=style,
                tip=tip,
            )

    def text(
        self, x: float, y: float, words: str, *, anchor: str = "start", style: str = "", tip: str = ""
    ) -> None:
        """Add text, if there is any, at a position in picture coordinates; `style` is a class, `tip` a tooltip."""
        if not words:
            return
        inside = f"<title>{escape(tip)}</title>" if tip and tip != words else ""
        name = f' class="{style}"' if style else ""
        self.marks.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{name}>{inside}{escape(words)}</text>'
        )

    def slanted_text(self, x: float, y: float, words: str, *, tip: str) -> None:
        """Add slanted text that ends at a position in picture coordinates."""
        self.marks.append(
            f'<text transform="translate({x:.1f} {y:.1f}) rotate(-50)" text-anchor="end" class="tick">'
            f"<title>{escape(tip)}</title>{escape(words)}</text>"
        )

    def path(
        self, places: Sequence[tuple[float, float]], *, style: str, closed: bool = False, tip: str = ""
    ) -> None:
        """Add a line through points in data coordinates; it is interrupted at points that are not finite.

        `style` is its CSS class, `tip` its tooltip; a closed path is joined at its ends.
        """
        drawn, pen = [], "M"
        for x, y in places:
            if math.isfinite(x) and math.isfinite(y):
                drawn.append(f"{pen}{self.x(x)} {self.y(y)}")
                pen = "L"
            else:
                pen = "M"
        end = "Z" if closed else ""
        inside = f"<title>{escape(tip)}</title>" if tip else ""
        self.marks.append(f'<path d="{"".join(drawn)}{end}" class="{style}">{inside}</path>')

    def line(self, xs: Sequence[float], ys: Sequence[float], series: int = 0) -> None:
        """Add a line through (x, y) in the colour of a series; colours repeat after eight."""
        self.path(list(zip(xs, ys, strict=True)), style=f"line s{series % N_COLOURS}")

    def band(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], series: int = 0) -> None:
        """Add a filled band between the curves `low` and `high` over `xs`, in data coordinates."""
        edge = [*zip(xs, low, strict=True), *reversed(list(zip(xs, high, strict=True)))]
        self.path(edge, style=f"band s{series % N_COLOURS}", closed=True)

    def bar(self, x: tuple[float, float], y: tuple[float, float], *, style: str, tip: str = "") -> None:
        """Add a rectangle from x[0] to x[1] and y[0] to y[1] in data coordinates."""
        across, down = sorted((self.x(x[0]), self.x(x[1]))), sorted((self.y(y[0]), self.y(y[1])))
        inside = f"<title>{escape(tip)}</title>" if tip else ""
        self.marks.append(
            f'<rect x="{across[0]}" y="{down[0]}" width="{across[1] - across[0]:.1f}" '
            f'height="{down[1] - down[0]:.1f}" class="{style}">{inside}</rect>'
        )

    def dot(self, x: float, y: float, series: int = 0, *, tip: str = "", size: float = 3.5) -> None:
        """Add a dot in data coordinates, or nothing for one that is not finite; `tip` is its tooltip."""
        if not (math.isfinite(x) and math.isfinite(y)):
            return
        inside = f"<title>{escape(tip)}</title>" if tip else ""
        self.marks.append(
            f'<circle cx="{self.x(x)}" cy="{self.y(y)}" r="{size}" class="dot s{series % N_COLOURS}">{inside}</circle>'
        )

    def label_dots(self, places: Sequence[tuple[float, float, str]]) -> list[str]:
        """Add names beside the dots at these points (x, y, name), or numbers if names do not fit, and return their key.

        Empty if names fit, or if not even numbers fit and nothing is added.
        """
        dots = [(self.x(x), self.y(y)) for x, y, _ in places]
        frame = labels.Box(self.x.start, self.y.end, self.x.end, self.y.start)
        shown = [name for *_, name in places]
        boxes = None
        if max(map(len, shown), default=0) <= MAX_NAME_LETTERS:
            boxes = labels.place_labels(dots, [LETTER_WIDTH * len(name) for name in shown], frame)
        key: list[str] = []
        if boxes is None:
            key = [f"{number} {name}" for number, name in enumerate(shown, start=1)]
            shown = [str(number) for number in range(1, len(shown) + 1)]
            boxes = labels.place_labels(
                dots, [LETTER_WIDTH * len(name) for name in shown], frame, distances=labels.FAR
            )
        if boxes is None:  # not even numbers fit; the table has the names
            return []
        for (x, y), box, words, (*_, tip) in zip(dots, boxes, shown, places, strict=True):
            if max(box.left - x, x - box.right, box.top - y, y - box.bottom) > labels.NEAR[-1]:
                end = f"{min(max(x, box.left), box.right):.1f} {min(max(y, box.top), box.bottom):.1f}"
                self.marks.append(f'<path d="M{x} {y}L{end}" class="leader"/>')
            # Text is narrower than its box, so it is aligned to the side of the box that is nearer to the dot.
            at, anchor = (box.left, "start") if box.left >= x else (box.right, "end")
            if box.left < x < box.right:
                at, anchor = (box.left + box.right) / 2, "middle"
            self.text(at, box.bottom - 2, words, anchor=anchor, style="quiet", tip=tip)
        return key

    def horizontal_rule(self, y: float, style: str = "rule") -> None:
        """Add a horizontal line at `y` in data coordinates across the panel."""
        self.path([(self.x.low, y), (self.x.high, y)], style=style)

    def vertical_rule(self, x: float, style: str = "rule") -> None:
        """Add a vertical line at `x` in data coordinates across the panel."""
        self.path([(x, self.y.low), (x, self.y.high)], style=style)

    def axes(self, x: str, y: str = "") -> None:
        """Add ticks, tick labels and axis labels; the y axis has none if `y` is empty."""
        floor = max(self.y.start, self.y.end)
        for tick in self.x.ticks:
            self.vertical_rule(tick, "grid")
            self.text(self.x(tick), floor + 14, self.x.format_tick(tick), anchor="middle", style="tick")
        if y:
            for tick in self.y.ticks:
                self.horizontal_rule(tick, "grid")
                self.text(
                    self.x.start - 5, self.y(tick) + 4, self.y.format_tick(tick), anchor="end", style="tick"
                )
            middle = (self.y.start + self.y.end) / 2
            lines = broken(y, int(abs(self.y.end - self.y.start) / LETTER_WIDTH))
            for number, line in enumerate(lines):
                across = 14 - 10 * (len(lines) - 1 - number)
                self.marks.append(
                    f'<text transform="translate({across} {middle:.0f}) rotate(-90)" text-anchor="middle" '
                    f'class="label">{escape(line)}</text>'
                )
        lines = broken(x, MAX_LINE_LETTERS)
        # A label that is wider than its axis is in the middle of the picture.
        fits = LETTER_WIDTH * max(map(len, lines)) <= self.x.end - self.x.start
        middle = (self.x.start + self.x.end) / 2 if fits else self.width / 2
        for number, line in enumerate(lines):
            self.text(middle, floor + 31 + LINE_HEIGHT * number, line, anchor="middle", style="label")
        self.height = max(self.height, floor + 40 + LINE_HEIGHT * (len(lines) - 1))

    def svg(self, title: str, *, legend: Sequence[str] = (), key: Sequence[str] = ()) -> str:
        """The SVG text, with a legend of the series or the key of numbered dots above the picture."""
        head, room = _legend(legend, self.width) if legend else _numbered_key(key, self.width)
        height = self.height + room
        inside = "\n".join(self.marks)
        body = f'<g transform="translate(0 {room:.0f})">\n{inside}\n</g>' if room else inside
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:.0f} {height:.0f}" class="plot" '
            f'role="img" aria-label="{escape(title, {chr(34): "&quot;"})}">\n{head}{body}\n</svg>\n'
        )


def _legend(names: Sequence[str], width: float) -> tuple[str, float]:
    """The legend as SVG, wrapped to the width of the picture, and its height."""
    parts, x, line = [], 6.0, 0
    for place, name in enumerate(names):
        lines = broken(name, MAX_LINE_LETTERS - 2)
        needed = 22 + LETTER_WIDTH * max(map(len, lines))
        if x + needed > width and x > 6:
            x, line = 6.0, line + 1
        y = 15 * line + 12
        parts.append(
            f'<circle cx="{x + 4:.1f}" cy="{y - 4}" r="4" class="dot s{place % N_COLOURS}"/>'
            + "".join(
                f'<text x="{x + 12:.1f}" y="{y + 15 * number}">{escape(words)}</text>\n'
                for number, words in enumerate(lines)
            )
        )
        x, line = x + needed, line + len(lines) - 1
    return f'<g class="legend">{"".join(parts)}</g>', 15.0 * (line + 1) + 4


def _numbered_key(names: Sequence[str], width: float) -> tuple[str, float]:
    """The key of numbered dots as SVG, in columns, and its height (0 without names)."""
    names = [line for name in names for line in broken(name, MAX_LINE_LETTERS)]
    wide = 12 + LETTER_WIDTH * max(map(len, names), default=0)
    columns = max(1, int(width / wide))
    parts = [
        f'<text x="{6 + wide * (place % columns):.1f}" y="{15 * (place // columns) + 12}">{escape(name)}</text>\n'
        for place, name in enumerate(names)
    ]
    return "".join(parts), 15.0 * -(-len(names) // columns) + 4 if names else 0.0


def style() -> str:
    """The CSS of a picture's classes, the content of plot.css."""
    return (files("turnwise.report") / "plot.css").read_text()


def standalone(svg: str) -> str:
    """The picture with its style, for a file of its own."""
    head, rest = svg.split(">", 1)
    return f"{head}>\n<style>{style()}</style>{rest}"
