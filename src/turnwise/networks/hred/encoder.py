"""The hierarchical encoder of ADEM (section 4): an RNN over the words of a turn, and one over the turns.

The vector of a context is the last state of the upper RNN; a reply is encoded as a context of one turn, as in the
paper. The network must be pretrained as a dialogue model (`dialogue_model.py`): without that its vectors carry no
information. Both RNNs are LSTMs with layer normalisation. The paper's context vector has 2,000 dimensions, ours 1,000
by default.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from turnwise.encode.batches import distinct
from turnwise.encode.encoder import Vectors
from turnwise.encode.models import folder
from turnwise.encode.neural.loading import default_device
from turnwise.errors import DataError, UsageError
from turnwise.networks.hred.recurrent import NormalisedLSTM
from turnwise.networks.subwords import PAD, Subwords
from turnwise.types import Signature

Tokens = Sequence[Sequence[Sequence[int]]]  # dialogue -> turn -> tokens, the end mark last
KINDS = ("hred", "vhred", "dual")  # kinds of model folders that hold this encoder


class HierarchicalEncoder(nn.Module):
    """The RNN over words and the RNN over turns."""

    def __init__(self, *, vocabulary: int, embedding: int, utterance: int, context: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding, padding_idx=PAD)
        self.utterance = NormalisedLSTM(embedding, utterance)
        self.context = NormalisedLSTM(utterance, context)
        nn.init.normal_(self.embedding.weight, std=embedding**-0.5)

    def utterances(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        """(u, h) the state of the lower RNN at the end of each turn."""
        lengths = [len(turn) for turn in tokens]
        states: Tensor = self.utterance(self.embedding(padded(tokens, self.device)), lengths)
        return states[:, -1]

    def contexts(self, vectors: Tensor, lengths: Sequence[int]) -> Tensor:
        """(b, n, h) turn vectors -> (b, n, c) states of the upper RNN after each turn."""
        states: Tensor = self.context(vectors, lengths)
        return states

    def turns(self, dialogues: Tokens) -> tuple[Tensor, Tensor]:
        """For each turn except the first of a dialogue: its vector (n, h), and the state before it (n, c)."""
        lengths = [len(dialogue) for dialogue in dialogues]
        vectors = self.utterances([turn for dialogue in dialogues for turn in dialogue])
        rows = nn.utils.rnn.pad_sequence(list(torch.split(vectors, lengths)), batch_first=True)
        states = self.contexts(rows, lengths)
        later = np.arange(1, max(lengths)) < np.asarray(lengths)[:, None]  # (b, n - 1)
        there = torch.as_tensor(later, device=vectors.device)
        return rows[:, 1:][there], states[:, :-1][there]

    @property
    def device(self) -> torch.device:
        """The device of the network's weights."""
        return self.embedding.weight.device


