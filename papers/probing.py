"""The probing paper's Table 2, its RL curves, and hardening, on real dialogues; results go to papers/probing.json.

    python -m papers.probing text DATA out/learn.jsonl.gz        write the training dialogues
    python -m papers.probing bots DATA AGENT -o OUT              the replies of an agent, for the row `bot`
    python -m papers.probing table DATA NAME=METRIC... -o OUT    people, bot, copy, fixed, parrot, pattern
    python -m papers.probing copies DATA NAME=METRIC...          copies of the last turn and of the whole context
    python -m papers.probing rl DATA NAME=METRIC... -o OUT       a policy trained against each metric
    python -m papers.probing harden DATA METRIC --learn-from FILE -o OUT
    python -m papers.probing keep OUT...                         copy results of runs to papers/probing.json, and frauds
                                                                 to the cards of `turnwise ls metrics -v`

    python -m papers.probing show                                the tables of papers/probing.md

DATA is the folder of the corpora. Contexts are from test parts, training dialogues from the other parts.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from papers.probing_gpu import validation
from papers.rated_corpora import GROUPS, SHARED_WORDS
from turnwise.agents import resolve
from turnwise.agents.calling import CallLimits, ReplyRequest
from turnwise.attacks.context import Context, sample_contexts, split_contexts
from turnwise.attacks.strategy import strategy
from turnwise.attacks.target import Target
from turnwise.attacks.verdict import measure_strategy
from turnwise.cli.common.group import run
from turnwise.commands.attack import AttackMetric
from turnwise.encode.text import normalise
from turnwise.logs import native
from turnwise.logs.items.items import Selection, all_items
from turnwise.logs.scan import scan
from turnwise.metrics import names
from turnwise.records import plain
from turnwise.report.documents import AttackDocument
from turnwise.run.attack.command import scorer
from turnwise.run.scoring.shards import prepare
from turnwise.run.scoring.tally import generator
from turnwise.types import Dialogue

RESULTS = Path(__file__).with_name("probing.json")
CARDS = Path(__file__).parents[1] / "src" / "turnwise" / "data" / "attacks.json"
FLAGSHIP = Path(__file__).parent / "flagship" / "attacks.json"  # attacks on `turnwise` and `turnwise-large`
POLICIES = Path(__file__).with_name("probing_rl.json")
TRANSFER = Path(__file__).with_name("probing_transfer.json")
# name -> file, and the key and value that select the dialogues for contexts
CORPORA = {
    "dailydialog": ("dailydialog.jsonl.gz", ("meta.split", "test")),
    "personachat": ("personachat.jsonl.gz", ("meta.split", "test")),
    "empathetic": ("empathetic_contexts.jsonl.gz", ("meta.split", "test")),
}
LEARNT = (("dailydialog.jsonl.gz", "train"), ("personachat.jsonl.gz", "valid"))
COPIES = {"copy, last turn": "last", "copy, whole context": "whole"}  # the second is the paper's
ROWS = {
    **{row: f"copy: {slot}" for row, slot in COPIES.items()},
    "fixed": "fixed",
    "parrot": "parrot",
    "pattern": "pattern",
}
COUNT = 200  # contexts
MOST_WORDS = 10  # largest number of consecutive words of a corpus that we publish


def text(data: Path, path: str) -> None:
    """Write the training dialogues: those that share no long turn with a rated item and are not used as contexts."""
    files = sorted({file for file, _, _ in GROUPS.values()})
    turns = {
        normalise.plain(turn.text)
        for file in files
        for one in native.read(str(data / file))
        for turn in one.turns
    }
    rated = {turn for turn in turns if len(turn.split()) >= SHARED_WORDS}

    def free(dialogue: Dialogue) -> bool:
        return not any(normalise.plain(turn.text) in rated for turn in dialogue.turns)

    kept = [
        dialogue
        for file, split in LEARNT
        for dialogue in native.read(str(data / file))
        if dialogue.meta.get("split") == split and free(dialogue)
    ]
    native.write(kept, path)
    print(f"{len(kept)} dialogues", file=sys.stderr)


def attack_results(folder: Path) -> AttackDocument:
    """The results of an attack in this folder."""
    return msgspec.json.decode((folder / "results.json").read_bytes(), type=AttackDocument)


def attacked(data: Path, corpus: str, metric: str, out: Path, *more: str) -> AttackDocument:
    """The results of `turnwise attack`, which is run only if the output folder has none."""
    file, (key, value) = CORPORA[corpus]
    if not (out / "results.json").exists():
        code = run(
            ["attack", metric, "--contexts", str(data / file), "--where", f"{key}={value}", "--count", str(COUNT),
             "-o", str(out), "-q", *more]
        )  # fmt: skip
        if code:
            raise SystemExit(code)
    return attack_results(out)


def judged_on(data: Path, corpus: str) -> list[Context]:
    """The contexts on which `turnwise attack` tests strategies, drawn with the same seed."""
    file, where = CORPORA[corpus]
    selection = Selection(items="all", where=(where,))
    paths = (str(data / file),)
    stream = all_items(paths, selection, scan(paths))
    return split_contexts(sample_contexts(stream, COUNT, generator(0, "contexts")))[1]


def bots(data: Path, spec: str, corpora: Sequence[str], out: Path) -> None:
    """Write an agent's replies to the test contexts."""
    agent = resolve(spec)
    for corpus in corpora:
        asked = [ReplyRequest(one.turns, seed) for seed, one in enumerate(judged_on(data, corpus))]
        replies = [getattr(answer, "content", "") for answer in CallLimits().ask(agent, asked)]
        (out / f"bot-{corpus}.json").write_text(json.dumps(replies))


