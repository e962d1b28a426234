"""Shows what a browser would hide in a logged text: control, invisible and direction-changing characters.

Without it a text could seem to have another order than it has (U+202E), or hold words that nobody sees (tags).
Characters that scripts need (zero-width joiners, left-to-right marks, variation selectors of emoji) stay as they are.
"""

import re
from collections.abc import Iterator

# C0 without tab and line feed, DEL and C1, soft hyphen, zero-width space, line separators, embeddings and overrides,
# invisible operators, isolates, byte order mark, annotation marks, surrogates, tags, further variation selectors.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u115f\u1160\u180e\u200b\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
_PICTURES = 0x2400  # where Unicode has pictures of the C0 control characters
_DELETE = "\x7f"
Piece = tuple[str, str]  # kind ("" for plain text, "hit" or "hidden") and text


def visible(text: str) -> str:
    """The text with a picture (`␛`) or code (`⟨U+202E⟩`) in place of each hidden character."""
    return _HIDDEN.sub(_picture, text)


def pieces(text: str, marked: re.Pattern[str] | None = None) -> Iterator[Piece]:
    """The text in pieces: plain text, matches of `marked` (kind `hit`), and hidden characters made visible.

    No piece is empty; an empty text has none.
    """
    done = 0
    for match in marked.finditer(text) if marked is not None else ():
        yield from _split(text[done : match.start()])
        if match[0]:
            yield "hit", visible(match[0])
        done = match.end()
    yield from _split(text[done:])


def _split(text: str) -> Iterator[Piece]:
    """Plain text and hidden characters in turn."""
    done = 0
    for match in _HIDDEN.finditer(text):
        if match.start() > done:
            yield "", text[done : match.start()]
        yield "hidden", _picture(match)
        done = match.end()
    if done < len(text):
        yield "", text[done:]


def _picture(match: re.Match[str]) -> str:
    """The sign for one hidden character."""
    code = ord(match[0])
    if match[0] == _DELETE:
        return "␡"
    return chr(_PICTURES + code) if code < 0x20 else f"⟨U+{code:04X}⟩"
