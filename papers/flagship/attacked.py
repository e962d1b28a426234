"""Attacks by search on an edition of `turnwise`, on contexts that no reader was trained on; kept in attacks.json.

    python -m papers.flagship.contexts DATA -o DIR
    python -m papers.flagship.attacked DIR turnwise [--corpora NAMES] [--seeds 0,1,2] [--budget 20000] -o OUT
    python -m papers.flagship.attacked show             the table of papers/learned.md

Each attack is `turnwise attack EDITION --contexts DIR/NAME.jsonl` with another seed, which draws the contexts, their
split into search and verdict, and the search. A run that was killed continues: finished attacks are read from OUT. The
strategies with the largest gains are kept, with long quotations of the corpus shortened; those that are shown above
people are on the cards of the metrics.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from papers.flagship.prepare import PROBED
from papers.probing import attack_results, quoted, write_cards
from turnwise.cli.common.group import run
from turnwise.metrics import resolve
from turnwise.records import plain

RESULTS = Path(__file__).with_name("attacks.json")
OWN = ("people", "other")  # kinds of replies that are people's own, or edits of them
KEPT = 5  # strategies
KEYS = ("kind", "score", "gain", "gain_interval", "beats_human", "significant")
COUNT, BUDGET = 200, 20_000


def attack(contexts: Path, edition: str, corpus: str, seed: int, given: argparse.Namespace) -> dict[str, Any]:
    """The verdict of one attack, its best strategies and the command."""
    out = given.output / f"{edition}-{corpus}-{seed}-{given.budget}"
    asked = ["--count", str(given.count), "--budget", str(given.budget), "--seed", str(seed), "--no-perturb"]
    if not (out / "results.json").exists():
        path = str(contexts / f"{corpus}.jsonl")
        code = run(["attack", edition, "--contexts", path, *asked, "-q", "-o", str(out)])
        if code:
            raise SystemExit(code)
    document = attack_results(out)
    signature = document.results[0].signature
    if signature != (now := str(resolve(edition).signature)):
        raise SystemExit(
            f"{out} was made with {signature}; {edition} is now {now}: name another folder with -o"
        )
    tested = [record for record in document.results if record.kind not in OWN and record.gain is not None]
    best = sorted(tested, key=lambda record: record.gain, reverse=True)[:KEPT]
    return {
        "command": f"turnwise attack {edition} --contexts DIR/{corpus}.jsonl {' '.join(asked)}",
        "signature": signature, "gameable": document.verdict.gameable, "frauds": document.verdict.frauds,
        "tested": document.verdict.judged, "calls": document.calls, "people": document.people.score,
        "strategies": [
            {"description": quoted(record.description), **{key: plain(record)[key] for key in KEYS}}
            for record in best
        ],
    }  # fmt: skip


def measure(contexts: Path, edition: str, given: argparse.Namespace) -> None:
    """Attack an edition on every corpus with every seed, and keep each result."""
    for corpus in given.corpora.split(","):
        for seed in map(int, given.seeds.split(",")):
            found = attack(contexts, edition, corpus, seed, given)
            kept = json.loads(RESULTS.read_text())
            own = kept.setdefault(edition, {}).setdefault(corpus, {})
            own[str(seed)] = found
            kept[edition][corpus] = dict(sorted(own.items()))
            RESULTS.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
            print(edition, corpus, seed, found["gameable"], found["strategies"][0], flush=True)


def show() -> None:
    """One line an attack: people, the best fraud and its gain; bold: the gain is shown."""
    kept = json.loads(RESULTS.read_text())
    print("| edition | corpus | seed | people, best fraud | gain | above people in | best fraud |")
    print("|---|---|---|---|---|---|---|")
    for edition, corpora in kept.items():
        for corpus, seeds in corpora.items() if isinstance(corpora, dict) else ():
            for seed, found in seeds.items():
                best = found["strategies"][0]
                low, high = best["gain_interval"]
                gain = f"{best['gain']:+.2f} [{low:.2f}, {high:.2f}]"
                cells = (
                    f"`{edition}`", corpus, seed, f"{found['people']:.2f}, {best['score']:.2f}",
                    f"**{gain}**" if best["significant"] else gain, f"{best['beats_human']:.0%}",
                    quoted(best["description"]).replace("] [", "] \\["),  # two in a row would be a link in Markdown
                )  # fmt: skip
                print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("contexts", help="folder with contexts, or `show`")
    parser.add_argument("edition", nargs="?", default="turnwise")
    parser.add_argument("--corpora", default=",".join(PROBED))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("-o", "--output", type=Path, default=Path("out/flagship-attacks"))
    options = parser.parse_args()
    if options.contexts == "show":
        show()
    else:
        measure(Path(options.contexts), options.edition, options)
        write_cards()
