"""HRED and VHRED (Serban et al. 2016, 2017) as agents: the pretrained dialogue models generate the next turn.

VHRED first draws its latent variable from the prior, once per reply. The unknown-word token is never generated.
The papers do not state how their replies were decoded; here words are sampled with a temperature.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from turnwise.agents.calling import ReplyOrFailure, ReplyRequest, single_reply
from turnwise.agents.dual import texts
from turnwise.agents.sampling import check_sampling, sample_tokens
from turnwise.encode.models.folder import Folder
from turnwise.errors import DataError
from turnwise.networks.hred.dialogue_model import DialogueModel
from turnwise.networks.hred.encoder import Hierarchical, fill
from turnwise.networks.hred.pretraining import Settings
from turnwise.networks.subwords import BEGIN, END, PAD, UNKNOWN
from turnwise.types import Reply, Signature, Turn


@dataclass(frozen=True, eq=False)
class Hred:
    """A pretrained HRED or VHRED that samples replies."""

    network: DialogueModel
    encoder: Hierarchical
    temperature: float = 0.7
    top_p: float = 0.95

    @classmethod
    def read(
        cls, folder: Folder, *, temperature: float = 0.7, top_p: float = 0.95, device: str | None = None
    ) -> "Hred":
        """Load a folder that `turnwise train hred|vhred` wrote.

        Raises `DataError` if its settings do not fit, and `UsageError` if `temperature` or `top_p` is out of range.
        """
        check_sampling(temperature, top_p)
        encoder = Hierarchical.of(folder, device=device)
        try:
            network = Settings(**folder.config["settings"]).network(len(encoder.subwords))
        except TypeError as error:
            raise DataError(f"{folder.path}: is damaged: {error}") from error
        fill(network, dict(folder.tensors))
        return cls(network.eval().to(encoder.network.device), encoder, temperature, top_p)

    @property
    def signature(self) -> Signature:
        """The encoder's name and hash, and the sampling settings."""
        fields = {"temperature": str(self.temperature), "top_p": str(self.top_p)}
        return Signature(self.encoder.label, tuple(fields.items()))

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        return single_reply(self, turns, rng)

    @torch.inference_mode()
    def replies(self, requests: Sequence[ReplyRequest], /) -> list[ReplyOrFailure]:
        """One sampled reply to each request; all are decoded in one batch."""
        if not requests:
            return []
        generators = [one.rng for one in requests]
        # An empty context has a zero vector, which does not occur in training.
        contexts = np.nan_to_num(self.encoder.encode([texts(one.turns) for one in requests]))
        known = torch.as_tensor(contexts, device=self.encoder.network.device)
        if self.network.latent:
            noise = np.stack([rng.standard_normal(self.network.latent) for rng in generators])
            drawn = self.network.prior(known).draw(torch.as_tensor(noise, dtype=torch.float32).to(known))
            known = torch.cat([known, drawn], dim=1)
        condition, state = self.network.begin(known)
        words = torch.full((len(requests), 1), BEGIN, device=known.device)
        generated = []
        for step in range(self.encoder.max_tokens - 1):
            states, state = self.network.decode(words, condition, state)
            logits = self.network.logits(states[:, -1])
            logits[:, [PAD, BEGIN, UNKNOWN, *([END] if step == 0 else [])]] = -torch.inf
            uniform = torch.tensor([rng.random() for rng in generators], dtype=torch.float64)
            words = sample_tokens(logits, uniform, temperature=self.temperature, top_p=self.top_p).unsqueeze(
                1
            )
            generated.append(words.squeeze(1).tolist())
            if all(END in row for row in zip(*generated, strict=True)):
                break
        return [Reply(self.encoder.subwords.decode(_until_end(row))) for row in zip(*generated, strict=True)]


def _until_end(tokens: Sequence[int]) -> Sequence[int]:
    """The tokens before the first end token; all tokens if there is none."""
    return tokens[: tokens.index(END)] if END in tokens else tokens