def bot(data: Path, corpus: str, metric: str, kept: Path) -> float | None:
    """Mean score of the bot's replies; None if `bots` has not written them."""
    if not kept.exists():
        return None
    file, where = CORPORA[corpus]
    spec = AttackMetric(metric, (str(data / file),), where=(where,))
    (made,) = prepare(spec, scan(spec.paths))[0].values()
    pairs = list(zip(judged_on(data, corpus), json.loads(kept.read_text()), strict=True))
    sign = 1 if made.higher_is_better else -1
    return sign * float(np.nanmean(Target(scorer(made), len(pairs), lower_is_better=sign < 0).scores(pairs)))


def quoted(description: str) -> str:
    """The description, with long quotations of the corpus shortened, because we may not publish the corpus."""

    def cut(passage: re.Match[str]) -> str:
        words = passage[0].split()
        return passage[0] if len(words) <= MOST_WORDS else f" {' '.join(words[:4])} … ({len(words)} words) "

    def tidy(found: re.Match[str]) -> str:
        fixed = re.sub(r"[^\[\]]+(?![^\[]*\])", cut, found[1])  # outside of the brackets of slots
        return f"“{' '.join(fixed.split())}”"

    return re.sub(r"“([^”]*)”", tidy, description)


def table(data: Path, metrics: Sequence[str], corpora: Sequence[str], out: Path, more: Sequence[str]) -> None:
    for given in metrics:
        name, _, metric = given.partition("=")
        for corpus in corpora:
            document = attacked(data, corpus, metric, out / f"{name}-{corpus}", *more)
            found: dict[str, Any] = {"people": document.people.score}
            found["bot"] = bot(data, corpus, metric, out / f"bot-{corpus}.json")
            for row, wanted in ROWS.items():
                of_row = [record for record in document.results if wanted in (record.kind, record.strategy)]
                best = max(of_row, key=lambda record: record.gain, default=None)
                if best is not None:
                    found[row] = {
                        "score": best.score,
                        "gain": best.gain,
                        "significant": best.significant,
                        "beats_human": best.beats_human,
                        "description": quoted(best.description),
                    }
            description = quoted(document.verdict.description or "")
            found["verdict"] = {**plain(document.verdict), "description": description, "worst": None}
            found["signature"] = document.results[0].signature
            line = {"what": "table", "metric": name, "corpus": corpus, **found}
            (out / f"{name}-{corpus}.json").write_text(json.dumps(line))
            print(json.dumps(line), flush=True)


