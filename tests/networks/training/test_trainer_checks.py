"""What a trainer returns is checked before it is written."""

from typing import Any

import numpy as np
import pytest

from turnwise.networks.training.checks import trained_problem
from turnwise.networks.training.task import TrainedModel


def made(**parts: Any) -> TrainedModel:
    return TrainedModel(
        **{"kind": "k", "tensors": {"w": np.zeros(2)}, "config": {}, "card": {}, "findings": (), **parts}
    )


def test_plain_values_can_be_written() -> None:
    config = {"a": [1, 2.5, None, True, {"b": "text"}], "n": np.float32(1), "m": np.int64(2)}
    tensors = {"w": np.zeros(2, dtype=np.float16), "bytes": np.zeros(3, dtype=np.uint8)}
    assert trained_problem(made(config=config, tensors=tensors)) is None


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"tensors": {"w": np.array(["a"])}}, "tensor `w` has the type <U1"),
        ({"tensors": {"w": np.array([object()])}}, "tensor `w` has the type object"),
        ({"tensors": {"w": np.zeros(1, dtype=complex)}}, "tensor `w` has the type complex128"),
        ({"config": {"a": {1, 2}}}, "as `config.a`"),
        ({"config": {"a": [0, {(1, 2): 3}]}}, "as a key of `config.a[1]`"),
        ({"card": {"note": object()}}, "as `card.note`"),
    ],
)
def test_what_cannot_be_written_is_named(parts: dict[str, Any], said: str) -> None:
    problem = trained_problem(made(**parts))
    assert problem is not None
    assert said in problem
