"""`turnwise attack --harden`: attack, teach the metric what fooled it, attack again, until nothing found beats people.

Each round attacks with the same budget, on the same contexts, each file by itself. The patterns and copies that
scored above people, in the search or in the verdict, are rendered at turns of the training conversations, none of
which is a context, as the alternatives of an agent `fraud`; fixed replies are not, since people say them too
(run/attack/fraud_lesson.py). To teach what was found alone leaves the next template open, so as many others of its
family stand beside them, which the search could have come upon. The metric keeps its heads and is given a guard that is
trained on these (`metrics/learned/guard/guard.py`). What it cost is the change of its agreement with people, on
rated data.

Edits of a person's own reply (its words shuffled, said three times) count in the verdict as in any attack and are not
taught: as plain words some of them are the reply itself, and a guard cannot tell them apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from turnwise.attacks.attack import Attack
from turnwise.attacks.verdict import Judged
from turnwise.errors import Unmeasured, UsageError
from turnwise.logs.native import file_names, write
from turnwise.logs.scan import Census
from turnwise.metrics import settings
from turnwise.run.attack.command import Assault, assault, check_scored, scanned
from turnwise.run.attack.fraud_lesson import FRAUD, begun, lesson_of, teachable
from turnwise.run.outcome import Outcome, finish
from turnwise.run.resume.journal import Journal
from turnwise.run.scoring.meta import meta
from turnwise.run.scoring.shards import prepare
from turnwise.run.scoring.tally import generator
from turnwise.run.spec import HardenSpec, MetaSpec, TrainSpec
from turnwise.run.train.command import train
from turnwise.stats.interval import Interval
from turnwise.types import Finding, Metric, digest

HARDENABLE = ("usr-ret", "maude", "att")  # a guard can stand beside their heads
MOST = 400  # templates that are taught
OWN = ("shuffled", "no-punctuation", "repeated")  # edits of the person's own reply: not taught


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacked:
    """What one round's attack on one file came to, as it stands in the document."""

    contexts: str
    people: float
    best: str  # the best fraud, whether or not its gain is shown
    description: str
    score: float
    interval: Interval | None
    gain: float
    gain_interval: Interval | None
    gameable: bool  # a fraud's gain is shown
    edits: list[str]  # of people's own replies, whose gain is shown: they are told, and cannot be taught
    unsearched: str | None  # why it says nothing of what a search would find
    n_items: int
    n_clusters: int

    @classmethod
    def of(cls, name: str, made: Assault) -> "Attacked":
        check_scored(made.found)
        known = frauds(made)
        if not known:
            raise Unmeasured(
                f"the metric scored none of the frauds on {name}, and cannot be hardened against any"
            )
        best = max(known, key=lambda one: one.gain)
        return cls(
            contexts=name,
            people=made.found.people.score,
            best=best.strategy,
            description=best.description,
            score=best.score,
            interval=best.interval,
            gain=best.gain,
            gain_interval=best.gain_interval,
            gameable=any(one.significant for one in known),
            edits=[one.strategy for one in made.found.strategies if one.significant and one.strategy in OWN],
            unsearched=_unsearched(made.found),
            n_items=best.n,
            n_clusters=best.n_clusters,
        )

    @property
    def robust(self) -> bool:
        """Nothing that was found scores above people, and it was looked for."""
        return self.unsearched is None and self.gain < 0 and not self.edits


def _unsearched(found: Attack) -> str | None:
    if found.unsearched:
        return "--budget does for judging alone; give it more, or lower --count"
    return found.diagnosis.words or (
        f"{found.unjudged} strategies were left unjudged" if found.unjudged else None
    )


def frauds(made: Assault) -> list[Judged]:
    """What was judged and is neither people's nor an edit of theirs."""
    return [
        one
        for one in made.found.strategies
        if one.kind != "people" and one.strategy not in OWN and not np.isnan(one.gain)
    ]


def harden(spec: HardenSpec, *, report: Callable[[str], None] = lambda _: None) -> Outcome:
    kind = settings(spec.metrics[0])[0]
    if kind not in HARDENABLE:
        raise UsageError(
            f"`{kind}` cannot be hardened: it has no head that a guard could stand beside; "
            f"{', '.join(HARDENABLE)} have"
        )
    if spec.output is None:
        raise UsageError("--harden writes a model: give its folder with -o")
    if "search" not in spec.stages:
        raise UsageError("--harden is against what a search finds: --stages must have `search`")
    sha256: dict[str, str] = {}
    for path in dict.fromkeys((*spec.data, *spec.learn_from)):  # each by itself: they may share ids
        sha256 |= scanned(replace(spec, data=(path,))).sha256
    name, taught, rounds = spec.metrics[0], list[str](), list[dict[str, Any]]()
    key = digest(_settings(spec), *sorted(sha256.values()))
    spec.output.mkdir(parents=True, exist_ok=True)
    with Journal(spec.output / "rounds.jsonl", key, reuse=spec.reuse) as journal:
        for number in range(spec.rounds + 1):
            if number in journal:
                done = journal.get(number)
            else:
                report(f"round {number}: attacking {name}")
                done = _round(spec, name, number, report)
                journal.put(number, done)
            rounds.append({**done["told"], "metric": name, "taught": len(teachable(taught))})
            if done["told"]["robust"] or number == spec.rounds or not done["promising"]:
                break
            taught = list(dict.fromkeys([*done["promising"], *taught]))[:MOST]
            model = spec.output / f"model-{number + 1}"
            name = f"{kind}[trained={model}]"
            if not (done.get("learned") and model.exists()):  # one of another run is none of this one's
                _teach(spec, taught, model, set(done["contexts"]), report)
                journal.put(number, {**done, "learned": True})
        agreement = _agreement(spec, (spec.metrics[0], name)) if spec.agree_with else []
    last = rounds[-1]
    return finish(
        spec, _findings(name, last), sha256, hardened=name, robust=last["robust"], told=_told(last),
        rounds=rounds, agreement=agreement,
    )  # fmt: skip


