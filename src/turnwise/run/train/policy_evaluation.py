"""Evaluation of a policy with delexicalised replies in logged dialogues, by the task metrics."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from turnwise.metrics.task.inform import Success
from turnwise.metrics.task.offers import Evaluator
from turnwise.metrics.task.wording import DelexicalisedBleu
from turnwise.networks.lava.corpus import reply_positions
from turnwise.types import Dialogue, Floats, Item

EVALUATOR: Evaluator = "multiwoz2018"  # the evaluator of the paper's tables
_SAYS = "policy"  # agent name of the policy's replies


class PolicyEvaluator:
    """Corpus metrics of a policy's replies in logged dialogues."""

    def __init__(
        self,
        dialogues: Sequence[Dialogue],
        *,
        evaluator: Evaluator = EVALUATOR,
        ontology: str = "multiwoz",
        db: str | None = None,
    ) -> None:
        self.metric = Success(evaluator=evaluator, ontology=ontology, db=db)
        self.items = [_whole(dialogue) for dialogue in dialogues]
        self.positions = [reply_positions(dialogue) for dialogue in dialogues]

    def success(self, number: int, replies: Sequence[str]) -> float:
        """The success (0 to 1) of dialogue `number` with these replies, one for each system turn to learn from."""
        return self.metric.evaluate(self._with_replies(number, replies)).success

    def logged(self) -> Floats:
        """(N,) the success (0 to 1) of the logged dialogues."""
        return np.array([self.metric.evaluate(item).success for item in self.items])

    def scores(self, replies: Sequence[str], evaluators: Sequence[Evaluator] = ()) -> dict[str, float]:
        """Scores of the replies in all dialogues, concatenated: match, success and BLEU (0 to 100), distinct (0 to 1).

        Inform is the papers' match. With `evaluators`, match and success are by these instead of the evaluator's own,
        each but that one with its name as a suffix.
        """
        ends = np.cumsum([0, *map(len, self.positions)])
        said = [list(replies[first:last]) for first, last in pairwise(ends)]
        items = [self._with_replies(number, mine) for number, mine in enumerate(said)]
        found: dict[str, float] = {}
        for name in evaluators or (self.metric.evaluator,):
            outcomes = [replace(self.metric, evaluator=name).evaluate(item) for item in items]
            tag = "" if name == self.metric.evaluator else f"_{name}"
            found[f"match{tag}"] = 100 * float(np.mean([one.inform for one in outcomes]))
            found[f"success{tag}"] = 100 * float(np.mean([one.success for one in outcomes]))
        found["bleu"] = self._bleu(items)
        found["distinct"] = len(set(replies)) / len(replies)  # different replies
        return found

    def _with_replies(self, number: int, replies: Sequence[str]) -> Item:
        """Dialogue `number` as an item with these replies in the place of the logged ones."""
        item, turns = self.items[number], list(self.items[number].turns)
        for index, reply in zip(self.positions[number], replies, strict=True):
            turns[index] = replace(turns[index], content=reply)
        return replace(item, turns=tuple(turns), agent=_SAYS)

    def _bleu(self, items: Sequence[Item]) -> float:
        """Delexicalised corpus BLEU (0 to 100) of the replies against the logged ones."""
        metric = DelexicalisedBleu(ontology=self.metric.ontology)
        replies = [
            replace(item, turns=(replace(item.turns[index], references=(logged.turns[index].text,)),), turn=0)
            for item, logged, positions in zip(items, self.items, self.positions, strict=True)
            for index in positions
        ]
        return metric.reduce(metric.rows(replies))


def _whole(dialogue: Dialogue) -> Item:
    """The dialogue as one item without a scored turn."""
    return Item(
        id=dialogue.id,
        dialogue=dialogue.id,
        agent=dialogue.agent,
        turns=dialogue.turns,
        turn=None,
        cluster=dialogue.id,
        pair=dialogue.id,
        goal=dialogue.goal,
        meta=dialogue.meta,
    )
