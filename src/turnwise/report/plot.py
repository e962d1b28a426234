"""A small plotting module: numbers in, SVG text out.

A picture is 400 units wide, so that its letters can be read on a telephone and it still fills half a desk's screen.
Colours are classes, not values: the page that holds it, or the style that `alone` puts in, says what they are in light,
in dark and on paper. Every text is escaped here; nothing else may write text into a picture.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import NamedTuple
from xml.sax.saxutils import escape

from turnwise.report import labels

WIDTH, HEIGHT = 400.0, 290.0
LEFT, RIGHT, TOP, BOTTOM = 24.0, 12.0, 10.0, 40.0  # LEFT: beside the numbers of the axis
LETTER = 7.2  # width of one at 12 units, in the widest of the fonts
SERIES = 8  # colours, after which they begin again
ROW = 20.0  # height of one line of a picture that lists names
NAME = 22  # letters of such a name


class Scale(NamedTuple):
    """From values to places in the picture."""

    low: float
    high: float
    start: float
    end: float
    whole: bool = False

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    @property
    def step(self) -> float:
        """Between ticks: a round number, and a whole one where the axis counts something."""
        step = _round_step((self.high - self.low) / 5)
        return max(1.0, round(step)) if self.whole else step

    @property
    def ticks(self) -> list[float]:
        """Round numbers, four to nine of them."""
        step = self.step
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]

    def told(self, tick: float) -> str:
        """With as many digits as tell it from its neighbours."""
        digits = max(0, -math.floor(math.log10(self.step) + 1e-9))
        return f"{tick:.{digits}f}" if digits <= 6 and abs(tick) < 1e6 else f"{tick:.4g}"


def _round_step(rough: float) -> float:
    size = 10.0 ** math.floor(math.log10(rough))
    return next(size * step for step in (1, 2, 5, 10) if size * step >= 0.8 * rough)


def reach(values: Iterable[float | None], *, pad: float = 0.05) -> tuple[float, float]:
    """From the least to the greatest, with some room; never empty."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if high - low < 1e-9 * max(1.0, abs(high)):
        half = abs(high) * 0.1 or 0.5
        return low - half, high + half
    room = pad * (high - low)
    return low - room, high + room


def short(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: max(1, letters - 1)]}…"