def _settings(spec: HardenSpec) -> str:
    """What decides the rounds beside the files: a folder of other settings is begun anew."""
    part = replace(spec, data=spec.data[:1])
    found = _metric(part, spec.metrics[0], scanned(part))
    return repr((str(found.signature), spec.model, spec.seed, spec.draws, spec.options, spec.selection))


def _metric(spec: HardenSpec, name: str, census: Census) -> Metric:
    metrics, absent = prepare(spec, census)
    if absent:
        raise UsageError(f"`{name}` cannot be attacked: {absent[0].reason}")
    return metrics[name]


def _round(spec: HardenSpec, name: str, number: int, report: Callable[[str], None]) -> dict[str, Any]:
    """The attack on each file; what to teach, and which conversations not to teach it on."""
    attacked, promising, apart = list[Attacked](), list[str](), list[str]()
    names = file_names(spec.data)
    folder = (spec.output or Path()) / f"round-{number}"
    for place, path in enumerate(spec.data):
        # Files of one name are told by their paths, which are no names of folders.
        own = names[path] if Path(names[path]).name == names[path] else str(place)
        part = replace(spec, data=(path,), metrics=(name,), output=folder / own)
        census = scanned(part)
        made = assault(part, name, _metric(part, name, census), census, report=report)
        found = Attacked.of(names[path], made)
        report(f"round {number}, {found.contexts}: people {found.people:.3f}, best fraud {found.score:.3f}")
        attacked.append(found)
        promising += [_template(one) for one in frauds(made) if one.gain > 0]
        promising += made.found.promising
        apart += [begun(context.item.turns) for context in made.contexts]
    told = {
        "round": number,
        "robust": all(one.robust for one in attacked),
        "attacked": [asdict(one) for one in attacked],
    }
    wanted = [text for text in dict.fromkeys(promising) if text]
    return {"told": told, "promising": wanted, "contexts": apart}


def _told(last: dict[str, Any]) -> str:
    """What the last attack shows, and no more."""
    if last["robust"]:
        return "nothing found scores above people"
    if any(one["gameable"] or one["edits"] for one in last["attacked"]):
        return "STILL GAMEABLE after the last round"
    reasons = [one["unsearched"] for one in last["attacked"] if one["unsearched"]]
    if reasons:
        return f"not shown to be gameable, nor to be robust: {reasons[0]}"
    return "not shown to be gameable, nor to be robust: the best fraud scores no less than people"


def _template(one: Judged) -> str:
    """What a strategy can be rendered from; "" where it cannot, as a reply from another dialogue."""
    if one.strategy.startswith("copy: "):
        return f"{{{one.strategy.removeprefix('copy: ')}}}"
    if one.kind in ("fixed", "baseline"):
        return one.example.replace("{", "(").replace("}", ")")
    return "" if one.kind == "other" or one.strategy.startswith("rl: ") else one.strategy


def _teach(
    spec: HardenSpec, templates: Sequence[str], model: Path, apart: set[str], report: Callable[[str], None]
) -> None:
    """Trains a model: the metric with a guard against these frauds and their family."""
    kind, given = settings(spec.metrics[0])
    lesson = model.with_name(f"{model.name.replace('model', 'lesson')}.jsonl.gz")
    report(f"{model.name}: teaching {len(teachable(templates))} frauds and their family")
    rng = generator(spec.seed, "harden")
    write(lesson_of(spec.learn_from or spec.data, templates, apart, spec.taught, rng), str(lesson))
    train(
        TrainSpec(
            data=(str(lesson),),
            metrics=(kind,),
            seed=spec.seed,
            output=model,
            model=spec.model,
            settings={"guard": FRAUD, "start": given.get("trained", "")},
        ),
        say=report,
    )


def _agreement(spec: HardenSpec, names: tuple[str, str]) -> list[dict[str, Any]]:
    """Spearman with people before and after, on each rated file, and what was lost."""
    found = []
    for path in spec.agree_with:
        of_file = meta(
            MetaSpec(
                data=(path,),
                metrics=tuple(dict.fromkeys(names)),
                seed=spec.seed,
                draws=spec.draws,
                level="turn",
                statistics=("spearman",),
                differences=False,
                intervals=False,
            )
        )
        values = {one.what["metric"]: one for one in of_file.findings}
        before, after = (values[name] for name in names)
        found.append(
            {"rated": Path(path).name, "dimension": before.what["dimension"], "before": before.estimate,
             "after": after.estimate, "fell": _fall(before.estimate, after.estimate),
             "n_items": after.n_items}
        )  # fmt: skip
    return found


def _fall(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else before - after


def _findings(name: str, last: dict[str, Any]) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            what={"metric": name, "group": one["contexts"], "strategy": one["best"]},
            estimate=one["score"],
            interval=one["interval"],
            n_items=one["n_items"],
            n_clusters=one["n_clusters"],
            method="the best fraud of the last attack, mean over contexts held out from the search",
            details={"description": one["description"], "human_score": one["people"], "gain": one["gain"],
                     "gain_interval": one["gain_interval"], "significant": one["gameable"]},
        )
        for one in last["attacked"]
    )  # fmt: skip
