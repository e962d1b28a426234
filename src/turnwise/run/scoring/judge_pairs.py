"""A judge's choices between the items of two agents: `turnwise compare -m judge-pair`.

Each pair of items is asked about in both orders (`metrics.judge.pairwise`). The record is that of people's
preferences, with two choices a pair, so that a preference for one place cancels; it has the position bias too.
With -o, pairs.jsonl has what the judge said about each pair.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from turnwise.errors import DataError, TooManyErrors, setting
from turnwise.llm.chat import ChatError
from turnwise.logs.items.items import all_items
from turnwise.logs.scan import Census
from turnwise.meta.preferences import About, ComparedPair, win_rate
from turnwise.metrics import resolve
from turnwise.metrics.judge.metric import Judge
from turnwise.metrics.judge.pairwise import NAME, PairVerdict, pair_cost, pair_verdicts
from turnwise.metrics.rows import quotient
from turnwise.records import DifferenceRecord, Forecast, ItemDifference, JudgePrompt
from turnwise.run.scoring.costs import announce, forecasts, judge_prompt
from turnwise.run.scoring.tally import generator
from turnwise.settings.option import as_text
from turnwise.stats.interval import interval_of_sums
from turnwise.types import Floats, Item

if TYPE_CHECKING:
    from turnwise.commands.compare import Compare

PAIRS = "pairs.jsonl"
EXAMPLES = 3  # pairs of either winner that results.json has with their texts
UNANSWERED = "no verdict in one of the two orders"
BATCH = 256  # pairs that are asked about together


@dataclass(frozen=True, slots=True)
class _Judged:
    """A pair of items with the judge's verdict, or why it has none."""

    a: Item
    b: Item
    verdict: PairVerdict | ChatError

    @property
    def share_a(self) -> float | None:
        """The outcome of A; None without one."""
        return None if isinstance(self.verdict, ChatError) else self.verdict.share_a

    @property
    def lost(self) -> str | None:
        """Why the pair has no outcome; None if it has one."""
        if isinstance(self.verdict, ChatError):
            return f"{type(self.verdict).__name__}: {self.verdict}"
        return UNANSWERED if self.verdict.share_a is None else None


def is_judge_pair(name: str) -> bool:
    """Whether a name stands for a judge's choices between two items."""
    return name == NAME or name.startswith(f"{NAME}[")


def judge_pairs(
    names: Sequence[str], spec: "Compare", census: Census, agents: tuple[str, str]
) -> list[DifferenceRecord]:
    """A record for each name and group: A's share of wins less B's, with the position bias of the judge."""
    records = []
    lines: list[dict[str, Any]] = []
    for name in names:
        judge = _judge(name, spec)
        signature = str(judge.signature)  # an error of its settings comes before the data is read
        pairs = list(_pairs(spec, census, agents, whole=judge.prompt.rubric.level == "dialogue"))
        announce({name: pair_cost(judge, pairs)}, cap=spec.max_cost, quiet=spec.quiet)
        judged = _judged(judge, pairs, spec.max_errors)
        for group in dict.fromkeys(one.a.group for one in judged) or {"": None}:
            mine = [one for one in judged if one.a.group == group]
            records.append(_record(name, signature, group, mine, agents, spec))
        lines += [_line(name, one) for one in judged]
    if spec.files is not None:
        with spec.files.replacing(PAIRS) as file:
            file.writelines(msgspec.json.encode(line) + b"\n" for line in lines)
    return records


def judge_costs(
    names: Sequence[str], spec: "Compare", census: Census, agents: tuple[str, str]
) -> tuple[Forecast, ...]:
    """What the judges would cost on all pairs; nothing is sent."""
    return forecasts({name: pair_cost(*_asked(name, spec, census, agents)) for name in names})


def judge_prompts(
    names: Sequence[str], spec: "Compare", census: Census, agents: tuple[str, str]
) -> tuple[JudgePrompt, ...]:
    """What the judges would be asked about a pair, in both orders; nothing is sent.

    Raises `DataError` if no pair has the item that the spec names.
    """
    prompts = []
    for name in names:
        judge, pairs = _asked(name, spec, census, agents)
        asked = [(a, b) for a, b in pairs if spec.show_prompt in ("", a.id, b.id)]
        if not asked:
            raise DataError(
                f"{name}: no pair has the item `{spec.show_prompt}`; there are {len(pairs)} pairs"
            )
        a, b = asked[0]
        for first, second in ((a, b), (b, a)):
            question = judge.prompt.choice(first, second)
            prompts.append(judge_prompt(name, f"{first.id} and {second.id}", question))
    return tuple(prompts)


def _asked(
    name: str, spec: "Compare", census: Census, agents: tuple[str, str]
) -> tuple[Judge, list[tuple[Item, Item]]]:
    """The judge of this name, and the pairs that it is asked about."""
    judge = _judge(name, spec)
    return judge, list(_pairs(spec, census, agents, whole=judge.prompt.rubric.level == "dialogue"))


def _judge(name: str, spec: "Compare") -> Judge:
    """The judge that `judge-pair[...]` names."""
    judge = resolve(
        f"judge{name.removeprefix(NAME)}", model=as_text(spec.model), cache=None if spec.reuse else False,
        max_cost=spec.max_cost,
    )  # fmt: skip
    if not isinstance(judge, Judge):
        raise TypeError(f"{name} is no judge")
    return judge


def _pairs(
    spec: "Compare", census: Census, agents: tuple[str, str], *, whole: bool
) -> Iterator[tuple[Item, Item]]:
    """The items of the two agents with the same pair, the first of each."""
    sides: dict[str, dict[str, Item]] = {agent: {} for agent in agents}
    for item in all_items(spec.paths, spec.selection, census, whole=whole):
        if item.agent in sides and item.missing is None:
            sides[item.agent].setdefault(item.pair, item)
    a, b = (sides[agent] for agent in agents)
    for pair, item in a.items():
        if pair in b:
            yield item, b[pair]


