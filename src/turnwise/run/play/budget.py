"""What a run may take: calls and money, counted over all conversations, those of an interrupted run too."""

from threading import Event, Lock

from turnwise.errors import setting
from turnwise.metrics.judge.cost import Price
from turnwise.run.play.conversation import Spend, Stopped


class Budget:
    """Counts calls and cost, and stops the run at either limit."""

    def __init__(self, max_calls: int | None, max_cost: float | None) -> None:
        self.max_calls, self.max_cost = max_calls, max_cost
        self.calls, self.cost = 0, 0.0
        self.stop = Event()  # set where the run is over for any other reason
        self._lock = Lock()

    def before_call(self) -> None:
        """Count a call; raises `Stopped` where none is allowed any more."""
        with self._lock:
            if self.stop.is_set() or self.reached:
                raise Stopped
            self.calls += 1

    @property
    def reached(self) -> str:
        """The limit that is reached, in words; "" if none is."""
        if self.max_calls is not None and self.calls >= self.max_calls:
            return setting("--max-calls", self.max_calls)
        if self.max_cost is not None and self.cost >= self.max_cost:
            return setting("--max-cost", f"{self.max_cost:g}")
        return ""

    def add(self, calls: int, cost: float | None) -> None:
        """Count what an interrupted run has taken."""
        with self._lock:
            self.calls += calls
            self.cost += cost or 0.0

    def spender(self, price: Price | None) -> Spend:
        """A function that counts the cost of tokens at this price, or the cost that an agent knows."""

        def spend(tokens_in: int, tokens_out: int, cost: float | None) -> float | None:
            """The cost, counted; None where nobody knows."""
            if cost is None and price is not None:
                cost = price.of(tokens_in, tokens_out)
            with self._lock:
                self.cost += cost or 0.0
            return cost

        return spend
