"""Several judges as a panel (Verga et al. 2024): the mean of their scores, or the value that most of them give.

The score is that of all judges, so an item without the verdict of one of them has no score by `vote=mean`; by
`vote=majority` more than half must have given one, and of values that are equally frequent the mean counts. The
agreement of the judges is measured as that of raters, by Krippendorff's alpha, and written beside the number.

The judges differ in their models. They are at one address (`models=a+b+c`), or a TOML file names a model, an address
and the environment variable of the key for each:

    [[judge]]
    model = "a"
    address = "https://api.example.com/v1"
    key = "EXAMPLE_API_KEY"
"""

import inspect
import math
import os
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from turnwise.errors import UsageError
from turnwise.metrics.judge.cost import Cost
from turnwise.metrics.judge.metric import MODEL, Judge, spent
from turnwise.metrics.judge.prompt import Question
from turnwise.metrics.judge.settings import judge
from turnwise.metrics.rows import Ratio
from turnwise.stats.agreement import krippendorff_alpha
from turnwise.types import Card, Floats, Item, Level, Need, Signature

Vote = Literal["mean", "majority"]
_KEYS = {"model", "address", "key", "price", "parameters"}


@dataclass(frozen=True, slots=True)
class Panel(Ratio):
    """`panel`: the verdict of several language models on a reply."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset()
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "a judge of the panel refused, or gave no verdict in the required form"
    card: ClassVar[Card] = Card(
        kind="unreferenced",
        meaning="The mean or majority of several language models' verdicts on a reply; mean over replies.",
        range="the scale, 1-5 unless the rubric has another; a checklist has 0-1",
        limits="As `judge`. Models of one family share their errors: agreement among them says nothing about agreement "
        "with people.",
        citation="Verga et al. 2024, Replacing Judges with Juries",
    )

    members: tuple[Judge, ...]
    vote: Vote = "mean"

    @property
    def signature(self) -> Signature:
        """The vote and the signatures of all judges."""
        parts = tuple(member.signature for member in self.members)
        return Signature("panel", (("vote", self.vote),), parts)

    @property
    def span(self) -> tuple[float, float]:  # type: ignore[override]  # it depends on the rubric
        """The lowest and the highest score."""
        return self.members[0].span

    @property
    def verdicts(self) -> tuple[float]:
        """The highest value of the scale; an attack tries to make the judges give it."""
        return (self.span[1],)

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): the score of the panel and 1; NaN without one. Raises `ChatError` if a server fails."""
        rows = np.ones((len(items), 2))
        if items:
            scores = np.stack([member.rows(items)[:, 0] for member in self.members], axis=1)
            rows[:, 0] = [self._voted(row) for row in scores]
        return rows

    def explanations(self, items: Sequence[Item], /) -> list[Mapping[str, Any] | None]:
        """What each judge said about an item, by its model, and the scores of all."""
        said = [member.explanations(items) for member in self.members]
        found: list[Mapping[str, Any] | None] = []
        for each in zip(*said, strict=True):
            members = {
                member.model: one for member, one in zip(self.members, each, strict=True) if one is not None
            }
            reasons = [f"{model}: {one['reason']}" for model, one in members.items() if one.get("reason")]
            found.append({"reason": "\n".join(reasons), "judges": members} if members else None)
        return found

    def summary(self, explanations: Sequence[Mapping[str, Any]], /) -> dict[str, Any]:
        """The agreement of the judges, the mean score of each, and what was spent."""
        models = [member.model for member in self.members]
        scores = np.array(
            [[_score(one["judges"].get(model)) for model in models] for one in explanations], dtype=np.float64
        ).reshape(-1, len(models))
        alpha = krippendorff_alpha(scores.T, "interval") if len(models) > 1 and len(scores) else math.nan
        means = {model: _mean(scores[:, at]) for at, model in enumerate(models)}
        all_of_them = [said for one in explanations for said in one["judges"].values()]
        return {
            **spent(all_of_them),
            "panel_agreement": None if math.isnan(alpha) else alpha,
            "panel_means": means,
        }

    def questions(self, item: Item, /) -> list[Question]:
        """What is sent to each judge for an item; the same for all."""
        return self.members[0].questions(item)

    def cost(self, items: Sequence[Item], /) -> Cost:
        """The cost of all judges."""
        first, *others = (member.cost(items) for member in self.members)
        for other in others:
            first += other
        return first

    def _voted(self, scores: Floats) -> float:
        """The score of the panel from those of its judges, NaN where one has none."""
        known = scores[~np.isnan(scores)]
        if self.vote == "mean":
            return float(scores.mean())
        if 2 * len(known) <= len(scores):
            return math.nan
        counts = Counter(known.tolist())
        most = max(counts.values())
        return float(np.mean([value for value, count in counts.items() if count == most]))


