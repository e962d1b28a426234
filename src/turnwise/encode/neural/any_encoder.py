"""The states of any encoder that transformers can load, up to one of its layers."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModel

from turnwise.encode.neural import loading
from turnwise.encode.transformer.precision import Chosen
from turnwise.errors import UsageError

Array = NDArray[Any]


class AnyEncoder:
    """A model of transformers; the blocks above `layer` are not computed."""

    def __init__(
        self, folder: Path, *, layer: int | None, layers: int, device: str, precision: Chosen
    ) -> None:
        self.layer, self.device = layer, device
        self.network = loading.read_model(folder, AutoModel, device=device, precision=precision)
        if layer is not None:
            del blocks(self.network, layers)[layer:]

    @torch.inference_mode()
    def states(self, ids: Array, kinds: Array | None) -> NDArray[np.float32]:
        """(b, t, d) states of the chosen layer for inputs of one length; `kinds` where the model has token types."""
        inputs = {"input_ids": torch.from_numpy(ids).to(self.device)}
        if kinds is not None:
            inputs["token_type_ids"] = torch.from_numpy(kinds).to(self.device)
        if self.layer is None:
            states = self.network(**inputs).last_hidden_state
        else:
            # A decoder has a norm after its last block; a layer is the block's own output.
            kept: list[Any] = []
            block = blocks(self.network, self.layer)[-1]
            hook = block.register_forward_hook(lambda _module, _inputs, output: kept.append(output))
            try:
                self.network(**inputs)
            finally:
                hook.remove()
            states = kept[0][0] if isinstance(kept[0], tuple) else kept[0]
        return np.asarray(states.float().cpu().numpy())


def blocks(model: Any, count: int) -> Any:
    """The list of the model's `count` layers; a `UsageError` if there is none."""
    for module in model.modules():
        if isinstance(module, torch.nn.ModuleList) and len(module) == count:
            return module
    raise UsageError(f"{type(model).__name__} has no list of {count} layers; leave `layer` out")
