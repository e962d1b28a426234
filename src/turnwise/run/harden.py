"""`turnwise attack --harden`: attack, teach the metric what fooled it, attack again, until nothing found beats people.

Each round attacks with the same budget, on the same contexts, each file by itself. What scored above people in the
search or in the verdict is rendered at turns of the training conversations, none of which is a context, as the
alternatives of an agent `fraud`. To teach what was found alone leaves the next template open, so as many others of its
family stand beside them, which the search could have come upon. The metric keeps its heads and is given a guard that is
trained on these (`metrics/learned/guard.py`). What it cost is the change of its agreement with people, on rated data.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from turnwise.errors import UsageError
from turnwise.logs.native import file_names, read_all, write
from turnwise.logs.scan import scan
from turnwise.metrics import settings
from turnwise.probe.context import Context
from turnwise.probe.strategy import strategy
from turnwise.probe.templates import family
from turnwise.probe.verdict import Judged
from turnwise.run.attack import Assault, assault
from turnwise.run.journal import Journal
from turnwise.run.meta import meta
from turnwise.run.outcome import Outcome, finish
from turnwise.run.scoring import prepare
from turnwise.run.spec import Spec
from turnwise.run.tally import generator
from turnwise.run.train import Request, train
from turnwise.types import Dialogue, Finding, Item, Reply, digest, item_id

HARDENABLE = ("usr-ret",)
FRAUD = "fraud"
AT_A_TURN = 2  # frauds that were found, and as many of their family, that are taught at one turn
MOST = 400  # templates that are taught
OWN = ("shuffled", "no-punctuation", "repeated")  # edits of the person's own reply: no fraud has it


@dataclass(frozen=True, slots=True)
class Attacked:
    """What one round's attack on one file came to, as it stands in the document."""

    contexts: str
    people: float
    best: str  # the best fraud, whether or not its gain is shown
    description: str
    score: float
    gain: float
    gameable: bool

    @classmethod
    def of(cls, name: str, made: Assault) -> "Attacked":
        best = max(frauds(made), key=lambda one: one.gain)
        return cls(
            name, made.found.people.score, best.strategy, best.description, best.score, best.gain,
            any(one.significant for one in frauds(made)),
        )  # fmt: skip


def frauds(made: Assault) -> list[Judged]:
    """What was judged and is neither people's nor an edit of theirs."""
    return [
        one
        for one in made.found.strategies
        if one.kind != "people" and one.strategy not in OWN and not np.isnan(one.gain)
    ]


def harden(spec: Spec, *, report: Callable[[str], None] = lambda _: None) -> Outcome:
    asked = dict(spec.options)
    kind = settings(spec.metrics[0])[0]
    if kind not in HARDENABLE:
        raise UsageError(f"`{kind}` cannot be hardened: it is not trained here; {', '.join(HARDENABLE)} can")
    if spec.output is None:
        raise UsageError("--harden writes a model: give its folder with -o")
    spec.output.mkdir(parents=True, exist_ok=True)
    sha256: dict[str, str] = {}
    for path in dict.fromkeys((*spec.data, *asked["learn_from"])):  # each by itself: they may share ids
        sha256 |= scan((path,)).sha256
    name, taught, rounds = spec.metrics[0], list[str](), list[dict[str, Any]]()
    key = digest(repr((spec.metrics, spec.seed, spec.options, spec.selection)), *sorted(sha256.values()))
    with Journal(spec.output / "rounds.jsonl", key, reuse=spec.reuse) as journal:
        for number in range(asked["rounds"] + 1):
            if number in journal:
                done = journal.get(number)
            else:
                report(f"round {number}: attacking {name}")
                done = _round(spec, name, number, report)
                journal.put(number, done)
            rounds.append({**done["told"], "metric": name, "taught": len(taught)})
            if done["told"]["robust"] or number == asked["rounds"]:
                break
            taught = list(dict.fromkeys([*done["promising"], *taught]))[:MOST]
            name = _taught(spec, taught, number + 1, done["contexts"], report)
        agreement = _agreement(spec, (spec.metrics[0], name)) if asked["agree_with"] else []
    findings = _findings(name, rounds[-1])
    return finish(
        spec, findings, sha256, hardened=name, robust=rounds[-1]["robust"], rounds=rounds,
        agreement=agreement,
    )  # fmt: skip


def _round(spec: Spec, name: str, number: int, report: Callable[[str], None]) -> dict[str, Any]:
    """The attack on each file; what to teach, and which dialogues not to teach it on."""
    attacked, promising, apart = list[Attacked](), list[str](), list[str]()
    names = file_names(spec.data)
    for path in spec.data:
        part = replace(
            spec,
            data=(path,),
            metrics=(name,),
            output=None if spec.output is None else spec.output / f"round-{number}" / names[path],
        )
        census = scan(part.data)
        metrics, absent = prepare(part, census)
        if absent:
            raise UsageError(f"`{name}` cannot be attacked: {absent[0].reason}")
        made = assault(part, name, metrics[name], census, report=report)
        attacked.append(Attacked.of(names[path], made))
        report(
            f"round {number}, {names[path]}: people {attacked[-1].people:.3f}, best fraud {attacked[-1].score:.3f}"
        )
        promising += [_template(one) for one in frauds(made) if one.gain > 0]
        promising += made.found.promising
        apart += [context.item.dialogue for context in made.contexts]
    robust = all(one.gain < 0 for one in attacked)
    told = {"round": number, "robust": robust, "attacked": [_plain(one) for one in attacked]}
    wanted = [text for text in dict.fromkeys(promising) if text]
    return {"told": told, "promising": wanted, "contexts": apart}


