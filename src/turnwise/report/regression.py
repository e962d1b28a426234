"""The regression plot of an off-policy evaluation: estimates with their intervals against what is known, as SVG."""

from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

SIZE, MARGIN = 420, 50


class Dot(NamedTuple):
    name: str
    known: float
    estimate: float
    interval: tuple[float, float] | None


def figure(dots: Sequence[Dot], *, title: str) -> str:
    """A square with the line on which estimates would be right."""
    values = [value for dot in dots for value in (dot.known, dot.estimate, *(dot.interval or ()))]
    low, high = min(values), max(values)
    pad = 0.04 * (high - low or 1.0)
    low, high = low - pad, high + pad

    def x(value: float) -> float:
        return float(round(MARGIN + (value - low) / (high - low) * (SIZE - 2 * MARGIN), 1))

    def y(value: float) -> float:
        return round(SIZE - x(value), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" width="{SIZE}" height="{SIZE}" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{SIZE}" height="{SIZE}" fill="white"/>',
        f'<text x="{SIZE / 2}" y="24" text-anchor="middle">{escape(title)}</text>',
        f'<text x="{SIZE / 2}" y="{SIZE - 8}" text-anchor="middle">known mean</text>',
        f'<text x="14" y="{SIZE / 2}" text-anchor="middle" transform="rotate(-90 14 {SIZE / 2})">estimate</text>',
        f'<path d="M{x(low)} {y(low)}L{x(high)} {y(high)}" stroke="#999" stroke-dasharray="4 3"/>',
        f'<path d="M{x(low)} {y(high)}V{y(low)}H{x(high)}" stroke="black" fill="none"/>',
    ]
    for step in range(5):
        value = low + (high - low) * step / 4
        parts.append(f'<text x="{x(value)}" y="{y(low) + 16}" text-anchor="middle">{value:.2f}</text>')
        parts.append(f'<text x="{x(low) - 5}" y="{y(value) + 4}" text-anchor="end">{value:.2f}</text>')
    for dot in dots:
        at = x(dot.known)
        if dot.interval is not None:
            parts.append(f'<path d="M{at} {y(dot.interval[0])}V{y(dot.interval[1])}" stroke="#4477aa"/>')
        label = f"{dot.name}: known {dot.known:.3f}, estimate {dot.estimate:.3f}"
        parts.append(
            f'<circle cx="{at}" cy="{y(dot.estimate)}" r="3.5" fill="#4477aa"><title>{escape(label)}</title></circle>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"