@dataclass
class Panel:
    """A rectangle with two axes; marks are added in the order in which they cover each other."""

    x: Scale
    y: Scale
    width: float = WIDTH
    height: float = HEIGHT
    marks: list[str] = field(default_factory=list)

    @classmethod
    def over(
        cls,
        xs: tuple[float, float],
        ys: tuple[float, float],
        *,
        height: float = HEIGHT,
        whole: bool = False,
    ) -> "Panel":
        """Axes from and to these values; `whole` where x is a count."""
        down = Scale(*ys, height - BOTTOM, TOP)
        left = LEFT + LETTER * max((len(down.told(tick)) for tick in down.ticks), default=0)
        return cls(Scale(*xs, left, WIDTH - RIGHT, whole), down, height=height)

    @classmethod
    def listing(cls, names: Sequence[str], xs: tuple[float, float], *, below: float = BOTTOM) -> "Panel":
        """Names down the left side, an axis below: the name at place i stands at y = i."""
        letters = min(NAME, max(map(len, names), default=1))
        left, height = 14 + LETTER * letters, TOP + ROW * len(names) + below
        down = Scale(-0.5, len(names) - 0.5, TOP, height - below)
        panel = cls(Scale(*xs, left, WIDTH - RIGHT), down, height=height)
        for place, name in enumerate(names):
            panel.text(left - 6, panel.y(place) + 4, short(name, NAME), anchor="end", tip=name)
        return panel

    def text(
        self, x: float, y: float, words: str, *, anchor: str = "start", style: str = "", tip: str = ""
    ) -> None:
        """Words at a place of the picture, not of the data."""
        inside = f"<title>{escape(tip)}</title>" if tip and tip != words else ""
        name = f' class="{style}"' if style else ""
        self.marks.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{name}>{inside}{escape(words)}</text>'
        )

    def slanted(self, x: float, y: float, words: str, *, tip: str) -> None:
        """Words that end at a place of the picture, rising to it."""
        self.marks.append(
            f'<text transform="translate({x:.1f} {y:.1f}) rotate(-50)" text-anchor="end" class="tick">'
            f"<title>{escape(tip)}</title>{escape(words)}</text>"
        )

    def path(self, places: Sequence[tuple[float, float]], *, style: str, closed: bool = False) -> None:
        """A line through places of the data; where one is not a number, it is broken."""
        drawn, pen = [], "M"
        for x, y in places:
            if math.isfinite(x) and math.isfinite(y):
                drawn.append(f"{pen}{self.x(x)} {self.y(y)}")
                pen = "L"
            else:
                pen = "M"
        end = "Z" if closed else ""
        self.marks.append(f'<path d="{"".join(drawn)}{end}" class="{style}"/>')

    def line(self, xs: Sequence[float], ys: Sequence[float], series: int = 0) -> None:
        self.path(list(zip(xs, ys, strict=True)), style=f"line s{series % SERIES}")

    def band(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], series: int = 0) -> None:
        edge = [*zip(xs, low, strict=True), *reversed(list(zip(xs, high, strict=True)))]
        self.path(edge, style=f"band s{series % SERIES}", closed=True)

    def bar(self, x: tuple[float, float], y: tuple[float, float], *, style: str, tip: str = "") -> None:
        """A rectangle between values of the data."""
        across, down = sorted((self.x(x[0]), self.x(x[1]))), sorted((self.y(y[0]), self.y(y[1])))
        inside = f"<title>{escape(tip)}</title>" if tip else ""
        self.marks.append(
            f'<rect x="{across[0]}" y="{down[0]}" width="{across[1] - across[0]:.1f}" '
            f'height="{down[1] - down[0]:.1f}" class="{style}">{inside}</rect>'
        )

    def dot(self, x: float, y: float, series: int = 0, *, tip: str = "", size: float = 3.5) -> None:
        inside = f"<title>{escape(tip)}</title>" if tip else ""
        self.marks.append(
            f'<circle cx="{self.x(x)}" cy="{self.y(y)}" r="{size}" class="dot s{series % SERIES}">{inside}</circle>'
        )

    def name(self, places: Sequence[tuple[float, float, str]]) -> list[str]:
        """Names beside the dots at these places of the data; where they do not fit, numbers, and their key."""
        dots = [(self.x(x), self.y(y)) for x, y, _ in places]
        frame = labels.Box(self.x.start, self.y.end, self.x.end, self.y.start)
        shown = [short(name, NAME) for *_, name in places]
        boxes = labels.beside(dots, [LETTER * len(name) for name in shown], frame)
        key: list[str] = []
        if boxes is None:
            key = [f"{number} {name}" for number, name in enumerate(shown, start=1)]
            shown = [str(number) for number in range(1, len(shown) + 1)]
            boxes = labels.beside(dots, [LETTER * len(name) for name in shown], frame, reach=labels.FAR)
        if boxes is None:  # a cloud; its table has the names
            return []
        for (x, y), box, words, (*_, tip) in zip(dots, boxes, shown, places, strict=True):
            if max(box.left - x, x - box.right, box.top - y, y - box.bottom) > labels.NEAR[-1]:
                end = f"{min(max(x, box.left), box.right):.1f} {min(max(y, box.top), box.bottom):.1f}"
                self.marks.append(f'<path d="M{x} {y}L{end}" class="leader"/>')
            # Letters are narrower than was reckoned with: they stand at the end that is nearer to the dot.
            at, anchor = (box.left, "start") if box.left >= x else (box.right, "end")
            if box.left < x < box.right:
                at, anchor = (box.left + box.right) / 2, "middle"
            self.text(at, box.bottom - 2, words, anchor=anchor, style="quiet", tip=tip)
        return key

    def across(self, y: float, style: str = "rule") -> None:
        self.path([(self.x.low, y), (self.x.high, y)], style=style)

    def down(self, x: float, style: str = "rule") -> None:
        self.path([(x, self.y.low), (x, self.y.high)], style=style)

    def axes(self, x: str, y: str = "") -> None:
        """Ticks with their numbers, and what the axes mean; no numbers on y where names stand there."""
        floor = max(self.y.start, self.y.end)
        for tick in self.x.ticks:
            self.down(tick, "grid")
            self.text(self.x(tick), floor + 14, self.x.told(tick), anchor="middle", style="tick")
        if y:
            for tick in self.y.ticks:
                self.across(tick, "grid")
                self.text(self.x.start - 5, self.y(tick) + 4, self.y.told(tick), anchor="end", style="tick")
            middle = (self.y.start + self.y.end) / 2
            self.marks.append(
                f'<text transform="translate(11 {middle:.0f}) rotate(-90)" text-anchor="middle" class="label">'
                f"{escape(short(y, 40))}</text>"
            )
        self.text((self.x.start + self.x.end) / 2, floor + 31, short(x, 48), anchor="middle", style="label")

    def svg(self, title: str, *, legend: Sequence[str] = (), key: Sequence[str] = ()) -> str:
        """The picture, with a legend of its series, or the key of its numbers, above it."""
        head, room = _legend(legend, self.width) if legend else _key(key, self.width)
        height = self.height + room
        inside = "\n".join(self.marks)
        body = f'<g transform="translate(0 {room:.0f})">\n{inside}\n</g>' if room else inside
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:.0f} {height:.0f}" class="plot" '
            f'role="img" aria-label="{escape(title, {chr(34): "&quot;"})}">\n{head}{body}\n</svg>\n'
        )


def _legend(names: Sequence[str], width: float) -> tuple[str, float]:
    """Swatches and names in lines as wide as the picture; and how high they are."""
    parts, x, line = [], 6.0, 0
    for place, name in enumerate(names):
        shown = short(name, 44)
        needed = 22 + LETTER * len(shown)
        if x + needed > width and x > 6:
            x, line = 6.0, line + 1
        y = 15 * line + 12
        parts.append(
            f'<circle cx="{x + 4:.1f}" cy="{y - 4}" r="4" class="dot s{place % SERIES}"/>'
            f'<text x="{x + 12:.1f}" y="{y}">{escape(shown)}</text>\n'
        )
        x += needed
    return "".join(parts), 15.0 * (line + 1) + 4 if names else 0.0


def _key(names: Sequence[str], width: float) -> tuple[str, float]:
    """Names in columns; and how high they are."""
    wide = 12 + LETTER * max(map(len, names), default=0)
    columns = max(1, int(width / wide))
    parts = [
        f'<text x="{6 + wide * (place % columns):.1f}" y="{15 * (place // columns) + 12}">{escape(name)}</text>\n'
        for place, name in enumerate(names)
    ]
    return "".join(parts), 15.0 * -(-len(names) // columns) + 4 if names else 0.0


def style() -> str:
    """What the classes of a picture look like."""
    return (files("turnwise.report") / "plot.css").read_text()


def alone(svg: str) -> str:
    """The picture as a file of its own."""
    head, rest = svg.split(">", 1)
    return f"{head}>\n<style>{style()}</style>{rest}"