def _template(one: Judged) -> str:
    """What a strategy can be rendered from; "" where it cannot, as a reply from another dialogue."""
    if one.strategy.startswith("copy: "):
        return f"{{{one.strategy.removeprefix('copy: ')}}}"
    if one.kind in ("fixed", "baseline"):
        return one.example.replace("{", "(").replace("}", ")")
    return "" if one.kind == "other" or one.strategy.startswith("rl: ") else one.strategy


def _taught(
    spec: Spec, templates: Sequence[str], number: int, apart: Sequence[str], report: Callable[[str], None]
) -> str:
    """Gives the metric a guard against these frauds and their family; its name with the setting that finds it."""
    asked, folder = dict(spec.options), spec.output or Path()
    kind, given = settings(spec.metrics[0])
    data = asked["learn_from"] or spec.data
    lesson, model = folder / f"lesson-{number}.jsonl.gz", folder / f"model-{number}"
    rng = generator(spec.seed, "harden")
    if not model.exists():
        report(f"round {number}: teaching {len(templates)} frauds and their family")
        write(_lesson(data, templates, set(apart), asked["taught"], rng), str(lesson))
        train(
            Request(
                metric=kind,
                spec=Spec(command="train", data=(str(lesson),), metrics=(kind,), seed=spec.seed, output=model,
                          model=spec.model),
                settings={"guard": FRAUD, "start": given.get("trained", "")},
            ),
            say=report,
        )  # fmt: skip
    return f"{kind}[trained={model}]"


def _lesson(
    data: Sequence[str], templates: Sequence[str], apart: set[str], turns: int, rng: np.random.Generator
) -> Iterator[Dialogue]:
    """The training conversations with what frauds would have said, at up to `turns` of their turns.

    A reply that is the same everywhere is none of them: people say it too, and the guard knows it by its fitting
    everywhere.
    """
    found = [one for template in templates if (one := strategy(template)).slots]
    dialogues = [dialogue for dialogue in read_all(data) if dialogue.id not in apart]
    others = (
        one
        for template in family([turn.text for one in dialogues for turn in one.turns], rng)
        if (one := strategy(template)).slots
    )
    places = [(k, at) for k, one in enumerate(dialogues) for at in range(1, len(one.turns))]
    chosen = {places[place] for place in rng.permutation(len(places))[:turns].tolist()}
    for k, dialogue in enumerate(dialogues):
        said = list(dialogue.turns)
        for at in range(1, len(said)):
            if (k, at) not in chosen:
                continue
            name = item_id(dialogue.id, at)
            context = Context(Item(name, dialogue.id, FRAUD, dialogue.turns[: at + 1], at, dialogue.id, name))
            some = [found[place] for place in rng.integers(len(found), size=AT_A_TURN if found else 0)]
            some += islice(others, AT_A_TURN)
            wrong = tuple(Reply(text) for text in dict.fromkeys(one.reply(context) for one in some) if text)
            said[at] = replace(said[at], alternatives={**said[at].alternatives, FRAUD: wrong})
        yield replace(dialogue, turns=tuple(said))


def _agreement(spec: Spec, names: tuple[str, str]) -> list[dict[str, Any]]:
    """Spearman with people before and after, on each rated file, and what was lost."""
    asked = {
        "level": "turn", "statistics": ("spearman",), "rescale": False, "dimension": None, "lower": (),
        "screen": False, "stable_raters": None, "precision": 0.05, "differences": False, "intervals": False,
    }  # fmt: skip
    found = []
    for path in dict(spec.options)["agree_with"]:
        of_file = meta(
            Spec(command="meta", data=(path,), metrics=tuple(dict.fromkeys(names)), seed=spec.seed,
                 draws=spec.draws, options=tuple(sorted(asked.items())))
        )  # fmt: skip
        values = {one.what["metric"]: one for one in of_file.findings}
        before, after = (values[name] for name in names)
        fell = (before.estimate or np.nan) - (after.estimate or np.nan)
        found.append(
            {"rated": Path(path).name, "dimension": before.what["dimension"], "before": before.estimate,
             "after": after.estimate, "fell": fell, "n_items": after.n_items}
        )  # fmt: skip
    return found


def _findings(name: str, last: dict[str, Any]) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            what={"metric": name, "group": one["contexts"], "strategy": one["best"]},
            estimate=one["score"],
            method="the best fraud of the last attack, mean over contexts held out from the search",
            details={"description": one["description"], "human_score": one["people"], "gain": one["gain"],
                     "significant": one["gameable"]},
        )
        for one in last["attacked"]
    )  # fmt: skip


def _plain(one: Attacked) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__slots__}