def _judged(judge: Judge, pairs: Sequence[tuple[Item, Item]], allowed: int) -> list[_Judged]:
    """The verdicts on all pairs; raises `TooManyErrors` if more than `allowed` fail."""
    found: list[_Judged] = []
    for start in range(0, len(pairs), BATCH):
        batch = pairs[start : start + BATCH]
        verdicts = pair_verdicts(judge, batch)
        found += [_Judged(a, b, verdict) for (a, b), verdict in zip(batch, verdicts, strict=True)]
        failed = [one for one in found if isinstance(one.verdict, ChatError)]
        if len(failed) > allowed:
            raise TooManyErrors(
                f"{NAME} failed on {len(failed)} pairs, more than {setting('--max-errors', allowed)} allows; the last: "
                f"{failed[-1].verdict}"
            )
    return found


def _record(
    name: str,
    signature: str,
    group: str,
    judged: Sequence[_Judged],
    agents: tuple[str, str],
    spec: "Compare",
) -> DifferenceRecord:
    """The record of one group."""
    lost = Counter(reason for one in judged if (reason := one.lost))
    about = About(metric=name, group=group or None, unscored=dict(lost))
    choices = [choice for one in judged for choice in _choices(one)]
    record = win_rate(choices, agents, about, anytime=spec.anytime)
    if record.estimate is None:
        reason = (
            "; ".join(f"{why} ({count})" for why, count in lost.most_common())
            or f"the two agents have no items with the same context; {setting('--pair', 'KEY')} names what pairs them"
        )
        return replace(record, signature=signature, reason=reason)
    known = [one for one in judged if one.lost is None]
    shares = np.array([_first_share(one) - 0.5 for one in known])
    interval, method = interval_of_sums(
        _by_cluster(shares, [one.a.cluster for one in known]),
        lambda sums: quotient(sums[..., 0], sums[..., 1]),
        draws=spec.draws,
        rng=generator(spec.seed, name, group, "position"),
        bounds=None,
    )
    consistent = [one for one in known if isinstance(one.verdict, PairVerdict) and one.verdict.consistent]
    return replace(
        record,
        signature=signature,
        n_items=len(known),
        method=f"{record.method}; both orders of each pair",
        position_bias=float(shares.mean()),
        position_bias_interval=interval,
        position_bias_method=method,
        consistent=len(consistent) / len(known),
        flips=tuple(_examples(known)),
    )


def _choices(one: _Judged) -> Iterator[ComparedPair]:
    """The two choices of a pair with an outcome."""
    if isinstance(one.verdict, ChatError) or one.share_a is None:
        return
    for judgement, position in ((one.verdict.a_first, 1), (one.verdict.b_first, -1)):
        share = judgement.score if judgement.score is not None else 0.5
        yield ComparedPair(
            agents=(one.a.agent, one.b.agent),
            items=(one.a.id, one.b.id),
            outcome=position * int(np.sign(share - 0.5)),
            both_bad=False,
            clusters=(one.a.cluster, one.a.cluster),
            rater=None,
            position=position,
            lengths=(len(one.a.reply.split()), len(one.b.reply.split())),
        )


def _first_share(one: _Judged) -> float:
    """The share of a pair's answers that chose what was shown first."""
    share = one.verdict.first_share if isinstance(one.verdict, PairVerdict) else None
    return 0.5 if share is None else share


def _by_cluster(values: Floats, clusters: Sequence[str]) -> Floats:
    """(C, 2) the sum of the values of each cluster, and their number."""
    order = {name: at for at, name in enumerate(dict.fromkeys(clusters))}
    sums = np.zeros((len(order), 2))
    np.add.at(sums, [order[name] for name in clusters], np.stack([values, np.ones(len(values))], axis=1))
    return sums


def _examples(judged: Sequence[_Judged]) -> Iterator[ItemDifference]:
    """Yield pairs with texts and reasons: those that A won in both orders, then those that B won."""
    ordered = sorted(judged, key=lambda one: -(one.share_a or 0.0))
    won = [one for one in ordered if one.share_a == 1.0][:EXAMPLES]
    lost = [one for one in ordered if one.share_a == 0.0][-EXAMPLES:]
    for one in [*won, *lost]:
        share = one.share_a or 0.0
        context = min(one.a, one.b, key=lambda item: item.agent).context
        yield ItemDifference(
            id_a=one.a.id,
            id_b=one.b.id,
            a=share,
            b=1 - share,
            difference=2 * share - 1,
            context=context[-1].text if context else "",
            reply_a=one.a.reply,
            reply_b=one.b.reply,
            reason=one.verdict.a_first.reason if isinstance(one.verdict, PairVerdict) else "",
        )


def _line(name: str, one: _Judged) -> dict[str, Any]:
    """The line of a pair in pairs.jsonl."""
    line: dict[str, Any] = {
        "metric": name, "id_a": one.a.id, "id_b": one.b.id, "agent_a": one.a.agent, "agent_b": one.b.agent,
        "group": one.a.group, "cluster": one.a.cluster, "share_a": one.share_a,
    }  # fmt: skip
    if isinstance(one.verdict, ChatError):
        return {**line, "error": str(one.verdict)}
    verdicts: Mapping[str, Any] = {
        "a_first": one.verdict.a_first.record(),
        "b_first": one.verdict.b_first.record(),
    }
    return {**line, "consistent": one.verdict.consistent, **verdicts}
