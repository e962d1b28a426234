"""Training settings of the neural estimators: three presets, each setting of which can be changed.

`paper` is Appendix B of ENIGMA; optimiser, warm-up, batch and number of epochs, which it does not state, are those of
the released script for human data. `script` is the released script for synthetic data (a frozen encoder).
`quick` is ours, for a frozen encoder on a CPU. There lambda starts at its final value, near 2 alpha: from 0 it needs
most of the training to get there, and zeta falls to .1 meanwhile (observed on simulated bookings). `by_step` and
`nu_penalty` keep zeta from collapsing where the target says what nobody logged says (papers/enigma-neural.md).

The released code multiplies gradients where the paper has learning rates. Under SGD that is the same except for
clipping; Adam is invariant to it, so lambda and nu effectively had the common learning rate. Here they have their own.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

Optimiser = Literal["sgd", "adam"]
Schedule = Literal["constant", "linear", "inverse-sqrt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one training; factors such as `nu_rate` multiply `rate`."""

    optimiser: Optimiser
    rate: float  # learning rate of zeta and of the encoder
    nu_rate: float  # times `rate`
    lambda_rate: float  # times `rate`
    schedule: Schedule
    warmup: int  # steps
    clip: float  # largest norm of the gradient
    momentum: float  # momentum of SGD
    decay: float  # weight decay
    batch: int  # dialogues in a step
    epochs: int
    components: int  # principal components of frozen vectors; 0: the vectors as they are
    alpha: float = 1.0  # weight of the regulariser zeta^2
    price: float = 0.0  # initial value of lambda
    by_step: bool = (
        False  # whether the mean of zeta is held at 1 at each step and at last turns, not over all
    )
    nu_penalty: float = 0.0  # weight of nu^2, which keeps nu from growing without bound


PRESETS = {
    "paper": Settings(
        optimiser="adam",
        rate=2e-4,
        nu_rate=2,
        lambda_rate=100,
        schedule="inverse-sqrt",
        warmup=30,
        clip=10,
        momentum=0,
        decay=1e-4,
        batch=20,
        epochs=500,
        components=0,
    ),
    "script": Settings(
        optimiser="sgd",
        rate=2e-2,
        nu_rate=5,
        lambda_rate=10,
        schedule="linear",
        warmup=30,
        clip=1,
        momentum=0.5,
        decay=1e-4,
        batch=48,
        epochs=500,
        components=0,
    ),
    "quick": Settings(
        optimiser="adam",
        rate=1e-3,
        nu_rate=2,
        lambda_rate=10,
        schedule="linear",
        warmup=10,
        clip=10,
        momentum=0,
        decay=1e-4,
        batch=256,
        epochs=60,
        components=64,
        price=2.0,
        by_step=True,
        nu_penalty=0.1,
    ),
}


def chosen(preset: str, **changes: Any) -> Settings:
    """The preset with these changes; None leaves a setting unchanged."""
    return replace(PRESETS[preset], **{name: value for name, value in changes.items() if value is not None})