def copies(data: Path, metrics: Sequence[str], corpora: Sequence[str], draws: int = 1000) -> None:
    """Score copies of the last turn and of the whole context beside people, and keep both.

    Their intervals are at the level of a test of 26 baselines, as in the table.
    """
    kept = json.loads(RESULTS.read_text())
    for given in metrics:
        name, _, metric = given.partition("=")
        for corpus in corpora:
            file, where = CORPORA[corpus]
            spec = AttackMetric(metric, (str(data / file),), where=(where,))
            (made,) = prepare(spec, scan(spec.paths))[0].values()
            contexts = judged_on(data, corpus)
            target = Target(scorer(made), 3 * len(contexts), lower_is_better=not made.higher_is_better)
            people = target.scores([(one, one.human) for one in contexts])
            line: dict[str, Any] = {"what": "copies", "metric": name, "corpus": corpus}
            line["people"] = float(np.nanmean(people))
            for row, slot in COPIES.items():
                fraud = strategy(f"{{{slot}}}")
                replies = [fraud.reply(one) for one in contexts]
                found = measure_strategy(
                    row, fraud.kind, fraud.description, contexts=contexts, replies=replies,
                    scores=target.scores(list(zip(contexts, replies, strict=True))), people=people, tested=26,
                    draws=draws, rng=np.random.default_rng(0),
                )  # fmt: skip
                line[row] = {"score": found.score, "gain": found.gain, "significant": found.significant}
            about = [line["what"], name, corpus]
            kept = [one for one in kept if [one["what"], one["metric"], one.get("corpus")] != about] + [line]
            kept.sort(key=lambda one: (one["what"], one["metric"], one.get("corpus") or ""))
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


def rl(data: Path, metrics: Sequence[str], corpora: Sequence[str], out: Path, more: Sequence[str]) -> None:
    for given in metrics:
        name, _, metric = given.partition("=")
        for corpus in corpora:
            document = attacked(data, corpus, metric, out / f"rl-{name}-{corpus}", "--stages", "rl", *more)
            policy = [record for record in document.results if record.strategy.startswith("rl: ")]
            keys = ("score", "gain", "gain_interval", "beats_human", "significant")
            tested = [
                {"strategy": quoted(record.description), **{key: plain(record)[key] for key in keys}}
                for record in policy
            ]
            # The policy's replies may be copies of the corpus, so they are left out here.
            repetitions = [
                {
                    **plain(repetition),
                    "examples": None,
                    "most_frequent": None,
                    "description": quoted(repetition.description or ""),
                }
                for repetition in document.repetitions
            ]
            line = {"what": "rl", "metric": name, "corpus": corpus, "people": document.people.score,
                    "judged": tested, "repetitions": repetitions}  # fmt: skip
            (out / f"rl-{name}-{corpus}.json").write_text(json.dumps(line))
            print(json.dumps({**line, "repetitions": len(line["repetitions"])}), flush=True)


