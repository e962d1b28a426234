"""Controls: deliberately bad systems. A critic that values one of them as high as a real system is reported as fooled.

Each control is a policy, with a reply at every logged point. `random` gives a reply of another dialogue, `truncated`
the first part of the logged reply, `parrot` repeats the user's words, `generic` and `goodbye` always say the same, and
`stuffed` names every slot (or frequent words, where replies have no slots).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from turnwise.estimators.critic.words import words
from turnwise.types import Dialogue, Reply, Turn

PREFIX = "control:"
LOGGED = "@logged"  # name of the logged replies as a system
RANDOM, TRUNCATED, PARROT, GENERIC, GOODBYE, STUFFED = CONTROLS = (
    "random", "truncated", "parrot", "generic", "goodbye", "stuffed"
)  # fmt: skip
TRAINED_CONTROLS = (
    RANDOM,
    PARROT,
)  # the two negatives of `evaluation`: their value is 0 by training, so it is no evidence
SLOT = "slot"  # prefix of a placeholder in texts of one form
_GENERIC = "i can help you with that . is there anything else i can help you with ?"
_GOODBYE = "you are welcome . thank you for using our service . have a great day ! goodbye ."
_STUFFING = 16  # words


def with_controls(
    dialogues: Sequence[Dialogue], rng: np.random.Generator, *, shares: Sequence[float] = ()
) -> list[Dialogue]:
    """The dialogues with the replies of every control, and of the logged agent, among their alternatives.

    `shares` adds graded corruptions of the logged replies: `random@0.5` replaces the reply in about half of the turns,
    `truncated@0.5` drops half of its words.
    """
    said = [turn.text for dialogue in dialogues for turn in dialogue.turns if _speaks(turn)]
    stuffed = _stuffing(said)
    elsewhere = _replies_elsewhere(dialogues, said, rng)
    chance = iter(rng.random(len(said)).tolist())
    found = []
    for dialogue in dialogues:
        turns, user = [], ""
        for turn in dialogue.turns:
            user = turn.text if turn.role == "user" else user
            if _speaks(turn):
                other, drawn = next(elsewhere), next(chance)
                own = _controls(turn.text, user, other, stuffed) | _graded(turn.text, other, drawn, shares)
                added = {name: (Reply(text),) for name, text in own.items()}
                turn = replace(turn, alternatives={**turn.alternatives, **added})
            turns.append(turn)
        found.append(replace(dialogue, turns=tuple(turns)))
    return found


def _controls(logged: str, user: str, other: str, stuffed: str) -> dict[str, str]:
    """System -> its reply at one point: the logged reply as `LOGGED`, and each control with `PREFIX` before its name.

    `user` is the user's last turn ("" if there is none), `other` a reply of another dialogue, `stuffed` the text of
    `_stuffing`.
    """
    said = {
        RANDOM: other,
        TRUNCATED: truncated(logged, 0.5),
        PARROT: user,
        GENERIC: _GENERIC,
        GOODBYE: _GOODBYE,
        STUFFED: stuffed,
    }
    return {LOGGED: logged, **{PREFIX + name: text for name, text in said.items()}}


def _graded(logged: str, other: str, drawn: float, shares: Sequence[float]) -> dict[str, str]:
    """`random@S` and `truncated@S` for each share S -> the corrupted reply at one point.

    `drawn` is uniform in [0, 1): `random@S` is the `other` reply if it is below S, otherwise the logged one.
    """
    return {
        **{f"{RANDOM}@{share:g}": other if drawn < share else logged for share in shares},
        **{f"{TRUNCATED}@{share:g}": truncated(logged, share) for share in shares},
    }


def truncated(text: str, share: float) -> str:
    """The text without the last `share` of its words, rounded to whole words."""
    kept = text.split()
    return " ".join(kept[: round(len(kept) * (1 - share))])


def _speaks(turn: Turn) -> bool:
    """Whether the turn is an assistant's with a text (a tool call without text is none)."""
    return turn.role == "assistant" and turn.content is not None


def _replies_elsewhere(
    dialogues: Sequence[Dialogue], said: Sequence[str], rng: np.random.Generator
) -> "_Elsewhere":
    """An iterator that gives a random reply of another dialogue for each logged reply in turn."""
    owner = np.repeat(np.arange(len(dialogues)), [sum(map(_speaks, one.turns)) for one in dialogues])
    return _Elsewhere(said, owner, rng)


class _Elsewhere:
    """For each reply in turn, a random reply of another dialogue.

    If 20 draws all fall on its own dialogue, it is the last of these.
    """

    def __init__(self, said: Sequence[str], owner: np.ndarray, rng: np.random.Generator) -> None:
        """`said` are the replies of all dialogues in order, `owner` the number of the dialogue of each."""
        self.said, self.owner, self.rng = said, owner, rng
        self._next = 0

    def __next__(self) -> str:
        mine, self._next = self.owner[self._next], self._next + 1
        for _ in range(20):
            drawn = int(self.rng.integers(len(self.said)))
            if self.owner[drawn] != mine:
                break
        return self.said[drawn]


def _stuffing(said: Sequence[str]) -> str:
    """The up to 16 most frequent placeholders of the replies, sorted, joined by spaces.

    Without placeholders, the most frequent words of more than 3 letters.
    """
    counts = Counter(word for text in said for word in dict.fromkeys(words(text)))
    slots = [word for word, _ in counts.most_common() if word.startswith(SLOT)]
    frequent = slots or [word for word, _ in counts.most_common() if len(word) > 3]
    return " ".join(sorted(frequent[:_STUFFING]))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the critic distinguishes systems from controls.

    `fooled_by` are the controls with at least the value of the worst system; `margin` is the value of the worst system
    minus that of the best control.
    """

    fooled_by: tuple[str, ...]  # controls with at least the value of the worst system
    worst: str | None  # the system with the lowest value; LOGGED if that is lower
    margin: float | None  # value of the worst system minus that of the best control

    @property
    def fooled(self) -> bool:
        """Whether at least one control has the value of the worst system or more."""
        return bool(self.fooled_by)


def verdict_on_controls(
    systems: Mapping[str, float], controls: Mapping[str, float], *, logged: float | None = None
) -> Verdict:
    """The verdict from the values of real systems, of controls and of the logged agent, which counts as a system.

    It is empty (fooled by none, margin None) if there is no system or no control.
    """
    real = {**systems} if logged is None else {**systems, LOGGED: logged}
    if not real or not controls:
        return Verdict((), None, None)
    worst = min(real, key=lambda name: real[name])
    fooling = tuple(name for name, value in controls.items() if not value < real[worst])
    return Verdict(fooling, worst, real[worst] - max(controls.values()))
