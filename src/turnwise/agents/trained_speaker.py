"""What a trained seller and a trained customer of the booking world share: their tokens, and their model folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from turnwise.encode.models.folder import Folder
from turnwise.errors import DataError
from turnwise.networks.transformer import Reader

ACTIONS = ("talk", "offer", "booked", "changed", "cancelled", "no_flight", "no_reservation")
MARKS = ("<pad>", "<user>", "<seller>", "<end>", "<unknown>", "<reservation>", "<none>")
MOST = 40  # tokens of a reply


class Words:
    """The numbers of tokens: marks, actions, and the tokens of the training text."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self.pieces = tuple(pieces)
        self.all = (*MARKS, *(f"<{action}>" for action in ACTIONS), *pieces)
        self._number = {piece: number for number, piece in enumerate(self.all)}

    @classmethod
    def learn(cls, texts: Sequence[Sequence[str]]) -> "Words":
        """All tokens of the texts, in alphabetical order."""
        return cls(sorted({piece for text in texts for piece in text}))

    def __len__(self) -> int:
        return len(self.all)

    def __getitem__(self, piece: str) -> int:
        return self._number.get(piece, self._number["<unknown>"])

    def numbers(self, pieces: Sequence[str]) -> list[int]:
        """The numbers of tokens; unknown ones are <unknown>."""
        return [self[piece] for piece in pieces]


@dataclass(frozen=True, eq=False)
class TrainedSpeaker:
    """A side of a booking dialogue that a network makes."""

    reader: Reader
    words: Words

    @classmethod
    def read(cls, folder: Folder) -> Self:
        """Load a folder that `turnwise train` wrote; raises `DataError` if it is damaged."""
        try:
            return cls(Reader.read(dict(folder.tensors), dict(folder.config)), Words(folder.config["words"]))
        except (KeyError, TypeError, RuntimeError) as error:
            raise DataError(f"{folder.path}: is damaged: {error}") from error