def harden(data: Path, metric: str, learn_from: str, out: Path, more: Sequence[str]) -> None:
    """Harden a metric against attacks on two corpora, and measure its agreement on usr_persona and grade."""
    parts = []
    for corpus in ("dailydialog", "personachat"):
        file, (key, value) = CORPORA[corpus]
        part = out / f"{corpus}.jsonl"
        out.mkdir(parents=True, exist_ok=True)
        there = native.read(str(data / file))
        native.write((one for one in there if one.meta.get(key.removeprefix("meta.")) == value), str(part))
        parts += ["--contexts", str(part)]
    rated = [
        part
        for file in ("usr_persona.jsonl", "grade.jsonl.gz")
        for part in ("--agree-with", str(data / file))
    ]
    if not (out / "results.json").exists():
        code = run(["attack", metric, *parts, "--harden", "--learn-from", learn_from, "--no-perturb", *rated,
                    "--count", str(COUNT), "-o", str(out), *more])  # fmt: skip
        if code:
            raise SystemExit(code)
    document = attack_results(out)
    rounds = [
        {**plain(made), "metric": None, "attacked": [
            {**plain(file), "best": None, "description": quoted(file.description)} for file in made.attacked
        ]}
        for made in document.rounds
    ]  # fmt: skip
    # Runs with other settings are kept beside each other.
    line = {"what": "harden", "metric": metric, "corpus": " ".join(more), "robust": document.robust,
            "rounds": rounds, "agreement": [plain(change) for change in document.agreement]}  # fmt: skip
    (out / "harden.json").write_text(json.dumps(line))


