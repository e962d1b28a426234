"""Attacks on metrics without and with a guard, and the cost in agreement; results go to papers/guarded.json.

    python -m papers.guarded learn DATA FILE            the dialogues of the package's own pretraining, to teach with
    python -m papers.guarded teach DATA NAME=METRIC[:SETTING]... --learn-from FILE -o OUT     OUT/model-N: a guard
    python -m papers.guarded DATA NAME=METRIC[:SETTING]... [--trained MODEL] [--corpora NAMES] [--when NAMES] -o OUT
    python -m papers.guarded merge FILE...              results of other machines (--results) into papers/guarded.json
    python -m papers.guarded cards                      what is kept, on the cards of the metrics
    python -m papers.guarded show [--results papers/hardened.json]
    python -m papers.guarded factors DATA TEMPLATE...   the guard's mean factor for replies such as 'so {last}'

`teach` makes one guard for several metrics. Each round attacks every metric on DailyDialog and PersonaChat, at first
as it is, later with the guard of the round before, and teaches a new guard with the frauds of all;
papers/guard_taught.json keeps what was found.

METRIC is attacked as it is and as `guarded[metric=METRIC,SETTING]`, or with the setting `own=MODEL` as
`METRIC[trained=MODEL]`, on contexts of three corpora that had no part in
the guard's training (another seed draws them, PersonaChat's and DailyDialog's test dialogues are left out of it), with
twice the calls that the guard was taught with. The guard is that of MODEL, or the shipped one. Then Spearman with
ratings is measured on every rated group, before and after. A run that was killed continues: finished attacks are read
from OUT. On a GPU the language models take large batches.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, zip_longest
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from papers.probing import CORPORA, attack_results, judged_on, quoted
from papers.rated_corpora import pretraining, rated
from turnwise.attacks.strategy import strategy
from turnwise.cli.common.group import run
from turnwise.commands.attack import Harden
from turnwise.logs import native
from turnwise.metrics import names, resolve
from turnwise.metrics.learned.guard.metric import guarded
from turnwise.records import plain
from turnwise.run.attack.harden import MAX_TEMPLATES, FinishedRound, attack_files, train_guard
from turnwise.stats.correlation import STATISTICS
from turnwise.types import Summed

RESULTS = Path(__file__).with_suffix(".json")
OWN_RESULTS = RESULTS.with_name("hardened.json")  # of metrics with guards of their own
CARDS = (
    Path(__file__).parents[1] / "src" / "turnwise" / "data" / "guarded.json"
)  # on the cards of the metrics
OWN_CARDS = CARDS.with_name("hardened.json")
BUDGET, COUNT, SEED = (
    12_000,
    80,
    21,
)  # the guard was taught with 6,000 calls on 80 contexts, drawn with seed 0
TAUGHT_ON = ("dailydialog", "personachat")
TAUGHT_BUDGET, TAUGHT_TURNS = 6_000, 2_000
OWN_GUARD = (
    "own="  # a setting: the metric's own model with a guard, as `turnwise attack METRIC --harden` makes it
)
OWN = ("people", "other")  # kinds of replies that are people's own, or edits of them
TAUGHT = Path(__file__).with_name("guard_taught.json")
WHEN = ("before", "after")
FEWEST = 30  # replies of a group for a correlation


def _large_batches() -> None:
    from turnwise.encode.neural.loading import default_device

    if default_device() == "cuda":
        from papers.probing_gpu import large_batches

        large_batches()


def wearing(metric: str, setting: str, trained: Path | None) -> str:
    """The metric with a guard: that of a trained model or the shipped one, or with `own=DIR` that of its own model."""
    if setting.startswith(OWN_GUARD):
        return f"{metric}[trained={setting.removeprefix(OWN_GUARD)}]"
    more = [setting] if setting else []
    more += [f"trained={trained}"] if trained else []
    return f"guarded[{','.join((f'metric={metric}', *more))}]"


def _promising(spec: Harden, name: str, number: int, kept: Path) -> FinishedRound:
    """The frauds of one metric on one corpus in a round of `teach`; kept, so that a killed run continues."""
    if not kept.exists():
        _large_batches()
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(msgspec.json.encode(attack_files(spec, name, number, (), print)))
    return msgspec.json.decode(kept.read_bytes(), type=FinishedRound)


def teach(data: Path, metrics: Sequence[str], given: argparse.Namespace) -> None:
    """Teach one guard with the frauds of several metrics, in rounds."""
    out: Path = given.output
    files = {}
    for corpus in TAUGHT_ON:
        file, (key, value) = CORPORA[corpus]
        files[corpus] = out / f"{corpus}.jsonl"
        out.mkdir(parents=True, exist_ok=True)
        there = native.read(str(data / file))
        native.write(
            (one for one in there if one.meta.get(key.removeprefix("meta.")) == value), str(files[corpus])
        )
    spec = Harden(
        "usr-ret", tuple(map(str, files.values())), output=out, count=given.count, budget=given.taught_budget,
        perturb=False, learn_from=given.learn_from, taught=given.taught,
    )  # fmt: skip
    taught: list[str] = []
    rounds: list[dict[str, Any]] = []
    model: Path | None = None
    for number in range(given.rounds):
        jobs = []
        for pair in metrics:
            name, _, rest = pair.partition("=")
            metric, _, setting = rest.partition(":")
            now = wearing(metric, setting, model) if model else metric
            for corpus, path in files.items():
                own = out / f"{name}-{corpus}"
                part = spec.changed(contexts=(str(path),), metric=now, output=str(own))
                jobs.append((part, now, number, own / f"round-{number}.json"))
        with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
            finished = list(pool.map(_promising, *zip(*jobs, strict=True)))
        # The best frauds of every metric first.
        columns = zip_longest(*(attacks.promising for attacks in finished))
        new = [text for text in chain.from_iterable(columns) if text]
        taught = list(dict.fromkeys([*new, *taught]))[:MAX_TEMPLATES]
        first = [attacks.result.attacked[0] for attacks in finished]
        attacked = {
            job[3].parent.name: {
                "people": file.people,
                "score": file.score,
                "gain": file.gain,
                "description": quoted(file.description),
            }
            for job, file in zip(jobs, first, strict=True)
        }
        rounds.append({"round": number, "attacked": attacked, "taught": len(taught)})
        prefixes = {prefix for attacks in finished for prefix in attacks.contexts}
        model = out / f"model-{number + 1}"
        if not (model / "card.json").exists():
            train_guard(spec, taught, model, prefixes, print)
        card = json.loads((model / "card.json").read_text())
        rounds[-1]["held_out"] = card["held_out"]
        TAUGHT.write_text(json.dumps(rounds, indent=1, ensure_ascii=False) + "\n")
        print(json.dumps(rounds[-1]), flush=True)


def attack(data: Path, metric: str, corpus: str, out: Path, given: argparse.Namespace) -> dict[str, Any]:
    """The best fraud that an attack on this metric found, whether or not its gain is shown."""
    file, (key, value) = CORPORA[corpus]
    if not (out / "results.json").exists():
        code = run(
            ["attack", metric, "--contexts", str(data / file), "--where", f"{key}={value}", "--count", str(given.count),
             "--budget", str(given.budget), "--seed", str(given.seed), "--no-perturb", "-q", "-o", str(out)]
        )  # fmt: skip
        if code:
            raise SystemExit(code)
    document = attack_results(out)
    tested = [record for record in document.results if record.kind not in OWN and record.gain is not None]
    best = max(tested, key=lambda record: record.gain)
    kept = {key: plain(best)[key] for key in ("kind", "score", "gain", "gain_interval", "significant")}
    return {
        "people": document.people.score, **kept, "description": quoted(best.description),
        "frauds": document.verdict.frauds, "tested": document.verdict.judged, "calls": document.calls,
    }  # fmt: skip


def agreement(data: Path, plain: str, worn: str) -> dict[str, dict[str, float]]:
    """Spearman with ratings on each rated group, before and after; groups that the metric cannot score are absent."""
    spearman, found = STATISTICS["spearman"], {}
    for group in rated(data):
        scores = []
        for metric in (resolve(plain), resolve(worn)):
            rows = metric.rows(group.items)
            if not isinstance(metric, Summed) or not isinstance(rows, np.ndarray):
                raise SystemExit(f"{plain} gives no score to single replies")
            scores.append(np.asarray(metric.of_sums(rows)))
        known = ~np.isnan(np.array(scores)).any(axis=0)
        if known.sum() >= FEWEST:
            before, after = (spearman(one[known], np.array(group.values)[known]) for one in scores)
            found[group.name] = {"before": before, "after": after, "n": int(known.sum())}
            print(json.dumps({"metric": plain, "group": group.name, **found[group.name]}), flush=True)
    return found


def measure(data: Path, name: str, spec: str, given: argparse.Namespace) -> None:
    """Attack and agreement of one metric, kept after every part."""
    metric, _, setting = spec.partition(":")
    worn = wearing(metric, setting, given.trained)
    path = given.results
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    line = kept.setdefault(name, {"attacks": {}})
    line["setting"] = setting
    line["attack"] = {"count": given.count, "budget": given.budget, "seed": given.seed}
    if not given.no_agreement:
        line["agreement"] = agreement(data, metric, worn)
        _write(path, name, line)
    for corpus in filter(None, given.corpora.split(",")):
        both = line["attacks"].setdefault(corpus, {})
        for when, one in (("before", metric), ("after", worn)):
            if when not in given.when:
                continue
            both[when] = attack(data, one, corpus, given.output / f"{name}-{corpus}-{when}", given)
            if when == "after":
                both[when]["guard"] = resolve(one).folder.digest  # type: ignore[attr-defined]
            print(json.dumps({"metric": name, "corpus": corpus, "when": when, **both[when]}), flush=True)
        _write(path, name, line)


def _write(path: Path, name: str, line: dict[str, Any]) -> None:
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(
        json.dumps(dict(sorted({**kept, name: line}.items())), indent=1, ensure_ascii=False) + "\n"
    )


def merge(files: Sequence[str]) -> None:
    """Add the results of several files to papers/guarded.json, attack by attack."""
    kept: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for file in files:
        for name, line in json.loads(Path(file).read_text()).items():
            there = kept.get(name, {"attacks": {}})
            attacks = {
                corpus: {**there["attacks"].get(corpus, {}), **line["attacks"].get(corpus, {})}
                for corpus in {**there["attacks"], **line["attacks"]}
            }
            kept[name] = {
                **there,
                **line,
                "attacks": {corpus: attacks[corpus] for corpus in CORPORA if corpus in attacks},
            }
    RESULTS.write_text(json.dumps(dict(sorted(kept.items())), indent=1, ensure_ascii=False) + "\n")
    write_cards()


def write_cards() -> None:
    """Put what guards change on the cards of the metrics: the shipped guard, and guards of their own."""
    guard = guarded("usr-ret").folder.digest
    CARDS.write_text(json.dumps(effects(RESULTS, lambda _: guard), indent=1) + "\n")
    own = effects(OWN_RESULTS, lambda name: resolve(f"{name}[trained=hardened]").folder.digest)  # type: ignore[union-attr]
    OWN_CARDS.write_text(json.dumps(own, indent=1) + "\n")


def effects(results: Path, shipped: Callable[[str], str]) -> dict[str, Any]:
    """Metric -> agreement and gains of the best frauds before and after; `shipped` gives the digest of its guard."""
    kept = json.loads(results.read_text())
    cards = {
        name: {
            "agreement": {
                group: [round(found["before"], 4), round(found["after"], 4)]
                for group, found in line.get("agreement", {}).items()
            },
            "attacks": {
                corpus: [round(both["before"]["gain"], 3), round(both["after"]["gain"], 3)]
                for corpus, both in line["attacks"].items()
                if len(both) == len(WHEN) and both["after"]["guard"] == shipped(name)
            },
        }
        for name, line in sorted(kept.items())
        if name in names()  # others are metrics of earlier versions
    }
    return {name: card for name, card in cards.items() if any(card.values())}


def show(results: Path) -> None:
    """The tables of papers/probing.md."""
    kept = json.loads(results.read_text())
    print(
        "| metric | corpus | before: people, best fraud | gain | after: people, best fraud | gain | guard |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, line in kept.items():
        for corpus, both in line["attacks"].items():
            cells = (_cells(both[when]) if when in both else "- | -" for when in WHEN)
            guard = both.get("after", {"guard": "-"})["guard"][:8]
            print(f"| `{name}` | {corpus} | {' | '.join(cells)} | {guard} |")
    groups = list(dict.fromkeys(group for line in kept.values() for group in line.get("agreement", {})))
    print(f"\n| metric | {' | '.join(groups)} | mean |\n|{'---|' * (len(groups) + 2)}")
    for name, line in kept.items():
        found = line.get("agreement", {})
        if not found:
            continue
        means = [np.mean([one[when] for one in found.values()]) for when in WHEN]
        pairs = [
            f"{found[one]['before']:.3f}, {found[one]['after']:.3f}" if one in found else "-"
            for one in groups
        ]
        print(f"| `{name}` | {' | '.join(pairs)} | {means[0]:.3f}, {means[1]:.3f} |")


def factors(data: Path, templates: Sequence[str]) -> None:
    """The shipped guard's mean factor for people's replies and for each template, on 100 contexts of each corpus."""
    guard = guarded("usr-ret")
    print(f"| reply | {' | '.join(CORPORA)} |\n|{'---|' * (len(CORPORA) + 1)}")
    contexts = {corpus: judged_on(data, corpus) for corpus in CORPORA}
    for template in ("", *templates):
        means = []
        for some in contexts.values():
            replies = [
                one.with_reply(strategy(template).reply(one)) if template else one.item for one in some
            ]
            means.append(f"{np.nanmean(guard.factors(replies)):.3f}")
        print(f"| {f'`{template}`' if template else 'people'} | {' | '.join(means)} |", flush=True)


def _cells(one: dict[str, Any]) -> str:
    low, high = one["gain_interval"]
    gain = f"{one['gain']:+.3f} [{low:.3f}, {high:.3f}]"
    return f"{one['people']:.3f}, {one['score']:.3f} | {f'**{gain}**' if one['significant'] else gain}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("metrics", nargs="*", metavar="NAME=METRIC[:SETTING]")
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--no-agreement", action="store_true")
    parser.add_argument("--when", default=",".join(WHEN))
    parser.add_argument("--trained", type=Path, help="a hardened usr-ret, whose guard is used")
    parser.add_argument("--learn-from", type=Path, help="teach: dialogues")
    parser.add_argument("--rounds", type=int, default=2, help="teach: rounds")
    parser.add_argument("--jobs", type=int, default=1, help="teach: processes")
    parser.add_argument("--taught-budget", type=int, default=TAUGHT_BUDGET, help="teach: calls of an attack")
    parser.add_argument("--taught", type=int, default=TAUGHT_TURNS, help="teach: turns with frauds")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("-o", "--output", type=Path, default=Path("out/guarded"))
    options = parser.parse_args()
    if options.data == "show":
        show(options.results)
    elif options.data == "cards":
        write_cards()
    elif options.data == "merge":
        merge(options.metrics)
    elif options.data == "learn":
        native.write(pretraining(Path(options.metrics[0])), options.metrics[1])
    elif options.data == "factors":
        factors(Path(options.metrics[0]), options.metrics[1:])
    elif options.data == "teach":
        teach(Path(options.metrics[0]), options.metrics[1:], options)
    else:
        _large_batches()
        for pair in options.metrics:
            measure(Path(options.data), *pair.split("=", 1), options)
