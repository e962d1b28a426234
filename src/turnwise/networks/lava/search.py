"""Reinforcement learning of a policy, keeping the one with the best success in held-out dialogues."""

from collections.abc import Callable, Mapping

from turnwise.networks.lava.model import Curve, EvaluatedDialogues, Model
from turnwise.networks.lava.network import StateEncoder, copied
from turnwise.networks.training.checkpoint import Point, restore_weights
from turnwise.networks.training.loop import Hooks, Stop, run


class Search:
    """Trains the state encoder `actor` in place of the model's own; the initial policy is a candidate too."""

    def __init__(
        self, model: Model, actor: StateEncoder, held_out: EvaluatedDialogues, report: Callable[[str], None]
    ) -> None:
        self.model, self.actor, self.held_out, self.report = model, actor, held_out, report
        self.curve: Curve = []
        self._best = copied(actor)

    def run(
        self,
        updates: int,
        update: Callable[[int], Mapping[str, float]],
        *,
        every: int,
        after: int = 0,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        """Make `updates` updates with `update(number)`, whose numbers are added to the curve.

        The policy is measured at the start, every `every` updates once `after` are done, and at the end. `stop` is
        asked before each update.
        """
        last: Mapping[str, float] = {}  # numbers of the last update

        def unless_stopped(number: int) -> None:
            """One update, whose numbers are kept for the curve; raises `Stop` if `stop` says so."""
            nonlocal last
            if stop is not None and stop():
                raise Stop
            last = update(number)

        def measure(done: int) -> Point:
            """A point of the curve: the updates done, held-out success, and the numbers of the last update."""
            success = self.held_out.mean(self.last)
            self.actor.train()
            return {"update": float(done), "success": success, **last}

        progress = run(
            unless_stopped,
            measure,
            updates=updates,
            hooks=Hooks(
                measured=lambda done: done in (0, updates) or (done % every == 0 and done > after),
                best=lambda curve: max(range(len(curve)), key=lambda index: curve[index]["success"]),
                line=_line,
            ),
            weights=self.actor.state_dict,
            say=self.report,
        )
        self.curve = list(progress.curve)
        restore_weights(self._best.state_dict(), progress.best)

    @property
    def last(self) -> Model:
        """The policy as it is now."""
        return self._with(self.actor)

    @property
    def best(self) -> Model:
        """The policy with the highest success in the held-out dialogues, the first of equals."""
        return self._with(self._best)

    def _with(self, actor: StateEncoder) -> Model:
        """The model with this state encoder."""
        return self.model.acting(self.model.network.acting(actor), self.model.bound)


def _line(point: Point) -> str:
    """The progress line of a point: the update, held-out success, and the numbers of the last update."""
    rest = (f", {name} {value:.4f}" for name, value in point.items() if name not in ("update", "success"))
    return f"update {point['update']:.0f}: held-out success {point['success']:.4f}{''.join(rest)}"