def keep(folders: Sequence[str]) -> None:
    """Copy results of runs to papers/probing.json, and the frauds to the cards; new results replace old ones."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    for folder in folders:
        for path in sorted(Path(folder).glob("*.json")):
            line = _tidied(json.loads(path.read_text()))
            if isinstance(line, dict) and line.get("what") in ("table", "rl", "harden"):
                about = [line["what"], line["metric"], line.get("corpus")]
                kept = [one for one in kept if [one["what"], one["metric"], one.get("corpus")] != about] + [
                    line
                ]
    kept.sort(key=lambda one: (one["what"], one["metric"], one.get("corpus") or ""))
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
    write_cards()


def write_cards() -> None:
    """Put the shown frauds on the cards of the metrics."""
    CARDS.write_text(json.dumps(shown_frauds(), indent=1, ensure_ascii=False) + "\n")


def shown_frauds() -> dict[str, list[dict[str, Any]]]:
    """Metric -> shown frauds: of the table or, for editions of `turnwise`, of the attacks on them, and of policies.

    For an edition of `turnwise` that nothing was shown against, policies that were trained against the other count.
    """
    cards: dict[str, list[dict[str, Any]]] = {}
    for line in json.loads(RESULTS.read_text()):
        if line["what"] == "table" and line["metric"] in names():
            works = [
                {"contexts": line["corpus"], "kind": row, "description": line[row]["description"],
                 "score": round(line[row]["score"], 4), "human_score": round(line["people"], 4)}
                for row in ("fixed", "parrot", "pattern")
                if line.get(row, {}).get("significant")
            ]  # fmt: skip
            cards.setdefault(line["metric"], []).extend(works)
    for edition, corpora in json.loads(FLAGSHIP.read_text()).items():
        if edition in names():
            cards[edition] = [
                {"contexts": corpus, "kind": best["kind"], "description": best["description"],
                 "score": round(best["score"], 4), "human_score": round(found["people"], 4)}
                for corpus, seeds in corpora.items()
                for found in seeds.values()
                for best in [one for one in found["strategies"] if one["significant"]][:1]
            ]  # fmt: skip
    for metric, line in json.loads(POLICIES.read_text()).items():
        if metric not in names():  # a metric that does not ship: trained otherwise, or an earlier edition
            continue
        for corpus in CORPORA:
            best = max(
                (one for one in line["policies"] if one["corpus"] == corpus), key=validation, default=None
            )
            if best is not None and best["significant"]:
                cards.setdefault(metric, []).append({
                    "contexts": corpus, "kind": "policy", "against": metric,
                    "description": f"a policy trained against it says such as “{best['samples'][0][:80]}”",
                    "score": round(best["score"], 4), "human_score": round(best["people"], 4),
                })  # fmt: skip
    for trained_against, by_metric in json.loads(TRANSFER.read_text()).items():
        for edition, line in by_metric.items():
            if cards.get(edition) != []:
                continue
            for corpus in CORPORA:
                rows = [one for one in line["policies"] if one["corpus"] == corpus and one["significant"]]
                if rows:
                    best = max(rows, key=lambda one: float(one["gain"]))
                    said = next(
                        one["samples"][0]
                        for one in json.loads(POLICIES.read_text())[trained_against]["policies"]
                        if (one["corpus"], one["repetition"]) == (corpus, best["repetition"])
                    )
                    cards[edition] = [*cards[edition], {
                        "contexts": corpus, "kind": "policy", "against": trained_against,
                        "description": f"a policy trained against {trained_against} says such as “{said[:80]}”",
                        "score": round(best["score"], 4), "human_score": round(best["people"], 4),
                    }]  # fmt: skip
    return dict(sorted(cards.items()))


def _tidied(value: Any) -> Any:
    """The value with all its descriptions shortened (see `quoted`)."""
    if isinstance(value, dict):
        return {
            key: quoted(part) if key == "description" and part else _tidied(part)
            for key, part in value.items()
        }
    return [_tidied(part) for part in value] if isinstance(value, list) else value


def show() -> None:
    """Print the kept results as Markdown."""
    kept = json.loads(RESULTS.read_text())
    lines = [one for one in kept if one["what"] == "table"]
    for corpus in CORPORA:
        of_corpus = {one["metric"]: one for one in lines if one["corpus"] == corpus}
        if not of_corpus:
            continue
        print(f"\n| {corpus} | {' | '.join(of_corpus)} |\n|---|{'---|' * len(of_corpus)}")
        for row in ("people", "bot", *ROWS):
            print(f"| {row} | {' | '.join(_cell(one.get(row)) for one in of_corpus.values())} |")
    print(f"\n| metric | corpus | people | {' | '.join(COPIES)} |\n|---|---|---|---|---|")
    for one in kept:
        if one["what"] == "copies":
            cells = " | ".join(_cell(one[row]) for row in ("people", *COPIES))
            print(f"| `{one['metric']}` | {one['corpus']} | {cells} |")
    for one in lines:
        print(f"- {one['metric']}, {one['corpus']}: {one['verdict']['description'] or 'nothing found'}")
    for one in kept:
        if one["what"] == "rl":
            for line in one["repetitions"]:
                reward = ", ".join(f"{value:.3f}" for value in line["curves"]["reward"])
                print(
                    f"- rl, {one['metric']}, {one['corpus']}: people {one['people']:.3f}; {reward}; {line['final']}"
                )
        if one["what"] == "harden":
            print(f"- harden {one['metric']} {one['corpus']}")
            for line in one["rounds"]:
                for part in line["attacked"]:
                    result = (
                        f"people {part['people']:.3f}, best fraud {part['score']:.3f}: {part['description']}"
                    )
                    print(f"- harden, round {line['round']}, {part['contexts']}: {result}")
            print("\n".join(f"- {part}" for part in one["agreement"]))


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"**{value['score']:.3f}**" if value["significant"] else f"{value['score']:.3f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "what",
        choices=["text", "bots", "table", "copies", "rl", "harden", "keep", "show"],
    )
    parser.add_argument("given", nargs="*")
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--learn-from", default="out/learn.jsonl.gz")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/probing"))
    options, rest = parser.parse_known_args()
    corpora = options.corpora.split(",")
    if options.what == "show":
        show()
    elif options.what == "keep":
        keep(options.given)
    elif options.what == "copies":
        copies(Path(options.given[0]), options.given[1:], corpora)
    elif options.what == "text":
        text(Path(options.given[0]), options.given[1])
    elif options.what == "harden":
        harden(Path(options.given[0]), options.given[1], options.learn_from, options.output, rest)
    else:
        options.output.mkdir(parents=True, exist_ok=True)
        if options.what == "bots":
            bots(Path(options.given[0]), options.given[1], corpora, options.output)
            sys.exit()
        {"table": table, "rl": rl}[options.what](
            Path(options.given[0]), options.given[1:], corpora, options.output, rest
        )