class DialoguePanel(Panel):
    """`panel` with a rubric for whole dialogues."""

    __slots__ = ()

    level: ClassVar[Level] = "dialogue"
    needs: ClassVar[frozenset[Need]] = frozenset({"dialogue"})


def panel(
    *,
    models: str | None = None,
    judges: str | None = None,
    vote: str = "mean",
    cache: bool = True,
    max_cost: float | None = None,
    rubric: str | None = None,
    dimension: str = "overall",
    **settings: Any,
) -> Panel:
    """Create a panel of judges: `models` at one address, joined by +, or a TOML file of `judges`.

    All other settings are those of `judge`, for all of them. The judges share the cap `max_cost`. A wrong setting is a
    `UsageError`.
    """
    if vote not in ("mean", "majority"):
        raise UsageError(f"a panel's `vote` is mean or majority, not `{vote}`")
    known = inspect.signature(judge).parameters
    if unknown := [name for name in settings if name not in known or name == "model"]:
        raise UsageError(
            f"a panel has no setting `{unknown[0]}`; it has models, judges, vote, and those of `judge` except model"
        )
    members = _listed(judges) if judges else [{"model": model} for model in _models(models)]
    cap = None if max_cost is None else max_cost / len(members)
    common = {"cache": cache, "max_cost": cap, "rubric": rubric, "dimension": dimension, **settings}
    made = tuple(judge(**{**common, **member}) for member in members)
    if len({member.model for member in made}) != len(made):
        raise UsageError("the judges of a panel must differ in their models")
    kind = DialoguePanel if made[0].prompt.rubric.level == "dialogue" else Panel
    return kind(made, "mean" if vote == "mean" else "majority")


def _models(text: str | None) -> list[str]:
    """The models that are joined by +; from the environment without a text."""
    found = [one.strip() for one in (text or os.environ.get(MODEL, "")).split("+")]
    return [one for one in found if one] or [""]


def _listed(path: str) -> list[dict[str, Any]]:
    """The judges of a TOML file; `UsageError` if it is none."""
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"the panel {path} cannot be read: {error}") from error
    members = values.get("judge")
    if set(values) != {"judge"} or not isinstance(members, list) or not members:
        raise UsageError(f"the panel {path} must have tables [[judge]] and nothing else")
    for member in members:
        if unknown := set(member) - _KEYS:
            raise UsageError(
                f"the panel {path}: a judge has {', '.join(sorted(_KEYS))}, not {', '.join(sorted(unknown))}"
            )
        if not isinstance(member.get("model"), str):
            raise UsageError(f"the panel {path}: a judge has no model")
    return members


def _score(said: Mapping[str, Any] | None) -> float:
    """The score of a judgement; NaN without one."""
    score = said.get("score") if said else None
    return math.nan if score is None else float(score)


def _mean(scores: Floats) -> float | None:
    """The mean of the scores that are known; None if none is."""
    known = scores[~np.isnan(scores)]
    return float(known.mean()) if len(known) else None
