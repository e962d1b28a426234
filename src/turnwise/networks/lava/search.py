"""The best of the policies that reinforcement learning passes through, by their success in held-out dialogues."""

from collections.abc import Callable, Mapping

from turnwise.networks.lava.model import Curve, Ground, Model
from turnwise.networks.lava.network import StateEncoder, copied


class Search:
    """Looks at an actor that stands in a model; where it started is the first that is looked at."""

    def __init__(self, model: Model, actor: StateEncoder, held: Ground, say: Callable[[str], None]) -> None:
        self.model, self.actor, self.held, self.say = model, actor, held, say
        self.curve: Curve = []
        self._kept = copied(actor)

    def run(
        self,
        updates: int,
        update: Callable[[int], Mapping[str, float]],
        *,
        every: int,
        after: int = 0,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        """So many updates; the policy is looked at first, every `every`th time once `after` are done, and last."""
        told: Mapping[str, float] = {}
        made = 0
        for number in range(updates):
            if number % every == 0 and (number == 0 or number > after):
                self.look(number, told)
            if stop is not None and stop():
                break
            told, made = update(number), number + 1
        self.look(made, told)

    def look(self, number: int, told: Mapping[str, float]) -> None:
        success = self.held.mean(self.now)
        self.actor.train()
        if success > max((point["success"] for point in self.curve), default=-1.0):
            self._kept = copied(self.actor)
        self.curve.append({"update": float(number), "success": success, **told})
        more = "".join(f", {name} {value:.4f}" for name, value in told.items())
        self.say(f"update {number}: held-out success {success:.4f}{more}")

    @property
    def now(self) -> Model:
        return self._with(self.actor)

    @property
    def best(self) -> Model:
        return self._with(self._kept)

    def _with(self, actor: StateEncoder) -> Model:
        return self.model.acting(self.model.network.acting(actor), self.model.bound)
