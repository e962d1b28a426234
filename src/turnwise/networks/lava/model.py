"""A trained latent policy: the state is mapped to a latent point and the point to a reply."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from turnwise.encode.models.folder import Folder
from turnwise.errors import DataError
from turnwise.networks.hred.encoder import fill, padded
from turnwise.networks.lava.corpus import Corpus, corpus
from turnwise.networks.lava.network import Gaussian, Lava, Sizes
from turnwise.networks.lava.state_layout import Bits, StateLayout
from turnwise.networks.lava.words import Words
from turnwise.types import Dialogue

KINDS = ("lava", "plas", "lava-pg")  # kinds of model folders that hold such a policy
BETA = 0.01  # LaRL's weight of the KL of a latent action
_AT_ONCE = 8192  # replies generated together


@dataclass(frozen=True, eq=False)
class Model:
    """A latent policy with its vocabulary and the meaning of its state bits."""

    network: Lava
    words: Words
    layout: StateLayout
    sizes: Sizes
    longest: int  # largest number of words of a turn, with the end mark
    bound: float | None = (
        None  # largest absolute coordinate of a point that the policy may choose; None: no bound
    )
    beta: float = BETA  # weight of the KL of the latent actions in training, in nats per latent dimension

    @classmethod
    def new(
        cls,
        words: Words,
        layout: StateLayout,
        *,
        longest: int,
        seed: int = 0,
        beta: float = BETA,
        **sizes: Any,
    ) -> "Model":
        """An untrained model; `sizes` are embedding, hidden, latent and dropout."""
        chosen = Sizes(vocabulary=len(words), state=layout.width, **sizes)
        # torch initialises from its global generator, whose state is restored.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = Lava.new(chosen)
        return cls(network, words, layout, chosen, longest, beta=beta)

    @classmethod
    def of(cls, stored: Folder, *, device: str) -> "Model":
        """The model of a stored folder, in evaluation mode; a `DataError` if it is damaged."""
        try:
            config = stored.config
            words = Words(tuple(config["words"]))
            layout = StateLayout(
                tuple((domain, slot) for domain, slot in config["slots"]),
                tuple((domain, part, slot) for domain, part, slot in config["wishes"]),
                int(config["pointer"]),
            )
            beta = float(config.get("beta", BETA))
            model = cls.new(words, layout, longest=int(config["longest"]), beta=beta, **config["sizes"])
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{stored.path}: is damaged: {error}") from error
        fill(model.network, dict(stored.tensors))
        return model.acting(model.network.eval().to(device), config["bound"])

    def acting(self, network: Lava, bound: float | None) -> "Model":
        """The same model with another network and another bound."""
        return replace(self, network=network, bound=bound)

    @property
    def config(self) -> dict[str, Any]:
        """What a model folder stores beside the weights."""
        sizes = {name: getattr(self.sizes, name) for name in ("embedding", "hidden", "latent", "dropout")}
        return {
            "sizes": sizes,
            "longest": self.longest,
            "bound": self.bound,
            "beta": self.beta,
            "words": list(self.words.known),
            "slots": [list(slot) for slot in self.layout.slots],
            "wishes": [list(wish) for wish in self.layout.wishes],
            "pointer": self.layout.pointer,
        }

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Name -> weights as float32 arrays, for a model folder."""
        state = self.network.state_dict()
        return {name: tensor.detach().float().cpu().numpy() for name, tensor in state.items()}

    @property
    def device(self) -> torch.device:
        """The device of the network's weights."""
        return self.network.decoder.logits.weight.device

    def corpus(self, dialogues: Sequence[Dialogue]) -> Corpus:
        """The dialogues as tensors, on the model's device."""
        return corpus(dialogues, self.words, self.layout, longest=self.longest).to(str(self.device))

    def replies(self, inputs: Sequence[tuple[str, Bits]]) -> list[str]:
        """The policy's reply to each (text of the user, state bits); there must be one or more."""
        user = padded([self.words.encode(text, longest=self.longest) for text, _ in inputs], self.device)
        return self.speak(user, torch.as_tensor(np.stack([bits for _, bits in inputs]), device=self.device))

    @torch.no_grad()
    def speak(self, user: Tensor, state: Tensor) -> list[str]:
        """The policy's reply to each of (n, u) user turns with (n, b) state bits, from the mean of its distribution."""
        self.network.eval()
        texts: list[str] = []
        for first in range(0, len(user), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            point = bounded(self.network.state(user[part], state[part]), self.bound)
            texts += self.texts(point.mean)
        return texts

    def texts(self, point: Tensor) -> list[str]:
        """The reply that the decoder generates from each of (n, z) points."""
        tokens = self.network.decoder.generate(point, longest=self.longest)
        return [self.words.decode(row) for row in tokens.tolist()]


def bounded(choice: Gaussian, bound: float | None) -> Gaussian:
    """Squash the mean to [-bound, bound] in every coordinate, as in PLAS: the prior has its mass there.

    The choice is unchanged if `bound` is None.
    """
    if bound is None:
        return choice
    return Gaussian(bound * (choice.mean / bound).tanh(), choice.log_var)


Success = Callable[[int, Sequence[str]], float]  # number of a dialogue, the replies in it -> 0 to 1


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedDialogues:
    """Dialogues, and the function that computes the success of a policy's replies in each of them."""

    corpus: Corpus
    success: Success

    def __len__(self) -> int:
        return len(self.corpus.turns)

    def successes(self, replies: Sequence[str], dialogues: Sequence[int]) -> NDArray[np.float64]:
        """(n,) the success of each of these dialogues, by index; `replies` are those of all of them, concatenated."""
        counts = self.corpus.there[list(dialogues)].sum(dim=1).tolist()
        ends = np.cumsum([0, *counts])
        return np.array(
            [
                self.success(number, replies[first:last])
                for number, first, last in zip(dialogues, ends, ends[1:], strict=False)
            ]
        )

    def mean(self, model: Model) -> float:
        """Mean success (0 to 1) of a policy over all dialogues."""
        replies = model.speak(self.corpus.user, self.corpus.state)
        return float(self.successes(replies, range(len(self))).mean())


Curve = list[Mapping[str, float]]