def padded(rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """(rows, longest) tokens as a table, filled with PAD on the right."""
    width = max(map(len, rows))
    table = np.full((len(rows), width), PAD, dtype=np.int64)
    for row, tokens in zip(table, rows, strict=True):
        row[: len(tokens)] = tokens
    return torch.as_tensor(table, device=device)


@dataclass(frozen=True, eq=False)
class Hierarchical:
    """A pretrained encoder of contexts and replies."""

    network: HierarchicalEncoder
    subwords: Subwords
    label: str  # kind@digest
    max_tokens: int
    max_turns: int
    at_once: int = 256  # turns or contexts computed together

    @classmethod
    def load(cls, path: str | Path, *, device: str | None = None) -> "Hierarchical":
        """The encoder of a folder that `turnwise train hred|vhred|dual` wrote; `UsageError` for another kind."""
        kind = folder.read_config(Path(path))["kind"]
        if kind not in KINDS:
            raise UsageError(f"{path} holds a model of kind `{kind}`; expected one of {', '.join(KINDS)}")
        return cls.of(folder.load(path, kind), device=device)

    @classmethod
    def of(cls, stored: folder.Folder, *, device: str | None = None) -> "Hierarchical":
        """The encoder of a stored folder; a `DataError` if it is damaged. `device` None is the default device."""
        try:
            settings, subwords = stored.config["settings"], Subwords.read(stored.config["subwords"])
            sizes = {name: settings[name] for name in ("embedding", "utterance", "context")}
            longest, most = settings["max_tokens"], settings["max_turns"]
        except (KeyError, TypeError) as error:
            raise DataError(f"{stored.path}: is damaged: its config has no {error}") from error
        network = HierarchicalEncoder(vocabulary=len(subwords), **sizes)
        prefix = "encoder."
        fill(
            network,
            {
                name.removeprefix(prefix): array
                for name, array in stored.tensors.items()
                if name.startswith(prefix)
            },
        )
        return cls(
            network.eval().to(device or default_device()),
            subwords,
            f"{stored.kind}@{stored.digest[:8]}",
            longest,
            most,
        )

    @property
    def dimension(self) -> int:
        """The length c of a context's vector."""
        return self.network.context.hidden

    @property
    def signature(self) -> Signature:
        """The label `KIND@DIGEST`, and the largest numbers of tokens and turns."""
        return Signature(self.label, (("tokens", str(self.max_tokens)), ("turns", str(self.max_turns))))

    def encode(self, contexts: Sequence[str | Sequence[str]], /) -> Vectors:
        """(n, c) the vector of each context, whose turns are ordered from the oldest.

        A single text is a context of one turn; a context without turns is NaN. The oldest turns beyond the largest
        number are left out.
        """
        turns = [
            [context] if isinstance(context, str) else list(context)[-self.max_turns :]
            for context in contexts
        ]
        texts, inverse = distinct([text for context in turns for text in context])
        vectors = np.full((len(turns), self.dimension), np.nan, dtype=np.float32)
        if not texts:
            return vectors
        spoken = self._spoken(texts)
        ends = np.cumsum([0, *map(len, turns)])
        by_length = sorted(
            (row for row, context in enumerate(turns) if context), key=lambda row: len(turns[row])
        )
        for first in range(0, len(by_length), self.at_once):
            rows = by_length[first : first + self.at_once]
            vectors[rows] = self._contexts([spoken[inverse[ends[row] : ends[row + 1]]] for row in rows])
        return vectors

    def utterances(self, texts: Sequence[str], /) -> Vectors:
        """(n, h) the state of the lower RNN after each text."""
        vectors: Vectors = self._spoken(texts).float().cpu().numpy()
        return vectors

    @torch.inference_mode()
    def _spoken(self, texts: Sequence[str]) -> Tensor:
        """(n, h) the state of the lower RNN after each text, on the network's device."""
        tokens = self.subwords.encode(texts, longest=self.max_tokens)
        order = sorted(range(len(tokens)), key=lambda index: len(tokens[index]))
        found = torch.empty(len(tokens), self.network.utterance.hidden, device=self.network.device)
        for first in range(0, len(order), self.at_once):
            rows = order[first : first + self.at_once]
            found[rows] = self.network.utterances([tokens[row] for row in rows])
        return found

    @torch.inference_mode()
    def _contexts(self, spoken: Sequence[Tensor]) -> Vectors:
        """(n, c) the state of the upper RNN after the (turns, h) vectors of each context."""
        states = self.network.contexts(
            nn.utils.rnn.pad_sequence(list(spoken), batch_first=True), list(map(len, spoken))
        )
        vectors: Vectors = states[:, -1].float().cpu().numpy()
        return vectors


def fill(network: nn.Module, tensors: dict[str, NDArray[Any]]) -> None:
    """Load stored weights into a network; raises `DataError` if names or shapes do not match."""
    weights = {name: torch.as_tensor(np.asarray(array, dtype=np.float32)) for name, array in tensors.items()}
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise DataError(
            f"the weights are not those that the settings describe: {str(error).splitlines()[-1].strip()}"
        ) from error
