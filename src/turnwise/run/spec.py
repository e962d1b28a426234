"""What one run was asked to do. Two runs of equal specs over equal files give equal bytes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from turnwise.logs.items.items import Selection
from turnwise.run.workers.execute import Executor, executor


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    command: str
    data: tuple[str, ...]
    metrics: tuple[str, ...]
    selection: Selection = field(default_factory=Selection)
    real: str | None = None  # what metrics that must see data are fitted on; None: the data itself
    model: str | None = None  # behind metrics that have one and do not name it; None: each metric's own
    db: str | None = None  # venue tables of task metrics; None: those beside the data
    seed: int = 0
    draws: int = 1000
    options: tuple[tuple[str, Any], ...] = ()  # further settings of this command that move its numbers
    # What follows changes how the work is done and never what comes out.
    output: Path | None = None
    jobs: int | None = None  # None: one here, on a cluster as many as it has CPUs
    on: str = "local"  # or ray
    address: str | None = None  # of a Ray cluster
    max_errors: int = 20
    reuse: bool = True
    quiet: bool = True
    names: Mapping[str, str] = field(default_factory=dict)  # path -> what the user called it: `-`

    def executor(self) -> Executor:
        """Whoever does the work of this run."""
        return executor(self.jobs, on=self.on, address=self.address)
